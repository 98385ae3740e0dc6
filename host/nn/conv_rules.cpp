// Conv and ConvTranspose as products on the AMP unit. A transposed convolution is one over its input with zeros between
// the elements and the kernel turned round. Groups that are too narrow for a load are put together, with zero weights
// between them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "host/nn/amp_rules.h"
#include "host/nn/interleave.h"
#include "hw/error.h"

namespace tessera::nn {

using graph::Tensor;
using model::ConvAttributes;
using model::Extents;
using model::Model;
using model::Node;
using model::Op;
using model::Shape;
using model::ValueId;

namespace {

using Index = std::int64_t;

constexpr double kDataShare = 0.6;  // of a tile's memory: the rest is code, tables, lists, stacks
constexpr double kMostShare = 0.9;  // what one product may at most take

/// The last three entries, `fill` in front.
std::array<Index, 3> three(const Extents& extents, Index fill) {
  std::array<Index, 3> result = {fill, fill, fill};
  std::copy(extents.begin(), extents.end(), result.end() - static_cast<std::ptrdiff_t>(extents.size()));
  return result;
}

class ConvLowering {
 public:
  ConvLowering(Lowering& lowering, const Node& node, const Fused* fused)
      : lowering_(lowering),
        builder_(lowering.builder()),
        node_(node),
        fused_(fused),
        a_(std::get<ConvAttributes>(node.attributes)),
        transposed_(node.op == Op::ConvTranspose) {
    x_shape_ = lowering.in(node, 0).shape;
    w_shape_ = lowering.in(node, 1).shape;
    y_shape_ = lowering.out(node).shape;
    kernel_ = three(Extents(w_shape_.begin() + 2, w_shape_.end()), 1);
    in_group_ = x_shape_[1] / a_.group;
    out_group_ = y_shape_[1] / a_.group;
  }

  void run() {
    const ValueId result = fused_ != nullptr ? lowering_.model().nodes[fused_->last].outputs[0] : node_.outputs[0];
    const graph::Shape shape = shape_of(y_shape_);
    const graph::Type type = type_of(lowering_.out(node_).type);
    if (graph::element_count(shape) == 0) {
      lowering_.view(result) = builder_.linear(type, shape, node_.name);
      return;
    }
    product_.type = type;
    lay_task();
    place_input();
    place_weights();
    bool later = !scale_and_bias();
    if (fused_ != nullptr && fused_->addend)
      product_.addend = addend_at_home(lowering_, *fused_->addend, 1, node_.name);
    if (fused_ != nullptr) product_.limits = fused_->limits;
    const HomeLayout y = planned_amp(lowering_, node_, product_);
    Tensor view = home_view(type, y, shape, 1);
    if (later) view = add_bias(view);
    lowering_.view(result) = view;
  }

 private:
  void lay_task() {
    AmpTask& t = product_.task;
    t.half = product_.type == graph::Type::f16;
    const auto in = three(Extents(x_shape_.begin() + 2, x_shape_.end()), 1);
    const auto out = three(Extents(y_shape_.begin() + 2, y_shape_.end()), 1);
    auto strides = three(a_.strides, 1), pads = three(a_.pads_begin, 0);
    const auto dilations = three(a_.dilations, 1);
    if (transposed_) {
      t.up_d = strides[0], t.up_h = strides[1], t.up_w = strides[2];
      strides = {1, 1, 1};
      for (std::size_t i = 0; i < 3; ++i) pads[i] = dilations[i] * (kernel_[i] - 1) - pads[i];
    }
    t.in_d = in[0], t.in_h = in[1], t.in_w = in[2];
    t.out_d = out[0], t.out_h = out[1], t.out_w = out[2];
    t.kernel_d = kernel_[0], t.kernel_h = kernel_[1], t.kernel_w = kernel_[2];
    t.stride_d = strides[0], t.stride_h = strides[1], t.stride_w = strides[2];
    t.dilation_d = dilations[0], t.dilation_h = dilations[1], t.dilation_w = dilations[2];
    t.pad_d = pads[0], t.pad_h = pads[1], t.pad_w = pads[2];
    t.images = x_shape_[0] * t.out_d;
    t.constant_weights = lowering_.in(node_, 1).constant.has_value();
    together_ = 1;
    if (a_.group > 1) {
      while (together_ < a_.group &&
             (a_.group % together_ != 0 || together_ * in_group_ % t.load() != 0 || together_ * out_group_ % 8 != 0))
        ++together_;
    }
    t.groups = a_.group / together_;
    t.in_channels = in_group_ * together_;
    t.out_channels = out_group_ * together_;
    t.fold = t.groups == 1 && t.in_channels <= 4 && t.constant_weights && t.kernel_w > 1 && t.dilation_w == 1 &&
             t.up_d * t.up_h * t.up_w == 1;
    columns_as_channels(t);
    set_amp_limits(lowering_, node_, t);
  }

  /// One channel and a stride of whole loads (spectra of sound): a load of columns is taken as channels.
  void columns_as_channels(AmpTask& t) {
    const Index load = t.load();
    if (!t.fold || t.in_channels != 1 || t.stride_w % load != 0 || t.pad_w % load != 0 || t.in_w % load != 0) return;
    side_ = load;
    t.fold = false;
    t.in_channels = load;
    t.in_w /= load, t.stride_w /= load, t.pad_w /= load;
    t.kernel_w = (t.kernel_w + load - 1) / load;
  }

  void place_input() {
    Tensor x = lowering_.materialised(node_.inputs[0]);
    if (side_ > 1) {
      graph::Shape shape = x.shape();
      shape.erase(shape.begin() + 1);
      shape.back() /= static_cast<std::uint64_t>(side_);
      shape.push_back(static_cast<std::uint64_t>(side_));
      std::vector<std::size_t> order = {0, x.rank() - 1};
      for (std::size_t axis = 1; axis + 1 < x.rank(); ++axis) order.push_back(axis);
      x = x.reshape(shape).permute(order);
    }
    if (!product_.task.fold) {
      product_.x = at_home(builder_, x, 1, node_.name);
      return;
    }
    // Four channels a column, those that are not there zero.
    if (const auto found = find_home(builder_.graph(), x, 1); found && found->block == 4 && x.dim(1) == 4)
      product_.x = *found;
    else
      product_.x = interleaved_home(builder_, x, node_.name + " by channels");
  }

  /// Of an output channel within groups put together: the input channels of its own group.
  [[nodiscard]] Index sub_group(Index out) const { return out / out_group_; }

  [[nodiscard]] Index kernel_position(const std::array<Index, 3>& tap) const {
    std::array<Index, 3> k = tap;
    if (transposed_)
      for (std::size_t i = 0; i < 3; ++i) k[i] = kernel_[i] - 1 - k[i];
    return (k[0] * kernel_[1] + k[1]) * kernel_[2] + k[2];
  }

  void place_weights() {
    const Index taps = kernel_[0] * kernel_[1] * kernel_[2];
    const auto& constant = lowering_.in(node_, 1).constant;
    if (constant) {
      scale_.assign(static_cast<std::size_t>(y_shape_[1]), 1.0F);
      weights_.resize(static_cast<std::size_t>(constant->elements()));
      for (Index i = 0; i < constant->elements(); ++i)
        weights_[static_cast<std::size_t>(i)] = static_cast<float>(constant->real(i));
      product_.constant_weights = [this, taps](Index group, Index out, Index in, const std::array<Index, 3>& tap) {
        if (side_ > 1) {
          const Index column = tap[2] * side_ + in;
          const Index at = out * taps + (tap[0] * kernel_[1] + tap[1]) * kernel_[2] + column;
          return column < kernel_[2] ? weights_[static_cast<std::size_t>(at)] * scale_[static_cast<std::size_t>(out)]
                                     : 0.0F;
        }
        const Index sub = sub_group(out), c = in - sub * in_group_;
        if (c < 0 || c >= in_group_) return 0.0F;
        const Index whole_out = group * together_ * out_group_ + out;
        const Index whole_in = (group * together_ + sub) * in_group_ + c;
        const Index at = transposed_ ? (whole_in * out_group_ + out % out_group_) * taps + kernel_position(tap)
                                     : (whole_out * in_group_ + c) * taps + kernel_position(tap);
        return weights_[static_cast<std::size_t>(at)] * scale_[static_cast<std::size_t>(whole_out)];
      };
      return;
    }
    const Tensor w = lowering_.materialised(node_.inputs[1]);
    product_.weights = at_home(builder_, w, transposed_ ? 0 : 1, node_.name + " weights");
    product_.weight_place = [this, taps](Index group, Index out, const std::array<Index, 3>& tap) {
      const Index sub = sub_group(out);
      AmpProduct::WeightPlace place;
      place.in_begin = sub * in_group_;
      place.in_end = place.in_begin + in_group_;
      if (transposed_) {
        place.channel = (group * together_ + sub) * in_group_;
        place.position = out % out_group_ * taps + kernel_position(tap);
      } else {
        place.position = (group * together_ * out_group_ + out) * taps + kernel_position(tap);
      }
      return place;
    };
  }

  /// Bias, and what normalisations and additions behind make of it. False if the bias must be added afterwards.
  bool scale_and_bias() {
    product_.bias.assign(static_cast<std::size_t>(y_shape_[1]), 0.0F);
    bool added = true;
    if (Lowering::has(node_, 2)) {
      const auto& bias = lowering_.in(node_, 2).constant;
      added = bias.has_value();
      for (Index c = 0; added && c < bias->elements(); ++c)
        product_.bias[static_cast<std::size_t>(c)] = static_cast<float>(bias->real(c));
    }
    if (fused_ == nullptr) return added;
    for (const Node* scale : fused_->scales) {
      const auto operand = [&](std::size_t i, Index c) { return lowering_.in(*scale, i).constant->real(c); };
      const double epsilon = std::get<model::NormAttributes>(scale->attributes).epsilon;
      for (Index c = 0; c < y_shape_[1]; ++c) {
        const double factor = operand(1, c) / std::sqrt(operand(4, c) + epsilon);
        float& bias = product_.bias[static_cast<std::size_t>(c)];
        bias = static_cast<float>((bias - operand(3, c)) * factor + operand(2, c));
        scale_[static_cast<std::size_t>(c)] = static_cast<float>(scale_[static_cast<std::size_t>(c)] * factor);
      }
    }
    for (const ValueId id : fused_->biases) {
      const model::Tensor& values = *lowering_.model().value(id).constant;
      for (Index c = 0; c < y_shape_[1]; ++c)
        product_.bias[static_cast<std::size_t>(c)] += static_cast<float>(values.real(values.elements() == 1 ? 0 : c));
    }
    return added;
  }

  Tensor add_bias(const Tensor& y) {
    graph::Shape shape(y.rank(), 1);
    shape[1] = y.dim(1);
    const Tensor bias = lowering_.materialised(node_.inputs[2]).reshape(shape);
    return lower_binary(builder_, "MapAdd_" + type_suffix(y.type()), {y, nullptr}, {bias, nullptr}, y.shape(), y.type(),
                        node_.name + " bias");
  }

  Lowering& lowering_;
  Builder& builder_;
  const Node& node_;
  const Fused* fused_;
  const ConvAttributes& a_;
  bool transposed_;
  Shape x_shape_, w_shape_, y_shape_;
  std::array<Index, 3> kernel_{};
  Index in_group_ = 1, out_group_ = 1, together_ = 1;
  Index side_ = 1;  ///< columns side by side as channels
  AmpProduct product_;
  std::vector<float> weights_, scale_;
};

std::string refuse(const Model& model, const Node& node) {
  const model::Type type = model.value(node.outputs.at(0)).type;
  if (type != model::Type::f32 && type != model::Type::f16) return "convolution of " + std::string(name_of(type));
  const std::size_t rank = model.value(node.inputs[0]).shape.size();
  if (rank < 3 || rank > 5) return fmt::format("convolution over {} axes", rank - 2);
  return "";
}

}  // namespace

void set_amp_limits(const Lowering& lowering, const Node& node, AmpTask& task) {
  const double budget = lowering.options().sram_bytes * kDataShare / 2;
  const auto own = static_cast<double>(weight_bytes(lowering.model(), node));
  const auto all = static_cast<double>(lowering.all_weight_bytes());
  // Beyond an even share a product may hold some sets more, as far as all products together leave room for that.
  const auto& nodes = lowering.model().nodes;
  const auto products = std::count_if(nodes.begin(), nodes.end(),
                                      [&](const Node& n) { return weight_bytes(lowering.model(), n) != 0; });
  const double spare = lowering.options().sram_bytes * kDataShare - 1.25 * all / lowering.options().tiles;
  const double extra = std::clamp(spare / static_cast<double>(std::max<std::ptrdiff_t>(1, products)), 264.0, 1024.0);
  const double weights = std::max(all == 0 ? 0 : budget * own / all, 1.25 * own / lowering.options().tiles + extra);
  task.tiles = lowering.options().tiles;
  task.weight_bytes = static_cast<std::uint64_t>(weights);
  task.tile_bytes = static_cast<std::uint64_t>(std::min(budget + weights, lowering.options().sram_bytes * kMostShare));
}

HomeLayout planned_amp(Lowering& lowering, const Node& node, AmpProduct& product) {
  const AmpPlan plan = plan_amp(product.task);
  if (!plan.fits && plan.bytes > lowering.options().sram_bytes)
    throw Error(Category::does_not_fit,
                fmt::format("no partition of this product fits: {} bytes on a tile are needed, {} are there",
                            plan.bytes, lowering.options().sram_bytes),
                node.name, "use more tiles, a smaller batch, or tiles with more memory");
  lowering.notes().push_back({node.name, plan.text()});
  return lower_amp(lowering.builder(), product, plan, node.name);
}

HomeLayout addend_at_home(Lowering& lowering, ValueId id, std::size_t channel_axis, const std::string& name) {
  Builder& builder = lowering.builder();
  const Tensor view = lowering.materialised(id);
  const std::uint64_t channels = view.dim(channel_axis), positions = view.elements() / channels;
  const auto found = find_home(builder.graph(), view, channel_axis);
  if (found && beside_result(builder.graph(), *found, view.type(), channels, positions)) return *found;
  const HomeLayout home = make_result_home(builder.graph(), view.type(), channels, positions, name + " addend");
  builder.copy(view, home_view(view.type(), home, view.shape(), channel_axis), name + " addend");
  return home;
}

bool beside_result(const graph::Graph& graph, const HomeLayout& addend, graph::Type type, std::uint64_t channels,
                   std::uint64_t positions) {
  const std::uint64_t found = home_block(type, channels), block = found == 0 || found == 4 ? 8 : found;
  if (addend.block != block || addend.blocks != (channels + block - 1) / block || addend.positions != positions)
    return false;
  graph::Graph other(graph.tiles());  // what a result's mapping would be
  const HomeLayout result = make_home(other, type, block, addend.blocks, positions, "");
  return graph.variable(addend.variable).mapping == other.variable(result.variable).mapping;
}

void lower_conv_with(Lowering& lowering, const Node& node, const Fused* fused) {
  ConvLowering(lowering, node, fused).run();
}

void lower_fused(Lowering& lowering, const Fused& fused) {
  const Node& head = lowering.model().nodes[fused.head];
  if (head.op == Op::MatMul)
    lower_matmul_with(lowering, head, &fused);
  else
    lower_conv_with(lowering, head, &fused);
}

namespace {
void lower_conv(Lowering& lowering, const Node& node) { lower_conv_with(lowering, node, nullptr); }
}  // namespace

std::vector<Rule> conv_rules() { return {{Op::Conv, lower_conv, refuse}, {Op::ConvTranspose, lower_conv, refuse}}; }

}  // namespace tessera::nn
