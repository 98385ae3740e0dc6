#include "host/golden/elementwise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "hw/error.h"

namespace tessera::golden {

using model::Op;
using model::Shape;
using model::Tensor;
using model::Type;

bool is_real(Type type) { return type == Type::f16 || type == Type::f32 || type == Type::f64; }

void store_real(Tensor& tensor, std::int64_t i, double value) {
  if (tensor.type == Type::f32)
    tensor.set(i, static_cast<float>(value));
  else if (tensor.type == Type::f64)
    tensor.set(i, value);
  else
    throw Error(Category::unsupported, fmt::format("the reference does not compute in {}", name_of(tensor.type)));
}

void store_integer(Tensor& tensor, std::int64_t i, std::int64_t value) {
  switch (size_of(tensor.type)) {
    case 1:
      return tensor.set(i, static_cast<std::uint8_t>(tensor.type == Type::boolean ? (value != 0 ? 1 : 0) : value));
    case 2:
      return tensor.set(i, static_cast<std::uint16_t>(value));
    case 4:
      return tensor.set(i, static_cast<std::uint32_t>(value));
    default:
      return tensor.set(i, value);
  }
}

std::vector<std::int64_t> gather_indices(const Shape& shape, const std::vector<std::int64_t>& strides,
                                         std::int64_t base) {
  std::vector<std::int64_t> result;
  result.reserve(static_cast<std::size_t>(model::element_count(shape)));
  std::vector<std::int64_t> index(shape.size(), 0);
  std::int64_t position = base;
  for (std::int64_t left = model::element_count(shape); left > 0; --left) {
    result.push_back(position);
    for (std::size_t k = shape.size(); k-- > 0;) {
      position += strides[k];
      if (++index[k] < shape[k]) break;
      position -= strides[k] * shape[k];
      index[k] = 0;
    }
  }
  return result;
}

std::vector<std::int64_t> broadcast_strides(const Shape& from, const Shape& to) {
  const std::vector<std::int64_t> own = model::row_major_strides(from);
  std::vector<std::int64_t> result(to.size(), 0);
  const std::size_t front = to.size() - from.size();
  for (std::size_t k = 0; k < from.size(); ++k) result[front + k] = from[k] == 1 ? 0 : own[k];
  return result;
}

Tensor gather(const Tensor& source, const Shape& shape, const std::vector<std::int64_t>& indices) {
  Tensor result(source.type, shape);
  const std::size_t size = size_of(source.type);
  for (std::size_t i = 0; i < indices.size(); ++i)
    std::copy_n(source.data.data() + static_cast<std::size_t>(indices[i]) * size, size, result.data.data() + i * size);
  return result;
}

namespace {

double real_binary(Op op, double a, double b) {
  switch (op) {
    case Op::Add:
      return a + b;
    case Op::Sub:
      return a - b;
    case Op::Mul:
      return a * b;
    case Op::Div:
      return a / b;
    default:
      break;
  }
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
  return op == Op::Max ? std::max(a, b) : std::min(a, b);
}

/// Exact for operands of 32 bits and, wrapping, of 64.
std::int64_t integer_binary(Op op, std::int64_t a, std::int64_t b) {
  const auto ua = static_cast<std::uint64_t>(a), ub = static_cast<std::uint64_t>(b);
  switch (op) {
    case Op::Add:
      return static_cast<std::int64_t>(ua + ub);
    case Op::Sub:
      return static_cast<std::int64_t>(ua - ub);
    case Op::Mul:
      return static_cast<std::int64_t>(ua * ub);
    case Op::Div:
      if (b == 0) return -1;
      return b == -1 ? static_cast<std::int64_t>(0 - ua) : a / b;
    case Op::Max:
      return std::max(a, b);
    default:
      return std::min(a, b);
  }
}

double real_unary(Op op, double x) {
  switch (op) {
    case Op::Abs:
      return std::fabs(x);
    case Op::Exp:
      return std::exp(x);
    case Op::Log:
      return std::log(x);
    case Op::Neg:
      return -x;
    case Op::Relu:
      return std::isnan(x) ? x : std::max(x, 0.0);
    case Op::Sigmoid:
      return 1.0 / (1.0 + std::exp(-x));
    case Op::Sqrt:
      return std::sqrt(x);
    case Op::Tanh:
      return std::tanh(x);
    default:
      throw std::logic_error("no element-wise function of real numbers");
  }
}

std::int64_t integer_unary(Op op, std::int64_t x) {
  switch (op) {
    case Op::Abs:
      return x < 0 ? static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(x)) : x;
    case Op::Neg:
      return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(x));
    case Op::Relu:
      return std::max<std::int64_t>(x, 0);
    default:
      throw std::logic_error("no element-wise function of integers");
  }
}

/// Toward zero, saturating at the bounds of the type; NaN to the largest value, as fcvt.w.s.
std::int64_t to_integer(double x, Type to) {
  const bool is_signed = to == Type::i8 || to == Type::i16 || to == Type::i32 || to == Type::i64;
  const int bits = static_cast<int>(size_of(to)) * 8 - (is_signed ? 1 : 0);
  const double high = std::ldexp(1.0, bits), low = is_signed ? -high : 0.0;
  if (bits >= 63)
    return x >= 9.2e18 || std::isnan(x) ? std::numeric_limits<std::int64_t>::max()
           : x <= -9.2e18               ? std::numeric_limits<std::int64_t>::min()
                                        : static_cast<std::int64_t>(x);
  const std::int64_t top = (std::int64_t{1} << bits) - 1;
  if (std::isnan(x) || x >= high) return top;
  if (x <= low) return static_cast<std::int64_t>(low);
  return static_cast<std::int64_t>(x);
}

}  // namespace

Tensor binary(Op op, const Tensor& a, const Tensor& b, const Shape& shape) {
  Tensor result(a.type, shape);
  const auto from_a = gather_indices(shape, broadcast_strides(a.shape, shape));
  const auto from_b = gather_indices(shape, broadcast_strides(b.shape, shape));
  for (std::size_t i = 0; i < from_a.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    if (is_real(a.type))
      store_real(result, at, real_binary(op, a.real(from_a[i]), b.real(from_b[i])));
    else
      store_integer(result, at, integer_binary(op, a.integer(from_a[i]), b.integer(from_b[i])));
  }
  return result;
}

Tensor unary(Op op, const Tensor& x) {
  Tensor result(x.type, x.shape);
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    if (is_real(x.type))
      store_real(result, i, real_unary(op, x.real(i)));
    else
      store_integer(result, i, integer_unary(op, x.integer(i)));
  }
  return result;
}

Tensor cast(const Tensor& x, Type to) {
  Tensor result(to, x.shape);
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    if (to == Type::boolean)
      store_integer(result, i, is_real(x.type) ? (x.real(i) != 0.0 ? 1 : 0) : (x.integer(i) != 0 ? 1 : 0));
    else if (is_real(to))
      store_real(result, i, x.real(i));
    else
      store_integer(result, i, is_real(x.type) ? to_integer(x.real(i), to) : x.integer(i));
  }
  return result;
}

}  // namespace tessera::golden
