#include "host/cli/demo_bench.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "host/cli/machine.h"
#include "host/demo/demo.h"
#include "host/engine/engine.h"
#include "hw/error.h"
#include "verif/cosim/shutdown.h"

namespace tessera::cli {

namespace {

/// In this process; true if all that was to be verified is right.
bool run_here(const Context& context, const Platform& platform) {
  const demo::Kind& kind = demo::demonstration("workers");
  const demo::Demonstration demonstration = kind.make(platform, demo::arguments_of(kind, {}, context.seed));
  Progress progress(true);
  MachineOptions options;
  Machine machine(context, options, platform, demonstration.executable, progress);
  engine::Engine engine(demonstration.executable, machine.driver());
  engine.load();
  engine.run();
  demo::Memory memory;
  memory.tensor = [&](const std::string& name, std::size_t instance) {
    const std::vector<std::uint8_t> bytes = engine.read_tensor(name, instance);
    std::vector<std::uint32_t> words(bytes.size() / 4);
    std::memcpy(words.data(), bytes.data(), bytes.size());
    return words;
  };
  std::uint64_t values = 0;
  bool right = true;
  for (const demo::Verdict& verdict : demonstration.verify(memory)) {
    values += verdict.values;
    right = right && verdict.failure.empty();
  }
  return right && values > 0;
}

/// Seconds and peak memory of a child that runs it.
struct Figures {
  bench::Seconds seconds;
  double peak_mib = 0;
};

Figures run_apart(const Context& context, const Platform& platform) {
  Figures figures;
  rusage usage{};
  const bench::Seconds wall = bench::timed([&] {
    const pid_t pid = fork();
    if (pid < 0) throw Error(Category::internal, "cannot start a process", "bench", "close other programs");
    if (pid == 0) {
      int code = exit_code(Category::internal);
      try {
        code = run_here(context, platform) ? 0 : exit_code(Category::wrong_result);
      } catch (const std::exception& error) {
        context.warn(error.what());
      }
      _exit(code);
    }
    int status = 0;
    while (wait4(pid, &status, 0, &usage) < 0 && errno == EINTR) {
    }
    Shutdown::check();  // a signal ends parent and child
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
      throw Error(Category::internal, "the demonstration failed", "bench demo", "run tessera demo workers");
  });
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  figures.seconds = {seconds(usage.ru_utime) + seconds(usage.ru_stime), wall.wall};
  figures.peak_mib = static_cast<double>(usage.ru_maxrss) / 1024.0;
  return figures;
}

}  // namespace

bench::Report run_demo_bench(const Context& context, const bench::Effort& effort) {
  bench::Report report;
  report.name = "demo";
  const Platform platform = load_platform(effort.quick ? "pocket" : "dss8440");
  bench::Figure seconds{
      "workers, start to end", "s", "at most 60 wall", "built, loaded, run, every word verified", {}, {}};
  bench::Figure peak{"workers, peak memory", "MiB", "at most 8192", "of the process, at its most", {}, {}};
  for (unsigned round = 0; round < std::min(effort.rounds, 3U); ++round) {
    const Figures figures = run_apart(context, platform);
    seconds.add_time(figures.seconds);
    peak.cpu.push_back(figures.peak_mib);
  }
  report.figures = {seconds, peak};
  report.notes.push_back(fmt::format("workers on platform {}: {} workers", platform.name,
                                     platform.ipus() * platform.tiles * platform.workers));
  return report;
}

}  // namespace tessera::cli
