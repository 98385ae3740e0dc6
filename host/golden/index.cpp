// Operators that choose elements by index or by size: gather, scatter, one-hot, arg-max, top-k; and running sums.
// An index out of range is an Error (usage), as ONNX leaves no meaning for it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "host/golden/kernel.h"
#include "host/golden/numbers.h"
#include "hw/error.h"

namespace tessera::golden {

using model::Op;
using model::Shape;
using model::Tensor;
using model::Type;

namespace {

/// Counts from the end if negative.
std::int64_t checked(const Call& call, std::int64_t index, std::int64_t extent) {
  const std::int64_t result = index < 0 ? index + extent : index;
  if (result < 0 || result >= extent)
    throw Error(Category::usage, fmt::format("{} of index {} from an axis of {}", name_of(call.node.op), index, extent),
                fmt::format("{}: node {}", call.model.file, call.node.name), "check the indices");
  return result;
}

std::vector<Tensor> take(const Call& call) {
  const auto axis = static_cast<std::size_t>(call.attributes<model::AxisAttributes>().axis);
  const Tensor& x = call.x();
  const std::int64_t extent = x.shape.at(axis), inner = product_of(x.shape, axis + 1, x.shape.size()),
                     outer = product_of(x.shape, 0, axis);
  std::vector<std::int64_t> indices, from;
  for (const std::int64_t index : call.x(1).integers()) indices.push_back(checked(call, index, extent));
  for (std::int64_t o = 0; o < outer; ++o)
    for (const std::int64_t index : indices)
      for (std::int64_t k = 0; k < inner; ++k) from.push_back((o * extent + index) * inner + k);
  return only(gather(x, call.shape(), from));
}

/// For every element of the indices, the element of the data that it means: its own position, but on `axis` the index.
std::vector<std::int64_t> element_positions(const Call& call, std::int64_t axis) {
  const Tensor &data = call.x(0), &indices = call.x(1);
  const auto at = static_cast<std::size_t>(axis);
  auto strides = model::row_major_strides(data.shape);
  const std::int64_t stride = strides.at(at);
  strides[at] = 0;
  for (std::size_t k = 0; k < strides.size(); ++k)
    if (k != at && indices.shape.at(k) > data.shape[k]) throw std::logic_error("reference: indices behind the data");
  std::vector<std::int64_t> result = gather_indices(indices.shape, strides);
  for (std::size_t i = 0; i < result.size(); ++i)
    result[i] += checked(call, indices.integer(static_cast<std::int64_t>(i)), data.shape[at]) * stride;
  return result;
}

std::vector<Tensor> gather_elements(const Call& call) {
  const std::int64_t axis = call.attributes<model::AxisAttributes>().axis;
  return only(gather(call.x(), call.x(1).shape, element_positions(call, axis)));
}

/// Begin of the part of the data that row `row` of the indices names; the first `batch` axes are common to both.
std::vector<std::int64_t> nd_positions(const Call& call, std::size_t batch) {
  const Tensor &data = call.x(0), &indices = call.x(1);
  const auto strides = model::row_major_strides(data.shape);
  const auto depth = static_cast<std::size_t>(indices.shape.back());
  const std::int64_t rows = product_of(indices.shape, 0, indices.shape.size() - 1);
  const std::int64_t per_batch = product_of(indices.shape, batch, indices.shape.size() - 1);
  const std::int64_t batch_stride = product_of(data.shape, batch, data.shape.size());
  std::vector<std::int64_t> result;
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t position = row / per_batch * batch_stride;
    for (std::size_t k = 0; k < depth; ++k)
      position += checked(call, indices.integer(row * static_cast<std::int64_t>(depth) + static_cast<std::int64_t>(k)),
                          data.shape.at(batch + k)) *
                  strides[batch + k];
    result.push_back(position);
  }
  return result;
}

std::vector<std::int64_t> widened(const std::vector<std::int64_t>& begins, std::int64_t run) {
  std::vector<std::int64_t> result;
  for (const std::int64_t begin : begins)
    for (std::int64_t k = 0; k < run; ++k) result.push_back(begin + k);
  return result;
}

std::vector<Tensor> gather_nd(const Call& call) {
  const auto batch = static_cast<std::size_t>(call.attributes<model::GatherNdAttributes>().batch_dims);
  const Shape& data = call.x().shape;
  const std::size_t named = batch + static_cast<std::size_t>(call.x(1).shape.back());
  return only(gather(call.x(), call.shape(), widened(nd_positions(call, batch), product_of(data, named, data.size()))));
}

/// The data with updates at these positions, in order; sums and products of real numbers are rounded once at the end.
Tensor scattered(const Tensor& data, const Tensor& updates, const std::vector<std::int64_t>& to,
                 model::ScatterAttributes::Reduction reduction) {
  using Reduction = model::ScatterAttributes::Reduction;
  if (static_cast<std::size_t>(updates.elements()) != to.size())
    throw std::logic_error("reference: updates do not match the indices");
  if (reduction == Reduction::none) {
    Tensor result = data;
    result.name.clear();
    for (std::size_t i = 0; i < to.size(); ++i) copy_element(result, to[i], updates, static_cast<std::int64_t>(i));
    return result;
  }
  const auto reduce = [&](auto values, const auto& added) {
    for (std::size_t i = 0; i < to.size(); ++i) {
      auto& value = values.at(static_cast<std::size_t>(to[i]));
      value = reduction == Reduction::add ? value + added[i] : value * added[i];
    }
    return values;
  };
  if (is_real(data.type)) return rounded(data.type, data.shape, reduce(reals(data), reals(updates)));
  const auto unsigned_of = [](const Tensor& x) {
    const auto values = x.integers();
    return std::vector<std::uint64_t>(values.begin(), values.end());
  };
  const auto values = reduce(unsigned_of(data), unsigned_of(updates));
  Tensor result(data.type, data.shape);
  for (std::size_t i = 0; i < values.size(); ++i)
    store_integer(result, static_cast<std::int64_t>(i), static_cast<std::int64_t>(values[i]));
  return result;
}

std::vector<Tensor> scatter_elements(const Call& call) {
  const auto& attributes = call.attributes<model::ScatterAttributes>();
  return only(scattered(call.x(0), call.x(2), element_positions(call, attributes.axis), attributes.reduction));
}

std::vector<Tensor> scatter_nd(const Call& call) {
  const Shape& data = call.x().shape;
  const auto named = static_cast<std::size_t>(call.x(1).shape.back());
  return only(scattered(call.x(0), call.x(2), widened(nd_positions(call, 0), product_of(data, named, data.size())),
                        call.attributes<model::ScatterAttributes>().reduction));
}

/// An index out of range makes no element hot.
std::vector<Tensor> one_hot(const Call& call) {
  const auto& attributes = call.attributes<model::OneHotAttributes>();
  Tensor result = call.out();
  const Lanes lanes(result.shape, attributes.axis);
  const Tensor &indices = call.x(0), &values = call.x(2);
  for (std::int64_t lane = 0; lane < lanes.count; ++lane) {
    const double given = indices.real(lane);
    const double hot = given < 0 ? given + static_cast<double>(attributes.depth) : given;
    for (std::int64_t i = 0; i < lanes.extent; ++i)
      copy_element(result, lanes.begin(lane) + i * lanes.inner, values, hot == static_cast<double>(i) ? 1 : 0);
  }
  return only(std::move(result));
}

/// Whether a comes before b, the larger or the smaller first; a NaN counts as larger than every number.
bool before(const Tensor& x, std::int64_t a, std::int64_t b, bool larger) {
  if (!is_real(x.type)) return larger ? x.integer(a) > x.integer(b) : x.integer(a) < x.integer(b);
  const double u = x.real(a), v = x.real(b);
  if (std::isnan(u) || std::isnan(v)) return larger ? std::isnan(u) && !std::isnan(v) : !std::isnan(u) && std::isnan(v);
  return larger ? u > v : u < v;
}

/// Index of the extreme of a lane; a NaN is extreme either way. Of equal ones the first, or the last.
template <bool larger>
std::vector<Tensor> arg_extreme(const Call& call) {
  const auto& attributes = call.attributes<model::ArgAttributes>();
  const Tensor& x = call.x();
  const Lanes lanes(x.shape, attributes.axis);
  Tensor result = call.out();
  const auto is_nan = [&](std::int64_t i) { return is_real(x.type) && std::isnan(x.real(i)); };
  for (std::int64_t lane = 0; lane < lanes.count; ++lane) {
    std::int64_t best = 0;
    for (std::int64_t i = 1; i < lanes.extent; ++i) {
      const std::int64_t candidate = lanes.begin(lane) + i * lanes.inner, old = lanes.begin(lane) + best * lanes.inner;
      const bool better =
          is_nan(candidate) || is_nan(old) ? is_nan(candidate) && !is_nan(old) : before(x, candidate, old, larger);
      const bool equal = !better && (is_nan(old) ? is_nan(candidate) : !before(x, old, candidate, larger));
      if (better || (equal && attributes.select_last)) best = i;
    }
    store_integer(result, lane, best);
  }
  return only(std::move(result));
}

/// Values and indices, sorted; of equal values the lower index first.
std::vector<Tensor> top_k(const Call& call) {
  const auto& attributes = call.attributes<model::TopKAttributes>();
  const Tensor& x = call.x();
  const Lanes from(x.shape, attributes.axis);
  Shape shape = x.shape;
  shape[static_cast<std::size_t>(attributes.axis)] = attributes.k;
  const Lanes to(shape, attributes.axis);
  std::vector<Tensor> result;
  result.emplace_back(x.type, shape);
  result.emplace_back(call.type(1), shape);
  if (attributes.k > from.extent) throw std::logic_error("reference: top-k of fewer elements");
  std::vector<std::int64_t> order(static_cast<std::size_t>(from.extent));
  for (std::int64_t lane = 0; lane < from.count; ++lane) {
    const auto element = [&](std::int64_t i) { return from.begin(lane) + i * from.inner; };
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::partial_sort(order.begin(), order.begin() + attributes.k, order.end(), [&](std::int64_t a, std::int64_t b) {
      if (before(x, element(a), element(b), attributes.largest)) return true;
      return !before(x, element(b), element(a), attributes.largest) && a < b;
    });
    for (std::int64_t i = 0; i < attributes.k; ++i) {
      const std::int64_t at = to.begin(lane) + i * to.inner, chosen = order[static_cast<std::size_t>(i)];
      copy_element(result[0], at, x, element(chosen));
      store_integer(result[1], at, chosen);
    }
  }
  return result;
}

/// One at the first of the largest elements of each lane.
std::vector<Tensor> hardmax(const Call& call) {
  const Tensor& x = call.x();
  const Lanes lanes(x.shape, call.attributes<model::AxisAttributes>().axis);
  Tensor result(x.type, x.shape);
  for (std::int64_t lane = 0; lane < (lanes.extent == 0 ? 0 : lanes.count); ++lane) {
    std::int64_t best = lanes.begin(lane);
    for (std::int64_t i = 1; i < lanes.extent; ++i)
      if (before(x, lanes.begin(lane) + i * lanes.inner, best, true)) best = lanes.begin(lane) + i * lanes.inner;
    store_real(result, best, 1.0);
  }
  return only(std::move(result));
}

std::vector<Tensor> cumulative_sum(const Call& call) {
  const auto& attributes = call.attributes<model::CumSumAttributes>();
  const Tensor& x = call.x();
  const Lanes lanes(x.shape, attributes.axis);
  Tensor result(x.type, x.shape);
  for (std::int64_t lane = 0; lane < lanes.count; ++lane) {
    double sum = 0.0;
    std::uint64_t exact = 0;
    for (std::int64_t k = 0; k < lanes.extent; ++k) {
      const std::int64_t i = lanes.begin(lane) + (attributes.reverse ? lanes.extent - 1 - k : k) * lanes.inner;
      const auto store = [&] {
        if (is_real(x.type))
          store_real(result, i, sum);
        else
          store_integer(result, i, static_cast<std::int64_t>(exact));
      };
      if (attributes.exclusive) store();
      if (is_real(x.type))
        sum += x.real(i);
      else
        exact += static_cast<std::uint64_t>(x.integer(i));
      if (!attributes.exclusive) store();
    }
  }
  return only(std::move(result));
}

}  // namespace

Kernels index_kernels() {
  return {{Op::ArgMax, arg_extreme<true>},
          {Op::ArgMin, arg_extreme<false>},
          {Op::CumSum, cumulative_sum},
          {Op::Gather, take},
          {Op::GatherElements, gather_elements},
          {Op::GatherND, gather_nd},
          {Op::Hardmax, hardmax},
          {Op::OneHot, one_hot},
          {Op::ScatterElements, scatter_elements},
          {Op::ScatterND, scatter_nd},
          {Op::TopK, top_k}};
}

}  // namespace tessera::golden
