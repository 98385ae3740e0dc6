// Products on the AMP unit: operands to their tiles by exchange, one AMP vertex a tile, then the result (amp_result.h).
// No copy of the input in another order is ever made.
#include "host/nn/amp.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <tuple>

#include "firmware/include/tessera/xtile_host.h"
#include "host/nn/amp_result.h"
#include "host/nn/copy_list.h"
#include "host/nn/extent.h"

namespace tessera::nn {

using graph::Tensor;
using graph::TileMembers;
using graph::Type;
using graph::VariableId;
using graph::VertexId;

namespace {

using Index = std::int64_t;

std::string zero_codelet(Type type) { return type == Type::f16 ? "AmpZero_f16" : "AmpZero_f32"; }

class AmpLowering {
 public:
  AmpLowering(Builder& builder, const AmpProduct& product, const AmpPlan& plan, const std::string& name)
      : builder_(builder), graph_(builder.graph()), p_(product), t_(product.task), plan_(plan), name_(name) {
    load_ = t_.load();
    column_ = t_.column_channels();
    planes_ = static_cast<Index>(plan.planes.size());
    plane_ = plan.plane_elements(t_);
    tiles_ = plan.tiles();
    step_ = plan.wide ? t_.stride_w : 1;
    in_positions_ = t_.images / t_.out_d * t_.in_d * t_.in_h * t_.in_w;
  }

  HomeLayout run() {
    place_patch();
    place_weights();
    multiply();
    return lower_amp_result(builder_, p_, plan_, sums_, name_);
  }

 private:
  struct Tile {
    Index field, group, out, in;  // blocks
  };
  [[nodiscard]] Tile tile(Index index) const {
    const Index split = index % plan_.splits();
    return {index / plan_.splits(), split / (plan_.out_blocks * plan_.in_parts),
            split / plan_.in_parts % plan_.out_blocks, split % plan_.in_parts};
  }
  struct Block {
    Index image, row, column;  // first of the field
  };
  [[nodiscard]] Block block(Index field) const {
    return {field / (plan_.row_blocks * plan_.column_blocks) * plan_.images,
            field / plan_.column_blocks % plan_.row_blocks * plan_.rows, field % plan_.column_blocks * plan_.columns};
  }

  /// A variable of `elements` on each tile of the plan: [tiles][elements].
  Tensor on_tiles(Type type, Index elements, const std::string& what) {
    const Tensor tensor = graph_.add_variable(type, {u(tiles_), u(elements)}, name_ + " " + what);
    for (Index i = 0; i < tiles_; ++i) graph_.map(tensor[u(i)], static_cast<unsigned>(i));
    return tensor;
  }
  static VariableId variable(const Tensor& tensor) { return tensor.boxes().at(0).variable; }
  std::vector<TileMembers> one_each(Index count) const {
    std::vector<TileMembers> result;
    for (Index i = 0; i < count; ++i) result.push_back({static_cast<std::uint32_t>(i), 1});
    return result;
  }
  /// The same data for each of `copies` tiles, or for `parts` tiles together: [copies * parts][elements].
  template <typename T>
  Tensor constant_for(Index copies, Type type, const std::vector<T>& data, const std::string& what, Index parts = 1) {
    std::vector<std::uint8_t> bytes(data.size() * sizeof(T));
    if (!bytes.empty()) std::memcpy(bytes.data(), data.data(), bytes.size());
    const std::uint64_t elements = data.size() * sizeof(T) / graph::size_of(type) / u(parts);
    const Tensor tensor =
        graph_.add_repeated_constant(type, {u(parts), elements}, std::move(bytes), u(copies), name_ + " " + what)
            .reshape({u(copies * parts), elements});
    for (Index i = 0; i < copies * parts; ++i) graph_.map(tensor[u(i)], static_cast<unsigned>(i));
    return tensor;
  }

  // The patch.

  /// Channels are missing in a block, or zeros stand between elements: the whole patch is cleared first.
  [[nodiscard]] bool cleared() const {
    const bool rest = !t_.fold && t_.in_channels % load_ != 0;
    return rest || t_.up_d * t_.up_h * t_.up_w > 1;
  }
  /// Group g and block b of input channels on a tile are there: cuts may leave less for the last.
  [[nodiscard]] bool present(const Tile& at, Index g, Index b) const {
    return at.group * plan_.groups + g < t_.groups && at.in * plan_.in_blocks + b < t_.in_blocks();
  }

  struct Zeros {
    std::vector<std::uint32_t> runs;
    Index blocks;
    bool operator<(const Zeros& o) const { return std::tie(runs, blocks) < std::tie(o.runs, o.blocks); }
  };
  using ZeroTiles = std::map<Zeros, std::vector<Index>>;

  /// What must be zero on which tiles: everything that a useful position reads and the exchange does not bring.
  [[nodiscard]] ZeroTiles zeros_of_tiles() const {
    ZeroTiles tiles_of;
    for (Index i = 0; i < tiles_; ++i) {
      Zeros zeros{zero_runs(block(tile(i).field)), plan_.groups * plan_.in_blocks};
      if (!whole(tile(i))) zeros = {with_missing(tile(i), zeros.runs), 1};
      if (!zeros.runs.empty()) tiles_of[std::move(zeros)].push_back(i);
    }
    return tiles_of;
  }
  void zero_patch(const ZeroTiles& zeros) {
    if (zeros.empty()) return;
    const auto set = graph_.add_compute_set(name_ + " borders");
    add_zeros(set, zeros);
    builder_.execute(set);
  }
  void add_zeros(graph::ComputeSetId set, const ZeroTiles& zeros) {
    for (const auto& [zero, tiles] : zeros)
      add_zeros(set, patch_, tiles, zero.runs, zero.blocks, planes_ * plane_ * t_.element_bytes(), "borders");
  }

  void place_patch() {
    const ZeroTiles zeros = zeros_of_tiles();
    const bool kept = keep_patch(zeros);
    if (!kept) {
      patch_ = on_tiles(p_.type, plan_.patch_elements, "operands");
      builder_.steps().push_back(graph::Program::write_undef(patch_));
    }
    CopyList copies;
    for (Index i = 0; i < tiles_; ++i) {
      const Tile at = tile(i);
      for (Index g = 0; g < plan_.groups; ++g)
        for (Index b = 0; b < plan_.in_blocks; ++b) {
          const Index group = at.group * plan_.groups + g, in = at.in * plan_.in_blocks + b;
          const Index target = i * plan_.patch_elements + (g * plan_.in_blocks + b) * planes_ * plane_;
          if (present(at, g, b)) bring(copies, block(at.field), group, in, target);
        }
    }
    if (!kept && cleared()) zero_patch(zeros);
    copies.emit(builder_, variable(patch_), name_ + " operands");
    if (!kept && !cleared()) zero_patch(zeros);
  }

  /// A patch that no other variable takes the place of keeps the zeros that it got before the program; products with
  /// the same zeros share it. False if there is no memory for that, or nothing to keep.
  bool keep_patch(const ZeroTiles& zeros) {
    if (zeros.empty()) return false;
    std::string key;
    const auto add = [&](Index number) { key.append(reinterpret_cast<const char*>(&number), sizeof number); };
    for (const Index number : {Index{t_.half}, tiles_, plan_.patch_elements}) add(number);
    for (const auto& [zero, tiles] : zeros) {
      for (const std::uint32_t run : zero.runs) add(run);
      add(-zero.blocks);
      for (const Index i : tiles) add(i);
    }
    KeptPatches& kept = builder_.kept_patches();
    const auto found = kept.patches.find(key);
    const auto bytes = static_cast<std::uint64_t>(plan_.patch_elements * t_.element_bytes());
    if (found == kept.patches.end() && bytes > kept.left) return false;
    if (found != kept.patches.end() && found->second) {
      patch_ = *found->second;
      return true;
    }
    if (found == kept.patches.end()) {
      kept.left -= bytes;
      patch_ = constant_for(tiles_, p_.type, std::vector<std::uint8_t>(bytes, 0), "operands");
      graph_.make_initial(variable(patch_));
    } else {
      patch_ = on_tiles(p_.type, plan_.patch_elements, "operands");
    }
    kept.patches[key] = patch_;
    return true;
  }

  /// Row of the input of one image (input slices counted) that a row of a plane holds; -1: zeros.
  [[nodiscard]] Index source_row(const Block& at, Index plane, Index image, Index row) const {
    const auto& phase = plan_.planes[u(plane)];
    const Index z = image % t_.out_d * t_.stride_d + phase[0] * t_.dilation_d - t_.pad_d;
    const Index y = (at.row + row) * t_.stride_h + phase[1] - t_.pad_h;
    if (image >= t_.images || z < 0 || z % t_.up_d != 0 || z / t_.up_d >= t_.in_d) return -1;
    if (y < 0 || y % t_.up_h != 0 || y / t_.up_h >= t_.in_h) return -1;
    return (image / t_.out_d * t_.in_d + z / t_.up_d) * t_.in_h + y / t_.up_h;
  }

  /// One block of input channels of a tile's patch.
  void bring(CopyList& copies, const Block& at, Index group, Index in, Index target) {
    const Index channel = in * load_, channels = t_.fold ? column_ : std::min(load_, t_.in_channels - channel);
    const Index first = (p_.groups_are_channels ? group * t_.in_channels : 0) + channel;
    const Index offset = p_.groups_are_channels ? 0 : group * in_positions_;
    for (Index plane = 0; plane < planes_; ++plane)
      for (Index image = 0; image < plan_.images; ++image)
        for (Index row = 0; row < useful_rows(at); ++row) {
          const Index source = source_row(at, plane, at.image + image, row);
          const Index to = target + plane * plane_ + (image * plan_.plane_rows + row) * plan_.plane_columns * column_;
          const Index x = at.column * t_.stride_w + plan_.planes[u(plane)][2] - t_.pad_w;
          const auto columns = real_columns(x, useful_columns(at));
          if (source >= 0) bring_row(copies, offset + source * t_.in_w, x, columns, first, channels, to);
        }
  }

  /// Columns of a row of the plane; x is that of the plane's first column.
  void bring_row(CopyList& copies, Index row, Index x, std::array<Index, 2> columns, Index channel, Index channels,
                 Index target) {
    auto [begin, end] = columns;
    const Index step = plan_.wide ? 1 : t_.stride_w;  // input columns from one of the plane's to the next
    const Index block = static_cast<Index>(p_.x.block);
    if (step == 1 && t_.up_w == 1 && p_.x_positions.empty() && block == column_ && channels == block &&
        channel % block == 0 && end > begin) {
      copies.add(p_.x.variable, static_cast<Index>(p_.x.element(u(channel), u(row + x + begin))),
                 target + begin * column_, (end - begin) * column_);
      return;
    }
    for (; begin < end; ++begin) {
      if ((x + begin * step) % t_.up_w != 0) continue;
      for (Index c = 0; c < channels;) {
        const Index run = std::min(channels - c, block - (channel + c) % block);
        Index position = row + (x + begin * step) / t_.up_w;
        if (!p_.x_positions.empty()) position = p_.x_positions[u(position)];
        copies.add(p_.x.variable, static_cast<Index>(p_.x.element(u(channel + c), u(position))),
                   target + begin * column_ + c, run);
        c += run;
      }
    }
  }

  /// Columns of a plane that positions of this block read, and rows.
  [[nodiscard]] Index useful_columns(const Block& at) const {
    Index across = 0;
    for (const AmpTap& tap : plan_.taps) across = std::max(across, tap.column + plan_.gap + t_.folded() - 1);
    return (std::min(plan_.columns, t_.out_w - at.column) - 1) * step_ + across + 1;
  }
  [[nodiscard]] Index useful_rows(const Block& at) const {
    return plan_.plane_rows - plan_.rows + std::min(plan_.rows, t_.out_h - at.row);
  }
  /// Those of `useful` columns that are within the input, the plane's first being column x.
  [[nodiscard]] std::array<Index, 2> real_columns(Index x, Index useful) const {
    const Index step = plan_.wide ? 1 : t_.stride_w, width = (t_.in_w - 1) * t_.up_w + 1;
    const Index begin = std::min(useful, x < 0 ? ceil_div(-x, step) : 0);
    return {begin, std::max(begin, std::min(useful, x < width ? ceil_div(width - x, step) : 0))};
  }

  [[nodiscard]] bool whole(const Tile& at) const { return present(at, plan_.groups - 1, plan_.in_blocks - 1); }
  [[nodiscard]] Index column_units() const { return column_ * t_.element_bytes() / 8; }
  /// Runs of at most `longest` in place of one, all in 8 bytes: workers take every sixth.
  static void add_runs(std::vector<std::uint32_t>& runs, Index first, Index count, Index longest) {
    for (; count > 0; first += longest, count -= longest)
      runs.push_back(static_cast<std::uint32_t>(first << 16 | std::min(count, longest)));
  }

  /// The runs of each block that is there, and the whole of those that are not, counted through the patch.
  [[nodiscard]] std::vector<std::uint32_t> with_missing(const Tile& at, const std::vector<std::uint32_t>& own) const {
    std::vector<std::uint32_t> runs;
    const Index units = planes_ * plane_ * t_.element_bytes() / 8;
    for (Index g = 0; g < plan_.groups; ++g)
      for (Index b = 0; b < plan_.in_blocks; ++b) {
        const Index first = (g * plan_.in_blocks + b) * units;
        if (!present(at, g, b)) {
          add_runs(runs, first, units, ceil_div(units, 6));
          continue;
        }
        for (const std::uint32_t run : own) runs.push_back(run + (static_cast<std::uint32_t>(first) << 16));
      }
    return runs;
  }

  /// Zeros in runs of 8 bytes {first << 16 | count} of a variable [tiles][...], on these tiles.
  void add_zeros(graph::ComputeSetId set, const Tensor& where, const std::vector<Index>& tiles,
                 const std::vector<std::uint32_t>& runs, Index blocks, Index block_bytes, const std::string& what) {
    std::vector<std::uint8_t> bytes(runs.size() * 4);
    std::memcpy(bytes.data(), runs.data(), bytes.size());
    const Tensor table =
        graph_.add_repeated_constant(Type::u32, {runs.size()}, std::move(bytes), tiles.size(), name_ + " " + what);
    std::vector<Tensor> parts;
    std::vector<TileMembers> members;
    for (std::size_t k = 0; k < tiles.size(); ++k) {
      graph_.map(table[k], static_cast<unsigned>(tiles[k]));
      members.push_back({static_cast<std::uint32_t>(tiles[k]), 1});
      parts.push_back(where.slice(u(tiles[k]), u(tiles[k] + 1)));
    }
    const VertexId vertex = graph_.add_family(set, zero_codelet(p_.type), std::move(members), name_ + " " + what);
    graph_.connect(vertex, "y", parts.size() == 1 ? parts[0] : Tensor::concat(parts, 0));
    graph_.connect(vertex, "runs", table);
    graph_.set_affine(vertex, "blocks", static_cast<std::uint32_t>(blocks), 0);
    graph_.set_affine(vertex, "block_bytes", static_cast<std::uint32_t>(block_bytes), 0);
  }

  /// Runs of 8 bytes {first << 16 | count} of one block of channels.
  [[nodiscard]] std::vector<std::uint32_t> zero_runs(const Block& at) const {
    std::vector<std::uint32_t> runs;
    const Index longest = plan_.groups * plan_.in_blocks > 1 ? 4 : 16;
    const auto add = [&](Index column, Index columns) {
      add_runs(runs, column * column_units(), columns * column_units(), longest);
    };
    if (cleared()) {
      add(0, planes_ * (plan_.images * plan_.plane_rows * plan_.plane_columns + plan_.shared));
      return runs;
    }
    const Index useful = useful_columns(at), rows = useful_rows(at);
    const Index images = std::min(plan_.images, t_.images - at.image);
    for (Index plane = 0; plane < planes_; ++plane)
      for (Index image = 0; image < images; ++image)
        for (Index row = 0; row < rows; ++row) {
          const Index first =
              ((plane * plan_.images + image) * plan_.plane_rows + row) * plan_.plane_columns + plane * plan_.shared;
          const bool last = row + 1 == rows && (image + 1 == images || rows < plan_.plane_rows);
          const Index own = last ? useful : useful - plan_.shared;  // the rest is the next row's
          const bool real = source_row(at, plane, at.image + image, row) >= 0;
          const Index x = at.column * t_.stride_w + plan_.planes[u(plane)][2] - t_.pad_w;
          const auto [begin, end] = real ? real_columns(x, useful) : std::array<Index, 2>{own, own};
          add(first, begin);
          add(first + end, own - end);
        }
    return runs;
  }

  // Weights.

  void place_weights() {
    const Index sets = plan_.sets(), taps = static_cast<Index>(plan_.taps.size());
    std::vector<std::uint32_t> offsets;
    const Index splits = plan_.pairs ? plan_.splits() : 1;  // halves of a load by output channels
    for (Index split = 0; split < splits; ++split)
      for (Index g = 0; g < plan_.groups; ++g)
        for (Index o = 0; o < plan_.out_sets; ++o)
          for (Index b = 0; b < plan_.in_blocks; ++b)
            for (Index tap = 0; tap < taps; ++tap) offsets.push_back(offset_word(split, g, o, b, tap));
    offsets_ = constant_for(tiles_ / splits, Type::u32, offsets, "offsets", splits);
    if (p_.constant_weights) {
      weights_ = constant_sets();
      return;
    }
    const Index elements = sets * 8 * load_;
    weights_ = on_tiles(p_.type, elements, "weights");
    builder_.steps().push_back(graph::Program::write_undef(weights_));
    CopyList copies;
    for (Index i = 0; i < tiles_; ++i) bring_weights(copies, tile(i), i * elements);
    zero_weights(elements);
    copies.emit(builder_, variable(weights_), name_ + " weights");
  }

  [[nodiscard]] std::uint32_t offset_word(Index split, Index g, Index o, Index b, Index tap) const {
    const AmpTap& at = plan_.taps[u(tap)];
    const Index set = std::min(tile(split).out * plan_.out_sets + o, t_.out_sets() - 1);
    const Index element = ((g * plan_.in_blocks + b) * planes_ + at.plane) * plane_ +
                          (at.row * plan_.plane_columns + at.column) * column_ +
                          (plan_.pairs ? t_.half_of(set) * (load_ / 2) : 0);
    const Index sums = (g * plan_.out_sets + o) * plan_.sum_positions();
    const auto bytes = static_cast<std::uint32_t>(element * t_.element_bytes());
    if (b != 0 || tap != 0) return bytes;
    return bytes / 8 << 16 | 0x80000000U | (g == 0 && o == 0 ? 0x8000U : 0U) | static_cast<std::uint32_t>(sums);
  }

  /// Sets of each split, once for all blocks of the field: [field blocks][splits][elements].
  Tensor constant_sets() {
    const Index set = 8 * load_, elements = plan_.sets() * set;
    std::vector<std::uint8_t> data(u(plan_.splits() * elements * t_.element_bytes()), 0);
    for (Index split = 0; split < plan_.splits(); ++split) {
      const Tile at = tile(split);
      Index index = split * elements;
      for (Index g = 0; g < plan_.groups; ++g)
        for (Index o = 0; o < plan_.out_sets; ++o)
          for (Index b = 0; b < plan_.in_blocks; ++b)
            for (const AmpTap& tap : plan_.taps) {
              fill_set(data, index, at.group * plan_.groups + g, at.out * plan_.out_sets + o,
                       at.in * plan_.in_blocks + b, tap);
              index += set;
            }
    }
    if (t_.weights_once) return send_sets(std::move(data), elements);
    const Tensor tensor = graph_.add_repeated_constant(p_.type, {u(plan_.splits()), u(elements)}, std::move(data),
                                                       u(plan_.field_blocks()), name_ + " weights");
    const Tensor flat = tensor.reshape({u(tiles_), u(elements)});
    for (Index i = 0; i < tiles_; ++i) graph_.map(flat[u(i)], static_cast<unsigned>(i));
    return flat;
  }

  /// Sets of all splits once, spread over all tiles, and room on the tiles of the plan that they are sent to.
  Tensor send_sets(std::vector<std::uint8_t> data, Index elements) {
    const Tensor held =
        graph_.add_constant(p_.type, {u(plan_.splits() * elements)}, std::move(data), name_ + " weights");
    builder_.spread(held, u(8 * load_));
    const Tensor sent = on_tiles(p_.type, elements, "weights here");
    CopyList copies;
    for (Index i = 0; i < tiles_; ++i)
      copies.add(variable(held), i % plan_.splits() * elements, i * elements, elements);
    copies.emit(builder_, variable(sent), name_ + " weights");
    return sent;
  }

  void fill_set(std::vector<std::uint8_t>& data, Index index, Index group, Index out, Index in,
                const AmpTap& tap) const {
    if (group >= t_.groups) return;
    for (Index e = 0; e < 8; ++e)
      for (Index k = 0; k < load_; ++k) {
        if (out * 8 + e >= t_.out_channels || (tap.again && k < load_ / 2)) continue;
        const Index width = t_.fold ? 4 : plan_.pairs ? load_ / 2 : load_;  // channels of a column in a load
        const Index channel = in * load_ + (plan_.pairs ? t_.half_of(out) * width : 0) + k % width;
        const Index column = tap.kernel_column + k / width;
        if (channel >= t_.in_channels || column >= t_.kernel_w) continue;
        const float w = p_.constant_weights(group, out * 8 + e, channel, {tap.kernel_depth, tap.kernel_row, column});
        const Index at = index + e * load_ + k;
        if (t_.half) {
          std::uint32_t bits = 0;
          std::memcpy(&bits, &w, 4);
          const std::uint16_t half = tessera_host_f16_of_f32(bits);
          std::memcpy(&data[u(at * 2)], &half, 2);
        } else {
          std::memcpy(&data[u(at * 4)], &w, 4);
        }
      }
  }

  void bring_weights(CopyList& copies, const Tile& at, Index target) const {
    const Index block = static_cast<Index>(p_.weights->block);
    for (Index g = at.group * plan_.groups; g < (at.group + 1) * plan_.groups; ++g)
      for (Index o = at.out * plan_.out_sets; o < (at.out + 1) * plan_.out_sets; ++o)
        for (Index b = at.in * plan_.in_blocks; b < (at.in + 1) * plan_.in_blocks; ++b)
          for (const AmpTap& tap : plan_.taps)
            for (Index e = 0; e < 8; ++e, target += load_) {
              if (g >= t_.groups || o * 8 + e >= t_.out_channels) continue;
              const auto place = p_.weight_place(g, o * 8 + e, kernel_element(tap));
              const Index end = std::min(place.in_end, (b + 1) * load_);
              for (Index c = std::max(place.in_begin, b * load_); c < end;) {
                const Index channel = place.channel + c - place.in_begin;
                const Index run = std::min(block - channel % block, end - c);
                copies.add(p_.weights->variable, static_cast<Index>(p_.weights->element(u(channel), u(place.position))),
                           target + c - b * load_, run);
                c += run;
              }
            }
  }
  [[nodiscard]] static std::array<Index, 3> kernel_element(const AmpTap& tap) {
    return {tap.kernel_depth, tap.kernel_row, tap.kernel_column};
  }

  /// Weights that are not brought: they meet zeros of the patch or belong to no channel, and must not be NaNs.
  void zero_weights(Index elements) {
    const Index set_bytes = 8 * load_ * t_.element_bytes();
    bool whole = t_.in_channels % load_ == 0 && plan_.in_parts * plan_.in_blocks == t_.in_blocks();
    for (Index o = 0; o < t_.out_channels && whole; ++o) {
      const auto place = p_.weight_place(0, o, kernel_element(plan_.taps[0]));
      whole = place.in_begin == 0 && place.in_end == t_.in_channels;
    }
    if (whole) return;
    std::vector<std::uint32_t> runs;
    for (Index i = 0; i < elements * t_.element_bytes() / set_bytes; ++i)
      runs.push_back(static_cast<std::uint32_t>(i * set_bytes / 8 << 16 | set_bytes / 8));
    const auto set = graph_.add_compute_set(name_ + " no weights");
    std::vector<Index> tiles;
    for (Index i = 0; i < tiles_; ++i) tiles.push_back(i);
    add_zeros(set, weights_, tiles, runs, 1, 0, "no weights");
    builder_.execute(set);
  }

  // The product.

  void multiply() {
    const Index per_set = plan_.sum_positions() * 8;
    sums_ = on_tiles(Type::f32, plan_.groups * plan_.out_sets * per_set, "sums");
    const auto set = graph_.add_compute_set(name_);
    const VertexId vertex =
        graph_.add_family(set, t_.half ? "AmpProduct_f16" : "AmpProduct_f32", one_each(tiles_), name_);
    const Index bytes = t_.element_bytes(), position = step_ * column_ * bytes;
    graph_.connect(vertex, "weights", weights_);
    graph_.connect(vertex, "offsets", offsets_);
    graph_.connect(vertex, "x", patch_);
    graph_.connect(vertex, "c", sums_);
    const auto value = [&](const char* field, Index v) {
      graph_.set_affine(vertex, field, static_cast<std::uint32_t>(v), 0);
    };
    value("x_share", plan_.positions * position);
    value("c_share", plan_.positions * 32);
    const Index gap = plan_.pairs ? plan_.gap * column_ * bytes - load_ / 2 * bytes : 0;  // between halves of a load
    value("x_stride", (((position - 24 - gap) / 8) & 0xffff) | (gap / 8 + 1) << 16);
    value("positions", plan_.positions);
    graph_.set_cycles(vertex, plan_.compute_cycles);
    builder_.execute(set);
  }

  Builder& builder_;
  graph::Graph& graph_;
  const AmpProduct& p_;
  const AmpTask& t_;
  const AmpPlan& plan_;
  std::string name_;
  Index load_ = 16, column_ = 16, planes_ = 1, plane_ = 0, tiles_ = 0, step_ = 1, in_positions_ = 0;
  Tensor patch_, weights_, offsets_, sums_;
};

}  // namespace

std::uint64_t result_block(Type type, std::uint64_t channels) {
  const std::uint64_t found = home_block(type, channels);
  return found == 0 || found == 4 ? 8 : found;
}

HomeLayout at_home(Builder& builder, const Tensor& view, std::size_t channel_axis, const std::string& name,
                   std::uint64_t block) {
  if (const auto found = find_home(builder.graph(), view, channel_axis); found && (block == 0 || found->block == block))
    return *found;
  const std::uint64_t channels = view.dim(channel_axis);
  const std::uint64_t best = home_block(view.type(), channels);
  if (block == 0) block = best != 0 ? best : channels < 4 ? 4 : 8;
  const HomeLayout home = make_home(builder.graph(), view.type(), block, (channels + block - 1) / block,
                                    view.elements() / channels, name + " by channels");
  builder.copy(view, home_view(view.type(), home, view.shape(), channel_axis), name + " by channels");
  return home;
}

HomeLayout lower_amp(Builder& builder, const AmpProduct& product, const AmpPlan& plan, const std::string& name) {
  return AmpLowering(builder, product, plan, name).run();
}

}  // namespace tessera::nn
