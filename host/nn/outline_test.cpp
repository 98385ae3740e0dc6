// Repeated clusters: what is found, and that a model with its clusters as functions gives the same bits as without.
#include "host/nn/outline.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "host/nn/run_lowered.h"
#include "host/onnx/import.h"
#include "host/onnx/test_models.h"

namespace tessera::nn {
namespace {

using model::Tensor;
using model::Type;

constexpr std::int64_t kRows = 5, kWidth = 12, kInner = 20;

Tensor numbers(const model::Shape& shape, std::uint32_t seed) {
  Tensor tensor(Type::f32, shape);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    seed = seed * 1664525 + 1013904223;
    tensor.set(i, static_cast<float>(static_cast<std::int32_t>(seed) >> 20) / 4096.0F);
  }
  return tensor;
}

/// x + (relu(x W + b) V) scaled by a constant that all blocks share, block after block; `odd` blocks are wider inside.
model::TestGraph residual(int blocks, int odd, bool read_all) {
  model::TestGraph graph;
  graph.inputs = {{"x0", Type::f32, {std::to_string(kRows), std::to_string(kWidth)}}};
  graph.initializers = {{"scale", numbers({1}, 77)}};
  for (int i = 0; i < blocks; ++i) {
    const std::string n = std::to_string(i), x = "x" + n;
    const auto seed = static_cast<std::uint32_t>(10 * i);
    const std::int64_t inner = i == odd ? kInner + 4 : kInner;
    graph.initializers.insert(graph.initializers.end(), {{"w" + n, numbers({kWidth, inner}, seed)},
                                                         {"b" + n, numbers({inner}, seed + 1)},
                                                         {"v" + n, numbers({inner, kWidth}, seed + 2)}});
    graph.nodes.push_back({"MatMul", {x, "w" + n}, {"p" + n}, {}, "up" + n, ""});
    graph.nodes.push_back({"Add", {"p" + n, "b" + n}, {"q" + n}, {}, "bias" + n, ""});
    graph.nodes.push_back({"Relu", {"q" + n}, {"r" + n}, {}, "relu" + n, ""});
    graph.nodes.push_back({"MatMul", {"r" + n, "v" + n}, {"s" + n}, {}, "down" + n, ""});
    graph.nodes.push_back({"Mul", {"s" + n, "scale"}, {"t" + n}, {}, "scale" + n, ""});
    graph.nodes.push_back({"Add", {x, "t" + n}, {"x" + std::to_string(i + 1)}, {}, "residual" + n, ""});
  }
  const auto value = [](const std::string& name, std::int64_t columns) {
    return model::TestValue{name, Type::f32, {std::to_string(kRows), std::to_string(columns)}};
  };
  graph.outputs = {value("x" + std::to_string(blocks), kWidth)};
  if (read_all)
    for (int i = 0; i < blocks; ++i)
      if (i != odd) graph.outputs.push_back(value("r" + std::to_string(i), kInner));
  return graph;
}

std::size_t calls(const graph::Program& program) {
  if (std::get_if<graph::Program::Call>(&program.node()) != nullptr) return 1;
  std::size_t count = 0;
  if (const auto* sequence = std::get_if<graph::Program::Sequence>(&program.node()))
    for (const auto& step : sequence->steps) count += calls(step);
  return count;
}

Lowered lowered(const model::Model& model, bool outline, unsigned tiles, bool tap = false) {
  Options options;
  options.tiles = tiles;
  options.outline = outline;
  options.tap_nodes = tap;
  return lower(model, options);
}

TEST(Clusters, BlocksOfANetworkAreOneCluster) {
  const model::Model model = model::import_bytes(model::to_bytes(residual(6, -1, false)), "m");
  const std::vector<Cluster> clusters = find_clusters(model, 4);
  ASSERT_EQ(clusters.size(), 1U);
  EXPECT_EQ(clusters[0].first, 0U);
  EXPECT_EQ(clusters[0].length, 6U);
  EXPECT_EQ(clusters[0].count, 6U);
  ASSERT_EQ(clusters[0].outputs.size(), 1U);
  EXPECT_EQ(model.value(clusters[0].results[2][clusters[0].outputs[0]]).name, "x3");
  EXPECT_EQ(clusters[0].inputs[3].size(), 1U);
  EXPECT_EQ(clusters[0].constants[3].size(), 4U);
}

TEST(Clusters, AnOddBlockParts) {
  const model::Model model = model::import_bytes(model::to_bytes(residual(7, 3, false)), "m");
  const std::vector<Cluster> clusters = find_clusters(model, 4);
  ASSERT_EQ(clusters.size(), 2U);
  EXPECT_EQ(clusters[0].count, 3U);
  EXPECT_EQ(clusters[1].count, 3U);
  EXPECT_TRUE(find_clusters(model, 13).empty());
}

TEST(Outline, FunctionsGiveTheSameBits) {
  EXPECT_TRUE(rc::check([] {
    const int blocks = *rc::gen::inRange(2, 6), odd = *rc::gen::inRange(-1, blocks);
    const bool read_all = *rc::gen::arbitrary<bool>(), tap = *rc::gen::arbitrary<bool>();
    const unsigned tiles = *rc::gen::element(1U, 3U, 16U);
    const model::Model model = model::import_bytes(model::to_bytes(residual(blocks, odd, read_all)), "m");
    const std::vector<Tensor> inputs = {numbers({kRows, kWidth}, 5)};
    const auto plain = execute(lowered(model, false, tiles), inputs);
    const Lowered outlined = lowered(model, true, tiles, tap);
    const auto called = execute(outlined, inputs);
    RC_ASSERT(plain.size() == called.size());
    for (std::size_t i = 0; i < plain.size(); ++i) RC_ASSERT(plain[i] == called[i]);
    std::size_t expected = 0;  // calls: of every cluster that saves enough
    for (const Cluster& cluster : find_clusters(model, 8)) expected += cluster.count;
    RC_ASSERT(calls(outlined.graph.entries().front().program) == expected);
  }));
}

TEST(Outline, TablesDoNotGrowWithLayers) {
  const auto sets = [](int blocks, bool outline) {
    const model::Model model = model::import_bytes(model::to_bytes(residual(blocks, -1, false)), "m");
    return lowered(model, outline, 4).graph.compute_sets().size();
  };
  EXPECT_EQ(sets(4, true), sets(12, true));
  EXPECT_LT(sets(4, false), sets(12, false));
}

}  // namespace
}  // namespace tessera::nn
