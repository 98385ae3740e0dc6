#include "host/cli/networks_bench.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "hw/error.h"
#include "verif/cosim/shutdown.h"

namespace tessera::cli {

namespace {

using Json = nlohmann::json;

struct Network {
  std::string name;
  std::vector<std::string> whole, quick;          ///< arguments of tessera run
  std::string cycles, compile, run, host_memory;  ///< limits, as text; may be empty
};

const std::vector<Network>& networks() {
  static const std::vector<Network> kAll = {
      {"digits", {"example:digits"}, {"example:digits"}, "", "", "at most 1", ""},
      {"fashion", {"example:fashion"}, {}, "", "", "", ""},
      {"wakeword", {"example:wakeword"}, {}, "", "", "", ""},
      {"lstm1536",
       {"example:lstm?hidden=1536,steps=50,batch=1"},
       {"example:lstm?hidden=32,batch=1,steps=3"},
       "",
       "",
       "",
       ""},
      {"resnet50",
       {"example:resnet50"},
       {"example:resnet50?size=32,width=16,blocks=1-1-1-1,classes=10"},
       "at most 450000",
       "at most 60",
       "at most 15",
       "at most 4096"},
      {"resnext50", {"example:resnext50"}, {}, "", "", "", ""},
      {"groupconv", {"example:groupconv"}, {}, "", "", "", ""},
      {"alexnet", {"example:alexnet"}, {}, "", "", "", ""},
      {"bert",
       {"example:bert"},
       {"example:bert?layers=1,sequence=8,hidden=32,heads=2,intermediate=64"},
       "",
       "",
       "at most 40",
       ""},
      {"wavenet", {"example:wavenet?channels=76,samples=16,block=16", "--platform", "c2"}, {}, "", "", "", ""},
  };
  return kAll;
}

/// What a run of this very program left.
struct Outcome {
  int code = 0;
  std::string error;
  Json result;
  bench::Seconds seconds;
  double peak_mib = 0;  ///< of the process's memory
};

/// A directory of this process's own, gone at the end.
class Scratch {
 public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "tessera-bench-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
      throw Error(Category::usage, "cannot make a temporary directory", name, "set TMPDIR");
    path_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::string text_of(const std::string& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Runs `tessera run` with the arguments in a process of its own, so that its memory is its own too.
Outcome run_self(std::vector<std::string> arguments) {
  const Scratch scratch;
  const std::string json = scratch.file("result.json");
  const std::string err = scratch.file("err.txt");
  arguments.insert(arguments.begin(), {"tessera", "run"});
  arguments.insert(arguments.end(), {"--quiet", "--json", json});
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  Outcome outcome;
  rusage usage{};
  int status = 0;
  outcome.seconds = bench::timed([&] {
    const pid_t pid = fork();
    if (pid < 0) throw Error(Category::internal, "cannot start a process", "bench", "close other programs");
    if (pid == 0) {
      const int nowhere = open("/dev/null", O_WRONLY);
      const int errors = open(err.c_str(), O_WRONLY | O_CREAT, 0600);
      dup2(nowhere, STDOUT_FILENO);
      dup2(errors, STDERR_FILENO);
      execv("/proc/self/exe", argv.data());
      _exit(127);
    }
    while (wait4(pid, &status, 0, &usage) < 0 && errno == EINTR) {
    }
  });
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  outcome.seconds.cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  outcome.peak_mib = static_cast<double>(usage.ru_maxrss) / 1024;
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome.error = text_of(err);
  outcome.result = Json::parse(text_of(json), nullptr, false);
  return outcome;
}

class Rows {
 public:
  Rows(bench::Report& report, std::string network) : report_(report), network_(std::move(network)) {}
  /// A figure of the machine: no clock of this host is in it.
  void machine(const std::string& name, const std::string& unit, double value, const std::string& target,
               const std::string& meaning) {
    if (value > 0) report_.figures.push_back({network_ + " " + name, unit, target, meaning, {value}, {}});
  }
  void time(const std::string& name, double cpu, double wall, const std::string& target, const std::string& meaning) {
    report_.figures.push_back({network_ + " " + name, "s", target, meaning, {cpu}, {wall}});
  }

 private:
  bench::Report& report_;
  std::string network_;
};

std::string amp_target(const std::string& network, const std::string& kind) {
  if (network != "resnet50") return {};
  return kind == "1x1 convolution" ? "at least 40" : kind == "3x3 convolution" ? "at least 45" : "";
}

void add_rows(bench::Report& report, const Network& network, const Outcome& outcome, bool quick) {
  const Json& r = outcome.result;
  const auto target = [&](const std::string& text) { return quick ? std::string() : text; };
  Rows rows(report, network.name);
  rows.machine("cycles", "cycles", r.at("cycles"), target(network.cycles), "of the whole run, streams included");
  const double compile = r.at("wall").at("compile_seconds");
  const double run = r.at("wall").at("run_seconds");
  rows.time("compile", compile, compile, target(network.compile), "wall time of lowering and compiling");
  rows.time("run", run, run, target(network.run), "wall time of loading and running");
  rows.time("in all", outcome.seconds.cpu, outcome.seconds.wall, "",
            "the whole command: making the model, compiling, running");
  rows.machine("peak memory", "MiB", outcome.peak_mib, target(network.host_memory), "of the command's process");
  if (r.contains("work"))
    rows.machine("utilisation", "%", 100 * r["work"].at("utilisation").get<double>(), "",
                 "multiply-accumulates over the peak of all matrix engines, whole run");
  if (r.contains("work_classes"))
    for (const Json& kind : r["work_classes"])
      if (kind.contains("amp_utilisation"))
        rows.machine("AMP " + kind.at("class").get<std::string>(), "%", 100 * kind["amp_utilisation"].get<double>(),
                     target(amp_target(network.name, kind.at("class"))),
                     "useful AMP steps over compute cycles and active tiles");
  if (r.contains("memory"))
    rows.machine("fullest tile", "KiB", r["memory"].at("sum").get<double>() / 1024, "at most 256",
                 "memory of a tile in use");
  if (r.contains("latency"))
    rows.machine("cycles a step", "cycles", r["latency"].at("cycles_per_step"),
                 network.name == "lstm1536" ? target("at most 6000") : "", "of the recurrence alone");
  if (r.contains("sound") && r["sound"].contains("samples_per_second"))
    rows.machine("samples", "samples/s", r["sound"]["samples_per_second"], target("at least 16000"),
                 "samples of each channel in a simulated second");
}

}  // namespace

std::vector<std::string> bench_networks() {
  std::vector<std::string> names;
  for (const Network& network : networks()) names.push_back(network.name);
  return names;
}

bench::Report run_networks_bench(const Context& context, const bench::Effort& effort, const std::string& name) {
  bench::Report report;
  report.name = name.empty() ? "networks" : name;
  for (const Network& network : networks()) {
    if (!name.empty() && network.name != name) continue;
    std::vector<std::string> arguments = effort.quick ? network.quick : network.whole;
    if (arguments.empty()) {
      if (name.empty()) continue;  // quick: some are enough
      arguments = network.whole;
    }
    if (effort.quick) arguments.insert(arguments.end(), {"--platform", "pocket"});
    std::string command = "tessera run";
    for (const std::string& argument : arguments) command += " " + argument;
    arguments.insert(arguments.end(),
                     {"--threads", std::to_string(context.threads), "--seed", std::to_string(context.seed)});
    const Outcome outcome = run_self(arguments);
    Shutdown::check();
    if (outcome.code == 0 && outcome.result.is_object()) {
      add_rows(report, network, outcome, effort.quick);
      report.notes.push_back(network.name + ": " + command);
    } else {
      report.notes.push_back(fmt::format("{}: {} ended with exit code {}: {}", network.name, command, outcome.code,
                                         outcome.error.substr(0, outcome.error.find('\n'))));
    }
  }
  report.notes.emplace_back("each was run once, whatever --rounds says: cycles are the same every time");
  return report;
}

}  // namespace tessera::cli
