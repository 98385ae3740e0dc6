// Mapping against a naive array of tiles; checks of the whole graph and what they say.
#include "host/graph/graph.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "hw/error.h"

namespace tessera::graph {
namespace {

template <typename F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.category(), Category::usage);
    return e.what();
  }
  return "no error";
}

void expect_says(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts) EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in: " << text;
}

TEST(Graph, MappingIsWhatWasMappedLast) {
  ASSERT_TRUE(rc::check("random mappings", [] {
    Graph g(7);
    const Tensor v = g.add_variable(Type::f32, {6, 10}, "v");
    std::vector<unsigned> naive(60, 0);
    g.map(v, 0);
    const unsigned n = *rc::gen::inRange<unsigned>(1, 12);
    for (unsigned k = 0; k < n; ++k) {
      const unsigned a = *rc::gen::inRange<unsigned>(0, 6);
      const unsigned b = *rc::gen::inRange<unsigned>(a, 6) + 1;
      const unsigned c = *rc::gen::inRange<unsigned>(0, 10);
      const unsigned d = *rc::gen::inRange<unsigned>(c, 10) + 1;
      const unsigned tile = *rc::gen::inRange<unsigned>(0, 7);
      Tensor part = v.slice({a, c}, {b, d});
      if (*rc::gen::arbitrary<bool>()) part = part.transpose();
      if (*rc::gen::arbitrary<bool>()) part = part.reverse(0);
      g.map(part, tile);
      for (unsigned i = a; i < b; ++i) {
        for (unsigned j = c; j < d; ++j) naive[i * 10 + j] = tile;
      }
    }
    const auto check = [&](const Tensor& t) {
      std::uint64_t at = 0;
      unsigned last = 99;
      for (const TileInterval& i : g.mapping(t)) {
        RC_ASSERT(i.begin == at);
        RC_ASSERT(i.tile != last);
        last = i.tile;
        for (; at < i.end; ++at) RC_ASSERT(naive[t.at(at).second] == i.tile);
      }
      RC_ASSERT(at == t.elements());
    };
    check(v);
    check(v.transpose());
    check(v.reverse(1).slice(1, 9, 1));
  }));
}

TEST(Graph, LinearMappingKeepsGrainAndMinimum) {
  Graph g(16);
  const Tensor v = g.add_variable(Type::f16, {100}, "v");
  const auto a = g.map_linear(v, 4, 1);
  ASSERT_EQ(a.size(), 13U);  // 100 / 16 -> 7, up to 8
  EXPECT_EQ(a[0], (TileInterval{0, 8, 0}));
  EXPECT_EQ(a[12], (TileInterval{96, 100, 12}));
  const auto b = g.map_linear(v, 4, 50, 3);
  ASSERT_EQ(b.size(), 2U);
  EXPECT_EQ(b[0], (TileInterval{0, 52, 3}));
  EXPECT_EQ(g.mapping(v), b);
  const Tensor w = g.add_variable(Type::f16, {100}, "w");
  g.map_like(w.reverse(0), v);
  EXPECT_EQ(g.mapping(w).front(), (TileInterval{0, 48, 4}));
}

TEST(Graph, ErrorsNameBothSides) {
  Graph g(2);
  const Tensor a = g.add_variable(Type::f32, {4}, "weights");
  const Tensor b = g.add_variable(Type::f32, {5}, "bias");
  g.map(a, 0);
  expect_says(message_of([&] { (void)g.mapping(Tensor::concat({a, b})); }), {"element 0", "bias"});
  g.map(b, 1);
  const ComputeSetId cs = g.add_compute_set("layer1");
  const VertexId v = g.add_vertex(cs, "Add", 0, "adder");
  g.connect(v, "x", a);
  expect_says(message_of([&] { g.connect(v, "x", b); }), {"field x", "twice", "to tensor weights (", "to tensor bias (", "adder", "Add", "layer1"});
  expect_says(message_of([&] { g.set_value(v, "x", 7U); }), {"to tensor weights (", "to value 7"});
  expect_says(message_of([&] { (void)g.add_vertex(cs, "Add", 2); }), {"tile 2", "2 tiles"});
  const VertexId f = g.add_family(cs, "Add", {{0, 3}, {1, 1}}, "many");
  expect_says(message_of([&] { g.connect(f, "x", b); }), {"bias", "4 vertices", "many"});

  Graph h(2);
  const Tensor c = h.add_variable(Type::f32, {4}, "first");
  const Tensor d = h.add_variable(Type::f16, {4}, "second");
  h.map(c, 0);
  h.add_entry("main", Program::copy(c, d, "move"));
  expect_says(message_of([&] { validate(h); }), {"second", "element 0"});
  h.map(d, 1);
  expect_says(message_of([&] { validate(h); }), {"first", "f32[4]", "second", "f16[4]", "main/move"});
}

TEST(Graph, ProgramsAreChecked) {
  const auto with = [](auto&& build) {
    return message_of([&] {
      Graph g(2);
      const Tensor v = g.add_variable(Type::i32, {8}, "v");
      const Tensor k = g.add_constant<std::int32_t>(Type::i32, {8}, std::vector<std::int32_t>(8, 1), "k");
      g.map(v, 0);
      g.map(k, 1);
      g.add_entry("main", build(g, v, k));
      validate(g);
    });
  };
  expect_says(with([](Graph&, const Tensor& v, const Tensor& k) { return Program::copy(v, k); }),
              {"constant k is written", "main"});
  expect_says(with([](Graph&, const Tensor& v, const Tensor&) { return Program::copy(v.slice(0, 4), v.slice(3, 7)); }),
              {"overlap", "i32[4]"});
  EXPECT_EQ(with([](Graph&, const Tensor& v, const Tensor&) { return Program::copy(v.slice(0, 4), v.slice(4, 8)); }),
            "no error");
  expect_says(with([](Graph&, const Tensor& v, const Tensor&) { return Program::if_(v, {}); }),
              {"predicate", "one element"});
  expect_says(with([](Graph& g, const Tensor& v, const Tensor&) {
                return Program::stream_in(g.add_input_stream("in", Type::i32, 9), v);
              }),
              {"stream in", "9 elements", "i32[8]"});
  expect_says(with([](Graph& g, const Tensor&, const Tensor&) {
                const FunctionId f{0};
                g.add_function(Program::call(f), "again");
                return Program::call(f);
              }),
              {"calls itself", "again"});
  const auto function_of = [](Graph& g, const std::vector<VariableId>& parameters, const Tensor& read, unsigned tile,
                              const std::vector<VariableId>& arguments) {
    const Tensor to = g.add_variable(Type::i32, {8}, "to");
    g.map(to, 0);
    for (const VariableId p : parameters) {
      if (tile < 2) g.map(g.whole(p), tile);
    }
    const FunctionId f = g.add_function(Program::copy(read, to), "fn", parameters);
    return Program::call(f, arguments);
  };
  const VariableId first{0}, second{1};
  EXPECT_EQ(with([&](Graph& g, const Tensor& v, const Tensor&) { return function_of(g, {first}, v, 1, {second}); }),
            "no error");
  expect_says(with([&](Graph& g, const Tensor& v, const Tensor&) { return function_of(g, {first}, v, 0, {second}); }),
              {"k for parameter v lies on other tiles"});
  expect_says(with([&](Graph& g, const Tensor& v, const Tensor&) { return function_of(g, {first}, v, 1, {}); }),
              {"0 arguments for function fn, which has 1 parameters"});
  expect_says(with([&](Graph& g, const Tensor& v, const Tensor&) {
                const Program call = function_of(g, {first}, v, 1, {second});
                return Program::sequence({call, Program::copy(v, g.whole(VariableId{2}))});
              }),
              {"v is used outside of function fn, whose parameter it is"});
  expect_says(with([&](Graph& g, const Tensor&, const Tensor& k) {
                const Tensor p = g.add_variable(Type::i32, {8}, "p");
                g.map(p, 0);
                const FunctionId f = g.add_function(Program::copy(k, p), "fn", {VariableId{2}});
                return Program::call(f, {second});
              }),
              {"parameter p is written", "fn"});
  expect_says(with([&](Graph& g, const Tensor&, const Tensor& k) { return function_of(g, {second}, k, 1, {second}); }),
              {"constant k as a parameter", "fn"});
  expect_says(with([&](Graph& g, const Tensor& v, const Tensor&) {
                const Tensor other = g.add_variable(Type::i32, {8}, "other");
                g.map(other, 1);
                return function_of(g, {first}, v, 1, {VariableId{2}});
              }),
              {"other for parameter v is no constant"});
  expect_says(with([](Graph&, const Tensor& v, const Tensor& k) {
                return Program::copy(k.slice(0, 1).broadcast(8, 0), Tensor::concat({v.slice(0, 4), v.slice(0, 4)}));
              }),
              {"one element twice"});
}

}  // namespace
}  // namespace tessera::graph
