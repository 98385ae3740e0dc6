// Losses of classification: the negative logarithm of the probability of the target class, weighted, summed or
// averaged.
#include <algorithm>
#include <cmath>

#include "host/golden/kernel.h"
#include "host/golden/numbers.h"
#include "hw/error.h"

namespace tessera::golden {

using model::LossAttributes;
using model::Op;
using model::Shape;
using model::Tensor;

namespace {

/// log_probability [N, C, d...], targets [N, d...], weights [C] or null.
Tensor negative_log_likelihood(const Call& call, const std::vector<double>& log_probability, const Tensor& targets,
                               const Tensor* weights) {
  const auto& attributes = call.attributes<LossAttributes>();
  const Shape& shape = call.x().shape;
  const std::int64_t classes = shape.at(1), run = product_of(shape, 2, shape.size());
  const std::vector<double> weight =
      weights == nullptr ? std::vector<double>(static_cast<std::size_t>(classes), 1.0) : reals(*weights);
  std::vector<double> losses;
  double sum = 0.0, weight_sum = 0.0;
  for (std::int64_t i = 0; i < targets.elements(); ++i) {
    const std::int64_t target = targets.integer(i);
    if (attributes.ignore_index && target == *attributes.ignore_index) {
      losses.push_back(0.0);
      continue;
    }
    if (target < 0 || target >= classes)
      throw Error(Category::usage, "the target of a loss is no class", call.node.name, "check the targets");
    const double w = weight.at(static_cast<std::size_t>(target));
    losses.push_back(-w * log_probability[static_cast<std::size_t>((i / run * classes + target) * run + i % run)]);
    sum += losses.back();
    weight_sum += w;
  }
  if (attributes.reduction == LossAttributes::Reduction::none) return rounded(call.type(), targets.shape, losses);
  return rounded(call.type(), {}, {attributes.reduction == LossAttributes::Reduction::sum ? sum : sum / weight_sum});
}

std::vector<Tensor> likelihood_loss(const Call& call) {
  return only(negative_log_likelihood(call, reals(call.x()), call.x(1), call.find(2)));
}

/// Softmax over axis 1 first; its logarithm is the second result.
std::vector<Tensor> cross_entropy_loss(const Call& call) {
  std::vector<double> values = reals(call.x());
  const Lanes lanes(call.x().shape, 1);
  for (std::int64_t lane = 0; lane < lanes.count; ++lane) {
    const auto value = [&](std::int64_t i) -> double& {
      return values[static_cast<std::size_t>(lanes.begin(lane) + i * lanes.inner)];
    };
    double top = -HUGE_VAL, sum = 0.0;
    for (std::int64_t i = 0; i < lanes.extent; ++i) top = std::max(top, value(i));
    for (std::int64_t i = 0; i < lanes.extent; ++i) sum += std::exp(value(i) - top);
    for (std::int64_t i = 0; i < lanes.extent; ++i) value(i) -= top + std::log(sum);
  }
  std::vector<Tensor> result = only(negative_log_likelihood(call, values, call.x(1), call.find(2)));
  result.push_back(rounded(call.x().type, call.x().shape, values));
  return result;
}

}  // namespace

Kernels loss_kernels() {
  return {{Op::NegativeLogLikelihoodLoss, likelihood_loss}, {Op::SoftmaxCrossEntropyLoss, cross_entropy_loss}};
}

}  // namespace tessera::golden
