// Normalisations and losses.
#include <fmt/format.h>

#include <algorithm>

#include "host/onnx/ops.h"

namespace tessera::model {

namespace {

/// Inference: x, scale, bias, mean, variance to one result.
void translate_batch_norm(Reading& r) {
  if (r.opset < 7 && !r.flag("is_test")) r.refuse("training mode (is_test = 0)");
  if (r.opset >= 14 && r.flag("training_mode")) r.refuse("training mode (training_mode = 1)");
  if (r.opset < 9 && !r.flag("spatial", true)) r.refuse("a normalisation of each position (spatial = 0)");
  NormAttributes norm;
  norm.epsilon = r.real("epsilon", 1e-5F);
  r.node.attributes = norm;
  r.drop_outputs_from(1);  // running statistics, which training gives
}

Inferred infer_batch_norm(const Inference& i) {
  if (i.rank() < 1) misfit("it takes [N, C, ...]");
  const std::int64_t channels = i.rank() == 1 ? 1 : i.shape()[1];
  for (std::size_t k = 1; k < 5; ++k) {
    (void)i.in(k);
    i.expect_type(k, kReal);
    i.expect_shape(k, {channels});
  }
  return infer_same(i);
}

void translate_instance_norm(Reading& r) {
  NormAttributes norm;
  norm.epsilon = r.real("epsilon", 1e-5F);
  r.node.attributes = norm;
}

Inferred infer_instance_norm(const Inference& i) {
  if (i.rank() < 3) misfit("it takes [N, C, ...] with spatial axes");
  for (std::size_t k = 1; k < 3; ++k) {
    (void)i.in(k);
    i.same_type(0, k);
    i.expect_shape(k, {i.shape()[1]});
  }
  return infer_same(i);
}

void translate_layer_norm(Reading& r) {
  NormAttributes norm;
  norm.axis = r.axis(r.integer("axis", -1));
  norm.epsilon = r.real("epsilon", 1e-5F);
  if (r.integer("stash_type", 1) != 1) r.refuse("statistics in another type than f32 (stash_type)");
  r.node.attributes = norm;
}

/// Mean and reciprocal deviation come in f32, with extent 1 on the axes they are of.
Inferred infer_layer_norm(const Inference& i) {
  const auto axis = i.attributes<NormAttributes>().axis;
  const Shape tail(i.shape().begin() + axis, i.shape().end());
  for (std::size_t k = 1; k < 3; ++k) {
    i.same_type(0, k);
    if (i.has(k) && broadcast(i.shape(k), tail) != tail)
      misfit(fmt::format("{} does not broadcast to {}", to_string(i.shape(k)), to_string(tail)));
  }
  (void)i.in(1);
  Shape statistics = i.shape();
  std::fill(statistics.begin() + axis, statistics.end(), 1);
  const Type type = i.type() == Type::f64 ? Type::f64 : Type::f32;
  return {{i.type(), i.shape()}, {type, statistics}, {type, statistics}};
}

void translate_mean_variance(Reading& r) {
  NormAttributes norm;
  norm.epsilon = 1e-9F;
  norm.axes = r.axes(r.integers("axes").value_or(Extents{0, 2, 3}), r.rank());
  r.node.attributes = norm;
}

void translate_loss(Reading& r) {
  LossAttributes loss;
  const std::string name = r.text("reduction", "mean");
  if (name == "none")
    loss.reduction = LossAttributes::Reduction::none;
  else if (name == "sum")
    loss.reduction = LossAttributes::Reduction::sum;
  else if (name != "mean")
    r.fail(fmt::format("reduction '{}'", name));
  if (r.given("ignore_index")) loss.ignore_index = r.integer("ignore_index", 0);
  r.node.attributes = loss;
}

/// Scores [N, C, ...], labels [N, ...], weights [C].
Inferred infer_loss(const Inference& i) {
  if (i.rank() < 2) misfit("it takes scores [N, C, ...]");
  Shape labels = i.shape();
  labels.erase(labels.begin() + 1);
  (void)i.in(1);
  i.expect_shape(1, labels);
  i.expect_type(1, kIndex);
  i.same_type(0, 2);
  i.expect_shape(2, {i.shape()[1]});
  const bool each = i.attributes<LossAttributes>().reduction == LossAttributes::Reduction::none;
  return {{i.type(), each ? labels : Shape()}, {i.type(), i.shape()}};
}

}  // namespace

std::vector<Operator> normalisation_operators() {
  return {{Op::BatchNormalization, kReal, translate_batch_norm, infer_batch_norm},
          {Op::InstanceNormalization, kReal, translate_instance_norm, infer_instance_norm},
          {Op::LayerNormalization, kReal, translate_layer_norm, infer_layer_norm},
          {Op::MeanVarianceNormalization, kReal, translate_mean_variance, infer_same},
          {Op::NegativeLogLikelihoodLoss, kReal, translate_loss, infer_loss},
          {Op::SoftmaxCrossEntropyLoss, kReal, translate_loss, infer_loss}};
}

}  // namespace tessera::model
