#include "host/golden/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "host/golden/elementwise.h"
#include "host/golden/onednn.h"
#include "hw/error.h"

namespace tessera::golden {

using namespace model;  // NOLINT: this file is about nothing else

namespace {

/// One plane of a matrix product: a [m, k] and b [k, n] by strides; result row-major.
struct Plane {
  std::int64_t m, k, n;
  std::int64_t a, a_row, a_column, b, b_row, b_column;
};

void multiply(Tensor& result, std::int64_t at, const Tensor& a, const Tensor& b, const Plane& p, double alpha = 1.0) {
  for (std::int64_t row = 0; row < p.m; ++row)
    for (std::int64_t column = 0; column < p.n; ++column) {
      double sum = 0.0;
      std::uint64_t exact = 0;
      for (std::int64_t k = 0; k < p.k; ++k) {
        const std::int64_t ia = p.a + row * p.a_row + k * p.a_column, ib = p.b + k * p.b_row + column * p.b_column;
        if (is_real(a.type))
          sum += a.real(ia) * b.real(ib);
        else
          exact += static_cast<std::uint64_t>(a.integer(ia)) * static_cast<std::uint64_t>(b.integer(ib));
      }
      const std::int64_t index = at + row * p.n + column;
      if (is_real(a.type))
        store_real(result, index, alpha * sum);
      else
        store_integer(result, index, static_cast<std::int64_t>(exact));
    }
}

Tensor matmul(const Tensor& a, const Tensor& b, const Shape& shape) {
  Shape sa = a.shape, sb = b.shape, full = shape;
  if (b.shape.size() == 1) {
    sb.push_back(1);
    full.push_back(1);
  }
  if (a.shape.size() == 1) {
    sa.insert(sa.begin(), 1);
    full.insert(full.end() - 1, 1);
  }
  const Shape planes(full.begin(), full.end() - 2);
  auto strides_a = row_major_strides(sa), strides_b = row_major_strides(sb);
  const std::int64_t m = full[full.size() - 2], n = full.back(), k = sa.back();
  auto outer = [&](const Shape& s, const std::vector<std::int64_t>& strides) {
    std::vector<std::int64_t> result(planes.size(), 0);
    for (std::size_t i = 0; i + 2 < s.size(); ++i)
      if (s[i] != 1) result[planes.size() + 2 - s.size() + i] = strides[i];
    return gather_indices(planes, result);
  };
  const auto at_a = outer(sa, strides_a), at_b = outer(sb, strides_b);
  Tensor result(a.type, shape);
  for (std::size_t i = 0; i < at_a.size(); ++i)
    multiply(result, static_cast<std::int64_t>(i) * m * n, a, b, {m, k, n, at_a[i], k, 1, at_b[i], n, 1});
  return result;
}

/// alpha A B + beta C in double precision, rounded once.
Tensor gemm(const GemmAttributes& g, const Tensor& a, const Tensor& b, const Tensor* c, const Shape& shape) {
  const std::int64_t m = shape[0], n = shape[1], k = a.shape[g.transpose_a ? 0 : 1];
  Plane p = {m, k, n, 0, k, 1, 0, n, 1};
  if (g.transpose_a) std::tie(p.a_row, p.a_column) = std::make_pair(std::int64_t{1}, m);
  if (g.transpose_b) std::tie(p.b_row, p.b_column) = std::make_pair(std::int64_t{1}, k);
  if (!is_real(a.type)) throw Error(Category::unsupported, "Gemm of integers");
  Tensor wide(Type::f64, shape);
  multiply(wide, 0, a, b, p, g.alpha);
  Tensor result(a.type, shape);
  const auto from_c =
      c == nullptr ? std::vector<std::int64_t>() : gather_indices(shape, broadcast_strides(c->shape, shape));
  for (std::int64_t i = 0; i < result.elements(); ++i) {
    const double added =
        c == nullptr ? 0.0 : static_cast<double>(g.beta) * c->real(from_c[static_cast<std::size_t>(i)]);
    store_real(result, i, wide.real(i) + added);
  }
  return result;
}

Tensor softmax(bool log, const Tensor& x, std::int64_t axis) {
  Tensor result(x.type, x.shape);
  const auto extent = x.shape.at(static_cast<std::size_t>(axis));
  const std::int64_t inner = row_major_strides(x.shape)[static_cast<std::size_t>(axis)];
  if (x.elements() == 0) return result;
  for (std::int64_t lane = 0; lane < x.elements() / extent; ++lane) {
    const std::int64_t base = lane / inner * inner * extent + lane % inner;
    double top = -HUGE_VAL, sum = 0.0;
    for (std::int64_t i = 0; i < extent; ++i) top = std::max(top, x.real(base + i * inner));
    for (std::int64_t i = 0; i < extent; ++i) sum += std::exp(x.real(base + i * inner) - top);
    for (std::int64_t i = 0; i < extent; ++i) {
      const double centred = x.real(base + i * inner) - top;
      store_real(result, base + i * inner, log ? centred - std::log(sum) : std::exp(centred) / sum);
    }
  }
  return result;
}

Tensor reshaped(const Tensor& x, const Shape& shape) {
  Tensor result = x;
  result.shape = shape;
  result.name.clear();
  return result;
}

Tensor slice(const SliceAttributes& attributes, const Tensor& x, const Shape& shape) {
  auto strides = row_major_strides(x.shape);
  std::int64_t base = 0;
  const auto ranges = resolve(attributes, x.shape);
  for (std::size_t k = 0; k < ranges.size(); ++k) {
    base += ranges[k].begin * strides[k];
    strides[k] *= ranges[k].step;
  }
  return gather(x, shape, gather_indices(shape, strides, base));
}

Tensor transpose(const TransposeAttributes& attributes, const Tensor& x, const Shape& shape) {
  const auto own = row_major_strides(x.shape);
  std::vector<std::int64_t> strides;
  for (const std::int64_t axis : attributes.permutation) strides.push_back(own[static_cast<std::size_t>(axis)]);
  return gather(x, shape, gather_indices(shape, strides));
}

Tensor concat(const std::vector<const Tensor*>& parts, std::int64_t axis, const Shape& shape) {
  Tensor result(parts[0]->type, shape);
  const auto strides = row_major_strides(shape);
  std::int64_t begin = 0;
  const std::size_t size = size_of(result.type);
  for (const Tensor* part : parts) {
    const auto to = gather_indices(part->shape, strides, begin * strides[static_cast<std::size_t>(axis)]);
    for (std::size_t i = 0; i < to.size(); ++i)
      std::copy_n(part->data.data() + i * size, size, result.data.data() + static_cast<std::size_t>(to[i]) * size);
    begin += part->shape[static_cast<std::size_t>(axis)];
  }
  return result;
}

std::vector<Tensor> split(const SplitAttributes& attributes, const Tensor& x,
                          const std::vector<std::pair<Type, Shape>>& inferred) {
  const auto strides = row_major_strides(x.shape);
  std::vector<Tensor> result;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < attributes.sizes.size(); ++i) {
    const std::int64_t base = begin * strides[static_cast<std::size_t>(attributes.axis)];
    result.push_back(gather(x, inferred[i].second, gather_indices(inferred[i].second, strides, base)));
    begin += attributes.sizes[i];
  }
  return result;
}

Tensor take(const Tensor& x, const Tensor& indices, std::int64_t axis, const Shape& shape) {
  const auto at = static_cast<std::size_t>(axis);
  const std::int64_t extent = x.shape.at(at), inner = row_major_strides(x.shape)[at];
  std::vector<std::int64_t> from;
  for (std::int64_t outer = 0; outer < (extent == 0 ? 0 : x.elements() / (extent * inner)); ++outer)
    for (std::int64_t i = 0; i < indices.elements(); ++i) {
      const std::int64_t index = indices.integer(i) + (indices.integer(i) < 0 ? extent : 0);
      if (index < 0 || index >= extent)
        throw Error(Category::usage, fmt::format("Gather of index {} from an axis of {}", indices.integer(i), extent));
      for (std::int64_t k = 0; k < inner; ++k) from.push_back((outer * extent + index) * inner + k);
    }
  return gather(x, shape, from);
}

Tensor evaluate_one(const Model& model, const Node& node, const std::vector<const Tensor*>& in, const Shape& shape) {
  switch (node.op) {
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Div:
    case Op::Max:
    case Op::Min:
      return binary(node.op, *in[0], *in[1], shape);
    case Op::Abs:
    case Op::Exp:
    case Op::Log:
    case Op::Neg:
    case Op::Relu:
    case Op::Sigmoid:
    case Op::Sqrt:
    case Op::Tanh:
      return unary(node.op, *in[0]);
    case Op::Cast:
      return cast(*in[0], std::get<CastAttributes>(node.attributes).to);
    case Op::Concat:
      return concat(in, std::get<AxisAttributes>(node.attributes).axis, shape);
    case Op::Expand:
      return gather(*in[0], shape, gather_indices(shape, broadcast_strides(in[0]->shape, shape)));
    case Op::Flatten:
    case Op::Identity:
    case Op::Reshape:
    case Op::Squeeze:
    case Op::Unsqueeze:
      return reshaped(*in[0], shape);
    case Op::Gather:
      return take(*in[0], *in[1], std::get<AxisAttributes>(node.attributes).axis, shape);
    case Op::Gemm:
      return gemm(std::get<GemmAttributes>(node.attributes), *in[0], *in[1], in.size() > 2 ? in[2] : nullptr, shape);
    case Op::MatMul:
      return matmul(*in[0], *in[1], shape);
    case Op::Slice:
      return slice(std::get<SliceAttributes>(node.attributes), *in[0], shape);
    case Op::Softmax:
    case Op::LogSoftmax:
      return softmax(node.op == Op::LogSoftmax, *in[0], std::get<AxisAttributes>(node.attributes).axis);
    case Op::Transpose:
      return transpose(std::get<TransposeAttributes>(node.attributes), *in[0], shape);
    default:
      throw std::logic_error(fmt::format("{}: the reference has no {}", model.file, name_of(node.op)));
  }
}

}  // namespace

std::vector<Tensor> evaluate(const Model& model, const Node& node, const std::vector<const Tensor*>& inputs,
                             Backend backend) {
  const auto inferred = infer(model, node);
  if (node.op == Op::Split) return split(std::get<SplitAttributes>(node.attributes), *inputs[0], inferred);
  if (backend == Backend::onednn)
    if (auto result = onednn::evaluate(node, inputs, inferred[0].second)) return {std::move(*result)};
  return {evaluate_one(model, node, inputs, inferred[0].second)};
}

std::vector<std::optional<Tensor>> run(const Model& model, const std::vector<Tensor>& inputs, Backend backend) {
  std::vector<std::optional<Tensor>> values(model.values.size());
  for (std::size_t id = 0; id < values.size(); ++id) values[id] = model.values[id].constant;
  if (inputs.size() != model.inputs.size()) throw std::logic_error("reference: wrong number of inputs");
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Value& value = model.value(model.inputs[i]);
    if (inputs[i].type != value.type || inputs[i].shape != value.shape)
      throw std::logic_error("reference: input " + value.name + " has another type or shape");
    values[model.inputs[i]] = inputs[i];
  }
  for (const Node& node : model.nodes) {
    std::vector<const Tensor*> in;
    for (const ValueId id : node.inputs) in.push_back(id == kAbsent ? nullptr : &values.at(id).value());
    auto out = evaluate(model, node, in, backend);
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i] != kAbsent) values[node.outputs[i]] = std::move(out.at(i));
  }
  return values;
}

}  // namespace tessera::golden
