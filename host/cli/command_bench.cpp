// tessera bench: the speed figures of this build (docs/benchmarks.md), as a table and as JSON. Figures are printed,
// never judged: a slow machine is no error.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "host/cli/commands.h"
#include "host/cli/demo_bench.h"
#include "host/cli/digits_bench.h"
#include "host/cli/networks_bench.h"
#include "host/cli/rtl_factory.h"
#include "host/cli/scale_bench.h"
#include "hw/error.h"
#include "verif/bench/amp_bench.h"
#include "verif/bench/exchange_bench.h"
#include "verif/bench/figure.h"
#include "verif/bench/iss_bench.h"
#include "verif/bench/link_bench.h"
#include "verif/bench/rtl_bench.h"
#include "verif/cosim/shutdown.h"

namespace tessera::cli {

namespace {

struct BenchOptions {
  std::vector<std::string> names;
  bench::Effort effort;
};

struct Benchmark {
  std::string name, does;
  std::function<bench::Report(const bench::Effort&)> run;
  bool part = false;  ///< of another benchmark: run only if it is named
};

std::vector<Benchmark> benchmarks(const Context& context) {
  const bench::RtlModels models{rtl_tile, traced_rtl_tile};
  std::vector<Benchmark> all = {
      {"iss", "TLM worker code against qemu-riscv32 on one C program", bench::run_iss_report},
      {"amp", "vector loops of TLM workers: matrix products and f16 lanes", bench::run_amp_report},
      {"rtl", "cycles a second of the Verilated tile, with and without waveform",
       [models](const bench::Effort& effort) { return bench::run_rtl_bench(effort, models); }},
      {"lockstep", "time of a tile in lockstep against the RTL alone",
       [models](const bench::Effort& effort) { return bench::run_lockstep_bench(effort, models); }},
      {"exchange", "supersteps and exchange phases of 1216 TLM tiles",
       [&context](const bench::Effort& effort) { return bench::run_exchange_bench(effort, context.threads); }},
      {"link", "packets over an IPU-Link", bench::run_link_bench},
      {"scale", "host threads, empty supersteps, exchange against memcpy, boot and memory of whole machines",
       [&context](const bench::Effort& effort) { return run_scale_bench(context, effort); }},
      {"demo", "the demonstration of 116,736 workers: time and memory",
       [&context](const bench::Effort& effort) { return run_demo_bench(context, effort); }},
      {"digits", "the digits network: compiled, and run in TLM, RTL and lockstep",
       [&context](const bench::Effort& effort) { return run_digits_bench(context, effort); }},
      {"networks", "the networks of docs/networks.md: cycles, utilisation, memory, time of compiling and running",
       [&context](const bench::Effort& effort) { return run_networks_bench(context, effort, ""); }},
  };
  for (const std::string& name : bench_networks()) {
    if (std::any_of(all.begin(), all.end(), [&](const Benchmark& b) { return b.name == name; })) continue;
    all.push_back({name, "of networks only this one",
                   [&context, name](const bench::Effort& effort) { return run_networks_bench(context, effort, name); },
                   true});
  }
  return all;
}

/// In the order of the table, each once. Throws Error(usage) that lists the valid names.
std::vector<Benchmark> chosen(const Context& context, const std::vector<std::string>& names) {
  std::vector<Benchmark> all = benchmarks(context), picked;
  std::string valid;
  for (const Benchmark& b : all) valid += (valid.empty() ? "" : ", ") + b.name;
  for (const std::string& name : names)
    if (std::none_of(all.begin(), all.end(), [&](const Benchmark& b) { return b.name == name; }))
      throw Error(Category::usage, "there is no benchmark '" + name + "'", "", "valid names: " + valid);
  for (Benchmark& b : all)
    if (names.empty() ? !b.part : std::find(names.begin(), names.end(), b.name) != names.end())
      picked.push_back(std::move(b));
  return picked;
}

int run_bench(Context& context, const BenchOptions& options) {
  const std::vector<Benchmark> list = chosen(context, options.names);
  const nlohmann::ordered_json host = bench::host_json();
  context.result["host"] = host;
  context.result["quick"] = options.effort.quick;
  context.result["rounds"] = options.effort.rounds;
  context.result["benchmarks"] = nlohmann::ordered_json::array();
  context.print(fmt::format("{} x {}, {}, {}; {} rounds{}", host["cpus"].get<unsigned>(),
                            host["cpu"].get<std::string>(), host["compiler"].get<std::string>(),
                            host["build"].get<std::string>(), options.effort.rounds,
                            options.effort.quick ? ", quick: figures mean nothing" : ""));
  context.print(fmt::format("{:<9} {:<30} {:<10} {:>10} {:>10} {:>10} {:>11}  {}", "benchmark", "figure", "unit", "min",
                            "median", "max", "median wall", "target"));
  for (const Benchmark& benchmark : list) {
    const bench::Report report = benchmark.run(options.effort);
    context.result["benchmarks"].push_back(bench::to_json(report));
    for (const std::string& line : bench::table(report)) context.print(line);
    Shutdown::check();
  }
  return 0;
}

}  // namespace

void add_bench_command(CLI::App& app, Context& context) {
  std::string names = "Benchmarks to run; none is all of them.";
  for (const Benchmark& b : benchmarks(context)) names += fmt::format("\n{}: {}.", b.name, b.does);
  add_command(app, context, "bench", "The speed figures of this build, as a table and as JSON",
              "tessera bench iss rtl --json figures.json", [&names](CLI::App& sub) -> Body {
                auto options = std::make_shared<BenchOptions>();
                sub.add_option("NAME", options->names, names);
                sub.add_option("--rounds", options->effort.rounds, "Rounds of each benchmark")
                    ->check(CLI::Range(1, 1000))
                    ->capture_default_str();
                sub.add_flag("--quick", options->effort.quick, "As little work as shows that everything runs");
                return [options](Context& c) { return run_bench(c, *options); };
              });
}

}  // namespace tessera::cli
