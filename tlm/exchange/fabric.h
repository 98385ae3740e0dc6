// The exchange fabric of one IPU: a word sent by s at t stands at d at t + B + S(s) + R(d); no queues, no arbitration.
//
// Interval-based tiles publish what their tables send and receive; a phase is resolved by matching each receive run
// with the send runs of its source and copying blocks. Pin-level tiles move words one by one through port(); what they
// send is logged as a timeline that the others (and pin-level tiles) receive from. Both kinds may share a phase.
// Not modelled here: when a tile may exchange and what follows a fault (the tile's side), sync (tlm/sync).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "hw/platform.h"
#include "hw/types.h"
#include "tlm/tile/exchange_engine.h"
#include "tlm/tile/tile_model.h"

namespace tessera {

/// Delays in cycles: base B, and per tile S (to the spine) and R (from it).
struct FabricTiming {
  Cycle base = 20;
  std::vector<Cycle> send;
  std::vector<Cycle> receive;

  /// Of the tiles of an IPU.
  [[nodiscard]] static FabricTiming of(const Platform& platform);
  [[nodiscard]] std::size_t tiles() const { return send.size(); }
  [[nodiscard]] Cycle delay(unsigned from, unsigned to) const { return base + send[from] + receive[to]; }
  /// Smallest and largest delay between any two tiles (a tile may listen to itself).
  [[nodiscard]] Cycle smallest() const;
  [[nodiscard]] Cycle largest() const;
};

/// Words since construction: moved counts each word sent once and each word received once for each listener.
struct FabricCounters {
  std::uint64_t words_sent = 0;
  std::uint64_t words_received = 0;
  std::uint64_t words_unheard = 0;  ///< sent by interval-based tiles, heard by nobody and not declared so
  std::uint64_t phases = 0;         ///< phases in which an interval-based tile took part
  std::uint64_t replayed = 0;       ///< of these, those that were matched before and only copied again
};

/// A run of words that nobody heard and whose descriptor does not say "may be unheard".
struct UnheardRun {
  unsigned tile = 0;
  Address descriptor = 0;
  std::uint64_t words = 0;
};

/// Outcome of a phase for one interval-based tile.
struct PhaseOutcome {
  unsigned tile = 0;
  ExchangeResult result;
  Cycle first_word = 0;  ///< first cycle in which a word was on a port of the tile (X if none)
};

class Fabric {
 public:
  explicit Fabric(FabricTiming timing);
  ~Fabric();
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  [[nodiscard]] const FabricTiming& timing() const { return timing_; }

  /// A release: words of the phase before are gone. Returns what nobody heard of them.
  std::vector<UnheardRun> begin_phase();

  /// An interval-based tile has stopped at x.exchange with effective issue cycle `issue`. Its sends are on the wires
  /// from now on; they are read from its SRAM when somebody receives them. `tile` must outlive the phase.
  void publish(unsigned id, TileModel& tile, Cycle issue, ExchangePhase phase);

  /// The same, with the table still to be read; `inputs.issue` is X. A phase whose tables are known is replayed.
  void publish(unsigned id, TileModel& tile, const ExchangeInputs& inputs);

  /// What pin-level tile `id` drives and hears; valid as long as the fabric. Words sent become visible to others at
  /// commit(), so several ports may be used by several threads at once between two commits.
  ExchangePort& port(unsigned id);
  void commit();

  /// Last cycle in which a published, unresolved tile listens; pin-level tiles must have been run beyond it (less the
  /// smallest delay) and committed before resolve(). 0 if nobody listens.
  [[nodiscard]] Cycle last_listening();
  /// Last cycle in which a word of a published, unresolved tile can stand at a listener. Pin-level tiles read it from
  /// the sender's SRAM, so they must have been run beyond it before the sender may go on. 0 if nobody sends.
  [[nodiscard]] Cycle last_heard();
  [[nodiscard]] bool pending() const { return !pending_.empty(); }
  /// Some published, unresolved tile receives from tile `id`.
  [[nodiscard]] bool pending_listens_to(unsigned id);

  /// Copies what every published, unresolved tile receives and tells each its outcome, in tile order. A tile may not
  /// send a word that it receives in the same phase, so the order of copies does not matter.
  std::vector<PhaseOutcome> resolve();

  /// Unheard words of the phase that stands.
  [[nodiscard]] std::vector<UnheardRun> unheard() const;
  [[nodiscard]] const FabricCounters& counters() const { return counters_; }

 private:
  class Port;
  struct Source;

  /// Index of the send run that is on the wire in cycle `sent`; the number of runs if none is.
  static std::size_t run_at(const Source& source, Cycle sent);
  std::uint32_t peek(unsigned id, Cycle sent, Word& word) const;
  /// The tile waits for the phase.
  void wait(unsigned id);
  /// Reads the table of a source that was published with one.
  void read(Source& source);
  ExchangeResult receive_all(unsigned id);
  void copied(unsigned from, unsigned to, const std::uint8_t* from_bytes, const std::uint8_t* to_bytes,
              std::size_t bytes);
  // Replay (fabric_replay.cpp).
  [[nodiscard]] bool replay(std::vector<PhaseOutcome>& outcomes);
  void begin_recording();
  void record(const std::vector<PhaseOutcome>& outcomes);
  void finish_recording(const std::vector<UnheardRun>& unheard);
  std::uint32_t copy_words(unsigned source, unsigned receiver, Cycle sent, std::uint8_t* to, std::uint32_t words);
  std::uint32_t copy_from_runs(unsigned source, unsigned receiver, Cycle sent, std::uint8_t* to, std::uint32_t words);
  std::uint32_t copy_from_log(const Source& source, Cycle sent, std::uint8_t* to, std::uint32_t words) const;

  FabricTiming timing_;
  FabricCounters counters_;
  std::vector<Source> sources_;
  std::vector<unsigned> pending_;
  bool published_ = false;  // by an interval-based tile, in this phase
  bool pins_ = false;       // a pin-level tile takes part in this IPU
  unsigned resolved_ = 0;   // calls of resolve() in this phase
  struct Replay;
  std::unique_ptr<Replay> replay_;
};

}  // namespace tessera
