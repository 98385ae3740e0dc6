// See explain.h. Sizes come from the executable itself, memory from the report that the compiler left in it.
#include "host/cli/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tessera::cli {

namespace {

using executable::Program;
using Json = nlohmann::ordered_json;

/// Bytes of the parts that grow with a program.
void print_sizes(Context& context, const Program& program) {
  std::uint64_t constants = 0;
  std::uint64_t placed = 0;
  for (const executable::Constant& c : program.constants) {
    constants += 4 * c.words.size();
    for (const executable::ConstantPiece& p : c.pieces) placed += std::uint64_t{4} * p.words;
  }
  std::uint64_t contents = 0;
  for (const auto& words : program.contents) contents += 4 * words.size();
  std::uint64_t tables = 0;
  for (const executable::TileBlob& b : program.blobs) tables += 4 * program.contents.at(b.content).size();
  context.print(fmt::format("constants   {} bytes held once, {} bytes on tiles", constants, placed));
  context.print(fmt::format("contents    {} bytes of distinct blobs: code, tables and lists; {} bytes of them on tiles",
                            contents, tables));
  context.print(fmt::format("names       {} vertex records, {} exchange tables, {} tensors, {} source lines",
                            program.vertices.size(), program.tables.size(), program.tensors.size(),
                            program.lines.size()));
  for (const executable::Region& r : program.regions) {
    context.print(
        fmt::format("region      {:<9} 0x{:05x} .. 0x{:05x}  {:>7} bytes", r.name, r.begin, r.end, r.end - r.begin));
  }
}

/// Steps in order of the control program; phases with their lengths against the bounds.
void print_steps(Context& context, const Program& program) {
  static constexpr const char* kKinds[] = {"prologue", "exchange", "compute", "host", "control", "finish"};
  for (const executable::Step& s : program.steps) {
    std::string length;
    if (s.phase < program.phases.size()) {
      const executable::Phase& phase = program.phases[s.phase];
      length = fmt::format("  {} cycles, bound {} (+{:.1f} %), {} words received", phase.cycles, phase.bound,
                           phase.bound == 0 ? 0.0 : 100.0 * (phase.cycles - phase.bound) / phase.bound,
                           phase.words_received);
    }
    context.print(fmt::format("step        0x{:05x} {:<8} {}{}{}", s.begin, kKinds[static_cast<unsigned>(s.kind)],
                              s.path, s.name.empty() ? "" : " (" + s.name + ")", length));
  }
  std::uint64_t cycles = 0;
  std::uint64_t bound = 0;
  for (const executable::Phase& p : program.phases) {
    cycles += p.cycles;
    bound += p.bound;
  }
  if (bound != 0) {
    context.print(fmt::format("exchange    {} phases, {} cycles, bound {} (+{:.1f} %)", program.phases.size(), cycles,
                              bound, 100.0 * static_cast<double>(cycles - bound) / static_cast<double>(bound)));
  }
}

std::uint64_t number(const Json& json, const char* key) { return json.value(key, std::uint64_t{0}); }

/// Memory by category: of the regions, of the data on the fullest tile, and at the steps that hold most.
void print_memory(Context& context, const Json& report) {
  if (!report.contains("memory")) return;
  const Json& memory = report["memory"];
  std::string categories;
  const Json regions = memory.value("categories", Json::object());
  for (const auto& [name, bytes] : regions.items())
    categories += fmt::format("{}{} {}", categories.empty() ? "" : ", ", name, bytes.get<std::uint64_t>());
  context.print(fmt::format("memory      of {} bytes a tile: {}", number(memory, "sram_bytes"), categories));
  const Json tiles = memory.value("tiles", Json::array());
  const auto fullest = std::max_element(
      tiles.begin(), tiles.end(), [](const Json& a, const Json& b) { return number(a, "data") < number(b, "data"); });
  if (fullest != tiles.end()) {
    context.print(fmt::format(
        "data        on the fullest tile ({}): {} bytes; constants {}, kept {}, all variables {}, "
        "never less than {}; most in {}",
        number(*fullest, "tile"), number(*fullest, "data"), number(*fullest, "constants"), number(*fullest, "kept"),
        number(*fullest, "sum_of_variables"), number(*fullest, "live_bound"), fullest->value("peak", std::string())));
  }
  const Json all = memory.value("all_tiles", Json::object());
  context.print(
      fmt::format("data        on all tiles: {} bytes; constants {}, kept {}, transient variables {}, in place {}",
                  number(all, "data"), number(all, "constants"), number(all, "kept"), number(all, "transient_sum"),
                  number(all, "in_place")));
  Json steps = memory.value("steps", Json::array());
  std::stable_sort(steps.begin(), steps.end(),
                   [](const Json& a, const Json& b) { return number(a, "live") > number(b, "live"); });
  for (std::size_t i = 0; i < std::min<std::size_t>(steps.size(), 5); ++i) {
    context.print(fmt::format("live        {} bytes on tile {}, {} on all tiles in {} ({})", number(steps[i], "live"),
                              number(steps[i], "tile"), number(steps[i], "live_on_all_tiles"),
                              steps[i].value("path", std::string()), steps[i].value("name", std::string())));
  }
}

}  // namespace

void explain(Context& context, const executable::Executable& e) {
  context.print(
      fmt::format("executable  {} for platform {} ({} bytes of SRAM a tile)", e.name, e.platform_name, e.sram_bytes));
  for (std::size_t p = 0; p < e.programs.size(); ++p) {
    const Program& program = e.programs[p];
    context.print(fmt::format("program     {}: {} tiles, {} steps, {} exchange phases, {} vertex records", p,
                              program.tiles, program.steps.size(), program.phases.size(), program.vertices.size()));
    print_sizes(context, program);
    print_steps(context, program);
  }
  const Json report = Json::parse(e.report_json, nullptr, false);
  if (report.is_object()) print_memory(context, report);
  for (const executable::Stream& s : e.streams)
    context.print(fmt::format("stream      {} {}: {} elements a step, {} bytes in buffer {}", s.input ? "in " : "out",
                              s.name, s.elements, s.bytes, s.buffer));
}

}  // namespace tessera::cli
