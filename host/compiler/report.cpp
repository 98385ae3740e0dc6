// Reports as JSON.
#include "host/compiler/report.h"

#include <algorithm>

namespace tessera::compiler {

namespace {

using Json = nlohmann::ordered_json;

/// Bytes on all tiles together.
Json memory_of_all_tiles(const Parts& p) {
  std::uint64_t constants = 0;
  std::uint64_t kept = 0;
  std::uint64_t transient = 0;
  std::uint64_t in_place = 0;
  std::uint64_t data = 0;
  for (const TileMemory& t : p.allocation.tiles()) {
    constants += t.constants;
    kept += t.kept;
    transient += t.sum - t.always;
    in_place += t.in_place;
    data += static_cast<std::uint64_t>(static_cast<std::int64_t>(p.platform.sram_end()) - t.lowest) + t.in_holes;
  }
  return {{"constants", constants}, {"kept", kept}, {"transient_sum", transient},
          {"in_place", in_place},   {"data", data}, {"sum_of_variables", constants + kept + transient}};
}

/// What is live at each superstep: on the tile that holds most then, and on all tiles.
Json memory_by_step(const Parts& p) {
  Json steps = Json::array();
  for (std::size_t point = 0; point < p.liveness.points.size(); ++point) {
    std::uint64_t most = 0;
    std::size_t tile = 0;
    std::uint64_t sum = 0;
    for (std::size_t t = 0; t < p.allocation.tiles().size(); ++t) {
      const std::uint64_t live = p.allocation.tiles()[t].live_at[point];
      sum += live;
      if (live <= most) continue;
      most = live;
      tile = t;
    }
    const Point& at = p.liveness.points[point];
    steps.push_back({{"path", at.path}, {"name", at.name}, {"live", most}, {"tile", tile}, {"live_on_all_tiles", sum}});
  }
  return steps;
}

Json memory_report(const Parts& p) {
  Json memory;
  const Plan& m = p.plan;
  memory["sram_bytes"] = p.platform.sram_bytes;
  memory["categories"] = {{"start", m.control - m.start},  {"control", m.code - m.control},
                          {"code", m.steps - m.code},      {"steps", m.lists - m.steps},
                          {"lists", m.exchange - m.lists}, {"exchange", m.stacks - m.exchange},
                          {"stacks", m.data - m.stacks}};
  Json tiles = Json::array();
  std::uint64_t sum = 0;
  std::uint64_t peak = 0;
  std::uint64_t bound = 0;
  for (std::size_t t = 0; t < p.allocation.tiles().size(); ++t) {
    const TileMemory& tile = p.allocation.tiles()[t];
    const auto data = static_cast<std::uint64_t>(static_cast<std::int64_t>(p.platform.sram_end()) - tile.lowest);
    const Point& point = p.liveness.points[tile.peak_point];
    tiles.push_back({{"tile", t},
                     {"data", data},
                     {"in_code_holes", tile.in_holes},
                     {"sum_of_variables", tile.sum},
                     {"always_live", tile.always},
                     {"live_bound", tile.bound},
                     {"constants", tile.constants},
                     {"kept", tile.kept},
                     {"in_place", tile.in_place},
                     {"lists", 4 * p.tables.lists[t].size()},
                     {"exchange", 4 * p.tables.exchange[t].size()},
                     {"peak", point.path + (point.name.empty() ? "" : " (" + point.name + ")")}});
    sum = std::max(sum, tile.sum);
    peak = std::max(peak, data + tile.in_holes);
    bound = std::max(bound, tile.bound);
  }
  memory["largest_tile"] = {{"peak", peak}, {"sum_of_variables", sum}, {"live_bound", bound}};
  memory["tiles"] = std::move(tiles);
  memory["all_tiles"] = memory_of_all_tiles(p);
  memory["steps"] = memory_by_step(p);
  return memory;
}

Json count_phases(const Parts& p) {
  std::size_t phases = 0;
  std::uint64_t cycles = 0;
  std::uint64_t bound = 0;
  std::uint64_t received = 0;
  for (const exchange::Schedule& s : p.tables.schedules) {
    phases += s.phases.size();
    cycles += s.cycles();
    bound += s.bound();
    for (const exchange::Phase& phase : s.phases) received += phase.words;
  }
  return {{"phases", phases}, {"cycles", cycles}, {"bound", bound}, {"words_received", received}};
}

Json touch_json(const Ir& ir, const Touch& touch) {
  const auto names = [&](const std::vector<std::uint32_t>& list) {
    Json result = Json::array();
    for (const std::uint32_t v : list) result.push_back(ir.graph.variables()[v].name);
    return result;
  };
  return {{"reads", names(touch.reads)}, {"writes", names(touch.writes)}, {"kills", names(touch.kills)}};
}

Json node_json(const Ir& ir, const Node& node) {
  static constexpr const char* kKinds[] = {"sequence", "exchange", "compute", "host", "sync",  "repeat",
                                           "while",    "if",       "switch",  "call", "undef", "tap"};
  Json j = {{"kind", kKinds[static_cast<unsigned>(node.kind)]}, {"path", node.path}};
  if (node.kind == Node::Kind::exchange) {
    const ExchangeStep& s = ir.exchanges[node.index];
    j["name"] = s.name;
    j["moves"] = s.moves.size();
    j["touch"] = touch_json(ir, s.touch);
  } else if (node.kind == Node::Kind::compute) {
    const ComputeStep& s = ir.computes[node.index];
    std::uint64_t vertices = 0;
    for (const Calls& c : s.calls) vertices += c.count;
    j["name"] = s.name;
    j["vertices"] = vertices;
    j["touch"] = touch_json(ir, s.touch);
  } else if (node.kind == Node::Kind::host) {
    j["name"] = ir.hosts[node.index].name;
    j["touch"] = touch_json(ir, ir.hosts[node.index].touch);
  } else if (node.kind == Node::Kind::repeat) {
    j["count"] = node.index;
  } else if (node.kind == Node::Kind::call) {
    j["function"] = ir.graph.functions()[node.index].name;
    j["variant"] = node.variant;
  }
  if (!node.children.empty()) {
    Json children = Json::array();
    for (const Node& child : node.children) children.push_back(node_json(ir, child));
    j["children"] = std::move(children);
  }
  return j;
}

}  // namespace

Json make_report(const Parts& p) {
  Json report;
  report["platform"] = p.platform.name;
  report["tiles"] = p.ir.graph.tiles();
  report["variables"] = p.ir.graph.variables().size();
  report["compute_sets"] = p.ir.graph.compute_sets().size();
  report["vertices"] = p.ir.vertex_count;
  report["edges"] = p.ir.edge_count;
  std::size_t computes = p.ir.computes.size();
  for (const ComputeStep& s : p.ir.computes) computes -= s.by_variant.empty() ? 0 : s.by_variant.size() - 1;
  report["supersteps"] = {{"exchange", p.ir.exchanges.size()}, {"compute", computes}, {"host", p.ir.hosts.size()}};
  report["control_words"] = p.control.words.size();
  report["exchange"] = count_phases(p);
  report["relayout_bytes"] = p.ir.relayout_bytes;
  report["staging_bytes"] = p.ir.staging_bytes;
  report["worker_cycles_estimated"] = p.tables.total;
  report["worker_cycles_of_busiest_x6"] = p.tables.slowest;
  report["memory"] = memory_report(p);
  return report;
}

Json dump_steps(const Ir& ir) {
  Json result;
  for (std::size_t f = 0; f < ir.functions.size(); ++f) {
    result["functions"][ir.graph.functions()[f].name] = node_json(ir, ir.functions[f]);
  }
  for (std::size_t e = 0; e < ir.entries.size(); ++e) {
    result["entries"][ir.graph.entries()[e].name] = node_json(ir, ir.entries[e]);
  }
  return result;
}

Json dump_allocation(const Ir& ir, const Liveness& liveness, const Allocation& allocation) {
  Json result = Json::array();
  for (std::uint32_t v = 0; v < ir.graph.variables().size(); ++v) {
    Json places = Json::array();
    for (const auto& [tile, bytes] : ir.layout.blocks(v)) {
      if (allocation.has(v, tile)) places.push_back({tile, allocation.base(v, tile), bytes});
    }
    result.push_back(
        {{"variable", ir.graph.variables()[v].name}, {"always", bool(liveness.always[v])}, {"blocks", places}});
  }
  return result;
}

Json dump_phases(const Ir& ir, const std::vector<exchange::Schedule>& schedules) {
  Json result = Json::array();
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    for (const exchange::Phase& phase : schedules[i].phases) {
      result.push_back({{"path", ir.exchanges[i].path},
                        {"name", ir.exchanges[i].name},
                        {"cycles", phase.cycles},
                        {"bound", phase.bound},
                        {"words_received", phase.words}});
    }
  }
  return result;
}

}  // namespace tessera::compiler
