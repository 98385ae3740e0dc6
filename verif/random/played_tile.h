// Runs a random program on a tile, playing chip and fabric: releases wide syncs, makes the words that arrive from the
// program's seed, ends exchange phases. The same for every model, so that their stops can be compared.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tlm/tile/exchange_engine.h"
#include "tlm/tile/tile_model.h"
#include "verif/random/generator.h"

namespace tessera::random {

/// The word that tile `source` sends so that it arrives in cycle `c`.
[[nodiscard]] Word word_from(const Program& program, Cycle c, unsigned source);

struct Played {
  std::vector<TileStop> stops;
  bool ended = false;  ///< false: the cycle limit came first
};

/// Settings of the tile that the programs are made for.
[[nodiscard]] TileConfig config_of(std::uint64_t seed);
void load(TileModel& tile, const Program& program);
/// What a debugger does when the tile is halted; false: it leaves it so, and the run ends.
using OnHalt = std::function<bool(const TileStop&)>;
/// Interval-based tiles only (TLM, lockstep).
[[nodiscard]] Played play(TileModel& tile, const TileConfig& config, const Program& program, Cycle limit = 400'000,
                          const OnHalt& on_halt = {});

/// What the programs reached, by the records of an exact run.
class Coverage final : public RetireObserver {
 public:
  void retired(const RetireRecord& record) override;
  void exchanged(const ExchangeWord& word) override;

  std::uint64_t instructions = 0, traps = 0, pairs = 0, words = 0, flagged = 0;
  std::set<unsigned> ops;                              ///< isa::Op retired
  std::set<unsigned> causes;                           ///< trap causes
  std::set<std::pair<unsigned, unsigned>> op_in_slot;  ///< isa::Op retired in slot (cycle mod 6)
  /// One line of figures.
  [[nodiscard]] std::string summary() const;
  /// Instructions of the subset that never retired; control instructions missing in a slot; causes never seen.
  [[nodiscard]] std::vector<std::string> holes(Subset subset) const;
};

}  // namespace tessera::random
