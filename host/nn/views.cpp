#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "host/nn/lowering.h"

namespace tessera::nn {

using graph::Tensor;
using model::Op;

namespace {

Tensor sliced(Tensor x, const std::vector<model::SliceRange>& ranges) {
  for (std::size_t axis = 0; axis < ranges.size(); ++axis) {
    const model::SliceRange& range = ranges[axis];
    if (range.count == 0) {
      x = x.slice(0, 0, axis);
      continue;
    }
    const std::int64_t last = range.begin + (range.count - 1) * range.step;
    const auto low = static_cast<std::uint64_t>(std::min(range.begin, last));
    const auto high = static_cast<std::uint64_t>(std::max(range.begin, last));
    x = x.slice(low, high + 1, axis);
    if (range.step < 0) x = x.reverse(axis);
    if (std::abs(range.step) > 1) x = x.every(static_cast<std::uint64_t>(std::abs(range.step)), axis);
  }
  return x;
}

std::vector<Tensor> split(const Tensor& x, const model::SplitAttributes& attributes) {
  std::vector<Tensor> parts;
  std::uint64_t at = 0;
  for (const std::int64_t size : attributes.sizes) {
    parts.push_back(x.slice(at, at + static_cast<std::uint64_t>(size), static_cast<std::size_t>(attributes.axis)));
    at += static_cast<std::uint64_t>(size);
  }
  return parts;
}

}  // namespace

namespace {

std::vector<Tensor> views_of(const model::Model& model, const model::Node& node, const std::vector<Tensor>& operands) {
  const Tensor& x = operands.at(0);
  const model::Shape& result = model.value(node.outputs.at(0)).shape;
  const graph::Shape shape(result.begin(), result.end());
  switch (node.op) {
    case Op::Identity:
      return {x};
    case Op::Flatten:
    case Op::Reshape:
    case Op::Squeeze:
    case Op::Unsqueeze:
      return {x.reshape(shape)};
    case Op::Expand:
      return {x.broadcast_to(shape)};
    case Op::Transpose: {
      const auto& permutation = std::get<model::TransposeAttributes>(node.attributes).permutation;
      return {x.permute({permutation.begin(), permutation.end()})};
    }
    case Op::Concat:
      return {
          Tensor::concat(operands, static_cast<std::size_t>(std::get<model::AxisAttributes>(node.attributes).axis))};
    case Op::Slice:
      return {sliced(x, resolve(std::get<model::SliceAttributes>(node.attributes), model.value(node.inputs[0]).shape))};
    case Op::Split:
      return split(x, std::get<model::SplitAttributes>(node.attributes));
    default:
      throw std::logic_error("not a view");
  }
}

void lower_view(Lowering& lowering, const model::Node& node) {
  std::vector<Tensor> operands;
  for (const model::ValueId id : node.inputs) operands.push_back(lowering.materialised(id));
  const auto views = views_of(lowering.model(), node, operands);
  for (std::size_t i = 0; i < node.outputs.size(); ++i)
    if (node.outputs[i] != model::kAbsent) lowering.view(node.outputs[i]) = views.at(i);
}

/// In inference the operand itself, and a mask of ones where that is asked for.
void lower_dropout(Lowering& lowering, const model::Node& node) {
  if (Lowering::wants(node, 0)) lowering.view(node.outputs[0]) = lowering.materialised(node.inputs[0]);
  if (!Lowering::wants(node, 1)) return;
  model::Tensor mask(model::Type::boolean, lowering.out(node, 1).shape);
  std::fill(mask.data.begin(), mask.data.end(), std::uint8_t{1});
  lowering.view(node.outputs[1]) =
      lowering.builder().linear_constant(*lowering.keep(std::move(mask)), lowering.out(node, 1).name);
}

}  // namespace

std::vector<Rule> view_rules() {
  std::vector<Rule> rules;
  for (const Op op : {Op::Concat, Op::Expand, Op::Flatten, Op::Identity, Op::Reshape, Op::Slice, Op::Split, Op::Squeeze,
                      Op::Transpose, Op::Unsqueeze})
    rules.push_back({op, lower_view});
  rules.push_back({Op::Dropout, lower_dropout});
  return rules;
}

}  // namespace tessera::nn
