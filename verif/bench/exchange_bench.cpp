#include "verif/bench/exchange_bench.h"

#include <fmt/format.h>

#include <memory>
#include <stdexcept>
#include <vector>

#include "tlm/exchange/fabric.h"
#include "verif/bench/tile_machine.h"

namespace tessera::bench {

namespace {

constexpr unsigned kWords = 256;

/// A fabric alone, with tiles that only hold tables and words.
class Phases {
 public:
  /// `replay`: phases seen before are copied again; else each is matched anew.
  Phases(const Platform& platform, bool replay) : replay_(replay), fabric_(FabricTiming::of(platform)) {
    for (unsigned t = 0; t < platform.tiles; ++t) {
      TileConfig config;
      config.tile = t;
      config.tiles = platform.tiles;
      config.sram_bytes = kMachineSram;
      tiles_.push_back(std::make_unique<TlmTile>(config));
      const auto table = piece_table(fabric_.timing(), t, 1, kWords);
      put_words(*tiles_.back(), kMachineTable, table.data(), table.size() * sizeof table[0]);
    }
  }

  /// Reads the tables of all tiles, resolves and copies, `count` times.
  void run(unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      release_ += 1000;
      fabric_.begin_phase();
      for (unsigned t = 0; t < tiles_.size(); ++t) publish(t);
      for (const PhaseOutcome& outcome : fabric_.resolve())
        if (outcome.result.fault) throw std::runtime_error("an exchange fault in the exchange benchmark");
    }
  }

  /// Throws unless `phases` phases moved all their words, as they should.
  void check(std::uint64_t phases) const {
    const FabricCounters& seen = fabric_.counters();
    if (seen.words_received != phases * tiles_.size() * kWords || (seen.replayed > 0) != replay_)
      throw std::runtime_error("the phases of the exchange benchmark are not what was meant");
  }

 private:
  void publish(unsigned t) {
    ExchangeInputs in;
    in.sram = tiles_[t]->sram();
    in.sram_bytes = kMachineSram;
    in.table = kMachineTable;
    in.issue = release_ + 6;
    in.release = release_;
    in.tiles = static_cast<unsigned>(tiles_.size());
    if (replay_)
      fabric_.publish(t, *tiles_[t], in);
    else
      fabric_.publish(t, *tiles_[t], in.issue, read_exchange_table(in));
  }

  bool replay_;
  Fabric fabric_;
  std::vector<std::unique_ptr<TlmTile>> tiles_;
  Cycle release_ = 0;
};

}  // namespace

Report run_exchange_bench(const Effort& effort, unsigned threads) {
  Platform platform = load_platform("c2");
  if (effort.quick) platform.tiles = platform.tiles_per_column * 2;
  const unsigned steps = effort.quick ? 5 : 200;
  const double words = static_cast<double>(platform.tiles) * kWords;

  TileMachine silent(platform, {}, threads), shifting(platform, {1, kWords, 0}, threads);
  Phases anew(platform, false), again(platform, true);
  again.run(3);
  shifting.supersteps(3);  // the phase is replayed from its third time on

  Figure sync{"supersteps without words", "1/s", "", "all tiles sync, nothing else", {}, {}};
  Figure tile{"tile supersteps", "M/s", "", "the same, times tiles", {}, {}};
  Figure replayed{"supersteps that exchange", "1/s", "", "each tile sends to the next; tables as before", {}, {}};
  Figure moved{"words in them", "Mword/s", "", "words received by TLM tiles", {}, {}};
  Figure matched{"phases matched anew", "1/s", "", "fabric alone: tables read, runs matched, words copied", {}, {}};
  Figure copied{"phases replayed", "1/s", "", "fabric alone: tables compared, words copied", {}, {}};
  Figure matched_words{"words matched anew", "Mword/s", "", "words received in phases matched anew", {}, {}};
  const double count = steps;
  for (unsigned round = 0; round < effort.rounds; ++round) {
    const Seconds a = timed([&] { silent.supersteps(steps); });
    sync.add_rate(count, a);
    tile.add_rate(1e-6 * count * platform.tiles, a);
    const Seconds b = timed([&] { shifting.supersteps(steps); });
    replayed.add_rate(count, b);
    moved.add_rate(1e-6 * count * words, b);
    const Seconds c = timed([&] { anew.run(steps); });
    matched.add_rate(count, c);
    matched_words.add_rate(1e-6 * count * words, c);
    copied.add_rate(count, timed([&] { again.run(steps); }));
  }
  shifting.check();
  anew.check(std::uint64_t{effort.rounds} * steps);
  again.check(std::uint64_t{effort.rounds} * steps + 3);
  Report report;
  report.name = "exchange";
  report.figures = {sync, tile, replayed, moved, matched, matched_words, copied};
  report.figures.push_back(
      ratio("exchanging / silent", replayed, sync, "", "supersteps a second with words and without"));
  report.figures.push_back(ratio("replayed / matched", copied, matched, "", "phases a second in the fabric alone"));
  report.notes = {fmt::format("{} TLM tiles, {} supersteps a round, {} words to each tile; {} of {} phases replayed",
                              platform.tiles, steps, kWords, shifting.counters().replayed, shifting.counters().phases)};
  return report;
}

}  // namespace tessera::bench
