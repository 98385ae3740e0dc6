// Prints the instruction-set benchmark: million instructions a second, and the ratio to qemu-riscv32.
#include <fmt/format.h>

#include <cstdlib>

#include "verif/bench/iss_bench.h"

int main(int argc, char** argv) {
  const auto rounds = static_cast<std::uint32_t>(argc > 1 ? std::atoi(argv[1]) : 2000);
  const auto result = tessera::bench::run_iss_bench(rounds);
  fmt::print("checksum                    {:08x}\n", result.checksum);
  fmt::print("instructions                {:>10}\n", result.worker.instructions);
  fmt::print("TLM worker          MIPS    {:>10.0f}\n", result.worker.mips());
  fmt::print("TLM six workers     MIPS    {:>10.0f}\n", result.six_workers.mips());
  fmt::print("TLM exact           MIPS    {:>10.1f}\n", result.exact.mips());
  if (result.qemu) {
    fmt::print("qemu-riscv32        MIPS    {:>10.0f}\n", result.qemu->mips());
    fmt::print("TLM worker / qemu           {:>10.2f}\n", *result.ratio());
  }
  return 0;
}
