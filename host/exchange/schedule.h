// The exchange scheduler: messages in, timed descriptor tables of every tile out (docs/machine/exchange.md).
// Knows delays and start rules; knows nothing of tensors, and never looks at memory contents.
//
// It works in spine time u = t_send + S(s) = t_receive - B - R(d), in which all delays vanish: a word occupies its
// sender's and its receivers' ports in the same u. Deterministic: equal input gives equal bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/exchange/messages.h"

namespace tessera::exchange {

struct Options {
  /// Earliest start t of any descriptor, cycles after Z: 12 if x.exchange is the first instruction after the release,
  /// and 6 more for each supervisor instruction before it.
  unsigned earliest = 18;
  /// Phases end before this cycle; longer ones are cut into several.
  unsigned max_cycles = 262144;
  /// The search for a shorter schedule stops within this much of the lower bound.
  unsigned good_permille = 1030;
};

/// One phase: what runs under one x.exchange.
struct Phase {
  /// Encoded table of each tile (u64 words: header, send list, receive list); empty if the tile takes no part.
  std::vector<std::vector<std::uint64_t>> tables;
  unsigned cycles = 0;      ///< end of the last listening cycle, from Z; the header's phase length
  unsigned bound = 0;       ///< lower bound of `cycles` for these messages
  std::uint64_t words = 0;  ///< words received, multicast counted for each receiver
  /// Last cycle, from Z, in which each tile has a word on a port; 0 if the table is empty. The supervisor goes on at
  /// max(X + 12, Z + last_word + 4).
  std::vector<unsigned> last_word;
};

struct Schedule {
  std::vector<Phase> phases;  ///< run one after the other, a sync before each
  [[nodiscard]] std::uint64_t cycles() const {
    std::uint64_t sum = 0;
    for (const Phase& p : phases) sum += p.cycles;
    return sum;
  }
  [[nodiscard]] std::uint64_t bound() const {
    std::uint64_t sum = 0;
    for (const Phase& p : phases) sum += p.bound;
    return sum;
  }
  /// Bytes of all tables of all phases.
  [[nodiscard]] std::uint64_t table_bytes() const;
};

/// Schedules all messages. Throws std::logic_error for tiles or addresses that cannot be encoded, and
/// Error(does_not_fit) if a tile's list has more than 65535 table words.
[[nodiscard]] Schedule schedule(const Messages& messages, const Delays& delays, const Options& options = {});

}  // namespace tessera::exchange
