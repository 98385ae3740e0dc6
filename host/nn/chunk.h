// How many rows of the batch one round of the loop takes. Internal to host/nn.
#pragma once

#include <optional>
#include <string>

#include "host/nn/lower.h"

namespace tessera::nn {

struct Chunking {
  std::int64_t batch = 0, chunk = 0;
  unsigned replicas = 1;
  /// Rows of the replica that has most.
  [[nodiscard]] std::int64_t share() const { return (batch + replicas - 1) / replicas; }
  [[nodiscard]] std::int64_t rounds() const { return (share() + chunk - 1) / chunk; }
  std::uint64_t cycles = 0;  ///< estimate for the whole batch
  std::string text;
};

/// Empty if the model has no batch axis, its rows are not independent, or its shapes hold for one batch only. Else
/// options.chunk (at most the batch), or the smallest chunk whose values fit in the tiles and whose estimated time for
/// the whole batch is within a quarter of the least: first results come early and memory stays free.
[[nodiscard]] std::optional<Chunking> choose_chunk(const model::Model& model, const Options& options);

}  // namespace tessera::nn
