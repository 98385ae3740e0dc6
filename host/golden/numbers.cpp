#include "host/golden/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::golden {

using model::Shape;
using model::Tensor;
using model::Type;

bool is_real(Type type) { return type == Type::f16 || type == Type::f32 || type == Type::f64; }

void read_reals(const Tensor& tensor, std::int64_t begin, std::int64_t stride, std::int64_t count, double* to) {
  if (count > 0 && (begin < 0 || begin + (count - 1) * stride >= tensor.elements()))
    throw std::logic_error("reference: read behind the end of a tensor");
  switch (tensor.type) {
    case Type::f32:
      for (std::int64_t i = 0; i < count; ++i) to[i] = tensor.at<float>(begin + i * stride);
      break;
    case Type::f16:
      for (std::int64_t i = 0; i < count; ++i) to[i] = model::from_half(tensor.at<std::uint16_t>(begin + i * stride));
      break;
    default:
      for (std::int64_t i = 0; i < count; ++i) to[i] = tensor.real(begin + i * stride);
  }
}

std::vector<double> reals(const Tensor& tensor) {
  std::vector<double> result(static_cast<std::size_t>(tensor.elements()));
  read_reals(tensor, 0, 1, tensor.elements(), result.data());
  return result;
}

double rounded(Type type, double value) {
  if (type == Type::f16) return model::from_half(model::to_half(value));
  if (type == Type::f32) return static_cast<float>(value);
  return value;
}

Tensor rounded(Type type, const Shape& shape, const std::vector<double>& values) {
  Tensor result(type, shape);
  if (static_cast<std::size_t>(result.elements()) != values.size())
    throw std::logic_error(
        fmt::format("reference: {} values for a tensor of shape {}", values.size(), model::to_string(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    if (is_real(type))
      store_real(result, at, values[i]);
    else
      store_integer(result, at, to_integer(values[i], type));
  }
  return result;
}

void store_real(Tensor& tensor, std::int64_t i, double value) {
  switch (tensor.type) {
    case Type::f32:
      return tensor.set(i, static_cast<float>(value));
    case Type::f16:
      return tensor.set(i, model::to_half(value));
    case Type::f64:
      return tensor.set(i, value);
    default:
      throw std::logic_error("reference: a real number for a tensor of integers");
  }
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

std::int64_t to_integer(double x, Type to) {
  if (to == Type::boolean) return x != 0.0 ? 1 : 0;
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
  if (from.size() > to.size()) throw std::logic_error("reference: broadcast to fewer axes");
  const std::size_t front = to.size() - from.size();
  for (std::size_t k = 0; k < from.size(); ++k) {
    if (from[k] != 1 && from[k] != to[front + k]) throw std::logic_error("reference: shapes do not broadcast");
    result[front + k] = from[k] == 1 ? 0 : own[k];
  }
  return result;
}

std::vector<std::int64_t> broadcast_indices(const Shape& from, const Shape& to) {
  return gather_indices(to, broadcast_strides(from, to));
}

void copy_element(Tensor& target, std::int64_t to, const Tensor& source, std::int64_t from) {
  const std::size_t size = size_of(source.type);
  if (size != size_of(target.type) || to < 0 || from < 0 || to >= target.elements() || from >= source.elements())
    throw std::logic_error("reference: an element is moved to where it does not fit");
  std::memcpy(target.data.data() + static_cast<std::size_t>(to) * size,
              source.data.data() + static_cast<std::size_t>(from) * size, size);
}

namespace {

template <typename T>
void gather_as(const Tensor& source, Tensor& result, const std::vector<std::int64_t>& indices) {
  const std::int64_t count = source.elements();
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] >= count) throw std::logic_error("reference: gather behind the end of a tensor");
    if (indices[i] >= 0) result.set(static_cast<std::int64_t>(i), source.at<T>(indices[i]));
  }
}

}  // namespace

Tensor gather(const Tensor& source, const Shape& shape, const std::vector<std::int64_t>& indices) {
  Tensor result(source.type, shape);
  if (static_cast<std::size_t>(result.elements()) != indices.size())
    throw std::logic_error("reference: gather into another shape");
  switch (size_of(source.type)) {
    case 1:
      gather_as<std::uint8_t>(source, result, indices);
      break;
    case 2:
      gather_as<std::uint16_t>(source, result, indices);
      break;
    case 4:
      gather_as<std::uint32_t>(source, result, indices);
      break;
    default:
      gather_as<std::uint64_t>(source, result, indices);
  }
  return result;
}

Lanes::Lanes(const Shape& shape, std::int64_t axis)
    : extent(shape.at(static_cast<std::size_t>(axis))),
      inner(product_of(shape, static_cast<std::size_t>(axis) + 1, shape.size())),
      count(product_of(shape, 0, static_cast<std::size_t>(axis)) * inner) {}

std::int64_t product_of(const Shape& shape, std::size_t first, std::size_t last) {
  std::int64_t result = 1;
  for (std::size_t k = first; k < last; ++k) result *= shape.at(k);
  return result;
}

}  // namespace tessera::golden
