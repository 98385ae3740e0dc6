// MaxPool and AveragePool of one to three axes. The result lies in home layout (blocks of channels, home.h) if its
// channels allow it, else row-major; each tile computes its share from the box of the input that its windows meet.
#include <algorithm>
#include <array>

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
        pool_(std::get<model::PoolAttributes>(node.attributes)),
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
    positions_ = static_cast<Index>(result_[0] * result_[1] * result_[2]);
    block_ = home_block(type_, channels_);
    in_blocks_ = block_ != 0;
    if (!in_blocks_) block_ = 1;
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
    vertices(y, indices);
  }

 private:
  Tensor result(graph::Type type, const graph::Shape& shape, const std::string& name) {
    return in_blocks_ ? builder_.home(type, shape, 1, name) : builder_.linear(type, shape, name);
  }
  Tensor beside(const Tensor& y, const std::string& name) { return builder_.clone_layout(y, graph::Type::i32, name); }

  /// The result's variable by tiles and planes: [C / block][N][positions][block], or [N][C][positions].
  void cut(const Tensor& y) {
    const Index plane = positions_ * block_;
    for (const graph::TileInterval& i : builder_.graph().variable(y.boxes().at(0).variable).mapping)
      for (Index at = i.begin; at < i.end;) {
        const Index end = std::min(i.end, (at / plane + 1) * plane);
        Segment s;
        s.tile = i.tile;
        s.plane = at / plane;
        s.storage = at;
        s.first = at % plane / block_;
        s.last = s.first + (end - at) / block_ - 1;
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
    const bool vectors =
        block_ * graph::size_of(type_) % 8 == 0 && (type_ == graph::Type::f16 || type_ == graph::Type::f32);
    return (vectors ? "PoolMaxVectors_" : "PoolMax_") + type;
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

  Lowering& lowering_;
  Builder& builder_;
  const Node& node_;
  const model::PoolAttributes& pool_;
  graph::Type type_;
  Index images_ = 0, channels_ = 0, positions_ = 0;
  Index block_ = 0;  ///< channels that lie together
  bool in_blocks_ = false;
  Triple input_{1, 1, 1}, result_{1, 1, 1}, kernel_{1, 1, 1}, stride_{1, 1, 1}, dilation_{1, 1, 1}, pad_{0, 0, 0},
      padded_{1, 1, 1};
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

}  // namespace tessera::nn
