// Both models behind one tile, and what was compared.
#include "verif/random/lockstep_run.h"

#include <fmt/format.h>

#include "tlm/tile/tlm_tile.h"
#include "verif/coverage/covered_tile.h"

namespace tessera::random {

std::string Sums::summary() const {
  return fmt::format(
      "seed {}: {} programs, {} cycles, compared in lockstep: {} instructions, {} traps, {} exchange words, {} "
      "registers, {} bytes\n{}\n",
      run_seed(), programs, cycles, counts.instructions, counts.traps, counts.words, counts.registers,
      counts.memory_bytes, reached.summary());
}

std::optional<std::string> compare_lockstep(const Program& program, std::uint64_t seed, const MakeRtl& make,
                                            Sums* sums) {
  const TileConfig config = config_of(seed);
  auto owned = std::make_unique<LockstepTile>(config, std::make_unique<TlmTile>(config), make(config));
  const LockstepTile& tile = *owned;
  const auto shown = coverage::covered(config, std::move(owned), sums != nullptr ? sums->coverage : nullptr);
  if (sums != nullptr) shown->observe(&sums->reached);
  load(*shown, program);
  try {
    const Played played = play(*shown, config, program);
    if (!played.ended) return "does not end";
    if (sums == nullptr) return std::nullopt;
    sums->cycles += played.stops.back().cycle;
  } catch (const std::exception& error) {
    return error.what();
  }
  const LockstepTile::Counts& n = tile.compared();
  if (n.instructions != tile.retired()) return "not all retired instructions were compared";
  sums->counts.instructions += n.instructions;
  sums->counts.traps += n.traps;
  sums->counts.words += n.words;
  sums->counts.registers += n.registers;
  sums->counts.memory_bytes += n.memory_bytes;
  ++sums->programs;
  return std::nullopt;
}

}  // namespace tessera::random
