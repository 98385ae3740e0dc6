// Whether every exchange phase took exactly the cycles that the compiler predicted, on every IPU that runs a program.
//
// A phase is known by the table that a tile executes. Its length is from the release Z to the last cycle in which a
// word is on a port of any tile that takes part, both included. Fed by machine events; compares when the next release
// or the end of the run closes the superstep.
#pragma once

#include <cstdint>
#include <vector>

#include "host/executable/executable.h"
#include "hw/event.h"

namespace tessera::profile {

/// A phase that did not take its predicted cycles.
struct PhaseDifference {
  std::uint32_t program = 0;  ///< index into Executable::programs
  std::uint32_t ipu = 0;
  std::uint32_t phase = 0;  ///< index into Program::phases
  Cycle release = 0;
  Cycle predicted = 0, measured = 0;  ///< cycles
};

class PhaseCheck : public EventObserver {
 public:
  /// Every instance of the executable, which must outlive the check.
  explicit PhaseCheck(const executable::Executable& executable);

  void event(const MachineEvent& event) override;
  /// Closes the supersteps that are open. Call once, at the end of the run.
  void finish();

  [[nodiscard]] std::uint64_t compared() const { return compared_; }
  [[nodiscard]] const std::vector<PhaseDifference>& differences() const { return differences_; }

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  struct Open {  // the superstep an IPU is in
    std::uint32_t program = kNone, ipu = 0;
    Cycle release = 0;
    std::uint32_t phase = kNone;
    Cycle last_word = 0;
  };
  void close(Open& open);

  const executable::Executable& executable_;
  std::vector<Open> open_;  // by IPU
  std::uint64_t compared_ = 0;
  std::vector<PhaseDifference> differences_;
};

}  // namespace tessera::profile
