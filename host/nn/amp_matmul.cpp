// Matrix products on the AMP unit: positions are rows of the first operand, channels its columns. Few rows are better
// off without it (vector_product.h).
#include "host/nn/amp_matmul.h"

#include <algorithm>

#include "host/nn/amp_limits.h"
#include "host/nn/amp_rules.h"
#include "host/nn/vector_product.h"

namespace tessera::nn {

using graph::Tensor;
using model::Model;
using model::Node;
using model::ValueId;

namespace {

using Index = std::int64_t;

Index size(std::uint64_t v) { return static_cast<Index>(v); }
std::uint64_t unsigned_size(Index v) { return static_cast<std::uint64_t>(v); }

void add_constant(std::vector<float>& bias, const model::Tensor& values) {
  for (std::size_t c = 0; c < bias.size(); ++c)
    bias[c] += static_cast<float>(values.real(values.elements() == 1 ? 0 : size(c)));
}

}  // namespace

AmpTask amp_matmul_task(const Lowering& lowering, graph::Type type, Index planes, Index m, Index k, Index n,
                        bool constant) {
  AmpTask task = matmul_task(type == graph::Type::f16, planes, m, k, n);
  task.constant_weights = constant;
  set_amp_limits(lowering, task);
  return task;
}

Tensor lower_amp_matmul(Lowering& lowering, const Node& node, const AmpMatmul& given) {
  Builder& builder = lowering.builder();
  const Tensor& a = given.a;
  const std::size_t axis = a.rank() - 1;
  const Index k = size(a.dim(axis)), n = size(given.shape.back());
  const Index planes = given.batched ? size(a.dim(0)) : 1, m = size(a.elements()) / k / planes;
  AmpProduct product;
  product.type = a.type();
  product.result = given.result;
  product.groups_are_channels = !given.batched;
  product.task = amp_matmul_task(lowering, a.type(), planes, m, k, n, given.b.is_constant());
  product.bias = given.bias;
  if (given.fused != nullptr) {
    product.bias.resize(static_cast<std::size_t>(n), 0.0F);
    for (const ValueId id : given.fused->biases) add_constant(product.bias, *lowering.model().value(id).constant);
    product.limits = given.fused->limits;
    if (given.fused->addend) product.addend = {lowering.materialised(*given.fused->addend), given.shape.size() - 1};
  }
  if (given.b.is_constant() && !given.batched && !product.addend && product.result_type() == product.type) {
    const auto plan = plan_vector_product(a.type(), unsigned_size(m), unsigned_size(k), unsigned_size(n), product.task);
    const AmpPlan amp = plan ? plan_amp(product.task) : AmpPlan{};
    if (plan && (!amp.fits || plan->cycles < amp.cycles()))
      return lower_vector_product(lowering, node, given, product.bias, *plan);
  }
  product.x = at_home(builder, a, axis, node.name);
  std::vector<float> weights;
  if (given.b.is_constant()) {
    const model::Tensor& b = *given.b.constant;
    weights.resize(static_cast<std::size_t>(b.elements()));
    for (Index i = 0; i < b.elements(); ++i) weights[static_cast<std::size_t>(i)] = static_cast<float>(b.real(i));
    product.constant_weights = [&weights, n](Index, Index out, Index in, const std::array<Index, 3>&) {
      return weights[static_cast<std::size_t>(in * n + out)];
    };
  } else {
    product.weights = at_home(builder, given.b.view, given.b.view.rank() - 2, node.name + " b");
    product.weight_place = [n, k](Index group, Index out, const std::array<Index, 3>&) {
      return AmpProduct::WeightPlace{0, group * n + out, 0, k};
    };
  }
  const HomeLayout y = planned_amp(lowering, node, product);
  return home_view(product.result_type(), y, given.shape, given.shape.size() - 1);
}

bool fused_matmul(const Model& model, const Node& node) {
  const model::Type type = model.value(node.outputs[0]).type;
  return type == model::Type::f16 && model.value(node.inputs[0]).shape.size() >= 2 &&
         model.value(node.inputs[1]).shape.size() == 2 && model::element_count(model.value(node.inputs[0]).shape) > 0 &&
         model::element_count(model.value(node.outputs[0]).shape) > 0;
}

}  // namespace tessera::nn
