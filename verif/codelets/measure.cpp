// Measures vertices on a tile and fits their cost (measure.h).
#include "verif/codelets/measure.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "host/codelets/vertex_cases.h"
#include "hw/generated/machine.h"
#include "tlm/tile/tlm_tile.h"
#include "verif/codelets/tile_program.h"

namespace tessera::testing {
namespace {

/// Slots of dispatch for a list of one array record with one call, beyond those of an empty list.
constexpr std::uint64_t kRecordSlots = 7 + 6;

Cycle run(TileProgram& program) {
  TileConfig config;
  config.sram_bytes = 262144;
  TlmTile tile(config);
  return program.run(tile);
}

/// Solves the normal equations of up to three unknowns; unknowns whose column is zero, or that come out negative, are
/// 0.
std::array<double, 3> least_squares(const std::vector<std::array<double, 4>>& rows) {
  std::array<bool, 3> active{};
  for (int c = 0; c < 3; ++c)
    active[c] = std::any_of(rows.begin(), rows.end(), [&](const auto& row) { return row[c] != 0; });
  for (;;) {
    double a[3][4] = {};
    for (const auto& row : rows)
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 4; ++j)
          if (active[i] && (j == 3 || active[j])) a[i][j] += row[i] * row[j];
    for (int i = 0; i < 3; ++i)
      if (!active[i]) a[i][i] = 1;
    for (int i = 0; i < 3; ++i)
      for (int k = 0; k < 3; ++k) {
        if (k == i || a[i][i] == 0) continue;
        const double factor = a[k][i] / a[i][i];
        for (int j = 0; j < 4; ++j) a[k][j] -= factor * a[i][j];
      }
    std::array<double, 3> x{};
    int worst = -1;
    for (int i = 0; i < 3; ++i) {
      x[i] = active[i] ? a[i][3] / a[i][i] : 0;
      if (x[i] < 0 && (worst < 0 || x[i] < x[worst])) worst = i;
    }
    if (worst < 0) return x;
    active[worst] = false;
  }
}

}  // namespace

MeasuredVertex measure(const CodeletInfo& codelet, std::uint32_t size, std::mt19937& random) {
  const Bindings bindings = random_vertex(codelet, size, random);
  TileProgram program({codelet.name}), empty({codelet.name});
  const auto vertex = program.place(codelet, bindings);
  const auto& sram = program.initial();
  MeasuredVertex result;
  const auto from = sram.begin() + (vertex.state - kSramBase);
  result.state.assign(from, from + codelet.state_bytes);
  if (codelet.amp) {
    program.amp(codelet.name, vertex.state);
    result.slots = (run(program) - run(empty)) / kSlots;
    return result;
  }
  program.record(0, codelet.name, vertex.state);
  empty.end_list(0);
  result.slots = (run(program) - run(empty)) / kSlots - kRecordSlots;
  return result;
}

CodeletCost fit_cost(const CodeletInfo& codelet, const std::vector<MeasuredVertex>& vertices) {
  std::vector<std::array<double, 4>> rows;
  for (const auto& v : vertices) {
    const auto f = cost_features(codelet, v.state.data());
    const auto slots = static_cast<double>(v.slots);
    const double sets = amp_sets(codelet, v.state.data());
    rows.push_back({sets / slots, sets * f.rounds / slots, sets * f.items / slots, 1});
  }
  const auto x = least_squares(rows);
  return {codelet.name, x[0], x[1], x[2]};
}

}  // namespace tessera::testing
