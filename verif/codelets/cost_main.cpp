// codelet_costs [--json] [PREFIX]: measures every built-in codelet (or those whose names begin with PREFIX) on a TLM
// tile and prints its cost, as host/codelets/costs.inc or as JSON.
#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "verif/codelets/measure.h"

int main(int argc, char** argv) {
  using namespace tessera;           // NOLINT: a program of one function
  using namespace tessera::testing;  // NOLINT
  const bool json = argc > 1 && std::strcmp(argv[1], "--json") == 0;
  const int names = argc - (json ? 2 : 1);
  const std::string prefix = names == 1 ? argv[argc - 1] : "";
  if (names > 1 || prefix.rfind("-", 0) == 0) {
    std::fprintf(stderr, "usage: codelet_costs [--json] [PREFIX]\n");
    return 2;
  }
  nlohmann::json list = nlohmann::json::array();
  std::string table = "// Made by codelet_costs (verif/codelets): {codelet, fixed, per round, per item}, slots.\n";
  for (const auto& codelet : CodeletLibrary::builtin().codelets()) {
    if (codelet.name.rfind(prefix, 0) != 0) continue;
    std::mt19937 random(11);
    std::vector<MeasuredVertex> vertices;
    for (std::uint32_t n = 0; n < 40; ++n) vertices.push_back(measure(codelet, 4 + 3 * n, random));
    const auto cost = fit_cost(codelet, vertices);
    table += fmt::format("{{\"{}\", {:.1f}, {:.2f}, {:.3f}}},\n", cost.name, cost.fixed, cost.per_round, cost.per_item);
    list.push_back({{"codelet", cost.name},
                    {"fixed_slots", cost.fixed},
                    {"slots_per_round", cost.per_round},
                    {"slots_per_item", cost.per_item},
                    {"cycles_per_item", 6 * cost.per_item}});
  }
  std::fputs(json ? (list.dump(2) + "\n").c_str() : table.c_str(), stdout);
  return 0;
}
