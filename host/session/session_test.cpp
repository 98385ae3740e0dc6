// What goes wrong in a user's program, and what the message names: types of tensors, endless vertices, traps.
#include "host/session/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using graph::Program;
using graph::Tensor;
using graph::Type;
using testing::HasSubstr;
using testing::Not;

SessionOptions with_vertices() {
  SessionOptions options;
  options.codelets = {SESSION_TESTS "session_test_vertices.c"};
  return options;
}

/// Message and category of the error that `body` ends with.
std::pair<std::string, Category> error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return {error.what(), error.category()};
  }
  return {"no error", Category::internal};
}

TEST(SessionTypes, AnotherTypeThanTheTensorsIsRefused) {
  graph::Graph g(16);
  const std::vector<std::pair<std::string, Type>> tensors = {
      {"single", Type::f32}, {"half", Type::f16}, {"signed", Type::i32}, {"flags", Type::boolean}};
  for (const auto& [name, type] : tensors) {
    const Tensor t = g.add_variable(type, {2, 4}, name);
    g.map(t, 0);
    g.expose(name, t);
  }
  g.add_entry("main", Program::sequence({}));
  Session session(g);
  session.write("single", std::vector<float>(8, 1.5F));
  EXPECT_EQ(session.read<float>("single"), std::vector<float>(8, 1.5F));
  session.write("half", std::vector<std::uint16_t>(8, 0x3C00));
  session.write("flags", std::vector<std::uint8_t>(8, 1));
  const auto refused = [&](const std::function<void()>& body, const std::string& says) {
    const auto [message, category] = error_of(body);
    EXPECT_EQ(category, Category::usage);
    EXPECT_THAT(message, HasSubstr(says));
  };
  refused([&] { (void)session.read<std::int32_t>("single"); }, "'single' is f32 [2, 4], but it was asked for as i32");
  refused([&] { (void)session.read<std::uint32_t>("signed"); }, "'signed' is i32 [2, 4], but it was asked for as u32");
  refused([&] { (void)session.read<std::int16_t>("half"); }, "'half' is f16 [2, 4], but it was asked for as i16");
  refused([&] { session.write("flags", std::vector<float>(8)); }, "'flags' is bool [2, 4], but it was asked for as f32");
  refused([&] { session.write("single", std::vector<float>(7)); }, "'single' takes 32 bytes, but 28 were given");
  refused([&] { (void)session.read<float>("other"); }, "'other'");
}

/// Two compute sets of one codelet on tile 3, one vertex for each of two workers; the second set goes wrong.
struct TwoSets {
  graph::Graph graph{16};
  Tensor x;

  explicit TwoSets(const std::string& codelet) {
    x = graph.add_variable(Type::u32, {4}, "x");
    graph.map(x, 3);
    graph.expose("x", x);
    std::vector<Program> steps;
    for (std::uint64_t set = 0; set < 2; ++set) {
      const graph::ComputeSetId id = graph.add_compute_set(set == 0 ? "first" : "second");
      for (std::uint64_t k = 0; k < 2; ++k) {
        const std::string name = (set == 0 ? "early" : "late") + std::to_string(k);
        const graph::VertexId vertex = graph.add_vertex(id, set == 0 ? "Stray" : codelet, 3, name);
        graph.connect(vertex, "x", x[2 * set + k]);
      }
      steps.push_back(Program::execute(id));
    }
    graph.add_entry("main", Program::sequence(steps));
  }
};

TEST(SessionFaults, AnEndlessVertexIsNamed) {
  TwoSets sets("Endless");
  SessionOptions options = with_vertices();
  options.max_cycles = 100'000;
  Session session(sets.graph, options);
  const auto [message, category] = error_of([&] { session.run(); });
  EXPECT_EQ(category, Category::no_progress);
  EXPECT_THAT(message, HasSubstr("tile 3: running"));
  EXPECT_THAT(message, HasSubstr("in vertex late0 (Endless) of compute set second"));
  EXPECT_THAT(message, HasSubstr("in vertex late1 (Endless) of compute set second"));
  EXPECT_THAT(message, HasSubstr("worker "));
  EXPECT_THAT(message, Not(HasSubstr("early")));
}

TEST(SessionFaults, ATrapNamesTheOneVertex) {
  TwoSets sets("Stray");
  Session session(sets.graph, with_vertices());
  session.write("x", std::vector<std::uint32_t>{0, 0, 0, 0x10});
  const auto [message, category] = error_of([&] { session.run(); });
  EXPECT_EQ(category, Category::device_exception);
  EXPECT_THAT(message, HasSubstr("vertex: late1 (Stray) in compute set second"));
  EXPECT_THAT(message, Not(HasSubstr("early")));
  EXPECT_THAT(message, Not(HasSubstr("late0")));
}

TEST(SessionFaults, ATrapInAVertexOfTheMatrixEnginesNamesItAlone) {
  graph::Graph g(16);
  constexpr std::uint64_t kVertices = 4;
  const Tensor x = g.add_variable(Type::u32, {kVertices, 6}, "x");
  const Tensor weights = g.add_variable(Type::u32, {64}, "weights"), offsets = g.add_variable(Type::u32, {1}, "offsets");
  for (const Tensor& t : {x, weights, offsets}) g.map(t, 2);
  g.expose("x", x);
  std::vector<Program> steps;
  for (std::uint64_t k = 0; k < kVertices; ++k) {
    const graph::ComputeSetId set = g.add_compute_set("product" + std::to_string(k));
    const graph::VertexId vertex = g.add_vertex(set, "StrayAmp", 2, "part" + std::to_string(k));
    g.connect(vertex, "weights", weights);
    g.connect(vertex, "offsets", offsets);
    g.connect(vertex, "x", x[k]);
    g.set_cycles(vertex, 100);
    steps.push_back(Program::execute(set));
  }
  g.expose("weights", weights);
  g.expose("offsets", offsets);
  g.add_entry("main", Program::sequence(steps));
  Session session(g, with_vertices());
  session.write("weights", std::vector<std::uint32_t>(64, 0));
  session.write("offsets", std::vector<std::uint32_t>(1, 0));
  std::vector<std::uint32_t> values(kVertices * 6, 0);
  values[2 * 6 + 4] = 0x10;
  session.write("x", values);
  const auto [message, category] = error_of([&] { session.run(); });
  EXPECT_EQ(category, Category::device_exception);
  EXPECT_THAT(message, HasSubstr("vertex: part2 (StrayAmp) in compute set product2"));
  EXPECT_THAT(message, HasSubstr("program: main"));
  for (const char* other : {"part0", "part1", "part3"}) EXPECT_THAT(message, Not(HasSubstr(other)));
}

}  // namespace
}  // namespace tessera
