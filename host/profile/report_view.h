// What a run's report (report.json of tessera run --report) says, drawn together: cycles by kind, the costliest steps,
// the model's nodes and their classes, memory of the fullest tile; and how two reports differ. JSON in, JSON and lines
// of text out: knows neither machine nor compiler.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tessera::profile {

/// Reads DIR/report.json or a JSON file. Error (usage) for what is no report.
[[nodiscard]] nlohmann::ordered_json read_report(const std::string& path);

/// The figures of a report: "cycles", "kinds", "steps" (costliest first), "nodes", "classes", "memory". Parts that the
/// report lacks are left out. Error (usage) if cycles by kind do not add up to the tiles' totals.
[[nodiscard]] nlohmann::ordered_json view(const nlohmann::ordered_json& report);

/// Lines for people; at most `top` rows a table, 0: all.
[[nodiscard]] std::vector<std::string> text(const nlohmann::ordered_json& view, std::size_t top);

/// Both views side by side: totals, kinds, steps, nodes, memory; rows that changed most first, equal ones left out.
[[nodiscard]] nlohmann::ordered_json difference(const nlohmann::ordered_json& before,
                                                const nlohmann::ordered_json& after);
[[nodiscard]] std::vector<std::string> difference_text(const nlohmann::ordered_json& difference, std::size_t top);

}  // namespace tessera::profile
