// Switch, Print and Abort on the machine: every case and what lies outside them, tensors shown in the order of the
// program with their contents at that point, and a run that ends with the program's own message. TLM tiles, and the
// same with RTL and lockstep tiles among them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hw/error.h"
#include "verif/compiler/graph_machine.h"
#include "verif/cosim/lockstep_tile.h"
#include "verif/cosim/rtl_tile.h"

namespace tessera {
namespace {

using graph::Graph;
using graph::Program;
using graph::Tensor;
using graph::Type;
using testing::GraphMachine;

/// Tile 2 is RTL, tile 5 lockstep.
std::unique_ptr<TileModel> mixed_tile(const TileConfig& config, TileMode) {
  if (config.tile == 2) return make_rtl_tile(config);
  if (config.tile == 5)
    return std::make_unique<LockstepTile>(config, std::make_unique<TlmTile>(config), make_rtl_tile(config));
  return std::make_unique<TlmTile>(config);
}

Tensor scalar(Graph& g, Type type, const std::string& name, unsigned tile) {
  const Tensor t = g.add_variable(type, {1}, name);
  g.map(t, tile);
  g.expose(name, t);
  return t;
}

/// x = x + value on tile 5.
Program plus(Graph& g, const Tensor& x, std::int32_t value) {
  const Tensor amount = g.add_constant(Type::i32, {1}, std::vector<std::int32_t>{value}, std::to_string(value));
  g.map(amount, 5);
  const auto set = g.add_compute_set("plus " + std::to_string(value));
  const auto v = g.add_vertex(set, "Add_i32", 5);
  g.connect(v, "a", x);
  g.connect(v, "b", amount);
  g.connect(v, "y", x);
  return Program::execute(set);
}

/// Three cases (one of them a nested switch) and a fallback; the selector stands on the RTL tile.
Graph switch_graph(bool fallback) {
  Graph g(16);
  const Tensor x = scalar(g, Type::i32, "x", 5);
  const Tensor s = scalar(g, Type::i32, "s", 2);
  const Program nested = Program::switch_(s, {plus(g, x, 1000), plus(g, x, 2000)}, plus(g, x, 3000));
  std::vector<Program> cases = {plus(g, x, 1), Program::sequence({plus(g, x, 10), nested}), plus(g, x, 100)};
  g.add_entry("main",
              Program::sequence({Program::repeat(2, Program::switch_(s, cases, fallback ? plus(g, x, 7) : Program())),
                                 plus(g, x, 500000)}));
  return g;
}

void check_switch(GraphMachine& m, std::int32_t fallback) {
  const std::vector<std::pair<std::int32_t, std::int32_t>> expected = {
      {0, 1}, {1, 2010}, {2, 100}, {3, fallback}, {-1, fallback}, {1 << 30, fallback}};
  for (const auto& [selector, step] : expected) {
    m.write<std::int32_t>("s", {selector});
    m.write<std::int32_t>("x", {0});
    m.engine().run("main");
    EXPECT_EQ(m.read<std::int32_t>("x").at(0), 2 * step + 500000) << "selector " << selector;
  }
}

TEST(Programs, SwitchTakesEachCaseOrTheFallback) {
  const Graph g = switch_graph(true);
  GraphMachine m(g);
  check_switch(m, 7);
}

TEST(Programs, SwitchWithoutFallbackDoesNothingOutside) {
  const Graph g = switch_graph(false);
  GraphMachine m(g);
  check_switch(m, 0);
}

TEST(Programs, SwitchOnMixedTiles) {
  const Graph g = switch_graph(true);
  GraphMachine m(g, load_platform("pocket"), mixed_tile);
  check_switch(m, 7);
}

/// Counts x up, shows it each round, and aborts when it reaches the limit.
Graph print_graph() {
  Graph g(16);
  const Tensor x = scalar(g, Type::i32, "x", 5);
  const Tensor limit = scalar(g, Type::i32, "limit", 5);
  const Tensor stop = scalar(g, Type::boolean, "stop", 5);
  const Tensor halves =
      g.add_constant(Type::f16, {2, 2}, std::vector<std::uint16_t>{0x3C00, 0xC000, 0x3555, 0x7C00}, "h");
  g.map_linear(halves, 1, 1);
  const auto test = g.add_compute_set("test");
  const auto v = g.add_vertex(test, "Equal_i32", 5);
  g.connect(v, "a", x);
  g.connect(v, "b", limit);
  g.connect(v, "y", stop);
  const Program round =
      Program::sequence({plus(g, x, 3), Program::print(x, "x now"), Program::execute(test),
                         Program::if_(stop, Program::sequence({Program::abort("x has reached its limit")}, "guard"))});
  g.add_entry("main", Program::sequence({Program::print(halves.transpose(), ""), Program::repeat(3, round, "rounds")}));
  return g;
}

void check_print_and_abort(const TileFactory& factory) {
  const Graph g = print_graph();
  GraphMachine m(g, load_platform("pocket"), factory);
  std::vector<std::string> shown;
  engine::Options options;
  options.print = [&](const engine::Printed& p) { shown.push_back(p.path + " | " + engine::to_text(p)); };
  engine::Engine engine(m.executable(), m.driver(), options);
  engine.load();
  engine.write_tensor("x", std::vector<std::uint8_t>{10, 0, 0, 0});
  engine.write_tensor("limit", std::vector<std::uint8_t>{99, 0, 0, 0});
  engine.run("main");
  EXPECT_THAT(shown,
              ::testing::ElementsAre("main | h [2, 2] f16: 1 0.33325195 -2 inf", "main/rounds | x now [1] i32: 13",
                                     "main/rounds | x now [1] i32: 16", "main/rounds | x now [1] i32: 19"));
  shown.clear();
  engine.write_tensor("limit", std::vector<std::uint8_t>{25, 0, 0, 0});
  try {
    engine.run("main");
    FAIL() << "the program did not abort";
  } catch (const Error& e) {
    EXPECT_EQ(e.category(), Category::wrong_result);
    EXPECT_EQ(e.message(), "the program aborts: x has reached its limit");
    EXPECT_EQ(e.where(), "main/rounds/guard");
  }
  EXPECT_EQ(shown.size(), 3U) << "the constant, 22 and 25";
  EXPECT_THROW(engine.run("main"), Error) << "only loading helps";
  engine.load();
  engine.write_tensor("limit", std::vector<std::uint8_t>{25, 0, 0, 0});
  engine.run("main");
}

TEST(Programs, PrintShowsAndAbortEnds) { check_print_and_abort({}); }
TEST(Programs, PrintShowsAndAbortEndsOnMixedTiles) { check_print_and_abort(mixed_tile); }

}  // namespace
}  // namespace tessera
