// Building blocks of lowering: variables with their mapping, constants in a given layout, staging copies, and the
// pieces of a variable that become vertices. Internal to host/nn.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/graph/graph.h"
#include "host/onnx/model.h"

namespace tessera::nn {

inline constexpr std::uint64_t kWorkers = 6;

[[nodiscard]] graph::Type type_of(model::Type type);
[[nodiscard]] graph::Shape shape_of(const model::Shape& shape);

/// Elements begin .. end of a variable, within one of its tile intervals: the work of one vertex.
struct Piece {
  unsigned tile = 0;
  std::uint64_t begin = 0, end = 0;
};

/// A matrix whose rows lie in one tile interval of a variable at equal distance.
struct PlacedRows {
  graph::Tensor data;        ///< flat: from the first element to the last, gaps between rows included
  std::uint64_t stride = 0;  ///< elements from row to row
};

/// Operand patches of products that keep their zeros for the whole program (amp.cpp).
struct KeptPatches {
  std::map<std::string, std::optional<graph::Tensor>> patches;  ///< by what is zero where; empty: known elsewhere
  std::uint64_t left = 0;                                       ///< bytes of a tile for further ones
};

class Builder {
 public:
  Builder(graph::Graph& graph, unsigned tiles) : graph_(graph), tiles_(tiles) {}

  [[nodiscard]] graph::Graph& graph() { return graph_; }
  [[nodiscard]] const graph::Graph& graph() const { return graph_; }
  [[nodiscard]] unsigned tiles() const { return tiles_; }
  [[nodiscard]] std::vector<graph::Program>& steps() { return steps_; }
  void execute(graph::ComputeSetId set) { steps_.push_back(graph::Program::execute(set)); }
  [[nodiscard]] KeptPatches& kept_patches() { return kept_; }
  [[nodiscard]] const KeptPatches& kept_patches() const { return kept_; }
  /// dst gets src by exchange.
  void copy(const graph::Tensor& src, const graph::Tensor& dst, const std::string& name);

  /// A new variable, row-major over the tiles in equal shares of whole rows (or of a few elements if rows are long).
  [[nodiscard]] graph::Tensor linear(graph::Type type, const graph::Shape& shape, const std::string& name);
  /// A constant laid out likewise.
  [[nodiscard]] graph::Tensor linear_constant(const model::Tensor& value, const std::string& name);
  /// A new variable in home layout (home.h): [C / b][positions][b] with b = home_block(type, C) channels of axis
  /// `channel_axis`, spread over all tiles in equal shares of whole groups of b. Row-major as linear() if no block
  /// divides C. The view has `shape`.
  [[nodiscard]] graph::Tensor home(graph::Type type, const graph::Shape& shape, std::size_t channel_axis,
                                   const std::string& name);
  /// Maps a flat tensor over all tiles in equal shares of whole multiples of `grain` elements, going on at the tile
  /// behind the last one that the call before used, so that many small tensors fill all tiles alike.
  void spread(const graph::Tensor& flat, std::uint64_t grain);
  /// A variable with one copy of a one-element tensor for each tile: [tiles].
  [[nodiscard]] graph::Tensor on_every_tile(const graph::Tensor& scalar, const std::string& name);
  [[nodiscard]] graph::Tensor constant_on_every_tile(const model::Tensor& scalar, const std::string& name);

  /// True if the view holds every element of its variables once and they may be written or cloned.
  [[nodiscard]] bool whole(const graph::Tensor& view) const;
  /// The same view over new variables of the same layout.
  [[nodiscard]] graph::Tensor clone_layout(const graph::Tensor& view, graph::Type type, const std::string& name);
  /// A constant whose elements lie beside those of `view`; value is broadcast to its shape.
  [[nodiscard]] graph::Tensor constant_like(const graph::Tensor& view, const model::Tensor& value,
                                            const std::string& name);
  /// For each variable of `base` the one of `other` whose elements stand beside; empty if the layouts differ.
  [[nodiscard]] std::optional<std::map<graph::VariableId, graph::VariableId>> beside(const graph::Tensor& base,
                                                                                     const graph::Tensor& other) const;
  /// The view itself if it is whole, else a linear copy.
  [[nodiscard]] graph::Tensor made_whole(const graph::Tensor& view, const std::string& name);

  /// A variable's intervals cut for the six workers of each tile.
  [[nodiscard]] std::vector<Piece> pieces(graph::VariableId variable) const;
  [[nodiscard]] graph::Tensor flat(graph::VariableId variable) const;
  [[nodiscard]] static std::vector<graph::VariableId> variables(const graph::Tensor& view);
  /// A matrix view's rows, if they lie on this tile as a codelet can read them.
  [[nodiscard]] std::optional<PlacedRows> placed_rows(const graph::Tensor& matrix, unsigned tile) const;

 private:
  void map_rows(const graph::Tensor& tensor);

  graph::Graph& graph_;
  unsigned tiles_;
  unsigned next_tile_ = 0;  ///< of spread()
  std::vector<graph::Program> steps_;
  KeptPatches kept_;
};

}  // namespace tessera::nn
