// Finds races of a tile (docs/machine/tile.md): two contexts touch a common byte, one of them writes it, and nothing
// orders the two. x.run orders the supervisor's past before the worker; x.sync and the implicit waits of x.run,
// x.amp.ldw, x.exchange and x.packet order workers before the supervisor. Fed with what exact mode does, in its order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "hw/types.h"
#include "tlm/tile/retire.h"

namespace tessera {

/// The first race of a tile: the earlier access and the later one.
struct TileRace {
  struct Access {
    ContextId context = 0;
    Address pc = 0;
    bool write = false;
    bool fetch = false;  ///< of an instruction
  };
  unsigned ipu = 0, tile = 0;
  Cycle cycle = 0;      ///< issue cycle of the later access
  Address address = 0;  ///< lowest byte of those in common
  Access first, second;
  Address supervisor_pc = 0, supervisor_return = 0;  ///< pc and x1 of the supervisor at that time
};

class RaceChecker {
 public:
  void retired(const RetireRecord& record);
  /// The supervisor has waited for these workers (bit w-1): what they did is ordered before what it does from now on.
  void waited(std::uint8_t workers);

  [[nodiscard]] const std::optional<TileRace>& race() const { return race_; }

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  /// What one context did to some bytes of a doubleword, the last time that it did so.
  struct Access {
    std::uint8_t mask;
    ContextId context;
    bool write, fetch;
    std::uint32_t epoch;  ///< of the context
    Address pc;
    std::uint32_t next;  ///< access to the same doubleword that came after it; of a free one the next free
  };
  /// A place of the table of doublewords: in use if its generation is the table's.
  struct Slot {
    Address doubleword = 0;
    std::uint32_t generation = 0;
    std::uint32_t first = kNone, last = kNone;  ///< accesses, oldest first
  };
  void fetch(const RetireRecord& record);
  void touch(const RetireRecord& record, Address address, unsigned bytes, bool write, bool fetch);
  void touch_doubleword(Cycle cycle, Address doubleword, const Access& now);
  void started(unsigned worker);
  Slot& slot(Address doubleword);
  [[nodiscard]] std::size_t place(Address doubleword) const;
  void grow();
  void append(Slot& slot, const Access& access);
  /// Takes out what `now` covers.
  void remove_covered(Slot& slot, const Access& now);
  void forget_all();

  /// seen_[c][d]: the last epoch of context d that is ordered before what c does now. A context's own epoch stands at
  /// [c][c]; it begins a new one whenever others may be ordered behind the old one.
  std::array<std::array<std::uint32_t, 7>, 7> seen_{
      {{1}, {0, 1}, {0, 0, 1}, {0, 0, 0, 1}, {0, 0, 0, 0, 1}, {0, 0, 0, 0, 0, 1}, {0, 0, 0, 0, 0, 0, 1}}};
  // Doublewords by open addressing. All is forgotten at every sync of the workers, so that must cost nothing.
  std::vector<Slot> slots_;  ///< a power of two of them
  std::size_t used_ = 0;     ///< of this generation
  std::uint32_t generation_ = 1;
  std::vector<Access> accesses_;
  std::uint32_t free_ = kNone;  ///< first of the free ones among them
  /// What a context fetched lately, by doubleword: the same again in the same epoch tells nothing new. A write of
  /// another context in between was compared with the first fetch; ordered behind it, it could only be where the
  /// context had ended its epoch.
  struct Fetched {
    Address doubleword = 1;  ///< 1: nothing
    std::uint32_t generation = 0;
    std::uint32_t epoch = 0;
    std::uint8_t mask = 0;
  };
  static constexpr std::size_t kFetched = 128;
  std::array<std::array<Fetched, kFetched>, 7> fetched_{};
  std::optional<TileRace> race_;
};

}  // namespace tessera
