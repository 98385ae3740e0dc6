// Plans for convolutions and matrix products on the AMP unit: which part of the output field, of the output channels
// and of the input channels a tile takes. Pure arithmetic; internal to host/nn.
//
// A product has positions (images x rows x columns of the output field), taps, input channels in blocks of one load (16
// f16 or 8 f32) and output channels in sets of 8; groups are independent products side by side. A matrix product [m, k]
// x [k, n] has one row of m columns, k input and n output channels; products of a batch are groups.
//
// A tile holds the input patch of its block as [channel blocks][planes][images][rows][columns][channels]. A plane is
// what taps of one stride phase see, so that rows always follow each other at one distance and positions run through
// the whole patch: those between two rows are computed too and dropped ("junk"). Columns are taken apart by phase
// likewise, or kept together (`wide`) if every phase is used; then positions stand stride_w columns apart.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::nn {

struct AmpTask {
  bool half = true;                                ///< f16; else f32
  std::int64_t groups = 1, images = 1;             ///< images: with a third axis its output slices are images too
  std::int64_t in_channels = 1, out_channels = 1;  ///< of a group
  std::int64_t in_h = 1, in_w = 1, out_h = 1, out_w = 1;
  std::int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  std::int64_t pad_h = 0, pad_w = 0;  ///< in front
  /// A third axis: an image is one slice of the output and needs kernel_d slices of the input.
  std::int64_t in_d = 1, out_d = 1, kernel_d = 1, stride_d = 1, dilation_d = 1, pad_d = 0;
  /// Transposed convolution: the input with up - 1 zeros between elements. in_* count the elements.
  std::int64_t up_d = 1, up_h = 1, up_w = 1;
  bool fold = false;  ///< in_channels <= 4, held as 4: kernel columns are folded into a load
  /// Groups put together to fill a load: channels of one of them, in and out. Also all channels, if few. 0: none.
  std::int64_t narrow_in = 0, narrow_out = 1;
  bool constant_weights = true;
  bool addend = false;        ///< one is added to the result
  std::int64_t halves = 1;    ///< sets of eight channels in a channel block of the result: 1 or 2
  bool weights_once = false;  ///< constant weights are sent before each use; else they lie where they are used
  unsigned tiles = 1;
  std::uint64_t tile_bytes = 0;    ///< what a tile should hold of this product besides constant weights
  std::uint64_t weight_bytes = 0;  ///< and of these
  double weight_price = 0;         ///< cycles that a byte of constant weights on a tile is worth

  /// Channels of a load.
  [[nodiscard]] std::int64_t load() const { return half ? 16 : 8; }
  [[nodiscard]] std::int64_t element_bytes() const { return half ? 2 : 4; }
  /// Channels of a column in the patch.
  [[nodiscard]] std::int64_t column_channels() const { return fold ? 4 : load(); }
  [[nodiscard]] std::int64_t in_blocks() const { return fold ? 1 : (in_channels + load() - 1) / load(); }
  [[nodiscard]] std::int64_t out_sets() const { return (out_channels + 7) / 8; }
  /// The half of a load that holds all input channels of a set of output channels; -1: there is none.
  [[nodiscard]] std::int64_t half_of(std::int64_t out_set) const;
  /// Every set has one: loads can take halves of two columns of the kernel.
  [[nodiscard]] bool halves_suffice() const;
  /// Kernel columns that one load covers.
  [[nodiscard]] std::int64_t folded() const { return fold ? load() / 4 : 1; }
};

/// Where a tap finds its operands in the patch.
struct AmpTap {
  std::int64_t kernel_depth = 0, kernel_row = 0, kernel_column = 0;  ///< with fold or pairs the first of the columns
  bool again = false;                           ///< of a pair: the first column belongs to the pair before
  std::int64_t plane = 0, row = 0, column = 0;  ///< of position 0, in columns of the plane
};

struct AmpPlan {
  std::int64_t images = 1, rows = 1, columns = 1;  ///< of a block of the field
  std::int64_t image_blocks = 1, row_blocks = 1, column_blocks = 1;
  std::int64_t out_sets = 1, out_blocks = 1;  ///< sets of 8 output channels on a tile; tiles that share them
  std::int64_t in_blocks = 1, in_parts = 1;   ///< loads of input channels on a tile; tiles that share them
  std::int64_t groups = 1, group_blocks = 1;  ///< groups on a tile; tiles that share them

  /// Results stay on these tiles, since each holds whole channel blocks; else sums go to equal shares of all tiles.
  bool local = true;

  // The patch.
  bool wide = false;
  bool pairs =
      false;  ///< a load takes half its channels of one column and half of another, `gap` columns of the plane on
  std::int64_t gap = 0;
  std::vector<std::array<std::int64_t, 3>> planes;  ///< kernel slice, phase of rows, phase of columns (wide: 0)
  std::vector<AmpTap> taps;
  std::int64_t plane_rows = 1;     ///< of an image
  std::int64_t plane_columns = 1;  ///< columns of the plane from row to row
  std::int64_t pitch = 1;          ///< positions from row to row
  /// Zeros at the end of a row that are those at the beginning of the next: a plane ends with as many columns more.
  std::int64_t shared = 0;
  std::int64_t positions = 3;       ///< of each worker
  std::int64_t patch_elements = 0;  ///< everything that is read, junk included

  std::uint64_t compute_cycles = 0, exchange_cycles = 0, finish_cycles = 0;
  std::uint64_t bytes = 0, weight_bytes = 0;  ///< of a tile
  std::uint64_t work_bytes = 0;               ///< without weights that stay there: only while the product is computed
  std::uint64_t excess = 0;                   ///< bytes beyond tile_bytes and weight_bytes together
  double useful = 0;                          ///< useful steps over compute cycles
  double cost = 0;                            ///< cycles, and what the weights cost
  bool fits = false;

  [[nodiscard]] std::int64_t field_blocks() const { return image_blocks * row_blocks * column_blocks; }
  [[nodiscard]] std::int64_t splits() const { return group_blocks * out_blocks * in_parts; }
  [[nodiscard]] std::int64_t tiles() const { return field_blocks() * splits(); }
  [[nodiscard]] std::int64_t sets() const {
    return groups * out_sets * in_blocks * static_cast<std::int64_t>(taps.size());
  }
  [[nodiscard]] std::int64_t plane_elements(const AmpTask& task) const {
    return (images * plane_rows * plane_columns + shared) * task.column_channels();
  }
  /// Positions of the sums of one set of channels, junk included.
  [[nodiscard]] std::int64_t sum_positions() const { return 6 * positions; }
  [[nodiscard]] std::uint64_t cycles() const { return compute_cycles + exchange_cycles + finish_cycles; }
  [[nodiscard]] std::string text() const;
};

/// Slots of a worker that finishes sums (AmpResult in firmware/codelets), measured: once, once if there are further
/// parts, for a run of positions, for a position, for each further part of a position, for an addend.
struct AmpFinishSlots {
  std::int64_t enter, enter_parts, segment, position, part, addend;
  [[nodiscard]] std::int64_t slots(std::int64_t segments, std::int64_t positions, std::int64_t parts, bool add) const {
    return enter + (parts > 0 ? enter_parts : 0) + segments * segment +
           positions * (position + parts * part + (add ? addend : 0));
  }
};
inline constexpr AmpFinishSlots kAmpFinish{53, 12, 10, 8, 4, 6};

/// The plan of least estimated cycles, its weights paid for, among those within tile_bytes and weight_bytes; if there
/// is none, the one that is least beyond these.
[[nodiscard]] AmpPlan plan_amp(const AmpTask& task);

}  // namespace tessera::nn
