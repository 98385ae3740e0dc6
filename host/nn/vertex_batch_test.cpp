// Which vertices of a batch become one family.
#include "host/nn/vertex_batch.h"

#include <gtest/gtest.h>

#include <set>

namespace tessera::nn {
namespace {

/// A batch of one vertex of two elements on each of these tiles, in this order: members of its families.
std::vector<std::uint64_t> families(const std::vector<unsigned>& tiles) {
  graph::Graph graph(4);
  Builder builder(graph, 4);
  const graph::Tensor x = graph.add_variable(graph::Type::f32, {2 * tiles.size()}, "x");
  VertexBatch batch(builder, "MapRelu_f32", {"x"}, {}, "relu");
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const graph::Tensor part = x.slice(2 * i, 2 * i + 2);
    graph.map(part, tiles[i]);
    batch.add(tiles[i], {part}, {});
  }
  batch.execute();
  std::vector<std::uint64_t> members;
  std::size_t next = 0;
  for (const graph::VertexFamily& family : graph.vertices()) {
    members.push_back(family.members());
    std::set<std::uint32_t> seen;
    for (const graph::TileMembers& here : family.tiles) {
      EXPECT_TRUE(seen.insert(here.tile).second) << here.tile;
      for (std::uint64_t i = 0; i < here.count; ++i) EXPECT_EQ(here.tile, tiles.at(next++));
    }
  }
  EXPECT_EQ(next, tiles.size());
  return members;
}

TEST(VertexBatch, AFamilyHasEachTileOnce) {
  using Members = std::vector<std::uint64_t>;
  EXPECT_EQ(families({0, 1, 2, 3}), Members({4}));
  EXPECT_EQ(families({0, 0, 1, 1, 3}), Members({5}));
  EXPECT_EQ(families({2, 3, 0, 1, 2, 3}), Members({4, 1, 1}));
  EXPECT_EQ(families({0, 1, 2, 0, 1, 2}), Members({3, 3}));
}

}  // namespace
}  // namespace tessera::nn
