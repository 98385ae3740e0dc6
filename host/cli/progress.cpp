#include "host/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <iostream>

namespace tessera::cli {

std::string progress_text(const std::string& phase, double done, double total, std::uint64_t cycles, double seconds) {
  std::string text = phase;
  if (total > 0) text += fmt::format("  {:.0f} %", 100.0 * done / total);
  if (cycles > 0) text += fmt::format("  {} cycles", cycles);
  if (cycles > 0 && seconds > 0) text += fmt::format("  {:.2f} Mcycle/s", static_cast<double>(cycles) / seconds / 1e6);
  if (total > 0 && done > 0 && done < total) text += fmt::format("  {:.0f} s left", seconds * (total - done) / done);
  return text;
}

Progress::Progress(bool quiet) : shown_(!quiet && isatty(2) == 1) {}

Progress::~Progress() { finish(); }

void Progress::phase(const std::string& name) {
  phase_ = name;
  start_ = Clock::now();
  last_ = Clock::time_point();
  update(0, 0, 0);
}

void Progress::update(double done, double total, std::uint64_t cycles) {
  const Clock::time_point now = Clock::now();
  if (!shown_ || now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  std::cerr << "\r\x1b[K" << progress_text(phase_, done, total, cycles, seconds) << std::flush;
  dirty_ = true;
}

void Progress::finish() {
  if (dirty_) std::cerr << "\r\x1b[K" << std::flush;
  dirty_ = false;
}

}  // namespace tessera::cli
