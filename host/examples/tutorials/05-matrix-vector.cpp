// Tutorial 5: a matrix times a vector, one vertex a row.
#include <fmt/format.h>

#include "host/examples/tutorials/matrix_vector.h"
#include "host/session/session.h"

using namespace tessera;
using graph::Graph;
using graph::Program;
using graph::Tensor;
using graph::Type;

int sc_main(int, char**) {
  return guarded([] {
    Graph g(16);
    const Tensor a = g.add_variable(Type::f32, {kRows, kColumns}, "a");
    const Tensor x = g.add_variable(Type::f32, {kColumns}, "x");
    const Tensor y = g.add_variable(Type::f32, {kRows}, "y");
    g.map_linear(a, kColumns);
    g.map_linear(x);
    g.map_linear(y);

    const auto set = g.add_compute_set("dot products");
    for (std::uint64_t r = 0; r < kRows; ++r) {
      const auto vertex = g.add_vertex(set, "Dot", g.mapping(a[r]).front().tile);
      g.connect(vertex, "row", a[r]);
      g.connect(vertex, "x", x);
      g.connect(vertex, "y", y.slice(r, r + 1));
    }
    g.expose("a", a);
    g.expose("x", x);
    g.expose("y", y);
    g.add_entry("main", Program::execute(set));

    SessionOptions options;
    options.codelets = {TUTORIALS "codelets.c"};
    Session session(g, options);
    session.write("a", matrix_values());
    session.write("x", vector_values());
    const SessionRun run = session.run();
    const bool right = session.read<float>("y") == expected_product();
    fmt::print("{} products, {}\n", kRows, right ? "all right" : "wrong");
    fmt::print("{} cycles in all\n{}", run.cycles, session.profile_text());
    return right ? 0 : 1;
  });
}
