// Operators that move elements and change none of them: concatenation, slices, transposition, padding and their like.
#include <algorithm>
#include <stdexcept>

#include "host/golden/kernel.h"
#include "host/golden/numbers.h"

namespace tessera::golden {

using model::Op;
using model::Shape;
using model::Tensor;

namespace {

std::vector<Tensor> expand(const Call& call) {
  return only(gather(call.x(), call.shape(), broadcast_indices(call.x().shape, call.shape())));
}

std::vector<Tensor> slice(const Call& call) {
  auto strides = model::row_major_strides(call.x().shape);
  std::int64_t base = 0;
  const auto ranges = resolve(call.attributes<model::SliceAttributes>(), call.x().shape);
  Shape shape;
  for (std::size_t k = 0; k < ranges.size(); ++k) {
    base += ranges[k].begin * strides[k];
    strides[k] *= ranges[k].step;
    shape.push_back(ranges[k].count);
  }
  return only(gather(call.x(), shape, gather_indices(shape, strides, base)));
}

Tensor permuted(const Tensor& x, const Shape& permutation) {
  const auto own = model::row_major_strides(x.shape);
  std::vector<std::int64_t> strides;
  Shape shape;
  for (const std::int64_t axis : permutation) {
    strides.push_back(own.at(static_cast<std::size_t>(axis)));
    shape.push_back(x.shape[static_cast<std::size_t>(axis)]);
  }
  return gather(x, shape, gather_indices(shape, strides));
}

std::vector<Tensor> transpose(const Call& call) {
  return only(permuted(call.x(), call.attributes<model::TransposeAttributes>().permutation));
}

std::vector<Tensor> concat(const Call& call) {
  const auto axis = static_cast<std::size_t>(call.attributes<model::AxisAttributes>().axis);
  Tensor result = call.out();
  const std::size_t size = size_of(result.type);
  const auto row = [&](const Shape& shape) {
    return static_cast<std::size_t>(product_of(shape, axis, shape.size())) * size;
  };
  const std::int64_t rows = product_of(result.shape, 0, axis);
  std::size_t begin = 0;
  for (const Tensor* part : call.in) {
    const std::size_t bytes = row(part->shape);
    for (std::int64_t r = 0; r < rows; ++r)
      std::copy_n(
          part->data.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(r) * bytes), bytes,
          result.data.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(r) * row(result.shape) + begin));
    begin += bytes;
  }
  return only(std::move(result));
}

std::vector<Tensor> split(const Call& call) {
  const auto& attributes = call.attributes<model::SplitAttributes>();
  const auto strides = model::row_major_strides(call.x().shape);
  std::vector<Tensor> result;
  std::int64_t begin = 0;
  for (const std::int64_t size : attributes.sizes) {
    Shape shape = call.x().shape;
    shape.at(static_cast<std::size_t>(attributes.axis)) = size;
    const std::int64_t base = begin * strides[static_cast<std::size_t>(attributes.axis)];
    result.push_back(gather(call.x(), shape, gather_indices(shape, strides, base)));
    begin += size;
  }
  return result;
}

/// Source index of every element of the result from an index on each axis; -1 on any axis: none.
std::vector<std::int64_t> by_axis(const Shape& source, const std::vector<std::vector<std::int64_t>>& maps) {
  const auto strides = model::row_major_strides(source);
  std::vector<std::int64_t> result = {0};
  for (std::size_t axis = 0; axis < maps.size(); ++axis) {
    std::vector<std::int64_t> next;
    next.reserve(result.size() * maps[axis].size());
    for (const std::int64_t base : result)
      for (const std::int64_t index : maps[axis])
        next.push_back(base < 0 || index < 0 ? -1 : base + index * strides[axis]);
    result = std::move(next);
  }
  return result;
}

std::vector<Tensor> tile(const Call& call) {
  std::vector<std::vector<std::int64_t>> maps;
  for (std::size_t k = 0; k < call.shape().size(); ++k) {
    maps.emplace_back();
    for (std::int64_t i = 0; i < call.shape()[k]; ++i) maps.back().push_back(i % call.x().shape[k]);
  }
  return only(gather(call.x(), call.shape(), by_axis(call.x().shape, maps)));
}

/// Where a position on an axis of extent n, perhaps outside, takes its element from; -1: the constant.
std::int64_t padded_source(model::PadAttributes::Mode mode, std::int64_t i, std::int64_t n) {
  if (i >= 0 && i < n) return i;
  if (mode == model::PadAttributes::Mode::constant || n == 0) return -1;
  if (mode == model::PadAttributes::Mode::edge) return std::clamp<std::int64_t>(i, 0, n - 1);
  if (n == 1) return 0;
  const std::int64_t period = 2 * (n - 1), folded = ((i % period) + period) % period;
  return folded < n ? folded : period - folded;
}

std::vector<Tensor> pad(const Call& call) {
  const auto& attributes = call.attributes<model::PadAttributes>();
  std::vector<std::vector<std::int64_t>> maps;
  Shape shape;
  for (std::size_t k = 0; k < call.x().shape.size(); ++k) {
    const std::int64_t extent = call.x().shape[k], begin = attributes.begin.at(k);
    shape.push_back(extent + begin + attributes.end.at(k));
    maps.emplace_back();
    for (std::int64_t i = 0; i < shape.back(); ++i)
      maps.back().push_back(padded_source(attributes.mode, i - begin, extent));
  }
  const std::vector<std::int64_t> from = by_axis(call.x().shape, maps);
  Tensor result = gather(call.x(), shape, from);
  if (call.has(1) && call.x(1).elements() > 0)
    for (std::size_t i = 0; i < from.size(); ++i)
      if (from[i] < 0) copy_element(result, static_cast<std::int64_t>(i), call.x(1), 0);
  return only(std::move(result));
}

/// x under another shape, permuted, under the shape of the result.
std::vector<Tensor> regrouped(const Call& call, const Shape& grouped, const Shape& permutation) {
  Tensor x = call.x();
  x.name.clear();
  x.shape = grouped;
  Tensor result = permuted(x, permutation);
  if (result.elements() != model::element_count(call.shape())) throw std::logic_error("reference: blocks do not fit");
  result.shape = call.shape();
  return only(std::move(result));
}

std::vector<Tensor> depth_to_space(const Call& call) {
  const auto& attributes = call.attributes<model::DepthSpaceAttributes>();
  const Shape& s = call.x().shape;
  const std::int64_t b = attributes.block, depth = s.at(1) / (b * b);
  if (attributes.column_row_depth) return regrouped(call, {s[0], depth, b, b, s[2], s[3]}, {0, 1, 4, 2, 5, 3});
  return regrouped(call, {s[0], b, b, depth, s[2], s[3]}, {0, 3, 4, 1, 5, 2});
}

std::vector<Tensor> space_to_depth(const Call& call) {
  const std::int64_t b = call.attributes<model::DepthSpaceAttributes>().block;
  const Shape& s = call.x().shape;
  return regrouped(call, {s.at(0), s.at(1), s.at(2) / b, b, s.at(3) / b, b}, {0, 3, 5, 1, 2, 4});
}

std::vector<Tensor> trilu(const Call& call) {
  const auto& attributes = call.attributes<model::TriluAttributes>();
  const Tensor& x = call.x();
  Tensor result(x.type, x.shape);
  const std::int64_t rows = x.shape.at(x.shape.size() - 2), columns = x.shape.back();
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    const std::int64_t diagonal = i % columns - i / columns % rows - attributes.k;
    if (attributes.upper ? diagonal >= 0 : diagonal <= 0) copy_element(result, i, x, i);
  }
  return only(std::move(result));
}

}  // namespace

Kernels move_kernels() {
  return {{Op::Concat, concat},       {Op::DepthToSpace, depth_to_space},
          {Op::Expand, expand},       {Op::Pad, pad},
          {Op::Slice, slice},         {Op::SpaceToDepth, space_to_depth},
          {Op::Split, split},         {Op::Tile, tile},
          {Op::Transpose, transpose}, {Op::Trilu, trilu}};
}

}  // namespace tessera::golden
