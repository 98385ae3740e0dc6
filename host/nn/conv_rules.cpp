// Conv and ConvTranspose as products on the AMP unit. A transposed convolution is one over its input with zeros between
// the elements and the kernel turned round. Groups that are too narrow for a load are put together, with zero weights
// between them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "host/nn/amp_limits.h"
#include "host/nn/amp_rules.h"
#include "host/nn/interleave.h"
#include "hw/error.h"

namespace tessera::nn {

using graph::Tensor;
using model::ConvAttributes;
using model::Model;
using model::Node;
using model::Op;
using model::Shape;
using model::ValueId;

namespace {

using Index = std::int64_t;

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
    std::copy_backward(w_shape_.begin() + 2, w_shape_.end(), kernel_.end());
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
    if (fused_ != nullptr && fused_->addend) product_.addend = fused_addend(lowering_, *fused_, 1);
    if (fused_ != nullptr) product_.limits = fused_->limits;
    const HomeLayout y = planned_amp(lowering_, node_, product_);
    Tensor view = home_view(type, y, shape, 1);
    if (later) view = add_bias(view);
    lowering_.view(result) = view;
  }

 private:
  void lay_task() {
    ConvTask conv = conv_task(lowering_.model(), node_);
    product_.task = conv.task;
    product_.x_positions = std::move(conv.positions);
    together_ = conv.together;
    side_ = conv.side;
    set_amp_limits(lowering_, product_.task);
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
  std::array<Index, 3> kernel_ = {1, 1, 1};
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

HomeLayout planned_amp(Lowering& lowering, const Node& node, AmpProduct& product) {
  AmpTask& task = product.task;
  const Index groups = product.groups_are_channels ? task.groups : 1;
  task.halves =
      static_cast<Index>(result_block(product.result_type(), static_cast<std::uint64_t>(task.out_channels * groups))) /
      8;
  task.addend = product.addend.has_value();
  const AmpPlan plan = plan_amp(task);
  if (plan.bytes > lowering.refused_bytes())
    throw Error(Category::does_not_fit,
                fmt::format("no partition of this product fits: {} bytes on a tile are needed, {} are there",
                            plan.bytes, lowering.options().sram_bytes),
                node.name, "use more tiles, a smaller batch, or tiles with more memory");
  lowering.notes().push_back({node.name, plan.text()});
  return lower_amp(lowering.builder(), product, plan, node.name);
}

AmpProduct::Addend fused_addend(Lowering& lowering, const Fused& fused, std::size_t channel_axis) {
  AmpProduct::Addend addend{lowering.materialised(*fused.addend), channel_axis};
  addend.dies = lowering.dead_from(addend.view, fused.last + 1);
  return addend;
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
