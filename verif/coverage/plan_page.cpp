// The plan as a page, and counts as files: one line "count name" for each point that was hit.
#include <fmt/format.h>

#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

#include "hw/error.h"
#include "verif/coverage/plan.h"

namespace tessera::coverage {

std::string plan_page(const Plan& plan) {
  std::string page = fmt::format(
      "# Verification plan\n\n"
      "Every point that the tests of the tile must reach: {} in {} groups. `scripts/coverage.sh` runs the tests, "
      "merges\n"
      "what they reached and says which points are missing. This page is written by `build/tools/tessera-coverage "
      "plan`\n"
      "from `verif/coverage/plan.cpp`, and a test compares them: the names here are the names in the code.\n\n"
      "A point is its prefix and one of the parts beside it, joined by `/`.\n",
      plan.size(), plan.groups().size());
  for (const Group& group : plan.groups()) {
    page += fmt::format("\n## {} ({} points)\n\n{}\n\n| prefix | parts |\n|---|---|\n", group.name, group.count,
                        group.text);
    // Prefixes with the same parts share a line, in the order of the first.
    std::vector<std::pair<std::string, std::vector<std::string>>> prefixes;
    std::map<std::string, std::size_t> where;
    for (std::size_t n = group.first; n < group.first + group.count; ++n) {
      const std::string& point = plan.points()[n];
      const std::size_t cut = point.rfind('/');
      const auto [at, fresh] = where.emplace(point.substr(0, cut), prefixes.size());
      if (fresh) prefixes.push_back({at->first, {}});
      prefixes[at->second].second.push_back(point.substr(cut + 1));
    }
    std::vector<std::pair<std::string, std::string>> lines;  // parts, prefixes
    for (const auto& [prefix, parts] : prefixes) {
      std::string list;
      for (const std::string& part : parts) list += (list.empty() ? "" : ", ") + part;
      auto same = lines.begin();
      while (same != lines.end() && same->first != list) ++same;
      if (same == lines.end()) {
        lines.push_back({list, fmt::format("`{}`", prefix)});
      } else {
        same->second += fmt::format(", `{}`", prefix);
      }
    }
    for (const auto& [parts, list] : lines) page += fmt::format("| {} | {} |\n", list, parts);
  }
  return page;
}

void add_file(const Plan& plan, const std::string& path, Counts& counts) {
  std::ifstream file(path);
  counts.resize(plan.size());
  std::uint64_t count = 0;
  std::string name;
  while (file >> count >> name) {
    if (!plan.has(name)) {
      throw Error(Category::usage, fmt::format("coverage counts name the point {} that the plan has not", name), path,
                  "remove the files of an earlier plan");
    }
    counts[plan.at(name)] += count;
  }
}

void write_file(const Plan& plan, const Counts& counts, const std::string& path) {
  std::ofstream file(path);
  for (std::size_t n = 0; n < counts.size(); ++n) {
    if (counts[n] != 0) file << counts[n] << ' ' << plan.points()[n] << '\n';
  }
  if (!file) throw std::runtime_error("cannot write " + path);
}

}  // namespace tessera::coverage
