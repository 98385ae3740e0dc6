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
    Cycle issue = 0;                ///< latest x.exchange for which it is known to have no fault
    std::uint32_t table_bytes = 0;  ///< 0: the table reaches beyond the SRAM
    Cycle first_word = 0, last_word = 0;
    bool silent = false;  ///< no word on a port: first and last are the issue
  };
  struct Copy {
    std::uint16_t from = 0, to = 0;
    std::uint32_t from_offset = 0, to_offset = 0, bytes = 0;  ///< offsets in the SRAMs
  };
  /// Bytes of a tile that the phase writes.
  struct Written {
    unsigned tile = 0;
    std::uint32_t offset = 0, bytes = 0;
  };
  struct Phase {
    std::vector<Part> parts;
    std::vector<std::uint8_t> tables;  ///< of all parts, one after the other
    std::vector<Copy> copies;          ///< by receiver, in the order of its list
    std::vector<Written> written;
    std::uint64_t sent = 0, received = 0;
    std::vector<UnheardRun> unheard;
    std::uint64_t used = 0;  ///< when it was replayed or kept, counted in phases
    [[nodiscard]] std::size_t bytes() const;
    /// Adds the part of a participant as far as its inputs tell.
    void add(unsigned tile, const ExchangeInputs& inputs);
    /// Adds a copy, merged with the one before where both ends go on.
    void add(const Copy& copy);
  };
  struct Participant {
    unsigned tile = 0;
    const ExchangeInputs* inputs = nullptr;
  };

  /// The phase that these tables make, if it is kept and nothing has changed.
  [[nodiscard]] const Phase* find(const std::vector<Participant>& participants);
  /// True if a phase with these tables is worth being kept. The first few of the same tables are; where base registers
  /// make a new phase each time, only what comes a second time.
  [[nodiscard]] bool wanted(const std::vector<Participant>& participants);
  /// Keeps a phase; what was not used for longest makes room.
  void keep(const std::vector<Participant>& participants, Phase phase);

 private:
  static std::uint64_t signature(const std::vector<Participant>& participants, bool bases);
  static bool same(const Phase& phase, const std::vector<Participant>& participants);
  void make_room();

  std::map<std::uint64_t, Phase> phases_;
  std::map<std::uint64_t, unsigned> families_;  // phases kept of the same tables, by signature without bases
  std::set<std::uint64_t> seen_;
  std::size_t bytes_ = 0;
  std::uint64_t clock_ = 0;
};

}  // namespace tessera
