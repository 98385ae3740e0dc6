// The words of one exchange phase of an interval-based tile, one by one: what the tile sends and takes, in which cycle
// and at which address. Intervals are what the fabric works with; lockstep and waveforms need single words.
#pragma once

#include <vector>

#include "tlm/tile/tile_model.h"

namespace tessera {

struct PhaseWords {
  struct Received {
    ExchangeWord word;
    unsigned source = 0;  ///< tile listened to
  };
  std::vector<ExchangeWord> sent;  ///< in time order
  std::vector<Received> received;  ///< in time order; words not known before finish()

  /// At the stop `exchange` of `tile` (effective issue cycle and table in `stop`), before anybody writes its SRAM.
  void begin(TileModel& tile, const TileConfig& config, const TileStop& stop, Cycle release);
  /// At finish_exchange: received words are in the SRAM; what an underrun cut off is dropped. A word whose place was
  /// written again later in the phase shows the later value.
  void finish(TileModel& tile, const ExchangeResult& result);
};

}  // namespace tessera
