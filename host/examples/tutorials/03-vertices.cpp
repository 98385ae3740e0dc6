// Tutorial 3: a codelet of your own, compiled when the program runs, and vertices of it.
#include <fmt/format.h>

#include <cmath>

#include "host/session/session.h"

using namespace tessera;
using graph::Graph;
using graph::Program;
using graph::Tensor;
using graph::Type;

int sc_main(int, char**) {
  return guarded([] {
    constexpr std::uint64_t kElements = 96;
    Graph g(16);
    const Tensor a = g.add_variable(Type::f32, {kElements}, "a");
    const Tensor b = g.add_variable(Type::f32, {kElements}, "b");
    const Tensor y = g.add_variable(Type::f32, {kElements}, "y");
    for (const Tensor& t : {a, b, y}) g.map_linear(t, 2);

    // Six workers a tile: one element a vertex would waste none of them, one vertex a tile would waste five.
    const auto set = g.add_compute_set("distances");
    for (std::uint64_t i = 0; i < kElements; i += 2) {
      const unsigned tile = g.mapping(y.slice(i, i + 2)).front().tile;
      const auto vertex = g.add_vertex(set, "ScaledDistance", tile);
      g.connect(vertex, "a", a.slice(i, i + 2));
      g.connect(vertex, "b", b.slice(i, i + 2));
      g.connect(vertex, "y", y.slice(i, i + 2));
      g.set_value(vertex, "scale", 0.5F);
    }
    for (const char* name : {"a", "b", "y"}) g.expose(name, std::string(name) == "a" ? a : name[0] == 'b' ? b : y);
    g.add_entry("main", Program::execute(set));

    SessionOptions options;
    options.codelets = {TUTORIALS "codelets.c"};
    Session session(g, options);
    std::vector<float> va(kElements), vb(kElements);
    for (std::size_t i = 0; i < kElements; ++i) {
      va[i] = static_cast<float>(i);
      vb[i] = 40.0F;
    }
    session.write("a", va);
    session.write("b", vb);
    session.run();
    const std::vector<float> result = session.read<float>("y");
    std::size_t right = 0;
    for (std::size_t i = 0; i < kElements; ++i) right += result[i] == std::fabs(va[i] - vb[i]) * 0.5F ? 1 : 0;
    fmt::print("y[0] = {}, y[40] = {}, y[95] = {}\n", result[0], result[40], result[95]);
    fmt::print("{} of {} elements are right\n", right, kElements);
    return right == kElements ? 0 : 1;
  });
}
