// The whole machine in SystemC: root complex, cards, chips, the sync network between chips. One a process, since
// SystemC elaborates once.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "hw/injection.h"
#include "hw/platform.h"
#include "hw/topology.h"
#include "tlm/card/c2_card.h"
#include "tlm/card/controller.h"
#include "tlm/system/chip.h"

namespace tessera {

struct SystemConfig {
  Platform platform;
  std::vector<std::vector<TileMode>> modes;  ///< [IPU][tile]; missing ones are tlm
  TileFactory factory;
  unsigned threads = 1;            ///< host threads that run tiles; never changes a result
  Cycle quantum = Cycle{1} << 20;  ///< cycles that tiles may run ahead of SystemC time
  Cycle max_cycles = 0;            ///< of a program, from its start; 0 is no limit
  Cycle max_idle_cycles = 0;       ///< between two releases of a program; 0 is no limit
  bool train_links = true;         ///< at power-on, if cards have no controllers
  EventObserver* events = nullptr;
  /// Told the release cycle of every superstep before any tile goes on into it: (IPU, cycle).
  std::function<void(unsigned, Cycle)> released;
  Symbolizer symbolizer;
  std::vector<Injection> injections;  ///< faults, beside those of the platform
  std::uint64_t seed = 0;             ///< of random faults that name none themselves
  /// Cards have controllers, which hold their IPUs until the host can have them; without, IPUs answer from power-on.
  bool controllers = true;
  std::vector<std::uint8_t> card_firmware;  ///< image for all controllers; empty: that of this build
  /// Asked often while tiles run; true ends the run with RunStopped.
  std::function<bool()> stop;
  /// Told the cycle reached, often.
  std::function<void(Cycle)> progress;
};

/// Delays of an IPU's exchange, from the platform.
[[nodiscard]] FabricTiming fabric_timing(const Platform& platform);

class System : public sc_core::sc_module {
 public:
  System(const sc_core::sc_module_name& name, const SystemConfig& config);

  [[nodiscard]] pcie::RootComplex& root() { return root_; }
  [[nodiscard]] Chip& chip(unsigned ipu) { return *chips_.at(ipu); }
  [[nodiscard]] const Chip& chip(unsigned ipu) const { return *chips_.at(ipu); }
  [[nodiscard]] unsigned ipus() const { return static_cast<unsigned>(chips_.size()); }
  [[nodiscard]] const Platform& platform() const { return config_.platform; }
  /// Cycle of SystemC's time.
  [[nodiscard]] Cycle now() const;

  /// A fault of sort "pcie", before the run or in it. Throws Error(usage) for what is unknown.
  void inject_pcie(const Injection& injection);
  /// The same of sort "link": place IPU.port, or * for all ports.
  void inject_link(const Injection& injection);
  void inject_card(const Injection& injection);
  [[nodiscard]] const C2Card& card(unsigned index) const { return *cards_.at(index); }

  /// What ended a chip's run; the simulation is paused when this becomes non-null. Errors of other chips that come with
  /// it or behind it, up to the next start of a program, are not told: their exception registers do that.
  std::exception_ptr take_failure();
  /// The error for a machine in which nothing can happen any more.
  [[nodiscard]] Error no_progress() const;

  [[nodiscard]] CardController& controller(unsigned card) { return *controllers_.at(card); }

 private:
  /// What ended an IPU's run for want of progress, with what the groups and the other IPUs wait for.
  [[nodiscard]] std::exception_ptr with_others(std::exception_ptr failure, unsigned ipu) const;
  void join_links();
  /// A line for each end of a link for which packets wait.
  [[nodiscard]] std::string waiting_links() const;
  void make_controllers();

  SystemConfig config_;
  TilePool pool_;
  Topology topology_;
  SyncNetwork network_;
  pcie::RootComplex root_;
  std::vector<std::unique_ptr<C2Card>> cards_;
  std::vector<std::unique_ptr<Chip>> chips_;
  std::vector<std::unique_ptr<CardController>> controllers_;
  std::exception_ptr failure_;
  bool failure_told_ = false;
};

}  // namespace tessera
