// Home layout of activations for the matrix engine: where a channel block of a position lies. Internal to host/nn.
//
// A tensor with channel axis `axis` is stored as [C / b][positions][b], positions being the other axes in row-major
// order, spread over all tiles in equal shares of whole groups of b channels. b is one load of the AMP unit (32 bytes:
// 16 f16 or 8 f32), or less if that does not divide C. The same type, shape and axis always give the same layout.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "host/graph/graph.h"

namespace tessera::nn {

/// Channels of a block: the largest of 16 (f16 only), 8, 4 that divides C; 0 if none does.
[[nodiscard]] std::uint64_t home_block(graph::Type type, std::uint64_t channels);

/// How a variable in home layout is addressed. `channels` may exceed the view's: the rest of the last block is padding.
struct HomeLayout {
  graph::VariableId variable;
  std::uint64_t block = 0, blocks = 0, positions = 0;
  /// Element of channel c at a position.
  [[nodiscard]] std::uint64_t element(std::uint64_t c, std::uint64_t position) const {
    return (c / block * positions + position) * block + c % block;
  }
};

/// A variable [blocks][positions][block] mapped as home layouts are; blocks * block may exceed C.
[[nodiscard]] HomeLayout make_home(graph::Graph& graph, graph::Type type, std::uint64_t block, std::uint64_t blocks,
                                   std::uint64_t positions, const std::string& name);
/// The view of such a variable: `shape` with its channel axis cut to what shape says.
[[nodiscard]] graph::Tensor home_view(graph::Type type, const HomeLayout& home, const graph::Shape& shape,
                                      std::size_t channel_axis);
/// The layout behind a view, if it is exactly a home_view of a variable. Where that is mapped is not looked at.
[[nodiscard]] std::optional<HomeLayout> find_home(const graph::Graph& graph, const graph::Tensor& view,
                                                  std::size_t channel_axis);

}  // namespace tessera::nn
