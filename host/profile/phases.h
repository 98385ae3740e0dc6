// Whether every exchange phase took exactly the cycles that the compiler predicted.
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
  std::uint32_t phase = 0;  ///< index into Program::phases
  Cycle release = 0;
  Cycle predicted = 0, measured = 0;  ///< cycles
};

class PhaseCheck : public EventObserver {
 public:
  /// `program` runs on IPU `ipu` and must outlive the check.
  PhaseCheck(const executable::Program& program, unsigned ipu);

  void event(const MachineEvent& event) override;
  /// Closes the superstep that is open. Call once, at the end of the run.
  void finish();

  [[nodiscard]] std::uint64_t compared() const { return compared_; }
  [[nodiscard]] const std::vector<PhaseDifference>& differences() const { return differences_; }

 private:
  void close();

  const executable::Program& program_;
  unsigned ipu_;
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  Cycle release_ = 0;
  std::uint32_t phase_ = kNone;  // of the open superstep
  Cycle last_word_ = 0;
  std::uint64_t compared_ = 0;
  std::vector<PhaseDifference> differences_;
};

}  // namespace tessera::profile
