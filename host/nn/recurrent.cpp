// LSTM, GRU and RNN. The input product of all steps is one matrix product before the loop. The loop runs on the device:
// each tile owns some hidden units with all their gates, their rows of the recurrence matrix and their states; a step
// gathers the hidden state on every tile, multiplies (RecurrentProduct, or AmpProduct with several rows) and updates
// the cells, which find their step by a counter on their tile. Directions run side by side on tiles of their own.
// Codelets: firmware/codelets/recurrent.c.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "host/nn/amp_matmul.h"
#include "host/nn/extent.h"
#include "host/nn/lowering.h"
#include "hw/error.h"

namespace tessera::nn {

using graph::Program;
using graph::Tensor;
using model::Node;
using model::Op;

namespace {

using Index = std::uint64_t;
using Attributes = model::RecurrentAttributes;

constexpr Index kLoad = 16;  // channels of a set of weights

constexpr std::array<std::string_view, 11> kActivations = {
    "Relu",       "Tanh",        "Sigmoid", "Affine",   "LeakyRelu", "ThresholdedRelu",
    "ScaledTanh", "HardSigmoid", "Elu",     "Softsign", "Softplus"};

std::optional<std::uint32_t> activation_number(const std::string& name) {
  const auto same = [](char a, char b) { return std::tolower(a) == std::tolower(b); };
  for (std::uint32_t i = 0; i < kActivations.size(); ++i)
    if (std::equal(name.begin(), name.end(), kActivations[i].begin(), kActivations[i].end(), same)) return i;
  return std::nullopt;
}

/// Which gates (of ONNX's order) a product's rows hold, side by side for each unit.
struct Stage {
  std::vector<Index> gates;
  std::string cell;  ///< codelet without type
  bool first = true;
};

/// Everything of one direction on its tiles.
struct Direction {
  unsigned first_tile = 0;
  Tensor x;  ///< [steps * batch, inputs]
  Tensor z, h, c, c_out, y, update, peepholes, inner, parameters, counter, lengths;
  std::vector<Tensor> weights, gathered, partials;  ///< by stage
  std::vector<Tensor> offsets;                      ///< of sets of weights, if the matrix unit multiplies
};

class Recurrence {
 public:
  Recurrence(Lowering& lowering, const Node& node)
      : lowering_(lowering), builder_(lowering.builder()), node_(node), a_(std::get<Attributes>(node.attributes)) {
    const auto& x = lowering.in(node, 0).shape;
    steps_ = static_cast<Index>(x[a_.batch_first ? 1 : 0]);
    batch_ = static_cast<Index>(x[a_.batch_first ? 0 : 1]);
    inputs_ = static_cast<Index>(x[2]);
    hidden_ = static_cast<Index>(a_.hidden);
    directions_ = a_.direction == Attributes::Direction::bidirectional ? 2 : 1;
    type_ = type_of(lowering.in(node, 0).type);
    gates_ = node.op == Op::LSTM ? 4 : node.op == Op::GRU ? 3 : 1;
    const Index tiles = std::max<Index>(1, builder_.tiles() / directions_);
    pitch_ = ceil_div(ceil_div(hidden_, tiles), 2) * 2;  // whole words of f16 are exchanged
    used_ = ceil_div(hidden_, pitch_);
    lanes_ = 8 / graph::size_of(type_);
    vectors_ = ceil_div(used_ * pitch_, 2 * lanes_) * 2;
    share_ = ceil_div(vectors_ / 2, kWorkers) * 2;
    if (node.op == Op::LSTM)
      stages_ = {{{0, 1, 2, 3}, "LstmCell"}};
    else if (node.op == Op::RNN)
      stages_ = {{{0}, "RnnCell"}};
    else if (a_.linear_before_reset)
      stages_ = {{{0, 1, 2}, "GruCell"}};
    else
      stages_ = {{{0, 1}, "GruGates"}, {{2}, "GruUpdate", false}};
    positions_ = std::max<Index>(3, ceil_div(batch_, kWorkers));
    blocks_ = ceil_div(used_ * pitch_, kLoad);
    unit_ = type_ == graph::Type::f16 && lowering.operand(node.inputs[2]).is_constant() && unit_is_faster();
  }

  void run() {
    for (Index d = 0; d < directions_; ++d) {
      parts_.emplace_back();
      parts_.back().first_tile =
          builder_.tiles() >= directions_ ? static_cast<unsigned>(d * (builder_.tiles() / directions_)) : 0;
      place(d);
    }
    clear();
    for (Index d = 0; d < directions_; ++d) initial_states(d);
    builder_.steps().push_back(Program::repeat(static_cast<std::uint32_t>(steps_), step(), node_.name + " steps"));
    results();
    lowering_.notes().push_back({node_.name, fmt::format("{} steps of {} hidden units, {} on each of {} tiles, {} rows",
                                                         steps_, hidden_, pitch_, used_ * directions_, batch_)});
  }

 private:
  /// [used, extents...], entry k on tile first + k.
  Tensor per_tile(const Direction& part, graph::Type type, const graph::Shape& extents, const std::string& what) {
    graph::Shape shape = extents;
    shape.insert(shape.begin(), used_);
    const Tensor tensor = builder_.graph().add_variable(type, shape, node_.name + " " + what);
    for (Index k = 0; k < used_; ++k) builder_.graph().map(tensor[k], part.first_tile + static_cast<unsigned>(k));
    return tensor;
  }
  Tensor constant_per_tile(const Direction& part, graph::Type type, const graph::Shape& extents,
                           std::vector<std::uint8_t> data, const std::string& what) {
    graph::Shape shape = extents;
    shape.insert(shape.begin(), used_);
    const Tensor tensor = builder_.graph().add_constant(type, shape, std::move(data), node_.name + " " + what);
    for (Index k = 0; k < used_; ++k) builder_.graph().map(tensor[k], part.first_tile + static_cast<unsigned>(k));
    return tensor;
  }
  /// The same contents on every tile.
  template <typename T>
  Tensor repeated(const Direction& part, graph::Type type, const std::vector<T>& values, const std::string& what) {
    std::vector<std::uint8_t> data(used_ * values.size() * sizeof(T));
    for (Index k = 0; k < used_; ++k)
      std::memcpy(data.data() + k * values.size() * sizeof(T), values.data(), values.size() * sizeof(T));
    return constant_per_tile(part, type, {values.size()}, std::move(data), what);
  }

  // Products by the matrix unit: rows of the batch are positions, a unit's gates stand side by side in sets of eight.

  [[nodiscard]] Index sums_of_unit(const Stage& stage) const {
    return stage.gates.size() == 3 ? 4 : stage.gates.size();
  }
  [[nodiscard]] Index out_sets(const Stage& stage) const { return ceil_div(pitch_ * sums_of_unit(stage), 8); }
  /// Cycles of a step's products, estimated as measured (host/codelets/costs.inc, docs/matrix.md).
  [[nodiscard]] bool unit_is_faster() const {
    Index vectors = 0, unit = 0;
    for (const Stage& stage : stages_) {
      vectors += kWorkers * batch_ * (rows_of(stage) / 4) * (25 + 47 * share_ / 10);
      unit += 300 + out_sets(stage) * blocks_ * (46 + kWorkers * (13 + 4 * positions_));
    }
    return unit < vectors;
  }
  [[nodiscard]] Index sum_positions() const { return kWorkers * positions_; }
  /// The sets of a stage on each tile: [out set][block of the hidden state][8 gates of units][channels].
  Tensor unit_weights(Index d, const Stage& stage) {
    const Index each = out_sets(stage) * blocks_ * 8 * kLoad, size = 2;
    const model::Tensor& r = *lowering_.operand(node_.inputs[2]).constant;
    std::vector<std::uint8_t> data(used_ * each * size);
    for (Index tile = 0; tile < used_; ++tile)
      for (Index j = 0; j < units_of(tile); ++j)
        for (Index g = 0; g < stage.gates.size(); ++g)
          for (Index k = 0; k < hidden_; k += kLoad) {
            const Index row = j * sums_of_unit(stage) + g;
            const Index at = tile * each + ((row / 8 * blocks_ + k / kLoad) * 8 + row % 8) * kLoad;
            const Index from = ((d * gates_ + stage.gates[g]) * hidden_ + tile * pitch_ + j) * hidden_ + k;
            std::memcpy(data.data() + at * size, r.data.data() + from * size, std::min(kLoad, hidden_ - k) * size);
          }
    return constant_per_tile(parts_[d], type_, {each}, std::move(data), "weights");
  }
  Tensor unit_offsets(const Direction& part, const Stage& stage) {
    std::vector<std::uint32_t> words;
    for (Index o = 0; o < out_sets(stage); ++o)
      for (Index b = 0; b < blocks_; ++b) {
        const Index first = 0x80000000U | (o == 0 ? 0x8000U : 0U) | o * sum_positions();
        words.push_back(static_cast<std::uint32_t>(b == 0 ? first : b * sum_positions() * kLoad * 2));
      }
    return repeated(part, graph::Type::u32, words, "offsets");
  }
  void add_unit_product(graph::ComputeSetId set, Index d, std::size_t s, Index k) {
    const Direction& part = parts_[d];
    graph::Graph& graph = builder_.graph();
    const unsigned tile = part.first_tile + static_cast<unsigned>(k);
    const auto vertex = graph.add_vertex(set, "AmpProduct_f16", tile, node_.name);
    graph.connect(vertex, "weights", part.weights[s][k]);
    graph.connect(vertex, "offsets", part.offsets[s][k]);
    graph.connect(vertex, "x", part.gathered[s][k].flatten());
    graph.connect(vertex, "c", part.partials[s][k].flatten());
    const auto number = [&](const char* field, Index value) {
      graph.set_value(vertex, field, static_cast<std::uint32_t>(value));
    };
    number("x_share", positions_ * kLoad * 2);
    number("c_share", positions_ * 32);
    number("x_stride", 1U << 16 | 1);  // positions and their halves follow each other
    number("positions", positions_);
    graph.set_cycles(vertex, out_sets(stages_[s]) * blocks_ * (46 + kWorkers * (13 + 4 * positions_)) + 100);
    if (!stages_[s].first) return;
    graph.connect(graph.add_vertex(set, "RecurrentStep", tile, node_.name), "step", part.counter[k]);
  }

  [[nodiscard]] Index units_of(Index tile) const { return std::min(pitch_, hidden_ - tile * pitch_); }
  [[nodiscard]] Index rows_of(const Stage& stage) const { return ceil_div(pitch_ * stage.gates.size(), 4) * 4; }
  [[nodiscard]] bool reverse(Index d) const { return d == 1 || a_.direction == Attributes::Direction::reverse; }

  void place(Index d) {
    Direction& part = parts_[d];
    part.z = per_tile(part, graph::Type::f32, {steps_, batch_, pitch_, gates_}, "inputs");
    part.h = per_tile(part, type_, {batch_, pitch_}, "state");
    part.y = per_tile(part, type_, {steps_, batch_, pitch_}, "outputs");
    part.counter = per_tile(part, graph::Type::u32, {1}, "step");
    if (node_.op != Op::RNN) part.c = per_tile(part, graph::Type::f32, {batch_, pitch_}, "cell state");
    if (node_.op == Op::LSTM) part.c_out = per_tile(part, type_, {batch_, pitch_}, "cell result");
    if (stages_.size() == 2) part.update = per_tile(part, graph::Type::f32, {batch_, pitch_}, "update gate");
    for (const Stage& stage : stages_) {
      if (unit_) {
        part.gathered.push_back(per_tile(part, type_, {blocks_, sum_positions(), kLoad}, "gathered state"));
        part.partials.push_back(per_tile(part, graph::Type::f32, {out_sets(stage), sum_positions(), 8}, "sums"));
        part.weights.push_back(unit_weights(d, stage));
        part.offsets.push_back(unit_offsets(part, stage));
        continue;
      }
      part.gathered.push_back(per_tile(part, type_, {batch_, vectors_ * lanes_}, "gathered state"));
      part.partials.push_back(per_tile(part, graph::Type::f32, {batch_, rows_of(stage), kWorkers}, "partial sums"));
      part.weights.push_back(weights(d, stage));
    }
    part.parameters = parameters(d);
    part.lengths = lengths(part);
    if (node_.op == Op::LSTM && Lowering::has(node_, 7)) part.peepholes = peepholes(d);
    input_product(d);
    if (node_.op == Op::GRU && a_.linear_before_reset) part.inner = inner_bias(d);
  }

  /// Visits every weight of a stage: its place in the weights of a tile, and gate, unit, inner index.
  template <typename Visit>
  void each_weight(const Stage& stage, Index tile, Visit visit) const {
    const Index count = stage.gates.size();
    for (Index j = 0; j < units_of(tile); ++j)
      for (Index g = 0; g < count; ++g) {
        const Index row = j * count + g;
        for (Index k = 0; k < hidden_; k += lanes_) {
          const Index vector = k / lanes_, worker = vector / share_;
          const Index at = (((row / 4 * kWorkers + worker) * share_ + vector % share_) * 4 + row % 4) * lanes_;
          visit(at, stage.gates[g], tile * pitch_ + j, k, std::min(lanes_, hidden_ - k));
        }
      }
  }

  Tensor weights(Index d, const Stage& stage) {
    const Index each = rows_of(stage) * kWorkers * share_ * lanes_;
    const Operand r = lowering_.operand(node_.inputs[2]);
    if (r.is_constant()) {
      const Index size = graph::size_of(type_);
      std::vector<std::uint8_t> data(used_ * each * size);
      for (Index tile = 0; tile < used_; ++tile)
        each_weight(stage, tile, [&](Index at, Index gate, Index unit, Index k, Index n) {
          const Index from = ((d * gates_ + gate) * hidden_ + unit) * hidden_ + k;
          std::memcpy(data.data() + (tile * each + at) * size, r.constant->data.data() + from * size, n * size);
        });
      return constant_per_tile(parts_[d], type_, {each}, std::move(data), "weights");
    }
    // Weights that come at run time are brought there, row by row of vectors.
    const Tensor to = per_tile(parts_[d], type_, {each}, "weights");
    cleared_.push_back(to);
    std::vector<Tensor> src, dst, src_rest, dst_rest;
    const Tensor matrix = r.view[d].reshape({gates_, hidden_, hidden_});
    const Index count = stage.gates.size(), whole = hidden_ / lanes_;
    for (Index tile = 0; tile < used_; ++tile)
      for (Index row = 0; row < units_of(tile) * count; ++row) {
        const Tensor from = matrix[stage.gates[row % count]][tile * pitch_ + row / count];
        const Tensor group = to[tile].reshape({rows_of(stage) / 4, kWorkers * share_, 4, lanes_})[row / 4];
        const Tensor into = group.slice(row % 4, row % 4 + 1, 1).squeeze(1);  // [vectors, lanes]
        if (whole > 0) {
          src.push_back(from.slice(0, whole * lanes_).reshape({whole, lanes_}));
          dst.push_back(into.slice(0, whole));
        }
        if (whole * lanes_ < hidden_) {
          src_rest.push_back(from.slice(whole * lanes_, hidden_));
          dst_rest.push_back(into[whole].slice(0, hidden_ - whole * lanes_));
        }
      }
    if (!src.empty()) after_clear_.emplace_back(Tensor::concat(src), Tensor::concat(dst));
    if (!src_rest.empty()) after_clear_.emplace_back(Tensor::concat(src_rest), Tensor::concat(dst_rest));
    return to;
  }

  Tensor parameters(Index d) {
    const Index each = node_.op == Op::LSTM ? 3 : node_.op == Op::GRU ? 2 : 1;
    std::vector<float> values(8, 0.0F);
    for (Index k = 0; k < each; ++k) {
      const Index at = d * each + k;
      if (at < a_.alpha.size()) values[2 * k] = a_.alpha[at];
      if (at < a_.beta.size()) values[2 * k + 1] = a_.beta[at];
    }
    values[6] = a_.clip.value_or(0.0F);
    return repeated(parts_[d], graph::Type::f32, values, "parameters");
  }

  [[nodiscard]] std::uint32_t flags(Index d) const {
    const Index each = node_.op == Op::LSTM ? 3 : node_.op == Op::GRU ? 2 : 1;
    std::uint32_t flags = 0;
    for (Index k = 0; k < each; ++k) flags |= activation_number(a_.activations.at(d * each + k)).value() << (4 * k);
    if (reverse(d)) flags |= 1U << 12;
    if (a_.clip) flags |= 1U << 13;
    if (a_.input_forget) flags |= 1U << 14;
    if (parts_[d].peepholes.valid()) flags |= 1U << 15;
    return flags;
  }

  Tensor lengths(const Direction& part) {
    if (!Lowering::has(node_, 4))
      return repeated(part, graph::Type::i32, std::vector<std::int32_t>(batch_, static_cast<std::int32_t>(steps_)),
                      "lengths");
    const Tensor to = per_tile(part, graph::Type::i32, {batch_}, "lengths");
    builder_.copy(lowering_.materialised(node_.inputs[4]).reshape({1, batch_}).broadcast(used_, 0), to,
                  node_.name + " lengths");
    return to;
  }

  /// A view as f32.
  Tensor real(const Tensor& x, const std::string& what) {
    return type_ == graph::Type::f32 ? x : lower_cast(builder_, x, graph::Type::f32, node_.name + " " + what);
  }

  /// [hidden, count] in f32 to [used, pitch, count] beside the units.
  Tensor beside_units(const Direction& part, const Tensor& x, const std::string& what) {
    const Tensor to = per_tile(part, graph::Type::f32, {pitch_, x.dim(1)}, what);
    std::vector<Tensor> src, dst;
    for (Index k = 0; k < used_; ++k) {
      src.push_back(x.slice(k * pitch_, k * pitch_ + units_of(k)));
      dst.push_back(to[k].slice(0, units_of(k)));
    }
    builder_.copy(Tensor::concat(src), Tensor::concat(dst), node_.name + " " + what);
    return to;
  }

  Tensor peepholes(Index d) {
    const Tensor p = real(lowering_.materialised(node_.inputs[7])[d], "peepholes");
    return beside_units(parts_[d], p.reshape({3, hidden_}).transpose(), "peepholes");
  }

  Tensor inner_bias(Index d) {
    Direction& part = parts_[d];
    if (!Lowering::has(node_, 3))
      return repeated(part, graph::Type::f32, std::vector<float>(pitch_, 0.0F), "recurrence bias");
    const Tensor b = real(lowering_.materialised(node_.inputs[3])[d], "bias");
    return beside_units(part, b.reshape({6, hidden_})[5].reshape({hidden_, 1}), "recurrence bias");
  }

  /// What z starts from: the sum of both biases, in the order of the columns of the input product; but of GRU's h
  /// only the input's if the other is inside the reset.
  std::optional<Operand> bias(Index d, bool by_unit) {
    if (!Lowering::has(node_, 3)) return std::nullopt;
    const Index n = gates_ * hidden_;
    const bool apart = node_.op == Op::GRU && a_.linear_before_reset;
    const Operand b = lowering_.operand(node_.inputs[3]);
    if (b.is_constant()) {
      model::Tensor sum(model::Type::f32, {static_cast<std::int64_t>(n)});
      for (Index gate = 0; gate < gates_; ++gate)
        for (Index unit = 0; unit < hidden_; ++unit) {
          const Index i = gate * hidden_ + unit;
          double value = b.constant->real(static_cast<std::int64_t>(d * 2 * n + i));
          if (!apart || gate != 2) value += b.constant->real(static_cast<std::int64_t>((d * 2 + 1) * n + i));
          sum.set(static_cast<std::int64_t>(by_unit ? unit * gates_ + gate : i), static_cast<float>(value));
        }
      return Operand{{}, lowering_.keep(std::move(sum))};
    }
    const Tensor both = real(b.view[d], "bias").reshape({2, n});
    const Index summed = apart ? 2 * hidden_ : n;
    const Tensor sum =
        lower_binary(builder_, "MapAdd_f32", {both[0].slice(0, summed), nullptr}, {both[1].slice(0, summed), nullptr},
                     {summed}, graph::Type::f32, node_.name + " bias");
    const Tensor whole = apart ? Tensor::concat({sum, both[0].slice(summed, n)}) : sum;
    return Operand{by_unit ? whole.reshape({gates_, hidden_}).transpose().flatten() : whole, nullptr};
  }

  /// z = x W' + biases of all steps, to the tiles of the units.
  void input_product(Index d) {
    Direction& part = parts_[d];
    Tensor x = lowering_.materialised(node_.inputs[0]);
    if (a_.batch_first) x = x.permute({1, 0, 2});
    MatmulOperands product;
    product.a = x.reshape({steps_ * batch_, inputs_});
    product.b = lowering_.operand(node_.inputs[1]);
    const bool by_unit = product.b.is_constant();
    if (by_unit) {
      const model::Tensor& w = *product.b.constant;
      const Index size = model::size_of(w.type), columns = gates_ * hidden_;
      model::Tensor turned(w.type, {static_cast<std::int64_t>(inputs_), static_cast<std::int64_t>(columns)});
      for (Index gate = 0; gate < gates_; ++gate)
        for (Index unit = 0; unit < hidden_; ++unit)
          for (Index i = 0; i < inputs_; ++i)
            std::memcpy(turned.data.data() + (i * columns + unit * gates_ + gate) * size,
                        w.data.data() + (((d * gates_ + gate) * hidden_ + unit) * inputs_ + i) * size, size);
      product.b = {{}, lowering_.keep(std::move(turned))};
    } else {
      product.b.view = product.b.view[d].transpose();
    }
    product.bias = bias(d, by_unit);
    const Tensor z = multiply(product);
    std::vector<Tensor> src, dst;
    for (Index k = 0; k < used_; ++k) {
      const Index n = units_of(k), rows = steps_ * batch_;
      const Tensor into = part.z[k].reshape({rows, pitch_ * gates_}).slice(0, n * gates_, 1);
      if (by_unit) {
        src.push_back(z.slice(k * pitch_ * gates_, (k * pitch_ + n) * gates_, 1));
        dst.push_back(into);
        continue;
      }
      for (Index gate = 0; gate < gates_; ++gate) {
        src.push_back(z.slice(gate * hidden_ + k * pitch_, gate * hidden_ + k * pitch_ + n, 1));
        dst.push_back(into.slice(gate, n * gates_, 1).every(gates_, 1));
      }
    }
    for (std::size_t i = 0; i < src.size(); ++i) builder_.copy(src[i], dst[i], node_.name + " inputs");
  }

  /// f16 goes through the AMP unit, whose sums stay f32.
  Tensor multiply(const MatmulOperands& product) {
    if (type_ == graph::Type::f32) {
      std::string note;
      const auto sram = lowering_.options().sram_bytes;
      return lower_matmuls(builder_, {product}, {sram / 2, sram / 4, lowering_.refused_bytes()},
                           node_.name + " input product", note)[0];
    }
    AmpMatmul given;
    given.a = product.a;
    given.b = product.b;
    given.shape = {steps_ * batch_, gates_ * hidden_};
    given.result = graph::Type::f32;
    const bool added = product.bias && !product.bias->is_constant();
    if (product.bias && !added)
      for (std::int64_t i = 0; i < product.bias->constant->elements(); ++i)
        given.bias.push_back(static_cast<float>(product.bias->constant->real(i)));
    const Tensor z = lower_amp_matmul(lowering_, node_, given);
    if (!added) return z;
    return lower_binary(builder_, "MapAdd_f32", {z, nullptr}, *product.bias, z.shape(), graph::Type::f32,
                        node_.name + " bias");
  }

  /// Everything that must start from zero.
  void clear() {
    for (Direction& part : parts_) {
      for (const Tensor* t : {&part.h, &part.c, &part.c_out, &part.counter})
        if (t->valid()) cleared_.push_back(*t);
      // Of a gathered state only elements behind the last unit are never written; they meet weights of zero.
      const bool filled = used_ * pitch_ == (unit_ ? blocks_ * kLoad : vectors_ * lanes_);
      for (const Tensor& t : part.gathered)
        if (filled)
          builder_.steps().push_back(Program::write_undef(t));
        else
          cleared_.push_back(t);
    }
    const auto set = builder_.graph().add_compute_set(node_.name + " clear");
    for (const Tensor& t : cleared_) {
      const bool wide = graph::size_of(t.type()) == 4;
      const Tensor bits = t.reinterpret(wide ? graph::Type::u32 : graph::Type::u16);
      for (const graph::TileInterval& i : builder_.graph().mapping(bits)) {
        const Index share = ceil_div(ceil_div(i.end - i.begin, kWorkers), 2) * 2;  // of a worker
        for (Index begin = i.begin; begin < i.end; begin += share) {
          const auto vertex = builder_.graph().add_vertex(set, wide ? "Fill_u32" : "Fill_u16", i.tile, node_.name);
          builder_.graph().connect(vertex, "y", bits.flatten().slice(begin, std::min(i.end, begin + share)));
          builder_.graph().set_value(vertex, "value", std::uint32_t{0});
        }
      }
    }
    builder_.execute(set);
    for (const auto& [src, dst] : after_clear_) builder_.copy(src, dst, node_.name + " weights");
  }

  /// state [used, batch, pitch] gets [batch, hidden] of a direction.
  void set_state(const Tensor& state, const Tensor& values) {
    for (Index k = 0; k < used_; ++k)
      builder_.copy(values.slice(k * pitch_, k * pitch_ + units_of(k), 1), state[k].slice(0, units_of(k), 1),
                    node_.name + " initial state");
  }

  void initial_states(Index d) {
    const auto state = [&](std::size_t input) {
      Tensor view = lowering_.materialised(node_.inputs[input]);
      if (a_.batch_first) view = view.permute({1, 0, 2});
      return view[d];
    };
    if (Lowering::has(node_, 5)) {
      set_state(parts_[d].h, state(5));
      if (node_.op == Op::GRU) set_state(parts_[d].c, real(state(5), "initial state"));
    }
    if (node_.op == Op::LSTM && Lowering::has(node_, 6)) {
      set_state(parts_[d].c, real(state(6), "initial cell state"));
      set_state(parts_[d].c_out, state(6));
    }
  }

  /// One step of all directions.
  Program step() {
    std::vector<Program> body;
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      for (const Direction& part : parts_) {
        const Tensor state = part.h.permute({1, 0, 2}).expand(0).broadcast(used_, 0);
        const Tensor rows =
            unit_ ? part.gathered[s].slice(0, batch_, 2).permute({0, 2, 1, 3}).reshape({used_, batch_, blocks_ * kLoad})
                  : part.gathered[s];
        const Tensor to = rows.slice(0, used_ * pitch_, 2).reshape({used_, batch_, used_, pitch_});
        body.push_back(Program::copy(state, to, node_.name + " gather"));
      }
      const auto product = builder_.graph().add_compute_set(node_.name + " product");
      const auto cell = builder_.graph().add_compute_set(node_.name + " cell");
      for (Index d = 0; d < directions_; ++d)
        for (Index k = 0; k < used_; ++k) {
          if (unit_)
            add_unit_product(product, d, s, k);
          else
            add_product(product, d, s, k);
          add_cell(cell, d, s, k);
        }
      body.push_back(Program::execute(product));
      body.push_back(Program::execute(cell));
    }
    return Program::sequence(std::move(body));
  }

  void add_product(graph::ComputeSetId set, Index d, std::size_t s, Index k) {
    const Direction& part = parts_[d];
    graph::Graph& graph = builder_.graph();
    const auto vertex = graph.add_vertex(set, "RecurrentProduct_" + std::string(graph::name_of(type_)),
                                         part.first_tile + static_cast<unsigned>(k), node_.name);
    graph.connect(vertex, "weights", part.weights[s][k]);
    graph.connect(vertex, "h", part.gathered[s][k].flatten());
    graph.connect(vertex, "partials", part.partials[s][k].flatten());
    graph.connect(vertex, "step", part.counter[k]);
    const auto number = [&](const char* field, Index value) {
      graph.set_value(vertex, field, static_cast<std::uint32_t>(value));
    };
    number("groups", rows_of(stages_[s]) / 4);
    number("vectors", vectors_);
    number("share", share_);
    number("batch", batch_);
    number("stride", vectors_ * lanes_);
    number("advance", stages_[s].first ? 1 : 0);
  }

  void add_cell(graph::ComputeSetId set, Index d, std::size_t s, Index k) {
    const Direction& part = parts_[d];
    graph::Graph& graph = builder_.graph();
    const Stage& stage = stages_[s];
    const auto vertex = graph.add_vertex(set, stage.cell + (unit_ ? "Sums_" : "_") + std::string(graph::name_of(type_)),
                                         part.first_tile + static_cast<unsigned>(k), node_.name);
    graph.connect(vertex, "partials", part.partials[s][k].flatten());
    graph.connect(vertex, "z", part.z[k].flatten());
    graph.connect(vertex, "h", part.h[k].flatten());
    if (stage.cell != "GruGates") graph.connect(vertex, "y", part.y[k].flatten());
    if (node_.op == Op::LSTM) {
      graph.connect(vertex, "c", part.c[k].flatten());
      graph.connect(vertex, "c_out", part.c_out[k].flatten());
      graph.connect(vertex, "peepholes", part.peepholes.valid() ? part.peepholes[k].flatten() : part.parameters[k]);
    } else if (node_.op == Op::GRU) {
      graph.connect(vertex, "full", part.c[k].flatten());
    }
    if (stage.cell == "GruCell") graph.connect(vertex, "inner", part.inner[k].flatten());
    if (part.update.valid()) graph.connect(vertex, "update", part.update[k].flatten());
    graph.connect(vertex, "parameters", part.parameters[k]);
    graph.connect(vertex, "step", part.counter[k]);
    graph.connect(vertex, "lengths", part.lengths[k]);
    const auto number = [&](const char* field, Index value) {
      graph.set_value(vertex, field, static_cast<std::uint32_t>(value));
    };
    number("units", units_of(k));
    number("batch", batch_);
    number("rows", unit_ ? sum_positions() * 8 : rows_of(stage));
    number("flags", flags(d));
    number("pitch", pitch_);
  }

  /// [used, ..., pitch] as [..., hidden].
  Tensor joined(const Tensor& parts) const {
    std::vector<Tensor> list;
    for (Index k = 0; k < used_; ++k) list.push_back(parts[k].slice(0, units_of(k), parts.rank() - 2));
    return Tensor::concat(list, parts.rank() - 2);
  }

  void results() {
    std::vector<Tensor> y, h, c;
    for (const Direction& part : parts_) {
      y.push_back(joined(part.y).expand(1));  // [steps, 1, batch, hidden]
      // GRU's h holds reset x state between the products of a step, and the state behind it.
      h.push_back(joined(part.h).expand(0));
      if (part.c_out.valid()) c.push_back(joined(part.c_out).expand(0));
    }
    const auto set = [&](std::size_t i, const std::vector<Tensor>& list, std::size_t axis) {
      if (!Lowering::wants(node_, i)) return;
      Tensor view = Tensor::concat(list, axis);
      if (a_.batch_first) view = axis == 1 ? view.permute({2, 0, 1, 3}) : view.permute({1, 0, 2});
      lowering_.view(node_.outputs[i]) = view;
    };
    set(0, y, 1);
    set(1, h, 0);
    if (node_.op == Op::LSTM) set(2, c, 0);
  }

  Lowering& lowering_;
  Builder& builder_;
  const Node& node_;
  const Attributes& a_;
  Index steps_ = 0, batch_ = 0, inputs_ = 0, hidden_ = 0, directions_ = 1, gates_ = 1;
  Index pitch_ = 0;                   ///< units on a tile, the last may have fewer
  Index used_ = 0;                    ///< tiles of a direction
  Index lanes_ = 0;                   ///< elements of a vector
  Index vectors_ = 0;                 ///< of the hidden state, padded
  Index share_ = 0;                   ///< of them for a worker
  bool unit_ = false;                 ///< the matrix unit multiplies
  Index positions_ = 0, blocks_ = 0;  ///< then: of a worker; loads of the hidden state
  graph::Type type_ = graph::Type::f32;
  std::vector<Stage> stages_;
  std::vector<Direction> parts_;
  std::vector<Tensor> cleared_;
  std::vector<std::pair<Tensor, Tensor>> after_clear_;
};

void lower_recurrent(Lowering& lowering, const Node& node) { Recurrence(lowering, node).run(); }

std::string refuse_recurrent(const model::Model& model, const Node& node) {
  const model::Type type = model.value(node.inputs.at(0)).type;
  if (type != model::Type::f32 && type != model::Type::f16) return "no codelet for this type, use f32 or f16";
  const auto& attributes = std::get<Attributes>(node.attributes);
  for (const std::string& name : attributes.activations)
    if (!activation_number(name)) return "no activation " + name;
  if (model.value(node.inputs[0]).shape.at(attributes.batch_first ? 1 : 0) == 0) return "a sequence without steps";
  return {};
}

}  // namespace

std::vector<Rule> recurrent_rules() {
  return {{Op::LSTM, lower_recurrent, refuse_recurrent},
          {Op::GRU, lower_recurrent, refuse_recurrent},
          {Op::RNN, lower_recurrent, refuse_recurrent}};
}

}  // namespace tessera::nn
