// Planes of images to positions of four channels (interleave.h).
#include "host/nn/interleave.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "host/nn/vertex_batch.h"

namespace tessera::nn {

using graph::Tensor;
using graph::TileInterval;

namespace {

constexpr std::uint64_t kBlock = 4;
constexpr std::uint64_t kLeastElements = 16;  // on a tile

}  // namespace

HomeLayout interleaved_home(Builder& builder, const Tensor& x, const std::string& name) {
  graph::Graph& graph = builder.graph();
  const std::uint64_t channels = x.dim(1), positions = x.elements() / channels;
  const std::uint64_t word = 4 / graph::size_of(x.type());  // runs of whole words
  const Tensor y = graph.add_variable(x.type(), {1, positions, kBlock}, name);
  graph.map_linear(y.flatten(), kBlock * word, kLeastElements);
  const graph::VariableId id = y.boxes().at(0).variable;
  const std::vector<TileInterval> shares = graph.variable(id).mapping;

  std::vector<std::uint64_t> pitches;
  std::uint64_t total = 0;
  for (const TileInterval& share : shares) {
    pitches.push_back(((share.end - share.begin) / kBlock + word - 1) / word * word);
    total += pitches.back() * channels;
  }
  std::vector<std::size_t> order(x.rank());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[0], order[1]);
  const Tensor planes = x.permute(order);
  std::vector<Tensor> runs;
  for (std::uint64_t c = 0; c < channels; ++c) runs.push_back(planes[c].flatten());
  const Tensor brought = graph.add_variable(x.type(), {total}, name + " planes");
  std::vector<Tensor> from, to;
  VertexBatch batch(builder, x.type() == graph::Type::f16 ? "Interleave4_f16" : "Interleave4_f32", {"x", "y"},
                    {"positions", "channels", "plane"}, name);
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const std::uint64_t begin = shares[i].begin / kBlock, end = shares[i].end / kBlock, pitch = pitches[i];
    const Tensor own = brought.slice(at, at + channels * pitch);
    graph.map(own, shares[i].tile);
    for (std::uint64_t c = 0; c < channels; ++c) {
      from.push_back(runs[c].slice(begin, end));
      to.push_back(own.slice(c * pitch, c * pitch + end - begin));
    }
    batch.add(shares[i].tile, {own, y.flatten().slice(shares[i].begin, shares[i].end)},
              {static_cast<std::uint32_t>(end - begin), static_cast<std::uint32_t>(channels),
               static_cast<std::uint32_t>(pitch)});
    at += channels * pitch;
  }
  builder.copy(Tensor::concat(from), Tensor::concat(to), name);
  batch.execute();
  return {id, kBlock, 1, positions};
}

}  // namespace tessera::nn
