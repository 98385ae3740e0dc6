// WaveNet generating sound sample by sample on the device: a program of the graph library, not an ONNX model.
//
// Published topology (van den Oord et al., 2016): stacks of layers with dilations 1, 2, 4, ..., a gated unit of two
// taps each, residual and skip ways, two 1x1 layers and softmax over 256 classes of mu-law sound. Each sample that is
// drawn on the device is the next one's input. A channel is one sound; channels are independent copies, each on `tiles`
// tiles of its own, which share the rows of every layer and hold its weights and rings of earlier inputs. The reference
// follows the device's samples, so one that differs does not hide what comes behind it.
#pragma once

#include <cstdint>
#include <vector>

#include "host/examples/example.h"
#include "host/graph/graph.h"

namespace tessera::examples {

struct WaveNetShape {
  std::uint64_t channels = 1;               ///< independent sounds
  std::uint64_t tiles = 16;                 ///< of a channel
  std::uint64_t residual = 64, skip = 128;  ///< units of the ways
  std::uint64_t classes = 256;
  std::uint64_t stacks = 2, layers = 10;   ///< layers of a stack: dilations 1, 2, .. 2^(layers - 1)
  std::uint64_t samples = 32, block = 16;  ///< of a channel; block: that go to the host at once
  bool greedy = false;                     ///< the likeliest class instead of a drawn one
  std::uint64_t seed = 1;

  [[nodiscard]] std::uint64_t all_layers() const { return stacks * layers; }
  [[nodiscard]] std::uint64_t dilation(std::uint64_t layer) const { return std::uint64_t{1} << (layer % layers); }
  /// Multiply-accumulates of one sample of one channel.
  [[nodiscard]] std::uint64_t work() const;
};

/// The shape of "example:wavenet?..."; Error (usage) for values that do not fit each other or `machine_tiles`.
[[nodiscard]] WaveNetShape wavenet_shape(const Settings& settings, std::uint64_t machine_tiles);

/// Weights: f16 values held as floats, row-major; biases f32.
struct WaveNetWeights {
  struct Layer {
    std::vector<float> gate,
        gate_bias;                     ///< [2 residual][2 residual]: rows filter, gate of each unit; inputs now, before
    std::vector<float> out, out_bias;  ///< [residual + skip][residual]
  };
  std::vector<float> embedding;  ///< [classes][residual]
  std::vector<Layer> layers;
  std::vector<float> hidden, hidden_bias;  ///< [skip][skip]
  std::vector<float> logits, logits_bias;  ///< [classes][skip]
};
[[nodiscard]] WaveNetWeights wavenet_weights(const WaveNetShape& shape);

/// What a channel's draws begin with.
[[nodiscard]] std::uint32_t wavenet_channel_seed(const WaveNetShape& shape, std::uint64_t channel);

/// Entry "main"; output streams "samples" (u32) and "chances" (f32: probability of the sample that was drawn), each
/// step [channels][block].
[[nodiscard]] graph::Graph build_wavenet(const WaveNetShape& shape, const WaveNetWeights& weights,
                                         unsigned machine_tiles);

/// What the device should have drawn. samples, chances: [samples / block][channels][block].
struct WaveNetReference {
  model::Tensor samples;  ///< the device's own where it is right within `tolerance` of a boundary between classes
  model::Tensor chances;
};
[[nodiscard]] WaveNetReference wavenet_reference(const WaveNetShape& shape, const WaveNetWeights& weights,
                                                 const model::Tensor& samples, double tolerance);

}  // namespace tessera::examples
