// The same programs on TLM, RTL and lockstep tiles: a loop whose predicate stands on one tile, both ways of a branch, a
// dynamic slice, copies of odd pieces of halves and bytes. Results and cycles are the same to the bit.
//
// SystemC elaborates once a process, so each machine runs in a process of its own and sends its results through a pipe.
#include <gtest/gtest.h>

#include <numeric>

#include "verif/compiler/graph_machine.h"
#include "verif/compiler/machine_modes.h"

namespace tessera {
namespace {

using graph::Graph;
using graph::Program;
using graph::Tensor;
using graph::Type;
using Bytes = std::vector<std::uint8_t>;

Tensor on_tile(Graph& g, Type type, std::uint64_t n, const std::string& name, unsigned tile) {
  const Tensor t = g.add_variable(type, {n}, name);
  g.map(t, tile);
  g.expose(name, t);
  return t;
}

void binary(Graph& g, graph::ComputeSetId cs, const char* codelet, const Tensor& a, const Tensor& b, const Tensor& y,
            unsigned tile) {
  const auto v = g.add_vertex(cs, codelet, tile);
  g.connect(v, "a", a);
  g.connect(v, "b", b);
  g.connect(v, "y", y);
}

/// Entry points loop, branch, slice, copies.
Graph program() {
  Graph g(16);
  const Tensor one = g.add_constant(Type::i32, {1}, std::vector<std::int32_t>{1}, "one");
  g.map(one, 11);
  const Tensor count = on_tile(g, Type::i32, 1, "count", 5);
  const Tensor limit = on_tile(g, Type::i32, 1, "limit", 2);
  const Tensor go = on_tile(g, Type::boolean, 1, "go", 5);
  const auto test = g.add_compute_set("test");
  binary(g, test, "Less_i32", count, limit, go, 5);
  const auto body = g.add_compute_set("body");
  binary(g, body, "Add_i32", count, one, count, 5);
  g.add_entry("loop", Program::repeat_while(Program::execute(test), go, Program::execute(body), "loop"));

  const Tensor choice = on_tile(g, Type::u8, 1, "choice", 13);
  const Tensor x = on_tile(g, Type::i32, 1, "x", 7);
  const auto plus = g.add_compute_set("plus");
  binary(g, plus, "Add_i32", x, one, x, 7);
  const auto minus = g.add_compute_set("minus");
  binary(g, minus, "Sub_i32", x, one, x, 7);
  g.add_entry("branch", Program::if_(choice, Program::execute(plus), Program::execute(minus)));

  const Tensor table = g.add_variable(Type::u32, {5, 24}, "table");
  for (unsigned t = 0; t < 4; ++t) g.map(table.slice(6 * t, 6 * t + 6, 1), 3 * t);
  g.expose("table", table);
  const Tensor index = on_tile(g, Type::i32, 1, "index", 15);
  const Tensor row = g.add_variable(Type::u32, {1, 24}, "row");
  g.map_linear(row, 1, 5, 8);
  g.expose("row", row);
  g.add_entry("slice", Program::dynamic_slice(table, index, row));

  const Tensor h = g.add_variable(Type::f16, {37}, "h");
  const Tensor b = g.add_variable(Type::u8, {41}, "b");
  const Tensor h2 = g.add_variable(Type::f16, {5, 7}, "h2");
  const Tensor b2 = g.add_variable(Type::u8, {40}, "b2");
  g.map_linear(h, 1, 5);
  g.map_linear(b, 1, 7, 2);
  g.map_linear(h2, 1, 3, 4);
  g.map_linear(b2, 1, 9);
  for (const auto& [name, t] : {std::pair{"h", h}, {"b", b}, {"h2", h2}, {"b2", b2}}) g.expose(name, t);
  g.add_entry("copies", Program::sequence({Program::copy(h.slice(1, 36).reshape({7, 5}).transpose(), h2),
                                           Program::copy(b.slice(1, 41).reverse(0), b2)}));
  return g;
}

template <typename T>
std::vector<T> counting(std::size_t n, T first) {
  std::vector<T> v(n);
  std::iota(v.begin(), v.end(), first);
  return v;
}

void append(Bytes& to, const Bytes& bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }

/// All results in order, then the cycles of each run.
Bytes run(TileMode mode) {
  testing::GraphMachine m(program(), load_platform("pocket"), testing::tiles_of(mode));
  Bytes results;
  std::vector<std::uint64_t> cycles;
  const auto go = [&](const char* entry, const char* result) {
    m.engine().run(entry);
    append(results, m.engine().read_tensor(result));
    cycles.push_back(m.driver().counters(0).cycles);
  };
  m.write<std::int32_t>("limit", {4});
  m.write<std::int32_t>("count", {1});
  go("loop", "count");
  m.write<std::int32_t>("x", {100});
  for (const std::uint8_t way : {1, 0, 0}) {
    m.write<std::uint8_t>("choice", {way});
    go("branch", "x");
  }
  m.write("table", counting<std::uint32_t>(120, 1000));
  for (const std::int32_t at : {3, -7, 99}) {
    m.write<std::int32_t>("index", {at});
    go("slice", "row");
  }
  m.write("h", counting<std::uint16_t>(37, 500));
  m.write("b", counting<std::uint8_t>(41, 7));
  go("copies", "h2");
  append(results, m.engine().read_tensor("b2"));
  for (const std::uint64_t c : cycles) {
    for (unsigned k = 0; k < 8; ++k) results.push_back(static_cast<std::uint8_t>(c >> (8 * k)));
  }
  return results;
}

Bytes expected() {
  Bytes bytes;
  const auto word = [&](std::uint32_t v) {
    for (unsigned k = 0; k < 4; ++k) bytes.push_back(static_cast<std::uint8_t>(v >> (8 * k)));
  };
  for (const std::uint32_t v : {4, 101, 100, 99}) word(v);
  for (const std::uint32_t row : {3, 0, 4}) {
    for (std::uint32_t c = 0; c < 24; ++c) word(1000 + 24 * row + c);
  }
  for (unsigned i = 0; i < 5; ++i) {
    for (unsigned j = 0; j < 7; ++j) {
      const unsigned v = 500 + 1 + j * 5 + i;
      bytes.push_back(static_cast<std::uint8_t>(v));
      bytes.push_back(static_cast<std::uint8_t>(v >> 8));
    }
  }
  for (unsigned i = 0; i < 40; ++i) bytes.push_back(static_cast<std::uint8_t>(7 + 40 - i));
  return bytes;
}

TEST(ModesSystem, TlmRtlAndLockstepGiveTheSameResultsAndCycles) {
  const Bytes tlm = testing::run_in_process([] { return run(TileMode::tlm); });
  const Bytes expect = expected();
  ASSERT_EQ(tlm.size(), expect.size() + 8 * 8);  // the cycles of eight runs
  EXPECT_EQ(Bytes(tlm.begin(), tlm.begin() + static_cast<std::ptrdiff_t>(expect.size())), expect);
  EXPECT_EQ(testing::run_in_process([] { return run(TileMode::rtl); }), tlm);
  EXPECT_EQ(testing::run_in_process([] { return run(TileMode::lockstep); }), tlm);
}

}  // namespace
}  // namespace tessera
