#include "host/nn/vertex_batch.h"

#include <cstring>
#include <set>
#include <utility>

namespace tessera::nn {

using graph::Tensor;

namespace {

constexpr std::size_t kLeastFamily = 3;

/// A view that is one ascending run of one variable.
bool plain(const Tensor& tensor) { return tensor.boxes().size() == 1 && tensor.contiguous(); }

}  // namespace

std::uint32_t bits_of(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

VertexBatch::VertexBatch(Builder& builder, std::string codelet, std::vector<std::string> tensors,
                         std::vector<std::string> values, std::string name)
    : builder_(builder),
      codelet_(std::move(codelet)),
      name_(std::move(name)),
      tensors_(std::move(tensors)),
      values_(std::move(values)) {}

void VertexBatch::add(unsigned tile, std::vector<Tensor> tensors, std::vector<std::uint32_t> values) {
  members_.push_back({tile, std::move(tensors), std::move(values)});
}

void VertexBatch::execute() {
  if (members_.empty()) return;
  const auto set = builder_.graph().add_compute_set(name_);
  emit(set);
  builder_.execute(set);
}

/// How many members from `first` on form a family, and by how many elements each field moves.
std::size_t VertexBatch::regular(std::size_t first, std::vector<std::int64_t>& distances) const {
  distances.assign(tensors_.size(), 0);
  const Member& base = members_[first];
  for (const Tensor& tensor : base.tensors)
    if (!plain(tensor)) return 1;
  std::set<unsigned> tiles = {base.tile};  // of a family, each tile has its members in one row
  std::size_t count = 1;
  for (; first + count < members_.size(); ++count) {
    const Member &last = members_[first + count - 1], &next = members_[first + count];
    if (next.values != base.values) return count;
    if (next.tile != last.tile && !tiles.insert(next.tile).second) return count;
    for (std::size_t f = 0; f < tensors_.size(); ++f) {
      const Tensor &a = last.tensors[f], &b = next.tensors[f];
      if (!plain(b) || b.elements() != a.elements() || b.boxes()[0].variable != a.boxes()[0].variable) return count;
      const std::int64_t moved = b.boxes()[0].offset - a.boxes()[0].offset;
      if (count == 1) distances[f] = moved;
      const bool fits = moved == 0 || moved >= static_cast<std::int64_t>(a.elements());
      if (!fits || moved != distances[f]) return count;
    }
  }
  return count;
}

Tensor VertexBatch::family_tensor(std::size_t first, std::size_t count, std::size_t field,
                                  std::int64_t distance) const {
  const Tensor& base = members_[first].tensors[field];
  const std::uint64_t length = base.elements();
  if (distance == 0) return base.flatten().expand(0).broadcast(count, 0);
  const Tensor flat = builder_.flat(base.boxes()[0].variable).reinterpret(base.type());
  const auto begin = static_cast<std::uint64_t>(base.boxes()[0].offset), step = static_cast<std::uint64_t>(distance);
  if (begin + count * step <= flat.elements())
    return flat.slice(begin, begin + count * step).reshape({count, step}).slice(0, length, 1);
  const Tensor most = flat.slice(begin, begin + (count - 1) * step).reshape({count - 1, step}).slice(0, length, 1);
  return Tensor::concat({most, members_[first + count - 1].tensors[field].flatten().expand(0)});
}

void VertexBatch::emit(graph::ComputeSetId set) {
  graph::Graph& graph = builder_.graph();
  std::vector<std::int64_t> distances;
  for (std::size_t first = 0; first < members_.size();) {
    const std::size_t found = regular(first, distances), count = found < kLeastFamily ? 1 : found;
    const Member& base = members_[first];
    graph::VertexId vertex;
    if (count == 1) {
      vertex = graph.add_vertex(set, codelet_, base.tile, name_);
      for (std::size_t f = 0; f < tensors_.size(); ++f) graph.connect(vertex, tensors_[f], base.tensors[f].flatten());
    } else {
      std::vector<graph::TileMembers> tiles;
      for (std::size_t i = first; i < first + count; ++i) {
        if (tiles.empty() || tiles.back().tile != members_[i].tile) tiles.push_back({members_[i].tile, 0});
        ++tiles.back().count;
      }
      vertex = graph.add_family(set, codelet_, std::move(tiles), name_);
      for (std::size_t f = 0; f < tensors_.size(); ++f)
        graph.connect(vertex, tensors_[f], family_tensor(first, count, f, distances[f]));
    }
    for (std::size_t v = 0; v < values_.size(); ++v) {
      if (count == 1)
        graph.set_value(vertex, values_[v], base.values[v]);
      else
        graph.set_affine(vertex, values_[v], base.values[v], 0);
    }
    first += count;
  }
  members_.clear();
}

}  // namespace tessera::nn
