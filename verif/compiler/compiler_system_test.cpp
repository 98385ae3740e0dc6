// Hand-made graphs run end to end and compared with plain arithmetic on the host.
#include <gtest/gtest.h>

#include <algorithm>

#include "hw/error.h"
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

/// y = a op b on one tile.
void add_scalar(Graph& g, graph::ComputeSetId cs, const std::string& codelet, const Tensor& a, const Tensor& b,
                const Tensor& y, unsigned tile) {
  const auto v = g.add_vertex(cs, codelet, tile);
  g.connect(v, "a", a);
  g.connect(v, "b", b);
  g.connect(v, "y", y);
}

Tensor constant(Graph& g, std::int32_t value, const std::string& name, unsigned tile) {
  const Tensor t = g.add_constant(Type::i32, {1}, std::vector<std::int32_t>{value}, name);
  g.map(t, tile);
  return t;
}

TEST(CompilerSystem, RepeatWhileLoopsAsLongAsOneTileSays) {
  Graph g(16);
  const Tensor count = scalar(g, Type::i32, "count", 3);
  const Tensor go = scalar(g, Type::boolean, "go", 3);
  const Tensor one = constant(g, 1, "one", 3);
  const Tensor limit = scalar(g, Type::i32, "limit", 5);
  const Tensor data = g.add_variable(Type::i32, {64}, "data");
  const Tensor step = g.add_constant(Type::i32, {64}, counting<std::int32_t>(64), "step");
  g.map_linear(data);
  g.map_linear(step);
  const auto test = g.add_compute_set("test");
  add_scalar(g, test, "Less_i32", count, limit, go, 3);
  const auto body = g.add_compute_set("body");
  add_scalar(g, body, "Add_i32", count, one, count, 3);
  add_elementwise(g, body, "Add_i32", data, step, data);
  for (const auto& [name, tensor] : {std::pair{"count", count}, {"limit", limit}, {"data", data}}) {
    g.expose(name, tensor);
  }
  g.add_entry("main", Program::repeat_while(Program::execute(test), go, Program::execute(body), "loop"));
  GraphMachine m(g);
  for (const std::int32_t rounds : {0, 1, 7}) {
    m.write<std::int32_t>("limit", {rounds});
    m.write<std::int32_t>("count", {0});
    m.write("data", std::vector<std::int32_t>(64, 100));
    m.engine().run("main");
    EXPECT_EQ(m.read<std::int32_t>("count"), std::vector<std::int32_t>{rounds});
    const auto got = m.read<std::int32_t>("data");
    ASSERT_EQ(got.size(), 64U);
    for (int i = 0; i < 64; ++i) ASSERT_EQ(got[i], 100 + rounds * (i + 1)) << i;
  }
}

TEST(CompilerSystem, ElementwiseResultsTakeThePlaceOfWhatDies) {
  constexpr std::uint64_t kCount = 5003;
  Graph g(16);
  const auto make = [&](const std::string& name) {
    const Tensor t = g.add_variable(Type::f32, {kCount}, name);
    g.map_linear(t);
    return t;
  };
  const Tensor in = make("in"), x = make("x"), y = make("y"), z = make("z"), sum = make("sum"), out = make("out");
  std::vector<Program> steps;
  const auto unary = [&](const std::string& name, const Tensor& from, const Tensor& to) {
    const auto cs = g.add_compute_set(name);
    for (const graph::TileInterval& i : g.mapping(to)) {
      const auto v = g.add_vertex(cs, "MapNeg_f32", i.tile);
      g.connect(v, "x", from.slice(i.begin, i.end));
      g.connect(v, "y", to.slice(i.begin, i.end));
    }
    steps.push_back(Program::execute(cs));
  };
  const auto binary = [&](const std::string& name, const Tensor& a, const Tensor& b, const Tensor& to) {
    const auto cs = g.add_compute_set(name);
    for (const graph::TileInterval& i : g.mapping(to)) {
      const auto v = g.add_vertex(cs, "MapAdd_f32", i.tile);
      g.connect(v, "a", a.slice(i.begin, i.end));
      g.connect(v, "b", b.slice(i.begin, i.end));
      g.connect(v, "y", to.slice(i.begin, i.end));
      const auto n = static_cast<std::uint32_t>(i.end - i.begin);
      g.set_value(v, "rows", 1U);
      g.set_value(v, "columns", n);
      for (const char* field : {"a_row", "b_row"}) g.set_value(v, field, n);
      for (const char* field : {"a_step", "b_step"}) g.set_value(v, field, 1U);
    }
    steps.push_back(Program::execute(cs));
  };
  // in -> x -> y in place of x -> sum in place of y, although z still holds x's negative; out in place of one of both.
  steps.push_back(Program::copy(in, x));
  unary("negate x", x, y);
  unary("negate y", y, z);
  binary("sum", y, y, sum);
  binary("out", sum, z, out);
  g.expose("in", in);
  g.expose("out", out);
  g.add_entry("main", Program::sequence(std::move(steps)));
  GraphMachine m(g);
  const auto a = counting<float>(kCount, -100.0F);
  m.write("in", a);
  m.engine().run("main");
  std::vector<float> expect;
  for (const float v : a) expect.push_back(-2 * v + v);
  EXPECT_EQ(m.read<float>("out"), expect);

  compiler::Options options;
  const auto peak = [&] {
    return compiler::compile(g, load_platform("pocket"), CodeletLibrary::builtin(), options)
        .report.json["memory"]["largest_tile"]["peak"]
        .get<std::uint64_t>();
  };
  const std::uint64_t bytes = (kCount / 16 + 1) * 4;  // of a variable on a tile, at least
  const std::uint64_t with = peak();
  options.in_place = false;
  const std::uint64_t without = peak();
  options.reuse = false;
  const std::uint64_t alone = peak();
  EXPECT_EQ(with, m.compiled().report.json["memory"]["largest_tile"]["peak"].get<std::uint64_t>());
  EXPECT_GE(with, 3 * bytes);  // in is kept, two more are live together, one of them becomes out
  EXPECT_LT(with, 3 * bytes + 64);
  EXPECT_GE(without, with + bytes - 8);
  EXPECT_GE(alone, without + bytes - 8);
  EXPECT_EQ(alone / bytes, 6U);
}

TEST(CompilerSystem, IfGoesBothWays) {
  Graph g(16);
  const Tensor p = scalar(g, Type::boolean, "p", 7);
  const Tensor x = g.add_variable(Type::i32, {40}, "x");
  const Tensor k = g.add_constant(Type::i32, {40}, counting<std::int32_t>(40, 1000), "k");
  g.map_linear(x, 3);
  g.map_linear(k, 1, 9, 4);
  const auto plus = g.add_compute_set("plus");
  add_elementwise(g, plus, "Add_i32", x, k, x);
  const auto minus = g.add_compute_set("minus");
  add_elementwise(g, minus, "Sub_i32", x, k, x);
  g.expose("p", p);
  g.expose("x", x);
  g.add_entry("main", Program::if_(p, Program::execute(plus), Program::execute(minus), "choice"));
  GraphMachine m(g);
  for (const bool way : {true, false, true}) {
    m.write<std::uint8_t>("p", {static_cast<std::uint8_t>(way)});
    m.write("x", counting<std::int32_t>(40));
    m.engine().run("main");
    const auto got = m.read<std::int32_t>("x");
    ASSERT_EQ(got.size(), 40U);
    for (int i = 0; i < 40; ++i) ASSERT_EQ(got[i], i + 1 + (way ? 1 : -1) * (1000 + i)) << i;
  }
}

TEST(CompilerSystem, NestedRepeatsAndCallsCount) {
  Graph g(16);
  const Tensor x = scalar(g, Type::i32, "x", 2);
  const Tensor one = constant(g, 1, "one", 9);  // another tile: an exchange in every round
  const auto cs = g.add_compute_set("count");
  add_scalar(g, cs, "Add_i32", x, one, x, 2);
  const auto inner = g.add_function(Program::repeat(3, Program::execute(cs)), "inner");
  const auto outer =
      g.add_function(Program::repeat(2, Program::sequence({Program::call(inner), Program::execute(cs)})), "outer");
  Program deep = Program::execute(cs);
  for (int i = 0; i < 11; ++i) deep = Program::repeat(i == 5 ? 2 : 1, deep);
  g.expose("x", x);
  g.add_entry("main", Program::sequence({Program::call(inner), Program::repeat(4, Program::call(outer)),
                                         Program::repeat(0, Program::execute(cs)), deep}));
  g.add_entry("once", Program::execute(cs));
  GraphMachine m(g);
  m.write<std::int32_t>("x", {0});
  m.engine().run("main");
  EXPECT_EQ(m.read<std::int32_t>("x")[0], 3 + 4 * 2 * 4 + 2);
  m.engine().run("once");
  EXPECT_EQ(m.read<std::int32_t>("x")[0], 3 + 4 * 2 * 4 + 2 + 1);
}

TEST(CompilerSystem, ComputeSetsOneAfterTheOtherSeeEachOther) {
  // Six workers write, then each value is read by another worker, without an exchange between.
  Graph g(1);
  const std::size_t n = 48;
  const Tensor x = g.add_variable(Type::i32, {n}, "x");
  const Tensor y = g.add_variable(Type::i32, {n}, "y");
  const Tensor one = g.add_constant(Type::i32, {n}, std::vector<std::int32_t>(n, 1), "one");
  for (const Tensor& t : {x, y, one}) g.map(t, 0);
  const auto a = g.add_compute_set("a");
  const auto b = g.add_compute_set("b");
  for (std::size_t i = 0; i < n; i += 2) {  // pairs keep the 4-byte elements 8-byte aligned, though none needs it
    add_scalar(g, a, "Add_i32", x.slice(i, i + 2), one.slice(i, i + 2), y.slice(i, i + 2), 0);
    const std::size_t k = (i + 14) % n;
    add_scalar(g, b, "Add_i32", y.slice(k, k + 2), one.slice(i, i + 2), x.slice(i, i + 2), 0);
  }
  g.expose("x", x);
  g.add_entry("main", Program::repeat(3, Program::sequence({Program::execute(a), Program::execute(b)})));
  GraphMachine m(g);
  std::vector<std::int32_t> expect = counting<std::int32_t>(n);
  m.write("x", expect);
  m.engine().run("main");
  for (int round = 0; round < 3; ++round) {
    std::vector<std::int32_t> next(n);
    for (std::size_t i = 0; i < n; ++i) next[i] = expect[(i + 14) % n] + 2;
    expect = next;
  }
  EXPECT_EQ(m.read<std::int32_t>("x"), expect);
}

TEST(CompilerSystem, FamiliesRunAsArraysAndMovingRecords) {
  Graph g(16);
  const std::uint64_t n = 16 * 100;
  const Tensor a = g.add_variable(Type::f32, {n, 2}, "a");
  const Tensor y = g.add_variable(Type::f32, {n, 2}, "y");
  g.map_linear(a, 200);
  g.map_linear(y, 200);
  const auto cs = g.add_compute_set("family");
  std::vector<graph::TileMembers> tiles;
  for (unsigned t = 0; t < 16; ++t) tiles.push_back({t, 100});
  const auto f = g.add_family(cs, "Add_f32", tiles, "sums");
  g.connect(f, "a", a);
  g.connect(f, "b", a.reverse(1));  // not contiguous: staged
  g.connect(f, "y", y);
  g.expose("a", a);
  g.expose("y", y);
  g.add_entry("main", Program::execute(cs));
  GraphMachine m(g);
  const auto values = counting<float>(2 * n);
  m.write("a", values);
  m.engine().run("main");
  const auto got = m.read<float>("y");
  ASSERT_EQ(got.size(), 2 * n);
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], values[i] + values[i ^ 1]) << i;
  bool moving = false;
  for (const auto& v : m.executable().programs[0].vertices) moving = moving || (v.count > 1 && v.stride == 0);
  EXPECT_TRUE(moving);
  expect_predicted_phases(m);
}

TEST(CompilerSystem, MultiVertexFillsWithAllWorkers) {
  Graph g(2);
  const Tensor y = g.add_variable(Type::u32, {101}, "y");
  g.map(y, 1);
  const auto cs = g.add_compute_set("fill");
  const auto v = g.add_vertex(cs, "FillAll_u32", 1);
  g.connect(v, "y", y);
  g.set_value(v, "value", 0xABCDU);
  g.expose("y", y);
  g.add_entry("main", Program::execute(cs));
  GraphMachine m(g);
  m.engine().run("main");
  EXPECT_EQ(m.read<std::uint32_t>("y"), std::vector<std::uint32_t>(101, 0xABCD));
}

TEST(CompilerSystem, StreamsFeedALoop) {
  Graph g(16);
  const std::uint64_t n = 50;
  const auto in = g.add_input_stream("in", Type::f32, n);
  const auto flags = g.add_input_stream("flags", Type::u8, 21);
  const auto out = g.add_output_stream("out", Type::f32, n);
  const auto back = g.add_output_stream("back", Type::u8, 21);
  const Tensor x = g.add_variable(Type::f32, {5, 10}, "x");
  const Tensor y = g.add_variable(Type::f32, {5, 10}, "y");
  const Tensor k = g.add_constant(Type::f32, {5, 10}, counting<float>(n), "k");
  const Tensor f = g.add_variable(Type::u8, {21}, "f");
  g.map_linear(x, 1, 4);
  g.map_linear(y, 1, 9);
  g.map_linear(k, 1, 9);
  g.map_linear(f, 1, 5);
  const auto cs = g.add_compute_set("add");
  add_elementwise(g, cs, "Add_f32", x, k, y);
  g.add_entry("main",
              Program::repeat(4, Program::sequence({Program::stream_in(in, x.transpose()), Program::stream_in(flags, f),
                                                    Program::execute(cs), Program::stream_out(y, out),
                                                    Program::stream_out(f.reverse(0), back)})));
  GraphMachine m(g);
  std::vector<std::vector<float>> results;
  std::vector<std::vector<std::uint8_t>> echoed;
  m.engine().connect("in", engine::Source([&](std::uint64_t step, std::uint8_t* bytes) {
                       const auto values = counting<float>(n, static_cast<float>(100 * step));
                       std::memcpy(bytes, values.data(), 4 * n);
                     }));
  m.engine().connect("flags", engine::Source([&](std::uint64_t step, std::uint8_t* bytes) {
                       for (int i = 0; i < 21; ++i) bytes[i] = static_cast<std::uint8_t>(10 * step + i);
                     }));
  m.engine().connect("out", engine::Sink([&](std::uint64_t, const std::uint8_t* bytes) {
                       std::vector<float> values(n);
                       std::memcpy(values.data(), bytes, 4 * n);
                       results.push_back(values);
                     }));
  m.engine().connect(
      "back", engine::Sink([&](std::uint64_t, const std::uint8_t* bytes) { echoed.emplace_back(bytes, bytes + 21); }));
  m.engine().run("main");
  ASSERT_EQ(results.size(), 4U);
  ASSERT_EQ(echoed.size(), 4U);
  for (std::size_t step = 0; step < 4; ++step) {
    for (std::size_t i = 0; i < 5; ++i) {
      for (std::size_t j = 0; j < 10; ++j) {
        // The stream's row-major order is that of x transposed.
        const float sent = static_cast<float>(100 * step + j * 5 + i);
        ASSERT_EQ(results[step][i * 10 + j], sent + static_cast<float>(1 + i * 10 + j));
      }
    }
    for (std::size_t i = 0; i < 21; ++i) ASSERT_EQ(echoed[step][i], 10 * step + 20 - i);
  }
}

TEST(CompilerSystem, ATrapInACodeletNamesVertexComputeSetAndSource) {
  Graph g(4);
  const Tensor x = g.add_variable(Type::u32, {8}, "x");
  const Tensor y = g.add_variable(Type::u32, {8}, "y");
  g.map(x, 2);
  g.map(y, 2);
  const auto cs = g.add_compute_set("layer7");
  const auto v = g.add_vertex(cs, "CopyStrided_u32", 2, "wanderer");
  g.connect(v, "x", x);
  g.connect(v, "y", y);
  for (const char* n : {"n0", "n1", "n2", "n3"}) g.set_value(v, n, std::string(n) == "n3" ? 4U : 1U);
  for (const char* s : {"xs0", "xs1", "xs2", "ys0", "ys1", "ys2", "ys3"}) g.set_value(v, s, 0U);
  g.set_value(v, "xs3", 0x100000U);  // far outside the SRAM
  g.add_entry("main", Program::execute(cs));
  GraphMachine m(g);
  try {
    m.engine().run("main");
    FAIL() << "no exception";
  } catch (const Error& e) {
    EXPECT_EQ(e.category(), Category::device_exception);
    const std::string text = e.what();
    for (const char* part : {"tile 2", "worker", "CopyStrided_u32", "wanderer", "layer7", "copy.c:"}) {
      EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
    }
  }
}

TEST(CompilerSystem, AFirstStepThatComesAheadSavesTheServiceOfTheHost) {
  constexpr std::size_t n = 40;
  Graph g(16);
  const auto in = g.add_input_stream("in", Type::i32, n);
  const Tensor x = g.add_variable(Type::i32, {n}, "x");
  const Tensor sum = g.add_variable(Type::i32, {n}, "sum");
  g.map_linear(x, 1, 4);
  g.map_like(sum, x);
  const auto cs = g.add_compute_set("add");
  add_elementwise(g, cs, "Add_i32", sum, x, sum);
  g.expose("sum", sum);
  g.add_entry("main", Program::repeat(3, Program::sequence({Program::stream_in(in, x), Program::execute(cs)})));
  GraphMachine m(g);
  std::vector<std::uint64_t> steps;
  const engine::Source source = [&](std::uint64_t step, std::uint8_t* bytes) {
    steps.push_back(step);
    const auto values = counting<std::int32_t>(n, static_cast<std::int32_t>(1000 * step));
    std::memcpy(bytes, values.data(), 4 * n);
  };
  std::vector<Cycle> cycles;
  for (const bool ahead : {true, true, false}) {  // the first start after a claim sets more registers
    m.engine().load();
    m.write<std::int32_t>("sum", std::vector<std::int32_t>(n, 0));
    m.engine().connect("in", source, ahead);
    for (int run = 0; run < 2; ++run) {
      const auto result = m.engine().run("main");
      if (run == 0) cycles.push_back(result.counters.cycles);
    }
    const auto got = m.read<std::int32_t>("sum");
    ASSERT_EQ(got.size(), n);
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(got[i], 15000 + 6 * static_cast<std::int32_t>(i)) << i;
  }
  EXPECT_EQ(steps, (std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5}));
  const engine::Options options;
  const Cycle saved = load_platform("pocket").cycles_of_ns(options.service_ns - options.prefetched_ns);
  EXPECT_NEAR(static_cast<double>(cycles[2]) - static_cast<double>(cycles[1]), static_cast<double>(saved), 4.0);
}

TEST(CompilerSystem, OutermostStreamsOfAnEntryNeedNoHostInBetween) {
  constexpr std::size_t n = 200;
  Graph g(16);
  const auto in = g.add_input_stream("in", Type::i32, n);
  const auto out = g.add_output_stream("out", Type::i32, n);
  const Tensor x = g.add_variable(Type::i32, {n}, "x");
  const Tensor y = g.add_variable(Type::i32, {n}, "y");
  g.map_linear(x, 1, 60);  // 240 bytes a tile: each begins where packets are cut
  g.map_linear(y, 1, 9);
  const auto cs = g.add_compute_set("double");
  add_elementwise(g, cs, "Add_i32", x, x, y);
  const Program body =
      Program::sequence({Program::stream_in(in, x), Program::execute(cs), Program::stream_out(y, out)});
  g.add_entry("main", body);
  GraphMachine m(g);
  const auto& entry = m.executable().programs.at(0).entries.at(0);
  EXPECT_EQ(entry.reads, std::vector<std::uint32_t>{0});
  EXPECT_EQ(entry.writes, std::vector<std::uint32_t>{1});
  const auto& words = m.executable().streams.at(0).words;
  ASSERT_EQ(words.size(), 4U);
  for (std::size_t i = 0; i < words.size(); ++i) EXPECT_EQ(words[i].offset, 256 * i);
  std::vector<std::vector<std::int32_t>> results;
  m.engine().connect("in", engine::Source([&](std::uint64_t step, std::uint8_t* bytes) {
                       const auto values = counting<std::int32_t>(n, static_cast<std::int32_t>(1000 * step));
                       std::memcpy(bytes, values.data(), 4 * n);
                     }));
  m.engine().connect("out", engine::Sink([&](std::uint64_t step, const std::uint8_t* bytes) {
                       EXPECT_EQ(step, results.size());
                       results.emplace_back(n);
                       std::memcpy(results.back().data(), bytes, 4 * n);
                     }));
  for (int run = 0; run < 3; ++run) m.engine().run("main");
  ASSERT_EQ(results.size(), 3U);
  for (int run = 0; run < 3; ++run) {
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_EQ(results[run][i], 2 * (1000 * run + static_cast<std::int32_t>(i))) << run << " " << i;
    }
  }
  EXPECT_EQ(m.driver().counters(0).host_syncs, 2U);  // between the runs, none within
}

}  // namespace
}  // namespace tessera
