// An IPU of TLM tiles without SystemC, for benchmarks: all tiles run one program of supersteps, each of which may
// compute on the six workers and exchange with tables of a given shape.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "hw/platform.h"
#include "tlm/system/ipu.h"
#include "tlm/system/tile_pool.h"
#include "tlm/tile/code_cache.h"
#include "tlm/tile/tlm_tile.h"

namespace tessera::bench {

/// What every tile does between two internal syncs.
struct Superstep {
  unsigned pieces = 0;      ///< pieces that each tile sends, piece k to the k-th tile behind it; 0: no exchange
  unsigned words = 0;       ///< of a piece
  std::uint32_t turns = 0;  ///< rounds of a loop of 8 instructions on each worker; 0: no worker runs
};

/// Places in the SRAM of every tile.
inline constexpr Address kMachineTable = kSramBase + 0x1000, kMachineOut = kSramBase + 0x4000,
                         kMachineIn = kSramBase + 0x5000;
inline constexpr std::uint32_t kMachineSram = 65536;

/// The table of one tile: header, sends, receives.
[[nodiscard]] std::vector<std::uint64_t> piece_table(const FabricTiming& timing, unsigned tile, unsigned pieces,
                                                     unsigned words);
void put_words(TileModel& tile, Address at, const void* words, std::size_t bytes);

class TileMachine {
 public:
  /// At the first arrival of all tiles.
  TileMachine(const Platform& platform, const Superstep& superstep, unsigned threads);

  /// Runs `count` supersteps, to the next arrival. Throws std::runtime_error if the tiles do not arrive.
  void supersteps(unsigned count);
  [[nodiscard]] const FabricCounters& counters() const { return ipu_->fabric().counters(); }
  [[nodiscard]] std::uint64_t retired() const { return ipu_->retired(); }
  [[nodiscard]] Ipu& ipu() { return *ipu_; }
  /// Throws std::runtime_error unless every tile holds what was sent to it.
  void check() const;

 private:
  void advance();

  Superstep superstep_;
  Cycle sync_;
  TilePool pool_;
  std::shared_ptr<CodeCache> code_;
  std::unique_ptr<Ipu> ipu_;
};

}  // namespace tessera::bench
