// An IPU with its crossbar and no chip, no SystemC: packets go to a host block, and time is what they need. For tests
// and benchmarks of what happens between releases.
#pragma once

#include <algorithm>

#include "tlm/link/crossbar.h"
#include "tlm/system/ipu.h"

namespace tessera {

class LoneIpu {
 public:
  LoneIpu(unsigned number, Ipu& ipu, PacketHost* host) : ipu_(ipu), crossbar_(number, ipu.lanes(), nullptr) {
    crossbar_.host = host;
  }

  /// As Ipu::advance(), with all that packets do.
  Ipu::Outcome advance(Cycle limit) {
    for (;;) {
      const Ipu::Outcome outcome = ipu_.advance(limit, now_ + ahead());
      crossbar_.collect();
      if (outcome != Ipu::Outcome::running && outcome != Ipu::Outcome::stuck) return outcome;
      const Cycle next = std::min(crossbar_.next_event(), ipu_.wanted());
      if (next >= limit) return outcome;
      move(next);
    }
  }
  /// After `arrived`: until no packet of the tiles is on its way.
  void drain() {
    while (ipu_.lanes().waiting() != 0 || crossbar_.own() != 0) {
      ipu_.run_lanes(now_ + ahead());
      crossbar_.collect();
      move(std::min(crossbar_.next_event(), std::max(ipu_.lanes().next_event(), now_ + ahead())));
    }
  }
  [[nodiscard]] const Crossbar& crossbar() const { return crossbar_; }

 private:
  [[nodiscard]] Cycle ahead() const { return ipu_.lanes().lookahead(); }
  void move(Cycle next) {
    if (next == kNever) return;
    now_ = std::max(now_, next);
    crossbar_.run(now_);
  }

  Ipu& ipu_;
  Crossbar crossbar_;
  Cycle now_ = 0;
};

}  // namespace tessera
