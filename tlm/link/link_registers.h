// The chip registers of an IPU's links (0x3000, 64 bytes a port; hw/registers/chip.toml). Ports that the topology does
// not use read 0: absent.
#pragma once

#include <cstdint>
#include <deque>
#include <systemc>
#include <vector>

#include "hw/topology.h"
#include "tlm/link/link_port.h"

namespace tessera {

class LinkRegisters : public sc_core::sc_module {
 public:
  explicit LinkRegisters(const sc_core::sc_module_name& name);
  /// The next port, in order of numbers, and its other end.
  void add(LinkPort& port, const Topology::Port& peer);

  [[nodiscard]] static bool covers(std::uint32_t offset);
  /// `latched`: high word of the counter whose low word was read last.
  [[nodiscard]] std::uint32_t read(std::uint32_t offset, std::uint32_t& latched) const;
  /// Acts `delay` after SystemC's time.
  void write(std::uint32_t offset, std::uint32_t value, const sc_core::sc_time& delay);

 private:
  struct Entry {
    LinkPort* port = nullptr;
    Topology::Port peer;
  };
  struct Command {
    sc_core::sc_time at;
    unsigned port = 0;
    std::uint32_t value = 0;
  };
  void act();
  std::vector<Entry> entries_;
  std::deque<Command> commands_;  // by time
  sc_core::sc_event event_;
};

}  // namespace tessera
