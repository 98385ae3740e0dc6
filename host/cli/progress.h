// The progress line of long work: simulated cycles, percent, speed and time left, on standard error.
//
// Silent when standard error is no terminal or with --quiet. Wall time is used for display only: nothing of a run
// depends on it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace tessera::cli {

/// The line's text: phase, percent (omitted if total is 0), cycles, cycles a second, time left.
std::string progress_text(const std::string& phase, double done, double total, std::uint64_t cycles, double seconds);

class Progress {
 public:
  explicit Progress(bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Starts a phase ("compiling: exchange schedule", "running"); resets the clock of speed and time left.
  void phase(const std::string& name);
  /// done of total in the phase's own unit; total 0 is unknown. At most ten lines a second reach the terminal.
  void update(double done, double total, std::uint64_t cycles);
  /// Clears the line.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  bool shown_;
  bool dirty_ = false;
  std::string phase_;
  Clock::time_point start_{}, last_{};
};

}  // namespace tessera::cli
