// The instruction-set benchmark: one C program on the TLM tile and on qemu-riscv32, in one process run after another,
// so that their ratio means something on any machine. Speeds are of wall time spent inside each simulator alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tessera::bench {

struct IssFigure {
  std::uint64_t instructions = 0;
  double seconds = 0;
  [[nodiscard]] double mips() const { return seconds > 0 ? static_cast<double>(instructions) / seconds / 1e6 : 0; }
};

struct IssResult {
  IssFigure worker;               ///< one worker, threaded code
  IssFigure six_workers;          ///< all six workers of a tile
  IssFigure exact;                ///< one worker, exact interleave
  std::optional<IssFigure> qemu;  ///< the same program in qemu-riscv32 (processor time); none if it is not installed
  std::uint32_t checksum = 0;
  /// Worker code against qemu.
  [[nodiscard]] std::optional<double> ratio() const {
    return qemu ? std::optional<double>(worker.mips() / qemu->mips()) : std::nullopt;
  }
};

/// Runs everything with `rounds` rounds (about 130,000 instructions each). Throws Error(wrong_result) if the checksums
/// differ, std::runtime_error if a program does not run.
[[nodiscard]] IssResult run_iss_bench(std::uint32_t rounds);

}  // namespace tessera::bench
