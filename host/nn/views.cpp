#include "host/nn/views.h"

#include <cstdlib>
#include <stdexcept>

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

bool is_view(Op op) {
  switch (op) {
    case Op::Concat:
    case Op::Expand:
    case Op::Flatten:
    case Op::Identity:
    case Op::Reshape:
    case Op::Slice:
    case Op::Split:
    case Op::Squeeze:
    case Op::Transpose:
    case Op::Unsqueeze:
      return true;
    default:
      return false;
  }
}

std::vector<Tensor> lower_view(const model::Model& model, const model::Node& node,
                               const std::vector<Tensor>& operands) {
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

}  // namespace tessera::nn
