// See boxes.h.
#include "host/graph/boxes.h"

#include <algorithm>
#include <utility>

namespace tessera::graph::detail {

namespace {

bool empty(const Box& box) {
  return std::any_of(box.extent.begin(), box.extent.end(), [](std::uint64_t e) { return e == 0; });
}

/// Appends b to a along axis k if b goes on where a ends.
bool merge_along(Box& a, const Box& b, std::size_t k) {
  if (b.origin[k] != a.origin[k] + a.extent[k]) return false;
  for (std::size_t j = 0; j < a.extent.size(); ++j) {
    if (j == k) continue;
    if (a.origin[j] != b.origin[j] || a.extent[j] != b.extent[j] || a.stride[j] != b.stride[j]) return false;
  }
  const std::int64_t step = b.offset - a.offset;
  const auto extent = static_cast<std::int64_t>(a.extent[k]);
  if (step % extent != 0) return false;
  const std::int64_t stride = step / extent;
  if (a.extent[k] > 1 && a.stride[k] != stride) return false;
  if (b.extent[k] > 1 && b.stride[k] != stride) return false;
  a.extent[k] += b.extent[k];
  a.stride[k] = stride;
  return true;
}

bool merge(Box& a, const Box& b) {
  if (a.variable != b.variable) return false;
  std::size_t axis = a.extent.size();
  for (std::size_t k = 0; k < a.extent.size(); ++k) {
    if (a.origin[k] == b.origin[k]) continue;
    if (axis != a.extent.size()) return false;
    axis = k;
  }
  return axis != a.extent.size() && merge_along(a, b, axis);
}

}  // namespace

void normalise(Box& box) {
  for (std::size_t k = 0; k < box.extent.size(); ++k) {
    if (box.extent[k] == 1) box.stride[k] = 0;
  }
}

void append(std::vector<Box>& boxes, Box box) {
  normalise(box);
  if (empty(box)) return;
  boxes.push_back(std::move(box));
  while (boxes.size() > 1 && merge(boxes[boxes.size() - 2], boxes.back())) boxes.pop_back();
}

std::vector<std::uint64_t> inner_sizes(const Shape& shape) {
  std::vector<std::uint64_t> inner(shape.size(), 1);
  for (std::size_t k = shape.size(); k-- > 1;) inner[k - 1] = inner[k] * shape[k];
  return inner;
}

void append_run(std::vector<Box>& boxes, const Shape& shape, const std::vector<std::uint64_t>& inner, Run run) {
  while (run.count > 0) {
    std::size_t axis = 0;
    while (axis + 1 < shape.size() && (run.begin % inner[axis] != 0 || run.count < inner[axis])) ++axis;
    Box box;
    box.variable = run.variable;
    box.offset = run.first;
    box.origin.assign(shape.size(), 0);
    box.extent.assign(shape.size(), 1);
    box.stride.assign(shape.size(), 0);
    std::uint64_t rest = run.begin;
    std::uint64_t taken = 1;
    for (std::size_t k = 0; k < shape.size(); ++k) {
      const std::uint64_t index = rest / inner[k];
      rest %= inner[k];
      std::uint64_t extent = 1;
      if (k == axis) extent = std::min(run.count / inner[k], shape[k] - index);
      if (k > axis) extent = shape[k];
      box.origin[k] = k > axis ? 0 : index;
      box.extent[k] = extent;
      box.stride[k] = run.stride * static_cast<std::int64_t>(inner[k]);
      taken *= extent;
    }
    append(boxes, std::move(box));
    run.begin += taken;
    run.count -= taken;
    run.first += run.stride * static_cast<std::int64_t>(taken);
  }
}

std::optional<Box> reshape_whole(const Box& box, const Shape& to) {
  struct Axis {
    std::uint64_t extent;
    std::int64_t stride;
  };
  std::vector<Axis> merged;
  for (std::size_t k = 0; k < box.extent.size(); ++k) {
    if (box.extent[k] == 1) continue;
    const auto extent = static_cast<std::int64_t>(box.extent[k]);
    if (!merged.empty() && merged.back().stride == box.stride[k] * extent) {
      merged.back() = {merged.back().extent * box.extent[k], box.stride[k]};
    } else {
      merged.push_back({box.extent[k], box.stride[k]});
    }
  }
  Box result;
  result.variable = box.variable;
  result.offset = box.offset;
  result.origin.assign(to.size(), 0);
  result.extent = to;
  result.stride.assign(to.size(), 0);
  std::size_t k = to.size();
  for (std::size_t m = merged.size(); m-- > 0;) {
    std::uint64_t left = merged[m].extent;
    std::int64_t stride = merged[m].stride;
    while (left > 1) {
      if (k == 0) return std::nullopt;
      --k;
      if (to[k] == 1) continue;
      if (left % to[k] != 0) return std::nullopt;
      result.stride[k] = stride;
      stride *= static_cast<std::int64_t>(to[k]);
      left /= to[k];
    }
  }
  return result;
}

}  // namespace tessera::graph::detail
