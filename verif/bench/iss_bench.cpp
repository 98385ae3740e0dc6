#include "verif/bench/iss_bench.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <stdexcept>

#include "host/elf/program.h"
#include "hw/error.h"
#include "hw/generated/machine.h"
#include "tlm/tile/tlm_tile.h"
#include "verif/bench/program_file.h"

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

TileRun run_tile(const elf::Program& program, unsigned workers, std::uint32_t rounds, bool exact) {
  TlmTile tile{TileConfig{}};
  for (const auto& segment : program.segments())
    if (!segment.bytes.empty()) tile.write_memory(segment.address, segment.bytes.data(), segment.bytes.size());
  tile.write_memory(program.symbol("rounds").value(), reinterpret_cast<const std::uint8_t*>(&rounds), sizeof rounds);
  tile.force_exact(exact);
  for (unsigned w = 1; w <= workers; ++w) tile.start_context(static_cast<ContextId>(w), program.entry(), 0);
  TileStop stop;
  const Seconds seconds = timed([&] { stop = tile.run(kNever, nullptr, nullptr); });
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

struct QemuRun {
  std::string output;
  Seconds seconds;
};

/// Runs qemu and returns its output and processor time; nothing if there is no qemu.
std::optional<QemuRun> run_qemu(const std::string& program, const std::string& argument) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) throw std::runtime_error("no pipe");
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("cannot start a process");
  if (child == 0) {
    dup2(pipe_ends[1], 1);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    execlp("qemu-riscv32", "qemu-riscv32", program.c_str(), argument.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  close(pipe_ends[1]);
  QemuRun run;
  std::array<char, 256> buffer;
  for (ssize_t n; (n = read(pipe_ends[0], buffer.data(), buffer.size())) > 0;) run.output.append(buffer.data(), n);
  close(pipe_ends[0]);
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) return std::nullopt;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) throw std::runtime_error("qemu-riscv32 failed");
  run.seconds.cpu = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
  return run;
}

std::optional<QemuRun> timed_qemu(const std::string& argument) {
  const ProgramFile program(ProgramFile::Which::linux_user);
  std::optional<QemuRun> run;
  const Seconds seconds = timed([&] { run = run_qemu(program.path(), argument); });
  if (run) run->seconds.wall = seconds.wall;
  return run;
}

}  // namespace

IssResult run_iss_bench(std::uint32_t rounds) {
  const auto program =
      elf::Program::read(ProgramFile(ProgramFile::Which::tile).path(), kSramBase, TileConfig{}.sram_bytes);
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
  if (const auto qemu = timed_qemu(std::to_string(rounds))) {
    if (qemu->output != fmt::format("{:08x}\n", worker.checksum))
      throw Error(Category::wrong_result,
                  fmt::format("the tile's checksum is {:08x}, qemu-riscv32 gives {}", worker.checksum, qemu->output));
    result.qemu = IssFigure{worker.figure.instructions, qemu->seconds};
  }
  return result;
}

Report run_iss_report(const Effort& effort) {
  Figure worker{"TLM worker", "Minstr/s", "", "one worker of a TLM tile, threaded code", {}, {}};
  Figure six{"TLM six workers", "Minstr/s", "", "all six workers of a tile", {}, {}};
  Figure exact{"TLM exact interleave", "Minstr/s", "", "one worker, issued in machine order", {}, {}};
  Figure qemu{"qemu-riscv32", "Minstr/s", "", "the same program in qemu-riscv32, start included", {}, {}};
  const std::uint32_t rounds = effort.quick ? 3 : 1500;
  Report report;
  report.name = "iss";
  const auto add = [](Figure& figure, const IssFigure& run) {
    figure.add_rate(1e-6 * static_cast<double>(run.instructions), run.seconds);
  };
  IssResult last;
  for (unsigned round = 0; round < effort.rounds; ++round) {
    last = run_iss_bench(rounds);
    add(worker, last.worker);
    add(six, last.six_workers);
    add(exact, last.exact);
    if (last.qemu) add(qemu, *last.qemu);
  }
  report.figures = {worker, six, exact};
  if (qemu.cpu.size() == worker.cpu.size()) {
    report.figures.push_back(qemu);
    report.figures.push_back(ratio("TLM worker / qemu-riscv32", worker, qemu, "at least 0.5", "of their speeds"));
  } else {
    report.notes.push_back("qemu-riscv32 is not installed: nothing to compare with");
  }
  report.notes.push_back(
      fmt::format("{} instructions a round, checksum {:08x} on all", last.worker.instructions, last.checksum));
  return report;
}

}  // namespace tessera::bench
