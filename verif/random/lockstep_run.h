// A random program on an RTL tile in lockstep with the exact TLM.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "verif/cosim/lockstep_tile.h"
#include "verif/random/runs.h"

namespace tessera::random {

/// What the programs of a test compared and reached.
struct Sums {
  std::uint64_t programs = 0, cycles = 0;
  LockstepTile::Counts counts;
  Coverage reached;
  std::shared_ptr<coverage::Totals> coverage = coverage::Totals::from_environment();
  /// Lines of figures.
  [[nodiscard]] std::string summary() const;
};

using MakeRtl = std::function<std::unique_ptr<TileModel>(const TileConfig&)>;

/// Runs a program in lockstep with what `make` makes; what the mismatch says, if there is one. `sums` may be missing.
[[nodiscard]] std::optional<std::string> compare_lockstep(const Program& program, std::uint64_t seed,
                                                          const MakeRtl& make, Sums* sums);

}  // namespace tessera::random
