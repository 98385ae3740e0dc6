// Copies and dynamic slices of hand-made graphs: random views over random mappings, halves and bytes at odd places.
#include <gtest/gtest.h>

#include <algorithm>

#include "verif/compiler/graph_machine.h"
#include "verif/compiler/hand_made.h"

namespace tessera {
namespace {

using graph::Graph;
using graph::Program;
using graph::Tensor;
using graph::Type;
using testing::counting;
using testing::expect_predicted_phases;
using testing::GraphMachine;
using testing::scalar;

/// Small deterministic generator: the same graphs on every host.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 2654435761U + 12345) {}
  std::uint64_t below(std::uint64_t n) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return (state_ >> 33) % n;
  }

 private:
  std::uint64_t state_;
};

void map_randomly(Graph& g, const Tensor& t, Random& random) {
  const Tensor flat = t.flatten();
  for (std::uint64_t at = 0; at < flat.elements();) {
    const std::uint64_t n = std::min<std::uint64_t>(1 + random.below(9), flat.elements() - at);
    g.map(flat.slice(at, at + n), static_cast<unsigned>(random.below(g.tiles())));
    at += n;
  }
}

Tensor random_view(Tensor t, Random& random) {
  for (std::uint64_t k = random.below(4); k > 0; --k) {
    const std::size_t axis = random.below(t.rank());
    switch (random.below(5)) {
      case 0:
        t = t.transpose();
        break;
      case 1:
        t = t.reverse(axis);
        break;
      case 2:
        if (t.dim(axis) > 2) t = t.slice(1, t.dim(axis), axis);
        break;
      case 3:
        t = t.every(2, axis);
        break;
      default:
        t = Tensor::concat({t, t.slice(0, 1, axis)}, axis);
    }
  }
  return t;
}

/// Copies of random views between randomly mapped variables, of every element size.
void random_copies(std::uint64_t seed) {
  Random random(seed);
  Graph g(16);
  struct Case {
    Tensor source, view, result;
    std::vector<std::uint8_t> data;
  };
  std::vector<Case> cases;
  std::vector<Program> steps;
  const Type types[] = {Type::u8, Type::f16, Type::i32, Type::boolean, Type::u16};
  for (int k = 0; k < 30; ++k) {
    const Type type = types[random.below(5)];
    const graph::Shape shape = {1 + random.below(5), 1 + random.below(6), 1 + random.below(4)};
    Case c;
    c.source = g.add_variable(type, shape, "source" + std::to_string(k));
    map_randomly(g, c.source, random);
    c.view = random_view(c.source, random);
    const Tensor target = g.add_variable(type, c.view.shape(), "target" + std::to_string(k));
    map_randomly(g, target, random);
    c.result = target;
    for (std::uint64_t i = 0; i < c.source.elements() * graph::size_of(type); ++i) {
      c.data.push_back(static_cast<std::uint8_t>(random.below(256)));
    }
    g.expose("source" + std::to_string(k), c.source);
    g.expose("target" + std::to_string(k), target);
    steps.push_back(Program::copy(c.view, target));
    cases.push_back(c);
  }
  g.add_entry("main", Program::sequence(steps));
  GraphMachine m(g);
  for (std::size_t k = 0; k < cases.size(); ++k) m.engine().write_tensor("source" + std::to_string(k), cases[k].data);
  m.engine().run("main");
  std::size_t compared = 0;
  for (std::size_t k = 0; k < cases.size(); ++k) {
    const Case& c = cases[k];
    const unsigned bytes = graph::size_of(c.view.type());
    const auto got = m.engine().read_tensor("target" + std::to_string(k));
    ASSERT_EQ(got.size(), c.view.elements() * bytes);
    for (std::uint64_t i = 0; i < c.view.elements(); ++i) {
      const std::uint64_t element = c.view.at(i).second;
      for (unsigned b = 0; b < bytes; ++b, ++compared) {
        ASSERT_EQ(got[i * bytes + b], c.data[element * bytes + b]) << "copy " << k << " element " << i;
      }
    }
    EXPECT_EQ(m.engine().read_tensor("source" + std::to_string(k)), c.data);
  }
  EXPECT_GT(compared, 500U);
  expect_predicted_phases(m);
}

TEST(CompilerSystem, RandomCopies1) { random_copies(1); }
TEST(CompilerSystem, RandomCopies2) { random_copies(2); }
TEST(CompilerSystem, RandomCopies3) { random_copies(3); }

TEST(CompilerSystem, OddPiecesOfHalvesAndBytes) {
  Graph g(16);
  const Tensor h = g.add_variable(Type::f16, {37}, "h");
  const Tensor b = g.add_variable(Type::u8, {41}, "b");
  g.map_linear(h, 1, 5);
  g.map_linear(b, 1, 7, 2);
  const Tensor h2 = g.add_variable(Type::f16, {5, 7}, "h2");
  const Tensor b2 = g.add_variable(Type::u8, {40}, "b2");
  g.map_linear(h2, 1, 3, 6);
  g.map_linear(b2, 1, 9);
  g.expose("h", h);
  g.expose("b", b);
  g.expose("h2", h2);
  g.expose("b2", b2);
  g.add_entry("main", Program::sequence({Program::copy(h.slice(1, 36).reshape({7, 5}).transpose(), h2),
                                         Program::copy(b.slice(1, 41).reverse(0), b2)}));
  GraphMachine m(g);
  m.write("h", counting<std::uint16_t>(37, 1000));
  m.write("b", counting<std::uint8_t>(41, 3));
  m.engine().run("main");
  const auto halves = m.read<std::uint16_t>("h2");
  ASSERT_EQ(halves.size(), 35U);
  for (int i = 0; i < 5; ++i) {
    for (int j = 0; j < 7; ++j) ASSERT_EQ(halves[i * 7 + j], 1000 + 1 + j * 5 + i);
  }
  const auto octets = m.read<std::uint8_t>("b2");
  ASSERT_EQ(octets.size(), 40U);
  for (int i = 0; i < 40; ++i) ASSERT_EQ(octets[i], 3 + 40 - i);
  EXPECT_GT(m.compiled().report.json["relayout_bytes"].get<int>(), 0);
}

void dynamic_slices(Type type, bool aligned) {
  Graph g(16);
  const std::uint64_t rows = 6;
  const std::uint64_t columns = 33;
  const Tensor table = g.add_variable(type, {rows, columns}, "table");
  if (aligned) {
    for (std::uint64_t c = 0; c < columns; c += 11) {
      g.map(table.slice(c, c + 11, 1), static_cast<unsigned>(c / 11 + 4));
    }
  } else {
    g.map_linear(table, 1, 7);
  }
  const Tensor index = scalar(g, Type::i32, "index", 9);
  const Tensor part = g.add_variable(type, {2, columns}, "part");
  g.map_linear(part, 1, 6);
  const Tensor row = g.add_variable(type, {1, columns}, "row");
  g.map_linear(row, 1, 10, 3);
  for (const auto& [name, tensor] : {std::pair{"table", table}, {"index", index}, {"part", part}, {"row", row}}) {
    g.expose(name, tensor);
  }
  g.add_entry("slice", Program::dynamic_slice(table, index, part, "slice"));
  g.add_entry("update", Program::dynamic_update(row, index, table, "update"));
  GraphMachine m(g);
  const unsigned bytes = graph::size_of(type);
  std::vector<std::uint8_t> data(rows * columns * bytes);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::uint8_t>(i * 7 + i / 256);
  m.engine().write_tensor("table", data);
  for (const std::int32_t at : {0, 3, 4, 9, -5}) {  // the last two are clamped
    m.write<std::int32_t>("index", {at});
    m.engine().run("slice");
    const std::size_t from = static_cast<std::size_t>(std::clamp(at, 0, 4)) * columns * bytes;
    const std::vector<std::uint8_t> expect(data.begin() + static_cast<std::ptrdiff_t>(from),
                                           data.begin() + static_cast<std::ptrdiff_t>(from + 2 * columns * bytes));
    ASSERT_EQ(m.engine().read_tensor("part"), expect) << at;
  }
  for (const std::int32_t at : {2, 5, 77, -1}) {
    m.write<std::int32_t>("index", {at});
    std::vector<std::uint8_t> line(columns * bytes);
    for (std::size_t i = 0; i < line.size(); ++i) line[i] = static_cast<std::uint8_t>(i + 50 * at);
    m.engine().write_tensor("row", line);
    m.engine().run("update");
    std::copy(line.begin(), line.end(),
              data.begin() + static_cast<std::ptrdiff_t>(std::clamp(at, 0, 5) * static_cast<int>(columns * bytes)));
    ASSERT_EQ(m.engine().read_tensor("table"), data) << at;
  }
}

TEST(CompilerSystem, DynamicSliceWithinTiles) { dynamic_slices(Type::f32, true); }
TEST(CompilerSystem, DynamicSliceAcrossTiles) { dynamic_slices(Type::f32, false); }
TEST(CompilerSystem, DynamicSliceOfBytes) { dynamic_slices(Type::u8, true); }
TEST(CompilerSystem, DynamicSliceOfHalvesAcrossTiles) { dynamic_slices(Type::f16, false); }

}  // namespace
}  // namespace tessera
