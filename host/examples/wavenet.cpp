// The program of WaveNet. Codelets: firmware/codelets/wavenet.c, and the product of recurrent.c.
//
// Per sample: the embedding of the sample before; for each layer a gather of its two taps on the channel's tiles, the
// product of the gates, the gated unit, a gather, the product of both ways; the two 1x1 layers likewise; softmax by the
// tiles' largest logits and sums; the draw on the channel's first tile.

#include "host/examples/wavenet.h"

#include <fmt/format.h>

#include <cmath>

#include "host/examples/networks.h"
#include "host/examples/random.h"

namespace tessera::examples {

using graph::Program;
using graph::Tensor;
using graph::Type;

std::uint64_t WaveNetShape::work() const {
  return all_layers() * (4 * residual * residual + residual * (residual + skip)) + skip * (skip + classes);
}

std::uint32_t wavenet_channel_seed(const WaveNetShape& shape, std::uint64_t channel) {
  return static_cast<std::uint32_t>(Random(shape.seed, fmt::format("wavenet/channel/{}", channel)).next());
}

WaveNetShape wavenet_shape(const Settings& settings, std::uint64_t machine_tiles) {
  const auto number = [&](const char* name) { return static_cast<std::uint64_t>(settings.number(name)); };
  WaveNetShape shape;
  shape.channels = number("channels"), shape.tiles = number("tiles");
  shape.residual = number("residual"), shape.skip = number("skip"), shape.classes = number("classes");
  shape.stacks = number("stacks"), shape.layers = number("layers");
  shape.samples = number("samples"), shape.block = number("block");
  shape.greedy = settings.text("draw") == "greedy";
  shape.seed = settings.seed();
  for (const auto& [name, value] :
       {std::pair{"residual", shape.residual}, std::pair{"skip", shape.skip}, std::pair{"classes", shape.classes}})
    if (value % (2 * shape.tiles) != 0 || value % 8 != 0)
      settings.refuse(
          fmt::format("{}={} is no multiple of 8 and of twice the {} tiles of a channel", name, value, shape.tiles),
          "tiles=16 with residual=64,skip=128,classes=256 fit");
  if (shape.samples % shape.block != 0)
    settings.refuse("samples is no multiple of block", "samples go to the host block by block");
  if (shape.channels * shape.tiles > machine_tiles)
    settings.refuse(
        fmt::format("{} channels of {} tiles, but the platform has {}", shape.channels, shape.tiles, machine_tiles),
        "choose fewer channels, fewer tiles a channel, or --platform c2");
  return shape;
}

WaveNetWeights wavenet_weights(const WaveNetShape& shape) {
  const auto drawn = [&](const std::string& name, std::uint64_t count, double limit, bool half) {
    Random random(shape.seed, "wavenet/" + name);
    std::vector<float> values(count);
    for (float& value : values) {
      value = random.signed_unit() * static_cast<float>(limit);
      if (half) value = model::from_half(model::to_half(value));
    }
    return values;
  };
  const auto matrix = [&](const std::string& name, std::uint64_t rows, std::uint64_t columns, double gain) {
    return drawn(name, rows * columns, std::sqrt(3 * gain / static_cast<double>(columns)), true);
  };
  const std::uint64_t units = shape.residual;
  WaveNetWeights weights;
  weights.embedding = drawn("embedding", shape.classes * units, 1.0, true);
  for (std::uint64_t l = 0; l < shape.all_layers(); ++l) {
    const std::string name = fmt::format("layer{}.", l);
    weights.layers.push_back({matrix(name + "gate", 2 * units, 2 * units, 1.5),
                              drawn(name + "gate.bias", 2 * units, 0.1, false),
                              matrix(name + "out", units + shape.skip, units, 1.0),
                              drawn(name + "out.bias", units + shape.skip, 0.05, false)});
  }
  weights.hidden = matrix("hidden", shape.skip, shape.skip, 2.0);
  weights.hidden_bias = drawn("hidden.bias", shape.skip, 0.1, false);
  weights.logits = matrix("logits", shape.classes, shape.skip, 1.0);
  weights.logits_bias = drawn("logits.bias", shape.classes, 0.1, false);
  return weights;
}

namespace {

/// Places of a product's weights (RecurrentProduct_f16): groups of four rows, workers, vectors of four f16.
struct ProductShape {
  std::uint64_t rows = 0, inputs = 0;
  [[nodiscard]] std::uint64_t groups() const { return (rows + 3) / 4; }
  [[nodiscard]] std::uint64_t vectors() const { return inputs / 4; }
  [[nodiscard]] std::uint64_t share() const { return (vectors() / 2 + 5) / 6 * 2; }
  [[nodiscard]] std::uint64_t elements() const { return groups() * 6 * share() * 16; }
  [[nodiscard]] std::uint64_t place(std::uint64_t row, std::uint64_t k) const {
    const std::uint64_t vector = k / 4, worker = vector / share();
    return (((row / 4 * 6 + worker) * share() + vector % share()) * 4 + row % 4) * 4 + k % 4;
  }
};

class WaveNetProgram {
 public:
  WaveNetProgram(const WaveNetShape& shape, const WaveNetWeights& weights, unsigned machine_tiles)
      : s_(shape),
        w_(weights),
        graph_(machine_tiles),
        all_(shape.channels * shape.tiles),
        units_(shape.residual / shape.tiles),
        skips_(shape.skip / shape.tiles),
        classes_(shape.classes / shape.tiles) {}

  graph::Graph build() {
    make_states();
    std::vector<Program> begin = start();
    begin.push_back(Program::repeat(static_cast<std::uint32_t>(s_.samples / s_.block), block(), "blocks"));
    graph_.add_entry("main", Program::sequence(std::move(begin)));
    return std::move(graph_);
  }

 private:
  using Steps = std::vector<Program>;

  /// [all tiles][count], row i on tile i.
  Tensor on_tiles(Type type, std::uint64_t count, const std::string& name) {
    const Tensor tensor = graph_.add_variable(type, {all_, count}, name);
    (void)graph_.map_linear(tensor, count, count, 0, static_cast<unsigned>(all_));
    return tensor;
  }
  /// [channels][count], a row on the first tile of each channel.
  Tensor on_first(Type type, std::uint64_t count, const std::string& name) {
    const Tensor tensor = graph_.add_variable(type, {s_.channels, count}, name);
    for (std::uint64_t c = 0; c < s_.channels; ++c) graph_.map(tensor[c], static_cast<unsigned>(c * s_.tiles));
    return tensor;
  }
  /// A constant for each tile of a channel, the same for all channels: values(tile) gives `count` elements.
  template <typename T, typename F>
  Tensor constants(Type type, std::uint64_t count, const std::string& name, const F& values) {
    std::vector<T> all;
    all.reserve(all_ * count);
    for (std::uint64_t g = 0; g < s_.tiles; ++g) {
      const std::vector<T> part = values(g);
      all.insert(all.end(), part.begin(), part.end());
    }
    const std::size_t one = all.size();
    for (std::uint64_t c = 1; c < s_.channels; ++c)
      all.insert(all.end(), all.begin(), all.begin() + static_cast<std::ptrdiff_t>(one));
    const Tensor tensor = graph_.add_constant(type, {all_, count}, all, name);
    (void)graph_.map_linear(tensor, count, count, 0, static_cast<unsigned>(all_));
    return tensor;
  }
  /// A family with a vertex on each tile of all channels, or on the first of each.
  graph::VertexId family(graph::ComputeSetId set, const std::string& codelet, bool first_only = false) {
    std::vector<graph::TileMembers> tiles;
    for (std::uint64_t i = 0; i < all_; i += first_only ? s_.tiles : 1)
      tiles.push_back({static_cast<std::uint32_t>(i), 1});
    return graph_.add_family(set, codelet, std::move(tiles), codelet);
  }
  void number(graph::VertexId vertex, const std::string& field, std::uint64_t value) {
    graph_.set_value(vertex, field, static_cast<std::uint32_t>(value));
  }

  void make_states() {
    h_ = on_tiles(Type::f16, units_, "h"), tap_ = on_tiles(Type::f16, units_, "tap");
    z_ = on_tiles(Type::f16, units_, "z");
    taps_ = on_tiles(Type::f16, 2 * s_.residual, "taps"), gated_ = on_tiles(Type::f16, s_.residual, "gated");
    skip_ = on_tiles(Type::f32, skips_, "skip");
    slice_ = on_tiles(Type::f16, skips_, "slice"), wide_ = on_tiles(Type::f16, s_.skip, "wide");
    logits_ = on_tiles(Type::f32, classes_, "logits"), e_ = on_tiles(Type::f32, classes_, "e");
    largest_ = on_tiles(Type::f32, 1, "largest"), maxima_ = on_tiles(Type::f32, s_.tiles, "maxima");
    sum_ = on_tiles(Type::f32, 1, "sum");
    all_e_ = on_first(Type::f32, s_.classes, "all e"), sums_ = on_first(Type::f32, s_.tiles, "sums");
    time_ = on_tiles(Type::u32, 1, "time"), sample_in_ = on_tiles(Type::u32, 1, "sample before");
    sample_ = on_first(Type::u32, 1, "sample"), seed_ = on_first(Type::u32, 1, "seed");
    place_ = on_first(Type::u32, 1, "place");
    samples_ = on_first(Type::u32, s_.block, "samples"), chances_ = on_first(Type::f32, s_.block, "chances");
    const std::uint64_t rows = std::max({2 * units_, units_ + skips_, skips_, classes_});
    partials_ = on_tiles(Type::f32, (rows + 3) / 4 * 24, "partials");
    for (std::uint64_t l = 0; l < s_.all_layers(); ++l)
      rings_.push_back(on_tiles(Type::f16, s_.dilation(l) * units_, fmt::format("ring {}", l)));
  }

  /// Everything that is read before the program writes it.
  Steps start() {
    const graph::ComputeSetId set = graph_.add_compute_set("silence");
    const auto fill = [&](const std::string& codelet, const Tensor& tensor, std::uint64_t value, bool first_only) {
      const graph::VertexId vertex = family(set, codelet, first_only);
      graph_.connect(vertex, "y", tensor);
      number(vertex, "value", value);
    };
    for (const Tensor& ring : rings_) fill("Fill_u16", ring.reinterpret(Type::u16), 0, false);
    fill("Fill_u32", time_, 0, false);
    fill("Fill_u32", sample_in_, s_.classes / 2, false);
    fill("Fill_u32", place_, 0, true);
    fill("Fill_u32", samples_, 0, true);
    fill("Fill_u32", chances_.reinterpret(Type::u32), 0, true);
    std::vector<std::uint32_t> seeds;
    for (std::uint64_t c = 0; c < s_.channels; ++c) seeds.push_back(wavenet_channel_seed(s_, c));
    const Tensor constant = graph_.add_constant(Type::u32, {s_.channels, 1}, seeds, "first seed");
    graph_.map_like(constant, seed_);
    return {Program::execute(set), Program::copy(constant, seed_, "seeds")};
  }

  Program block() {
    const auto samples = graph_.add_output_stream("samples", Type::u32, samples_.elements());
    const auto chances = graph_.add_output_stream("chances", Type::f32, chances_.elements());
    return Program::sequence({Program::repeat(static_cast<std::uint32_t>(s_.block), sample(), "samples"),
                              Program::stream_out(samples_.flatten(), samples),
                              Program::stream_out(chances_.flatten(), chances)});
  }

  Program sample() {
    std::vector<Program> steps = {embed()};
    for (std::uint64_t l = 0; l < s_.all_layers(); ++l) steps.push_back(layer(l));
    for (Program& step : output()) steps.push_back(std::move(step));
    return Program::sequence(std::move(steps));
  }

  Program embed() {
    const Tensor table = constants<std::uint16_t>(Type::f16, s_.classes * units_, "embedding", [&](std::uint64_t g) {
      std::vector<std::uint16_t> part;
      for (std::uint64_t k = 0; k < s_.classes; ++k)
        for (std::uint64_t i = 0; i < units_; ++i)
          part.push_back(model::to_half(w_.embedding[k * s_.residual + g * units_ + i]));
      return part;
    });
    const graph::ComputeSetId set = graph_.add_compute_set("embed");
    const graph::VertexId vertex = family(set, "WaveEmbed");
    graph_.connect(vertex, "sample", sample_in_);
    graph_.connect(vertex, "table", table);
    graph_.connect(vertex, "h", h_);
    graph_.connect(vertex, "ring", rings_.front());
    graph_.connect(vertex, "tap", tap_);
    graph_.connect(vertex, "time", time_);
    number(vertex, "units", units_);
    number(vertex, "depth", s_.dilation(0));
    return Program::execute(set).named("embed");
  }

  /// Every tile of a channel gets what its tiles hold of `parts`, one part behind the other.
  Program gather(const std::vector<Tensor>& parts, const Tensor& to, const std::string& name) {
    std::vector<Tensor> whole;
    for (const Tensor& part : parts) whole.push_back(part.reshape({s_.channels, 1, part.elements() / s_.channels}));
    const Tensor all = Tensor::concat(whole, 2);
    return Program::copy(all.broadcast(s_.tiles, 1), to.reshape({s_.channels, s_.tiles, all.dim(2)}), name);
  }

  /// partials = rows of every tile x its copy of x. row_of(tile, i): row of the whole matrix.
  template <typename F>
  Program product(const std::string& name, const ProductShape& shape, const std::vector<float>& matrix, const Tensor& x,
                  const F& row_of) {
    const Tensor weights =
        constants<std::uint16_t>(Type::f16, shape.elements(), name + " weights", [&](std::uint64_t g) {
          std::vector<std::uint16_t> part(shape.elements(), 0);
          for (std::uint64_t i = 0; i < shape.rows; ++i)
            for (std::uint64_t k = 0; k < shape.inputs; ++k)
              part[shape.place(i, k)] = model::to_half(matrix[row_of(g, i) * shape.inputs + k]);
          return part;
        });
    const graph::ComputeSetId set = graph_.add_compute_set(name);
    const graph::VertexId vertex = family(set, "RecurrentProduct_f16");
    graph_.connect(vertex, "weights", weights);
    graph_.connect(vertex, "h", x);
    graph_.connect(vertex, "partials", partials(shape.rows));
    graph_.connect(vertex, "step", time_);
    number(vertex, "groups", shape.groups());
    number(vertex, "vectors", shape.vectors());
    number(vertex, "share", shape.share());
    number(vertex, "batch", 1);
    number(vertex, "stride", shape.inputs);
    number(vertex, "advance", 0);
    return Program::execute(set);
  }
  [[nodiscard]] Tensor partials(std::uint64_t rows) const { return partials_.slice(0, (rows + 3) / 4 * 24, 1); }

  template <typename F>
  Tensor biases(const std::string& name, std::uint64_t rows, const std::vector<float>& bias, const F& row_of) {
    return constants<float>(Type::f32, rows, name + " bias", [&](std::uint64_t g) {
      std::vector<float> part;
      for (std::uint64_t i = 0; i < rows; ++i) part.push_back(bias[row_of(g, i)]);
      return part;
    });
  }

  Program layer(std::uint64_t l) {
    const std::string name = fmt::format("layer{}", l);
    const WaveNetWeights::Layer& weights = w_.layers[l];
    std::vector<Program> steps = {gather({h_, tap_}, taps_, name + " taps")};
    const auto gate_row = [&](std::uint64_t g, std::uint64_t i) { return 2 * g * units_ + i; };
    steps.push_back(product(name + " gate", {2 * units_, 2 * s_.residual}, weights.gate, taps_, gate_row));
    const graph::ComputeSetId gate = graph_.add_compute_set(name + " unit");
    graph::VertexId vertex = family(gate, "WaveGate");
    graph_.connect(vertex, "partials", partials(2 * units_));
    graph_.connect(vertex, "bias", biases(name + " gate", 2 * units_, weights.gate_bias, gate_row));
    graph_.connect(vertex, "z", z_);
    number(vertex, "units", units_);
    steps.push_back(Program::execute(gate));
    steps.push_back(gather({z_}, gated_, name + " gated"));
    const auto out_row = [&](std::uint64_t g, std::uint64_t i) {
      return i < units_ ? g * units_ + i : s_.residual + g * skips_ + i - units_;
    };
    steps.push_back(product(name + " out", {units_ + skips_, s_.residual}, weights.out, gated_, out_row));
    const bool last = l + 1 == s_.all_layers();
    const std::uint64_t next = last ? 0 : l + 1;  // the last layer's residual way leads nowhere
    const graph::ComputeSetId out = graph_.add_compute_set(name + " ways");
    vertex = family(out, "WaveResidual");
    graph_.connect(vertex, "partials", partials(units_ + skips_));
    graph_.connect(vertex, "bias", biases(name + " out", units_ + skips_, weights.out_bias, out_row));
    graph_.connect(vertex, "h", h_);
    graph_.connect(vertex, "skip", skip_);
    graph_.connect(vertex, "ring", last ? unused() : rings_[next]);
    graph_.connect(vertex, "tap", tap_);
    graph_.connect(vertex, "time", time_);
    number(vertex, "units", units_);
    number(vertex, "skips", skips_);
    number(vertex, "depth", last ? 1 : s_.dilation(next));
    number(vertex, "first", l == 0 ? 1 : 0);
    steps.push_back(Program::execute(out));
    return Program::sequence(std::move(steps), name);
  }
  Tensor unused() {
    const Tensor ring = on_tiles(Type::f16, units_, "no ring");
    return ring;
  }

  std::vector<Program> output() {
    const auto own = [](std::uint64_t rows) {
      return [rows](std::uint64_t g, std::uint64_t i) { return g * rows + i; };
    };
    std::vector<Program> steps;
    graph::ComputeSetId set = graph_.add_compute_set("skip");
    graph::VertexId vertex = family(set, "WaveRelu");
    graph_.connect(vertex, "x", skip_);
    graph_.connect(vertex, "y", slice_);
    number(vertex, "rows", skips_);
    steps.push_back(Program::execute(set));
    steps.push_back(gather({slice_}, wide_, "skip"));
    steps.push_back(product("hidden", {skips_, s_.skip}, w_.hidden, wide_, own(skips_)));
    set = graph_.add_compute_set("hidden unit");
    vertex = family(set, "WaveHidden");
    graph_.connect(vertex, "partials", partials(skips_));
    graph_.connect(vertex, "bias", biases("hidden", skips_, w_.hidden_bias, own(skips_)));
    graph_.connect(vertex, "y", slice_);
    number(vertex, "rows", skips_);
    steps.push_back(Program::execute(set));
    steps.push_back(gather({slice_}, wide_, "hidden"));
    steps.push_back(product("logits", {classes_, s_.skip}, w_.logits, wide_, own(classes_)));
    set = graph_.add_compute_set("logits and largest");
    vertex = family(set, "WaveLogits");
    graph_.connect(vertex, "partials", partials(classes_));
    graph_.connect(vertex, "bias", biases("logits", classes_, w_.logits_bias, own(classes_)));
    graph_.connect(vertex, "logits", logits_);
    graph_.connect(vertex, "largest", largest_);
    number(vertex, "rows", classes_);
    steps.push_back(Program::execute(set));
    steps.push_back(gather({largest_}, maxima_, "largest"));
    set = graph_.add_compute_set("softmax");
    vertex = family(set, "WaveExp");
    graph_.connect(vertex, "logits", logits_);
    graph_.connect(vertex, "maxima", maxima_);
    graph_.connect(vertex, "e", e_);
    graph_.connect(vertex, "sum", sum_);
    number(vertex, "rows", classes_);
    number(vertex, "tiles", s_.tiles);
    steps.push_back(Program::execute(set));
    steps.push_back(draw());
    return steps;
  }

  Program draw() {
    const graph::ComputeSetId set = graph_.add_compute_set("draw");
    const graph::VertexId vertex = family(set, "WaveChoose", true);
    graph_.connect(vertex, "e", all_e_);
    graph_.connect(vertex, "sums", sums_);
    graph_.connect(vertex, "seed", seed_);
    graph_.connect(vertex, "sample", sample_);
    graph_.connect(vertex, "samples", samples_);
    graph_.connect(vertex, "chances", chances_);
    graph_.connect(vertex, "place", place_);
    number(vertex, "rows", classes_);
    number(vertex, "tiles", s_.tiles);
    number(vertex, "block", s_.block);
    number(vertex, "greedy", s_.greedy ? 1 : 0);
    return Program::sequence({Program::copy(e_.reshape(all_e_.shape()), all_e_, "classes"),
                              Program::copy(sum_.reshape(sums_.shape()), sums_, "sums"), Program::execute(set),
                              gather({sample_}, sample_in_, "sample")},
                             "draw");
  }

  const WaveNetShape& s_;
  const WaveNetWeights& w_;
  graph::Graph graph_;
  std::uint64_t all_, units_, skips_, classes_;  ///< tiles of all channels; of each tile: residual, skip, classes
  Tensor h_, tap_, z_, taps_, gated_, skip_, slice_, wide_, logits_, e_, largest_, maxima_, sum_, all_e_, sums_, time_,
      sample_in_, sample_, seed_, place_, samples_, chances_, partials_;
  std::vector<Tensor> rings_;
};

}  // namespace

graph::Graph build_wavenet(const WaveNetShape& shape, const WaveNetWeights& weights, unsigned machine_tiles) {
  return WaveNetProgram(shape, weights, machine_tiles).build();
}

Example wavenet() {
  return {"wavenet",
          "WaveNet generating sound sample by sample on the device, 16 kHz",
          "van den Oord et al., WaveNet: A Generative Model for Raw Audio (2016): stacks of 10 dilated layers",
          "seeded",
          "pocket",
          {number("channels", 1, 1, 1216, "independent sounds"), number("tiles", 16, 1, 64, "tiles of a channel"),
           number("samples", 32, 1, 1 << 24, "samples of each channel"),
           number("block", 16, 1, 4096, "samples that go to the host at once"),
           number("residual", 64, 8, 512, "units of the residual way"),
           number("skip", 128, 8, 1024, "units of the skip way"), number("classes", 256, 8, 256, "classes of a sample"),
           number("stacks", 2, 1, 8, "stacks of layers"),
           number("layers", 10, 1, 12, "layers of a stack, dilations 1, 2, 4, ..."),
           choice("draw", "sampled", {"sampled", "greedy"}, "a class by its probability, or the likeliest")},
          nullptr};
}

}  // namespace tessera::examples
