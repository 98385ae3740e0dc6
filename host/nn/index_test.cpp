// Pooling, gather, scatter, top-k and einsum lowered to graphs and run on the host, against the reference: shapes that
// ONNX's own vectors do not have (blocks of channels, tables cut into blocks of rows, f16, many tiles).
#include <gtest/gtest.h>

#include <random>

#include "host/golden/compare.h"
#include "host/golden/evaluate.h"
#include "host/nn/run_lowered.h"

namespace tessera::nn {
namespace {

using model::Op;
using model::Shape;
using model::Tensor;
using model::Type;

struct Operand {
  Type type = Type::f32;
  Shape shape;
  bool constant = false;
  std::int64_t low = -100, high = 100;  ///< values, in units of 1/8 for floating types
};

/// One node with random operands, against the reference.
void check(Op op, const model::Attributes& attributes, const std::vector<Operand>& operands,
           std::vector<std::pair<Type, Shape>> outputs, unsigned tiles, std::uint32_t sram = 262144) {
  std::mt19937 random(tiles + sram);
  model::Model m;
  model::Node node;
  node.op = op;
  node.name = "node";
  node.attributes = attributes;
  std::vector<Tensor> inputs;
  for (const Operand& operand : operands) {
    Tensor tensor(operand.type, operand.shape);
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
      const std::int64_t v = operand.low + static_cast<std::int64_t>(random() % (operand.high - operand.low));
      if (operand.type == Type::f32) tensor.set(i, static_cast<float>(v) / 8);
      if (operand.type == Type::i32) tensor.set(i, static_cast<std::int32_t>(v));
      if (operand.type == Type::f16) {  // whole numbers from 1024 on: their place in the format is 1
        tensor.set(i, static_cast<std::uint16_t>(0x6400 + (v & 1023)));
      }
    }
    const auto id = static_cast<model::ValueId>(m.values.size());
    m.values.push_back({"in" + std::to_string(id), operand.type, operand.type, operand.shape, {}});
    if (operand.constant)
      m.values.back().constant = tensor;
    else
      m.inputs.push_back(id), inputs.push_back(tensor);
    node.inputs.push_back(id);
  }
  for (const auto& [type, shape] : outputs) {
    const auto id = static_cast<model::ValueId>(m.values.size());
    m.values.push_back({"out" + std::to_string(id), type, type, shape, {}});
    m.outputs.push_back(id);
    node.outputs.push_back(id);
  }
  m.nodes = {node};
  const auto want = golden::run(m, inputs);
  Options options;
  options.tiles = tiles;
  options.sram_bytes = sram;
  const auto got = execute(lower(m, options), inputs);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto result =
        golden::compare(got[i], model::narrowed(want[m.outputs[i]].value(), "output"), {1e-5, 1e-5, 1}, "output");
    EXPECT_TRUE(result.passes()) << name_of(op) << " on " << tiles << " tiles: " << result.text();
  }
}

class Tiles : public ::testing::TestWithParam<unsigned> {};

TEST_P(Tiles, Pooling) {
  for (const Type type : {Type::f32, Type::f16})
    for (const std::int64_t channels : {3, 16, 32}) {
      model::PoolAttributes pool;
      pool.kernel = {3, 3};
      pool.strides = {2, 2};
      pool.dilations = {1, 1};
      pool.pads_begin = pool.pads_end = {1, 1};
      const Shape x = {2, channels, 9, 11}, y = {2, channels, 5, 6};
      check(Op::MaxPool, pool, {{type, x}}, {{type, y}}, GetParam());
      check(Op::MaxPool, pool, {{type, x}}, {{type, y}, {Type::i32, y}}, GetParam());
      check(Op::AveragePool, pool, {{type, x}}, {{type, y}}, GetParam());
      pool.count_include_pad = true;
      check(Op::AveragePool, pool, {{type, x}}, {{type, y}}, GetParam());
    }
}

TEST_P(Tiles, Gather) {
  // A small memory cuts the table into blocks of rows.
  for (const std::uint32_t sram : {262144U, 4096U})
    for (const Type type : {Type::f32, Type::f16})
      for (const bool constant : {false, true}) {
        const Operand indices = {Type::i32, {2, 37}, false, -50, 50};
        check(Op::Gather, model::AxisAttributes{0}, {{type, {50, 12}, constant}, indices}, {{type, {2, 37, 12}}},
              GetParam(), sram);
        check(Op::Gather, model::AxisAttributes{1}, {{type, {3, 50, 5}, constant}, indices}, {{type, {3, 2, 37, 5}}},
              GetParam(), sram);
      }
  check(Op::GatherElements, model::AxisAttributes{1},
        {{Type::f16, {4, 20, 3}}, {Type::i32, {4, 90, 2}, false, -20, 20}}, {{Type::f16, {4, 90, 2}}}, GetParam());
  check(Op::GatherND, model::GatherNdAttributes{1}, {{Type::f32, {3, 5, 7, 2}}, {Type::i32, {3, 4, 2}, false, -5, 5}},
        {{Type::f32, {3, 4, 2}}}, GetParam());
}

TEST_P(Tiles, Scatter) {
  using Reduction = model::ScatterAttributes::Reduction;
  for (const std::uint32_t sram : {262144U, 1024U})
    for (const Reduction reduction : {Reduction::none, Reduction::add}) {
      check(Op::ScatterElements, model::ScatterAttributes{1, reduction},
            {{Type::f32, {4, 30, 3}}, {Type::i32, {4, 25, 2}, false, -30, 30}, {Type::f32, {4, 25, 2}}},
            {{Type::f32, {4, 30, 3}}}, GetParam(), sram);
      check(Op::ScatterND, model::ScatterAttributes{0, reduction},
            {{Type::i32, {9, 8, 6}}, {Type::i32, {40, 2}, false, -8, 8}, {Type::i32, {40, 6}}},
            {{Type::i32, {9, 8, 6}}}, GetParam(), sram);
    }
}

TEST_P(Tiles, TopKAndOneHot) {
  for (const Type type : {Type::f32, Type::f16, Type::i32})
    for (const bool largest : {false, true})
      check(Op::TopK, model::TopKAttributes{1, 4, largest, true}, {{type, {3, 40, 5}}, {Type::i32, {1}, true, 4, 5}},
            {{type, {3, 4, 5}}, {Type::i32, {3, 4, 5}}}, GetParam());
  check(Op::OneHot, model::OneHotAttributes{1, 7},
        {{Type::i32, {5, 9}, false, -9, 9}, {Type::i32, {1}, true, 7, 8}, {Type::f16, {2}}}, {{Type::f16, {5, 7, 9}}},
        GetParam());
}

TEST_P(Tiles, Einsum) {
  const auto sum = [&](const char* equation, const std::vector<Shape>& shapes, const Shape& result) {
    std::vector<Operand> operands;
    for (const Shape& shape : shapes) operands.push_back({Type::f32, shape, false, -16, 16});
    check(Op::Einsum, model::EinsumAttributes{equation}, operands, {{Type::f32, result}}, GetParam());
  };
  sum("ij->ji", {{3, 5}}, {5, 3});
  sum("ij->i", {{3, 5}}, {3});
  sum("bii->bi", {{2, 4, 4}}, {2, 4});
  sum("ii->", {{4, 4}}, {});
  sum("bij,bjk->bik", {{2, 3, 4}, {2, 4, 5}}, {2, 3, 5});
  sum("i,i->", {{6}, {6}}, {});
  sum("i,j->ji", {{3}, {4}}, {4, 3});
  sum("bhqd,bhkd->bhqk", {{2, 2, 3, 4}, {2, 2, 5, 4}}, {2, 2, 3, 5});
  sum("ij,jk,kl->il", {{2, 3}, {3, 4}, {4, 2}}, {2, 2});
}

INSTANTIATE_TEST_SUITE_P(Index, Tiles, ::testing::Values(1U, 5U, 64U));

}  // namespace
}  // namespace tessera::nn
