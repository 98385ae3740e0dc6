// WaveNet on the host in doubles, rounded to f16 where the device keeps f16 states.

#include <algorithm>
#include <cmath>

#include "host/examples/wavenet.h"

namespace tessera::examples {

namespace {

using Vector = std::vector<double>;

double half(double value) { return model::from_half(model::to_half(value)); }

/// W x + b, rows of W as long as x.
Vector product(const std::vector<float>& w, const std::vector<float>& bias, const Vector& x) {
  Vector result(bias.begin(), bias.end());
  for (std::size_t row = 0; row < bias.size(); ++row)
    for (std::size_t k = 0; k < x.size(); ++k) result[row] += static_cast<double>(w[row * x.size() + k]) * x[k];
  return result;
}

class Channel {
 public:
  Channel(const WaveNetShape& shape, const WaveNetWeights& weights, std::uint32_t seed)
      : shape_(shape), weights_(weights), seed_(seed), previous_(shape.classes / 2), rings_(shape.all_layers()) {
    for (std::uint64_t l = 0; l < shape.all_layers(); ++l)
      rings_[l].assign(shape.dilation(l), Vector(shape.residual, 0.0));
  }

  /// Probabilities of the next sample.
  Vector next() {
    const std::size_t units = shape_.residual;
    Vector h(units), skip(shape_.skip, 0.0);
    for (std::size_t i = 0; i < units; ++i) h[i] = weights_.embedding[previous_ * units + i];
    for (std::uint64_t l = 0; l < shape_.all_layers(); ++l) {
      Vector& place = rings_[l][time_ % rings_[l].size()];
      Vector x = h;
      x.insert(x.end(), place.begin(), place.end());
      place = h;
      const Vector gates = product(weights_.layers[l].gate, weights_.layers[l].gate_bias, x);
      Vector z(units);
      for (std::size_t u = 0; u < units; ++u) z[u] = half(std::tanh(gates[2 * u]) / (1 + std::exp(-gates[2 * u + 1])));
      const Vector out = product(weights_.layers[l].out, weights_.layers[l].out_bias, z);
      for (std::size_t i = 0; i < units; ++i) h[i] = half(h[i] + out[i]);
      for (std::size_t i = 0; i < skip.size(); ++i) skip[i] += out[units + i];
    }
    const auto positive = [](Vector v) {
      for (double& x : v) x = half(std::max(0.0, x));
      return v;
    };
    Vector p = product(weights_.logits, weights_.logits_bias,
                       positive(product(weights_.hidden, weights_.hidden_bias, positive(skip))));
    const double largest = *std::max_element(p.begin(), p.end());
    double sum = 0;
    for (double& x : p) sum += x = std::exp(x - largest);
    for (double& x : p) x /= sum;
    ++time_;
    return p;
  }
  /// The sample that follows from probabilities; `device` is taken if it is right but for `tolerance`.
  std::uint64_t choose(const Vector& p, std::uint64_t device, double tolerance) {
    seed_ = seed_ * 1664525U + 1013904223U;
    if (shape_.greedy) {
      const auto best = std::max_element(p.begin(), p.end());
      if (device < p.size() && p[device] >= *best * (1 - tolerance)) return device;
      return static_cast<std::uint64_t>(best - p.begin());
    }
    const double aim = (seed_ >> 8) * 0x1p-24;
    double running = 0;
    std::uint64_t chosen = p.size() - 1;
    for (std::uint64_t i = 0; i < p.size(); ++i) {
      const double next = running + p[i];
      if (i == device && running - tolerance <= aim && aim <= next + tolerance) return device;
      if (aim < next) chosen = std::min(chosen, i);
      running = next;
    }
    return chosen;
  }
  void take(std::uint64_t sample) { previous_ = std::min<std::uint64_t>(sample, shape_.classes - 1); }

 private:
  const WaveNetShape& shape_;
  const WaveNetWeights& weights_;
  std::uint32_t seed_;
  std::uint64_t previous_, time_ = 0;
  std::vector<std::vector<Vector>> rings_;  ///< by layer and place: inputs of earlier samples
};

}  // namespace

WaveNetReference wavenet_reference(const WaveNetShape& shape, const WaveNetWeights& weights,
                                   const model::Tensor& samples, double tolerance) {
  WaveNetReference reference{model::Tensor(model::Type::u32, samples.shape),
                             model::Tensor(model::Type::f32, samples.shape)};
  for (std::uint64_t c = 0; c < shape.channels; ++c) {
    Channel channel(shape, weights, wavenet_channel_seed(shape, c));
    for (std::uint64_t s = 0; s < shape.samples; ++s) {
      const auto at = static_cast<std::int64_t>((s / shape.block * shape.channels + c) * shape.block + s % shape.block);
      const std::uint64_t device = samples.at<std::uint32_t>(at);
      const Vector p = channel.next();
      const std::uint64_t chosen = channel.choose(p, device, tolerance);
      reference.samples.set(at, static_cast<std::uint32_t>(chosen));
      reference.chances.set(at, static_cast<float>(p[std::min<std::uint64_t>(device, shape.classes - 1)]));
      channel.take(device);
    }
  }
  return reference;
}

}  // namespace tessera::examples
