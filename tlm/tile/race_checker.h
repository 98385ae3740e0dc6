// Finds races of a tile (docs/machine/tile.md): two contexts touch a common byte, one of them writes it, and nothing
// orders the two. x.run orders the supervisor's past before the worker; x.sync and the implicit waits of x.run,
// x.amp.ldw, x.exchange and x.packet order workers before the supervisor. Fed with what exact mode does, in its order.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>
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
};

class RaceChecker {
 public:
  void retired(const RetireRecord& record);
  /// The supervisor has waited for these workers (bit w-1): what they did is ordered before what it does from now on.
  void waited(std::uint8_t workers);

  [[nodiscard]] const std::optional<TileRace>& race() const { return race_; }

 private:
  /// What one context did to some bytes of a doubleword, the last time that it did so.
  struct Access {
    std::uint8_t mask;
    ContextId context;
    bool write, fetch;
    std::uint32_t epoch;  ///< of the context
    Address pc;
  };
  void fetch(const RetireRecord& record);
  void touch(const RetireRecord& record, Address address, unsigned bytes, bool write, bool fetch);
  void touch_doubleword(Cycle cycle, Address doubleword, const Access& now);
  void started(unsigned worker);

  /// seen_[c][d]: the last epoch of context d that is ordered before what c does now. A context's own epoch stands at
  /// [c][c]; it begins a new one whenever others may be ordered behind the old one.
  std::array<std::array<std::uint32_t, 7>, 7> seen_{
      {{1}, {0, 1}, {0, 0, 1}, {0, 0, 0, 1}, {0, 0, 0, 0, 1}, {0, 0, 0, 0, 0, 1}, {0, 0, 0, 0, 0, 0, 1}}};
  std::unordered_map<Address, std::vector<Access>> doublewords_;
  /// What a context fetched lately, by doubleword: the same again in the same epoch tells nothing new. A write of
  /// another context in between was compared with the first fetch; ordered behind it, it could only be where the
  /// context had ended its epoch.
  struct Fetched {
    Address doubleword = 1;  ///< 1: nothing
    std::uint32_t epoch = 0;
    std::uint8_t mask = 0;
  };
  static constexpr std::size_t kFetched = 128;
  std::array<std::array<Fetched, kFetched>, 7> fetched_{};
  std::optional<TileRace> race_;
};

}  // namespace tessera
