// Limits of products on the AMP unit (amp_limits.h).
#include "host/nn/amp_limits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "host/nn/amp.h"

namespace tessera::nn {

using model::ConvAttributes;
using model::Extents;
using model::Model;
using model::Node;
using model::Op;
using model::Shape;

namespace {

using Index = std::int64_t;

// Shares of a tile's memory. The rest is code, tables, lists, stacks, and activations that wait.
constexpr double kWork = 0.3;           // operands, sums and terms of one product
constexpr double kWorkOnce = 0.5;       // the same and its weights, where these are sent before each use
constexpr double kWeights = 0.52;       // weights of all products
constexpr double kMostWeights = 0.66;   // if a copy of each and a fifth more needs that
constexpr double kKept = 0.06;          // patches of operands that keep their zeros
constexpr double kHighestPrice = 64.0;  // cycles a byte: nothing is worth a second copy

/// The last three entries, `fill` in front.
std::array<Index, 3> three(const Extents& extents, Index fill) {
  std::array<Index, 3> result = {fill, fill, fill};
  std::copy(extents.begin(), extents.end(), result.end() - static_cast<std::ptrdiff_t>(extents.size()));
  return result;
}

Index channel_halves(const AmpTask& task) {
  const graph::Type type = task.half ? graph::Type::f16 : graph::Type::f32;
  return static_cast<Index>(result_block(type, static_cast<std::uint64_t>(task.out_channels * task.groups))) / 8;
}

/// What plans depend on.
auto key_of(const AmpTask& t) {
  return std::make_tuple(
      std::make_tuple(t.half, t.groups, t.images, t.in_channels, t.out_channels, t.in_h, t.in_w, t.out_h, t.out_w,
                      t.kernel_h, t.kernel_w, t.stride_h, t.stride_w),
      std::make_tuple(t.dilation_h, t.dilation_w, t.pad_h, t.pad_w, t.in_d, t.out_d, t.kernel_d, t.stride_d,
                      t.dilation_d, t.pad_d, t.up_d, t.up_h, t.up_w, t.fold, t.narrow_in, t.narrow_out));
}

bool weighs(const Model& model, const Node& node) {
  if (weight_bytes(model, node) == 0) return false;
  const model::Type type = model.value(node.outputs.at(0)).type;
  return (type == model::Type::f16 || type == model::Type::f32) &&
         model::element_count(model.value(node.outputs[0]).shape) > 0 &&
         model::element_count(model.value(node.inputs[0]).shape) > 0;
}

AmpTask task_of(const Model& model, const Node& node) {
  if (node.op == Op::Conv || node.op == Op::ConvTranspose) return conv_task(model, node).task;
  const Shape &y = model.value(node.outputs[0]).shape, &b = model.value(node.inputs[1]).shape;
  const Index n = y.empty() ? 1 : y.back(), m = model::element_count(y) / n, k = model::element_count(b) / n;
  AmpTask task = matmul_task(model.value(node.outputs[0]).type == model::Type::f16, 1, m, k, n);
  task.halves = channel_halves(task);
  return task;
}

/// Convolutions with kernels of one element are matrix products of the positions that they take: these may be cut
/// anywhere.
void flatten(ConvTask& conv) {
  AmpTask& t = conv.task;
  const bool flat = t.kernel_d * t.kernel_h * t.kernel_w == 1 && t.up_d * t.up_h * t.up_w == 1 && t.pad_d == 0 &&
                    t.pad_h == 0 && t.pad_w == 0 && (t.out_d - 1) * t.stride_d < t.in_d &&
                    (t.out_h - 1) * t.stride_h < t.in_h && (t.out_w - 1) * t.stride_w < t.in_w;
  if (!flat) return;
  if (t.in_d != t.out_d || t.in_h != t.out_h || t.in_w != t.out_w)
    for (Index image = 0; image < t.images; ++image)  // a slice of the output
      for (Index y = 0; y < t.out_h; ++y)
        for (Index x = 0; x < t.out_w; ++x) {
          const Index slice = image / t.out_d * t.in_d + image % t.out_d * t.stride_d;
          conv.positions.push_back((slice * t.in_h + y * t.stride_h) * t.in_w + x * t.stride_w);
        }
  t.in_w = t.out_w = t.images * t.out_h * t.out_w;
  t.images = t.in_d = t.out_d = t.in_h = t.out_h = t.stride_d = t.stride_h = t.stride_w = 1;
}

/// One channel and a stride of whole loads (spectra of sound): a load of columns is taken as channels.
void columns_as_channels(ConvTask& conv) {
  AmpTask& t = conv.task;
  const Index load = t.load();
  if (!t.fold || t.in_channels != 1 || t.stride_w % load != 0 || t.pad_w % load != 0 || t.in_w % load != 0) return;
  conv.side = load;
  t.fold = false;
  t.in_channels = load;
  t.in_w /= load, t.stride_w /= load, t.pad_w /= load;
  t.kernel_w = (t.kernel_w + load - 1) / load;
}

}  // namespace

ConvTask conv_task(const Model& model, const Node& node) {
  const auto& a = std::get<ConvAttributes>(node.attributes);
  const model::Value &x = model.value(node.inputs.at(0)), &w = model.value(node.inputs.at(1)),
                     &y = model.value(node.outputs.at(0));
  const auto spatial = [](const Shape& shape) { return Extents(shape.begin() + 2, shape.end()); };
  const auto in = three(spatial(x.shape), 1), out = three(spatial(y.shape), 1), kernel = three(spatial(w.shape), 1);
  auto strides = three(a.strides, 1), pads = three(a.pads_begin, 0);
  const auto dilations = three(a.dilations, 1);
  ConvTask result;
  AmpTask& t = result.task;
  t.half = y.type == model::Type::f16;
  if (node.op == Op::ConvTranspose) {
    t.up_d = strides[0], t.up_h = strides[1], t.up_w = strides[2];
    strides = {1, 1, 1};
    for (std::size_t i = 0; i < 3; ++i) pads[i] = dilations[i] * (kernel[i] - 1) - pads[i];
  }
  t.in_d = in[0], t.in_h = in[1], t.in_w = in[2];
  t.out_d = out[0], t.out_h = out[1], t.out_w = out[2];
  t.kernel_d = kernel[0], t.kernel_h = kernel[1], t.kernel_w = kernel[2];
  t.stride_d = strides[0], t.stride_h = strides[1], t.stride_w = strides[2];
  t.dilation_d = dilations[0], t.dilation_h = dilations[1], t.dilation_w = dilations[2];
  t.pad_d = pads[0], t.pad_h = pads[1], t.pad_w = pads[2];
  t.images = x.shape[0] * t.out_d;
  t.constant_weights = w.constant.has_value();
  const Index in_group = x.shape[1] / a.group, out_group = y.shape[1] / a.group;
  if (a.group > 1) {
    while (result.together < a.group && (a.group % result.together != 0 || result.together * in_group % t.load() != 0 ||
                                         result.together * out_group % 8 != 0))
      ++result.together;
  }
  t.groups = a.group / result.together;
  t.in_channels = in_group * result.together;
  t.out_channels = out_group * result.together;
  t.fold = t.groups == 1 && t.in_channels <= 4 && t.constant_weights && t.kernel_w > 1 && t.dilation_w == 1 &&
           t.up_d * t.up_h * t.up_w == 1;
  columns_as_channels(result);
  if (result.side == 1 && t.in_channels <= t.load()) t.narrow_in = in_group, t.narrow_out = out_group;
  t.halves = channel_halves(t);
  flatten(result);
  return result;
}

AmpTask matmul_task(bool half, Index planes, Index m, Index k, Index n) {
  AmpTask task;
  task.half = half;
  task.groups = planes;
  task.in_w = task.out_w = m;
  task.in_channels = k;
  task.out_channels = n;
  return task;
}

void set_amp_limits(const Lowering& lowering, AmpTask& task) {
  const double sram = lowering.options().sram_bytes;
  task.tiles = lowering.options().tiles;
  task.weights_once = lowering.options().weights_once;
  task.tile_bytes = lowering.amp_work_bytes();
  task.weight_bytes = static_cast<std::uint64_t>(sram * kMostWeights);
  task.weight_price = lowering.weight_price();
}

namespace {

/// The products of a model with constant weights, and what they take of a tile.
class Products {
 public:
  Products(const Model& model, const Options& options) : poll_(options.poll) {
    for (const Node& node : model.nodes) {
      if (!weighs(model, node)) continue;
      AmpTask task = task_of(model, node);
      task.tiles = options.tiles;
      task.weights_once = options.weights_once;
      task.weight_bytes = static_cast<std::uint64_t>(options.sram_bytes * kMostWeights);
      ++tasks_.try_emplace(key_of(task), task, 0).first->second.second;
      least_ += static_cast<double>(weight_bytes(model, node)) / options.tiles;
    }
  }

  /// One copy of all weights, spread evenly.
  [[nodiscard]] double least() const { return least_; }

  /// Weights that stay on a tile and work of the largest product, by plans at this price within this limit of work.
  struct Held {
    double weights = 0, work = 0;
  };
  [[nodiscard]] Held held(double price, std::uint64_t limit) {
    Held held;
    for (auto& [key, counted] : tasks_) {
      if (poll_) poll_();
      auto& [task, count] = counted;
      task.weight_price = price;
      task.tile_bytes = limit;
      const AmpPlan plan = plan_amp(task);
      if (!task.weights_once) held.weights += static_cast<double>(plan.weight_bytes * count);
      held.work = std::max(held.work, static_cast<double>(plan.work_bytes));
    }
    return held;
  }

  /// The limit of work, from `least` on, with which work and weights together take least.
  [[nodiscard]] std::uint64_t thrifty_limit(double least) {
    double best = HUGE_VAL, limit = least;
    int worse = 0;
    for (double at = least; worse < kWorse; at *= kWorkStep) {
      const Held here = held(kHighestPrice, static_cast<std::uint64_t>(at));
      ++worse;
      if (here.weights + here.work >= best) continue;
      best = here.weights + here.work;
      limit = here.work;
      worse = 0;
    }
    return static_cast<std::uint64_t>(limit);
  }

 private:
  static constexpr double kWorkStep = 1.12;
  static constexpr int kWorse = 4;  // steps without gain before the search ends
  std::map<decltype(key_of(AmpTask())), std::pair<AmpTask, std::uint64_t>> tasks_;  // and how many there are of each
  double least_ = 0;
  const std::function<void()>& poll_;
};

}  // namespace

WeightPrice price_weights(const Model& model, const Options& options) {
  const double sram = options.sram_bytes;
  WeightPrice price;
  price.work_bytes = static_cast<std::uint64_t>(sram * (options.weights_once ? kWorkOnce : kWork));
  Products products(model, options);
  const double least_work = products.held(0, 0).work;
  if (options.weights_once) {
    const auto least = static_cast<std::uint64_t>(least_work);
    price.least = options.frugal || least >= price.work_bytes;
    price.work_bytes = options.frugal ? least : std::max(price.work_bytes, least);
    return price;
  }
  double budget = std::max(sram * kWeights, std::min(1.2 * products.least(), sram * kMostWeights));
  const bool thrifty = options.frugal || least_work > static_cast<double>(price.work_bytes) ||
                       products.held(kHighestPrice, price.work_bytes).weights > budget;
  if (thrifty) {
    price.work_bytes = products.thrifty_limit(std::max(least_work, 1.0));
    budget = 1.05 * products.held(kHighestPrice, price.work_bytes).weights;
    const double left = sram * (kWork + kWeights) - static_cast<double>(price.work_bytes);
    price.least = options.frugal || left <= budget;
    if (!price.least) budget = left;
  }
  double bytes = products.held(0, price.work_bytes).weights;
  if (bytes > budget) price.cycles = 1.0 / 64;
  while (price.cycles > 0 && price.cycles < kHighestPrice &&
         (bytes = products.held(price.cycles, price.work_bytes).weights) > budget)
    price.cycles *= 1.25;
  if (!thrifty)
    price.kept_bytes = static_cast<std::uint64_t>(std::clamp(sram * kMostWeights - bytes, 0.0, sram * kKept));
  return price;
}

}  // namespace tessera::nn
