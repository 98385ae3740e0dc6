// Tutorial 6: the same product with work for every worker, and fewer instructions for each element.
#include <fmt/format.h>

#include "host/examples/tutorials/matrix_vector.h"
#include "host/session/session.h"

using namespace tessera;
using graph::Graph;
using graph::Program;
using graph::Tensor;
using graph::Type;

constexpr std::uint64_t kParts = 6;                  // pieces of the columns
constexpr std::uint64_t kWidth = kColumns / kParts;  // columns of a piece
constexpr std::uint64_t kBlocks = kRows / 4;         // blocks of four rows, one a tile

/// Tutorial 5's program, to compare with.
Program plain(Graph& g, const Tensor& a, const Tensor& x, const Tensor& y) {
  const auto set = g.add_compute_set("plain");
  for (std::uint64_t r = 0; r < kRows; ++r) {
    const auto vertex = g.add_vertex(set, "Dot", g.mapping(a[r]).front().tile);
    g.connect(vertex, "row", a[r]);
    g.connect(vertex, "x", x);
    g.connect(vertex, "y", y.slice(r, r + 1));
  }
  return Program::execute(set);
}

/// Blocks of four rows on a tile, cut into six pieces of columns, one a worker; then the pieces are added up.
Program optimised(Graph& g, const Tensor& blocks, const Tensor& x, const Tensor& y) {
  const Tensor partials = g.add_variable(Type::f32, {kBlocks, kParts, 4}, "partials");
  g.map_linear(partials, kParts * 4);
  const auto products = g.add_compute_set("products of blocks");
  const auto sums = g.add_compute_set("sums of pieces");
  for (std::uint64_t b = 0; b < kBlocks; ++b) {
    const auto tile = static_cast<unsigned>(b);
    for (std::uint64_t p = 0; p < kParts; ++p) {
      const auto vertex = g.add_vertex(products, "FourDots", tile);
      g.connect(vertex, "block", blocks[b][p]);
      g.connect(vertex, "x", x.slice(p * kWidth, (p + 1) * kWidth));
      g.connect(vertex, "y", partials[b][p]);
      g.set_value(vertex, "columns", static_cast<std::uint32_t>(kWidth));
    }
    const auto vertex = g.add_vertex(sums, "SumParts", tile);
    g.connect(vertex, "parts", partials[b].flatten());
    g.connect(vertex, "y", y.slice(4 * b, 4 * b + 4));
    g.set_value(vertex, "count", static_cast<std::uint32_t>(kParts));
  }
  return Program::sequence({Program::execute(products), Program::execute(sums)});
}

int sc_main(int, char**) {
  return guarded([] {
    Graph g(16);
    const Tensor a = g.add_variable(Type::f32, {kRows, kColumns}, "a");
    // The matrix again as [block][piece][row][column]: what a worker reads is one contiguous region.
    const Tensor blocks = g.add_variable(Type::f32, {kBlocks, kParts, 4, kWidth}, "blocks");
    const Tensor x = g.add_variable(Type::f32, {kColumns}, "x");
    const Tensor y = g.add_variable(Type::f32, {kRows}, "y");
    g.map_linear(a, kColumns);
    g.map_linear(blocks, 4 * kColumns);
    g.map_linear(x);
    g.map_linear(y, 4);
    g.expose("a", a);
    g.expose("x", x);
    g.expose("y", y);
    g.keep(blocks);
    const Tensor in_blocks = a.reshape({kBlocks, 4, kParts, kWidth}).permute({0, 2, 1, 3});
    g.add_entry("prepare", Program::copy(in_blocks, blocks));
    g.add_entry("plain", plain(g, a, x, y));
    g.add_entry("optimised", optimised(g, blocks, x, y));

    SessionOptions options;
    options.codelets = {TUTORIALS "codelets.c"};
    Session session(g, options);
    session.write("a", matrix_values());
    session.write("x", vector_values());
    session.run("prepare");
    bool right = true;
    std::vector<Cycle> cycles;
    for (const char* entry : {"plain", "optimised"}) {
      session.write("y", std::vector<float>(kRows, 0.0F));
      cycles.push_back(session.run(entry).cycles);
      right = right && session.read<float>("y") == expected_product();
      fmt::print("{}: {} cycles\n", entry, cycles.back());
    }
    const double factor = static_cast<double>(cycles[0]) / static_cast<double>(cycles[1]);
    fmt::print("{} times fewer cycles, results {}\n", fmt::format("{:.1f}", factor), right ? "equal" : "wrong");
    return right && factor >= 2 ? 0 : 1;
  });
}
