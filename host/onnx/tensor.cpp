#include "host/onnx/tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "hw/error.h"
#include "hw/half.h"

namespace tessera::model {

unsigned size_of(Type type) {
  switch (type) {
    case Type::boolean:
    case Type::i8:
    case Type::u8:
      return 1;
    case Type::i16:
    case Type::u16:
    case Type::f16:
      return 2;
    case Type::i64:
    case Type::u64:
    case Type::f64:
      return 8;
    default:
      return 4;
  }
}

std::string_view name_of(Type type) {
  constexpr std::string_view names[] = {"bool", "i8",  "u8",  "i16", "u16", "i32",
                                        "u32",  "i64", "u64", "f16", "f32", "f64"};
  return names[static_cast<unsigned>(type)];
}

std::int64_t element_count(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

std::string to_string(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

Shape broadcast(const Shape& a, const Shape& b) {
  Shape result(std::max(a.size(), b.size()));
  for (std::size_t k = 0; k < result.size(); ++k) {
    const std::int64_t x = k < a.size() ? a[a.size() - 1 - k] : 1;
    const std::int64_t y = k < b.size() ? b[b.size() - 1 - k] : 1;
    if (x != y && x != 1 && y != 1)
      throw Error(Category::usage, fmt::format("shapes {} and {} do not broadcast", to_string(a), to_string(b)));
    result[result.size() - 1 - k] = x == 1 ? y : x;
  }
  return result;
}

std::vector<std::int64_t> row_major_strides(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t k = shape.size(); k-- > 1;) strides[k - 1] = strides[k] * shape[k];
  return strides;
}

Tensor::Tensor(Type type, Shape shape) : type(type), shape(std::move(shape)) {
  data.resize(static_cast<std::size_t>(elements()) * size_of(type));
}

std::int64_t Tensor::integer(std::int64_t i) const {
  switch (type) {
    case Type::boolean:
    case Type::u8:
      return at<std::uint8_t>(i);
    case Type::i8:
      return at<std::int8_t>(i);
    case Type::i16:
      return at<std::int16_t>(i);
    case Type::u16:
      return at<std::uint16_t>(i);
    case Type::i32:
      return at<std::int32_t>(i);
    case Type::u32:
      return at<std::uint32_t>(i);
    case Type::i64:
    case Type::u64:
      return at<std::int64_t>(i);
    default:
      throw std::logic_error("a floating-point tensor is read as integers");
  }
}

double Tensor::real(std::int64_t i) const {
  switch (type) {
    case Type::f16:
      return from_half(at<std::uint16_t>(i));
    case Type::f32:
      return at<float>(i);
    case Type::f64:
      return at<double>(i);
    case Type::u64:
      return static_cast<double>(at<std::uint64_t>(i));
    default:
      return static_cast<double>(integer(i));
  }
}

std::vector<std::int64_t> Tensor::integers() const {
  std::vector<std::int64_t> result(static_cast<std::size_t>(elements()));
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = integer(static_cast<std::int64_t>(i));
  return result;
}

float from_half(std::uint16_t bits) { return tessera::from_half(bits); }

std::uint16_t to_half(double value) {
  if (std::isnan(value)) return 0x7E00;
  std::uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const auto sign = static_cast<std::uint16_t>(bits >> 48 & 0x8000U);
  const double size = std::fabs(value);
  if (size >= 65520.0) return sign | 0x7C00U;  // half way to the first number that is too large
  if (size < 0x1p-14)                          // subnormal: multiples of 2^-24; a carry gives the smallest normal
    return sign | static_cast<std::uint16_t>(std::nearbyint(size * 0x1p24));
  const std::uint64_t body = bits & 0x7FFFFFFFFFFFFFFFU;
  const std::uint64_t rounded = body + 0x1FFFFFFFFFFU + (body >> 42 & 1U);  // 52 - 10 bits go
  return sign | static_cast<std::uint16_t>((rounded >> 42) - ((1023U - 15U) << 10));
}

Type narrowed(Type type) {
  if (type == Type::i64) return Type::i32;
  if (type == Type::f64) return Type::f32;
  return type;
}

Tensor narrowed(const Tensor& tensor, const std::string& what) {
  const Type to = narrowed(tensor.type);
  if (to == tensor.type) return tensor;
  Tensor result(to, tensor.shape);
  result.name = tensor.name;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    if (to == Type::f32) {
      result.set(i, static_cast<float>(tensor.at<double>(i)));
      continue;
    }
    const auto value = tensor.at<std::int64_t>(i);
    if (value < std::numeric_limits<std::int32_t>::min() || value > std::numeric_limits<std::int32_t>::max())
      throw Error(Category::unsupported,
                  fmt::format("{} holds {}, which 32-bit integers of the machine do not represent", what, value),
                  fmt::format("element {} of {}", i, to_string(tensor.shape)), "scale the data to 32 bits");
    result.set(i, static_cast<std::int32_t>(value));
  }
  return result;
}

Tensor widened(const Tensor& tensor, Type declared) {
  if (tensor.type == declared) return tensor;
  if (narrowed(declared) != tensor.type) throw std::logic_error("widened: types do not belong together");
  Tensor result(declared, tensor.shape);
  result.name = tensor.name;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    if (declared == Type::f64)
      result.set(i, static_cast<double>(tensor.at<float>(i)));
    else
      result.set(i, static_cast<std::int64_t>(tensor.at<std::int32_t>(i)));
  }
  return result;
}

}  // namespace tessera::model
