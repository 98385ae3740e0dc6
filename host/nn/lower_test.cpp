// Structure of lowered graphs, and their results against the reference on random shapes, values and numbers of tiles.
#include "host/nn/lower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>

#include "host/golden/compare.h"
#include "host/golden/evaluate.h"
#include "host/nn/matmul_plan.h"
#include "host/nn/run_lowered.h"
#include "host/onnx/import.h"
#include "host/onnx/tensor_io.h"
#include "host/onnx/test_models.h"
#include "hw/error.h"

namespace tessera::nn {
namespace {

using graph::Program;
using model::Shape;
using model::Tensor;
using model::Type;

const std::string kDigits = TESSERA_SOURCE_DIR "/host/examples/digits/";

std::vector<std::string> extents(const Shape& shape) {
  std::vector<std::string> result;
  for (const std::int64_t extent : shape) result.push_back(std::to_string(extent));
  return result;
}

std::vector<std::string> open_extents(std::size_t rank) {
  std::vector<std::string> result;
  for (std::size_t k = 0; k < rank; ++k) result.push_back("d" + std::to_string(k));
  return result;
}

/// All outputs of a model against the reference.
golden::Comparison check(const model::Model& model, const std::vector<Tensor>& inputs, const Options& options) {
  const auto reference = golden::run(model, inputs);
  const auto results = execute(lower(model, options), inputs);
  golden::Comparison all;
  for (std::size_t i = 0; i < results.size(); ++i)
    all.merge(golden::compare(results[i], reference[model.outputs[i]].value(), {1e-4, 1e-5, 0},
                              model.value(model.outputs[i]).name));
  return all;
}

/// The whole range in the first and smallest cases too: rows of nearly equal numbers, which these would be, have no
/// mean and deviation in f32 to speak of.
Tensor random_floats(const Shape& shape) {
  const auto values = rc::gen::resize(rc::kNominalSize, rc::gen::inRange(-1000, 1000));
  Tensor result(Type::f32, shape);
  for (std::int64_t i = 0; i < result.elements(); ++i) result.set(i, static_cast<float>(*values) / 256.0F);
  return result;
}

Tensor random_integers(const Shape& shape) {
  Tensor result(Type::i32, shape);
  for (std::int64_t i = 0; i < result.elements(); ++i)
    result.set(i, static_cast<std::int32_t>(*rc::gen::inRange(-99, 99)));
  return result;
}

Shape random_shape(int least, int most_axes, int most) {
  Shape shape(static_cast<std::size_t>(*rc::gen::inRange(least, most_axes + 1)));
  for (std::int64_t& extent : shape) extent = *rc::gen::inRange(1, most + 1);
  return shape;
}

/// A shape that broadcasts to `shape`.
Shape narrower(const Shape& shape) {
  Shape result(shape.begin() + *rc::gen::inRange<std::ptrdiff_t>(0, static_cast<std::ptrdiff_t>(shape.size()) + 1),
               shape.end());
  for (std::int64_t& extent : result)
    if (*rc::gen::inRange(0, 3) == 0) extent = 1;
  return result;
}

unsigned random_tiles() { return *rc::gen::element(1U, 2U, 5U, 16U, 40U); }

// The digits example.

model::Model digits(std::int64_t rows) {
  model::ImportOptions import;
  import.shapes["images"] = {rows, 64};
  return model::import_model(kDigits + "digits.onnx", import);
}

TEST(Digits, BatchLoopsOnTheDevice) {
  const Lowered lowered = lower(digits(599), {});
  EXPECT_EQ(lowered.batch, 599);
  EXPECT_GT(lowered.steps, 1U);
  EXPECT_GE(lowered.steps * lowered.chunk, 599);
  ASSERT_EQ(lowered.graph.streams().size(), 2U);
  EXPECT_EQ(lowered.graph.streams()[0].elements, static_cast<std::uint64_t>(lowered.chunk) * 64);
  const auto& main = std::get<Program::Sequence>(lowered.graph.entries().at(0).program.node());
  ASSERT_EQ(main.steps.size(), 1U);
  const auto* loop = std::get_if<Program::Repeat>(&main.steps[0].node());
  ASSERT_NE(loop, nullptr);
  EXPECT_EQ(loop->count, lowered.steps);
}

TEST(Digits, ClassifiesHeldOutImagesOnAnyNumberOfTilesAndInAnyChunk) {
  const Tensor images = model::read_tensor(kDigits + "input_0.pb"), labels = model::read_tensor(kDigits + "labels.pb");
  const model::Model model = digits(599);
  const Tensor reference = golden::run(model, {images})[model.outputs[0]].value();
  for (const auto& [tiles, chunk] :
       std::vector<std::pair<unsigned, std::int64_t>>{{16, 0}, {1, 100}, {16, 7}, {1216, 599}}) {
    Options options;
    options.tiles = tiles;
    options.chunk = chunk;
    const Tensor logits = execute(lower(model, options), {images}).at(0);
    const golden::Comparison c = golden::compare(logits, reference, {1e-4, 1e-4, 0});
    EXPECT_TRUE(c.passes()) << c.text();
    EXPECT_EQ(c.values, 5990U);
    int right = 0;
    for (std::int64_t row = 0; row < 599; ++row) {
      std::int64_t best = 0;
      for (std::int64_t k = 1; k < 10; ++k)
        if (logits.at<float>(row * 10 + k) > logits.at<float>(row * 10 + best)) best = k;
      right += best == labels.at<std::int64_t>(row) ? 1 : 0;
    }
    EXPECT_GE(right, 576);  // 96 %
  }
}

TEST(Digits, SameModelGivesTheSameGraph) {
  const Lowered a = lower(digits(599), {}), b = lower(digits(599), {});
  ASSERT_EQ(a.graph.variables().size(), b.graph.variables().size());
  for (std::size_t i = 0; i < a.graph.variables().size(); ++i) {
    EXPECT_EQ(a.graph.variables()[i].name, b.graph.variables()[i].name);
    const auto& data = a.graph.variables()[i].data;
    ASSERT_EQ(data == nullptr, b.graph.variables()[i].data == nullptr);
    if (data) {
      EXPECT_EQ(*data, *b.graph.variables()[i].data);
    }
    EXPECT_TRUE(a.graph.variables()[i].mapping == b.graph.variables()[i].mapping);
  }
  EXPECT_EQ(a.graph.vertices().size(), b.graph.vertices().size());
}

TEST(Digits, NodesCanBeTapped) {
  Options options;
  options.tap_nodes = true;
  const Lowered lowered = lower(digits(32), options);
  std::set<std::string> names;
  for (const Binding& tap : lowered.taps) {
    names.insert(tap.name);
    EXPECT_EQ(tap.shape.front(), 32);
    EXPECT_EQ(tap.rows, lowered.chunk);
  }
  const model::Model model = digits(32);
  for (const model::Node& node : model.nodes)
    EXPECT_EQ(names.count(model.value(node.outputs[0]).name), 1U) << node.name;
  EXPECT_EQ(names.size(), model.nodes.size());
}

// Results on random shapes.

TEST(Lowering, BinaryOperatorsBroadcast) {
  EXPECT_TRUE(rc::check([] {
    const Shape shape = random_shape(0, 4, 6);
    const Shape a = *rc::gen::arbitrary<bool>() ? shape : narrower(shape), b = narrower(shape);
    const std::string op = *rc::gen::element<std::string>("Add", "Sub", "Mul", "Div", "Max", "Min");
    const bool integers = *rc::gen::arbitrary<bool>(), constant = *rc::gen::arbitrary<bool>(),
               swap = *rc::gen::arbitrary<bool>();
    const Tensor x = integers ? random_integers(a) : random_floats(a),
                 y = integers ? random_integers(b) : random_floats(b);
    model::TestGraph graph;
    graph.inputs = {{"x", x.type, extents(a)}};
    if (constant)
      graph.initializers = {{"y", y}};
    else
      graph.inputs.push_back({"y", y.type, extents(b)});
    graph.outputs = {{"z", x.type, open_extents(std::max(a.size(), b.size()))}};
    graph.nodes = {
        {op, swap ? std::vector<std::string>{"y", "x"} : std::vector<std::string>{"x", "y"}, {"z"}, {}, "", ""}};
    const model::Model model = model::import_bytes(model::to_bytes(graph), "m");
    Options options;
    options.tiles = random_tiles();
    const auto c = check(model, constant ? std::vector<Tensor>{x} : std::vector<Tensor>{x, y}, options);
    RC_LOG() << c.text();
    RC_ASSERT(c.passes());
  }));
}

TEST(Lowering, MatMulOfAnyRank) {
  EXPECT_TRUE(rc::check([] {
    const Shape outer = random_shape(0, 2, 4);
    const std::int64_t m = *rc::gen::inRange(1, 40), k = *rc::gen::inRange(1, 70), n = *rc::gen::inRange(1, 40);
    Shape a = narrower(outer), b = narrower(outer);
    a.insert(a.end(), {m, k});
    b.insert(b.end(), {k, n});
    if (*rc::gen::inRange(0, 5) == 0) a = {k};
    if (*rc::gen::inRange(0, 5) == 0) b = {k};
    const bool constant = *rc::gen::arbitrary<bool>();
    const Tensor x = random_floats(a), y = random_floats(b);
    model::TestGraph graph;
    graph.inputs = {{"x", Type::f32, extents(a)}};
    if (constant)
      graph.initializers = {{"y", y}};
    else
      graph.inputs.push_back({"y", Type::f32, extents(b)});
    const std::size_t rank =
        std::max({a.size(), b.size(), std::size_t{2}}) - (a.size() == 1 ? 1 : 0) - (b.size() == 1 ? 1 : 0);
    graph.outputs = {{"z", Type::f32, open_extents(rank)}};
    graph.nodes = {{"MatMul", {"x", "y"}, {"z"}, {}, "", ""}};
    const model::Model model = model::import_bytes(model::to_bytes(graph), "m");
    Options options;
    options.tiles = random_tiles();
    // Little memory makes the planner cut in other ways.
    if (*rc::gen::arbitrary<bool>()) options.sram_bytes = 128 * 1024;
    const auto c = check(model, constant ? std::vector<Tensor>{x} : std::vector<Tensor>{x, y}, options);
    RC_LOG() << c.text();
    RC_ASSERT(c.passes());
  }));
}

TEST(Lowering, GemmInAllForms) {
  EXPECT_TRUE(rc::check([] {
    const std::int64_t m = *rc::gen::inRange(1, 30), k = *rc::gen::inRange(1, 60), n = *rc::gen::inRange(1, 30);
    const bool ta = *rc::gen::arbitrary<bool>(), tb = *rc::gen::arbitrary<bool>(),
               constant = *rc::gen::arbitrary<bool>();
    const Tensor a = random_floats(ta ? Shape{k, m} : Shape{m, k}), b = random_floats(tb ? Shape{n, k} : Shape{k, n});
    const Tensor c =
        random_floats(*rc::gen::element(Shape{}, Shape{n}, Shape{1}, Shape{1, n}, Shape{m, 1}, Shape{m, n}));
    const bool has_c = *rc::gen::arbitrary<bool>();
    model::TestGraph graph;
    graph.inputs = {{"a", Type::f32, extents(a.shape)}};
    std::vector<Tensor> inputs = {a};
    const auto add = [&](const std::string& name, const Tensor& tensor) {
      if (constant) {
        graph.initializers.emplace_back(name, tensor);
      } else {
        graph.inputs.push_back({name, Type::f32, extents(tensor.shape)});
        inputs.push_back(tensor);
      }
    };
    add("b", b);
    if (has_c) add("c", c);
    model::TestNode node = {"Gemm", {"a", "b"}, {"y"}, {}, "", ""};
    if (has_c) node.inputs.push_back("c");
    node.attributes["transA"] = std::int64_t{ta ? 1 : 0};
    node.attributes["transB"] = std::int64_t{tb ? 1 : 0};
    node.attributes["alpha"] = *rc::gen::element(1.0F, 0.5F);
    node.attributes["beta"] = *rc::gen::element(1.0F, -2.0F);
    graph.nodes = {node};
    graph.outputs = {{"y", Type::f32, {"d0", "d1"}}};
    Options options;
    options.tiles = random_tiles();
    const auto result = check(model::import_bytes(model::to_bytes(graph), "m"), inputs, options);
    RC_LOG() << result.text();
    RC_ASSERT(result.passes());
  }));
}

TEST(Lowering, ChainsOfViewsMoveNothingWrong) {
  EXPECT_TRUE(rc::check([] {
    const Shape shape = random_shape(1, 4, 5);
    const Tensor x = random_floats(shape);
    model::TestGraph graph;
    graph.inputs = {{"v0", Type::f32, extents(shape)}};
    Shape now = shape;
    const int length = *rc::gen::inRange(1, 6);
    for (int i = 0; i < length; ++i) {
      const std::string from = "v" + std::to_string(i), to = "v" + std::to_string(i + 1);
      const auto rank = static_cast<std::int64_t>(now.size());
      switch (*rc::gen::inRange(0, 5)) {
        case 0: {
          std::vector<std::int64_t> permutation(now.size());
          for (std::size_t k = 0; k < now.size(); ++k) permutation[k] = static_cast<std::int64_t>((k + 1) % now.size());
          graph.nodes.push_back({"Transpose", {from}, {to}, {{"perm", permutation}}, "", ""});
          Shape next;
          for (const std::int64_t axis : permutation) next.push_back(now[static_cast<std::size_t>(axis)]);
          now = next;
          break;
        }
        case 1:
          graph.nodes.push_back({"Flatten", {from}, {to}, {{"axis", rank / 2}}, "", ""});
          now = {model::element_count(Shape(now.begin(), now.begin() + rank / 2)),
                 model::element_count(Shape(now.begin() + rank / 2, now.end()))};
          break;
        case 2:
          graph.nodes.push_back({"Concat", {from, from}, {to}, {{"axis", rank - 1}}, "", ""});
          now.back() *= 2;
          break;
        case 3: {
          const std::string suffix = std::to_string(i);
          graph.initializers.insert(graph.initializers.end(),
                                    {{"s" + suffix, Tensor(Type::i64, {1}, std::vector<std::int64_t>{-1})},
                                     {"e" + suffix, Tensor(Type::i64, {1}, std::vector<std::int64_t>{-1000})},
                                     {"a" + suffix, Tensor(Type::i64, {1}, std::vector<std::int64_t>{0})},
                                     {"t" + suffix, Tensor(Type::i64, {1}, std::vector<std::int64_t>{-2})}});
          graph.nodes.push_back(
              {"Slice", {from, "s" + suffix, "e" + suffix, "a" + suffix, "t" + suffix}, {to}, {}, "", ""});
          now[0] = (now[0] + 1) / 2;
          break;
        }
        default:
          graph.nodes.push_back({"Relu", {from}, {to}, {}, "", ""});
      }
    }
    graph.outputs = {{"v" + std::to_string(length), Type::f32, open_extents(now.size())}};
    Options options;
    options.tiles = random_tiles();
    const auto c = check(model::import_bytes(model::to_bytes(graph), "m"), {x}, options);
    RC_LOG() << c.text();
    RC_ASSERT(c.passes());
  }));
}

TEST(Lowering, SoftmaxOverAnyAxis) {
  EXPECT_TRUE(rc::check([] {
    const Shape shape = random_shape(1, 4, 9);
    const std::int64_t axis = *rc::gen::inRange<std::int64_t>(0, static_cast<std::int64_t>(shape.size()));
    model::TestGraph graph;
    graph.inputs = {{"x", Type::f32, extents(shape)}};
    graph.outputs = {{"y", Type::f32, extents(shape)}};
    graph.nodes = {{*rc::gen::element<std::string>("Softmax", "LogSoftmax"), {"x"}, {"y"}, {{"axis", axis}}, "", ""}};
    Options options;
    options.tiles = random_tiles();
    const auto c = check(model::import_bytes(model::to_bytes(graph), "m"), {random_floats(shape)}, options);
    RC_LOG() << c.text();
    RC_ASSERT(c.passes());
  }));
}

TEST(Lowering, LongRowsInParts) {
  EXPECT_TRUE(rc::check([] {
    const Shape shape = {*rc::gen::inRange<std::int64_t>(1, 4), *rc::gen::inRange<std::int64_t>(100, 700)};
    const std::string op = *rc::gen::element<std::string>("Softmax", "LogSoftmax", "ArgMax", "ArgMin");
    const bool arg = op[0] == 'A';
    model::TestGraph graph;
    graph.inputs = {{"x", Type::f32, extents(shape)}};
    graph.outputs = {{"y", arg ? Type::i64 : Type::f32, extents({shape[0], arg ? 1 : shape[1]})}};
    graph.nodes = {{op, {"x"}, {"y"}, {{"axis", std::int64_t{1}}}, "", ""}};
    if (arg) graph.nodes[0].attributes["select_last_index"] = *rc::gen::inRange<std::int64_t>(0, 2);
    Options options;
    options.tiles = *rc::gen::element(3U, 64U, 300U);
    Tensor x = random_floats(shape);
    if (arg)  // equal elements in several parts
      for (std::int64_t i = 0; i < x.elements(); ++i) x.set(i, std::floor(static_cast<float>(x.real(i))));
    const auto model = model::import_bytes(model::to_bytes(graph), "m");
    const auto c = check(model, {x}, options);
    RC_LOG() << c.text();
    RC_ASSERT(c.passes());
    bool parts = false;
    const Lowered lowered = lower(model, options);
    for (const auto& family : lowered.graph.vertices()) parts = parts || family.codelet.rfind("Part", 0) == 0;
    RC_ASSERT(parts || options.tiles == 3);
  }));
}

TEST(Lowering, FewLongRowsAreNormalisedByAllTiles) {
  EXPECT_TRUE(rc::check([] {
    const Shape shape = {*rc::gen::inRange<std::int64_t>(1, 3), *rc::gen::inRange<std::int64_t>(1, 4),
                         *rc::gen::inRange<std::int64_t>(300, 900)};
    const std::string op = *rc::gen::element<std::string>("InstanceNormalization", "MeanVarianceNormalization");
    const bool instance = op[0] == 'I';
    model::TestGraph graph;
    graph.inputs = {{"x", Type::f32, extents(shape)}};
    graph.outputs = {{"y", Type::f32, extents(shape)}};
    graph.nodes = {{op, {"x"}, {"y"}, {}, "", ""}};
    if (instance) {
      graph.nodes[0].inputs = {"x", "scale", "bias"};
      for (const char* name : {"scale", "bias"}) graph.initializers.push_back({name, random_floats({shape[1]})});
    } else {
      graph.nodes[0].attributes["axes"] = std::vector<std::int64_t>{0, 2};
    }
    Options options;
    options.tiles = *rc::gen::element(64U, 300U);
    const auto model = model::import_bytes(model::to_bytes(graph), "m");
    const auto c = check(model, {random_floats(shape)}, options);
    RC_LOG() << c.text();
    RC_ASSERT(c.passes());
    const Lowered lowered = lower(model, options);
    for (const auto& family : lowered.graph.vertices()) RC_ASSERT(family.codelet != "RowNorm_f32");
  }));
}

TEST(Lowering, CastsBetweenAllTypes) {
  for (const Type from : {Type::f32, Type::i32, Type::boolean})
    for (const Type to : {Type::f32, Type::i32, Type::boolean}) {
      Tensor x(from, {37});
      for (std::int64_t i = 0; i < 37; ++i) {
        if (from == Type::f32) x.set(i, static_cast<float>(i - 18) * 0.75F);
        if (from == Type::i32) x.set(i, static_cast<std::int32_t>(i - 18));
        if (from == Type::boolean) x.set(i, static_cast<std::uint8_t>(i % 3 == 0 ? 1 : 0));
      }
      model::TestGraph graph;
      graph.inputs = {{"x", from, {"37"}}};
      graph.outputs = {{"y", to, {"37"}}};
      const std::int64_t code = to == Type::f32 ? 1 : to == Type::i32 ? 6 : 9;
      graph.nodes = {{"Cast", {"x"}, {"y"}, {{"to", code}}, "", ""}};
      const auto c = check(model::import_bytes(model::to_bytes(graph), "m"), {x}, {});
      EXPECT_TRUE(c.passes()) << name_of(from) << " to " << name_of(to) << ": " << c.text();
    }
}

// Structure.

void find_copies(const Program& program, std::vector<Program::Copy>& found) {
  if (const auto* copy = std::get_if<Program::Copy>(&program.node())) found.push_back(*copy);
  if (const auto* sequence = std::get_if<Program::Sequence>(&program.node()))
    for (const Program& step : sequence->steps) find_copies(step, found);
  if (const auto* repeat = std::get_if<Program::Repeat>(&program.node())) find_copies(*repeat->body, found);
}

TEST(Structure, ElementwiseChainStaysInPlaceAndCopiesNothing) {
  model::TestGraph graph;
  graph.inputs = {{"x", Type::f32, {"40", "30"}}};
  graph.initializers = {{"w", Tensor(Type::f32, {30}, std::vector<float>(30, 2.0F))}};
  graph.outputs = {{"y", Type::f32, {"30", "40"}}};
  graph.nodes = {{"Relu", {"x"}, {"a"}, {}, "", ""},
                 {"Mul", {"a", "w"}, {"b"}, {}, "", ""},
                 {"Transpose", {"b"}, {"c"}, {}, "", ""},
                 {"Tanh", {"c"}, {"d"}, {}, "", ""},
                 {"Add", {"d", "d"}, {"y"}, {}, "", ""}};
  const Lowered lowered = lower(model::import_bytes(model::to_bytes(graph), "m"), {});
  // Only the result is put into row-major order, once.
  std::vector<Program::Copy> found;
  find_copies(lowered.graph.entries()[0].program, found);
  EXPECT_EQ(found.size(), 1U);
}

TEST(Structure, WeightsStayOnTheirTiles) {
  const Lowered lowered = lower(digits(599), {});
  std::vector<Program::Copy> found;
  find_copies(lowered.graph.entries()[0].program, found);
  std::size_t constants = 0;
  // Tables of products are constants too, but whole numbers; each product has a bias for each kind of share.
  for (const graph::Variable& variable : lowered.graph.variables())
    constants +=
        variable.constant() && variable.type == graph::Type::f32 && variable.name.find("weights") != std::string::npos
            ? 1
            : 0;
  EXPECT_EQ(constants, 2U);
  for (const Program::Copy& copy : found)
    for (const graph::Box& box : copy.src.boxes())
      EXPECT_FALSE(lowered.graph.variable(box.variable).constant()) << lowered.graph.variable(box.variable).name;
}

TEST(Batch, OnlyIndependentRowsAreCut) {
  const auto independent = [](const std::vector<model::TestNode>& nodes, std::size_t rank) {
    model::TestGraph graph;
    graph.inputs = {{"x", Type::f32, {"N", "6"}}};
    graph.outputs = {{"y", Type::f32, open_extents(rank)}};
    graph.initializers = {{"w", Tensor(Type::f32, {6, 6}, std::vector<float>(36, 0.1F))},
                          {"same", Tensor(Type::i64, {3}, std::vector<std::int64_t>{4, 2, 3})},
                          {"fixed", Tensor(Type::i64, {2}, std::vector<std::int64_t>{2, 12})},
                          {"open", Tensor(Type::i64, {3}, std::vector<std::int64_t>{0, 2, 3})}};
    graph.nodes = nodes;
    model::ImportOptions import;
    import.shapes["x"] = {4, 6};
    return lower(model::import_bytes(model::to_bytes(graph), "m", import), {}).batch > 0;
  };
  EXPECT_TRUE(independent({{"MatMul", {"x", "w"}, {"y"}, {}, "", ""}}, 2));
  EXPECT_TRUE(independent({{"Reshape", {"x", "open"}, {"y"}, {}, "", ""}}, 3));
  EXPECT_TRUE(independent({{"Softmax", {"x"}, {"y"}, {{"axis", std::int64_t{1}}}, "", ""}}, 2));
  EXPECT_FALSE(independent({{"Softmax", {"x"}, {"y"}, {{"axis", std::int64_t{0}}}, "", ""}}, 2));
  EXPECT_TRUE(independent({{"Reshape", {"x", "same"}, {"y"}, {}, "", ""}}, 3));
  EXPECT_FALSE(independent({{"Reshape", {"x", "fixed"}, {"y"}, {}, "", ""}}, 2));
  EXPECT_FALSE(independent({{"Transpose", {"x"}, {"y"}, {}, "", ""}}, 2));
  EXPECT_FALSE(independent({{"Concat", {"x", "x"}, {"y"}, {{"axis", std::int64_t{0}}}, "", ""}}, 2));
  EXPECT_FALSE(independent({{"Transpose", {"x"}, {"t"}, {}, "", ""}, {"MatMul", {"x", "t"}, {"y"}, {}, "", ""}}, 2));
}

TEST(Batch, PaddedRowsNeverReachTheResult) {
  model::TestGraph graph;
  graph.inputs = {{"x", Type::f32, {"N", "3"}}};
  graph.outputs = {{"y", Type::f32, {"N", "3"}}};
  graph.nodes = {{"Exp", {"x"}, {"y"}, {}, "", ""}};
  model::ImportOptions import;
  import.shapes["x"] = {10, 3};
  Options options;
  options.chunk = 4;
  const auto model = model::import_bytes(model::to_bytes(graph), "m", import);
  EXPECT_EQ(lower(model, options).steps, 3U);
  Tensor x(Type::f32, {10, 3});
  for (std::int64_t i = 0; i < 30; ++i) x.set(i, static_cast<float>(i) * 0.1F);
  const auto c = check(model, {x}, options);
  EXPECT_TRUE(c.passes()) << c.text();
  EXPECT_EQ(c.values, 30U);
}

// The planner.

TEST(Planner, CutsOnlyWhatFits) {
  MatmulTask task;
  task.m = 64, task.k = 1024, task.n = 1024, task.tiles = 1216, task.tile_bytes = 150 * 1024,
  task.weight_bytes = 8 * 1024;
  const MatmulPlan plan = plan_matmul(task);
  EXPECT_TRUE(plan.fits);
  EXPECT_LE(plan.inner * plan.columns * 4, 8 * 1024);
  EXPECT_LE(plan.row_blocks * plan.column_blocks * plan.inner_blocks, 1216);
  task.tiles = 4;
  EXPECT_FALSE(plan_matmul(task).fits);
}

/// Integers have no fused multiply-add: over twice the slots of f32, and plans say so.
TEST(Planner, ProductsOfIntegersTakeLonger) {
  EXPECT_EQ(matmul_slots(4, 4, 100, false), 27U * 100 + 60);
  EXPECT_EQ(matmul_slots(4, 4, 100, true), 60U * 100 + 80);
  MatmulTask task;
  task.m = 64, task.k = 256, task.n = 64, task.tiles = 16, task.tile_bytes = task.weight_bytes = 1 << 20;
  const std::uint64_t singles = plan_matmul(task).compute_cycles;
  task.integers = true;
  EXPECT_GT(plan_matmul(task).compute_cycles, 2 * singles * 9 / 10);
}

TEST(Planner, MoreTilesAreNeverSlower) {
  std::uint64_t last = ~std::uint64_t{0};
  for (const unsigned tiles : {1U, 2U, 4U, 16U, 64U, 1216U}) {
    MatmulTask task;
    task.m = 256, task.k = 512, task.n = 256, task.tiles = tiles, task.tile_bytes = task.weight_bytes = 1 << 30;
    const std::uint64_t cycles = plan_matmul(task).cycles();
    EXPECT_LE(cycles, last) << tiles;
    last = cycles;
  }
}

TEST(Lowering, TooLargeAProductSaysByHowMuch) {
  model::TestGraph graph;
  graph.inputs = {{"x", Type::f32, {"64", "512"}}};
  graph.initializers = {{"w", Tensor(Type::f32, {512, 512}, std::vector<float>(512 * 512, 1.0F))}};
  graph.outputs = {{"y", Type::f32, {"64", "512"}}};
  graph.nodes = {{"MatMul", {"x", "w"}, {"y"}, {}, "big", ""}};
  Options options;
  options.tiles = 1;
  try {
    (void)lower(model::import_bytes(model::to_bytes(graph), "m"), options);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), Category::does_not_fit);
    EXPECT_THAT(error.message(), ::testing::HasSubstr("bytes on a tile are needed"));
    EXPECT_EQ(error.where(), "big");
  }
}

}  // namespace
}  // namespace tessera::nn
