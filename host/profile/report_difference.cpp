// Differences of two reports: rows are matched by name, those of one name are summed.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "host/profile/report_view.h"

namespace tessera::profile {

namespace {

using Json = nlohmann::ordered_json;
using Sums = std::map<std::string, std::int64_t>;

/// rows[key] by rows[name] (several name parts joined).
Sums sums_of(const Json& rows, const std::vector<const char*>& name, const char* key) {
  Sums sums;
  for (const Json& row : rows) {
    std::string text;
    for (const char* part : name) {
      const std::string word = row.value(part, std::string());
      if (!word.empty()) text += (text.empty() ? "" : " ") + word;
    }
    sums[text] += row.value(key, std::int64_t{0});
  }
  return sums;
}

Json rows_of(const Sums& before, const Sums& after) {
  Sums names = before;
  names.insert(after.begin(), after.end());
  Json rows = Json::array();
  const auto of = [](const Sums& sums, const std::string& name) {
    const auto at = sums.find(name);
    return at == sums.end() ? std::int64_t{0} : at->second;
  };
  for (const auto& [name, unused] : names) {
    const std::int64_t a = of(before, name);
    const std::int64_t b = of(after, name);
    if (a != b) rows.push_back({{"name", name}, {"before", a}, {"after", b}, {"change", b - a}});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Json& a, const Json& b) {
    return std::abs(a["change"].get<std::int64_t>()) > std::abs(b["change"].get<std::int64_t>());
  });
  return rows;
}

Sums plain(const Json& object, const std::vector<const char*>& keys) {
  Sums sums;
  for (const char* key : keys)
    if (object.contains(key) && object[key].is_number()) sums[key] = object[key].get<std::int64_t>();
  return sums;
}

std::string clipped(const std::string& name) {
  constexpr std::size_t kMost = 96;
  return name.size() <= kMost ? name : name.substr(0, kMost - 2) + "..";
}

Json part(const Json& view, const char* key, Json other) { return view.contains(key) ? view[key] : std::move(other); }

}  // namespace

Json difference(const Json& before, const Json& after) {
  Json result;
  const auto rows = [&](const char* key, const std::vector<const char*>& name, const char* value) {
    return rows_of(sums_of(part(before, key, Json::array()), name, value),
                   sums_of(part(after, key, Json::array()), name, value));
  };
  result["cycles"] = {{"before", before.value("cycles", std::int64_t{0})},
                      {"after", after.value("cycles", std::int64_t{0})}};
  const std::vector<const char*> kinds = {"compute", "exchange", "sync", "idle", "total"};
  result["kinds"] =
      rows_of(plain(part(before, "kinds", Json::object()), kinds), plain(part(after, "kinds", Json::object()), kinds));
  result["steps"] = rows("steps", {"step"}, "cycles");
  result["nodes"] = rows("nodes", {"node"}, "cycles");
  const Json memory[] = {part(before, "memory", Json::object()), part(after, "memory", Json::object())};
  const auto bytes = [](const Json& m) {
    Sums sums = plain(m, {"used", "data", "sum_of_variables", "live_bound", "in_place"});
    if (m.contains("categories"))
      for (const auto& [name, value] : m["categories"].items()) sums["category " + name] = value.get<std::int64_t>();
    return sums;
  };
  result["memory"] = rows_of(bytes(memory[0]), bytes(memory[1]));
  const auto live = [](const Json& m) {
    return sums_of(part(m, "steps", Json::array()), {"path", "name"}, "live_on_all_tiles");
  };
  result["live"] = rows_of(live(memory[0]), live(memory[1]));
  return result;
}

std::vector<std::string> difference_text(const Json& difference, std::size_t top) {
  const std::int64_t before = difference["cycles"]["before"].get<std::int64_t>();
  const std::int64_t after = difference["cycles"]["after"].get<std::int64_t>();
  std::vector<std::string> lines = {
      fmt::format("cycles      {} before, {} after: {:+} ({:+.1f} %)", before, after, after - before,
                  before == 0 ? 0.0 : 100.0 * static_cast<double>(after - before) / static_cast<double>(before))};
  const auto table = [&](const char* key, const char* title) {
    const Json& rows = difference[key];
    if (rows.empty()) return;
    lines.push_back("");
    lines.push_back(fmt::format("{:>13} {:>13} {:>13}  {}", "change", "before", "after", title));
    std::size_t shown = 0;
    for (const Json& row : rows) {
      if (top != 0 && shown++ == top) {
        lines.push_back(fmt::format("              (the first {} of {}; --top 0 shows all)", top, rows.size()));
        break;
      }
      lines.push_back(fmt::format("{:>+13} {:>13} {:>13}  {}", row["change"].get<std::int64_t>(),
                                  row["before"].get<std::int64_t>(), row["after"].get<std::int64_t>(),
                                  clipped(row["name"].get<std::string>())));
    }
  };
  table("kinds", "cycles of all tiles by kind");
  table("steps", "cycles by step");
  table("nodes", "cycles by node");
  table("memory", "bytes of the fullest tile");
  table("live", "bytes live on all tiles by step");
  if (lines.size() == 1) lines.emplace_back("no step, node or category differs");
  return lines;
}

}  // namespace tessera::profile
