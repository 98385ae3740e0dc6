// Matrix products by plan, of f32 or i32: operands to the tiles that multiply them (constants lie there from the
// start), one vertex a worker block, partial sums of a cut inner axis reduced in the order of the axis.
#include <fmt/format.h>

#include <algorithm>

#include "host/nn/operators.h"
#include "hw/error.h"

namespace tessera::nn {

using graph::Tensor;
using graph::VertexId;

namespace {

using Index = std::uint64_t;

/// Pieces that lie together, each on its tile: filled first, made a variable at once.
class Segments {
 public:
  explicit Segments(graph::Type type) : type_(type) {}
  Index add(unsigned tile, Index elements) {
    parts_.push_back({tile, total_, total_ + elements});
    total_ += elements;
    return parts_.size() - 1;
  }
  Tensor make_variable(Builder& builder, const std::string& name) {
    whole_ = builder.graph().add_variable(type_, {total_}, name);
    map(builder);
    return whole_;
  }
  Tensor make_constant(Builder& builder, std::vector<std::uint8_t> data, const std::string& name) {
    whole_ = builder.graph().add_constant(type_, {total_}, std::move(data), name);
    map(builder);
    return whole_;
  }
  [[nodiscard]] Tensor part(Index i) const { return whole_.slice(parts_[i].begin, parts_[i].end); }
  [[nodiscard]] Index size() const { return parts_.size(); }
  [[nodiscard]] Index elements() const { return total_; }

 private:
  void map(Builder& builder) {
    for (const Piece& part : parts_)
      if (part.end > part.begin) builder.graph().map(whole_.slice(part.begin, part.end), part.tile);
  }
  graph::Type type_;
  std::vector<Piece> parts_;
  Index total_ = 0;
  Tensor whole_;
};

/// Appends elements of 4 bytes.
void append(std::vector<std::uint8_t>& data, const model::Tensor& from, Index first, Index count) {
  const auto begin = from.data.begin() + static_cast<std::ptrdiff_t>(first * 4);
  data.insert(data.end(), begin, begin + static_cast<std::ptrdiff_t>(count * 4));
}

/// Block (i, j, l) of one product on its tile.
struct Block {
  std::size_t product = 0;
  unsigned tile = 0;
  Index row = 0, rows = 0, column = 0, columns = 0, inner = 0, depth = 0;
  Index i = 0, j = 0, l = 0;
};

class MatmulLowering {
 public:
  MatmulLowering(Builder& builder, const std::vector<MatmulOperands>& products, const MatmulPlan& plan,
                 unsigned tiles_each, const std::string& name)
      : builder_(builder), products_(products), plan_(plan), name_(name) {
    type_ = products[0].a.type();
    m_ = products[0].a.dim(0);
    k_ = products[0].a.dim(1);
    const Operand& b = products[0].b;
    n_ = b.is_constant() ? static_cast<Index>(b.constant->shape[1]) : b.view.dim(1);
    for (std::size_t p = 0; p < products.size(); ++p) add_blocks(p, tiles_each);
  }

  std::vector<Tensor> run() {
    place_a();
    place_b();
    place_bias();
    multiply();
    if (plan_.inner_blocks == 1) {
      std::vector<Tensor> results;
      for (std::size_t p = 0; p < products_.size(); ++p) results.push_back(partial(p, 0));
      return results;
    }
    return reduce();
  }

 private:
  void add_blocks(std::size_t product, unsigned tiles_each) {
    const auto rows = static_cast<Index>(plan_.rows), columns = static_cast<Index>(plan_.columns),
               inner = static_cast<Index>(plan_.inner);
    unsigned tile = static_cast<unsigned>(product * tiles_each % builder_.tiles());
    if (tile + tiles_each > builder_.tiles()) tile = 0;
    for (Index i = 0; i * rows < m_; ++i)
      for (Index j = 0; j * columns < n_; ++j)
        for (Index l = 0; l * inner < k_; ++l, ++tile)
          blocks_.push_back({product, tile, i * rows, std::min(rows, m_ - i * rows), j * columns,
                             std::min(columns, n_ - j * columns), l * inner, std::min(inner, k_ - l * inner), i, j, l});
  }

  Tensor a_of(const Block& b) const {
    return products_[b.product].a.slice({b.row, b.inner}, {b.row + b.rows, b.inner + b.depth});
  }

  /// A's blocks that do not lie on their tile as rows are brought there in one copy.
  void place_a() {
    Segments staged(type_);
    std::vector<Tensor> from;
    std::vector<std::size_t> which;
    a_.resize(blocks_.size());
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const Tensor block = a_of(blocks_[i]);
      if (auto placed = builder_.placed_rows(block, blocks_[i].tile)) {
        a_[i] = {placed->data.reinterpret(type_), placed->stride};
        continue;
      }
      staged.add(blocks_[i].tile, block.elements());
      from.push_back(block.flatten());
      which.push_back(i);
    }
    if (from.empty()) return;
    const Tensor variable = staged.make_variable(builder_, name_ + " a");
    builder_.copy(Tensor::concat(from), variable, name_ + " a");
    for (Index s = 0; s < which.size(); ++s) a_[which[s]] = {staged.part(s), blocks_[which[s]].depth};
  }

  void place_b() {
    Segments staged(type_);
    std::vector<std::uint8_t> data;
    std::vector<Tensor> from;
    std::vector<std::size_t> which;
    b_.resize(blocks_.size());
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const Block& block = blocks_[i];
      const Operand& b = products_[block.product].b;
      if (b.is_constant()) {
        for (Index k = 0; k < block.depth; ++k)
          append(data, *b.constant, (block.inner + k) * n_ + block.column, block.columns);
      } else {
        const Tensor part =
            b.view.slice({block.inner, block.column}, {block.inner + block.depth, block.column + block.columns});
        if (auto placed = builder_.placed_rows(part, block.tile)) {
          b_[i] = {placed->data.reinterpret(type_), placed->stride};
          continue;
        }
        from.push_back(part.flatten());
      }
      staged.add(block.tile, block.depth * block.columns);
      which.push_back(i);
    }
    if (which.empty()) return;
    if (!from.empty())
      builder_.copy(Tensor::concat(from), staged.make_variable(builder_, name_ + " b"), name_ + " b");
    else
      staged.make_constant(builder_, std::move(data), name_ + " weights");
    for (Index s = 0; s < which.size(); ++s) b_[which[s]] = {staged.part(s), blocks_[which[s]].columns};
  }

  /// Each tile's columns of the bias; with a cut inner axis it joins the reduction instead.
  void place_bias() {
    if (!products_[0].bias || plan_.inner_blocks > 1) return;
    Segments staged(type_);
    std::vector<std::uint8_t> data;
    std::vector<Tensor> from;
    for (const Block& block : blocks_) {
      const Operand& bias = *products_[block.product].bias;
      staged.add(block.tile, block.columns);
      if (bias.is_constant())
        append(data, *bias.constant, block.column, block.columns);
      else
        from.push_back(bias.view.slice(block.column, block.column + block.columns));
    }
    if (from.empty())
      staged.make_constant(builder_, std::move(data), name_ + " bias");
    else
      builder_.copy(Tensor::concat(from), staged.make_variable(builder_, name_ + " bias"), name_ + " bias");
    for (Index s = 0; s < staged.size(); ++s) bias_.push_back(staged.part(s));
  }

  /// One vertex a worker block. Results lie vertex by vertex; with full rows a tile's result is one matrix.
  void multiply() {
    Segments results(type_);
    const auto height = static_cast<Index>(plan_.worker_rows), width = static_cast<Index>(plan_.worker_columns);
    struct Work {
      std::size_t block;
      Index row, rows, column, columns;
    };
    std::vector<Work> work;
    for (std::size_t i = 0; i < blocks_.size(); ++i)
      for (Index row = 0; row < blocks_[i].rows; row += height)
        for (Index column = 0; column < blocks_[i].columns; column += width) {
          work.push_back(
              {i, row, std::min(height, blocks_[i].rows - row), column, std::min(width, blocks_[i].columns - column)});
          results.add(blocks_[i].tile, work.back().rows * work.back().columns);
        }
    results.make_variable(builder_, plan_.inner_blocks > 1 ? name_ + " partial sums" : name_);
    c_.resize(blocks_.size());
    const auto set = builder_.graph().add_compute_set(name_);
    for (Index w = 0; w < work.size(); ++w) {
      const Work& part = work[w];
      add_vertex(set, part.block, part.row, part.rows, part.column, part.columns, results.part(w));
      const Tensor c = results.part(w).reshape({part.rows, part.columns});
      if (part.column == 0)
        c_[part.block].push_back(c);
      else
        c_[part.block].back() = Tensor::concat({c_[part.block].back(), c}, 1);
    }
    builder_.execute(set);
  }

  void add_vertex(graph::ComputeSetId set, std::size_t block, Index row, Index rows, Index column, Index columns,
                  const Tensor& c) {
    const PlacedRows &a = a_[block], &b = b_[block];
    const Index depth = blocks_[block].depth;
    graph::Graph& graph = builder_.graph();
    const bool bias = !bias_.empty();
    const VertexId vertex = graph.add_vertex(
        set, (bias ? "MatMulBias_" : "MatMul_") + std::string(graph::name_of(type_)), blocks_[block].tile, name_);
    graph.connect(vertex, "a", a.data.slice(row * a.stride, (row + rows - 1) * a.stride + depth));
    graph.connect(vertex, "b", b.data.slice(column, (depth - 1) * b.stride + column + columns));
    if (bias) graph.connect(vertex, "bias", bias_[block].slice(column, column + columns));
    graph.connect(vertex, "c", c);
    graph.set_value(vertex, "m", static_cast<std::uint32_t>(rows));
    graph.set_value(vertex, "n", static_cast<std::uint32_t>(columns));
    graph.set_value(vertex, "k", static_cast<std::uint32_t>(depth));
    graph.set_value(vertex, "lda", static_cast<std::uint32_t>(a.stride));
    graph.set_value(vertex, "ldb", static_cast<std::uint32_t>(b.stride));
    graph.set_value(vertex, "ldc", static_cast<std::uint32_t>(columns));
  }

  /// The view of a product's (partial) result: worker blocks, tile columns, tile rows put together.
  Tensor partial(std::size_t product, Index l) const {
    std::vector<Tensor> down;
    std::vector<Tensor> across;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const Block& block = blocks_[i];
      if (block.product != product || block.l != l) continue;
      if (block.j == 0 && !across.empty()) {
        down.push_back(Tensor::concat(across, 1));
        across.clear();
      }
      across.push_back(Tensor::concat(c_[i], 0));
    }
    down.push_back(Tensor::concat(across, 1));
    return Tensor::concat(down, 0);
  }

  /// Sums the inner blocks (and the bias) piece by piece over all tiles.
  std::vector<Tensor> reduce() {
    std::vector<Tensor> results, from;
    Segments staged(type_);
    struct Work {
      unsigned tile;
      Tensor y;
      Index terms;
    };
    std::vector<Work> work;
    for (std::size_t p = 0; p < products_.size(); ++p) {
      std::vector<Tensor> terms;
      for (Index l = 0; l < static_cast<Index>(plan_.inner_blocks); ++l) terms.push_back(partial(p, l).flatten());
      if (products_[p].bias) terms.push_back(bias_view(p).broadcast_to({m_, n_}).flatten());
      const Tensor y = sums();
      results.push_back(y);
      const auto variable = y.boxes().at(0).variable;
      for (const graph::TileInterval& share : builder_.graph().mapping(y)) {
        const Index step = (share.end - share.begin + kWorkers - 1) / kWorkers;
        for (Index begin = share.begin; begin < share.end; begin += step) {
          const Index end = std::min(begin + step, share.end);
          for (const Tensor& term : terms) from.push_back(term.slice(begin, end));
          staged.add(share.tile, terms.size() * (end - begin));
          work.push_back({share.tile, builder_.flat(variable).slice(begin, end), terms.size()});
        }
      }
    }
    builder_.copy(Tensor::concat(from), staged.make_variable(builder_, name_ + " terms"), name_ + " terms");
    const auto set = builder_.graph().add_compute_set(name_ + " sum");
    for (Index w = 0; w < work.size(); ++w) {
      const VertexId vertex =
          builder_.graph().add_vertex(set, "ReduceAdd_" + std::string(graph::name_of(type_)), work[w].tile, name_);
      builder_.graph().connect(vertex, "x", staged.part(w));
      builder_.graph().connect(vertex, "y", work[w].y);
      builder_.graph().set_value(vertex, "outer", std::uint32_t{1});
      builder_.graph().set_value(vertex, "axis", static_cast<std::uint32_t>(work[w].terms));
      builder_.graph().set_value(vertex, "inner", static_cast<std::uint32_t>(work[w].y.elements()));
    }
    builder_.execute(set);
    return results;
  }

  /// A result: whole rows on tiles, but where there are fewer rows than that takes, equal shares over all tiles, since
  /// a tile receives its share of every inner block.
  Tensor sums() {
    const Index share = matmul_share(m_ * n_, builder_.tiles());
    if (share >= n_) return builder_.linear(type_, {m_, n_}, name_);
    const Tensor y = builder_.graph().add_variable(type_, {m_, n_}, name_);
    builder_.graph().map_linear(y.flatten(), 1, share);
    return y;
  }

  Tensor bias_view(std::size_t product) {
    const Operand& bias = *products_[product].bias;
    return bias.is_constant() ? builder_.linear_constant(*bias.constant, name_ + " bias") : bias.view;
  }

  Builder& builder_;
  const std::vector<MatmulOperands>& products_;
  MatmulPlan plan_;
  std::string name_;
  graph::Type type_ = graph::Type::f32;
  Index m_ = 0, k_ = 0, n_ = 0;
  std::vector<Block> blocks_;
  std::vector<PlacedRows> a_, b_;
  std::vector<Tensor> bias_;
  std::vector<std::vector<Tensor>> c_;  ///< by block: bands of rows
};

/// True if block i of rows lies on tile i in the shares that linear mapping gives.
bool rows_in_place(const Builder& builder, const Tensor& a, unsigned tiles) {
  const Index share = (a.dim(0) + tiles - 1) / tiles;
  for (Index i = 0; i * share < a.dim(0); ++i)
    if (!builder.placed_rows(a.slice(i * share, std::min(a.dim(0), (i + 1) * share)), static_cast<unsigned>(i)))
      return false;
  return true;
}

}  // namespace

std::vector<Tensor> lower_matmuls(Builder& builder, const std::vector<MatmulOperands>& products,
                                  const MatmulLimits& limits, const std::string& name, std::string& note) {
  const MatmulOperands& first = products.at(0);
  const auto count = static_cast<unsigned>(products.size());
  MatmulTask task;
  task.m = static_cast<std::int64_t>(first.a.dim(0));
  task.k = static_cast<std::int64_t>(first.a.dim(1));
  task.n = first.b.is_constant() ? first.b.constant->shape[1] : static_cast<std::int64_t>(first.b.view.dim(1));
  task.tiles = std::max(1U, builder.tiles() / count);
  const std::uint64_t each = std::max<std::uint64_t>(1, (count + builder.tiles() - 1) / builder.tiles());
  task.tile_bytes = limits.tile_bytes / each;
  task.weight_bytes = limits.weight_bytes / each;
  task.constant_b = first.b.is_constant();
  task.integers = first.a.type() == graph::Type::i32;
  task.rows_in_place = count == 1 && rows_in_place(builder, first.a, task.tiles);
  const MatmulPlan plan = plan_matmul(task);
  // A plan beyond its share may still be allocated (not everything lives at once); beyond the memory it cannot.
  if (!plan.fits && plan.bytes * each > limits.sram_bytes)
    throw Error(
        Category::does_not_fit,
        fmt::format("no partition of the product [{}, {}] x [{}, {}] fits: {} bytes on a tile are needed, {} are there",
                    task.m, task.k, task.k, task.n, plan.bytes * each, limits.sram_bytes),
        name, "use more tiles, a smaller batch, or tiles with more memory");
  note = (count > 1 ? fmt::format("{} products, each ", count) : "") + plan.text();
  return MatmulLowering(builder, products, plan, task.tiles, name).run();
}

}  // namespace tessera::nn
