// Convolutions and matrix products on the AMP unit: plans, and lowered graphs on the host against the reference.
#include <gtest/gtest.h>

#include <ostream>

#include "host/golden/compare.h"
#include "host/golden/evaluate.h"
#include "host/nn/amp_plan.h"
#include "host/nn/home.h"
#include "host/nn/run_lowered.h"
#include "host/nn/vector_product.h"
#include "host/onnx/import.h"
#include "host/onnx/test_models.h"

namespace tessera::nn {
namespace {

using model::Shape;
using model::Tensor;
using model::Type;

AmpTask layer(std::int64_t extent, std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride) {
  AmpTask task;
  task.in_channels = in, task.out_channels = out;
  task.out_h = task.out_w = extent, task.in_h = task.in_w = extent * stride;
  task.kernel_h = task.kernel_w = kernel, task.stride_h = task.stride_w = stride;
  task.pad_h = task.pad_w = kernel / 2;
  task.tiles = 1216, task.tile_bytes = 100 * 1024, task.weight_bytes = 20 * 1024;
  return task;
}

TEST(AmpPlan, BlocksCoverTheProductOnTilesThatAreThere) {
  for (const AmpTask& task : {layer(56, 64, 256, 1, 1), layer(28, 128, 128, 3, 1), layer(14, 256, 256, 3, 2),
                              layer(7, 512, 2048, 1, 1), layer(5, 20, 12, 3, 1), layer(1, 7, 9, 1, 1)}) {
    const AmpPlan plan = plan_amp(task);
    EXPECT_TRUE(plan.fits);
    EXPECT_LE(plan.tiles(), 1216);
    EXPECT_GE(plan.row_blocks * plan.rows, task.out_h);
    EXPECT_GE(plan.column_blocks * plan.columns, task.out_w);
    EXPECT_GE(plan.out_blocks * plan.out_sets, task.out_sets());
    EXPECT_GE(plan.in_parts * plan.in_blocks, task.in_blocks());
    EXPECT_GE(plan.sum_positions(), (plan.rows - 1) * plan.pitch + plan.columns);
    EXPECT_EQ(plan.text(), plan_amp(task).text());
  }
}

TEST(AmpPlan, LayersOfResidualNetworksUseTheUnitWell) {
  EXPECT_GT(plan_amp(layer(14, 256, 256, 3, 1)).useful, 0.45);
  EXPECT_GT(plan_amp(layer(56, 64, 64, 3, 1)).useful, 0.45);
  EXPECT_GT(plan_amp(layer(28, 256, 512, 1, 2)).useful, 0.4);
}

TEST(AmpPlan, TapsOfAStrideSeePlanesOfTheirOwn) {
  const AmpPlan plan = plan_amp(layer(14, 64, 64, 3, 2));
  EXPECT_EQ(plan.taps.size(), 9U);
  EXPECT_EQ(plan.planes.size(), 2U);  // columns are kept together: both phases are used
  EXPECT_TRUE(plan.wide);
  EXPECT_EQ(plan_amp(layer(14, 64, 64, 1, 2)).planes.size(), 1U);
}

TEST(HomeLayout, ViewsAreFoundAgain) {
  graph::Graph graph(5);
  for (const graph::Shape& shape : {graph::Shape{2, 32, 3, 5}, graph::Shape{7, 24}, graph::Shape{1, 20, 4}}) {
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const std::uint64_t block = home_block(graph::Type::f16, shape[axis]);
      if (block == 0) continue;
      const HomeLayout made = make_home(graph, graph::Type::f16, block, shape[axis] / block,
                                        graph::element_count(shape) / shape[axis], "v");
      const graph::Tensor view = home_view(graph::Type::f16, made, shape, axis);
      EXPECT_EQ(view.shape(), shape);
      EXPECT_FALSE(view.aliases_itself());
      const auto found = find_home(graph, view, axis);
      ASSERT_TRUE(found);
      EXPECT_EQ(found->variable, made.variable);
      EXPECT_EQ(found->block, block);
      for (std::uint64_t i = 0; i < view.elements(); i += 7) {
        std::uint64_t inner = 1, outer = 1;
        for (std::size_t k = 0; k < shape.size(); ++k) (k < axis ? outer : inner) *= k == axis ? 1 : shape[k];
        const std::uint64_t channel = i / inner % shape[axis], position = i / inner / shape[axis] * inner + i % inner;
        EXPECT_EQ(view.at(i).second, made.element(channel, position));
      }
    }
  }
}

Tensor numbers(Type type, const Shape& shape, std::uint32_t seed) {
  Tensor tensor(type, shape);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    seed = seed * 1664525 + 1013904223;
    const float value = static_cast<float>(static_cast<std::int32_t>(seed) >> 20) / 2048.0F;
    if (type == Type::f16)
      tensor.set(i, model::to_half(value));
    else
      tensor.set(i, value);
  }
  return tensor;
}

std::vector<std::string> texts(const Shape& shape) {
  std::vector<std::string> result;
  for (const std::int64_t extent : shape) result.push_back(std::to_string(extent));
  return result;
}

/// Extents that import works out.
std::vector<std::string> open(std::size_t rank) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < rank; ++i) result.push_back("e" + std::to_string(i));
  return result;
}

/// Lowers for these tiles, runs on the host, compares every output with the reference.
void expect_reference(const model::TestGraph& graph, unsigned tiles, double rtol) {
  const model::Model model = model::import_bytes(model::to_bytes(graph), "test");
  std::vector<Tensor> inputs;
  for (const model::ValueId id : model.inputs)
    inputs.push_back(numbers(model.value(id).type, model.value(id).shape, id + 5));
  Options options;
  options.tiles = tiles;
  const auto results = execute(lower(model, options), inputs);
  const auto reference = golden::run(model, inputs);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto comparison = golden::compare(results[i], *reference[model.outputs[i]], {rtol, 20 * rtol}, "y");
    EXPECT_TRUE(comparison.passes()) << comparison.text();
    EXPECT_EQ(comparison.values, static_cast<std::uint64_t>(results[i].elements()));
  }
}

struct ConvCase {
  const char* name;
  Type type;
  Shape x, w;
  std::int64_t group;
  std::vector<std::int64_t> strides, dilations, pads;
  bool computed, transposed;
};

model::TestGraph conv_graph(const ConvCase& c, bool fused) {
  model::TestGraph graph;
  const std::int64_t out = c.transposed ? c.w[1] * c.group : c.w[0];
  graph.inputs = {{"x", c.type, texts(c.x)}};
  if (c.computed)
    graph.inputs.push_back({"w", c.type, texts(c.w)});
  else
    graph.initializers.push_back({"w", numbers(c.type, c.w, 3)});
  graph.initializers.push_back({"b", numbers(c.type, {out}, 9)});
  graph.nodes = {{c.transposed ? "ConvTranspose" : "Conv",
                  {"x", "w", "b"},
                  {fused ? "c" : "y"},
                  {{"group", c.group}, {"strides", c.strides}, {"dilations", c.dilations}, {"pads", c.pads}},
                  "conv",
                  ""}};
  if (fused) {
    graph.initializers.push_back({"scale", numbers(c.type, {out}, 11)});
    graph.initializers.push_back({"shift", numbers(c.type, {out}, 12)});
    graph.initializers.push_back({"mean", numbers(c.type, {out}, 13)});
    Tensor variance(c.type, {out});
    for (std::int64_t i = 0; i < out; ++i) {
      const float v = 0.5F + static_cast<float>(i % 7);
      if (c.type == Type::f16)
        variance.set(i, model::to_half(v));
      else
        variance.set(i, v);
    }
    graph.initializers.push_back({"variance", variance});
    graph.nodes.push_back({"BatchNormalization", {"c", "scale", "shift", "mean", "variance"}, {"n"}, {}, "norm", ""});
    graph.nodes.push_back({"Relu", {"n"}, {"y"}, {}, "relu", ""});
  }
  graph.outputs = {{"y", c.type, open(c.x.size())}};
  return graph;
}

void PrintTo(const ConvCase& c, std::ostream* out) { *out << c.name; }

/// Element-wise nodes meet results on the tiles of their product, whose blocks come back to a tile in the order of
/// elements. Extents and kernels of all kinds; the fields are cut unevenly.
TEST(Results, ElementwiseNodesTakeThemWhereTheyStand) {
  for (const Type type : {Type::f32, Type::f16})
    for (const Shape& w : {Shape{8, 8, 1, 3}, Shape{8, 8, 3, 1}, Shape{16, 8, 3, 3}, Shape{24, 8, 5, 1}}) {
      ConvCase c{"then", type, {1, 8, 15, 34}, w, 1, {1, 1}, {1, 1}, {0, 0, 0, 0}, false, false};
      model::TestGraph graph = conv_graph(c, false);
      graph.nodes[0].outputs = {"c"};
      graph.nodes.push_back({"Neg", {"c"}, {"n"}, {}, "neg", ""});
      graph.nodes.push_back({"Mul", {"n", "c"}, {"y"}, {}, "mul", ""});
      for (const unsigned tiles : {1U, 16U, 100U}) expect_reference(graph, tiles, type == Type::f16 ? 4e-3 : 1e-5);
    }
}

class Convolutions : public ::testing::TestWithParam<ConvCase> {};

TEST_P(Convolutions, EqualTheReference) {
  const ConvCase& c = GetParam();
  for (const unsigned tiles : {1U, 16U, 70U})
    expect_reference(conv_graph(c, false), tiles, c.type == Type::f16 ? 2e-3 : 1e-5);
}

/// Groups of up to eight channels take halves of two columns of the kernel in a load.
TEST(NarrowGroups, EqualTheReference) {
  for (const std::int64_t width : {1, 2, 4, 8, 16})
    for (const std::int64_t kernel : {2, 3, 4, 5})
      for (const std::int64_t stride : {1, 2})
        for (const std::int64_t dilation : {1, 2}) {
          const std::int64_t channels = width == 2 ? 48 : 32, out = width == 1 ? 2 : width;
          const ConvCase c{"narrow",
                           Type::f16,
                           {2, channels, 9, 11},
                           {channels / width * out, width, kernel, kernel},
                           channels / width,
                           {stride, stride},
                           {dilation, dilation},
                           {1, 2, 3, 2},
                           false,
                           false};
          for (const unsigned tiles : {1U, 70U}) expect_reference(conv_graph(c, false), tiles, 2e-3);
        }
  AmpTask task = layer(28, 16, 16, 3, 1);
  task.groups = 8, task.narrow_in = task.narrow_out = 8;
  EXPECT_EQ(plan_amp(task).taps.size(), 6U);
  task.narrow_in = task.narrow_out = 16;
  EXPECT_EQ(plan_amp(task).taps.size(), 9U);
}

TEST_P(Convolutions, TakeNormalisationAndReluAlong) {
  const ConvCase& c = GetParam();
  const model::Model model = model::import_bytes(model::to_bytes(conv_graph(c, true)), "test");
  Options options;
  options.tiles = 16;
  // Weights that the program computes are not scaled: the normalisation stays by itself, the results are the same.
  const std::size_t products = lower(model, options).notes.size();
  EXPECT_TRUE(c.computed || products == 1) << products << " products";
  expect_reference(conv_graph(c, true), 16, c.type == Type::f16 ? 6e-3 : 1e-5);
}

const Type kHalf = Type::f16, kFloat = Type::f32;
INSTANTIATE_TEST_SUITE_P(
    Shapes, Convolutions,
    ::testing::Values(
        ConvCase{"plain", kHalf, {1, 32, 9, 7}, {24, 32, 3, 3}, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}, false, false},
        ConvCase{"plain_f32", kFloat, {2, 16, 9, 7}, {24, 16, 3, 3}, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}, false, false},
        ConvCase{"pointwise", kHalf, {1, 48, 6, 5}, {40, 48, 1, 1}, 1, {1, 1}, {1, 1}, {0, 0, 0, 0}, false, false},
        ConvCase{"odd", kHalf, {2, 5, 8, 6}, {7, 5, 3, 2}, 1, {1, 1}, {1, 1}, {0, 1, 2, 0}, false, false},
        ConvCase{"strided", kHalf, {1, 16, 11, 12}, {16, 16, 3, 3}, 1, {2, 2}, {1, 1}, {1, 1, 1, 1}, false, false},
        ConvCase{
            "strided_pointwise", kHalf, {1, 16, 11, 12}, {16, 16, 1, 1}, 1, {2, 2}, {1, 1}, {0, 0, 0, 0}, false, false},
        ConvCase{"strides_differ", kFloat, {1, 8, 11, 12}, {9, 8, 3, 3}, 1, {3, 2}, {1, 1}, {1, 2, 0, 1}, false, false},
        ConvCase{"dilated", kHalf, {1, 16, 12, 11}, {8, 16, 3, 3}, 1, {1, 1}, {2, 3}, {2, 3, 2, 3}, false, false},
        ConvCase{
            "dilated_strided", kFloat, {1, 8, 12, 11}, {8, 8, 3, 3}, 1, {2, 2}, {3, 2}, {2, 3, 2, 3}, false, false},
        ConvCase{"image", kHalf, {1, 3, 17, 18}, {16, 3, 7, 7}, 1, {2, 2}, {1, 1}, {3, 3, 3, 3}, false, false},
        ConvCase{"image_f32", kFloat, {2, 1, 9, 9}, {6, 1, 5, 5}, 1, {1, 1}, {1, 1}, {2, 2, 2, 2}, false, false},
        ConvCase{"grouped", kHalf, {1, 16, 6, 7}, {32, 4, 3, 3}, 4, {1, 1}, {1, 1}, {1, 1, 1, 1}, false, false},
        ConvCase{"grouped_wide", kHalf, {1, 64, 5, 5}, {48, 32, 3, 3}, 2, {1, 1}, {1, 1}, {1, 1, 1, 1}, false, false},
        ConvCase{"depthwise", kFloat, {1, 12, 6, 7}, {12, 1, 3, 3}, 12, {1, 1}, {1, 1}, {1, 1, 1, 1}, false, false},
        ConvCase{"spectrum", kHalf, {2, 1, 192}, {21, 1, 75}, 1, {32}, {1}, {16, 4}, false, false},
        ConvCase{"spectrum_f32", kFloat, {1, 1, 160}, {9, 1, 37}, 1, {16}, {1}, {0, 0}, false, false},
        ConvCase{"spectrum_rows", kFloat, {2, 1, 5, 64}, {9, 1, 3, 24}, 1, {2, 8}, {1, 1}, {1, 8, 1, 3}, false, false},
        ConvCase{"one_axis", kHalf, {1, 16, 40}, {24, 16, 2}, 1, {1}, {8}, {8, 0}, false, false},
        ConvCase{"three_axes",
                 kFloat,
                 {2, 4, 5, 6, 5},
                 {8, 4, 3, 2, 3},
                 1,
                 {2, 1, 1},
                 {1, 1, 2},
                 {1, 0, 1, 1, 1, 2},
                 false,
                 false},
        ConvCase{"computed", kHalf, {1, 6, 6, 7}, {10, 6, 3, 3}, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}, true, false},
        ConvCase{"computed_grouped", kFloat, {1, 8, 6, 7}, {12, 4, 3, 3}, 2, {1, 1}, {1, 1}, {1, 1, 1, 1}, true, false},
        ConvCase{"transposed", kHalf, {1, 16, 5, 6}, {16, 8, 3, 3}, 1, {2, 2}, {1, 1}, {1, 1, 0, 0}, false, true},
        ConvCase{
            "transposed_grouped", kFloat, {1, 8, 5, 6}, {8, 3, 3, 2}, 2, {3, 2}, {1, 2}, {0, 1, 1, 0}, false, true},
        ConvCase{"transposed_computed", kFloat, {1, 3, 4}, {3, 5, 3}, 1, {2}, {1}, {0, 0}, true, true}),
    [](const auto& info) { return info.param.name; });

struct MatmulCase {
  const char* name;
  Type type;
  Shape a, b;
  bool computed;
};
void PrintTo(const MatmulCase& c, std::ostream* out) { *out << c.name; }

class MatrixProducts : public ::testing::TestWithParam<MatmulCase> {};

TEST_P(MatrixProducts, EqualTheReference) {
  const MatmulCase& c = GetParam();
  model::TestGraph graph;
  graph.inputs = {{"a", c.type, texts(c.a)}};
  if (c.computed)
    graph.inputs.push_back({"b", c.type, texts(c.b)});
  else
    graph.initializers.push_back({"b", numbers(c.type, c.b, 3)});
  graph.nodes = {{"MatMul", {"a", "b"}, {"y"}, {}, "product", ""}};
  graph.outputs = {{"y", c.type, open(std::max(c.a.size(), c.b.size()) - (c.a.size() == 1 ? 1 : 0))}};
  for (const unsigned tiles : {1U, 16U, 70U}) expect_reference(graph, tiles, c.type == Type::f16 ? 2e-3 : 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Shapes, MatrixProducts,
                         ::testing::Values(MatmulCase{"plain", kHalf, {20, 32}, {32, 24}, false},
                                           MatmulCase{"odd", kHalf, {7, 13}, {13, 5}, false},
                                           MatmulCase{"vector", kHalf, {64}, {64, 40}, false},
                                           MatmulCase{"wide_vector", kHalf, {1, 512}, {512, 203}, false},
                                           MatmulCase{"few_rows", kHalf, {2, 2, 96}, {96, 50}, false},
                                           MatmulCase{"vector_f32", kFloat, {1, 900}, {900, 12}, false},
                                           MatmulCase{"few_rows_f32", kFloat, {3, 900}, {900, 26}, true},
                                           MatmulCase{"large_f32", kFloat, {64, 96}, {96, 80}, false},
                                           MatmulCase{"computed", kHalf, {9, 32}, {32, 16}, true},
                                           MatmulCase{"batched", kHalf, {3, 9, 16}, {3, 16, 24}, true},
                                           MatmulCase{"heads", kHalf, {1, 4, 12, 20}, {1, 4, 20, 12}, true},
                                           MatmulCase{"broadcast", kHalf, {2, 1, 6, 8}, {3, 8, 5}, true}),
                         [](const auto& info) { return info.param.name; });

/// A layer of one row with bias and Relu, and what the plan says.
TEST(VectorProducts, TakeBiasAndReluAlong) {
  for (const Type type : {kHalf, kFloat}) {
    model::TestGraph graph;
    graph.inputs = {{"a", type, texts({2, 256})}};
    graph.initializers = {{"b", numbers(type, {90, 256}, 3)}, {"c", numbers(type, {90}, 4)}};
    graph.nodes = {{"Gemm", {"a", "b", "c"}, {"p"}, {{"transB", std::int64_t{1}}}, "product", ""},
                   {"Relu", {"p"}, {"y"}, {}, "relu", ""}};
    graph.outputs = {{"y", type, open(2)}};
    for (const unsigned tiles : {1U, 16U, 70U}) expect_reference(graph, tiles, type == kHalf ? 2e-3 : 1e-5);
  }
}

TEST(VectorProducts, PlansKeepLimits) {
  AmpTask limits;
  limits.tiles = 1216, limits.tile_bytes = 100000, limits.weight_bytes = 50000;
  const auto plan = plan_vector_product(graph::Type::f16, 1, 2048, 1000, limits);
  ASSERT_TRUE(plan);
  EXPECT_LE(plan->column_tiles * plan->parts, 1216u);
  EXPECT_GE(plan->column_tiles * plan->groups * 4, 1000u);
  EXPECT_EQ(plan->parts * plan->vectors, 512u);
  EXPECT_LT(plan->cycles, 3000u);
  EXPECT_FALSE(plan_vector_product(graph::Type::f16, 1, 2044, 1000, limits));
  EXPECT_FALSE(plan_vector_product(graph::Type::f16, 5, 2048, 1000, limits));
  limits.weight_bytes = 2000;
  EXPECT_FALSE(plan_vector_product(graph::Type::f16, 1, 2048, 1000, limits));
}

}  // namespace
}  // namespace tessera::nn
