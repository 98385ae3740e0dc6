// How broadcast operands meet a result in storage order: rectangles of rows and columns that one vertex of a Map
// codelet (firmware/codelets/map.h) computes, with the step of each operand from row to row and from column to column.
// Internal to host/nn.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "host/nn/builder.h"

namespace tessera::nn {

/// What one operand is read at in a rectangle.
struct RectangleOperand {
  std::uint64_t begin = 0, count = 0;  ///< flat elements of the operand (row-major in its own shape)
  std::uint32_t row = 0, step = 0;
};

/// Storage elements begin .. begin + rows * columns of a variable.
struct Rectangle {
  std::uint64_t begin = 0;
  std::uint32_t rows = 1, columns = 1;
  std::vector<RectangleOperand> operands;
};

/// The rectangles of each tile interval of the variables of `base`, for operands of these shapes (right-aligned to the
/// shape of base, extent 1 or the same). Empty if an operand does not fit the order of storage, or if pieces would be
/// too small to pay.
class BroadcastPlan {
 public:
  [[nodiscard]] static std::optional<BroadcastPlan> make(const graph::Tensor& base,
                                                         const std::vector<graph::Shape>& operands);
  /// Rectangles of storage elements begin .. end of a variable, in order.
  [[nodiscard]] std::vector<Rectangle> cut(graph::VariableId variable, std::uint64_t begin, std::uint64_t end) const;

 private:
  struct Level {
    std::uint64_t extent = 1;
    std::vector<std::uint64_t> step;  ///< of each operand
  };
  /// A dense range of storage: levels from outermost to innermost.
  struct Block {
    graph::VariableId variable;
    std::uint64_t begin = 0, count = 0;
    std::vector<std::uint64_t> first;  ///< of each operand at `begin`
    std::vector<Level> levels;
  };
  static std::optional<Block> block_of(const graph::Box& box, const graph::Shape& shape,
                                       const std::vector<graph::Shape>& operands);
  void cut_block(const Block& block, std::uint64_t begin, std::uint64_t end, std::vector<Rectangle>& result) const;

  std::vector<Block> blocks_;  ///< sorted by variable and begin
};

}  // namespace tessera::nn
