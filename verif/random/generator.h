// Random programs for a whole tile: a supervisor and six workers that compute, branch, loop, call, trap and return,
// load and store in regions of their own, pair, divide, change rounding modes and FS, write their own code, start,
// exit, delay, sync and exchange at every slot offset. From a seed alone; the same program on every host.
//
// Programs always end: loops count, traps are counted by the handler. Not generated: packets (they need a chip).
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "hw/types.h"

namespace tessera::random {

struct ProgramOptions {
  std::uint64_t seed = 1;
  bool races = false;     ///< workers share their data: only exact models agree then
  bool portable = false;  ///< one worker's RV32IMF without machine mode, as any RISC-V runs it
  unsigned items = 40;    ///< about so many pieces a context
};

/// An image for a tile of kSramBytes. `portable` programs are a single block at the start of the SRAM.
struct Program {
  static constexpr std::uint32_t kSramBytes = 65536;
  struct Block {
    Address at = 0;
    std::vector<std::uint32_t> words;
  };
  std::vector<Block> blocks;
  Address entry = 0;
  Address data = 0;  ///< portable: begin of what it writes
  std::uint32_t data_bytes = 0;
  std::uint64_t exchange_seed = 0;  ///< words that arrive are made from it
  bool underrun = false;            ///< a word is missing in the last phase
};

[[nodiscard]] Program generate(const ProgramOptions& options);

}  // namespace tessera::random
