#include "host/onnx/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <functional>
#include <limits>

#include "host/onnx/tensor_io.h"
#include "host/onnx/test_models.h"
#include "hw/error.h"

namespace tessera::model {
namespace {

using ::testing::HasSubstr;

Tensor floats(Shape shape, std::vector<float> values) { return Tensor(Type::f32, std::move(shape), values); }
Tensor longs(std::vector<std::int64_t> values) {
  return Tensor(Type::i64, {static_cast<std::int64_t>(values.size())}, values);
}

/// The error that f throws; fails the test if it throws none.
Error error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return Error(Category::internal, "no error");
}

TestGraph relu(std::vector<std::string> extents) {
  return {17, {{"x", Type::f32, extents}}, {{"y", Type::f32, extents}}, {}, {{"Relu", {"x"}, {"y"}, {}, "act", ""}}};
}

// Broken, cut and wrong files.

TEST(Import, EmptyFileIsAUsageErrorWithItsName) {
  const Error error = error_of([] { (void)import_bytes("", "model.onnx"); });
  EXPECT_EQ(error.category(), Category::usage);
  EXPECT_EQ(error.where(), "model.onnx");
}

TEST(Import, EveryCutOfAFileIsAnErrorAndNeverACrash) {
  const std::string bytes = to_bytes(relu({"2", "3"}));
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const Error error = error_of([&] { (void)import_bytes(bytes.substr(0, length), "cut.onnx"); });
    EXPECT_THAT(std::string(error.what()), HasSubstr("cut.onnx")) << length;
  }
}

TEST(Import, EveryFlippedByteEndsInAModelOrAnError) {
  TestGraph graph = relu({"2", "3"});
  graph.initializers = {{"w", floats({3}, {1, 2, 3})}};
  graph.nodes.push_back({"Add", {"y", "w"}, {"z"}, {}, "", ""});
  graph.outputs = {{"z", Type::f32, {"2", "3"}}};
  const std::string bytes = to_bytes(graph);
  std::size_t accepted = 0, refused = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    for (const int flip : {0x01, 0x08, 0x80, 0xFF}) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      try {
        (void)import_bytes(damaged, "damaged.onnx");
        ++accepted;
      } catch (const Error&) {
        ++refused;
      }
    }
  EXPECT_GT(refused, 100U);
  EXPECT_GT(accepted, 0U);  // a flipped weight is still a model
}

TEST(Import, TextIsNotAModel) {
  EXPECT_EQ(error_of([] { (void)import_bytes("#!/bin/sh\necho no model\n", "script.sh"); }).category(),
            Category::usage);
}

TEST(Import, MissingFileIsNamed) {
  const Error error = error_of([] { (void)import_model("/nonexistent/model.onnx"); });
  EXPECT_EQ(error.category(), Category::usage);
  EXPECT_THAT(error.where(), HasSubstr("/nonexistent/model.onnx"));
}

TEST(Import, InitializerWithTooFewElementsIsRefused) {
  TestGraph graph = relu({"2"});
  Tensor bad = floats({2}, {1, 2});
  bad.shape = {3};
  graph.initializers = {{"w", bad}};
  EXPECT_EQ(error_of([&] { (void)import_bytes(to_bytes(graph), "m.onnx"); }).category(), Category::usage);
}

// What is not supported.

TEST(Import, AllUnsupportedNodesAreInOneMessage) {
  const TestGraph graph = {17,
                           {{"x", Type::f32, {"1", "1", "4", "4"}}, {"u", Type::u64, {"2"}}},
                           {{"y", Type::f32, {"1", "1"}}, {"v", Type::u64, {"2"}}, {"w", Type::f32, {"1"}}},
                           {},
                           {{"Det", {"x"}, {"y"}, {}, "volume", ""},
                            {"Add", {"u", "u"}, {"v"}, {}, "words", ""},
                            {"Fancy", {"x"}, {"w"}, {}, "own", "com.example"}}};
  const Error error = error_of([&] { (void)import_bytes(to_bytes(graph), "m.onnx"); });
  EXPECT_EQ(error.category(), Category::unsupported);
  EXPECT_THAT(error.message(), HasSubstr("3 nodes"));
  EXPECT_THAT(error.message(), HasSubstr("node 'volume' (Det, opset 17, f32 -> f32) at position 0: operator"));
  EXPECT_THAT(error.message(), HasSubstr("node 'words' (Add, opset 17, u64, u64 -> u64) at position 1: type u64"));
  EXPECT_THAT(error.message(), HasSubstr("node 'own' (Fancy, com.example opset 1"));
}

TEST(Import, NewerOpsetIsRefusedWithBothNumbers) {
  TestGraph graph = relu({"2"});
  graph.opset = 18;
  const Error error = error_of([&] { (void)import_bytes(to_bytes(graph), "m.onnx"); });
  EXPECT_EQ(error.category(), Category::unsupported);
  EXPECT_THAT(error.message(), HasSubstr("opset 18; up to 17"));
}

TEST(Import, ShapeFromDataOfTheRunNamesTheInput) {
  const TestGraph graph = {17,
                           {{"x", Type::f32, {"6"}}, {"dims", Type::i64, {"2"}}},
                           {{"y", Type::f32, {"a", "b"}}},
                           {},
                           {{"Identity", {"dims"}, {"d"}, {}, "", ""}, {"Reshape", {"x", "d"}, {"y"}, {}, "fold", ""}}};
  const Error error = error_of([&] { (void)import_bytes(to_bytes(graph), "m.onnx"); });
  EXPECT_EQ(error.category(), Category::unsupported);
  EXPECT_THAT(error.message(), HasSubstr("input 'dims'"));
  EXPECT_THAT(error.advice(), HasSubstr("--input dims="));

  ImportOptions options;
  options.inputs["dims"] = longs({3, 2});
  const Model model = import_bytes(to_bytes(graph), "m.onnx", options);
  EXPECT_EQ(model.value(model.outputs[0]).shape, (Shape{3, 2}));
  ASSERT_EQ(model.inputs.size(), 1U);
  EXPECT_EQ(model.value(model.inputs[0]).name, "x");
  EXPECT_EQ(model.specialised.size(), 1U);
}

// Shapes of inputs.

TEST(Import, OpenExtentIsAskedForAndGiven) {
  const std::string bytes = to_bytes(relu({"N", "3"}));
  const Error error = error_of([&] { (void)import_bytes(bytes, "m.onnx"); });
  EXPECT_EQ(error.category(), Category::usage);
  EXPECT_THAT(error.message(), HasSubstr("'N'"));
  EXPECT_THAT(error.advice(), HasSubstr("--shape x="));

  ImportOptions options;
  options.shapes["x"] = {5, 3};
  const Model model = import_bytes(bytes, "m.onnx", options);
  EXPECT_EQ(model.value(model.outputs[0]).shape, (Shape{5, 3}));
  ASSERT_EQ(model.symbolic.size(), 1U);
  EXPECT_EQ(model.symbolic[0].symbol, "N");
  EXPECT_EQ(with_batch(model, 7).value(model.outputs[0]).shape, (Shape{7, 3}));

  options.shapes["x"] = {5, 4};
  EXPECT_EQ(error_of([&] { (void)import_bytes(bytes, "m.onnx", options); }).category(), Category::usage);
  options.shapes = {{"nobody", {1}}};
  EXPECT_THAT(error_of([&] { (void)import_bytes(bytes, "m.onnx", options); }).advice(), HasSubstr("x"));
}

TEST(Import, OneSymbolHasOneExtent) {
  const TestGraph graph = {17,
                           {{"a", Type::f32, {"N", "2"}}, {"b", Type::f32, {"N", "2"}}},
                           {{"y", Type::f32, {"N", "2"}}},
                           {},
                           {{"Add", {"a", "b"}, {"y"}, {}, "", ""}}};
  ImportOptions options;
  options.shapes["b"] = {4, 2};
  EXPECT_EQ(import_bytes(to_bytes(graph), "m", options).value(0).shape, (Shape{4, 2}));
  options.shapes["a"] = {3, 2};
  EXPECT_EQ(error_of([&] { (void)import_bytes(to_bytes(graph), "m", options); }).category(), Category::usage);
}

TEST(Import, WrongTypeOfAnInputIsNamed) {
  ImportOptions options;
  options.inputs["x"] = longs({1, 2});
  const Error error = error_of([&] { (void)import_bytes(to_bytes(relu({"2"})), "m", options); });
  EXPECT_EQ(error.category(), Category::usage);
  EXPECT_THAT(error.message(), HasSubstr("takes f32, not i64"));
}

// Folding and narrowing.

TEST(Import, ShapeArithmeticOfExportersFolds) {
  TestGraph graph = {17, {{"x", Type::f32, {"N", "2", "3"}}}, {{"y", Type::f32, {"M", "6"}}}, {}, {}};
  graph.initializers = {{"zero", longs({0})}, {"rest", longs({-1})}};
  graph.nodes = {{"Shape", {"x"}, {"s"}, {}, "", ""},
                 {"Gather", {"s", "zero"}, {"n"}, {{"axis", std::int64_t{0}}}, "", ""},
                 {"Concat", {"n", "rest"}, {"to"}, {{"axis", std::int64_t{0}}}, "", ""},
                 {"Reshape", {"x", "to"}, {"y"}, {}, "flat", ""}};
  ImportOptions options;
  options.shapes["x"] = {4, 2, 3};
  const Model model = import_bytes(to_bytes(graph), "m", options);
  ASSERT_EQ(model.nodes.size(), 1U);
  EXPECT_EQ(model.nodes[0].op, Op::Reshape);
  EXPECT_EQ(model.value(model.outputs[0]).shape, (Shape{4, 6}));
}

TEST(Import, ConstantSubgraphsFoldAndDeadNodesGo) {
  TestGraph graph = relu({"2"});
  graph.initializers = {{"a", floats({2}, {1, 2})}, {"b", floats({2}, {10, 20})}};
  graph.nodes = {{"Mul", {"a", "b"}, {"c"}, {}, "", ""},
                 {"Exp", {"x"}, {"unused"}, {}, "", ""},
                 {"Add", {"x", "c"}, {"y"}, {}, "sum", ""}};
  const Model model = import_bytes(to_bytes(graph), "m");
  ASSERT_EQ(model.nodes.size(), 1U);
  EXPECT_EQ(model.nodes[0].name, "sum");
  EXPECT_EQ(model.value(model.nodes[0].inputs[1]).constant->values<float>(), (std::vector<float>{10, 40}));
}

TEST(Import, SixtyFourBitTypesAreNarrowedWithAWarning) {
  const TestGraph graph = {17,
                           {{"x", Type::i64, {"2"}}},
                           {{"y", Type::i64, {"2"}}},
                           {{"one", longs({1})}},
                           {{"Add", {"x", "one"}, {"y"}, {}, "", ""}}};
  const Model model = import_bytes(to_bytes(graph), "m");
  EXPECT_EQ(model.value(model.inputs[0]).type, Type::i32);
  EXPECT_EQ(model.value(model.inputs[0]).declared, Type::i64);
  EXPECT_EQ(model.warnings.size(), 2U);

  TestGraph large = graph;
  large.initializers = {{"one", longs({std::int64_t{1} << 40})}};
  const Error error = error_of([&] { (void)import_bytes(to_bytes(large), "m"); });
  EXPECT_EQ(error.category(), Category::unsupported);
  EXPECT_THAT(error.message(), HasSubstr("1099511627776"));
}

// Opsets.

/// One computation in the ways that opsets write it.
TestGraph by_opset(std::int64_t opset) {
  TestGraph graph;
  graph.opset = opset;
  graph.ir_version = opset < 9 ? 3 : 8;
  graph.initializers_are_inputs = opset < 9;
  graph.inputs = {{"x", Type::f32, {"1", "4", "6"}}};
  graph.outputs = {{"y", Type::f32, {"4", "3"}}};
  graph.initializers = {{"row", floats({4}, {1, 2, 3, 4})},
                        {"w", floats({3, 3}, std::vector<float>(9, 0.5F))},
                        {"c", floats({3}, {1, 2, 3})}};
  const auto integers = [](std::vector<std::int64_t> values) { return values; };
  if (opset >= 10)
    graph.initializers.insert(graph.initializers.end(), {{"starts", longs({0})},
                                                         {"ends", longs({std::numeric_limits<std::int64_t>::max()})},
                                                         {"axes", longs({2})},
                                                         {"steps", longs({1})},
                                                         {"ends3", longs({3})}});
  if (opset >= 13) graph.initializers.insert(graph.initializers.end(), {{"zero", longs({0})}, {"last", longs({1})}});
  if (opset < 10)
    graph.nodes.push_back({"Slice",
                           {"x"},
                           {"part"},
                           {{"starts", integers({0})}, {"ends", integers({3})}, {"axes", integers({2})}},
                           "slice",
                           ""});
  else
    graph.nodes.push_back({"Slice", {"x", "starts", "ends3", "axes"}, {"part"}, {}, "slice", ""});
  if (opset < 13)
    graph.nodes.push_back({"Squeeze", {"part"}, {"flat"}, {{"axes", integers({0})}}, "squeeze", ""});
  else
    graph.nodes.push_back({"Squeeze", {"part", "zero"}, {"flat"}, {}, "squeeze", ""});
  // The vector has one element a row: opset 6 says so by its axis, later ones by shape.
  if (opset < 7) {
    graph.nodes.push_back(
        {"Add", {"flat", "row"}, {"sum"}, {{"broadcast", std::int64_t{1}}, {"axis", std::int64_t{0}}}, "add", ""});
  } else {
    if (opset < 13)
      graph.nodes.push_back({"Unsqueeze", {"row"}, {"column"}, {{"axes", integers({1})}}, "", ""});
    else
      graph.nodes.push_back({"Unsqueeze", {"row", "last"}, {"column"}, {}, "", ""});
    graph.nodes.push_back({"Add", {"flat", "column"}, {"sum"}, {}, "add", ""});
  }
  TestNode gemm = {"Gemm", {"sum", "w", "c"}, {"z"}, {{"alpha", 0.5F}, {"transB", std::int64_t{1}}}, "gemm", ""};
  if (opset < 7) gemm.attributes["broadcast"] = std::int64_t{1};
  graph.nodes.push_back(gemm);
  graph.nodes.push_back({"Softmax", {"z"}, {"y"}, {{"axis", std::int64_t{1}}}, "softmax", ""});
  return graph;
}

class Opsets : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(Opsets, ImportIdentically) {
  const Model now = import_bytes(to_bytes(by_opset(17)), "m");
  const Model then = import_bytes(to_bytes(by_opset(GetParam())), "m");
  EXPECT_EQ(to_text(then), to_text(now));
  EXPECT_EQ(then.opset, GetParam());
  ASSERT_EQ(now.nodes.size(), 5U);
}

INSTANTIATE_TEST_SUITE_P(Six, Opsets, ::testing::Range<std::int64_t>(6, 18));

TEST(Import, SoftmaxBefore13FlattensItsTail) {
  const TestGraph graph = {11,
                           {{"x", Type::f32, {"2", "3", "4"}}},
                           {{"y", Type::f32, {"2", "3", "4"}}},
                           {},
                           {{"Softmax", {"x"}, {"y"}, {{"axis", std::int64_t{1}}}, "", ""}}};
  const Model model = import_bytes(to_bytes(graph), "m");
  ASSERT_EQ(model.nodes.size(), 3U);
  EXPECT_EQ(model.nodes[0].op, Op::Flatten);
  EXPECT_EQ(model.value(model.nodes[1].outputs[0]).shape, (Shape{2, 12}));
  EXPECT_EQ(model.value(model.outputs[0]).shape, (Shape{2, 3, 4}));
}

TEST(Slices, RangesFollowNumpy) {
  const auto range = [](std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t extent) {
    return resolve({{start}, {end}, {0}, {step}}, {extent}).at(0);
  };
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max(),
                         kMin = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(range(0, kMax, 1, 5).count, 5);
  EXPECT_EQ(range(-1, kMin, -1, 5).count, 5);
  EXPECT_EQ(range(-1, kMin, -1, 5).begin, 4);
  EXPECT_EQ(range(10, -10, -2, 5).count, 3);
  EXPECT_EQ(range(1, -1, 1, 5).count, 3);
  EXPECT_EQ(range(3, 1, 1, 5).count, 0);
  EXPECT_EQ(range(0, kMax, kMax, 5).count, 1);
  EXPECT_EQ(range(4, 0, kMin, 5).count, 1);
  EXPECT_EQ(range(0, 5, 1, 0).count, 0);
  EXPECT_EQ(range(-1, kMin, -1, 0).count, 0);
}

}  // namespace
}  // namespace tessera::model
