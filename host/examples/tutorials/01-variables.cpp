// Tutorial 1: variables, their mapping to tiles, constants, views, copies.
#include <fmt/format.h>

#include "host/session/session.h"

using namespace tessera;
using graph::Graph;
using graph::Program;
using graph::Tensor;
using graph::Type;

int sc_main(int, char**) {
  return guarded([] {
    Graph g(16);

    // A variable has a type, a shape and a name; its elements live on tiles that you choose.
    const Tensor matrix = g.add_variable(Type::f32, {4, 8}, "matrix");
    g.map_linear(matrix);
    const Tensor row = g.add_variable(Type::f32, {8}, "row");
    g.map(row, 3);
    const Tensor corner = g.add_constant(Type::f32, {2, 2}, std::vector<float>{10, 20, 30, 40}, "corner");
    g.map(corner, 15);

    for (const graph::TileInterval& i : g.mapping(matrix))
      fmt::print("elements {:2} to {:2} are on tile {}\n", i.begin, i.end - 1, i.tile);

    // Views cost nothing: they only say which elements are meant.
    const Tensor top_right = matrix.slice({0, 6}, {2, 8});
    const Tensor column = matrix.slice(1, 2, 1);

    g.expose("matrix", matrix);
    g.expose("row", row);
    g.add_entry("main", Program::sequence({
                            Program::copy(corner.transpose(), top_right),
                            Program::copy(matrix[0].reverse(0), row),
                            Program::print(column, "column 1"),
                        }));

    Session session(g);
    std::vector<float> values(32);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    session.write("matrix", values);
    session.run();

    fmt::print("row:");
    for (const float v : session.read<float>("row")) fmt::print(" {}", v);
    fmt::print("\n");
    return session.read<float>("row") == std::vector<float>{30, 10, 5, 4, 3, 2, 1, 0} ? 0 : 1;
  });
}
