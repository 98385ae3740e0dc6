// Functions with parameters on TLM, RTL and lockstep tiles: weights of AMP vertices and operands of plain ones given by
// address, operands given by value, calls within loops and within functions that have parameters themselves; with few
// lists of arguments, each with run lists of its own, and with many, which share one set.
#include <gtest/gtest.h>

#include <cstring>

#include "verif/codelets/amp_rows.h"
#include "verif/compiler/graph_machine.h"
#include "verif/compiler/machine_modes.h"

namespace tessera {
namespace {

using graph::Graph;
using graph::Program;
using graph::Tensor;
using graph::Type;
using graph::VariableId;
using testing::AmpRows;

constexpr unsigned kSets = 18, kRows = 7, kWidth = 16;
constexpr unsigned kTiles[] = {1, 4, 9, 14};

template <typename T>
std::vector<std::uint8_t> bytes_of(const T* values, std::size_t count) {
  std::vector<std::uint8_t> bytes(count * sizeof(T));
  std::memcpy(bytes.data(), values, bytes.size());
  return bytes;
}

VariableId id_of(const Tensor& t) { return t.boxes().at(0).variable; }

class Built {
 public:
  /// layer(w): twice (c += x w, add(p0, q0)), add(p1, q1), c += x w. add(p, q): s += p, s += q. `more` calls of each
  /// have arguments that are zeros.
  explicit Built(unsigned more) : arguments_(2 + more), rows_(2 * kSets, kRows) {
    const graph::FunctionId add = add_function();
    const graph::FunctionId layer = layer_function(add);
    g.expose("x", x_);
    g.expose("c", c_);
    g.expose("s", s_);
    std::vector<Program> steps{Program::call(layer, {w_[0]})};
    for (unsigned k = 2; k < arguments_; k += 2) {
      steps.push_back(Program::call(layer, {w_[k]}));
      steps.push_back(Program::call(add, {p_[k], q_[k]}));
    }
    steps.push_back(Program::repeat(2, Program::call(layer, {w_[1]})));
    for (unsigned k = arguments_ - 1; k > 2; k -= 2) {
      steps.push_back(Program::call(add, {p_[k], q_[k]}));
      steps.push_back(Program::call(layer, {w_[k]}));
    }
    steps.push_back(Program::call(add, {p_[1], q_[0]}));
    steps.push_back(Program::call(layer, {w_[0]}));
    g.add_entry("main", Program::sequence(std::move(steps)));
  }

  Graph g{16};

 private:
  graph::FunctionId add_function() {
    s_ = g.add_variable(Type::f32, {kWidth}, "s");
    const Tensor p = g.add_variable(Type::f32, {kWidth}, "p");
    const Tensor q = g.add_variable(Type::f32, {kWidth}, "q");
    g.map(s_, 3);
    g.map(p, 3);
    g.map(q, 5);  // an exchange brings it to the vertex
    std::vector<Program> steps;
    for (const Tensor& t : {p, q}) {
      const auto cs = g.add_compute_set("add");
      const auto v = g.add_vertex(cs, "Add_f32", 3);
      g.connect(v, "a", s_);
      g.connect(v, "b", t);
      g.connect(v, "y", s_);
      steps.push_back(Program::execute(cs));
    }
    for (unsigned k = 0; k < arguments_; ++k) {
      const std::vector<float> a(kWidth, k < 2 ? 1.0F + static_cast<float>(k) : 0.0F);
      const std::vector<float> b(kWidth, k < 2 ? 10.0F + 90.0F * static_cast<float>(k) : 0.0F);
      p_.push_back(id_of(g.add_like(id_of(p), bytes_of(a.data(), kWidth), "p" + std::to_string(k))));
      q_.push_back(id_of(g.add_like(id_of(q), bytes_of(b.data(), kWidth), "q" + std::to_string(k))));
    }
    return g.add_function(Program::sequence(std::move(steps)), "add", {id_of(p), id_of(q)});
  }

  graph::FunctionId layer_function(graph::FunctionId add) {
    const Tensor w = g.add_variable(Type::f16, {4, kSets, 8, 16}, "w");
    const Tensor o = g.add_repeated_constant(Type::u32, {kSets}, bytes_of(rows_.offsets.data(), kSets), 4, "offsets");
    x_ = g.add_variable(Type::f16, {4, kRows + 2, 16}, "x");
    c_ = g.add_variable(Type::f32, {4, kRows, 8}, "c");
    const auto cs = g.add_compute_set("product");
    for (unsigned i = 0; i < 4; ++i) {
      for (const Tensor& t : {w, o, x_, c_}) g.map(t[i], kTiles[i]);
      const auto v = g.add_vertex(cs, "TestAmpRows", kTiles[i], "rows");
      g.connect(v, "weights", w[i].flatten());
      g.connect(v, "offsets", o[i]);
      g.connect(v, "x", x_[i].flatten());
      g.connect(v, "c", c_[i].flatten());
      g.set_value(v, "n", kRows);
    }
    // Sets have offsets by their number mod 3, so those of the two halves are the same.
    for (unsigned k = 0; k < 2; ++k) {
      const std::uint16_t* half = rows_.weights.data() + 128 * kSets * k;
      w_.push_back(id_of(g.add_like(id_of(w), bytes_of(half, std::size_t{128} * kSets), "w" + std::to_string(k))));
    }
    const std::vector<std::uint16_t> zeros(128 * kSets, 0);
    for (unsigned k = 2; k < arguments_; ++k)
      w_.push_back(id_of(g.add_like(id_of(w), bytes_of(zeros.data(), zeros.size()), "w" + std::to_string(k))));
    const Program product = Program::execute(cs);
    return g.add_function(
        Program::sequence({Program::repeat(2, Program::sequence({product, Program::call(add, {p_[0], q_[0]})})),
                           Program::call(add, {p_[1], q_[1]}), product}),
        "layer", {id_of(w)});
  }

  unsigned arguments_;
  AmpRows rows_;
  Tensor s_, x_, c_;
  std::vector<VariableId> p_, q_, w_;
};

std::vector<std::uint8_t> run(TileMode mode, unsigned more) {
  testing::GraphMachine m(Built(more).g, load_platform("pocket"), testing::tiles_of(mode), testing::amp_test_library());
  const AmpRows rows(2 * kSets, kRows);
  std::vector<std::uint16_t> x;
  std::vector<float> c;
  for (unsigned i = 0; i < 4; ++i) {
    x.insert(x.end(), rows.x.begin(), rows.x.end());
    c.insert(c.end(), rows.c.begin(), rows.c.end());
  }
  m.write("x", x);
  m.write("c", c);
  m.write("s", std::vector<float>(kWidth, 0.5F));
  m.engine().run("main");
  return testing::tensors_and_cycles(m, {"c", "s"});
}

class ParametersModes : public ::testing::TestWithParam<unsigned> {};

TEST_P(ParametersModes, TlmRtlAndLockstepGiveTheSameResultsAndCycles) {
  const unsigned more = GetParam();
  const auto tlm = testing::run_in_process([&] { return run(TileMode::tlm, more); });
  // Each half of the weights is used in two calls of the layer, three times in each.
  const AmpRows rows(2 * kSets, kRows);
  const std::vector<float> once = rows.expected();
  std::vector<float> expect;
  for (unsigned i = 0; i < 4; ++i) {
    for (std::size_t k = 0; k < once.size(); ++k) expect.push_back(rows.c[k] + 6 * (once[k] - rows.c[k]));
  }
  const float calls = 4 + static_cast<float>(more);
  const float s = 0.5F + calls * (2 * (1.0F + 10.0F) + (2.0F + 100.0F)) + (2.0F + 10.0F);
  expect.insert(expect.end(), kWidth, s);
  ASSERT_EQ(tlm.size(), 4 * expect.size() + 8);
  std::vector<float> got(expect.size());
  std::memcpy(got.data(), tlm.data(), 4 * got.size());
  EXPECT_EQ(got, expect);
  EXPECT_EQ(testing::run_in_process([&] { return run(TileMode::rtl, more); }), tlm);
  EXPECT_EQ(testing::run_in_process([&] { return run(TileMode::lockstep, more); }), tlm);
}

INSTANTIATE_TEST_SUITE_P(ArgumentsMore, ParametersModes, ::testing::Values(0U, 8U));

}  // namespace
}  // namespace tessera
