#include "host/cli/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "host/onnx/tensor_io.h"
#include "hw/error.h"
#include "hw/whole_file.h"

namespace tessera::cli {

namespace {

nlohmann::ordered_json sums_json(const profile::CycleSums& sums) {
  nlohmann::ordered_json json;
  json["compute"] = sums.compute;
  json["exchange"] = sums.exchange;
  json["sync"] = sums.sync;
  json["idle"] = sums.idle;
  json["total"] = sums.total();
  return json;
}

std::string step_name(const executable::Program& program, Address pc) {
  const executable::Step* step = executable::find_step(program, pc);
  return step == nullptr ? fmt::format("pc 0x{:05x}", pc)
                         : step->path + (step->name.empty() ? "" : " (" + step->name + ")");
}

}  // namespace

nlohmann::ordered_json cycles_json(const profile::CycleProfile& profile, const executable::Executable& executable) {
  nlohmann::ordered_json json;
  json["definitions"] = {{"exchange", "first to last cycle with a word on a port of the tile"},
                         {"compute", "release (after an exchange: its end) to 6 cycles behind the last worker's exit"},
                         {"sync", "arrival of the tile to the release of all"},
                         {"idle", "the rest"},
                         {"total", "compute + exchange + sync + idle = cycles of the run, for each tile"}};
  profile::CycleSums all;
  const std::size_t per_ipu = profile.tiles().size() / std::max<std::size_t>(1, profile.ipus());
  const bool several = executable.instances.size() > 1;
  auto& tiles = json["tiles"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < profile.tiles().size(); ++i) {
    const profile::CycleSums& sums = profile.tiles()[i];
    if (sums.total() == 0) continue;  // not active
    const Cycle total = profile.last_arrival() - profile.start_of(static_cast<unsigned>(i / per_ipu));
    if (sums.total() != total)
      throw std::logic_error(fmt::format("profile: tile {} has {} cycles of {}", i, sums.total(), total));
    all += sums;
    tiles.push_back(sums_json(sums));
    if (several) tiles.back()["ipu"] = i / per_ipu;
    tiles.back()["tile"] = i % per_ipu;
  }
  json["all_tiles"] = sums_json(all);
  json["supersteps"] = profile.supersteps();
  auto& steps = json["steps"] = nlohmann::ordered_json::array();
  for (unsigned program = 0; program < std::min<std::size_t>(profile.programs(), executable.programs.size()); ++program)
    for (const auto& [pc, step] : profile.steps(program)) {
      nlohmann::ordered_json entry;
      entry["step"] = step_name(executable.programs[program], pc);
      if (const executable::Step* at = executable::find_step(executable.programs[program], pc))
        entry["path"] = at->path;
      if (executable.programs.size() > 1) entry["program"] = program;
      entry["pc"] = pc;
      entry["executions"] = step.executions;
      entry["cycles"] = step.cycles;
      entry["tiles"] = sums_json(step.tiles);
      steps.push_back(std::move(entry));
    }
  return json;
}

void add_run(nlohmann::ordered_json& result, const Machine& machine, const CompiledModel& compiled,
             const DeviceRun& run) {
  const Machine::Statistics& s = run.statistics;
  result["platform"] = machine.platform().name;
  result["batch"] = compiled.batch;
  result["chunk"] = compiled.chunk;
  result["start_cycle"] = machine.profile().start();  // of the supervisors, from power-on
  result["cycles"] = run.cycles;
  result["simulated_seconds"] = machine.platform().seconds(run.cycles);
  result["instructions"] = s.instructions;
  result["host_steps"] = run.result.host_steps;
  result["tiles"] = {{"tlm", s.tlm_tiles}, {"rtl", s.rtl_tiles}, {"lockstep", s.lockstep_tiles}};
  result["lockstep"] = {{"instructions", s.compared.instructions}, {"traps", s.compared.traps},
                        {"exchange_words", s.compared.words},      {"registers", s.compared.registers},
                        {"memory_bytes", s.compared.memory_bytes}, {"mismatches", 0}};
  result["exchange"] = {{"words_sent", run.result.counters.words_sent},
                        {"words_received", run.result.counters.words_received},
                        {"packets", run.result.counters.packets},
                        {"link_packets", run.result.counters.link_packets},
                        {"link_words", run.result.counters.link_words}};
  if (compiled.executable.instances.size() > 1) {
    auto& ipus = result["ipus"] = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < run.result.instances.size(); ++i) {
      const driver::Counters& counters = run.result.instances[i];
      ipus.push_back({{"ipu", compiled.executable.instances[i].ipu},
                      {"instructions", counters.instructions},
                      {"words_sent", counters.words_sent},
                      {"words_received", counters.words_received},
                      {"packets", counters.packets},
                      {"link_packets", counters.link_packets},
                      {"link_words", counters.link_words}});
    }
  }
  result["wall"] = {
      {"compile_seconds", compiled.seconds},
      {"run_seconds", run.seconds},
      {"cycles_per_second", run.seconds > 0 ? static_cast<double>(run.cycles) / run.seconds : 0},
      {"instructions_per_second", run.seconds > 0 ? static_cast<double>(s.instructions) / run.seconds : 0}};
}

namespace {

std::string text_report(const nlohmann::ordered_json& report) {
  std::string text = "Tessera run report\n\n";
  for (const auto& [key, value] : report.items())
    if (value.is_primitive())
      text += fmt::format("{:<20} {}\n", key, value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  if (!report.contains("cycle_profile")) return text;
  text += "\nCycles by step (summed over executions; shares of all tiles' cycles)\n";
  text += fmt::format("{:>12} {:>6} {:>8} {:>9} {:>6} {:>6}  step\n", "cycles", "times", "compute", "exchange", "sync",
                      "idle");
  for (const auto& step : report["cycle_profile"]["steps"]) {
    const auto& tiles = step["tiles"];
    const double total = tiles["total"].get<double>();
    const auto share = [&](const char* key) { return total > 0 ? 100.0 * tiles[key].get<double>() / total : 0.0; };
    text += fmt::format("{:>12} {:>6} {:>7.1f}% {:>8.1f}% {:>5.1f}% {:>5.1f}%  {}\n",
                        step["cycles"].get<std::uint64_t>(), step["executions"].get<std::uint64_t>(), share("compute"),
                        share("exchange"), share("sync"), share("idle"), step["step"].get<std::string>());
  }
  return text;
}

}  // namespace

void write_report(const std::string& directory, const nlohmann::ordered_json& report) {
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  if (failed)
    throw Error(Category::usage, "cannot make the report directory: " + failed.message(), directory, "check the path");
  const DirectoryLock together(directory);
  model::write_file(directory + "/report.json",
                    report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  model::write_file(directory + "/report.txt", text_report(report));
}

void write_failed_report(const Context& context, const std::string& directory, const Error& error,
                         const nlohmann::ordered_json& compiler) {
  if (directory.empty()) return;
  nlohmann::ordered_json report = context.result;
  report["exit_code"] = exit_code(error.category());
  report["error"] = {{"message", error.message()}, {"where", error.where()}, {"advice", error.advice()}};
  if (!compiler.is_null()) report["compiler"] = compiler;
  write_report(directory, report);
}

}  // namespace tessera::cli
