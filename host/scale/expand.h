// The full-size structure of a network at fine grain: forward, and for training the gradient of every value and weight
// with the update, derived from each operator's attributes. Built as families that can be enumerated; no element is
// computed, nothing is scheduled.
//
// Grain g: a vertex makes g partial sums, each over one vector of 16 channels and all taps of the kernel; element-wise
// vertices take g vectors of 16 elements; a reduction adds up to 16 partial sums of g results; a weight gradient takes
// one tap and 16 channels over one row of positions. Activations lie as the matrix engine's home layout puts them:
// [channels / b][positions][b], b = 16, 8 or 4. An edge is one contiguous region of such a layout, or of the weights,
// which lie in order of use, or of the partial sums, which lie on the tiles that made them.
#pragma once

#include "host/onnx/model.h"
#include "host/scale/structure.h"

namespace tessera::scale {

inline constexpr std::int64_t kVector = 16;

struct Grain {
  std::int64_t vectors = 1;  ///< g; 1 is what "full" means
  bool training = true;      ///< with gradients and updates (momentum), else forward alone
};

/// Views (Reshape, Flatten, ..) are no vertices. Operators without a structure of their own are vertices of g vectors
/// of their result that read one region of each operand. Throws Error (usage) for a grain below 1 and a model with an
/// empty value, (does_not_fit) for more than 2^40 vertices in one family.
[[nodiscard]] Structure expand(const model::Model& model, const Grain& grain, unsigned tiles);

}  // namespace tessera::scale
