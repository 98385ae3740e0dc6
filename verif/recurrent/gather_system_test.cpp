// The word embedding of BERT-Base on one IPU of 1216 tiles: a table that lies once over all tiles, rows chosen by
// indices of the run, in f16.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "host/nn/lower.h"
#include "verif/compiler/graph_machine.h"

namespace tessera {
namespace {

using model::Tensor;
using model::Type;

TEST(Gather, RowsOfAnEmbeddingTableOverAllTiles) {
  const std::int64_t rows = 30522, columns = 768, count = 128;
  model::Model m;
  Tensor table(Type::f16, {rows, columns}), indices(Type::i32, {1, count});
  // Any bits but those of NaNs: they are moved only.
  for (std::int64_t i = 0; i < table.elements(); ++i)
    table.set(i, static_cast<std::uint16_t>((i * 40503 >> 3) & 0x3fff));
  for (std::int64_t i = 0; i < count; ++i)
    indices.set(i, static_cast<std::int32_t>(i * 7919 % rows - (i % 5 == 0 ? rows : 0)));
  m.values.push_back({"table", Type::f16, Type::f16, table.shape, table});
  m.values.push_back({"indices", Type::i32, Type::i32, indices.shape, {}});
  m.values.push_back({"y", Type::f16, Type::f16, {1, count, columns}, {}});
  model::Node node;
  node.op = model::Op::Gather;
  node.name = "embedding";
  node.inputs = {0, 1};
  node.outputs = {2};
  node.attributes = model::AxisAttributes{0};
  m.nodes = {node};
  m.inputs = {1};
  m.outputs = {2};
  nn::Options options;
  options.tiles = 1216;
  const nn::Lowered lowered = nn::lower(m, options);
  testing::GraphMachine machine(lowered.graph, load_platform("c2"));
  machine.engine().connect(lowered.inputs[0].stream, engine::Source([&](std::uint64_t step, std::uint8_t* bytes) {
                             nn::fill_step(lowered.inputs[0], indices, step, bytes);
                           }));
  Tensor y(Type::f16, lowered.outputs[0].shape);
  machine.engine().connect(lowered.outputs[0].stream, engine::Sink([&](std::uint64_t step, const std::uint8_t* bytes) {
                             nn::drain_step(lowered.outputs[0], y, step, bytes);
                           }));
  machine.engine().run("main");
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t row = (indices.at<std::int32_t>(i) + rows) % rows;
    for (std::int64_t k = 0; k < columns; ++k)
      if (y.at<std::uint16_t>(i * columns + k) != table.at<std::uint16_t>(row * columns + k)) ++wrong;
  }
  EXPECT_EQ(wrong, 0) << "of " << count * columns << " values";
  Cycle cycles = 0;
  for (const Cycle phase : machine.clock().phases()) cycles += phase;
  const auto releases = machine.clock().releases();
  std::printf(
      "%lld values; %zu exchange phases of %llu cycles in all; %llu cycles from the first to the last release\n",
      static_cast<long long>(count * columns), machine.clock().phases().size(), static_cast<unsigned long long>(cycles),
      static_cast<unsigned long long>(releases.back() - releases.front()));
}

}  // namespace
}  // namespace tessera
