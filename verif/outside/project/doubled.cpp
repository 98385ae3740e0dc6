// A vertex of its own on each of four tiles: doubles four numbers and prints them.
#include <cstdio>
#include <vector>

#include "host/session/session.h"

int sc_main(int, char**) {
  return tessera::guarded([] {
    using namespace tessera;
    graph::Graph graph(16);
    const graph::Tensor x = graph.add_variable(graph::Type::f32, {4}, "x");
    const graph::Tensor y = graph.add_variable(graph::Type::f32, {4}, "y");
    const graph::ComputeSetId set = graph.add_compute_set("double");
    for (unsigned tile = 0; tile < 4; ++tile) {
      graph.map(x.slice(tile, tile + 1), tile);
      graph.map(y.slice(tile, tile + 1), tile);
      const graph::VertexId vertex = graph.add_vertex(set, "Twice", tile);
      graph.connect(vertex, "x", x[tile]);
      graph.connect(vertex, "y", y[tile]);
    }
    graph.expose("x", x);
    graph.expose("y", y);
    graph.add_entry("main", graph::Program::execute(set));
    SessionOptions options;
    options.codelets = {CODELETS};
    Session session(graph, options);
    session.write("x", std::vector<float>{1, 2, 3, 4});
    session.run();
    for (const float value : session.read<float>("y")) std::printf("%g ", value);
    std::printf("\n");
    return 0;
  });
}
