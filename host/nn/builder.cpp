#include "host/nn/builder.h"

#include <algorithm>
#include <stdexcept>

#include "host/nn/extent.h"

namespace tessera::nn {

using graph::Program;
using graph::Run;
using graph::Tensor;
using graph::TileInterval;
using graph::VariableId;

namespace {

constexpr std::uint64_t kLongestRow = 4096;   // elements; longer rows are cut between tiles
constexpr std::uint64_t kLeastElements = 16;  // on a tile: fewer do not pay for a vertex
constexpr std::uint64_t kLeastPiece = 8;      // elements of a vertex

/// Flat row-major index in `from` for a flat index in `to`, to which it is broadcast.
class BroadcastIndex {
 public:
  BroadcastIndex(const model::Shape& from, const graph::Shape& to) {
    const auto strides = model::row_major_strides(from);
    std::uint64_t inner = 1;
    for (std::size_t k = 0; k < to.size(); ++k) {
      const std::uint64_t extent = to[to.size() - 1 - k];
      const bool there = k < from.size() && from[from.size() - 1 - k] != 1;
      axes_.push_back({inner, extent, there ? static_cast<std::uint64_t>(strides[from.size() - 1 - k]) : 0});
      inner *= extent;
    }
  }
  std::uint64_t operator()(std::uint64_t flat) const {
    std::uint64_t result = 0;
    for (const Axis& axis : axes_)
      if (axis.stride != 0) result += flat / axis.inner % axis.extent * axis.stride;
    return result;
  }

 private:
  struct Axis {
    std::uint64_t inner, extent, stride;
  };
  std::vector<Axis> axes_;
};

}  // namespace

graph::Type type_of(model::Type type) {
  switch (type) {
    case model::Type::boolean:
      return graph::Type::boolean;
    case model::Type::i8:
      return graph::Type::i8;
    case model::Type::u8:
      return graph::Type::u8;
    case model::Type::i16:
      return graph::Type::i16;
    case model::Type::u16:
      return graph::Type::u16;
    case model::Type::i32:
      return graph::Type::i32;
    case model::Type::u32:
      return graph::Type::u32;
    case model::Type::f16:
      return graph::Type::f16;
    case model::Type::f32:
      return graph::Type::f32;
    default:
      throw std::logic_error("a type that import does not let pass");
  }
}

graph::Shape shape_of(const model::Shape& shape) { return {shape.begin(), shape.end()}; }

void Builder::copy(const Tensor& src, const Tensor& dst, const std::string& name) {
  if (src.elements() > 0) steps_.push_back(Program::copy(src, dst, name));
}

void Builder::map_rows(const Tensor& tensor) {
  if (tensor.elements() == 0) return;
  std::uint64_t row = tensor.rank() >= 2 ? tensor.shape().back() : 4;
  if (row > kLongestRow) row = 4;
  // Bytes are exchanged in words: shares of whole words keep neighbours apart.
  if (graph::size_of(tensor.type()) == 1) row = ceil_div(row, 8) * 8;
  graph_.map_linear(tensor.flatten(), row, kLeastElements);
}

Tensor Builder::linear(graph::Type type, const graph::Shape& shape, const std::string& name) {
  Tensor tensor = graph_.add_variable(type, shape, name);
  map_rows(tensor);
  return tensor;
}

Tensor Builder::linear_constant(const model::Tensor& value, const std::string& name) {
  Tensor tensor = graph_.add_constant(type_of(value.type), shape_of(value.shape), value.data, name);
  map_rows(tensor);
  return tensor;
}

void Builder::spread(const Tensor& flat, std::uint64_t grain) {
  const std::uint64_t count = flat.elements(), units = (count + grain - 1) / grain;
  const std::uint64_t share = (units + tiles_ - 1) / tiles_ * grain;
  for (std::uint64_t begin = 0; begin < count; begin += share) {
    graph_.map(flat.slice(begin, std::min(begin + share, count)), next_tile_);
    next_tile_ = (next_tile_ + 1) % tiles_;
  }
}

Tensor Builder::on_every_tile(const Tensor& scalar, const std::string& name) {
  Tensor tensor = graph_.add_variable(scalar.type(), {tiles_}, name);
  graph_.map_linear(tensor);
  copy(scalar.reshape({1}).broadcast(tiles_, 0), tensor, name);
  return tensor;
}

Tensor Builder::constant_on_every_tile(const model::Tensor& scalar, const std::string& name) {
  std::vector<std::uint8_t> data;
  for (unsigned t = 0; t < tiles_; ++t) data.insert(data.end(), scalar.data.begin(), scalar.data.end());
  Tensor tensor = graph_.add_constant(type_of(scalar.type), {tiles_}, std::move(data), name);
  graph_.map_linear(tensor);
  return tensor;
}

std::vector<VariableId> Builder::variables(const Tensor& view) {
  std::vector<VariableId> result;
  for (const graph::Box& box : view.boxes())
    if (std::find(result.begin(), result.end(), box.variable) == result.end()) result.push_back(box.variable);
  return result;
}

bool Builder::whole(const Tensor& view) const {
  std::uint64_t elements = 0;
  for (const VariableId id : variables(view)) elements += graph_.variable(id).elements();
  return elements == view.elements() && !view.aliases_itself();
}

Tensor Builder::clone_layout(const Tensor& view, graph::Type type, const std::string& name) {
  std::map<VariableId, VariableId> clones;
  for (const VariableId id : variables(view)) {
    const graph::Variable original = graph_.variable(id);
    const Tensor clone = graph_.add_variable(type, original.shape, name);
    for (const TileInterval& i : original.mapping) graph_.map(clone.flatten().slice(i.begin, i.end), i.tile);
    clones[id] = clone.boxes().at(0).variable;
  }
  return view.rebased(type, [&](VariableId id) { return clones.at(id); });
}

Tensor Builder::constant_like(const Tensor& view, const model::Tensor& value, const std::string& name) {
  const BroadcastIndex index(value.shape, view.shape());
  const std::size_t size = model::size_of(value.type);
  std::map<VariableId, std::vector<std::uint8_t>> data;
  for (const VariableId id : variables(view)) data[id].resize(graph_.variable(id).elements() * size);
  view.for_each_run([&](const Run& run) {
    std::vector<std::uint8_t>& bytes = data.at(run.variable);
    for (std::uint64_t i = 0; i < run.count; ++i) {
      const auto at = static_cast<std::uint64_t>(run.first + static_cast<std::int64_t>(i) * run.stride);
      std::copy_n(value.data.data() + index(run.begin + i) * size, size, bytes.data() + at * size);
    }
  });
  std::map<VariableId, VariableId> constants;
  for (auto& [id, bytes] : data) {
    const graph::Variable original = graph_.variable(id);
    const Tensor constant = graph_.add_constant(type_of(value.type), original.shape, std::move(bytes), name);
    for (const TileInterval& i : original.mapping) graph_.map(constant.flatten().slice(i.begin, i.end), i.tile);
    constants[id] = constant.boxes().at(0).variable;
  }
  return view.rebased(type_of(value.type), [&](VariableId id) { return constants.at(id); });
}

std::optional<std::map<VariableId, VariableId>> Builder::beside(const Tensor& base, const Tensor& other) const {
  if (base.shape() != other.shape()) return std::nullopt;
  std::map<VariableId, VariableId> pairs;
  std::vector<Run> a = base.runs(), b = other.runs();
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    const std::uint64_t count = std::min(a[i].count, b[j].count);
    const auto [pair, added] = pairs.emplace(a[i].variable, b[j].variable);
    if (pair->second != b[j].variable || a[i].first != b[j].first) return std::nullopt;
    if (count > 1 && a[i].stride != b[j].stride) return std::nullopt;
    if (added && graph_.variable(pair->first).mapping != graph_.variable(pair->second).mapping) return std::nullopt;
    for (Run* run : {&a[i], &b[j]}) {
      run->count -= count;
      run->first += run->stride * static_cast<std::int64_t>(count);
    }
    if (a[i].count == 0) ++i;
    if (b[j].count == 0) ++j;
  }
  return pairs;
}

Tensor Builder::made_whole(const Tensor& view, const std::string& name) {
  if (whole(view)) return view;
  const Tensor result = linear(view.type(), view.shape(), name);
  copy(view, result, name);
  return result;
}

Tensor Builder::flat(VariableId variable) const {
  const graph::Variable& v = graph_.variable(variable);
  return {v.type, {v.elements()}, variable};
}

std::vector<Piece> Builder::pieces(VariableId variable) const {
  std::vector<Piece> result;
  for (const TileInterval& interval : graph_.variable(variable).mapping) {
    const std::uint64_t count = interval.end - interval.begin;
    const std::uint64_t share = std::max(kLeastPiece, ceil_div(ceil_div(count, kWorkers), 4) * 4);
    for (std::uint64_t at = 0; at < count; at += share)
      result.push_back({interval.tile, interval.begin + at, interval.begin + std::min(at + share, count)});
  }
  return result;
}

std::optional<PlacedRows> Builder::placed_rows(const Tensor& matrix, unsigned tile) const {
  const std::uint64_t rows = matrix.dim(0), columns = matrix.dim(1);
  std::vector<std::int64_t> first(rows, -1);
  VariableId variable;
  std::uint64_t position = 0;
  bool good = true;
  matrix.for_each_run([&](const Run& run) {
    if (position == 0) variable = run.variable;
    good = good && run.variable == variable && (run.count == 1 || run.stride == 1);
    std::int64_t at = run.first;
    for (std::uint64_t left = run.count; good && left > 0;) {
      const std::uint64_t row = position / columns, column = position % columns;
      if (column == 0) first[row] = at;
      good = at == first[row] + static_cast<std::int64_t>(column);
      const std::uint64_t step = std::min(left, columns - column);
      position += step;
      at += static_cast<std::int64_t>(step);
      left -= step;
    }
  });
  if (!good || rows == 0 || columns == 0) return std::nullopt;
  const std::int64_t stride = rows > 1 ? first[1] - first[0] : static_cast<std::int64_t>(columns);
  for (std::uint64_t row = 1; row < rows; ++row)
    if (first[row] - first[row - 1] != stride) return std::nullopt;
  if (stride < static_cast<std::int64_t>(columns)) return std::nullopt;
  const auto begin = static_cast<std::uint64_t>(first[0]);
  const std::uint64_t end = begin + (rows - 1) * static_cast<std::uint64_t>(stride) + columns;
  for (const TileInterval& interval : graph_.variable(variable).mapping)
    if (interval.begin <= begin && end <= interval.end)
      return interval.tile == tile
                 ? std::optional<PlacedRows>({flat(variable).slice(begin, end), static_cast<std::uint64_t>(stride)})
                 : std::nullopt;
  return std::nullopt;
}

}  // namespace tessera::nn
