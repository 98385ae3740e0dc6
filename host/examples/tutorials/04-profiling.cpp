// Tutorial 4: where the cycles went, step by step, and where the memory is.
#include <fmt/format.h>

#include "host/session/session.h"

using namespace tessera;
using graph::Graph;
using graph::Program;
using graph::Tensor;
using graph::Type;

/// Adds x to itself into y, with all of the work on `tiles` tiles.
graph::ComputeSetId add(Graph& g, const std::string& name, const Tensor& x, const Tensor& y, unsigned tiles) {
  const auto set = g.add_compute_set(name);
  const std::uint64_t share = x.elements() / (6 * tiles);
  for (unsigned i = 0; i < 6 * tiles; ++i) {
    const auto vertex = g.add_vertex(set, "Add_f32", i / 6);
    g.connect(vertex, "a", x.slice(i * share, (i + 1) * share));
    g.connect(vertex, "b", x.slice(i * share, (i + 1) * share));
    g.connect(vertex, "y", y.slice(i * share, (i + 1) * share));
  }
  return set;
}

int sc_main(int, char**) {
  return guarded([] {
    constexpr std::uint64_t kElements = 9600;
    Graph g(16);
    const Tensor x = g.add_variable(Type::f32, {kElements}, "x");
    const Tensor y = g.add_variable(Type::f32, {kElements}, "y");
    g.map_linear(x, 600);
    g.map_linear(y, 600);
    const auto balanced = add(g, "on all tiles", x, y, 16);
    const auto narrow = add(g, "on two tiles", x, y, 2);
    g.expose("x", x);
    g.expose("y", y);
    // A program's first compute set counts with its start; a sync in front gives it a superstep of its own.
    g.add_entry("main", Program::sequence({Program::sync(), Program::execute(balanced), Program::execute(narrow)}));

    Session session(g);
    session.write("x", std::vector<float>(kElements, 1.5F));
    const SessionRun run = session.run();
    fmt::print("{} cycles in all\n{}", run.cycles, session.profile_text());

    std::uint64_t all_tiles = 0, two_tiles = 0;
    for (const StepCycles& s : session.profile()) {
      if (s.step.find("on all tiles") != std::string::npos) all_tiles += s.cycles;
      if (s.step.find("on two tiles") != std::string::npos) two_tiles += s.cycles;
    }
    fmt::print("two tiles take {:.1f} times the cycles of sixteen\n",
               static_cast<double>(two_tiles) / static_cast<double>(all_tiles));
    const auto& peak = session.report().at("memory").at("largest_tile");
    fmt::print("the fullest tile holds {} bytes of data\n", peak.at("peak").dump());
    return two_tiles > 4 * all_tiles && session.read<float>("y") == std::vector<float>(kElements, 3.0F) ? 0 : 1;
  });
}
