// A 3x3 stencil over a field of f32 points, step after step: the field divided over IPUs and tiles in blocks, halos
// exchanged before every step. As a plan, a program for Builder, and the host's own computation for comparison.
//
// out[r][c] = sum of w[i][j] x in[r + i - 1][c + j - 1], fused multiply-adds from +0 in the order of i, j; points
// outside the field are those next to them inside (clamped). IPUs hold bands of whole rows, neighbouring bands on IPUs
// that links join; tiles hold blocks of a band, numbered down the columns of blocks, so that the rows at a band's edge
// lie in all chip columns. A step is: rows at the edges of bands by packets; all else of the halos, corners included,
// by exchange; compute.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "host/demo/allreduce.h"
#include "host/demo/builder.h"
#include "hw/platform.h"

namespace tessera::demo {

struct StencilOptions {
  std::uint32_t height = 1024, width = 1024;  ///< points
  std::uint32_t steps = 4;
  std::uint64_t seed = 1;
};

class Stencil {
 public:
  static constexpr std::array<float, 9> kWeights = {0.05F, 0.11F, 0.07F, 0.13F, 0.24F, 0.09F, 0.06F, 0.17F, 0.03F};

  /// Throws Error(usage) for a field with fewer rows than IPUs or no points or steps; Error(does_not_fit) if a tile
  /// cannot hold its block twice.
  Stencil(const Platform& platform, const StencilOptions& options);

  [[nodiscard]] executable::Executable build();
  /// Compares every point after the last step with the host's.
  [[nodiscard]] Comparison check(const Reader& read) const;
  /// The field after all steps, row-major, by the host.
  [[nodiscard]] std::vector<float> reference() const;

  [[nodiscard]] unsigned tile_rows() const { return rows_of_tiles_; }
  [[nodiscard]] unsigned tile_columns() const { return columns_of_tiles_; }
  [[nodiscard]] unsigned tiles_used() const { return rows_of_tiles_ * columns_of_tiles_; }
  /// Rows and columns of the largest block.
  [[nodiscard]] std::uint32_t block_rows() const { return block_rows_; }
  [[nodiscard]] std::uint32_t block_columns() const { return 4 * block_quads_; }
  [[nodiscard]] std::uint64_t points() const { return std::uint64_t{options_.height} * options_.width; }
  [[nodiscard]] const StencilOptions& options() const { return options_; }

 private:
  struct Span {
    std::uint32_t begin = 0, end = 0;
    [[nodiscard]] std::uint32_t size() const { return end - begin; }
  };
  void choose_grid();
  [[nodiscard]] Span band(unsigned position) const;                     // rows of an IPU
  [[nodiscard]] Span rows(unsigned position, unsigned tile_row) const;  // of a block
  [[nodiscard]] Span columns(unsigned tile_column) const;
  [[nodiscard]] TileRef tile(unsigned position, unsigned tile_row, unsigned tile_column) const;
  /// Address of a point of a block's buffer; -1 is the halo.
  [[nodiscard]] Address at(unsigned buffer, std::int32_t row, std::int32_t column) const;
  void step(Builder& builder, unsigned from);
  [[nodiscard]] exchange::Messages halos(unsigned position, unsigned buffer) const;

  Platform platform_;
  StencilOptions options_;
  std::vector<unsigned> order_;  // IPU of each band
  unsigned rows_of_tiles_ = 1, columns_of_tiles_ = 1;
  std::uint32_t block_rows_ = 0, block_quads_ = 0, pitch_ = 0;  // largest block; pitch in words
  std::array<Address, 2> buffers_{};
};

}  // namespace tessera::demo
