// Tensors as views: a shape and a list of affine boxes, each over one variable. Views move no data and cost no memory
// on the device; what they mean is only which variable element stands at which index.
//
// Does not know where elements lie (Graph maps variables to tiles) nor what addresses they get (the compiler decides).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/graph/axes.h"
#include "host/graph/type.h"

namespace tessera::graph {

using Shape = std::vector<std::uint64_t>;

/// Number of elements; 1 for a scalar (rank 0).
[[nodiscard]] std::uint64_t element_count(const Shape& shape);
[[nodiscard]] std::uint64_t element_count(const Axes<std::uint64_t>& extent);
/// "[3, 4]".
[[nodiscard]] std::string to_string(const Shape& shape);

/// Identity of a variable within its graph.
struct VariableId {
  std::uint32_t index = 0;
  friend bool operator==(VariableId a, VariableId b) { return a.index == b.index; }
  friend bool operator!=(VariableId a, VariableId b) { return a.index != b.index; }
  friend bool operator<(VariableId a, VariableId b) { return a.index < b.index; }
};

/// A box of a tensor's index space that maps affinely to one variable: index i (inside origin..origin+extent) is
/// element offset + sum of (i - origin) * stride. Strides may be 0 (broadcast) or negative (reverse).
struct Box {
  Axes<std::uint64_t> origin, extent;
  VariableId variable;
  std::int64_t offset = 0;
  Axes<std::int64_t> stride;
};

/// A run in row-major order of a tensor: flat elements begin .. begin+count are variable elements
/// first, first + stride, ...
struct Run {
  std::uint64_t begin = 0, count = 0;
  VariableId variable;
  std::int64_t first = 0;
  std::int64_t stride = 1;
};

class Tensor {
 public:
  /// No tensor: rank 0, no box; only for default construction. valid() tells.
  Tensor() = default;
  /// The whole of a variable. Used by Graph.
  Tensor(Type type, Shape shape, VariableId variable);

  [[nodiscard]] bool valid() const { return boxes_ != nullptr; }
  [[nodiscard]] Type type() const { return type_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] std::size_t rank() const { return shape_.size(); }
  [[nodiscard]] std::uint64_t dim(std::size_t axis) const { return shape_.at(axis); }
  [[nodiscard]] std::uint64_t elements() const { return element_count(shape_); }
  /// The boxes partition the index space; order is that of their origins as built, not sorted.
  [[nodiscard]] const std::vector<Box>& boxes() const { return *boxes_; }

  // Views. All throw Error (usage) that names the shape and the argument if it does not apply.

  /// Elements begin .. end (exclusive) of one axis; end may equal begin (an empty view).
  [[nodiscard]] Tensor slice(std::uint64_t begin, std::uint64_t end, std::size_t axis = 0) const;
  /// Box begin[k] .. end[k] on every axis.
  [[nodiscard]] Tensor slice(const Shape& begin, const Shape& end) const;
  /// Element i of axis 0, the axis dropped.
  [[nodiscard]] Tensor operator[](std::uint64_t i) const;
  /// Every step-th element of an axis from the first on; step >= 1.
  [[nodiscard]] Tensor every(std::uint64_t step, std::size_t axis = 0) const;
  /// Same elements in row-major order, other shape.
  [[nodiscard]] Tensor reshape(const Shape& shape) const;
  [[nodiscard]] Tensor flatten() const { return reshape({elements()}); }
  /// Axis k of the result is axis permutation[k] of this.
  [[nodiscard]] Tensor permute(const std::vector<std::size_t>& permutation) const;
  /// Reverses the order of axes (rank 2: the matrix transpose).
  [[nodiscard]] Tensor transpose() const;
  /// Reverses the order of elements along one axis.
  [[nodiscard]] Tensor reverse(std::size_t axis) const;
  /// A new axis of extent 1 before `axis` (0 .. rank).
  [[nodiscard]] Tensor expand(std::size_t axis) const;
  /// Drops an axis of extent 1.
  [[nodiscard]] Tensor squeeze(std::size_t axis) const;
  /// An axis of extent 1 repeated count times, the same elements.
  [[nodiscard]] Tensor broadcast(std::uint64_t count, std::size_t axis) const;
  /// To a larger shape by the rules of numpy and ONNX: axes added in front, axes of extent 1 repeated.
  [[nodiscard]] Tensor broadcast_to(const Shape& shape) const;
  /// The same bits as another type of the same element size (codelets that move bits take u8, u16 or u32).
  [[nodiscard]] Tensor reinterpret(Type type) const;
  /// Parts side by side along an axis; same type, rank and other extents.
  [[nodiscard]] static Tensor concat(const std::vector<Tensor>& parts, std::size_t axis = 0);
  /// A flat tensor of these runs, one behind the other in order of `begin` without gaps.
  [[nodiscard]] static Tensor of_runs(Type type, const std::vector<Run>& runs);
  /// The same view over other variables, of this type: elements keep their place. `to` gives the new variable for each
  /// one of the view; it must have at least as many elements.
  [[nodiscard]] Tensor rebased(Type type, const std::function<VariableId(VariableId)>& to) const;

  // What the view means.

  /// Calls f for maximal runs in row-major order, in order.
  void for_each_run(const std::function<void(const Run&)>& f) const;
  [[nodiscard]] std::vector<Run> runs() const;
  /// Variable and element at a flat row-major index; linear in the number of boxes.
  [[nodiscard]] std::pair<VariableId, std::uint64_t> at(std::uint64_t flat) const;
  /// True if all elements are one ascending run with stride 1 in one variable.
  [[nodiscard]] bool contiguous() const;
  /// True if no variable element stands at two indices.
  [[nodiscard]] bool aliases_itself() const;
  /// Same type and shape, and the same elements at the same indices.
  [[nodiscard]] bool same_view(const Tensor& other) const;

 private:
  Tensor(Type type, Shape shape, std::vector<Box> boxes);
  [[nodiscard]] std::string describe() const;

  Type type_ = Type::f32;
  Shape shape_;
  std::shared_ptr<const std::vector<Box>> boxes_;
};

/// Row-major position of an index.
[[nodiscard]] std::uint64_t flat_index(const Shape& shape, const Shape& index);

}  // namespace tessera::graph
