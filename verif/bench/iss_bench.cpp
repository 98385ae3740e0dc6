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

TileRun run_tile(const elf::Program& program, unsigned workers, std::uint32_t rounds, IssWork work, bool exact) {
  TlmTile tile{TileConfig{}};
  for (const auto& segment : program.segments())
    if (!segment.bytes.empty()) tile.write_memory(segment.address, segment.bytes.data(), segment.bytes.size());
  tile.write_memory(program.symbol("rounds").value(), reinterpret_cast<const std::uint8_t*>(&rounds), sizeof rounds);
  const auto kind = static_cast<std::uint32_t>(work);
  tile.write_memory(program.symbol("kind").value(), reinterpret_cast<const std::uint8_t*>(&kind), sizeof kind);
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
std::optional<QemuRun> run_qemu(const std::string& program, const std::string& rounds, const std::string& kind) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) throw std::runtime_error("no pipe");
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("cannot start a process");
  if (child == 0) {
    dup2(pipe_ends[1], 1);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    execlp("qemu-riscv32", "qemu-riscv32", program.c_str(), rounds.c_str(), kind.c_str(), static_cast<char*>(nullptr));
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

std::optional<QemuRun> timed_qemu(std::uint32_t rounds, IssWork work) {
  const ProgramFile program(ProgramFile::Which::linux_user);
  std::optional<QemuRun> run;
  const Seconds seconds = timed(
      [&] { run = run_qemu(program.path(), std::to_string(rounds), std::to_string(static_cast<unsigned>(work))); });
  if (run) run->seconds.wall = seconds.wall;
  return run;
}

}  // namespace

IssResult run_iss_bench(std::uint32_t rounds, IssWork work) {
  const auto program =
      elf::Program::read(ProgramFile(ProgramFile::Which::tile).path(), kSramBase, TileConfig{}.sram_bytes);
  IssResult result;
  const TileRun worker = run_tile(program, 1, rounds, work, false);
  const TileRun six = run_tile(program, 6, rounds, work, false);
  const TileRun exact = run_tile(program, 1, rounds / 10 + 1, work, true);
  result.worker = worker.figure;
  result.six_workers = six.figure;
  result.exact = exact.figure;
  result.checksum = worker.checksum;
  if (six.checksum != worker.checksum)
    throw Error(Category::wrong_result, "six workers give another checksum than one");
  if (const auto qemu = timed_qemu(rounds, work)) {
    if (qemu->output != fmt::format("{:08x}\n", worker.checksum))
      throw Error(Category::wrong_result,
                  fmt::format("the tile's checksum is {:08x}, qemu-riscv32 gives {}", worker.checksum, qemu->output));
    result.qemu = IssFigure{worker.figure.instructions, qemu->seconds};
  }
  return result;
}

namespace {

/// The figures of one kind of work, round by round.
struct IssFigures {
  IssWork work;
  std::uint32_t rounds;  ///< of the program, a round of the benchmark
  Figure worker, six, exact, qemu;
  IssResult last{};

  IssFigures(IssWork kind, std::uint32_t program_rounds, const std::string& suffix, const std::string& of)
      : work(kind),
        rounds(program_rounds),
        worker{"TLM worker" + suffix, "Minstr/s", "", "one worker of a TLM tile, threaded code" + of, {}, {}},
        six{"TLM six workers" + suffix, "Minstr/s", "", "all six workers of a tile" + of, {}, {}},
        exact{"TLM exact interleave" + suffix, "Minstr/s", "", "one worker, issued in machine order" + of, {}, {}},
        qemu{"qemu-riscv32" + suffix, "Minstr/s", "", "the same program in qemu-riscv32, start included" + of, {}, {}} {
  }
  void run() {
    const auto add = [](Figure& figure, const IssFigure& result) {
      figure.add_rate(1e-6 * static_cast<double>(result.instructions), result.seconds);
    };
    last = run_iss_bench(rounds, work);
    add(worker, last.worker);
    add(six, last.six_workers);
    add(exact, last.exact);
    if (last.qemu) add(qemu, *last.qemu);
  }
  /// Whether there was a qemu to compare with.
  bool report(Report& report, const std::string& target) const {
    report.figures.insert(report.figures.end(), {worker, six, exact});
    if (qemu.cpu.size() != worker.cpu.size()) return false;
    report.figures.push_back(qemu);
    report.figures.push_back(ratio(worker.name + " / qemu-riscv32", worker, qemu, target, "of their speeds"));
    return true;
  }
};

}  // namespace

Report run_iss_report(const Effort& effort) {
  IssFigures mixed(IssWork::mixed, effort.quick ? 3 : 1500, "", "");
  IssFigures floats(IssWork::floating_point, effort.quick ? 3 : 1500, ", floating point", "; floating-point work");
  Report report;
  report.name = "iss";
  for (unsigned round = 0; round < effort.rounds; ++round) {
    mixed.run();
    floats.run();
  }
  const bool compared = mixed.report(report, "at least 0.8");
  floats.report(report, "at least 2");
  if (!compared) report.notes.push_back("qemu-riscv32 is not installed: nothing to compare with");
  for (const IssFigures* f : {&mixed, &floats})
    report.notes.push_back(fmt::format("{}: {} instructions a round, checksum {:08x} on all",
                                       f->work == IssWork::mixed ? "mixed" : "floating point",
                                       f->last.worker.instructions, f->last.checksum));
  return report;
}

}  // namespace tessera::bench
