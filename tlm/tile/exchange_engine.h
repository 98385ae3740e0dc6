// The exchange engine of a tile as intervals: what a table sends and listens to, when, and which faults the tile can
// know by itself (overrun, bad descriptor). It moves no words: the fabric matches runs of all tiles, finds underruns,
// copies, and answers with TileModel::finish_exchange. Rules: docs/machine/exchange.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "hw/types.h"
#include "tlm/tile/tile_model.h"

namespace tessera {

/// Contiguous words on the send port: word k is on the port in cycle start + k, read from address + 4k.
struct SendRun {
  Cycle start = 0;
  std::uint32_t words = 0;
  Address address = 0;     ///< byte address in the tile
  Address descriptor = 0;  ///< byte address of the descriptor that made it
  bool may_be_unheard = false;
};

/// Contiguous words taken from the receive port: word k is taken in cycle start + k and written to address + 4k.
struct ReceiveRun {
  Cycle start = 0;
  std::uint32_t words = 0;
  Address address = 0;
  Address descriptor = 0;
  unsigned source = 0;  ///< tile listened to
};

/// A table as the tile executes it. Runs of a list are in time order and never overlap; a list stops at its own fault.
struct ExchangePhase {
  std::vector<SendRun> sends;
  std::vector<ReceiveRun> receives;
  std::optional<ExchangeResult::Fault> send_fault;     ///< 28 or 29
  std::optional<ExchangeResult::Fault> receive_fault;  ///< 28 or 29; an underrun found by the fabric may come earlier
  std::uint32_t length = 0;                 ///< phase length in cycles that the compiler wrote into the header
  Cycle send_quiet = 0, receive_quiet = 0;  ///< latest start of a descriptor that moves nothing; 0 if there is none
};

/// What a table is read against.
struct ExchangeInputs {
  const std::uint8_t* sram = nullptr;  ///< byte 0 is kSramBase
  std::uint32_t sram_bytes = 0;
  Address table = 0;  ///< 8-byte aligned with its header inside the SRAM (the tile traps otherwise)
  Cycle issue = 0;    ///< X, effective issue cycle of the x.exchange
  Cycle release = 0;  ///< Z
  std::array<std::uint32_t, 3> xbase{};
  std::uint32_t xsource = 0;
  unsigned tiles = 1;  ///< tiles of the IPU: a source beyond is a bad descriptor
};

/// Reads the table. Cost is proportional to descriptors and to their contiguous pieces, not to words.
[[nodiscard]] ExchangePhase read_exchange_table(const ExchangeInputs& inputs);

/// The fault that the tile traps with: the earlier one, receive before send in the same cycle.
[[nodiscard]] std::optional<ExchangeResult::Fault> first_fault(const std::optional<ExchangeResult::Fault>& send,
                                                               const std::optional<ExchangeResult::Fault>& receive);

/// L of docs/machine/exchange.md: the last cycle in which a word was on a port, a descriptor that moves nothing
/// started, or a list ended with a fault; X if there is none. `phase.receives` are the runs as taken, `receive_fault`
/// the fault that ended the list (an underrun cut off what came after it).
[[nodiscard]] Cycle last_cycle(const ExchangePhase& phase, const std::optional<ExchangeResult::Fault>& receive_fault,
                               Cycle issue);

}  // namespace tessera
