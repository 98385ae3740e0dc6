// LSTM of the inference shapes of DeepBench on one IPU of 1216 tiles: results against the formulas in doubles, and the
// cycles of a step.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>

#include "host/nn/lower.h"
#include "verif/compiler/graph_machine.h"

namespace tessera {
namespace {

using model::Shape;
using model::Tensor;
using model::Type;

struct Lstm {
  std::int64_t steps = 4, batch = 1, inputs = 16, hidden = 1536;
  model::Model model;
  Tensor x;
  std::vector<double> w, r;
};

Tensor random_tensor(const Shape& shape, std::mt19937& random, double scale, std::vector<double>* values) {
  Tensor tensor(Type::f16, shape);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    // Multiples of 2^-10 from -1 to 1 times a power of two are f16 numbers.
    const double v = (static_cast<double>(random() % 2049) - 1024) / 1024 * scale;
    int exponent = 0;
    const double fraction = std::frexp(std::fabs(v), &exponent);  // 0.5 .. 1
    const auto bits = v == 0 ? 0
                             : (exponent + 14) * 1024 + static_cast<int>(std::nearbyint(fraction * 2048)) - 1024 +
                                   (v < 0 ? 0x8000 : 0);
    tensor.set(i, static_cast<std::uint16_t>(bits));
    if (values != nullptr) values->push_back(tensor.real(i));
  }
  return tensor;
}

void build(Lstm& lstm) {
  std::mt19937 random(3);
  const std::int64_t h = lstm.hidden;
  model::Model& m = lstm.model;
  const auto value = [&](const char* name, const Shape& shape) {
    m.values.push_back({name, Type::f16, Type::f16, shape, {}});
    return static_cast<model::ValueId>(m.values.size() - 1);
  };
  const auto x = value("x", {lstm.steps, lstm.batch, lstm.inputs});
  const auto w = value("w", {1, 4 * h, lstm.inputs});
  const auto r = value("r", {1, 4 * h, h});
  const auto y = value("y", {lstm.steps, 1, lstm.batch, h});
  lstm.x = random_tensor(m.values[x].shape, random, 1, nullptr);
  m.values[w].constant = random_tensor(m.values[w].shape, random, 0.25, &lstm.w);
  m.values[r].constant = random_tensor(m.values[r].shape, random, 1.0 / 16, &lstm.r);
  model::RecurrentAttributes attributes;
  attributes.hidden = h;
  attributes.activations = {"Sigmoid", "Tanh", "Tanh"};
  model::Node node;
  node.op = model::Op::LSTM;
  node.name = "lstm";
  node.inputs = {x, w, r};
  node.outputs = {y};
  node.attributes = attributes;
  m.nodes = {node};
  m.inputs = {x};
  m.outputs = {y};
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

std::vector<double> expected(const Lstm& lstm) {
  const auto hidden = static_cast<std::size_t>(lstm.hidden), inputs = static_cast<std::size_t>(lstm.inputs);
  const auto batch = static_cast<std::size_t>(lstm.batch);
  std::vector<double> y;
  std::vector<double> h(batch * hidden), c(batch * hidden);
  for (std::int64_t t = 0; t < lstm.steps; ++t) {
    std::vector<double> next(h.size());
    for (std::size_t b = 0; b < batch; ++b)
      for (std::size_t j = 0; j < hidden; ++j) {
        double gate[4] = {};
        for (std::size_t g = 0; g < 4; ++g) {
          const std::size_t row = g * hidden + j;
          for (std::size_t i = 0; i < inputs; ++i)
            gate[g] += lstm.w[row * inputs + i] *
                       lstm.x.real(static_cast<std::int64_t>((static_cast<std::size_t>(t) * batch + b) * inputs + i));
          for (std::size_t k = 0; k < hidden; ++k) gate[g] += lstm.r[row * hidden + k] * h[b * hidden + k];
        }
        double& cell = c[b * hidden + j];
        cell = sigmoid(gate[2]) * cell + sigmoid(gate[0]) * std::tanh(gate[3]);
        next[b * hidden + j] = sigmoid(gate[1]) * std::tanh(cell);
      }
    h = next;
    y.insert(y.end(), h.begin(), h.end());
  }
  return y;
}

/// Cycles of a step, results checked. One machine a process.
Cycle run(std::int64_t hidden, std::int64_t batch) {
  Lstm lstm;
  lstm.hidden = hidden;
  lstm.batch = batch;
  build(lstm);
  nn::Options options;
  options.tiles = 1216;
  const nn::Lowered lowered = nn::lower(lstm.model, options);
  testing::GraphMachine machine(lowered.graph, load_platform("c2"));
  machine.engine().connect(lowered.inputs[0].stream, engine::Source([&](std::uint64_t step, std::uint8_t* bytes) {
                             nn::fill_step(lowered.inputs[0], lstm.x, step, bytes);
                           }));
  Tensor y(Type::f16, lowered.outputs[0].shape);
  machine.engine().connect(lowered.outputs[0].stream, engine::Sink([&](std::uint64_t step, const std::uint8_t* bytes) {
                             nn::drain_step(lowered.outputs[0], y, step, bytes);
                           }));
  machine.engine().run("main");
  const auto want = expected(lstm);
  double worst = 0;
  for (std::size_t i = 0; i < want.size(); ++i)
    worst = std::max(worst, std::fabs(y.real(static_cast<std::int64_t>(i)) - want[i]));
  EXPECT_LT(worst, 2e-3) << want.size() << " values";
  // The loop has one exchange a step: the commonest distance of two releases with words.
  const auto releases = machine.clock().releases();
  std::map<Cycle, int> distances;
  for (std::size_t i = 1; i < releases.size(); ++i) ++distances[(releases[i] - releases[i - 1]) / 6 * 6];
  const auto step = std::max_element(distances.begin(), distances.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  EXPECT_GE(step->second, lstm.steps - 1);
  std::printf("hidden %lld, batch %lld: %llu cycles a step; %zu values, largest error %.2g\n",
              static_cast<long long>(hidden), static_cast<long long>(batch),
              static_cast<unsigned long long>(step->first), want.size(), worst);
  return step->first;
}

TEST(Lstm, Hidden1536InAtMost6000CyclesAStep) { EXPECT_LE(run(1536, 1), 6000U); }
TEST(Lstm, Hidden512) { EXPECT_LE(run(512, 1), 6000U); }
TEST(Lstm, Hidden512Batch4) { EXPECT_LE(run(512, 4), 12000U); }

}  // namespace
}  // namespace tessera
