// How long the supersteps of a program take, part by part, on the slowest tile of each IPU: from the release to the
// last word or packet (moving), from there to the last worker's exit (computing), from there to the next release
// (waiting).
//
// A superstep is known by the pc at which its tiles were released; the start of a program counts as a release. Fed by
// machine events, costs the machine nothing. Where each tile's cycles went is in cycles.h.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "hw/event.h"
#include "hw/types.h"

namespace tessera::profile {

/// Cycles, summed over the executions of a superstep on one IPU.
struct Span {
  std::uint64_t executions = 0;
  std::uint64_t moving = 0, computing = 0, waiting = 0;
  std::uint64_t longest_moving = 0;  ///< of one execution
  [[nodiscard]] std::uint64_t total() const { return moving + computing + waiting; }
};

class SuperstepSpans : public EventObserver {
 public:
  explicit SuperstepSpans(unsigned ipus) : open_(ipus), spans_(ipus) {}

  void event(const MachineEvent& event) override;
  /// Closes what is open at `cycle`. Call once, at the end of the run.
  void finish(Cycle cycle);

  /// By pc of the release.
  [[nodiscard]] const std::map<Address, Span>& of(unsigned ipu) const { return spans_.at(ipu); }

 private:
  struct Open {  // the superstep an IPU is in
    bool any = false;
    Cycle release = 0;
    Address pc = 0;
    Cycle moved = 0, computed = 0;  // first cycle behind; 0 for none
  };
  void close(unsigned ipu, Cycle at);

  std::vector<Open> open_;  // by IPU
  std::vector<std::map<Address, Span>> spans_;
};

}  // namespace tessera::profile
