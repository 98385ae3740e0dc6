// A graph at fine grain: which vertices there are and which regions their fields are connected to, kept as families (a
// loop nest and one access a field), so that tens of millions of vertices take megabytes and every one can be visited.
//
// A vertex is one call of a codelet, an edge one contiguous region of a tensor connected to one field. Knows how to
// enumerate and to count; where the families come from is in expand.h and natural.h, how they are drawn in picture.h.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tessera::scale {

using TensorId = std::uint32_t;
inline constexpr std::uint32_t kNoTensor = ~std::uint32_t{0};

/// Positions first, first + step, .. (count of them) of one axis; all: every position of the axis, in order.
struct Span {
  std::int32_t first = 0, count = 0, step = 1;
  bool all = false;
};

/// One axis of a tensor as a field sees it: which positions depends on some of the family's loops.
struct Axis {
  std::int64_t extent = 1;
  std::int64_t stride = 1;            ///< elements from position to position
  std::vector<std::uint8_t> loops;    ///< of the family; the last varies fastest in the table
  std::vector<std::int64_t> factors;  ///< of the loops' indices in the table
  std::vector<Span> table;
};

/// A field: one tensor, a box of positions.
struct Field {
  std::string name;
  TensorId tensor = 0;
  bool writes = false;
  std::vector<Axis> axes;  ///< outermost first, row-major
};

/// Vertices of one codelet: one for each index of the loop nest, the last loop fastest.
struct Family {
  std::string codelet;
  std::uint32_t cluster = 0;
  std::vector<std::int64_t> loops;
  std::vector<Field> fields;
  [[nodiscard]] std::uint64_t members() const {
    std::uint64_t n = 1;
    for (const std::int64_t e : loops) n *= static_cast<std::uint64_t>(e);
    return n;
  }
};

/// What a tensor is; elements include the padding of its layout.
struct Tensor {
  std::string name;
  std::uint64_t elements = 0;
  std::uint32_t cluster = 0;  ///< where it is made, or lives
};

enum class Role : std::uint8_t { input, forward, loss, gradient, weight_gradient, update, parameters };
[[nodiscard]] const char* name_of(Role role);

/// Vertices of one layer and role; drawn together.
struct Cluster {
  std::uint32_t layer = 0;
  Role role = Role::forward;
};

struct Structure {
  std::vector<std::string> layers;
  std::vector<Cluster> clusters;
  std::vector<Tensor> tensors;
  std::vector<Family> families;
  unsigned tiles = 1216;

  /// Members are spread over the tiles in equal shares, in order.
  [[nodiscard]] unsigned tile_of(const Family& family, std::uint64_t member) const {
    return static_cast<unsigned>(member * tiles / family.members());
  }
};

/// Contiguous regions of a field at given indices into its axes' tables; calls visit(begin, elements).
template <typename Visit>
void for_each_region(const Field& field, const Span* const* spans, Visit&& visit) {
  const std::size_t n = field.axes.size();
  std::size_t inner = n;  // axes from here on are whole: one run of elements
  std::int64_t run = 1;
  while (inner > 0 && spans[inner - 1]->all) run *= field.axes[--inner].extent;
  if (inner == 0) {
    visit(std::uint64_t{0}, static_cast<std::uint64_t>(run));
    return;
  }
  for (std::size_t a = 0; a < inner; ++a) {
    if (spans[a]->count == 0) return;
  }
  const Span& last = *spans[inner - 1];
  const std::int64_t unit = field.axes[inner - 1].stride;
  const bool dense = last.step == 1;
  const std::int64_t length = dense ? last.count * unit : unit;
  const std::int32_t pieces = dense ? 1 : last.count;
  std::array<std::int32_t, 8> at{};
  for (;;) {
    std::int64_t base = 0;
    for (std::size_t a = 0; a + 1 < inner; ++a) {
      base += (spans[a]->first + std::int64_t{at[a]} * spans[a]->step) * field.axes[a].stride;
    }
    base += last.first * unit;
    for (std::int32_t j = 0; j < pieces; ++j) {
      visit(static_cast<std::uint64_t>(base), static_cast<std::uint64_t>(length));
      base += std::int64_t{last.step} * unit;
    }
    std::size_t a = inner - 1;
    while (a > 0 && ++at[a - 1] == spans[a - 1]->count) at[--a] = 0;
    if (a == 0) return;
  }
}

/// Visits every edge of a family in order: visit(member, field index, begin, elements).
template <typename Visit>
void for_each_edge(const Family& family, Visit&& visit) {
  const std::uint64_t members = family.members();
  std::array<std::int64_t, 8> index{};
  std::array<const Span*, 8> spans{};
  for (std::uint64_t m = 0; m < members; ++m) {
    for (std::size_t f = 0; f < family.fields.size(); ++f) {
      const Field& field = family.fields[f];
      for (std::size_t a = 0; a < field.axes.size(); ++a) {
        const Axis& axis = field.axes[a];
        std::int64_t entry = 0;
        for (std::size_t k = 0; k < axis.loops.size(); ++k) entry += index[axis.loops[k]] * axis.factors[k];
        spans[a] = &axis.table[static_cast<std::size_t>(entry)];
      }
      for_each_region(field, spans.data(),
                      [&](std::uint64_t begin, std::uint64_t elements) { visit(m, f, begin, elements); });
    }
    for (std::size_t l = family.loops.size(); l > 0; --l) {
      if (++index[l - 1] < family.loops[l - 1]) break;
      index[l - 1] = 0;
    }
  }
}

struct Counts {
  std::uint64_t vertices = 0, edges = 0;
  Counts& operator+=(const Counts& other) {
    vertices += other.vertices;
    edges += other.edges;
    return *this;
  }
};

/// By visiting every vertex and every edge.
[[nodiscard]] Counts enumerate(const Family& family);
/// The same without visiting: only loops that a field depends on are walked, the others multiply.
[[nodiscard]] Counts count(const Family& family);

/// Adds an axis to a field of `family`: `span(indices)` gives the positions for each index of the loops named.
void add_axis(const Family& family, Field& field, std::int64_t extent, std::vector<std::uint8_t> loops,
              const std::function<Span(const std::int64_t*)>& span);
/// Strides from extents, once all axes are there. Throws std::logic_error if their product is not `elements`.
void finish_field(Field& field, std::uint64_t elements);

/// Positions of a range of an axis, cut to what is there; whole ranges are marked.
[[nodiscard]] Span range(std::int64_t first, std::int64_t count, std::int64_t extent, std::int64_t step = 1);

}  // namespace tessera::scale
