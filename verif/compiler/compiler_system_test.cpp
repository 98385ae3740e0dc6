// Hand-made graphs run end to end and compared with plain arithmetic on the host.
#include <gtest/gtest.h>

#include <numeric>

#include "verif/compiler/graph_machine.h"

namespace tessera {
namespace {

using graph::Graph;
using graph::Program;
using graph::Tensor;
using graph::Type;
using testing::GraphMachine;

template <typename T>
std::vector<T> counting(std::size_t n, T first = T(1)) {
  std::vector<T> v(n);
  std::iota(v.begin(), v.end(), first);
  return v;
}

/// One Add vertex for each tile interval of z.
void add_elementwise(Graph& g, graph::ComputeSetId cs, const std::string& codelet, const Tensor& a, const Tensor& b,
                     const Tensor& z) {
  for (const graph::TileInterval& i : g.mapping(z)) {
    const auto v = g.add_vertex(cs, codelet, i.tile);
    g.connect(v, "a", a.flatten().slice(i.begin, i.end));
    g.connect(v, "b", b.flatten().slice(i.begin, i.end));
    g.connect(v, "y", z.flatten().slice(i.begin, i.end));
  }
}

void expect_predicted_phases(GraphMachine& m) {
  std::vector<Cycle> predicted;
  for (const auto& phase : m.executable().programs[0].phases) predicted.push_back(phase.cycles);
  EXPECT_EQ(m.clock().phases(), predicted);
}

TEST(CompilerSystem, TwoVectorsAreAddedOverSixteenTiles) {
  Graph g(16);
  const Tensor a = g.add_variable(Type::f32, {1000}, "a");
  const Tensor b = g.add_constant(Type::f32, {1000}, counting<float>(1000, 0.5F), "b");
  const Tensor z = g.add_variable(Type::f32, {1000}, "z");
  g.map_linear(a);
  g.map_linear(b, 1, 100);
  g.map_linear(z, 2, 1);
  const auto cs = g.add_compute_set("add");
  add_elementwise(g, cs, "Add_f32", a, b, z);
  g.expose("a", a);
  g.expose("z", z);
  g.add_entry("main", Program::execute(cs));
  GraphMachine m(g);
  const std::vector<float> x = counting<float>(1000, 3.0F);
  m.write("a", x);
  m.engine().run("main");
  const std::vector<float> got = m.read<float>("z");
  ASSERT_EQ(got.size(), 1000U);
  for (std::size_t i = 0; i < 1000; ++i) ASSERT_EQ(got[i], x[i] + (0.5F + static_cast<float>(i))) << i;
  expect_predicted_phases(m);
}

}  // namespace
}  // namespace tessera
