// What a Fabric keeps of each tile and of the phase that it records; for its own sources only.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tlm/exchange/fabric.h"
#include "tlm/exchange/phase_cache.h"

namespace tessera {

/// Words [from, to) of a run that somebody heard; merged as far as cheap, so a multicast costs one entry.
using HeardWords = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

/// What a tile has put on its send wire since the release.
struct Fabric::Source {
  // Interval based.
  TileModel* tile = nullptr;
  Cycle issue = 0;
  std::optional<ExchangeInputs> unread;  // the table is still to be read
  ExchangePhase phase;
  std::vector<HeardWords> heard;  // one for each send run
  // Pin level: runs of consecutive cycles; `fresh` is what the tile sent since the last commit.
  struct LogRun {
    Cycle start = 0;
    std::vector<Word> words;
  };
  std::vector<LogRun> log;
  std::vector<std::pair<Cycle, Word>> fresh;
  std::unique_ptr<Port> port;
};

struct Fabric::Replay {
  PhaseCache cache;
  bool recording = false;
  std::vector<PhaseCache::Participant> participants;  // of the phase that is resolved
  std::vector<std::uint8_t*> memories;                // SRAM of each tile that takes part
  std::vector<ExchangeInputs> inputs;                 // what those of a recorded phase point to
  PhaseCache::Phase phase;
  std::vector<UnheardRun> unheard;  // of a replayed phase
};

}  // namespace tessera
