// Exchange phases that were matched before: which tiles took part with which tables, and the block copies that came of
// it. A phase is replayed while every table holds the same words and every base register the same value; only phases
// without faults and without pin-level tiles are kept. Results are the same with and without.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "hw/types.h"
#include "tlm/exchange/fabric.h"
#include "tlm/tile/exchange_engine.h"

namespace tessera {

class PhaseCache {
 public:
  /// One tile's part; times are relative to the release.
  struct Part {
    unsigned tile = 0;
    Address table = 0;
    std::array<std::uint32_t, 3> xbase{};
    std::uint32_t xsource = 0;
    Cycle issue = 0;                  ///< latest x.exchange for which it is known to have no fault
    std::vector<std::uint8_t> words;  ///< of the table
    Cycle first_word = 0, last_word = 0;
    bool silent = false;  ///< no word on a port: first and last are the issue
  };
  struct Copy {
    std::uint16_t from = 0, to = 0;
    std::uint32_t from_offset = 0, to_offset = 0, bytes = 0;  ///< offsets in the SRAMs
  };
  struct Phase {
    std::vector<Part> parts;
    std::vector<Copy> copies;
    std::uint64_t sent = 0, received = 0;
    std::vector<UnheardRun> unheard;
  };
  struct Participant {
    unsigned tile = 0;
    const ExchangeInputs* inputs = nullptr;
  };

  /// The phase that these tables make, if it is kept and nothing has changed.
  [[nodiscard]] const Phase* find(const std::vector<Participant>& participants) const;
  /// True if a phase with these tables is worth being kept: it has been seen before.
  [[nodiscard]] bool wanted(const std::vector<Participant>& participants);
  void keep(const std::vector<Participant>& participants, Phase phase);
  /// The part of a participant as far as its inputs tell.
  [[nodiscard]] static Part part_of(const Participant& participant);

 private:
  static std::uint64_t signature(const std::vector<Participant>& participants);
  static bool same(const Part& part, const Participant& participant);

  std::map<std::uint64_t, Phase> phases_;
  std::set<std::uint64_t> seen_;
  std::size_t copies_ = 0;
};

}  // namespace tessera
