#include "host/cli/device_flow.h"

#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <sstream>

#include "host/cli/machine_dump.h"
#include "host/cli/run_report.h"
#include "host/onnx/tensor_io.h"
#include "hw/error.h"
#include "hw/read_file.h"
#include "hw/whole_file.h"
#include "verif/cosim/shutdown.h"

namespace tessera::cli {

void ResultOptions::add_to(CLI::App& app) {
  app.add_option("--expected", expected, "Compare the outputs with DIR/output_0.pb, ...")->type_name("DIR");
  app.add_option("--rtol", tolerance.rtol, "Relative tolerance of comparisons")
      ->check(tolerance_number())
      ->capture_default_str();
  app.add_option("--atol", tolerance.atol, "Absolute tolerance of comparisons")
      ->check(tolerance_number())
      ->capture_default_str();
  app.add_option("--labels", labels, "Integer class of each row: prints the accuracy")->type_name("FILE");
  app.add_option("--out", out, "Write the outputs as DIR/output_0.pb, ...")->type_name("DIR");
  app.add_option("--report", report, "Write report.json and report.txt")->type_name("DIR");
}

void ResultOptions::check() const {
  if (!labels.empty()) require_file(labels, "labels");
  if (!expected.empty()) require_directory(expected, "directory of --expected");
}

namespace {

std::string output_file(const std::string& directory, std::size_t index) {
  return fmt::format("{}/output_{}.pb", directory, index);
}

/// What the user gives to compare with, read before the run.
struct References {
  std::vector<model::Tensor> expected;
  std::optional<model::Tensor> labels;

  References(const FlowRequest& request, const CompiledModel& compiled) : labels(request.labels) {
    const ResultOptions& options = request.results;
    if (!options.labels.empty()) labels = model::read_tensor(options.labels);
    for (std::size_t i = 0; !options.expected.empty() && i < compiled.outputs.size(); ++i)
      expected.push_back(model::read_tensor(output_file(options.expected, i)));
  }
};

golden::Comparison check_expected(const ResultOptions& options, const References& references, const DeviceRun& run) {
  golden::Comparison all;
  for (std::size_t i = 0; i < run.outputs.size(); ++i)
    all.merge(golden::compare(run.outputs[i], references.expected.at(i), options.tolerance, run.outputs[i].name));
  return all;
}

void add_check(Context& context, const std::string& key, const golden::Comparison& comparison) {
  auto& check = context.result[key];
  check["passes"] = comparison.passes();
  check["values"] = comparison.values;
  check["wrong"] = comparison.wrong;
  check["max_abs"] = comparison.max_abs;
  check["max_rel"] = comparison.max_rel;
  check["max_ulp"] = comparison.max_ulp;
}

/// Share of rows whose largest element stands at the label. The first output, rows along axis 0.
void add_accuracy(Context& context, const std::string& file, const model::Tensor& labels, const DeviceRun& run) {
  const model::Tensor& scores = run.outputs.front();
  const std::int64_t rows = labels.elements();
  if (rows == 0 || scores.shape.empty() || scores.shape.front() != rows)
    throw Error(
        Category::usage,
        fmt::format("--labels holds {} labels, but the first output is {}", rows, model::to_string(scores.shape)),
        file);
  const std::int64_t classes = scores.elements() / rows;
  std::int64_t right = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t best = 0;
    for (std::int64_t c = 1; c < classes; ++c)
      if (scores.real(row * classes + c) > scores.real(row * classes + best)) best = c;
    right += best == labels.integer(row) ? 1 : 0;
  }
  const double accuracy = static_cast<double>(right) / static_cast<double>(rows);
  context.result["accuracy"] = {{"rows", rows}, {"right", right}, {"share", accuracy}};
  context.print(fmt::format("classified  {} of {} right: accuracy {:.2f} %", right, rows, 100.0 * accuracy));
}

void write_outputs(const std::string& directory, const DeviceRun& run) {
  model::make_directory(directory);
  const DirectoryLock together(directory);
  for (std::size_t i = 0; i < run.outputs.size(); ++i) model::write_tensor(output_file(directory, i), run.outputs[i]);
}

void print_run(const Context& context, const Machine& machine, const CompiledModel& compiled, const DeviceRun& run) {
  const Machine::Statistics& s = run.statistics;
  if (s.lockstep_tiles > 0) {
    context.print(fmt::format("lockstep    {} instructions and {} exchange words compared on {} tiles, no mismatch",
                              s.compared.instructions, s.compared.words, s.lockstep_tiles));
  }
  context.print(fmt::format("exchange    {} phases, each took exactly its predicted cycles; {} words received",
                            context.result["exchange"]["phases_compared"].get<std::uint64_t>(),
                            run.result.counters.words_received));
  const double simulated = machine.platform().seconds(run.cycles);
  context.print(fmt::format("machine     {} cycles, {} instructions, {:.3f} ms simulated at {:.1f} GHz", run.cycles,
                            s.instructions, 1e3 * simulated, static_cast<double>(machine.platform().clock_hz) / 1e9));
  context.print(
      fmt::format("speed       {:.2f} Mcycle/s, {:.1f} Minstr/s; compiled in {:.2f} s, loaded and run in {:.2f} s",
                  static_cast<double>(run.cycles) / run.seconds / 1e6,
                  static_cast<double>(s.instructions) / run.seconds / 1e6, compiled.seconds, run.seconds));
  if (compiled.batch > 0) {
    const std::size_t replicas = compiled.executable.instances.size();
    context.print(fmt::format("throughput  {:.0f} rows per simulated second ({} rows, {} a step{})",
                              static_cast<double>(compiled.batch) / simulated, compiled.batch, compiled.chunk,
                              replicas > 1 ? " and IPU" : ""));
  }
}

/// What the report holds beyond the result, as far as the run has got.
struct ReportParts {
  nlohmann::ordered_json compiler, cycle_profile;
};

void write_report_of(const Context& context, const FlowRequest& request, const ReportParts& parts) {
  if (request.results.report.empty()) return;
  nlohmann::ordered_json report = context.result;
  report["compiler"] = parts.compiler;
  if (!parts.cycle_profile.is_null()) report["cycle_profile"] = parts.cycle_profile;
  write_report(request.results.report, report);
}

void finish_waves(Context& context, Machine& machine) {
  const std::optional<WaveSummary> waves = machine.close_waves();
  if (!waves) return;
  for (const std::string& pattern : waves->unmatched) context.warn("--wave-scope '" + pattern + "' matches no signal");
  for (const std::string& scope : waves->lost) context.warn("signals of " + scope + " are missing in the waveform");
  if (waves->signals != 0 && machine.profile().last_arrival() != 0 && machine.wave_end() < machine.profile().start()) {
    context.warn(fmt::format("the waveform ends before the program starts in cycle {}: use --wave-to superstep=N",
                             machine.profile().start()));
  }
  if (waves->signals == 0) {
    context.warn("no signal was selected: " + waves->file + " was not written");
    return;
  }
  context.result["wave"] = {{"file", waves->file},       {"view", waves->view},   {"signals", waves->signals},
                            {"changes", waves->changes}, {"first", waves->first}, {"last", waves->last}};
}

/// Compares, prints what was compared, and keeps the first comparison that fails.
void compare(Context& context, const std::string& label, const std::string& key, const golden::Comparison& comparison,
             std::string& failure) {
  add_check(context, key, comparison);
  context.print(fmt::format("{:<11} {}", label, comparison.text()));
  if (!comparison.passes() && failure.empty()) failure = comparison.text();
}

/// The compiler and the machine must agree on every exchange phase: a difference is a fault of Tessera.
void check_phases(Context& context, Machine& machine, const CompiledModel& compiled) {
  const profile::PhaseCheck& check = machine.phases();
  context.result["exchange"]["phases_compared"] = check.compared();
  context.result["exchange"]["phases_different"] = check.differences().size();
  if (check.differences().empty()) return;
  const profile::PhaseDifference& first = check.differences().front();
  throw std::logic_error(fmt::format("exchange phase '{}' of IPU {} at cycle {} took {} cycles, but {} were predicted",
                                     compiled.executable.programs.at(first.program).phases.at(first.phase).name,
                                     first.ipu, first.release, first.measured, first.predicted));
}

/// Words for nobody are no error, but a sign of one: the program's author has to know.
void tell_unheard(Context& context, const Machine& machine) {
  const std::vector<std::string> texts = machine.unheard();
  if (texts.empty()) return;
  auto& list = context.result["exchange"]["unheard"] = nlohmann::ordered_json::array();
  for (const std::string& text : texts) list.push_back(text);
  for (const std::string& text : texts) context.warn(text);
}

/// Races of the program under test, as far as they were looked for.
std::vector<TileRace> check_races(Context& context, const Machine& machine) {
  if (!machine.checks_races()) return {};
  std::vector<TileRace> races = machine.races();
  auto& list = context.result["races"] = nlohmann::ordered_json::array();
  for (const TileRace& race : races) list.push_back(machine.text(race));
  context.result["race_check"] = {{"tiles", machine.race_tiles()}, {"of", machine.platform().tiles}};
  return races;
}

/// What a check left out: on large machines most tiles.
void tell_unchecked(Context& context, const Machine& machine) {
  const unsigned looked = machine.race_tiles(), all = machine.platform().tiles;
  if (!machine.checks_races() || looked == all) return;
  context.print(
      fmt::format("races       looked for in {} of the {} tiles of an IPU; --race-tiles 0 does in all", looked, all));
}

/// "16 tiles", or "1216 tiles on 1 of 2 IPUs".
std::string tiles_text(const Platform& platform, const executable::Executable& executable) {
  unsigned tiles = 0;
  for (const executable::Instance& instance : executable.instances)
    tiles += executable.programs.at(instance.program).tiles;
  if (executable.instances.size() == platform.ipus())
    return platform.ipus() == 1 ? fmt::format("{} tiles", tiles)
                                : fmt::format("{} tiles on {} IPUs", tiles, platform.ipus());
  return fmt::format("{} tiles on {} of {} IPUs", tiles, executable.instances.size(), platform.ipus());
}

int report_results(Context& context, const FlowRequest& request, const References& references, Machine& machine,
                   const CompiledModel& compiled, const DeviceRun& run, ReportParts& parts) {
  add_run(context.result, machine, compiled, run);
  if (!request.results.out.empty()) write_outputs(request.results.out, run);
  context.print(fmt::format("{:<11} {} on platform {}: {}, {} in lockstep, {} RTL", request.what, request.title,
                            machine.platform().name, tiles_text(machine.platform(), compiled.executable),
                            run.statistics.lockstep_tiles, run.statistics.rtl_tiles));
  check_phases(context, machine, compiled);
  tell_unheard(context, machine);
  if (references.labels) add_accuracy(context, request.results.labels, *references.labels, run);
  std::string failure;
  if (request.check) compare(context, "reference", "check", request.check(run), failure);
  if (!request.results.expected.empty())
    compare(context, "expected", "expected", check_expected(request.results, references, run), failure);
  if (request.conclude) {
    const std::string wrong = request.conclude(machine, run);
    if (failure.empty()) failure = wrong;
  }
  const std::vector<TileRace> races = check_races(context, machine);
  tell_unchecked(context, machine);
  print_run(context, machine, compiled, run);
  if (context.result.contains("wave")) {
    context.print(fmt::format(
        "waveform    {} (view {}), cycles {} to {}", context.result["wave"]["file"].get<std::string>(),
        context.result["wave"]["view"].get<std::string>(), context.result["wave"]["first"].get<std::uint64_t>(),
        context.result["wave"]["last"].get<std::uint64_t>()));
  }
  parts.cycle_profile = cycles_json(machine.profile(), compiled.executable);
  if (!request.results.report.empty() && failure.empty() && races.empty()) {
    context.result["exit_code"] = 0;
    write_report_of(context, request, parts);
  }
  if (!request.results.report.empty())
    context.print(fmt::format("report      {0}/report.json, {0}/report.txt", request.results.report));
  if (!context.json_file.empty()) context.print("result      " + context.json_file);
  if (!races.empty()) {
    throw Error(Category::wrong_result, machine.text(races.front()), request.title,
                "give each byte to one context until the next x.sync, or start the reader behind it",
                races.front().cycle);
  }
  if (!failure.empty()) {
    throw Error(Category::wrong_result, "the results differ from what was expected: " + failure, request.title,
                request.advice);
  }
  return 0;
}

/// Where everything stood when the run ended before its program did.
void add_unfinished(Context& context, Machine& machine) {
  const Machine::Statistics statistics = machine.statistics();
  auto& entry = context.result["unfinished"];
  entry["cycle"] = machine.system().now();
  entry["start_cycle"] = machine.profile().start();  // of the supervisors, from power-on
  entry["instructions"] = statistics.instructions;
  entry["tiles"] = nlohmann::ordered_json::array();
  for (unsigned ipu = 0; ipu < machine.system().ipus(); ++ipu) {
    std::istringstream lines(machine.system().chip(ipu).describe());
    for (std::string line; std::getline(lines, line);) entry["tiles"].push_back(line);
  }
}

std::string text_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return error.what();
  }
}

/// Waves and report of a failed run. The failure itself goes on: what goes wrong here is only told.
void close_failed(Context& context, const FlowRequest& request, Machine* machine, bool finished,
                  const std::exception_ptr& failure, const ReportParts& parts) {
  // finished: the program was, and its waves are closed already.
  const std::string told = text_of(failure);
  const auto attempt = [&](const std::function<void()>& step) {
    try {
      step();
    } catch (const std::exception& error) {
      if (error.what() != told) context.warn(error.what());  // what could not be written may be the failure itself
    }
  };
  if (machine != nullptr && !finished) attempt([&] { add_unfinished(context, *machine); });
  if (machine != nullptr && !finished) attempt([&] { finish_waves(context, *machine); });
  if (machine != nullptr && !finished) {
    // What went wrong may come from a race.
    attempt([&] {
      for (const TileRace& race : check_races(context, *machine)) context.warn(machine->text(race));
    });
  }
  record_failure(context, failure);
  attempt([&] { write_report_of(context, request, parts); });
  if (machine != nullptr && !finished && !request.results.report.empty())
    attempt([&] { model::write_file(request.results.report + "/dump.txt", machine_dump(*machine)); });
}

/// An interrupted run says where it was: nothing else tells an endless loop from slow work.
void tell_where(const Context& context) {
  if (!context.result.contains("unfinished")) return;
  const auto& unfinished = context.result["unfinished"];
  std::string text = fmt::format("tessera: ended in cycle {}", unfinished["cycle"].get<Cycle>());
  for (const auto& line : unfinished["tiles"]) text += "\n  " + line.get<std::string>();
  std::cerr << text << "\n";
}

}  // namespace

int run_on_machine(Context& context, const FlowRequest& request, const Platform& platform,
                   const CompiledModel& compiled, const std::vector<model::Tensor>& inputs, Progress& progress) {
  std::unique_ptr<Machine> machine;
  ReportParts parts;
  parts.compiler = compiled.report;
  bool finished = false;
  try {
    const References references(request, compiled);
    machine = std::make_unique<Machine>(context, request.machine, platform, compiled.executable, progress);
    const DeviceRun run = run_compiled(*machine, compiled, inputs, progress, request.inspect);
    finished = true;
    finish_waves(context, *machine);
    const int code = report_results(context, request, references, *machine, compiled, run, parts);
    Shutdown::check();
    if (!request.machine.wave.empty() && !context.result.contains("wave"))
      throw Error(Category::usage, "no signal was selected, so there is no waveform", request.machine.wave,
                  "widen --wave-scope; all results were written");
    return code;
  } catch (...) {  // whatever ended the run: waves and report are closed and readable, then the error goes on
    const std::exception_ptr failure = std::current_exception();
    progress.finish();
    close_failed(context, request, machine.get(), finished, failure, parts);
    if (Shutdown::requested() != 0) tell_where(context);
    std::rethrow_exception(failure);
  }
}

}  // namespace tessera::cli
