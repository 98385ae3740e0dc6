// The f16 twin of a model: every f32 value becomes f16, constants and inputs rounded once.
#pragma once

#include <vector>

#include "host/onnx/model.h"

namespace tessera::verif_nn {

/// x with f32 contents rounded to f16; other types unchanged.
[[nodiscard]] model::Tensor half(const model::Tensor& x);
/// x with f32 contents rounded to f16 and widened again.
[[nodiscard]] model::Tensor half_values(const model::Tensor& x);

/// The twin in f16. Casts to f32 become casts to f16.
[[nodiscard]] model::Model half(const model::Model& model);
/// The same f32 model with its constants rounded to f16: what the twin computes before it rounds.
[[nodiscard]] model::Model half_constants(const model::Model& model);
/// True if the model has f32 values, so that there is a twin.
[[nodiscard]] bool has_twin(const model::Model& model);

}  // namespace tessera::verif_nn
