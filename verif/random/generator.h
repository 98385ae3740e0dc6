// Random programs for a whole tile: a supervisor and six workers that compute, branch, loop, repeat, call, trap and
// return, move data by streams in regions of their own, pair, divide, change rounding modes and FS, write their own
// code, start, exit, delay, sync, load weights and exchange at every slot offset. From a seed alone; the same program
// on every host.
//
// A recipe is the program before its addresses are known: shrinking takes parts out of it. Programs always end: loops
// count, traps are counted by the handler. Not generated: packets that move words (they need a chip).
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "hw/types.h"
#include "verif/random/code.h"
#include "verif/random/writer.h"

namespace tessera::random {

struct ProgramOptions {
  std::uint64_t seed = 1;
  bool races = false;     ///< workers share their data: only exact models agree then
  bool portable = false;  ///< one worker's RV32IMF without machine mode, as any RISC-V runs it
  unsigned items = 40;    ///< about so many pieces a context
  Subset subset = Subset::all;
};

/// One context: where it starts, what it does.
struct ContextRecipe {
  unsigned lead = 0;    ///< words of padding before it
  bool handler = true;  ///< has a trap handler
  std::vector<Node> code;
};

/// A table: header and descriptors in table words.
struct TableRecipe {
  std::vector<std::vector<std::uint64_t>> sends, receives;  ///< one or two words each
  std::uint32_t length = 4096;
  std::vector<std::uint64_t> packets;  ///< a packet table instead, header and all
};

struct Recipe {
  ProgramOptions options;
  std::array<ContextRecipe, 7> contexts;
  std::vector<TableRecipe> tables;
  std::vector<std::uint32_t> data;  ///< all contexts' data and the constants behind it
  std::uint64_t exchange_seed = 0;  ///< words that arrive are made from it
  bool underrun = false;            ///< a word is missing in each phase but the first
};

/// An image for a tile of kSramBytes. `portable` programs are a single block at the start of the SRAM.
struct Program {
  static constexpr std::uint32_t kSramBytes = 65536;
  struct Block {
    Address at = 0;
    std::vector<std::uint32_t> words;
    bool code = false;
    std::string name;
  };
  std::vector<Block> blocks;
  Address entry = 0;
  Address data = 0;  ///< portable: begin of what it writes
  std::uint32_t data_bytes = 0;
  std::uint64_t exchange_seed = 0;
  bool underrun = false;
  /// Words of code.
  [[nodiscard]] std::size_t code_words() const;
};

[[nodiscard]] Recipe recipe(const ProgramOptions& options);
[[nodiscard]] Program build(const Recipe& recipe);
[[nodiscard]] inline Program generate(const ProgramOptions& options) { return build(recipe(options)); }
/// Addresses, words and disassembly of the code.
[[nodiscard]] std::string listing(const Program& program);

}  // namespace tessera::random
