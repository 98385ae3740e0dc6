// See in_place.h. Candidates come from liveness, what the vertices do from their states.
#include "host/compiler/in_place.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace tessera::compiler {

namespace {

/// Value of a state's field; nothing if the codelet has no such field.
std::optional<std::uint32_t> value_of(const CodeletInfo& info, const StateWord* state, const std::string& name) {
  const Field* f = info.field(name);
  if (f == nullptr || !f->is_value() || field_type_bytes(f->type) != 4) return std::nullopt;
  return state[f->offset / 4].value;
}

/// Whether element i of the input goes with element i of what is written: codelets with rows say by values how the
/// operand moves (field_row, field_step).
bool walks_like_output(const CodeletInfo& info, const StateWord* state, const Field& input) {
  const auto step = value_of(info, state, input.name + "_step");
  const auto row = value_of(info, state, input.name + "_row");
  if (!step && !row) return true;
  return step == 1U && (row == value_of(info, state, "columns") || value_of(info, state, "rows") == 1U);
}

/// What one vertex does with the two variables.
enum class Use { none, in_place, other };

Use use_of(const CodeletInfo& info, const StateWord* state, std::uint32_t dying, std::uint32_t born) {
  std::set<std::uint32_t> from;
  std::set<std::uint32_t> to;
  unsigned from_bytes = 0;
  unsigned to_bytes = 0;
  for (const Field& f : info.fields) {
    if (f.is_value()) continue;
    const StateWord& word = state[f.offset / 4];
    if (word.variable == dying) {
      if (!f.elementwise || !walks_like_output(info, state, f)) return Use::other;
      from.insert(word.value);
      from_bytes = field_type_bytes(f.type);
    }
    if (word.variable == born) {
      if (f.reads()) return Use::other;
      to.insert(word.value);
      to_bytes = field_type_bytes(f.type);
    }
  }
  if (from.empty() && to.empty()) return Use::none;
  return from.size() == 1 && from == to && from_bytes == to_bytes ? Use::in_place : Use::other;
}

/// Tiles of a step where all vertices that touch the two do so in place, at least one of them.
std::vector<std::uint32_t> tiles_in_place(const ComputeStep& step, const Layout& layout, std::uint32_t dying,
                                          std::uint32_t born) {
  std::vector<std::uint32_t> tiles;
  for (std::size_t i = 0; i < step.calls.size();) {
    const std::uint32_t tile = step.calls[i].tile;
    bool some = false;
    bool all = true;
    for (; i < step.calls.size() && step.calls[i].tile == tile; ++i) {
      const Calls& c = step.calls[i];
      const std::size_t words = c.codelet->state_bytes / 4;
      for (std::uint64_t k = 0; all && k < c.count; ++k) {
        const Use use = use_of(*c.codelet, &c.states[k * words], dying, born);
        all = all && use != Use::other;
        some = some || use == Use::in_place;
      }
    }
    const auto& a = layout.blocks(dying);
    const auto& b = layout.blocks(born);
    const auto at = a.find(tile);
    const auto bt = b.find(tile);
    if (some && all && at != a.end() && bt != b.end() && at->second == bt->second) tiles.push_back(tile);
  }
  return tiles;
}

}  // namespace

std::vector<InPlace> find_in_place(const Ir& ir, const Liveness& liveness) {
  std::vector<InPlace> result;
  for (const Turnover& t : liveness.turnovers) {
    const ComputeStep& step = ir.computes[t.compute];
    for (const std::uint32_t dying : t.dying) {
      if (liveness.always[dying]) continue;
      for (const std::uint32_t born : t.born) {
        if (born == dying || liveness.always[born] || !liveness.meet_only_at(dying, born, t.point)) continue;
        InPlace pair{dying, born, tiles_in_place(step, ir.layout, dying, born)};
        if (!pair.tiles.empty()) result.push_back(std::move(pair));
      }
    }
  }
  return result;
}

}  // namespace tessera::compiler
