// Recurrences lowered to graphs and run on the host, against the formulas of ONNX in doubles: all directions, lengths,
// initial states, peepholes, clip, activations, layouts, f32 and f16, weights compiled in or given at run time.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "host/nn/graph_interpreter.h"
#include "host/nn/lower.h"

namespace tessera::nn {
namespace {

using model::Op;
using model::RecurrentAttributes;
using model::Shape;
using model::Tensor;
using model::Type;

std::uint16_t to_half(double v) {
  const std::uint16_t sign = std::signbit(v) ? 0x8000 : 0;
  v = std::fabs(v);
  if (v == 0) return sign;
  const int exponent = std::max(-14, std::ilogb(v));
  const double scaled = std::nearbyint(std::ldexp(v, 10 - exponent));  // of 2^-10 of the leading place
  if (scaled < 1024) return static_cast<std::uint16_t>(sign | static_cast<int>(scaled));
  return static_cast<std::uint16_t>(sign | ((exponent + 15) * 1024 + static_cast<int>(scaled) - 1024));
}

struct Task {
  Op op = Op::LSTM;
  RecurrentAttributes attributes;
  Type type = Type::f32;
  std::int64_t steps = 3, batch = 2, inputs = 3;
  bool bias = true, lengths = false, initial = false, peepholes = false, constant = true;
};

/// A model of one recurrence, and its operands as doubles.
struct Made {
  model::Model model;
  std::vector<Tensor> inputs;                 ///< of the model, in order
  std::vector<std::vector<double>> operands;  ///< by position; empty if absent
};

Made make(const Task& task, unsigned seed) {
  Made made;
  std::mt19937 random(seed);
  const std::int64_t d = task.attributes.direction == RecurrentAttributes::Direction::bidirectional ? 2 : 1;
  const std::int64_t h = task.attributes.hidden, g = task.op == Op::LSTM ? 4 : task.op == Op::GRU ? 3 : 1;
  const bool first = task.attributes.batch_first;
  const Shape x = first ? Shape{task.batch, task.steps, task.inputs} : Shape{task.steps, task.batch, task.inputs};
  const Shape state = first ? Shape{task.batch, d, h} : Shape{d, task.batch, h};
  model::Node node;
  node.op = task.op;
  node.name = "cell";
  node.attributes = task.attributes;
  const auto add = [&](bool there, const Shape& shape, bool constant, double scale) {
    made.operands.emplace_back();
    if (!there) return node.inputs.push_back(model::kAbsent);
    Tensor tensor(task.type, shape);
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
      const double v = scale * (static_cast<double>(random() % 2001) - 1000) / 1000;
      if (task.type == Type::f16)
        tensor.set(i, to_half(v));
      else
        tensor.set(i, static_cast<float>(v));
      made.operands.back().push_back(tensor.real(i));
    }
    const auto id = static_cast<model::ValueId>(made.model.values.size());
    made.model.values.push_back({"v" + std::to_string(id), task.type, task.type, shape, {}});
    if (constant)
      made.model.values.back().constant = tensor;
    else
      made.model.inputs.push_back(id), made.inputs.push_back(tensor);
    node.inputs.push_back(id);
  };
  add(true, x, false, 1);
  add(true, {d, g * h, task.inputs}, task.constant, 0.7);
  add(true, {d, g * h, h}, task.constant, 0.5);
  add(task.bias, {d, 2 * g * h}, task.constant, 0.5);
  made.operands.emplace_back();
  node.inputs.push_back(model::kAbsent);
  if (task.lengths) {
    Tensor lengths(Type::i32, {task.batch});
    for (std::int64_t b = 0; b < task.batch; ++b) {
      lengths.set(b, static_cast<std::int32_t>(random() % (task.steps + 1)));
      made.operands.back().push_back(lengths.real(b));
    }
    node.inputs.back() = static_cast<model::ValueId>(made.model.values.size());
    made.model.values.push_back({"lengths", Type::i32, Type::i32, {task.batch}, lengths});
  }
  add(task.initial, state, false, 1);
  if (task.op == Op::LSTM) {
    add(task.initial, state, false, 1);
    add(task.peepholes, {d, 3 * h}, task.constant, 0.5);
  }
  const Shape y = first ? Shape{task.batch, task.steps, d, h} : Shape{task.steps, d, task.batch, h};
  for (const Shape& shape : {y, state, state}) {
    const auto id = static_cast<model::ValueId>(made.model.values.size());
    if (node.outputs.size() == 2 && task.op != Op::LSTM) break;
    made.model.values.push_back({"out" + std::to_string(node.outputs.size()), task.type, task.type, shape, {}});
    node.outputs.push_back(id);
    made.model.outputs.push_back(id);
  }
  made.model.nodes.push_back(node);
  return made;
}

double activation(const std::string& name, double x, double alpha, double beta) {
  if (name == "Relu") return std::max(0.0, x);
  if (name == "Tanh") return std::tanh(x);
  if (name == "Sigmoid") return 1 / (1 + std::exp(-x));
  if (name == "HardSigmoid") return std::min(1.0, std::max(0.0, alpha * x + beta));
  if (name == "Elu") return x >= 0 ? x : alpha * (std::exp(x) - 1);
  if (name == "Softsign") return x / (1 + std::fabs(x));
  throw std::logic_error("no activation " + name);
}

/// Y, Y_h, Y_c by the formulas.
std::vector<std::vector<double>> expected(const Task& task, const Made& made) {
  const auto& at = task.attributes;
  const bool lstm = task.op == Op::LSTM, gru = task.op == Op::GRU;
  const std::size_t directions = at.direction == RecurrentAttributes::Direction::bidirectional ? 2 : 1;
  const auto hidden = static_cast<std::size_t>(at.hidden), inputs = static_cast<std::size_t>(task.inputs);
  const auto steps = static_cast<std::size_t>(task.steps), batch = static_cast<std::size_t>(task.batch);
  const std::size_t gates = lstm ? 4 : gru ? 3 : 1, functions = lstm ? 3 : gru ? 2 : 1;
  std::vector<double> y(steps * directions * batch * hidden), yh(directions * batch * hidden), yc(yh.size());
  const auto of = [&](std::size_t operand, std::size_t i) {
    const auto& values = made.operands.at(operand);
    return values.empty() ? 0.0 : values.at(i);
  };
  for (std::size_t d = 0; d < directions; ++d)
    for (std::size_t b = 0; b < batch; ++b) {
      const std::size_t length = task.lengths ? static_cast<std::size_t>(of(4, b)) : steps;
      const auto act = [&](std::size_t k, double v) {
        const std::size_t i = d * functions + k;
        if (k < 2 && at.clip) v = std::min<double>(*at.clip, std::max<double>(-*at.clip, v));
        return activation(at.activations[i], v, i < at.alpha.size() ? at.alpha[i] : 0,
                          i < at.beta.size() ? at.beta[i] : 0);
      };
      const auto state_at = [&](std::size_t j) {
        return at.batch_first ? (b * directions + d) * hidden + j : (d * batch + b) * hidden + j;
      };
      std::vector<double> h(hidden), c(hidden);
      for (std::size_t j = 0; j < hidden; ++j) {
        h[j] = of(5, state_at(j));
        if (lstm) c[j] = of(6, state_at(j));
      }
      const bool reverse = d == 1 || at.direction == RecurrentAttributes::Direction::reverse;
      for (std::size_t s = 0; s < length; ++s) {
        const std::size_t t = reverse ? length - 1 - s : s;
        const auto x = [&](std::size_t g, std::size_t j) {
          double sum = of(3, d * 2 * gates * hidden + g * hidden + j);
          for (std::size_t i = 0; i < inputs; ++i)
            sum += of(1, ((d * gates + g) * hidden + j) * inputs + i) *
                   of(0, (at.batch_first ? b * steps + t : t * batch + b) * inputs + i);
          return sum;
        };
        const auto r = [&](std::size_t g, std::size_t j, const std::vector<double>& state) {
          double sum = of(3, (d * 2 + 1) * gates * hidden + g * hidden + j);
          for (std::size_t k = 0; k < hidden; ++k) sum += of(2, ((d * gates + g) * hidden + j) * hidden + k) * state[k];
          return sum;
        };
        std::vector<double> next = h, reset(hidden), mixed(hidden);
        if (gru)
          for (std::size_t j = 0; j < hidden; ++j) mixed[j] = (reset[j] = act(0, x(1, j) + r(1, j, h))) * h[j];
        for (std::size_t j = 0; j < hidden; ++j) {
          const auto p = [&](std::size_t k) { return of(7, d * 3 * hidden + k * hidden + j); };
          if (lstm) {
            const double i = act(0, x(0, j) + r(0, j, h) + p(0) * c[j]);
            const double f = at.input_forget ? 1 - i : act(0, x(2, j) + r(2, j, h) + p(2) * c[j]);
            const double new_c = f * c[j] + i * act(1, x(3, j) + r(3, j, h));
            next[j] = act(0, x(1, j) + r(1, j, h) + p(1) * new_c) * act(2, new_c);
            c[j] = new_c;
          } else if (gru) {
            const double z = act(0, x(0, j) + r(0, j, h));
            const double fresh = act(1, x(2, j) + (at.linear_before_reset ? reset[j] * r(2, j, h) : r(2, j, mixed)));
            next[j] = (1 - z) * fresh + z * h[j];
          } else {
            next[j] = act(0, x(0, j) + r(0, j, h));
          }
        }
        h = next;
        for (std::size_t j = 0; j < hidden; ++j)
          y[(at.batch_first ? (b * steps + t) * directions + d : (t * directions + d) * batch + b) * hidden + j] = h[j];
      }
      for (std::size_t j = 0; j < hidden; ++j) yh[state_at(j)] = h[j], yc[state_at(j)] = c[j];
    }
  if (lstm) return {y, yh, yc};
  return {y, yh};
}

void check(const Task& task, unsigned tiles, unsigned seed = 1) {
  const Made made = make(task, seed);
  Options options;
  options.tiles = tiles;
  const Lowered lowered = lower(made.model, options);
  graph::validate(lowered.graph);
  GraphInterpreter interpreter(lowered.graph);
  for (std::size_t i = 0; i < made.inputs.size(); ++i)
    interpreter.connect_input(lowered.inputs[i].stream, [&, i](std::uint64_t step, std::uint8_t* bytes) {
      fill_step(lowered.inputs[i], made.inputs[i], step, bytes);
    });
  std::vector<Tensor> results;
  for (const Binding& output : lowered.outputs) results.emplace_back(output.type, output.shape);
  for (std::size_t i = 0; i < results.size(); ++i)
    interpreter.connect_output(lowered.outputs[i].stream, [&, i](std::uint64_t step, const std::uint8_t* bytes) {
      drain_step(lowered.outputs[i], results[i], step, bytes);
    });
  // Twice: the second run must start from the same states.
  for (int run = 0; run < 2; ++run) {
    interpreter.run();
    const auto want = expected(task, made);
    ASSERT_EQ(want.size(), results.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
      ASSERT_EQ(static_cast<std::size_t>(results[i].elements()), want[i].size());
      for (std::size_t k = 0; k < want[i].size(); ++k)
        ASSERT_NEAR(results[i].real(static_cast<std::int64_t>(k)), want[i][k], task.type == Type::f16 ? 4e-3 : 3e-6)
            << "output " << i << " element " << k << " tiles " << tiles;
    }
  }
}

Task task(Op op, std::int64_t hidden, RecurrentAttributes::Direction direction) {
  Task task;
  task.op = op;
  task.attributes.hidden = hidden;
  task.attributes.direction = direction;
  const int count = direction == RecurrentAttributes::Direction::bidirectional ? 2 : 1;
  for (int d = 0; d < count; ++d) {
    auto& names = task.attributes.activations;
    if (op == Op::RNN)
      names.insert(names.end(), {"Tanh"});
    else if (op == Op::GRU)
      names.insert(names.end(), {"Sigmoid", "Tanh"});
    else
      names.insert(names.end(), {"Sigmoid", "Tanh", "Tanh"});
  }
  return task;
}

class Recurrent : public ::testing::TestWithParam<std::tuple<Op, unsigned, Type>> {};

TEST_P(Recurrent, ComputesWhatOnnxSays) {
  const auto [op, tiles, type] = GetParam();
  unsigned seed = 0;
  for (const auto direction : {RecurrentAttributes::Direction::forward, RecurrentAttributes::Direction::reverse,
                               RecurrentAttributes::Direction::bidirectional})
    for (const unsigned options : {0U, 5U, 10U, 15U, 16U, 53U, 42U, 63U}) {
      Task t = task(op, 3 + static_cast<std::int64_t>(seed * 7 % 23), direction);
      t.type = type;
      t.bias = (options & 1) != 0;
      t.lengths = (options & 2) != 0;
      t.initial = (options & 4) != 0;
      t.peepholes = (options & 8) != 0;
      t.attributes.batch_first = (options & 16) != 0;
      t.attributes.linear_before_reset = (options & 1) == 0;
      t.constant = (options & 32) == 0;
      t.steps = 1 + seed % 5;
      t.batch = 1 + seed % 3;
      check(t, tiles, ++seed);
    }
}

INSTANTIATE_TEST_SUITE_P(All, Recurrent,
                         ::testing::Combine(::testing::Values(Op::LSTM, Op::GRU, Op::RNN),
                                            ::testing::Values(1U, 4U, 40U), ::testing::Values(Type::f32, Type::f16)));

/// With many rows the matrix unit multiplies, where weights are constant; all kinds of cells and sizes.
TEST(Recurrent, ManyRowsUseTheMatrixUnit) {
  unsigned seed = 100;
  for (const Op op : {Op::LSTM, Op::GRU, Op::RNN})
    for (const std::int64_t hidden : {5, 16, 37})
      for (const unsigned options : {0U, 1U, 6U, 15U}) {
        Task t = task(
            op, hidden,
            options == 6 ? RecurrentAttributes::Direction::bidirectional : RecurrentAttributes::Direction::forward);
        t.type = Type::f16;
        t.bias = (options & 1) != 0;
        t.lengths = (options & 2) != 0;
        t.initial = (options & 4) != 0;
        t.peepholes = (options & 8) != 0;
        t.attributes.linear_before_reset = (options & 1) == 0;
        t.batch = 18 + static_cast<std::int64_t>(seed % 5);
        Options given;
        given.tiles = seed % 2 == 0 ? 2 : 9;
        const Made made = make(t, seed);
        bool unit = false;
        const Lowered lowered = lower(made.model, given);
        for (const auto& family : lowered.graph.vertices()) unit = unit || family.codelet == "RecurrentStep";
        EXPECT_TRUE(unit || hidden < 16);
        check(t, given.tiles, seed++);
      }
}

TEST(Recurrent, OtherActivationsClipAndCoupledGates) {
  Task t = task(Op::LSTM, 6, RecurrentAttributes::Direction::bidirectional);
  t.attributes.activations = {"HardSigmoid", "Elu", "Softsign", "Sigmoid", "Relu", "Tanh"};
  t.attributes.alpha = {0.3F, 0.8F, 0, 0, 0, 0};
  t.attributes.beta = {0.4F, 0, 0, 0, 0, 0};
  t.attributes.clip = 0.5F;
  t.attributes.input_forget = true;
  check(t, 7);
}

}  // namespace
}  // namespace tessera::nn
