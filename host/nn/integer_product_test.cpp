// Products of integers lowered and run on the host against the reference: MatMul and Gemm of 32-bit words, which wrap,
// and MatMulInteger of bytes with zero points of every form.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "host/golden/compare.h"
#include "host/golden/evaluate.h"
#include "host/nn/lower.h"
#include "host/nn/run_lowered.h"
#include "host/onnx/import.h"
#include "host/onnx/test_models.h"
#include "hw/error.h"

namespace tessera::nn {
namespace {

using model::Shape;
using model::Tensor;
using model::Type;

Tensor drawn(Type type, const Shape& shape) {
  Tensor result(type, shape);
  for (std::uint8_t& byte : result.data) byte = static_cast<std::uint8_t>(*rc::gen::inRange(0, 256));
  return result;
}

/// A model of one node whose operands are inputs or constants.
struct Made {
  model::TestGraph graph;
  std::vector<std::string> operands;
  std::vector<Tensor> inputs;
  void operand(const std::string& name, const Tensor& tensor, bool constant) {
    operands.push_back(name);
    if (constant) {
      graph.initializers.push_back({name, tensor});
      return;
    }
    std::vector<std::string> shape;
    for (const std::int64_t extent : tensor.shape) shape.push_back(std::to_string(extent));
    graph.inputs.push_back({name, tensor.type, shape});
    inputs.push_back(tensor);
  }
};

void expect_equal(Made& made, unsigned tiles) {
  const model::Model model = model::import_bytes(model::to_bytes(made.graph), "m");
  Options options;
  options.tiles = tiles;
  const auto result = execute(lower(model, options), made.inputs).at(0);
  const auto c = golden::compare(result, golden::run(model, made.inputs)[model.outputs[0]].value(), {0, 0, 0}, "y");
  RC_LOG() << c.text();
  RC_ASSERT(c.passes());
  RC_ASSERT(c.values > 0);
}

TEST(IntegerProducts, WordsWrap) {
  EXPECT_TRUE(rc::check([] {
    const std::int64_t m = *rc::gen::inRange(1, 20), k = *rc::gen::inRange(1, 90), n = *rc::gen::inRange(1, 20);
    const Type type = *rc::gen::element(Type::i32, Type::u32);
    const bool constant = *rc::gen::arbitrary<bool>(), gemm = *rc::gen::arbitrary<bool>();
    const bool ta = gemm && *rc::gen::arbitrary<bool>(), tb = gemm && *rc::gen::arbitrary<bool>();
    Made made;
    made.operand("a", drawn(type, ta ? Shape{k, m} : Shape{m, k}), false);
    made.operand("b", drawn(type, tb ? Shape{n, k} : Shape{k, n}), constant);
    if (gemm && *rc::gen::arbitrary<bool>()) made.operand("c", drawn(type, Shape{n}), constant);
    std::map<std::string, model::TestAttribute> attributes;
    if (gemm) attributes = {{"transA", std::int64_t{ta}}, {"transB", std::int64_t{tb}}};
    made.graph.nodes = {{gemm ? "Gemm" : "MatMul", made.operands, {"y"}, attributes, "", ""}};
    made.graph.outputs = {{"y", type, {"d0", "d1"}}};
    expect_equal(made, *rc::gen::element(1U, 5U, 40U));
  }));
}

TEST(IntegerProducts, BytesHaveZeroPoints) {
  EXPECT_TRUE(rc::check([] {
    const std::int64_t m = *rc::gen::inRange(2, 9), k = *rc::gen::inRange(1, 40), n = *rc::gen::inRange(2, 9);
    const bool planes = *rc::gen::arbitrary<bool>();
    const Type left = *rc::gen::element(Type::i8, Type::u8), right = *rc::gen::element(Type::i8, Type::u8);
    const bool constant = *rc::gen::arbitrary<bool>();
    Made made;
    made.operand("a", drawn(left, planes ? Shape{2, m, k} : Shape{m, k}), false);
    made.operand("b", drawn(right, planes ? Shape{2, k, n} : Shape{k, n}), constant);
    const int zeros = *rc::gen::inRange(0, 4);
    if (zeros > 0) {
      const Shape of_rows = planes ? Shape{2, m, 1} : Shape{m};
      const Shape of_columns = planes ? *rc::gen::element(Shape{n}, Shape{2, 1, n}) : Shape{n};
      made.operand("za", drawn(left, zeros == 1 ? Shape{} : zeros == 2 ? Shape{1} : of_rows), false);
      made.operand("zb", drawn(right, zeros == 1 ? Shape{} : of_columns), *rc::gen::arbitrary<bool>());
    }
    made.graph.nodes = {{"MatMulInteger", made.operands, {"y"}, {}, "", ""}};
    made.graph.outputs = {{"y", Type::i32, {"d0", "d1"}}};
    if (planes) made.graph.outputs[0].extents.emplace_back("d2");
    expect_equal(made, *rc::gen::element(1U, 5U, 40U));
  }));
}

TEST(IntegerProducts, AreNotScaled) {
  Made made;
  made.operand("a", Tensor(Type::i32, {2, 3}), false);
  made.operand("b", Tensor(Type::i32, {3, 2}), false);
  made.graph.nodes = {{"Gemm", made.operands, {"y"}, {{"alpha", 0.5F}}, "scaled", ""}};
  made.graph.outputs = {{"y", Type::i32, {"2", "2"}}};
  try {
    (void)lower(model::import_bytes(model::to_bytes(made.graph), "m"), {});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), Category::unsupported);
    EXPECT_NE(std::string(error.what()).find("integers are not scaled"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tessera::nn
