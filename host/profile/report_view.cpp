#include "host/profile/report_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "hw/error.h"
#include "hw/read_file.h"

namespace tessera::profile {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kKinds[] = {"compute", "exchange", "sync", "idle"};

std::uint64_t number(const Json& json, const char* key) { return json.value(key, std::uint64_t{0}); }
double real(const Json& json, const char* key) { return json.value(key, 0.0); }
std::string word(const Json& json, const char* key) { return json.value(key, std::string()); }

[[noreturn]] void damaged(const std::string& what) {
  throw Error(Category::usage, "the report is damaged: " + what, "report.json", "run the model again with --report");
}

Json sorted(Json rows, const char* key) {
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const Json& a, const Json& b) { return number(a, key) > number(b, key); });
  return rows;
}

/// compute + exchange + sync + idle = total, of every tile and of all.
Json kinds_of(const Json& profile) {
  const auto check = [](const Json& sums, const std::string& where) {
    std::uint64_t sum = 0;
    for (const char* kind : kKinds) sum += number(sums, kind);
    if (sum != number(sums, "total"))
      damaged(fmt::format("cycles of {} are {} but add up to {}", where, number(sums, "total"), sum));
  };
  std::uint64_t total = 0;
  for (const Json& tile : profile.at("tiles")) {
    check(tile, fmt::format("tile {}", number(tile, "tile")));
    total += number(tile, "total");
  }
  Json kinds = profile.at("all_tiles");
  check(kinds, "all tiles");
  if (total != number(kinds, "total")) damaged("cycles of the tiles do not add up");
  kinds["tiles"] = profile.at("tiles").size();
  kinds["supersteps"] = number(profile, "supersteps");
  return kinds;
}

/// The tile whose data takes most, with the regions that are the same on all.
Json memory_of(const Json& report) {
  const Json& memory = report.at("memory");
  const Json& tiles = memory.at("tiles");
  const auto fullest = std::max_element(
      tiles.begin(), tiles.end(), [](const Json& a, const Json& b) { return number(a, "data") < number(b, "data"); });
  Json result;
  result["sram_bytes"] = number(memory, "sram_bytes");
  if (fullest == tiles.end()) return result;
  Json categories = memory.at("categories");
  std::uint64_t sum = 0;
  for (const auto& [name, bytes] : categories.items()) sum += bytes.get<std::uint64_t>();
  const std::uint64_t data = number(*fullest, "data");
  const std::uint64_t constants = number(*fullest, "constants");
  const std::uint64_t kept = number(*fullest, "kept");
  categories["constants"] = constants;
  categories["kept"] = kept;
  categories["transient"] = data - std::min(data, constants + kept);
  result["fullest_tile"] = number(*fullest, "tile");
  result["used"] = sum + data;
  result["categories"] = categories;
  result["peak_step"] = word(*fullest, "peak");
  result["data"] = data;
  result["sum_of_variables"] = number(*fullest, "sum_of_variables");
  result["live_bound"] = number(*fullest, "live_bound");
  result["in_place"] = number(*fullest, "in_place");
  result["all_tiles"] = memory.value("all_tiles", Json::object());
  result["steps"] = sorted(memory.value("steps", Json::array()), "live");
  return result;
}

/// Names of steps list what they move: cut for tables.
std::string clipped(const std::string& name) {
  constexpr std::size_t kMost = 96;
  return name.size() <= kMost ? name : name.substr(0, kMost - 2) + "..";
}

bool more(std::size_t shown, std::size_t top) { return top == 0 || shown < top; }

std::string percent(double part, double whole) { return fmt::format("{:.1f}%", whole > 0 ? 100 * part / whole : 0.0); }

void add_cycles(std::vector<std::string>& lines, const Json& view, std::size_t top) {
  if (!view.contains("kinds")) return;
  const Json& kinds = view["kinds"];
  const double total = real(kinds, "total");
  std::string shares;
  for (const char* kind : kKinds)
    shares += fmt::format("{}{} {}", shares.empty() ? "" : " + ", kind, percent(real(kinds, kind), total));
  lines.push_back(fmt::format("cycles      {} in {} supersteps on {} tiles: {} = total", number(view, "cycles"),
                              number(kinds, "supersteps"), number(kinds, "tiles"), shares));
  lines.push_back("");
  lines.push_back("Costliest steps (a superstep goes by the step that opens it; shares of the cycles of all tiles)");
  lines.push_back(fmt::format("{:>11} {:>6} {:>6} {:>8} {:>8} {:>6} {:>6}  {}", "cycles", "share", "times", "compute",
                              "exchange", "sync", "idle", "step"));
  std::size_t shown = 0;
  for (const Json& step : view["steps"]) {
    if (!more(shown++, top)) break;
    const Json& tiles = step["tiles"];
    const double all = real(tiles, "total");
    lines.push_back(fmt::format("{:>11} {:>6} {:>6} {:>8} {:>8} {:>6} {:>6}  {}", number(step, "cycles"),
                                percent(real(step, "cycles"), real(view, "cycles")), number(step, "executions"),
                                percent(real(tiles, "compute"), all), percent(real(tiles, "exchange"), all),
                                percent(real(tiles, "sync"), all), percent(real(tiles, "idle"), all),
                                clipped(word(step, "step"))));
  }
  if (shown > top && top != 0)
    lines.push_back(fmt::format("            (the first {} of {}; --top 0 shows all)", top, view["steps"].size()));
}

void add_nodes(std::vector<std::string>& lines, const Json& view, std::size_t top) {
  if (!view.contains("nodes")) return;
  lines.push_back("");
  lines.push_back(
      "Nodes of the model (peak: share of all matrix engines in these cycles; AMP: useful steps over compute "
      "cycles and active tiles)");
  lines.push_back(fmt::format("{:>11} {:>6} {:>13} {:>13} {:>7} {:>7} {:>6}  {}", "cycles", "share", "MAC", "flop",
                              "peak", "AMP", "tiles", "node"));
  std::size_t shown = 0;
  for (const Json& node : view["nodes"]) {
    if (!more(shown++, top)) break;
    const Json amp = node.value("amp", Json::object());
    const std::uint32_t calls = node.value("calls", 1U);
    const std::string with = word(node, "computed_with");
    lines.push_back(fmt::format(
        "{:>11} {:>6} {:>13} {:>13} {:>7} {:>7} {:>6}  {} ({}{}{})", number(node, "cycles"),
        percent(real(node, "cycles"), real(view, "cycles")), number(node, "multiply_accumulates"), number(node, "flop"),
        number(node, "multiply_accumulates") == 0 ? "-" : fmt::format("{:.2f}%", 100 * real(node, "utilisation")),
        amp.empty() ? "-" : fmt::format("{:.1f}%", 100 * real(amp, "utilisation")),
        amp.empty() ? "-" : fmt::format("{:.0f}", real(amp, "active_tiles")), word(node, "node"), word(node, "class"),
        calls > 1 ? fmt::format(", one of {} calls", calls) : "", with.empty() ? "" : ", in " + with));
  }
  if (shown > top && top != 0)
    lines.push_back(fmt::format("            (the first {} of {}; --top 0 shows all)", top, view["nodes"].size()));
  if (!view.contains("classes")) return;
  lines.push_back("");
  lines.push_back(fmt::format("{:>11} {:>6} {:>6} {:>13} {:>7} {:>7}  {}", "cycles", "share", "nodes", "MAC", "peak",
                              "AMP", "class"));
  for (const Json& entry : view["classes"]) {
    if (number(entry, "cycles") == 0) continue;
    lines.push_back(fmt::format(
        "{:>11} {:>6} {:>6} {:>13} {:>7} {:>7}  {}", number(entry, "cycles"),
        percent(real(entry, "cycles"), real(view, "cycles")), number(entry, "nodes"),
        number(entry, "multiply_accumulates"),
        number(entry, "multiply_accumulates") == 0 ? "-" : fmt::format("{:.2f}%", 100 * real(entry, "utilisation")),
        entry.contains("amp_utilisation") ? fmt::format("{:.1f}%", 100 * real(entry, "amp_utilisation")) : "-",
        word(entry, "class")));
  }
}

void add_memory(std::vector<std::string>& lines, const Json& view, std::size_t top) {
  if (!view.contains("memory") || !view["memory"].contains("used")) return;
  const Json& memory = view["memory"];
  const std::uint64_t used = number(memory, "used");
  const std::uint64_t sram = number(memory, "sram_bytes");
  lines.push_back("");
  lines.push_back(
      fmt::format("memory      tile {} is the fullest: {} of {} bytes, {}", number(memory, "fullest_tile"), used, sram,
                  used > sram ? fmt::format("{} too many", used - sram) : fmt::format("{} free", sram - used)));
  std::string text;
  for (const auto& [name, bytes] : memory["categories"].items())
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, bytes.get<std::uint64_t>());
  lines.push_back("categories  " + text);
  const double sum = real(memory, "sum_of_variables");
  const double data = real(memory, "data");
  lines.push_back(fmt::format(
      "data        {} bytes; all variables {} ({:.2f} times as much), never less than {} live at once, in place {}",
      number(memory, "data"), number(memory, "sum_of_variables"), data > 0 ? sum / data : 0.0,
      number(memory, "live_bound"), number(memory, "in_place")));
  lines.push_back("peak        in " + word(memory, "peak_step"));
  const Json& all = memory["all_tiles"];
  lines.push_back(fmt::format(
      "all tiles   {} bytes of data; constants {}, kept {}, transient variables {}, in place {}", number(all, "data"),
      number(all, "constants"), number(all, "kept"), number(all, "transient_sum"), number(all, "in_place")));
  lines.push_back("");
  lines.push_back(fmt::format("{:>11} {:>6} {:>12}  {}", "live", "tile", "on all", "steps that hold most (bytes)"));
  std::size_t shown = 0;
  for (const Json& step : memory["steps"]) {
    if (!more(shown++, top)) break;
    const std::string name = word(step, "name");
    lines.push_back(fmt::format("{:>11} {:>6} {:>12}  {}", number(step, "live"), number(step, "tile"),
                                number(step, "live_on_all_tiles"),
                                clipped(word(step, "path") + (name.empty() ? "" : " (" + name + ")"))));
  }
}

}  // namespace

Json read_report(const std::string& path) {
  const std::string file = std::filesystem::is_directory(path) ? path + "/report.json" : path;
  require_file(file, "report");
  std::ifstream stream(file);
  Json report = Json::parse(stream, nullptr, false);
  if (!report.is_object() ||
      !(report.contains("cycle_profile") || report.contains("compiler") || report.contains("error")))
    throw Error(Category::usage, "this is no report of a run", file,
                "tessera run MODEL --report DIR writes DIR/report.json");
  return report;
}

Json view(const Json& report) {
  Json result;
  try {
    if (report.contains("error")) result["error"] = report["error"];
    result["arguments"] = report.value("arguments", Json::array());
    result["platform"] = word(report, "platform");
    if (result["platform"] == "" && report.contains("compiler"))
      result["platform"] = word(report["compiler"], "platform");
    result["cycles"] = number(report, "cycles");
    if (report.contains("cycle_profile")) {
      result["kinds"] = kinds_of(report["cycle_profile"]);
      result["steps"] = sorted(report["cycle_profile"].at("steps"), "cycles");
    }
    if (report.contains("node_work")) result["nodes"] = sorted(report["node_work"], "cycles");
    if (report.contains("work_classes")) result["classes"] = report["work_classes"];
    if (report.contains("compiler") && report["compiler"].contains("memory"))
      result["memory"] = memory_of(report["compiler"]);
  } catch (const nlohmann::json::exception& error) {
    damaged(error.what());
  }
  return result;
}

std::vector<std::string> text(const Json& view, std::size_t top) {
  std::vector<std::string> lines;
  try {
    if (view.contains("error")) {
      lines.push_back("error       " + word(view["error"], "message"));
      if (const std::string where = word(view["error"], "where"); !where.empty())
        lines.push_back("at          " + where);
      if (const std::string advice = word(view["error"], "advice"); !advice.empty())
        lines.push_back("try         " + advice);
    }
    add_cycles(lines, view, top);
    add_nodes(lines, view, top);
    add_memory(lines, view, top);
  } catch (const nlohmann::json::exception& error) {
    damaged(error.what());
  }
  return lines;
}

}  // namespace tessera::profile
