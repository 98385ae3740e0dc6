// Where the elements of a variable stand within its block on each tile: the intervals of the mapping, each 8-byte
// aligned and padded, one after the other. Offsets only; addresses of blocks come from the allocator.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "host/graph/graph.h"

namespace tessera::compiler {

/// Every tile interval of a variable starts at a multiple of this and is padded to it, bytes.
inline constexpr std::uint32_t kIntervalAlign = 8;

/// A byte of a variable's block on a tile.
struct Place {
  std::uint32_t variable = 0;
  std::uint32_t tile = 0;
  std::uint32_t offset = 0;  ///< bytes from the start of the block
};

class Layout {
 public:
  struct Interval {
    std::uint64_t begin = 0, end = 0;  ///< elements
    std::uint32_t tile = 0;
    std::uint32_t offset = 0;  ///< bytes in the block of this tile
  };

  /// Takes the next variable of the graph.
  void add(const graph::Variable& variable);
  [[nodiscard]] std::size_t size() const { return variables_.size(); }
  [[nodiscard]] const std::vector<Interval>& intervals(std::uint32_t variable) const {
    return variables_[variable].intervals;
  }
  [[nodiscard]] const Interval& at(std::uint32_t variable, std::uint64_t element) const;
  /// Bytes of the variable's block by tile.
  [[nodiscard]] const std::map<std::uint32_t, std::uint32_t>& blocks(std::uint32_t variable) const {
    return variables_[variable].blocks;
  }
  [[nodiscard]] unsigned element_bytes(std::uint32_t variable) const { return variables_[variable].bytes; }
  [[nodiscard]] Place place(std::uint32_t variable, std::uint64_t element) const;

 private:
  struct Entry {
    unsigned bytes = 4;
    std::vector<Interval> intervals;
    std::map<std::uint32_t, std::uint32_t> blocks;
  };
  std::vector<Entry> variables_;
};

/// A piece of a copy: elements with a constant step on both sides, within one tile interval each.
struct Piece {
  Place src, dst;
  std::int64_t src_step = 0, dst_step = 0;  ///< bytes from element to element
  std::uint64_t count = 0;
  unsigned bytes = 4;     ///< of an element
  bool dst_ends = false;  ///< ascending and ends with its interval in dst: the padding behind may be written
};

/// Calls f(piece) for two tensors of equal type and shape, in row-major order.
void for_each_piece(const Layout& layout, const graph::Tensor& src, const graph::Tensor& dst,
                    const std::function<void(const Piece&)>& f);

/// A piece of one tensor: flat elements begin .. begin + count at a constant step within one interval.
struct TensorPiece {
  Place place;
  std::int64_t step = 0;  ///< bytes
  std::uint64_t begin = 0, count = 0;
  bool ends = false;  ///< as Piece::dst_ends
};
void for_each_piece(const Layout& layout, const graph::Tensor& tensor,
                    const std::function<void(const TensorPiece&)>& f);

}  // namespace tessera::compiler
