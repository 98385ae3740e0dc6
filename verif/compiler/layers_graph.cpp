// See layers_graph.h. Activations stand in the home layout [C / 16][positions][16], in equal shares of whole groups.
#include "verif/compiler/layers_graph.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace tessera::testing {

namespace {

using graph::Graph;
using graph::Program;
using graph::Tensor;
using graph::Type;

constexpr std::uint64_t kBlock = 16;   // channels of a group
constexpr std::uint64_t kOutputs = 8;  // of an AMP set

struct Layer {
  std::uint64_t side = 0, inputs = 0, outputs = 0, kernel = 0;
};

/// The layer's work on a grid of tiles: parts of positions (rows), of blocks of outputs, of groups of inputs.
struct Split {
  std::uint64_t rows = 1, outputs = 1, inputs = 1;
};

Split split_of(const Layer& l, unsigned tiles) {
  Split best;
  std::uint64_t least = ~std::uint64_t{0};
  for (std::uint64_t r = 1; r <= l.side; ++r) {
    for (std::uint64_t i = 1; i <= l.inputs / kBlock; i *= 2) {
      const std::uint64_t o = std::min<std::uint64_t>(l.outputs / kOutputs, tiles / (r * i));
      if (o == 0) continue;
      if (8 * r * i * o < 7 * tiles) continue;  // few tiles without work
      const std::uint64_t groups = (l.inputs / kBlock + i - 1) / i;
      const std::uint64_t blocks = (l.outputs / kOutputs + o - 1) / o;
      const std::uint64_t rows = (l.side + r - 1) / r;
      const std::uint64_t bytes = groups * (rows + l.kernel - 1) * l.side * 32 + blocks * rows * l.side * 32 +
                                  groups * blocks * l.kernel * l.kernel * 256;
      if (bytes >= least) continue;
      least = bytes;
      best = {r, o, i};
    }
  }
  return best;
}

class Maker {
 public:
  Maker(unsigned tiles) : g_(tiles), tiles_(tiles) {}

  Graph run(unsigned layers) {
    static const Layer kKinds[] = {{56, 64, 64, 3},   {56, 64, 256, 1},   {28, 128, 128, 3}, {28, 128, 512, 1},
                                   {14, 256, 256, 3}, {14, 1024, 256, 1}, {14, 256, 256, 3}, {14, 256, 1024, 1},
                                   {7, 512, 512, 3},  {7, 512, 2048, 1}};
    Tensor x = home(56 * 56, 64, "input");
    g_.expose("input", x);
    std::vector<Program> steps;
    for (unsigned n = 0; n < layers; ++n) {
      // In order of a network: as many of each size, the small ones last.
      const Layer& l = kKinds[(n * 5 / layers) * 2 + n % 2];
      if (x.dim(1) != l.side * l.side || x.dim(0) * kBlock != l.inputs) x = resized(x, l, n, steps);
      x = layer(x, l, "layer " + std::to_string(n), steps);
    }
    g_.expose("output", x);
    g_.add_entry("main", Program::sequence(std::move(steps)));
    return std::move(g_);
  }

 private:
  Tensor home(std::uint64_t positions, std::uint64_t channels, const std::string& name) {
    const Tensor t = g_.add_variable(Type::f16, {channels / kBlock, positions, kBlock}, name);
    g_.map_linear(t, kBlock);
    return t;
  }

  /// Some activations of the size that a layer takes.
  Tensor resized(const Tensor& x, const Layer& l, unsigned n, std::vector<Program>& steps) {
    const Tensor y = home(l.side * l.side, l.inputs, "resized " + std::to_string(n));
    const std::uint64_t count = std::min(x.elements(), y.elements());
    steps.push_back(Program::write_undef(y));
    steps.push_back(Program::copy(x.flatten().slice(0, count), y.flatten().slice(0, count)));
    return y;
  }

  Tensor layer(const Tensor& x, const Layer& l, const std::string& name, std::vector<Program>& steps) {
    const Split s = split_of(l, tiles_);
    const std::uint64_t used = s.rows * s.outputs * s.inputs;
    const std::uint64_t groups = (l.inputs / kBlock + s.inputs - 1) / s.inputs;
    const std::uint64_t blocks = (l.outputs / kOutputs + s.outputs - 1) / s.outputs;
    const std::uint64_t rows = (l.side + s.rows - 1) / s.rows;
    const std::uint64_t halo = l.kernel / 2;
    const std::uint64_t taps = l.kernel * l.kernel;
    const std::uint64_t sets = groups * blocks * taps;
    const Tensor patches =
        g_.add_variable(Type::f16, {used, groups, rows + 2 * halo, l.side, kBlock}, name + " patches");
    const Tensor partials = g_.add_variable(Type::f32, {used, blocks, rows * l.side, kOutputs}, name + " partials");
    const auto cs = g_.add_compute_set(name);
    std::vector<Tensor> from;
    std::vector<Tensor> to;
    std::vector<std::uint32_t> offsets(sets);
    for (std::uint64_t k = 0; k < sets; ++k) offsets[k] = static_cast<std::uint32_t>(32 * (k % taps));
    std::vector<std::uint8_t> table(4 * sets);
    std::memcpy(table.data(), offsets.data(), table.size());
    const Tensor words = g_.add_repeated_constant(Type::u32, {sets}, table, used, name + " offsets");
    std::vector<Tensor> weights;
    for (std::uint64_t k = 0; k < s.outputs * s.inputs; ++k) {
      std::vector<std::uint8_t> data(256 * sets);
      for (std::size_t b = 0; b < data.size(); b += 2) data[b] = static_cast<std::uint8_t>(k + b + sets);
      weights.push_back(g_.add_repeated_constant(Type::f16, {128 * sets}, std::move(data), s.rows, name + " weights"));
    }
    const Tensor image = x.reshape({l.inputs / kBlock, l.side, l.side, kBlock});
    for (std::uint64_t t = 0; t < used; ++t) {
      const auto tile = static_cast<unsigned>(t * tiles_ / used);
      const std::uint64_t r = t / (s.outputs * s.inputs);
      const std::uint64_t i = t % s.inputs;
      const std::uint64_t first = r * rows < halo ? 0 : r * rows - halo;
      const std::uint64_t last = std::min(l.side, r * rows + rows + halo);
      const std::uint64_t g0 = i * groups;
      const std::uint64_t g1 = std::min(l.inputs / kBlock, g0 + groups);
      g_.map(patches[t], tile);
      g_.map(partials[t], tile);
      g_.map(words[t], tile);
      const Tensor w = weights[t % (s.outputs * s.inputs)][r];
      g_.map(w, tile);
      if (first < last && g0 < g1) {
        from.push_back(image.slice({g0, first, 0, 0}, {g1, last, l.side, kBlock}).flatten());
        to.push_back(patches[t].slice({0, 0, 0, 0}, {g1 - g0, last - first, l.side, kBlock}).flatten());
      }
      const auto v = g_.add_vertex(cs, "TestAmpRows", tile, name);
      g_.connect(v, "weights", w);
      g_.connect(v, "offsets", words[t]);
      g_.connect(v, "x", patches[t].flatten());
      g_.connect(v, "c", partials[t].flatten());
      g_.set_value(v, "n", static_cast<std::uint32_t>(rows * l.side));
      g_.set_cycles(v, sets * (60 + 4 * rows * l.side));
    }
    steps.push_back(Program::write_undef(patches));  // of what no copy writes nothing depends
    steps.push_back(Program::write_undef(partials));
    steps.push_back(Program::copy(Tensor::concat(from), Tensor::concat(to), name + " patches"));
    steps.push_back(Program::execute(cs));
    return finish(partials, l, s, name, steps);
  }

  /// Partial sums to where the results stand, and a vertex a tile.
  Tensor finish(const Tensor& partials, const Layer& l, const Split& s, const std::string& name,
                std::vector<Program>& steps) {
    const std::uint64_t positions = l.side * l.side;
    const Tensor y = home(positions, l.outputs, name + " result");
    const std::uint64_t rows = partials.dim(2);
    // [inputs][outputs / 8][positions][8], parts of the tiles'.
    std::vector<Tensor> all;
    for (std::uint64_t i = 0; i < s.inputs; ++i) {
      std::vector<Tensor> bands;
      for (std::uint64_t r = 0; r < s.rows && r * rows < positions; ++r) {
        std::vector<Tensor> columns;
        for (std::uint64_t o = 0; o < s.outputs; ++o) columns.push_back(partials[(r * s.outputs + o) * s.inputs + i]);
        bands.push_back(Tensor::concat(columns, 0).slice(0, l.outputs / kOutputs, 0));
      }
      all.push_back(Tensor::concat(bands, 1).slice(0, positions, 1));
    }
    const auto cs = g_.add_compute_set(name + " finish");
    std::vector<Tensor> from;
    std::vector<Tensor> to;
    const std::vector<graph::TileInterval> where = g_.mapping(y);
    const std::uint64_t share = where.front().end - where.front().begin;
    const Tensor sums = g_.add_variable(Type::f32, {where.size(), s.inputs, share}, name + " sums");
    // Elements of the result in partial-sum order: [C / 16][positions][16] of [C / 8][positions][8].
    std::vector<Tensor> ordered;
    for (const Tensor& part : all) {
      ordered.push_back(part.reshape({l.outputs / kBlock, 2, positions, kOutputs}).permute({0, 2, 1, 3}));
    }
    for (std::size_t k = 0; k < where.size(); ++k) {
      const graph::TileInterval& w = where[k];
      g_.map(sums[k], w.tile);
      const std::uint64_t block = positions * kBlock;
      for (std::uint64_t i = 0; i < s.inputs; ++i) {
        for (std::uint64_t b = w.begin; b < w.end;) {
          const std::uint64_t end = std::min(w.end, (b / block + 1) * block);
          const std::uint64_t p = b % block / kBlock;
          const Tensor piece = ordered[i][b / block].slice(p, p + (end - b) / kBlock);
          from.push_back(piece.flatten());
          to.push_back(sums[k][i].slice(b - w.begin, end - w.begin));
          b = end;
        }
      }
      const auto v = g_.add_vertex(cs, "MapCast_f32_f16", w.tile, name + " finish");
      g_.connect(v, "x", sums[k][0].slice(0, w.end - w.begin));
      g_.connect(v, "y", y.flatten().slice(w.begin, w.end));
    }
    steps.push_back(Program::write_undef(sums));
    steps.push_back(Program::copy(Tensor::concat(from), Tensor::concat(to), name + " sums"));
    steps.push_back(Program::execute(cs));
    return y;
  }

  Graph g_;
  unsigned tiles_;
};

}  // namespace

Graph layers_graph(unsigned tiles, unsigned layers) { return Maker(tiles).run(layers); }

}  // namespace tessera::testing
