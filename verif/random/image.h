// Where the parts of a random program stand in the tile's memory.
#pragma once

#include "hw/generated/machine.h"
#include "verif/random/generator.h"

namespace tessera::random {

// Constants and the low edge, supervisor, workers, tables, 4 KiB of data for each context; the last 4 KiB hold
// constants, but for the last 64 bytes: the high edge.
inline constexpr Address kEntry = kSramBase + 0x40, kWorkers = kSramBase + 0x2000, kTables = kSramBase + 0x7800,
                         kData = kSramBase + 0x8000;
inline constexpr unsigned kTableCount = 4;
inline constexpr std::uint32_t kTableBytes = 0x200, kDataWords = 0x8000 / 4;
inline constexpr Address kEnd = kSramBase + Program::kSramBytes;

inline Address data_of(unsigned context) { return kData + 0x1000 * context; }

}  // namespace tessera::random
