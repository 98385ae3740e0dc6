// Two joined link ports for tests: what is sent at one end is compared with what comes out at the other.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "hw/injection.h"
#include "tlm/link/link_port.h"
#include "tlm/system/clock.h"

namespace tessera {

inline Packet test_packet(unsigned words, std::uint32_t mark) {
  Packet packet;
  packet.words = words;
  packet.tile = mark % 4096;
  packet.ipu = mark % 256;
  packet.remote = 0x0123456700000000u + 4 * std::uint64_t{mark};
  packet.local = 8 * mark;
  for (unsigned k = 0; k < words; ++k) packet.payload.push_back(mark * 0x9E3779B9u + k * 0x85EBCA6Bu);
  return packet;
}

inline bool same_packet(const Packet& a, const Packet& b) { return a.header() == b.header() && a.payload == b.payload; }

class LinkBench {
 public:
  explicit LinkBench(const Platform& platform, const std::string& tag = "")
      : clock_(platform.clock_hz), a(("a" + tag).c_str(), platform, 0, 3), b(("b" + tag).c_str(), platform, 1, 3) {
    LinkPort::join(a, b);
    a.failed = b.failed = [this](LinkPort& port, const std::string& why) {
      failures.push_back(std::to_string(port.ipu()) + ": " + why);
      return true;
    };
  }
  [[nodiscard]] Cycle now() const { return clock_.cycle_at(sc_core::sc_time_stamp()); }
  /// All of SystemC's events up to and in this cycle.
  void run_to(Cycle cycle) const {
    const sc_core::sc_time until = clock_.time_of(cycle);
    settle();
    if (until > sc_core::sc_time_stamp()) sc_core::sc_start(until - sc_core::sc_time_stamp());
    settle();
  }
  /// Deltas of this cycle.
  void settle() const {
    while (sc_core::sc_pending_activity_at_current_time()) sc_core::sc_start(sc_core::SC_ZERO_TIME);
  }
  /// Both ends train; up when this returns.
  void train() {
    a.train();
    b.train();
    for (unsigned i = 0; i < 100 && a.state() != LinkState::up && a.state() != LinkState::failed; ++i)
      run_to(now() + 10000);
  }
  static void inject(LinkPort& port, const std::string& text) {
    port.inject(parse_injection("link=0.0:" + text, "test"));
  }

 private:
  TileClock clock_;

 public:
  LinkPort a, b;
  std::vector<std::string> failures;
};

}  // namespace tessera
