// A compute set with AMP and plain vertices on TLM, RTL and lockstep tiles: exact results, the same cycles. SystemC
// elaborates once a process, so each machine runs in a process of its own.
#include <gtest/gtest.h>

#include <cstring>

#include "hw/error.h"
#include "verif/codelets/amp_rows.h"
#include "verif/compiler/graph_machine.h"
#include "verif/compiler/machine_modes.h"

namespace tessera {
namespace {

using graph::Graph;
using graph::Program;
using graph::Tensor;
using graph::Type;
using testing::AmpRows;

constexpr unsigned kSets = 18, kRows = 7;
constexpr unsigned kTiles[] = {1, 4, 9, 15};  // 15: activations stand elsewhere

/// c += x W on four tiles that hold the same weights; tile 4 and 7 also add, and a second compute set without an
/// exchange between reads what the first has written.
Graph program() {
  Graph g(16);
  const AmpRows rows(kSets, kRows);
  const auto bytes = [](const auto& v) {
    std::vector<std::uint8_t> b(v.size() * sizeof(v[0]));
    std::memcpy(b.data(), v.data(), b.size());
    return b;
  };
  const Tensor w = g.add_repeated_constant(Type::f16, {kSets, 8, 16}, bytes(rows.weights), 4, "weights");
  const Tensor o = g.add_repeated_constant(Type::u32, {kSets}, bytes(rows.offsets), 4, "offsets");
  const Tensor x = g.add_variable(Type::f16, {4, kRows + 2, 16}, "x");
  const Tensor c = g.add_variable(Type::f32, {4, kRows, 8}, "c");
  const Tensor sum = g.add_variable(Type::f32, {2, kRows * 8}, "sum");
  const Tensor last = g.add_variable(Type::f32, {4, kRows * 8}, "last");
  const auto cs = g.add_compute_set("product");
  const auto behind = g.add_compute_set("behind");
  const auto add = [&](graph::ComputeSetId set, unsigned tile, const Tensor& a, const Tensor& y) {
    const auto v = g.add_vertex(set, "Add_f32", tile);
    g.connect(v, "a", a);
    g.connect(v, "b", a);
    g.connect(v, "y", y);
  };
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned tile = kTiles[i];
    g.map(w[i], tile);
    g.map(o[i], tile);
    g.map(x[i], i == 3 ? 2 : tile);
    g.map(c[i], tile);
    g.map(last[i], tile);
    const auto v = g.add_vertex(cs, "TestAmpRows", tile, "rows");
    g.connect(v, "weights", w[i].flatten());
    g.connect(v, "offsets", o[i]);
    g.connect(v, "x", x[i].flatten());
    g.connect(v, "c", c[i].flatten());
    g.set_value(v, "n", kRows);
    add(behind, tile, c[i].flatten(), last[i]);
  }
  const Tensor k = g.add_variable(Type::f32, {kRows * 8}, "k");
  g.map(k, 7);
  g.map(sum[0], 4);
  g.map(sum[1], 7);
  add(cs, 4, k, sum[0]);
  add(cs, 7, k, sum[1]);
  for (const auto& [name, t] : {std::pair{"x", x}, {"c", c}, {"k", k}, {"sum", sum}, {"last", last}}) g.expose(name, t);
  g.add_entry("main", Program::sequence({Program::execute(cs), Program::execute(behind)}));
  return g;
}

std::vector<std::uint8_t> run(TileMode mode) {
  testing::GraphMachine m(program(), load_platform("pocket"), testing::tiles_of(mode), testing::amp_test_library());
  const AmpRows rows(kSets, kRows);
  std::vector<std::uint16_t> x;
  std::vector<float> c;
  for (unsigned i = 0; i < 4; ++i) {
    x.insert(x.end(), rows.x.begin(), rows.x.end());
    c.insert(c.end(), rows.c.begin(), rows.c.end());
  }
  m.write("x", x);
  m.write("c", c);
  m.write("k", std::vector<float>(kRows * 8, 1.5F));
  m.engine().run("main");
  return testing::tensors_and_cycles(m, {"c", "sum", "last"});
}

TEST(AmpModes, TlmRtlAndLockstepGiveTheSameResultsAndCycles) {
  const auto tlm = testing::run_in_process([] { return run(TileMode::tlm); });
  std::vector<float> expect;
  const std::vector<float> c = AmpRows(kSets, kRows).expected();
  for (unsigned i = 0; i < 4; ++i) expect.insert(expect.end(), c.begin(), c.end());
  expect.insert(expect.end(), std::size_t{2} * kRows * 8, 3.0F);
  for (unsigned i = 0; i < 4; ++i) {
    for (const float v : c) expect.push_back(2 * v);
  }
  ASSERT_EQ(tlm.size(), 4 * expect.size() + 8);
  std::vector<float> got(expect.size());
  std::memcpy(got.data(), tlm.data(), 4 * got.size());
  EXPECT_EQ(got, expect);
  EXPECT_EQ(testing::run_in_process([] { return run(TileMode::rtl); }), tlm);
  EXPECT_EQ(testing::run_in_process([] { return run(TileMode::lockstep); }), tlm);
}

TEST(AmpModes, OffsetsGoWithSets) {
  Graph g(2);
  const Tensor w = g.add_variable(Type::u32, {128}, "w");
  const Tensor o = g.add_variable(Type::u32, {3}, "o");
  const auto cs = g.add_compute_set("set");
  const auto v = g.add_vertex(cs, "TestAmpNothing", 1, "three");
  for (const auto& [name, t] : {std::pair{"weights", w}, {"offsets", o}}) {
    g.map(t, 1);
    g.connect(v, name, t);
  }
  g.set_value(v, "unused", 0U);
  g.add_entry("main", Program::execute(cs));
  try {
    (void)compiler::compile(g, load_platform("pocket"), testing::amp_test_library());
    FAIL() << "compiled";
  } catch (const Error& e) {
    EXPECT_EQ(e.category(), Category::usage);
    const std::string text = e.what();
    for (const char* part : {"three", "512 bytes", "3 words", "768"}) {
      EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in: " << text;
    }
  }
}

/// Runs TestAmpFault on tile 3 with a weight address or an offset that faults; the exception as text.
std::string fault(bool in_worker) {
  Graph g(16);
  const Tensor w = g.add_constant(Type::u32, {2 * 64}, std::vector<std::uint32_t>(128), "weights");
  const Tensor o = g.add_constant(Type::u32, {2}, std::vector<std::uint32_t>{0, in_worker ? 0x20U : 0U}, "offsets");
  const Tensor x = g.add_variable(Type::u32, {1}, "x");
  const Tensor y = g.add_variable(Type::u32, {1}, "y");
  const auto cs = g.add_compute_set("faulty");
  const auto v = g.add_vertex(cs, "TestAmpFault", 3, "culprit");
  for (const auto& [name, t] : {std::pair{"weights", w}, {"offsets", o}, {"x", x}, {"y", y}}) {
    g.map(t, 3);
    g.connect(v, name, t);
  }
  g.expose("x", x);
  g.expose("y", y);
  g.add_entry("main", Program::execute(cs));
  testing::GraphMachine m(g, load_platform("pocket"), {}, testing::amp_test_library());
  if (!in_worker) {
    // The record's weight address is made to end behind the SRAM: the second set faults in x.amp.ldw.
    const auto& program = m.executable().programs.at(0);
    const std::uint32_t end = kSramBase + m.executable().sram_bytes - 256;
    m.driver().write_tile(0, 3, program.vertices.at(0).record + 8, &end, 1);
  }
  try {
    m.engine().run("main");
  } catch (const Error& e) {
    return e.what();
  }
  return "no fault";
}

TEST(AmpModes, AFaultOfAWorkerNamesItsVertex) {
  const auto bytes = testing::run_in_process([] {
    const std::string s = fault(true);
    return std::vector<std::uint8_t>(s.begin(), s.end());
  });
  const std::string text(bytes.begin(), bytes.end());
  for (const char* part : {"store outside SRAM", "tile 3", "culprit (TestAmpFault) in compute set faulty"}) {
    EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in: " << text;
  }
}

TEST(AmpModes, AFaultOfTheWeightLoadNamesTheVertex) {
  const auto bytes = testing::run_in_process([] {
    const std::string s = fault(false);
    return std::vector<std::uint8_t>(s.begin(), s.end());
  });
  const std::string text(bytes.begin(), bytes.end());
  for (const char* part : {"load outside SRAM", "tile 3", "culprit (TestAmpFault) in compute set faulty"}) {
    EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in: " << text;
  }
}

}  // namespace
}  // namespace tessera
