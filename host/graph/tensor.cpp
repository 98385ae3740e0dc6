// Views over variables: every operation maps boxes to boxes; only a reshape that no single box can express goes through
// runs. Merging neighbours keeps the number of boxes near what a user would write.
#include "host/graph/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "host/graph/boxes.h"
#include "hw/error.h"

namespace tessera::graph {

using detail::append;
using detail::append_run;
using detail::inner_sizes;
using detail::normalise;
using detail::reshape_whole;

namespace {

[[noreturn]] void bad_view(const std::string& what, const std::string& tensor) {
  throw Error(Category::usage, what, "tensor " + tensor, "check the shape before taking the view");
}

/// Joins a run to the pending one if it goes on in index and element.
bool join(Run& a, const Run& b) {
  if (a.variable != b.variable || a.begin + a.count != b.begin) return false;
  const auto count = static_cast<std::int64_t>(a.count);
  const std::int64_t step = b.first - a.first;
  if (step % count != 0) return false;
  const std::int64_t stride = step / count;
  if (a.count > 1 && a.stride != stride) return false;
  if (b.count > 1 && b.stride != stride) return false;
  a.count += b.count;
  a.stride = stride;
  return true;
}

/// Calls f with each innermost row of a box as a run.
template <typename F>
void for_each_row(const Box& box, const std::vector<std::uint64_t>& inner, F&& f) {
  const std::size_t rank = box.extent.size();
  Run run;
  run.variable = box.variable;
  if (rank == 0) {
    run.count = 1;
    run.first = box.offset;
    f(run);
    return;
  }
  run.count = box.extent[rank - 1];
  run.stride = run.count == 1 ? 1 : box.stride[rank - 1];
  Shape index(rank, 0);
  while (true) {
    run.begin = box.origin[rank - 1];
    run.first = box.offset;
    for (std::size_t k = 0; k + 1 < rank; ++k) {
      run.begin += (box.origin[k] + index[k]) * inner[k];
      run.first += static_cast<std::int64_t>(index[k]) * box.stride[k];
    }
    f(run);
    std::size_t k = rank - 1;
    while (k-- > 0) {
      if (++index[k] < box.extent[k]) break;
      index[k] = 0;
    }
    if (k == static_cast<std::size_t>(-1)) return;
  }
}

}  // namespace

std::uint64_t element_count(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::uint64_t{1}, std::multiplies<>());
}

std::uint64_t element_count(const Axes<std::uint64_t>& extent) {
  return std::accumulate(extent.begin(), extent.end(), std::uint64_t{1}, std::multiplies<>());
}

std::string to_string(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

std::uint64_t flat_index(const Shape& shape, const Shape& index) {
  std::uint64_t flat = 0;
  for (std::size_t k = 0; k < shape.size(); ++k) flat = flat * shape[k] + index[k];
  return flat;
}

Tensor::Tensor(Type type, Shape shape, VariableId variable) : type_(type), shape_(std::move(shape)) {
  Box box;
  box.variable = variable;
  box.origin.assign(shape_.size(), 0);
  box.extent = shape_;
  box.stride.assign(shape_.size(), 0);
  const std::vector<std::uint64_t> inner = inner_sizes(shape_);
  for (std::size_t k = 0; k < inner.size(); ++k) box.stride[k] = static_cast<std::int64_t>(inner[k]);
  std::vector<Box> boxes;
  append(boxes, std::move(box));
  boxes_ = std::make_shared<const std::vector<Box>>(std::move(boxes));
}

Tensor::Tensor(Type type, Shape shape, std::vector<Box> boxes)
    : type_(type), shape_(std::move(shape)), boxes_(std::make_shared<const std::vector<Box>>(std::move(boxes))) {}

std::string Tensor::describe() const { return fmt::format("{}{}", name_of(type_), to_string(shape_)); }

Tensor Tensor::slice(std::uint64_t begin, std::uint64_t end, std::size_t axis) const {
  if (axis >= rank()) bad_view(fmt::format("slice along axis {} of a tensor of rank {}", axis, rank()), describe());
  if (begin > end || end > shape_[axis]) {
    bad_view(fmt::format("slice {} .. {} along axis {} of extent {}", begin, end, axis, shape_[axis]), describe());
  }
  Shape shape = shape_;
  shape[axis] = end - begin;
  std::vector<Box> boxes;
  for (const Box& whole : *boxes_) {
    const std::uint64_t from = std::max(begin, whole.origin[axis]);
    const std::uint64_t to = std::min(end, whole.origin[axis] + whole.extent[axis]);
    if (from >= to) continue;  // before the copy: views may have many boxes and slices few
    Box box = whole;
    box.offset += static_cast<std::int64_t>(from - box.origin[axis]) * box.stride[axis];
    box.origin[axis] = from - begin;
    box.extent[axis] = to - from;
    append(boxes, std::move(box));
  }
  return {type_, std::move(shape), std::move(boxes)};
}

Tensor Tensor::slice(const Shape& begin, const Shape& end) const {
  if (begin.size() != rank() || end.size() != rank()) {
    bad_view(fmt::format("slice {} .. {} has another rank", to_string(begin), to_string(end)), describe());
  }
  Tensor result = *this;
  for (std::size_t k = 0; k < rank(); ++k) result = result.slice(begin[k], end[k], k);
  return result;
}

Tensor Tensor::operator[](std::uint64_t i) const {
  if (rank() == 0) bad_view("index of a scalar", describe());
  if (i >= shape_[0]) bad_view(fmt::format("index {} of an axis of extent {}", i, shape_[0]), describe());
  return slice(i, i + 1, 0).squeeze(0);
}

Tensor Tensor::every(std::uint64_t step, std::size_t axis) const {
  if (axis >= rank()) bad_view(fmt::format("step along axis {} of a tensor of rank {}", axis, rank()), describe());
  if (step == 0) bad_view("step 0", describe());
  Shape shape = shape_;
  shape[axis] = (shape[axis] + step - 1) / step;
  std::vector<Box> boxes;
  for (Box box : *boxes_) {
    const std::uint64_t from = (box.origin[axis] + step - 1) / step;  // first kept index, in the new axis
    const std::uint64_t to = (box.origin[axis] + box.extent[axis] + step - 1) / step;
    if (from >= to) continue;
    box.offset += static_cast<std::int64_t>(from * step - box.origin[axis]) * box.stride[axis];
    box.origin[axis] = from;
    box.extent[axis] = to - from;
    box.stride[axis] *= static_cast<std::int64_t>(step);
    append(boxes, std::move(box));
  }
  return {type_, std::move(shape), std::move(boxes)};
}

Tensor Tensor::reshape(const Shape& shape) const {
  if (element_count(shape) != elements()) {
    bad_view(fmt::format("reshape of {} elements to {}", elements(), to_string(shape)), describe());
  }
  if (shape == shape_) return *this;
  std::vector<Box> boxes;
  if (boxes_->size() == 1) {
    if (auto box = reshape_whole(boxes_->front(), shape)) {
      append(boxes, std::move(*box));
      return {type_, shape, std::move(boxes)};
    }
  }
  const std::vector<std::uint64_t> inner = inner_sizes(shape);
  for_each_run([&](const Run& run) { append_run(boxes, shape, inner, run); });
  return {type_, shape, std::move(boxes)};
}

Tensor Tensor::permute(const std::vector<std::size_t>& permutation) const {
  std::vector<bool> seen(rank(), false);
  bool good = permutation.size() == rank();
  for (const std::size_t k : permutation) {
    good = good && k < rank() && !seen[k];
    if (good) seen[k] = true;
  }
  if (!good) bad_view(fmt::format("permutation [{}] of {} axes", fmt::join(permutation, ", "), rank()), describe());
  Shape shape;
  for (const std::size_t k : permutation) shape.push_back(shape_[k]);
  std::vector<Box> boxes;
  for (const Box& box : *boxes_) {
    Box turned;
    turned.variable = box.variable;
    turned.offset = box.offset;
    turned.origin.assign(rank(), 0);
    turned.extent.assign(rank(), 1);
    turned.stride.assign(rank(), 0);
    for (std::size_t k = 0; k < rank(); ++k) {
      turned.origin[k] = box.origin[permutation[k]];
      turned.extent[k] = box.extent[permutation[k]];
      turned.stride[k] = box.stride[permutation[k]];
    }
    append(boxes, std::move(turned));
  }
  return {type_, std::move(shape), std::move(boxes)};
}

Tensor Tensor::transpose() const {
  std::vector<std::size_t> permutation(rank());
  for (std::size_t k = 0; k < rank(); ++k) permutation[k] = rank() - 1 - k;
  return permute(permutation);
}

Tensor Tensor::reverse(std::size_t axis) const {
  if (axis >= rank()) bad_view(fmt::format("reverse along axis {} of a tensor of rank {}", axis, rank()), describe());
  std::vector<Box> boxes;
  for (Box box : *boxes_) {
    box.offset += static_cast<std::int64_t>(box.extent[axis] - 1) * box.stride[axis];
    box.stride[axis] = -box.stride[axis];
    box.origin[axis] = shape_[axis] - box.origin[axis] - box.extent[axis];
    append(boxes, std::move(box));
  }
  return {type_, shape_, std::move(boxes)};
}

Tensor Tensor::expand(std::size_t axis) const {
  if (axis > rank()) bad_view(fmt::format("new axis {} of a tensor of rank {}", axis, rank()), describe());
  Shape shape = shape_;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  std::vector<Box> boxes = *boxes_;
  for (Box& box : boxes) {
    box.origin.insert(axis, 0);
    box.extent.insert(axis, 1);
    box.stride.insert(axis, 0);
  }
  return {type_, std::move(shape), std::move(boxes)};
}

Tensor Tensor::squeeze(std::size_t axis) const {
  if (axis >= rank() || shape_[axis] != 1) bad_view(fmt::format("squeeze of axis {}", axis), describe());
  Shape shape = shape_;
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  std::vector<Box> boxes = *boxes_;
  for (Box& box : boxes) {
    box.origin.erase(axis);
    box.extent.erase(axis);
    box.stride.erase(axis);
  }
  return {type_, std::move(shape), std::move(boxes)};
}

Tensor Tensor::broadcast(std::uint64_t count, std::size_t axis) const {
  if (axis >= rank() || shape_[axis] != 1) {
    bad_view(fmt::format("broadcast of axis {} which is not of extent 1", axis), describe());
  }
  Shape shape = shape_;
  shape[axis] = count;
  std::vector<Box> boxes = *boxes_;
  for (Box& box : boxes) {
    box.extent[axis] = count;
    box.stride[axis] = 0;
  }
  if (count == 0) boxes.clear();
  return {type_, std::move(shape), std::move(boxes)};
}

Tensor Tensor::broadcast_to(const Shape& shape) const {
  if (shape.size() < rank()) bad_view("broadcast to " + to_string(shape), describe());
  Tensor result = *this;
  while (result.rank() < shape.size()) result = result.expand(0);
  for (std::size_t k = 0; k < shape.size(); ++k) {
    if (result.shape_[k] == shape[k]) continue;
    if (result.shape_[k] != 1) bad_view("broadcast to " + to_string(shape), describe());
    result = result.broadcast(shape[k], k);
  }
  return result;
}

Tensor Tensor::reinterpret(Type type) const {
  if (size_of(type) != size_of(type_)) {
    bad_view(fmt::format("bits taken as {}, which has another size", name_of(type)), describe());
  }
  Tensor result = *this;
  result.type_ = type;
  return result;
}

Tensor Tensor::concat(const std::vector<Tensor>& parts, std::size_t axis) {
  if (parts.empty()) bad_view("concatenation of nothing", "(none)");
  const Tensor& first = parts.front();
  if (axis >= first.rank()) bad_view(fmt::format("concatenation along axis {}", axis), first.describe());
  Shape shape = first.shape_;
  shape[axis] = 0;
  std::vector<Box> boxes;
  for (const Tensor& part : parts) {
    bool fits = part.type_ == first.type_ && part.rank() == first.rank();
    for (std::size_t k = 0; fits && k < shape.size(); ++k) fits = k == axis || part.shape_[k] == shape[k];
    if (!fits) bad_view(fmt::format("concatenation with {} along axis {}", part.describe(), axis), first.describe());
    for (Box box : *part.boxes_) {
      box.origin[axis] += shape[axis];
      append(boxes, std::move(box));
    }
    shape[axis] += part.shape_[axis];
  }
  boxes.shrink_to_fit();
  return {first.type_, std::move(shape), std::move(boxes)};
}

Tensor Tensor::of_runs(Type type, const std::vector<Run>& runs) {
  std::vector<Box> boxes;
  boxes.reserve(runs.size());
  std::uint64_t elements = 0;
  for (const Run& run : runs) {
    if (run.begin != elements) throw std::logic_error("runs of a tensor with a gap");
    Box box;
    box.origin = {run.begin};
    box.extent = {run.count};
    box.stride = {run.stride};
    box.variable = run.variable;
    box.offset = run.first;
    append(boxes, std::move(box));
    elements += run.count;
  }
  boxes.shrink_to_fit();
  return {type, {elements}, std::move(boxes)};
}

void Tensor::for_each_run(const std::function<void(const Run&)>& f) const {
  const std::vector<std::uint64_t> inner = inner_sizes(shape_);
  Run pending;
  const auto emit = [&](const Run& run) {
    if (pending.count > 0 && join(pending, run)) return;
    if (pending.count > 0) f(pending);
    pending = run;
  };
  // Millions of runs of a flat view stand in order already.
  const bool in_order = rank() <= 1 && std::is_sorted(boxes_->begin(), boxes_->end(), [](const Box& a, const Box& b) {
                          return !a.origin.empty() && a.origin[0] < b.origin[0];
                        });
  if (boxes_->size() == 1 || in_order) {
    for (const Box& box : *boxes_) for_each_row(box, inner, emit);
  } else {
    std::vector<Run> rows;
    for (const Box& box : *boxes_) for_each_row(box, inner, [&](const Run& run) { rows.push_back(run); });
    const auto before = [](const Run& a, const Run& b) { return a.begin < b.begin; };
    if (!std::is_sorted(rows.begin(), rows.end(), before)) std::sort(rows.begin(), rows.end(), before);
    for (const Run& run : rows) emit(run);
  }
  if (pending.count > 0) f(pending);
}

std::vector<Run> Tensor::runs() const {
  std::vector<Run> result;
  for_each_run([&](const Run& run) { result.push_back(run); });
  return result;
}

std::pair<VariableId, std::uint64_t> Tensor::at(std::uint64_t flat) const {
  if (flat >= elements()) bad_view(fmt::format("element {} of {}", flat, elements()), describe());
  Shape index(rank());
  for (std::size_t k = rank(); k-- > 0;) {
    index[k] = flat % shape_[k];
    flat /= shape_[k];
  }
  for (const Box& box : *boxes_) {
    std::int64_t element = box.offset;
    bool inside = true;
    for (std::size_t k = 0; inside && k < rank(); ++k) {
      inside = index[k] >= box.origin[k] && index[k] < box.origin[k] + box.extent[k];
      element += static_cast<std::int64_t>(index[k] - box.origin[k]) * box.stride[k];
    }
    if (inside) return {box.variable, static_cast<std::uint64_t>(element)};
  }
  throw std::logic_error("boxes of a tensor do not cover it");
}

Tensor Tensor::rebased(Type type, const std::function<VariableId(VariableId)>& to) const {
  std::vector<Box> boxes = *boxes_;
  for (Box& box : boxes) box.variable = to(box.variable);
  return {type, shape_, std::move(boxes)};
}

bool Tensor::contiguous() const {
  const std::vector<Run> all = runs();
  return all.size() == 1 && (all[0].count == 1 || all[0].stride == 1);
}

namespace {

/// Elements from the first to the last of a run.
struct Reach {
  std::int64_t low = 0, high = 0;
  bool dense = true;
};

/// Whether two runs of one variable name one element, marked one by one.
bool marked_twice(const std::vector<Run>& runs, VariableId variable) {
  std::vector<bool> marks;
  for (const Run& run : runs) {
    if (run.variable != variable) continue;
    for (std::uint64_t i = 0; i < run.count; ++i) {
      const auto element = static_cast<std::size_t>(run.first + static_cast<std::int64_t>(i) * run.stride);
      if (element >= marks.size()) marks.resize(std::max(element + 1, 2 * marks.size()), false);
      if (marks[element]) return true;
      marks[element] = true;
    }
  }
  return false;
}

}  // namespace

bool Tensor::aliases_itself() const {
  const std::vector<Run> all = runs();
  std::map<VariableId, std::vector<Reach>> reaches;
  for (const Run& run : all) {
    if (run.count > 1 && run.stride == 0) return true;
    const std::int64_t last = run.first + static_cast<std::int64_t>(run.count - 1) * run.stride;
    reaches[run.variable].push_back(
        {std::min(run.first, last), std::max(run.first, last), run.count == 1 || std::abs(run.stride) == 1});
  }
  for (auto& [variable, list] : reaches) {
    std::sort(list.begin(), list.end(), [](const Reach& a, const Reach& b) { return a.low < b.low; });
    const Reach* far = nullptr;  // reaches farthest
    bool woven = false;          // runs reach into each other without a certain meeting
    for (const Reach& r : list) {
      if (far != nullptr && far->high >= r.low) {
        if (far->dense && r.dense) return true;
        woven = true;
      }
      if (far == nullptr || r.high > far->high) far = &r;
    }
    if (woven && marked_twice(all, variable)) return true;
  }
  return false;
}

bool Tensor::same_view(const Tensor& other) const {
  if (type_ != other.type_ || shape_ != other.shape_) return false;
  std::vector<Run> a = runs();
  std::vector<Run> b = other.runs();
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    const std::uint64_t count = std::min(a[i].count, b[j].count);
    if (a[i].variable != b[j].variable || a[i].first != b[j].first) return false;
    if (count > 1 && a[i].stride != b[j].stride) return false;
    for (Run* run : {&a[i], &b[j]}) {
      run->count -= count;
      run->first += run->stride * static_cast<std::int64_t>(count);
    }
    if (a[i].count == 0) ++i;
    if (b[j].count == 0) ++j;
  }
  return i == a.size() && j == b.size();
}

}  // namespace tessera::graph
