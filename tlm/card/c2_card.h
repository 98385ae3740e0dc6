// A C2 card on PCI Express: a switch with one upstream port and one endpoint for each IPU, checkers on every link.
// The chips behind the endpoints are made by tlm/system.
#pragma once

#include <memory>
#include <vector>

#include "tlm/pcie/endpoint.h"
#include "tlm/pcie/root_complex.h"
#include "tlm/pcie/switch.h"

namespace tessera {

struct CardConfig {
  unsigned ipus = 2;
  std::uint64_t register_bytes = 0x8000;  ///< BAR0, a power of two
  std::uint64_t tile_bytes = 0;           ///< BAR2: tiles x SRAM, rounded up to a power of two by the card
  pcie::LinkTiming link;
  unsigned max_read_request = 512;
  unsigned outstanding = 128;
  sc_core::sc_time completion_timeout;
};

class C2Card : public sc_core::sc_module {
 public:
  C2Card(const sc_core::sc_module_name& name, const CardConfig& config);

  /// Connects to a port of the root complex.
  void bind(pcie::RootComplex& root, unsigned port);
  [[nodiscard]] pcie::Endpoint& endpoint(unsigned ipu) { return *endpoints_[ipu]; }
  [[nodiscard]] const pcie::Switch& bridge() const { return switch_; }
  /// A fault of PCI Express at an IPU of the card.
  void inject(unsigned ipu, const pcie::Fault& fault);
  /// Called when the card is hot-reset.
  void on_hot_reset(std::function<void()> act) { switch_.hot_reset = std::move(act); }
  [[nodiscard]] unsigned ipus() const { return static_cast<unsigned>(endpoints_.size()); }

 private:
  pcie::ProtocolChecker down_, up_;
  pcie::Switch switch_;
  std::vector<std::unique_ptr<pcie::Endpoint>> endpoints_;
  std::vector<std::unique_ptr<pcie::ProtocolChecker>> checkers_;
};

}  // namespace tessera
