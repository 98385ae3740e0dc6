// The instruction-set benchmark: one C program of mixed and one of floating-point work on the TLM tile and on
// qemu-riscv32, in one process run after another, so that their ratio means something on any machine. Speeds are of
// processor time, which a busy machine changes little.
#pragma once

#include <cstdint>
#include <optional>

#include "verif/bench/figure.h"

namespace tessera::bench {

struct IssFigure {
  std::uint64_t instructions = 0;
  Seconds seconds;
  [[nodiscard]] double mips() const {
    return seconds.cpu > 0 ? static_cast<double>(instructions) / seconds.cpu / 1e6 : 0;
  }
};

/// What the program does.
enum class IssWork : std::uint8_t { mixed = 0, floating_point = 1 };

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

/// Runs everything with `rounds` rounds (about 90,000 instructions each, and 50,000 of floating-point work). Throws
/// Error(wrong_result) if the checksums differ, std::runtime_error if a program does not run.
[[nodiscard]] IssResult run_iss_bench(std::uint32_t rounds, IssWork work = IssWork::mixed);

/// The benchmark `iss`: figures of several runs, one after the other in each round.
[[nodiscard]] Report run_iss_report(const Effort& effort);

}  // namespace tessera::bench
