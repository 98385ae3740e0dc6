#include "verif/bench/iss_bench.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <cstring>
#include <stdexcept>

#include "host/elf/program.h"
#include "hw/error.h"
#include "hw/generated/machine.h"
#include "tlm/tile/tlm_tile.h"

namespace tessera::bench {

namespace {

struct TileRun {
  IssFigure figure;
  std::uint32_t checksum = 0;
};

std::uint32_t word_of(const TlmTile& tile, Address at) {
  std::uint32_t v = 0;
  tile.read_memory(at, reinterpret_cast<std::uint8_t*>(&v), sizeof v);
  return v;
}

/// Processor time of this thread, as for qemu: a busy machine changes neither.
double thread_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

TileRun run_tile(const elf::Program& program, unsigned workers, std::uint32_t rounds, bool exact) {
  TlmTile tile{TileConfig{}};
  for (const auto& segment : program.segments())
    if (!segment.bytes.empty()) tile.write_memory(segment.address, segment.bytes.data(), segment.bytes.size());
  tile.write_memory(program.symbol("rounds").value(), reinterpret_cast<const std::uint8_t*>(&rounds), sizeof rounds);
  tile.force_exact(exact);
  for (unsigned w = 1; w <= workers; ++w) tile.start_context(static_cast<ContextId>(w), program.entry(), 0);
  const double from = thread_seconds();
  const TileStop stop = tile.run(kNever, nullptr, nullptr);
  const double seconds = thread_seconds() - from;
  if (stop.kind != TileStop::Kind::idle) throw std::runtime_error("the benchmark program did not come to its end");
  TileRun out;
  out.figure = {tile.retired(), seconds};
  const Address results = program.symbol("results").value();
  out.checksum = word_of(tile, results);
  for (unsigned w = 1; w < workers; ++w)
    if (word_of(tile, results + 4 * w) != out.checksum) throw std::runtime_error("workers differ in their checksum");
  return out;
}

double seconds_of(const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; }

/// Runs qemu and returns its output and processor time; nothing if there is no qemu.
std::optional<std::pair<std::string, double>> run_qemu(const std::string& argument) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) throw std::runtime_error("no pipe");
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("cannot start a process");
  if (child == 0) {
    dup2(pipe_ends[1], 1);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    execlp("qemu-riscv32", "qemu-riscv32", TESSERA_ISS_LINUX_ELF, argument.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  close(pipe_ends[1]);
  std::string out;
  std::array<char, 256> buffer;
  for (ssize_t n; (n = read(pipe_ends[0], buffer.data(), buffer.size())) > 0;) out.append(buffer.data(), n);
  close(pipe_ends[0]);
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) return std::nullopt;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) throw std::runtime_error("qemu-riscv32 failed");
  return std::make_pair(out, seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime));
}

}  // namespace

IssResult run_iss_bench(std::uint32_t rounds) {
  const auto program = elf::Program::read(TESSERA_ISS_TILE_ELF, kSramBase, TileConfig{}.sram_bytes);
  IssResult result;
  const TileRun worker = run_tile(program, 1, rounds, false);
  const TileRun six = run_tile(program, 6, rounds, false);
  const TileRun exact = run_tile(program, 1, rounds / 10 + 1, true);
  result.worker = worker.figure;
  result.six_workers = six.figure;
  result.exact = exact.figure;
  result.checksum = worker.checksum;
  if (six.checksum != worker.checksum)
    throw Error(Category::wrong_result, "six workers give another checksum than one");
  if (const auto qemu = run_qemu(std::to_string(rounds))) {
    if (qemu->first != fmt::format("{:08x}\n", worker.checksum))
      throw Error(Category::wrong_result,
                  fmt::format("the tile's checksum is {:08x}, qemu-riscv32 gives {}", worker.checksum, qemu->first));
    result.qemu = IssFigure{worker.figure.instructions, qemu->second};
  }
  return result;
}

}  // namespace tessera::bench
