// Operators whose results are known at import from shapes and constants: the machine never sees them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "host/onnx/ops.h"

namespace tessera::model {

namespace {

template <typename T>
Tensor list_of(Type type, const std::vector<T>& values) {
  return Tensor(type, {static_cast<std::int64_t>(values.size())}, values);
}

void translate_constant(Reading& r) {
  if (const Tensor* value = r.tensor("value"))
    r.result = *value;
  else if (r.given("value_float"))
    r.result = Tensor(Type::f32, {}, std::vector<float>{r.real("value_float", 0)});
  else if (r.given("value_int"))
    r.result = Tensor(Type::i64, {}, Extents{r.integer("value_int", 0)});
  else if (r.given("value_floats"))
    r.result = list_of(Type::f32, r.reals("value_floats"));
  else if (const auto values = r.integers("value_ints"))
    r.result = list_of(Type::i64, *values);
  else
    r.refuse("a constant of texts or of sparse values");
}

void check_folded(const Reading& r, const Shape& shape, Type type) {
  std::int64_t bytes = size_of(type);
  for (const std::int64_t extent : shape) {
    if (extent < 0) r.fail(fmt::format("shape {} has a negative extent", to_string(shape)));
    bytes = extent == 0 ? 0 : bytes;
  }
  for (const std::int64_t extent : shape) {
    if (bytes > 0 && extent > kMostFoldedBytes / bytes)
      r.refuse(fmt::format("a constant of shape {} would take more than {} bytes", to_string(shape), kMostFoldedBytes));
    bytes *= extent;
  }
}

void translate_constant_of_shape(Reading& r) {
  const auto shape = r.operand(0);
  if (!shape) r.fail("ConstantOfShape without a shape");
  const Tensor* given = r.tensor("value");
  const Tensor fill = given != nullptr ? *given : Tensor(Type::f32, {1});
  if (fill.elements() != 1) r.fail("the value to fill with is not one element");
  check_folded(r, *shape, fill.type);
  Tensor result(fill.type, *shape);
  const std::size_t size = size_of(fill.type);
  for (std::size_t i = 0; i < result.data.size(); i += size)
    std::copy(fill.data.begin(), fill.data.end(), result.data.begin() + static_cast<std::ptrdiff_t>(i));
  r.result = std::move(result);
}

template <typename T>
void fill_range(Reading& r, Type type, double count, double start, double step) {
  if (!(count < static_cast<double>(kMostFoldedBytes))) r.refuse("the range has too many elements, or no end");
  const auto n = static_cast<std::int64_t>(std::max(count, 0.0));
  check_folded(r, {n}, type);
  std::vector<T> values(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(start + static_cast<double>(i) * step);
  r.result = list_of(type, values);
}

void translate_range(Reading& r) {
  for (std::size_t i = 0; i < 3; ++i) {
    if (!r.in(i).constant) r.refuse(fmt::format("a shape depends on data of the run, on '{}'", r.in(i).name));
    if (r.in(i).constant->elements() != 1 || r.type(i) != r.type(0))
      r.fail("start, limit and delta are no scalars alike");
  }
  const Tensor &first = *r.in(0).constant, &limit = *r.in(1).constant, &delta = *r.in(2).constant;
  const double step = delta.real(0);
  if (step == 0.0 || std::isnan(step)) r.fail("delta of Range is 0 or not a number");
  const double count = std::ceil((limit.real(0) - first.real(0)) / step);
  switch (r.type()) {
    case Type::f32:
      return fill_range<float>(r, Type::f32, count, first.real(0), step);
    case Type::f64:
      return fill_range<double>(r, Type::f64, count, first.real(0), step);
    case Type::i16:
      return fill_range<std::int16_t>(r, Type::i16, count, first.real(0), step);
    case Type::i32:
      return fill_range<std::int32_t>(r, Type::i32, count, first.real(0), step);
    default: {
      // Beyond 2^52 a double is no exact integer, and the machine's integers have 32 bits.
      constexpr double kExact = 4503599627370496.0;
      if (std::abs(first.real(0)) > kExact || std::abs(limit.real(0)) > kExact) r.refuse("the range leaves 32 bits");
      return fill_range<std::int64_t>(r, Type::i64, count, first.real(0), step);
    }
  }
}

/// A slice of the extents since opset 15, all of them before.
void translate_shape(Reading& r) {
  const Shape& shape = r.shape();
  const std::int64_t rank = r.rank();
  const auto clamp = [&](std::int64_t x) { return std::clamp<std::int64_t>(x < 0 ? x + rank : x, 0, rank); };
  const std::int64_t start = clamp(r.integer("start", 0)), end = clamp(r.integer("end", rank));
  r.result = list_of(Type::i64, Extents(shape.begin() + start, shape.begin() + std::max(start, end)));
}

void translate_size(Reading& r) { r.result = Tensor(Type::i64, {}, Extents{element_count(r.shape())}); }

Inferred infer_folded(const Inference&) { misfit("its result is no constant"); }

}  // namespace

std::vector<Operator> constant_operators() {
  constexpr Types kRange = bit(Type::f32) | bit(Type::f64) | bit(Type::i16) | bit(Type::i32) | bit(Type::i64);
  return {{Op::Constant, kAny, translate_constant, infer_folded},
          {Op::ConstantOfShape, kAny, translate_constant_of_shape, infer_folded, 1U << 0},
          {Op::Range, kRange, translate_range, infer_folded, 1U << 0 | 1U << 1 | 1U << 2},
          {Op::Shape, kAny, translate_shape, infer_folded},
          {Op::Size, kAny, translate_size, infer_folded}};
}

}  // namespace tessera::model
