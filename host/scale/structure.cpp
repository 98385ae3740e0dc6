#include "host/scale/structure.h"

#include <algorithm>
#include <stdexcept>

namespace tessera::scale {

const char* name_of(Role role) {
  static constexpr const char* kNames[] = {"input",           "forward", "loss",      "gradient",
                                           "weight gradient", "update",  "parameters"};
  return kNames[static_cast<unsigned>(role)];
}

Counts enumerate(const Family& family) {
  Counts result;
  result.vertices = family.members();
  for_each_edge(family, [&](std::uint64_t, std::size_t, std::uint64_t, std::uint64_t) { ++result.edges; });
  return result;
}

namespace {

/// Edges of one field: the loops it depends on are walked as a family of their own.
std::uint64_t edges_of(const Family& family, const Field& field) {
  std::vector<bool> used(family.loops.size(), false);
  for (const Axis& axis : field.axes) {
    for (const std::uint8_t l : axis.loops) used[l] = true;
  }
  Family walked;
  walked.loops = family.loops;
  std::uint64_t times = 1;
  for (std::size_t l = 0; l < used.size(); ++l) {
    if (used[l]) continue;
    times *= static_cast<std::uint64_t>(family.loops[l]);
    walked.loops[l] = 1;
  }
  walked.fields = {field};
  return times * enumerate(walked).edges;
}

}  // namespace

Counts count(const Family& family) {
  Counts result;
  result.vertices = family.members();
  if (result.vertices == 0) return result;
  for (const Field& field : family.fields) result.edges += edges_of(family, field);
  return result;
}

void add_axis(const Family& family, Field& field, std::int64_t extent, std::vector<std::uint8_t> loops,
              const std::function<Span(const std::int64_t*)>& span) {
  Axis axis;
  axis.extent = extent;
  axis.loops = std::move(loops);
  axis.factors.assign(axis.loops.size(), 1);
  std::int64_t entries = 1;
  for (std::size_t k = axis.loops.size(); k > 0; --k) {
    axis.factors[k - 1] = entries;
    entries *= family.loops.at(axis.loops[k - 1]);
  }
  std::vector<std::int64_t> index(axis.loops.size() + 1, 0);
  axis.table.reserve(static_cast<std::size_t>(entries));
  for (std::int64_t e = 0; e < entries; ++e) {
    Span s = span(index.data());
    s.all = s.first == 0 && s.step == 1 && s.count == extent;
    axis.table.push_back(s);
    for (std::size_t k = axis.loops.size(); k > 0; --k) {
      if (++index[k - 1] < family.loops[axis.loops[k - 1]]) break;
      index[k - 1] = 0;
    }
  }
  field.axes.push_back(std::move(axis));
}

void finish_field(Field& field, std::uint64_t elements) {
  std::int64_t stride = 1;
  for (std::size_t a = field.axes.size(); a > 0; --a) {
    field.axes[a - 1].stride = stride;
    stride *= field.axes[a - 1].extent;
  }
  if (static_cast<std::uint64_t>(stride) != elements)
    throw std::logic_error("field " + field.name + " sees a tensor of another size");
  if (field.axes.size() > 8) throw std::logic_error("field " + field.name + " has too many axes");
}

Span range(std::int64_t first, std::int64_t count, std::int64_t extent, std::int64_t step) {
  if (first < 0) {  // the first position that is there
    const std::int64_t skip = (-first + step - 1) / step;
    first += skip * step;
    count -= skip;
  }
  const std::int64_t fits = first >= extent ? 0 : (extent - first + step - 1) / step;
  count = std::max<std::int64_t>(0, std::min(count, fits));
  if (count <= 1) step = 1;
  return {static_cast<std::int32_t>(first), static_cast<std::int32_t>(count), static_cast<std::int32_t>(step), false};
}

}  // namespace tessera::scale
