// tessera demo: machine-level programs that show what the whole machine does, run and verified (host/demo).
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "host/cli/commands.h"
#include "host/cli/device_flow.h"
#include "host/cli/link_use.h"
#include "host/cli/run_report.h"
#include "host/cli/session.h"
#include "host/demo/demo.h"
#include "host/executable/container.h"
#include "hw/error.h"

namespace tessera::cli {

namespace {

struct DemoOptions {
  std::string name, output;
  std::map<std::string, std::string> parameters;  ///< as given
  MachineOptions machine;
  std::string report;
};

std::vector<std::uint32_t> words_of(const std::vector<std::uint8_t>& bytes) {
  std::vector<std::uint32_t> words((bytes.size() + 3) / 4);
  std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

/// MiB of memory that the process has had at most.
double peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

/// A superstep over all IPUs: the slowest of them in each part.
struct Row {
  std::string step;
  std::uint32_t phase = 0xFFFFFFFF;  ///< of the program
  profile::Span span;
  std::uint64_t bound = 0;   ///< cycles of one execution; 0 is none
  std::uint64_t cycles = 0;  ///< release to release, all executions
  std::string reason;
};

std::vector<Row> rows_of(Machine& machine, const demo::Demonstration& demonstration) {
  std::vector<Row> rows;
  std::map<Address, std::size_t> known;  // all programs of a demonstration have one supervisor program
  for (const executable::Instance& instance : demonstration.executable.instances) {
    const executable::Program& program = demonstration.executable.programs.at(instance.program);
    for (const auto& [pc, span] : machine.spans().of(instance.ipu)) {
      const auto [at, fresh] = known.try_emplace(pc, rows.size());
      if (fresh) {
        Row row;
        const executable::Step* step = executable::find_step(program, pc);
        row.step = step == nullptr ? "start" : step->name;
        row.phase = step == nullptr ? row.phase : step->phase;
        rows.push_back(std::move(row));
      }
      Row& row = rows[at->second];
      row.cycles = std::max(row.cycles, span.total());
      row.span.executions = std::max(row.span.executions, span.executions);
      row.span.moving = std::max(row.span.moving, span.moving);
      row.span.longest_moving = std::max(row.span.longest_moving, span.longest_moving);
      row.span.computing = std::max(row.span.computing, span.computing);
      row.span.waiting = std::max(row.span.waiting, span.waiting);
      if (row.phase < program.phases.size())
        row.bound = std::max<std::uint64_t>(row.bound, program.phases[row.phase].bound);
    }
  }
  for (Row& row : rows)
    for (const demo::Bound& bound : demonstration.bounds)
      if (bound.step == row.step) {
        row.bound = bound.cycles;
        row.reason = bound.reason;
      }
  return rows;
}

/// Cycles by superstep, printed and added to the result.
void tell_phases(Context& context, Machine& machine, const demo::Demonstration& demonstration) {
  auto& list = context.result["phases"] = nlohmann::ordered_json::array();
  context.print(fmt::format("{:<11} {:<28} {:>6} {:>10} {:>10} {:>6} {:>10} {:>10}", "cycles", "superstep", "times",
                            "moving", "bound", "ratio", "computing", "waiting"));
  for (const Row& row : rows_of(machine, demonstration)) {
    const profile::Span& s = row.span;
    const double times = static_cast<double>(std::max<std::uint64_t>(s.executions, 1));
    const double ratio = row.bound == 0 ? 0 : static_cast<double>(s.moving) / times / static_cast<double>(row.bound);
    context.print(fmt::format("{:<11} {:<28} {:>6} {:>10} {:>10} {:>6} {:>10} {:>10}{}", "", row.step, s.executions,
                              s.moving, row.bound == 0 ? "" : std::to_string(row.bound * s.executions),
                              row.bound == 0 ? "" : fmt::format("{:.3f}", ratio), s.computing, s.waiting,
                              row.reason.empty() ? "" : "  " + row.reason));
    nlohmann::ordered_json entry;
    entry["superstep"] = row.step;
    entry["executions"] = s.executions;
    entry["moving"] = s.moving;
    entry["longest_moving"] = s.longest_moving;
    entry["computing"] = s.computing;
    entry["waiting"] = s.waiting;
    if (row.bound != 0) {
      entry["bound"] = row.bound;
      entry["ratio"] = ratio;
    }
    list.push_back(std::move(entry));
  }
}

/// Cycles of what counts as one thing, printed and added to the result; the sum of all, or of all supersteps behind the
/// start if nothing does.
std::uint64_t tell_totals(Context& context, Machine& machine, const demo::Demonstration& demonstration) {
  auto& list = context.result["totals"] = nlohmann::ordered_json::array();
  const std::vector<Row> rows = rows_of(machine, demonstration);
  std::uint64_t all = 0;
  for (const demo::Total& total : demonstration.totals) {
    std::uint64_t cycles = 0;
    for (const Row& row : rows)
      if (std::find(total.steps.begin(), total.steps.end(), row.step) != total.steps.end()) cycles += row.cycles;
    all += cycles;
    const double each = static_cast<double>(cycles) / static_cast<double>(total.times);
    std::string text = fmt::format("{:<11} {} {:.0f} cycles", "total", total.name, each);
    nlohmann::ordered_json entry = {{"name", total.name}, {"cycles", each}};
    if (total.bound != 0) {
      entry["bound"] = total.bound;
      entry["ratio"] = each / static_cast<double>(total.bound);
      text += fmt::format(", bound {}, ratio {:.3f}", total.bound, each / static_cast<double>(total.bound));
    }
    if (total.units != 0) {
      const double rate = static_cast<double>(total.units) / each;
      entry[total.unit + "_per_cycle"] = rate;
      text += fmt::format(", {:.1f} {} a cycle: {:.3g} a second", rate, total.unit,
                          rate * static_cast<double>(machine.platform().clock_hz));
    }
    context.print(text + (total.reason.empty() ? "" : "  " + total.reason));
    list.push_back(std::move(entry));
  }
  if (demonstration.totals.empty())
    for (const Row& row : rows) all += row.step == "start" ? 0 : row.cycles;
  return all;
}

/// What was verified; returns the first failure.
std::string tell_verdicts(Context& context, const std::vector<demo::Verdict>& verdicts) {
  std::string failure;
  std::uint64_t values = 0;
  auto& list = context.result["verified"] = nlohmann::ordered_json::array();
  for (const demo::Verdict& v : verdicts) {
    context.print(
        fmt::format("{:<11} {} {}{}", "verified", v.values, v.text, v.failure.empty() ? "" : ": " + v.failure));
    list.push_back({{"values", v.values}, {"what", v.text}, {"failure", v.failure}});
    values += v.values;
    if (failure.empty()) failure = v.failure;
  }
  if (values == 0 && failure.empty()) failure = "nothing was compared";
  return failure;
}

CompiledModel wrap(const demo::Demonstration& demonstration, double seconds) {
  CompiledModel compiled;
  compiled.executable = demonstration.executable;
  compiled.executable.interface_json = interface_json(compiled);  // no inputs, no outputs: `exec` runs it too
  compiled.seconds = seconds;
  return compiled;
}

Platform platform_for(const DemoOptions& options, const demo::Kind& kind) {
  const Platform all = load_platform(options.machine.platform);
  return chosen_platform(all, options.machine.ipus != 0 ? options.machine.ipus : std::min(kind.ipus, all.ipus()));
}

int run_demo(Context& context, const DemoOptions& options) {
  Progress progress(context.quiet);
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  const demo::Kind& kind = demo::demonstration(options.name);
  const demo::Arguments arguments = demo::arguments_of(kind, options.parameters, context.seed);
  FlowRequest request;
  request.what = "demo";
  request.title = kind.name;
  request.machine = options.machine;
  request.results.report = options.report;
  request.advice = "--lockstep all tells whether the machine is at fault";
  const Platform platform = platform_for(options, kind);
  request.machine.ipus = 0;  // the platform is what is left
  request.machine.check(platform);
  progress.phase("building");
  const demo::Demonstration demonstration = kind.make(platform, arguments);
  const CompiledModel compiled = wrap(demonstration, seconds());
  if (!options.output.empty()) executable::write_file(compiled.executable, options.output);
  context.result["demonstration"] = kind.name;
  for (const std::string& line : demonstration.about) context.print("            " + line);
  std::vector<demo::Verdict> verdicts;
  LinkUse links;
  request.inspect = [&](const engine::Engine& engine, Machine& machine) {
    demo::Memory memory;
    memory.tensor = [&](const std::string& name, std::size_t instance) {
      return words_of(engine.read_tensor(name, instance));
    };
    memory.words = [&](TileRef tile, Address address, std::uint32_t* words, std::size_t count) {
      machine.driver().read_tile(tile.ipu, tile.tile, address, words, count);
    };
    links = read_links(machine.driver());
    progress.phase("verifying");
    verdicts = demonstration.verify(memory);
    progress.finish();
  };
  request.conclude = [&](Machine& machine, const DeviceRun&) {
    for (const char* key : {"batch", "chunk"}) context.result.erase(key);
    context.result["about"] = demonstration.about;
    context.result["start_cycle"] = machine.profile().start();  // of the supervisors, from power-on
    tell_phases(context, machine, demonstration);
    const std::uint64_t cycles = tell_totals(context, machine, demonstration);
    if (links.packets != 0) {
      context.print(fmt::format("{:<11} {}", "links", text(links, cycles)));
      context.result["links"] = to_json(links, cycles);
    }
    const std::string failure = tell_verdicts(context, verdicts);
    context.result["wall"]["seconds"] = seconds();
    context.result["wall"]["peak_mib"] = peak_mib();
    context.print(
        fmt::format("{:<11} {:.1f} s from start to end, {:.0f} MiB of memory at most", "host", seconds(), peak_mib()));
    return failure;
  };
  return run_on_machine(context, request, platform, compiled, {}, progress);
}

/// One option for each name; the kind that is run must have it.
void add_parameters(CLI::App& sub, const std::shared_ptr<DemoOptions>& options) {
  std::map<std::string, std::string> help;
  for (const demo::Kind& kind : demo::demonstrations())
    for (const demo::Parameter& p : kind.parameters) {
      std::string& text = help[p.name];
      text += fmt::format("{}{}: {}{}", text.empty() ? "" : "\n", kind.name, p.help,
                          p.fallback.empty() ? "" : " [" + p.fallback + "]");
    }
  for (const auto& [name, text] : help)
    sub.add_option_function<std::string>(
        "--" + name, [options, key = name](const std::string& value) { options->parameters[key] = value; }, text);
}

}  // namespace

void add_demo_command(CLI::App& app, Context& context) {
  std::string names = "The demonstration:";
  for (const demo::Kind& kind : demo::demonstrations()) names += fmt::format("\n{}: {}.", kind.name, kind.does);
  add_command(
      app, context, "demo", "Run a demonstration of the whole machine and verify what it computes",
      demo::demonstrations().front().example, [&names](CLI::App& sub) -> Body {
        auto options = std::make_shared<DemoOptions>();
        sub.add_option("NAME", options->name, names)->required();
        add_parameters(sub, options);
        sub.add_flag("--check", options->machine.check_races, "Look for races between the contexts of a tile");
        sub.add_option("-o,--output", options->output, "Write the executable, for `tessera exec`")->type_name("FILE");
        sub.add_option("--report", options->report, "Write report.json and report.txt")->type_name("DIR");
        options->machine.add_to(sub);
        return [options](Context& c) { return run_demo(c, *options); };
      });
}

}  // namespace tessera::cli
