// Dataflow on the flow graph of supersteps: backwards what will be read, forwards what may have been written; a block
// is occupied where both hold, and where it is read or written itself. Functions are shared by their calls: flow from
// every call enters, and flow from the end returns to every call, which keeps more live but is never wrong.
#include "host/compiler/liveness.h"

#include <algorithm>

namespace tessera::compiler {

namespace {

using Bits = std::vector<std::uint64_t>;

void set(Bits& bits, std::uint32_t i) { bits[i / 64] |= std::uint64_t{1} << (i % 64); }

struct FlowPoint {
  Point point;
  Touch touch;
  std::vector<std::size_t> next;
  bool undefines = false;         ///< the kills write nothing
  std::uint32_t compute = kNone;  ///< index into Ir::computes
};

class FlowGraph {
 public:
  explicit FlowGraph(const Ir& ir) : ir_(ir) {
    // Functions first: entry and exit points, so that calls can refer to them.
    for (const Node& f : ir.functions) {
      const std::size_t entry = add({f.path, "enter"}, {});
      function_entry_.push_back(entry);
      function_exit_.push_back(entry);  // set below
    }
    // Callees are functions whose bodies may call others; the flow graph does not mind the order.
    std::vector<std::vector<std::size_t>> ends;
    for (std::size_t i = 0; i < ir.functions.size(); ++i) {
      function_exit_[i] = add({ir.functions[i].path, "leave"}, {});
    }
    for (std::size_t i = 0; i < ir.functions.size(); ++i) {
      const std::size_t last = walk(ir.functions[i], function_entry_[i]);
      link(last, function_exit_[i]);
    }
    for (const Node& e : ir.entries) {
      const std::size_t start = add({e.path, "start"}, {});
      entry_points.push_back(start);
      const std::size_t last = walk(e, start);
      exit_points.push_back(add({e.path, "finish"}, {}));
      link(last, exit_points.back());
      link(exit_points.back(), start);  // the host may run the entry again
    }
  }

  std::vector<FlowPoint> points;
  std::vector<std::size_t> entry_points, exit_points;

 private:
  std::size_t add(Point point, Touch touch) {
    points.push_back({std::move(point), std::move(touch), {}});
    return points.size() - 1;
  }
  void link(std::size_t from, std::size_t to) { points[from].next.push_back(to); }

  std::size_t step(std::size_t from, const std::string& path, const std::string& name, const Touch& touch) {
    const std::size_t at = add({path, name}, touch);
    link(from, at);
    return at;
  }

  std::size_t read(std::size_t from, const Node& node, const std::string& name) {
    Touch touch;
    touch.reads.push_back(node.predicate.place.variable);
    return step(from, node.path, name, touch);
  }

  /// Adds the points of `node` behind `from`; returns the last one.
  std::size_t walk(const Node& node, std::size_t from) {
    switch (node.kind) {
      case Node::Kind::sequence:
        for (const Node& child : node.children) from = walk(child, from);
        return from;
      case Node::Kind::exchange: {
        const ExchangeStep& s = ir_.exchanges[node.index];
        return step(from, s.path, s.name, s.touch);
      }
      case Node::Kind::compute: {
        const ComputeStep& s = ir_.computes[node.index];
        const std::size_t at = step(from, s.path, s.name, s.touch);
        points[at].compute = node.index;
        return at;
      }
      case Node::Kind::host: {
        const HostStep& s = ir_.hosts[node.index];
        return step(from, s.path, s.name, s.touch);
      }
      case Node::Kind::sync:
        return from;
      case Node::Kind::undef: {
        Touch touch;
        touch.kills = ir_.undefined[node.index];
        const std::size_t at = step(from, node.path, "write undef", touch);
        points[at].undefines = true;
        return at;
      }
      case Node::Kind::repeat: {
        const std::size_t head = step(from, node.path, "repeat", {});
        const std::size_t last = walk(node.children[0], head);
        link(last, head);
        return step(last, node.path, "end of repeat", {});
      }
      case Node::Kind::repeat_while: {
        const std::size_t head = step(from, node.path, "while", {});
        const std::size_t test = read(walk(node.children[0], head), node, "predicate");
        link(walk(node.children[1], test), head);
        return test;
      }
      case Node::Kind::branch: {
        const std::size_t test = read(from, node, "predicate");
        const std::size_t a = walk(node.children[0], test);
        const std::size_t b = walk(node.children[1], test);
        const std::size_t join = step(a, node.path, "end of if", {});
        link(b, join);
        return join;
      }
      case Node::Kind::tap: {
        Touch touch;
        for (const graph::Box& box : ir_.taps[node.index].tensor.boxes()) touch.reads.push_back(box.variable.index);
        return step(from, node.path, "tap", touch);
      }
      case Node::Kind::choice: {
        Touch touch;
        touch.reads.push_back(node.index);
        const std::size_t test = step(from, node.path, "selector", touch);
        const std::size_t join = add({node.path, "end of switch"}, {});
        for (const Node& child : node.children) link(walk(child, test), join);
        return join;
      }
      case Node::Kind::call: {
        const std::size_t back = add({node.path, "return"}, {});
        link(from, function_entry_[node.index]);
        link(function_exit_[node.index], back);
        return back;
      }
    }
    return from;
  }

  const Ir& ir_;
  std::vector<std::size_t> function_entry_, function_exit_;
};

/// Live before each point: what will be read before it is wholly written, or is kept at an end.
std::vector<Bits> backwards(const FlowGraph& flow, std::size_t words, const Bits& kept) {
  std::vector<Bits> before(flow.points.size(), Bits(words, 0));
  std::vector<std::vector<std::size_t>> previous(flow.points.size());
  for (std::size_t p = 0; p < flow.points.size(); ++p) {
    for (const std::size_t n : flow.points[p].next) previous[n].push_back(p);
  }
  std::vector<Bits> use(flow.points.size(), Bits(words, 0));
  std::vector<Bits> kill(flow.points.size(), Bits(words, 0));
  for (std::size_t p = 0; p < flow.points.size(); ++p) {
    for (const std::uint32_t v : flow.points[p].touch.reads) set(use[p], v);
    for (const std::uint32_t v : flow.points[p].touch.kills) set(kill[p], v);
  }
  for (const std::size_t p : flow.exit_points) use[p] = kept;
  std::vector<std::size_t> work(flow.points.size());
  for (std::size_t p = 0; p < work.size(); ++p) work[p] = p;
  std::vector<bool> queued(flow.points.size(), true);
  while (!work.empty()) {
    const std::size_t p = work.back();
    work.pop_back();
    queued[p] = false;
    Bits now(words, 0);
    for (const std::size_t n : flow.points[p].next) {
      for (std::size_t w = 0; w < words; ++w) now[w] |= before[n][w];
    }
    for (std::size_t w = 0; w < words; ++w) now[w] = (now[w] & ~kill[p][w]) | use[p][w];
    if (now == before[p]) continue;
    before[p] = std::move(now);
    for (const std::size_t q : previous[p]) {
      if (!queued[q]) work.push_back(q);
      queued[q] = true;
    }
  }
  return before;
}

/// Written on some way to each point (behind it), or held from the start.
std::vector<Bits> forwards(const FlowGraph& flow, std::size_t words, const Bits& initial) {
  std::vector<Bits> after(flow.points.size(), Bits(words, 0));
  std::vector<Bits> in(flow.points.size(), Bits(words, 0));
  std::vector<std::size_t> work;
  std::vector<bool> queued(flow.points.size(), true);
  for (std::size_t p = flow.points.size(); p-- > 0;) work.push_back(p);
  for (const std::size_t p : flow.entry_points) in[p] = initial;
  std::vector<bool> visited(flow.points.size(), false);
  while (!work.empty()) {
    const std::size_t p = work.back();
    work.pop_back();
    queued[p] = false;
    Bits now = in[p];
    for (const std::uint32_t v : flow.points[p].touch.writes) set(now, v);
    for (const std::uint32_t v : flow.points[p].touch.kills) {
      set(now, v);
      if (flow.points[p].undefines) now[v / 64] ^= std::uint64_t{1} << (v % 64);
    }
    if (visited[p] && now == after[p]) continue;
    visited[p] = true;
    after[p] = now;
    for (const std::size_t n : flow.points[p].next) {
      bool changed = false;
      for (std::size_t w = 0; w < words; ++w) {
        changed = changed || (now[w] & ~in[n][w]) != 0;
        in[n][w] |= now[w];
      }
      if (changed && !queued[n]) {
        work.push_back(n);
        queued[n] = true;
      }
    }
  }
  return after;
}

}  // namespace

bool Liveness::ever_live(std::uint32_t variable) const {
  return std::any_of(live[variable].begin(), live[variable].end(), [](std::uint64_t w) { return w != 0; });
}

bool Liveness::interfere(std::uint32_t a, std::uint32_t b) const {
  for (std::size_t w = 0; w < live[a].size(); ++w) {
    if ((live[a][w] & live[b][w]) != 0) return true;
  }
  return false;
}

bool Liveness::meet_only_at(std::uint32_t a, std::uint32_t b, std::size_t point) const {
  for (std::size_t w = 0; w < live[a].size(); ++w) {
    const std::uint64_t expect = w == point / 64 ? std::uint64_t{1} << (point % 64) : 0;
    if ((live[a][w] & live[b][w]) != expect) return false;
  }
  return true;
}

namespace {

bool has(const Bits& bits, std::uint32_t i) { return (bits[i / 64] >> (i % 64) & 1) != 0; }

/// What dies and what is born at the compute steps.
std::vector<Turnover> find_turnovers(const FlowGraph& flow, const std::vector<Bits>& before) {
  std::vector<Turnover> result;
  for (std::size_t p = 0; p < flow.points.size(); ++p) {
    const FlowPoint& point = flow.points[p];
    if (point.compute == kNone) continue;
    Turnover t{p, point.compute, {}, {}};
    for (const std::uint32_t v : point.touch.reads) {
      const bool needed =
          std::any_of(point.next.begin(), point.next.end(), [&](std::size_t n) { return has(before[n], v); });
      if (!needed) t.dying.push_back(v);
    }
    for (const std::uint32_t v : point.touch.kills) {
      if (!has(before[p], v)) t.born.push_back(v);
    }
    if (!t.dying.empty() && !t.born.empty()) result.push_back(std::move(t));
  }
  return result;
}

}  // namespace

Liveness analyse_liveness(const Ir& ir) {
  const FlowGraph flow(ir);
  const std::size_t variables = ir.graph.variables().size();
  const std::size_t words = (variables + 63) / 64;
  Bits kept(words, 0);
  Liveness result;
  result.always.assign(variables, false);
  for (std::uint32_t v = 0; v < variables; ++v) {
    if (ir.graph.variables()[v].keep) set(kept, v);
    if (ir.graph.variables()[v].constant()) result.always[v] = true;
  }
  const std::vector<Bits> before = backwards(flow, words, kept);
  // Read before it is written: the host or an earlier run put it there. Kept variables may be written by the host too.
  Bits initial(words, 0);
  for (const std::size_t p : flow.entry_points) {
    for (std::size_t w = 0; w < words; ++w) initial[w] |= before[p][w];
  }
  result.turnovers = find_turnovers(flow, before);
  const std::vector<Bits> after = forwards(flow, words, initial);
  const std::size_t points = flow.points.size();
  result.live.assign(variables, Bits((points + 63) / 64, 0));
  for (std::size_t p = 0; p < points; ++p) {
    result.points.push_back(flow.points[p].point);
    Bits occupied(words, 0);
    for (const std::size_t n : flow.points[p].next) {
      for (std::size_t w = 0; w < words; ++w) occupied[w] |= after[p][w] & before[n][w];
    }
    for (std::size_t w = 0; w < words; ++w) occupied[w] |= after[p][w] & before[p][w];
    for (const auto* list : {&flow.points[p].touch.reads, &flow.points[p].touch.writes, &flow.points[p].touch.kills}) {
      if (flow.points[p].undefines) continue;
      for (const std::uint32_t v : *list) set(occupied, v);
    }
    for (std::uint32_t v = 0; v < variables; ++v) {
      if ((occupied[v / 64] >> (v % 64) & 1) != 0) set(result.live[v], static_cast<std::uint32_t>(p));
    }
  }
  for (std::uint32_t v = 0; v < variables; ++v) {
    if ((initial[v / 64] >> (v % 64) & 1) != 0) result.always[v] = true;
    if (result.always[v] && (ir.graph.variables()[v].keep || result.ever_live(v))) {
      for (std::size_t p = 0; p < points; ++p) set(result.live[v], static_cast<std::uint32_t>(p));
    }
  }
  return result;
}

}  // namespace tessera::compiler
