// Products of few rows with a constant matrix (vector_product.h). Codelets: firmware/codelets/vector_product.c.
#include "host/nn/vector_product.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "host/nn/extent.h"
#include "host/nn/vertex_batch.h"

namespace tessera::nn {

using graph::Tensor;
using graph::Type;
using model::Node;

namespace {

using Index = std::uint64_t;

constexpr Index kMostRows = 4;
// Slots of the codelets: to enter, and around the steps of four columns or the parts of a result.
constexpr Index kProductEnter = 45, kProductGroup = 30, kSumsEnter = 40, kSumsRow = 20, kSumsPart = 17;
constexpr Index kSuperstepCycles = 180;

class VectorProduct {
 public:
  VectorProduct(Lowering& lowering, const Node& node, const AmpMatmul& given, const std::vector<float>& bias,
                const VectorPlan& plan)
      : lowering_(lowering),
        builder_(lowering.builder()),
        graph_(builder_.graph()),
        name_(node.name),
        given_(given),
        bias_(bias),
        plan_(plan),
        type_(given.a.type()),
        lanes_(8 / graph::size_of(type_)),
        k_(given.a.shape().back()),
        n_(given.shape.back()),
        m_(given.a.elements() / k_),
        columns_(4 * plan.groups),
        tiles_(plan.column_tiles * plan.parts) {}

  Tensor run() {
    const Tensor partials = multiply();
    // One row is whole, so that what follows finds it in one piece; several end with the columns of the last tile.
    const Tensor y = m_ == 1 ? graph_.add_variable(type_, {n_}, name_)
                             : graph_.add_variable(type_, {plan_.column_tiles * m_ * columns_}, name_);
    finish(partials, y);
    lowering_.notes().push_back(
        {name_, fmt::format("dot products of {} rows on {} tiles, {} columns and 1/{} of the inner axis on each", m_,
                            tiles_, columns_, plan_.parts)});
    if (m_ == 1) return y.reshape(given_.shape);
    const Tensor all = y.reshape({plan_.column_tiles, m_, columns_})
                           .permute({1, 0, 2})
                           .reshape({m_, plan_.column_tiles * columns_})
                           .slice(0, n_, 1);
    return all.shape() == given_.shape ? all : all.reshape(given_.shape);
  }

 private:
  /// [tiles, extent], entry t on tile t.
  Tensor per_tile(Type type, Index extent, const std::string& what) {
    const Tensor tensor = graph_.add_variable(type, {tiles_, extent}, name_ + " " + what);
    for (Index t = 0; t < tiles_; ++t) graph_.map(tensor[t], static_cast<unsigned>(t));
    return tensor;
  }

  /// [tiles][group of 4 columns][worker][vector][4 columns][lanes].
  Tensor weights() {
    const model::Tensor& b = *given_.b.constant;
    const Index each = plan_.groups * kWorkers * plan_.share * 4 * lanes_, size = graph::size_of(type_);
    std::vector<std::uint8_t> data(tiles_ * each * size);
    for (Index column = 0; column < n_; ++column)
      for (Index i = 0; i < k_; ++i) {
        const Index vector = i / lanes_, part = vector / plan_.vectors, own = vector % plan_.vectors;
        const Index tile = column / columns_ * plan_.parts + part, row = column % columns_;
        const Index at =
            (((row / 4 * kWorkers + own / plan_.share) * plan_.share + own % plan_.share) * 4 + row % 4) * lanes_ +
            i % lanes_;
        std::uint8_t* to = data.data() + (tile * each + at) * size;
        const double value = b.real(static_cast<std::int64_t>(i * n_ + column));
        if (type_ == Type::f16) {
          const std::uint16_t bits = model::to_half(value);
          std::memcpy(to, &bits, size);
        } else {
          const auto number = static_cast<float>(value);
          std::memcpy(to, &number, size);
        }
      }
    const Tensor tensor = graph_.add_constant(type_, {tiles_, each}, std::move(data), name_ + " weights");
    for (Index t = 0; t < tiles_; ++t) graph_.map(tensor[t], static_cast<unsigned>(t));
    return tensor;
  }

  /// Sums of the workers: [tiles, m * columns * 6].
  Tensor multiply() {
    const Index width = plan_.vectors * lanes_;
    const Tensor x = per_tile(type_, m_ * width, "operands");
    const Tensor by_part = x.reshape({plan_.column_tiles, plan_.parts, m_, width});
    // Scattered operands are put in order once, not on every tile.
    Tensor rows = given_.a.reshape({m_, k_});
    if (!rows.contiguous()) {
      const Tensor ordered = builder_.linear(type_, {m_, k_}, name_ + " rows");
      builder_.copy(rows, ordered, name_ + " rows");
      rows = ordered;
    }
    for (Index part = 0; part < plan_.parts; ++part)
      builder_.copy(rows.slice(part * width, (part + 1) * width, 1).expand(0).broadcast(plan_.column_tiles, 0),
                    by_part.slice(part, part + 1, 1).squeeze(1), name_ + " operands");
    const Tensor w = weights(), partials = per_tile(Type::f32, m_ * columns_ * kWorkers, "sums");
    VertexBatch batch(builder_, "VectorProduct_" + std::string(graph::name_of(type_)), {"weights", "x", "partials"},
                      {"groups", "vectors", "share", "batch", "stride"}, name_);
    for (Index t = 0; t < tiles_; ++t)
      batch.add(static_cast<unsigned>(t), {w[t], x[t], partials[t]},
                {u(plan_.groups), u(plan_.vectors), u(plan_.share), u(m_), u(width)});
    batch.execute();
    return partials;
  }

  /// Tiles of the same columns share their results: run j of `finished` of them on tile j.
  void finish(const Tensor& partials, const Tensor& y) {
    const Index results = m_ * columns_;
    const Tensor by_part = partials.reshape({plan_.column_tiles, plan_.parts, results * kWorkers});
    VertexBatch batch(builder_, "VectorSums_" + std::string(graph::name_of(type_)), {"terms", "bias", "y"},
                      {"rows", "part_rows", "parts", "mode", "lowest", "highest"}, name_ + " finish");
    const AmpLimits limits = given_.fused != nullptr ? given_.fused->limits : AmpLimits{};
    for (Index first = 0, j = 0; first < results; first += plan_.finished, ++j) {
      const Index count = std::min(plan_.finished, results - first);
      const Tensor sums = by_part.slice(first * kWorkers, (first + count) * kWorkers, 2);
      Tensor terms;
      if (plan_.parts == 1) {
        terms = sums.reshape({plan_.column_tiles, count * kWorkers});
      } else {
        terms = graph_.add_variable(Type::f32, {plan_.column_tiles, plan_.parts * count * kWorkers}, name_ + " terms");
        for (Index t = 0; t < plan_.column_tiles; ++t) graph_.map(terms[t], tile(t, j));
        builder_.copy(sums, terms.reshape(sums.shape()), name_ + " terms");
      }
      const Tensor bias = bias_of(first, count, j);
      for (Index t = 0; t < plan_.column_tiles; ++t) {
        const Index begin = t * results + first, end = std::min(begin + count, y.elements());
        if (begin >= end) continue;
        const Tensor own = y.slice(begin, end);
        graph_.map(own, tile(t, j));
        batch.add(tile(t, j), {terms[t], bias[t].slice(0, end - begin), own},
                  {u(end - begin), u(count), u(plan_.parts), static_cast<std::uint32_t>(limits.mode),
                   bits_of(limits.lowest), bits_of(limits.highest)});
      }
    }
    batch.execute();
  }

  Tensor bias_of(Index first, Index count, Index j) {
    std::vector<float> values(plan_.column_tiles * count, 0.0F);
    for (Index t = 0; t < plan_.column_tiles; ++t)
      for (Index i = 0; i < count; ++i) {
        const Index column = t * columns_ + (first + i) % columns_;
        if (column < bias_.size()) values[t * count + i] = bias_[column];
      }
    const Tensor tensor = graph_.add_constant(Type::f32, {plan_.column_tiles, count}, values, name_ + " bias");
    for (Index t = 0; t < plan_.column_tiles; ++t) graph_.map(tensor[t], tile(t, j));
    return tensor;
  }

  [[nodiscard]] unsigned tile(Index column_tile, Index part) const {
    return static_cast<unsigned>(column_tile * plan_.parts + part);
  }
  [[nodiscard]] static std::uint32_t u(Index v) { return static_cast<std::uint32_t>(v); }

  Lowering& lowering_;
  Builder& builder_;
  graph::Graph& graph_;
  const std::string name_;
  const AmpMatmul& given_;
  const std::vector<float>& bias_;
  const VectorPlan& plan_;
  const Type type_;
  const Index lanes_, k_, n_, m_, columns_, tiles_;
};

}  // namespace

std::optional<VectorPlan> plan_vector_product(Type type, std::uint64_t m, std::uint64_t k, std::uint64_t n,
                                              const AmpTask& limits) {
  const Index lanes = 8 / graph::size_of(type);
  if (m == 0 || m > kMostRows || k == 0 || n == 0 || k % (2 * lanes) != 0) return std::nullopt;
  const Index all_groups = ceil_div(n, 4), pairs = k / lanes / 2;
  std::optional<VectorPlan> best;
  for (Index groups = 1; groups <= all_groups; ++groups) {
    const Index column_tiles = ceil_div(all_groups, groups);
    if (column_tiles > limits.tiles || groups != ceil_div(all_groups, column_tiles)) continue;
    for (Index parts = 1; parts <= limits.tiles / column_tiles && parts <= pairs; ++parts) {
      if (pairs % parts != 0) continue;
      VectorPlan plan;
      plan.groups = groups, plan.column_tiles = column_tiles, plan.parts = parts;
      plan.vectors = 2 * (pairs / parts);
      plan.share = 2 * ceil_div(pairs / parts, kWorkers);
      const Index results = m * 4 * groups;
      plan.finished = ceil_div(ceil_div(results, parts), 4) * 4;
      const Index brought = parts > 1 ? plan.finished * kWorkers * parts : 0;
      const Index weight_bytes = groups * kWorkers * plan.share * 32;
      const Index product = kProductEnter + m * groups * (kProductGroup + 4 * plan.share);
      const Index sums = kSumsEnter + ceil_div(plan.finished, kWorkers) * (kSumsRow + kSumsPart * parts);
      plan.cycles = kWorkers * (product + sums) + 2 * m * plan.vectors + brought + 3 * kSuperstepCycles;
      plan.bytes = weight_bytes + m * plan.vectors * 8 + (results * kWorkers + brought) * 4;
      if (weight_bytes > limits.weight_bytes || plan.bytes - weight_bytes > limits.tile_bytes) continue;
      if (!best || plan.cycles < best->cycles) best = plan;
    }
  }
  return best;
}

Tensor lower_vector_product(Lowering& lowering, const Node& node, const AmpMatmul& given,
                            const std::vector<float>& bias, const VectorPlan& plan) {
  return VectorProduct(lowering, node, given, bias, plan).run();
}

}  // namespace tessera::nn
