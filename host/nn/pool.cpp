// MaxPool and AveragePool of one to three axes. The result lies in home layout (blocks of channels, home.h) if its
// channels allow it, else row-major; each tile computes its share from the box of the input that its windows meet.
// Windows of up to two axes over blocks of whole vectors are laid out here (codelets of window.c), others on the tiles.
// Global average pooling is one window.
#include "host/nn/pool.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "host/nn/home.h"
#include "host/nn/lowering.h"

namespace tessera::nn {

using graph::Tensor;
using model::Node;
using model::Op;

namespace {

using Index = std::uint64_t;
using Triple = std::array<std::int64_t, 3>;

/// Output positions first .. last of one plane (a block of channels of one image) on a tile, and their box of input.
struct Segment {
  unsigned tile = 0;
  Index plane = 0, first = 0, last = 0;
  Index storage = 0;  ///< element of the result's variable where they begin
  Triple begin{}, end{};
  Tensor x;  ///< the box, contiguous on the tile
};

class Pool {
 public:
  Pool(Lowering& lowering, const Node& node)
      : lowering_(lowering),
        builder_(lowering.builder()),
        node_(node),
        pool_(attributes(lowering, node)),
        type_(type_of(lowering.in(node, 0).type)) {
    const auto& x = lowering.in(node, 0).shape;
    const auto& y = lowering.out(node).shape;
    images_ = static_cast<Index>(x[0]);
    channels_ = static_cast<Index>(x[1]);
    const std::size_t axes = x.size() - 2, skip = 3 - axes;
    for (std::size_t k = 0; k < axes; ++k) {
      input_[skip + k] = x[k + 2];
      result_[skip + k] = y[k + 2];
      kernel_[skip + k] = pool_.kernel[k];
      stride_[skip + k] = pool_.strides[k];
      dilation_[skip + k] = pool_.dilations.empty() ? 1 : pool_.dilations[k];
      pad_[skip + k] = pool_.pads_begin[k];
      padded_[skip + k] = x[k + 2] + pool_.pads_end[k];
    }
    if (!Lowering::wants(node, 1)) thin_out();
    positions_ = static_cast<Index>(result_[0] * result_[1] * result_[2]);
    block_ = home_block(type_, channels_);
    in_blocks_ = block_ != 0;
    if (!in_blocks_) block_ = 1;
    laid_out_ = !Lowering::wants(node, 1) && vectors() && windows_laid_out();
  }

  void run() {
    const graph::Shape shape = shape_of(lowering_.out(node_).shape);
    const bool where = Lowering::wants(node_, 1);
    const Tensor y = result(type_, shape, node_.name);
    const Tensor indices = where ? beside(y, node_.name + " indices") : Tensor();
    if (Lowering::wants(node_, 0)) lowering_.view(node_.outputs[0]) = y;
    if (where) lowering_.view(node_.outputs[1]) = indices;
    if (y.elements() == 0) return;
    cut(y);
    stage();
    if (laid_out_)
      window_vertices(y);
    else
      vertices(y, indices);
  }

 private:
  static model::PoolAttributes attributes(const Lowering& lowering, const Node& node) {
    if (node.op != Op::GlobalAveragePool) return std::get<model::PoolAttributes>(node.attributes);
    const auto& x = lowering.in(node, 0).shape;
    model::PoolAttributes whole;
    whole.kernel.assign(x.begin() + 2, x.end());
    whole.strides.assign(x.size() - 2, 1);
    whole.pads_begin.assign(x.size() - 2, 0);
    whole.pads_end = whole.pads_begin;
    return whole;
  }

  /// Where stride and dilation have a common factor, windows meet only every so many elements of an axis: pools those.
  void thin_out() {
    for (std::size_t k = 0; k < 3; ++k) {
      const std::int64_t step = std::gcd(stride_[k], dilation_[k]), from = (step - pad_[k] % step) % step;
      if (step == 1 || from >= input_[k]) continue;
      const auto left = [&](std::int64_t extent) { return (extent - from + step - 1) / step; };
      step_[k] = step, from_[k] = from;
      input_[k] = left(input_[k]), padded_[k] = left(padded_[k]);
      stride_[k] /= step, dilation_[k] /= step;
      pad_[k] = (pad_[k] + from) / step;
    }
  }

  [[nodiscard]] bool vectors() const {
    return block_ * graph::size_of(type_) % 8 == 0 && (type_ == graph::Type::f16 || type_ == graph::Type::f32);
  }

  /// Taps of the window of result element `o` along an axis: first inside the input, how many are, how many count.
  struct Taps {
    std::int64_t at = 0, inside = 0, padded = 0;
  };
  [[nodiscard]] Taps taps(std::size_t axis, std::int64_t o) const {
    Taps t;
    for (std::int64_t k = 0; k < kernel_[axis]; ++k) {
      const std::int64_t at = o * stride_[axis] - pad_[axis] + k * dilation_[axis];
      if (at < padded_[axis]) ++t.padded;
      if (at < 0 || at >= input_[axis]) continue;
      if (t.inside++ == 0) t.at = at;
    }
    return t;
  }
  /// No third axis, and every window has elements, as many as its words can tell.
  [[nodiscard]] bool windows_laid_out() const {
    if (input_[0] != 1 || kernel_[0] != 1 || result_[0] != 1 || kernel_[1] > 255 || kernel_[2] > 255 ||
        kernel_[1] * kernel_[2] > 0xffff)
      return false;
    for (std::size_t axis = 1; axis < 3; ++axis)
      for (std::int64_t o = 0; o < result_[axis]; ++o)
        if (taps(axis, o).inside == 0) return false;
    return true;
  }
  Tensor result(graph::Type type, const graph::Shape& shape, const std::string& name) {
    return in_blocks_ ? builder_.home(type, shape, 1, name) : builder_.linear(type, shape, name);
  }
  Tensor beside(const Tensor& y, const std::string& name) { return builder_.clone_layout(y, graph::Type::i32, name); }

  /// The result's variable by tiles and planes: [C / block][N][positions][block], or [N][C][positions].
  void cut(const Tensor& y) {
    const Index plane = positions_ * block_;
    for (const graph::TileInterval& i : builder_.graph().variable(y.boxes().at(0).variable).mapping)
      for (Index at = i.begin; at < i.end;) {
        Index end = std::min(i.end, (at / plane + 1) * plane);
        Segment s;
        s.tile = i.tile;
        s.plane = at / plane;
        s.storage = at;
        s.first = at % plane / block_;
        s.last = s.first + (end - at) / block_ - 1;
        const auto row = static_cast<Index>(result_[2]);
        if (s.last - s.first < row && s.last / row != s.first / row) {  // boxes of whole rows would be far larger
          s.last = (s.first / row + 1) * row - 1;
          end = at + (s.last - s.first + 1) * block_;
        }
        box(s);
        segments_.push_back(s);
        at = end;
      }
  }

  /// The smallest box that holds the windows of a run of positions.
  void box(Segment& s) const {
    const auto index = [&](Index position) {
      const auto p = static_cast<std::int64_t>(position);
      return Triple{p / (result_[1] * result_[2]), p / result_[2] % result_[1], p % result_[2]};
    };
    const Triple low = index(s.first), high = index(s.last);
    bool one = true;  // all positions share the axes before this one
    for (std::size_t k = 0; k < 3; ++k) {
      const std::int64_t first = one ? low[k] : 0, last = one ? high[k] : result_[k] - 1;
      const std::int64_t begin = first * stride_[k] - pad_[k];
      const std::int64_t end = last * stride_[k] - pad_[k] + (kernel_[k] - 1) * dilation_[k] + 1;
      s.begin[k] = std::clamp<std::int64_t>(begin, 0, input_[k] - 1);
      s.end[k] = std::clamp<std::int64_t>(end, s.begin[k] + 1, input_[k]);
      one = one && low[k] == high[k];
    }
  }

  /// The box of a plane: [d, h, w, block].
  Tensor source(const Tensor& x, const Segment& s) const {
    const Index image = in_blocks_ ? s.plane % images_ : s.plane / channels_;
    const Index channel = in_blocks_ ? s.plane / images_ * block_ : s.plane % channels_;
    graph::Shape begin = {image, channel}, end = {image + 1, channel + block_};
    for (std::size_t k = 0; k < 3; ++k) {
      begin.push_back(static_cast<Index>(s.begin[k]));
      end.push_back(static_cast<Index>(s.end[k]));
    }
    return x.slice(begin, end).squeeze(0).permute({1, 2, 3, 0});
  }

  /// Boxes that are not on their tile in one piece are brought there.
  void stage() {
    Tensor x = lowering_.materialised(node_.inputs[0]);
    while (x.rank() < 5) x = x.expand(2);
    for (std::size_t k = 0; k < 3; ++k)
      if (step_[k] > 1)
        x = x.slice(static_cast<Index>(from_[k]), x.dim(k + 2), k + 2).every(static_cast<Index>(step_[k]), k + 2);
    std::vector<std::pair<std::size_t, Tensor>> missing;
    Index total = 0;
    for (std::size_t i = 0; i < segments_.size(); ++i) {
      const Tensor from = source(x, segments_[i]);
      if (from.contiguous()) {
        const auto where = builder_.graph().mapping(from);
        if (where.size() == 1 && where[0].tile == segments_[i].tile) {
          segments_[i].x = from.flatten();
          continue;
        }
      }
      missing.emplace_back(i, from);
      total += padded_elements(from.elements());
    }
    if (missing.empty()) return;
    const Tensor staged = builder_.graph().add_variable(type_, {total}, node_.name + " windows");
    Index at = 0;
    for (const auto& [i, from] : missing) {
      Segment& s = segments_[i];
      builder_.graph().map(staged.slice(at, at + padded_elements(from.elements())), s.tile);
      s.x = staged.slice(at, at + from.elements());
      builder_.copy(from, s.x.reshape(from.shape()), node_.name + " windows");
      at += padded_elements(from.elements());
    }
  }

  /// Every box begins where vectors may.
  [[nodiscard]] Index padded_elements(Index n) const {
    const Index grain = 8 / graph::size_of(type_);
    return (n + grain - 1) / grain * grain;
  }

  Tensor geometry() {
    std::vector<std::uint32_t> words;
    for (const Triple* part : {&input_, &result_, &kernel_, &stride_, &dilation_, &pad_, &padded_})
      for (const std::int64_t v : *part) words.push_back(static_cast<std::uint32_t>(v));
    words.push_back(pool_.column_major ? 1 : 0);
    words.push_back(pool_.count_include_pad ? 1 : 0);
    std::vector<unsigned> tiles;
    for (const Segment& s : segments_)
      if (tiles.empty() || tiles.back() != s.tile) tiles.push_back(s.tile);
    std::sort(tiles.begin(), tiles.end());
    tiles.erase(std::unique(tiles.begin(), tiles.end()), tiles.end());
    std::vector<std::uint8_t> data(tiles.size() * words.size() * 4);
    for (std::size_t t = 0; t < tiles.size(); ++t)
      std::memcpy(data.data() + t * words.size() * 4, words.data(), words.size() * 4);
    const Tensor all = builder_.graph().add_constant(graph::Type::u32, {tiles.size(), words.size()}, std::move(data),
                                                     node_.name + " geometry");
    geometry_of_.assign(builder_.tiles(), 0);
    for (std::size_t t = 0; t < tiles.size(); ++t) {
      builder_.graph().map(all[t], tiles[t]);
      geometry_of_[tiles[t]] = t;
    }
    return all;
  }

  [[nodiscard]] std::string codelet(bool where) const {
    const std::string type(graph::name_of(type_));
    if (node_.op == Op::AveragePool) return "PoolAverage_" + type;
    if (where) return "PoolMaxIndex_" + type;
    return (vectors() ? "PoolMaxVectors_" : "PoolMax_") + type;
  }

  void vertices(const Tensor& y, const Tensor& indices) {
    graph::Graph& graph = builder_.graph();
    const Tensor words = geometry();
    const Tensor flat = builder_.flat(y.boxes().at(0).variable);
    const Tensor places = indices.valid() ? builder_.flat(indices.boxes().at(0).variable) : Tensor();
    const auto set = graph.add_compute_set(node_.name);
    for (const Segment& s : segments_) {
      const Index count = s.last - s.first + 1;
      const auto vertex = graph.add_vertex(set, codelet(indices.valid()), s.tile, node_.name);
      graph.connect(vertex, "x", s.x);
      graph.connect(vertex, "y", flat.slice(s.storage, s.storage + count * block_));
      graph.connect(vertex, "geometry", words[geometry_of_[s.tile]]);
      const auto number = [&](const char* field, std::int64_t value) {
        graph.set_value(vertex, field, static_cast<std::uint32_t>(value));
      };
      if (indices.valid()) {
        graph.connect(vertex, "indices", places.slice(s.storage, s.storage + count * block_));
        number("channel", static_cast<std::int64_t>(
                              in_blocks_ ? s.plane % images_ * channels_ + s.plane / images_ * block_ : s.plane));
      }
      number("first", static_cast<std::int64_t>(s.first));
      number("count", static_cast<std::int64_t>(count));
      number("block", static_cast<std::int64_t>(block_));
      number("origin_d", s.begin[0]);
      number("origin_h", s.begin[1]);
      number("origin_w", s.begin[2]);
      number("box_h", s.end[1] - s.begin[1]);
      number("box_w", s.end[2] - s.begin[2]);
    }
    builder_.execute(set);
  }

  void window_vertices(const Tensor& y) {
    graph::Graph& graph = builder_.graph();
    const Tensor flat = builder_.flat(y.boxes().at(0).variable);
    const auto set = graph.add_compute_set(node_.name);
    const std::int64_t column = static_cast<std::int64_t>(block_ * graph::size_of(type_));
    const bool average = node_.op != Op::MaxPool;
    std::vector<std::uint32_t> words;
    for (const Segment& s : segments_) append_windows(words, s, column);
    const Tensor all = graph.add_constant(graph::Type::u32, {words.size()}, words, node_.name + " windows");
    Index at = 0;
    for (const Segment& s : segments_) {
      const Index count = s.last - s.first + 1;
      const Tensor own = all.slice(at, at + 2 * count);
      at += 2 * count;
      graph.map(own, s.tile);
      const auto vertex = graph.add_vertex(
          set, (average ? "WindowMean_" : "WindowMax_") + std::string(graph::name_of(type_)), s.tile, node_.name);
      graph.connect(vertex, "x", s.x);
      graph.connect(vertex, "y", flat.slice(s.storage, s.storage + count * block_));
      graph.connect(vertex, "windows", own);
      const auto number = [&](const char* field, std::int64_t value) {
        graph.set_value(vertex, field, static_cast<std::uint32_t>(value));
      };
      number("count", static_cast<std::int64_t>(count));
      number("shift", column == 8 ? 0 : column == 16 ? 1 : 2);
      number("step_w", dilation_[2] * column);
      number("step_h", dilation_[1] * (s.end[2] - s.begin[2]) * column);
      number("taps", kernel_[1] * kernel_[2]);
    }
    builder_.execute(set);
  }

  /// Two words for each window of a segment (window.c).
  void append_windows(std::vector<std::uint32_t>& words, const Segment& s, std::int64_t column) const {
    for (Index p = s.first; p <= s.last; ++p) {
      const auto position = static_cast<std::int64_t>(p);
      const Taps h = taps(1, position / result_[2] % result_[1]), w = taps(2, position % result_[2]);
      const std::int64_t place = (h.at - s.begin[1]) * (s.end[2] - s.begin[2]) + w.at - s.begin[2];
      const std::int64_t counted = pool_.count_include_pad ? h.padded * w.padded : h.inside * w.inside;
      words.push_back(static_cast<std::uint32_t>(place * column));
      words.push_back(static_cast<std::uint32_t>(w.inside | h.inside << 8 | counted << 16));
    }
  }

  Lowering& lowering_;
  Builder& builder_;
  const Node& node_;
  model::PoolAttributes pool_;
  graph::Type type_;
  Index images_ = 0, channels_ = 0, positions_ = 0;
  Index block_ = 0;  ///< channels that lie together
  bool in_blocks_ = false;
  bool laid_out_ = false;  ///< windows are
  Triple input_{1, 1, 1}, result_{1, 1, 1}, kernel_{1, 1, 1}, stride_{1, 1, 1}, dilation_{1, 1, 1}, pad_{0, 0, 0},
      padded_{1, 1, 1};
  Triple step_{1, 1, 1}, from_{0, 0, 0};  ///< elements of the input that are looked at
  std::vector<Segment> segments_;
  std::vector<std::size_t> geometry_of_;
};

void lower_pool(Lowering& lowering, const Node& node) { Pool(lowering, node).run(); }

std::string refuse_pool(const model::Model& model, const Node& node) {
  const model::Value& x = model.value(node.inputs.at(0));
  if (x.shape.size() < 3 || x.shape.size() > 5) return "pooling of other than one to three axes";
  const bool real = x.type == model::Type::f32 || x.type == model::Type::f16;
  const bool bytes = node.op == Op::MaxPool && (x.type == model::Type::i8 || x.type == model::Type::u8);
  return real || bytes ? "" : "no codelet for " + std::string(name_of(x.type)) + ", use f32";
}

}  // namespace

std::vector<Rule> pool_rules() {
  return {{Op::MaxPool, lower_pool, refuse_pool}, {Op::AveragePool, lower_pool, refuse_pool}};
}

bool global_pool_is_window(const Lowering& lowering, const Node& node) {
  const auto& x = lowering.in(node, 0);
  const std::int64_t width = x.shape.size() == 4 ? x.shape[2] * x.shape[3] : 0;
  // Long rows are better folded by all tiles.
  return width > 0 && width <= 256 && home_block(type_of(x.type), static_cast<Index>(x.shape[1])) != 0 &&
         x.shape[0] > 0 && (x.type == model::Type::f16 || x.type == model::Type::f32);
}

void lower_window_pool(Lowering& lowering, const Node& node) { lower_pool(lowering, node); }

}  // namespace tessera::nn
