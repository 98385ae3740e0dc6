// Proves exchange tables against the messages they were made for. Shares no code with the scheduler: it decodes table
// words by itself, from docs/machine/exchange.md, and replays them word by word.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "host/exchange/messages.h"

namespace tessera::exchange {

/// Tables of one phase: one vector of u64 words a tile, empty if the tile takes no part.
using TileTables = std::vector<std::vector<std::uint64_t>>;

/// CSRs of a tile while the phase runs.
struct TileSetup {
  std::array<std::uint32_t, 3> xbase{0x40000, 0x40000, 0x40000};  ///< byte addresses, xbase1..xbase3
  std::uint16_t xsource = 0;
};

struct CheckOptions {
  unsigned earliest = 12;  ///< X - Z + 12
  std::uint32_t sram_bytes = 262144;
  std::vector<TileSetup> setup;  ///< one a tile, or empty: all as default
};

struct CheckReport {
  std::uint64_t words = 0;  ///< words received and compared with their message
  std::uint64_t descriptors = 0;
  unsigned cycles = 0;                ///< sum over phases of the end of the last listening cycle
  std::vector<std::string> problems;  ///< the first 20; empty if proved
  [[nodiscard]] bool ok() const { return problems.empty() && words > 0; }
};

/// Checks: start rules; addresses and kinds; every listening cycle has a word; every word comes from the place that its
/// message says; every destination word is written exactly once over all phases; no word is sent in the phase, or in a
/// later one, in which it is received; every sent word is heard unless it may be unheard.
[[nodiscard]] CheckReport check(const Messages& messages, const Delays& delays,
                                const std::vector<const TileTables*>& phases, const CheckOptions& options);

}  // namespace tessera::exchange
