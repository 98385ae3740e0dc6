// Exchange phases: messages in, timed descriptor tables out (system.md section 6, docs/machine/exchange.md).
//
// A message is words that one tile sends once and any number of tiles hear in the same cycles. The scheduler chooses
// when each message is sent so that no tile sends or hears two words at once, and writes the tables. The checker proves
// a schedule from its tables alone and shares no code with the scheduler. Neither knows what the words mean.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hw/platform.h"
#include "hw/types.h"

namespace tessera::exchange {

/// Addresses of the words of a message in a tile, in the order in which they are on the wire: `words` contiguous words,
/// repeated count1 times by stride1, that again count2 times by stride2 (strides in words from start to start).
struct Pattern {
  std::uint32_t address = 0;  ///< in words from the base
  std::uint8_t base = 0;      ///< 0 SRAM start, 1..3 CSR xbase1..3
  std::uint32_t words = 0;    ///< 1..4096
  std::int32_t stride1 = 0;   ///< 19 bits signed
  std::uint32_t count1 = 1;   ///< 1..4095
  std::int32_t stride2 = 0;
  std::uint32_t count2 = 1;

  [[nodiscard]] std::uint64_t total() const { return std::uint64_t{words} * count1 * count2; }
  /// Needs a descriptor of two words.
  [[nodiscard]] bool block() const { return count1 > 1 || count2 > 1; }
  friend bool operator==(const Pattern& a, const Pattern& b) {
    return a.address == b.address && a.base == b.base && a.words == b.words && a.stride1 == b.stride1 &&
           a.count1 == b.count1 && a.stride2 == b.stride2 && a.count2 == b.count2;
  }
};

struct Destination {
  std::uint32_t tile = 0;
  Pattern to;
};

/// All patterns of a message have the same total. Destinations are distinct tiles (the source may be one of them).
struct Message {
  std::uint32_t source = 0;
  Pattern from;
  std::vector<Destination> to;
  bool may_be_unheard = false;  ///< no destination in this phase is fine
};

/// Table of one tile: header, send descriptors, receive descriptors.
struct TileTable {
  std::uint32_t tile = 0;
  std::vector<std::uint64_t> words;
};

struct Schedule {
  std::vector<TileTable> tables;  ///< of tiles with something to do, by tile
  std::uint32_t cycles =
      0;  ///< from the release Z: the last word of the phase is on a receiver's port in Z + cycles - 1
  std::uint32_t bound = 0;  ///< lower bound of cycles for these messages
  std::uint64_t words_sent = 0;
  std::uint64_t words_received = 0;  ///< each word once for each listener
};

struct ScheduleOptions {
  std::uint32_t first_start = 12;  ///< first legal time t: 12, and 6 more for each instruction before x.exchange
};

/// Schedules one phase. The same messages give the same tables. Throws Error (does_not_fit) if the phase is longer than
/// the 2^18 cycles that a table can say or has more descriptors than a header can count.
[[nodiscard]] Schedule schedule(const std::vector<Message>& messages, const Platform& platform,
                                const ScheduleOptions& options = {});

/// Lower bound of cycles: the busiest sender or receiver with its descriptors' costs, first start and delays.
[[nodiscard]] std::uint32_t lower_bound(const std::vector<Message>& messages, const Platform& platform,
                                        const ScheduleOptions& options = {});

}  // namespace tessera::exchange
