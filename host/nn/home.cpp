// Home layout of activations (home.h).
#include "host/nn/home.h"

#include <algorithm>

#include "host/nn/builder.h"

namespace tessera::nn {

using graph::Box;
using graph::Shape;
using graph::Tensor;

namespace {

/// Groups of channels that are on a tile at least: 32 bytes or more, so that a share is worth a vertex.
constexpr std::uint64_t kLeastElements = 16;

std::uint64_t positions_of(const Shape& shape, std::size_t axis) {
  std::uint64_t positions = 1;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (i != axis) positions *= shape[i];
  return positions;
}

/// Elements of home storage per step of each axis; that of the channel axis is 1 (within a block).
std::vector<std::int64_t> strides_of(const Shape& shape, std::size_t axis, std::uint64_t block) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  std::uint64_t step = block;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (i == axis) continue;
    strides[i] = static_cast<std::int64_t>(step);
    step *= shape[i];
  }
  return strides;
}

/// The mapping that map_linear gives a home variable.
void map_home(graph::Graph& graph, const Tensor& tensor, std::uint64_t block) {
  graph.map_linear(tensor.flatten(), block, kLeastElements);
}

}  // namespace

std::uint64_t home_block(graph::Type type, std::uint64_t channels) {
  for (const std::uint64_t block : {16, 8, 4}) {
    if (block * graph::size_of(type) > 32) continue;
    if (channels > 0 && channels % block == 0) return block;
  }
  return 0;
}

HomeLayout make_home(graph::Graph& graph, graph::Type type, std::uint64_t block, std::uint64_t blocks,
                     std::uint64_t positions, const std::string& name) {
  const Tensor tensor = graph.add_variable(type, {blocks, positions, block}, name);
  if (tensor.elements() > 0) map_home(graph, tensor, block);
  return {tensor.boxes().at(0).variable, block, blocks, positions};
}

Tensor home_view(graph::Type type, const HomeLayout& home, const Shape& shape, std::size_t channel_axis) {
  const Tensor whole(type, {home.blocks, home.positions, home.block}, home.variable);
  Shape outer = shape;
  outer.erase(outer.begin() + static_cast<std::ptrdiff_t>(channel_axis));
  outer.push_back(home.block);
  std::vector<std::size_t> permutation;  // the block's axis back to where channels stand
  for (std::size_t i = 0; i + 1 < shape.size(); ++i) permutation.push_back(i);
  permutation.insert(permutation.begin() + static_cast<std::ptrdiff_t>(channel_axis), shape.size() - 1);
  std::vector<Tensor> parts;
  for (std::uint64_t first = 0; first < shape[channel_axis]; first += home.block) {
    const Tensor part = whole[first / home.block].reshape(outer).permute(permutation);
    parts.push_back(part.slice(0, std::min(home.block, shape[channel_axis] - first), channel_axis));
  }
  return parts.size() == 1 ? parts[0] : Tensor::concat(parts, channel_axis);
}

std::optional<HomeLayout> find_home(const graph::Graph& graph, const Tensor& view, std::size_t channel_axis) {
  if (view.elements() == 0 || view.boxes().empty() || channel_axis >= view.rank()) return std::nullopt;
  const graph::VariableId id = view.boxes()[0].variable;
  const graph::Variable& variable = graph.variable(id);
  const std::uint64_t channels = view.dim(channel_axis), positions = positions_of(view.shape(), channel_axis);
  if (variable.shape.size() != 3 || variable.shape[1] != positions) return std::nullopt;
  const HomeLayout home{id, variable.shape[2], variable.shape[0], positions};
  if (home.blocks != (channels + home.block - 1) / home.block || home.block < 4) return std::nullopt;
  const auto strides = strides_of(view.shape(), channel_axis, home.block);
  for (const Box& box : view.boxes()) {
    if (box.variable != id) return std::nullopt;
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < view.rank(); ++i) {
      if (i == channel_axis) continue;
      offset += static_cast<std::int64_t>(box.origin[i]) * strides[i];
      if (box.extent[i] > 1 && box.stride[i] != strides[i]) return std::nullopt;
    }
    const std::uint64_t c = box.origin[channel_axis], n = box.extent[channel_axis];
    if (c % home.block + n > home.block || (n > 1 && box.stride[channel_axis] != 1)) return std::nullopt;
    if (box.offset != offset + static_cast<std::int64_t>(home.element(c, 0))) return std::nullopt;
  }
  return home;
}

Tensor Builder::home(graph::Type type, const Shape& shape, std::size_t channel_axis, const std::string& name) {
  const std::uint64_t block = home_block(type, shape.at(channel_axis));
  if (block == 0 || graph::element_count(shape) == 0) return linear(type, shape, name);
  const HomeLayout layout =
      make_home(graph_, type, block, shape[channel_axis] / block, positions_of(shape, channel_axis), name);
  return home_view(type, layout, shape, channel_axis);
}

}  // namespace tessera::nn
