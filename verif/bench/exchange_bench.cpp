#include "verif/bench/exchange_bench.h"

#include <fmt/format.h>

#include <memory>
#include <stdexcept>
#include <vector>

#include "hw/platform.h"
#include "tlm/exchange/fabric.h"
#include "tlm/system/ipu.h"
#include "tlm/system/tile_pool.h"
#include "tlm/tile/assembler.h"
#include "tlm/tile/code_cache.h"
#include "tlm/tile/tlm_tile.h"

namespace tessera::bench {

namespace {

namespace as = tessera::testing;
using as::Op;

constexpr Address kTable = kSramBase + 0x1000, kOut = kSramBase + 0x2000, kIn = kSramBase + 0x3000;
constexpr unsigned kWords = 256;
/// First word after the release: the x.exchange issues 6 cycles after it, 12 more are needed.
constexpr Cycle kFirst = 24;
constexpr std::uint32_t kSramBytes = 65536;

FabricTiming timing(const Platform& platform) {
  FabricTiming t;
  t.base = platform.exchange.base;
  for (unsigned tile = 0; tile < platform.tiles; ++tile) {
    t.send.push_back(platform.send_delay(tile));
    t.receive.push_back(platform.receive_delay(tile));
  }
  return t;
}

std::uint64_t linear(Cycle t, unsigned words, Address address, unsigned peer) {
  return (t << 4) | (std::uint64_t{words} << 22) | (std::uint64_t{(address - kSramBase) / 4} << 34) |
         (std::uint64_t{peer} << 52);
}

/// Each tile sends kWords words to the next one.
std::vector<std::uint64_t> shift_table(const FabricTiming& timing, unsigned tile) {
  const auto tiles = static_cast<unsigned>(timing.tiles());
  const unsigned source = (tile + tiles - 1) % tiles;
  return {1 | std::uint64_t{1} << 16, linear(kFirst, kWords, kOut, 0),
          linear(kFirst + timing.delay(source, tile), kWords, kIn, source)};
}

/// A supervisor that syncs for ever, and exchanges after each sync if `exchanges`.
std::vector<std::uint32_t> program(bool exchanges) {
  std::vector<std::uint32_t> code;
  as::load_constant(code, 5, 1);
  as::load_constant(code, 7, kTable);
  code.push_back(as::sync(6, 5, static_cast<unsigned>(Zone::internal)));
  if (exchanges) code.push_back(as::r(Op::x_exchange, 0, 7));
  code.push_back(as::i(Op::jal, 0, 0, exchanges ? -8 : -4));
  return code;
}

template <class T>
void put(TileModel& tile, Address at, const std::vector<T>& words) {
  tile.write_memory(at, reinterpret_cast<const std::uint8_t*>(words.data()), words.size() * sizeof(T));
}

/// An IPU of TLM tiles at its first arrival, all with the same program.
class Bench {
 public:
  Bench(const Platform& platform, bool exchanges, unsigned threads)
      : sync_(platform.sync.internal), pool_(threads), code_(std::make_shared<CodeCache>()) {
    IpuConfig config;
    config.tiles = platform.tiles;
    config.sram_bytes = kSramBytes;
    config.fabric = timing(platform);
    ipu_ = std::make_unique<Ipu>(
        config, [this](const TileConfig& c, TileMode) { return std::make_unique<TlmTile>(c, code_); }, pool_);
    for (unsigned t = 0; t < platform.tiles; ++t) {
      put(ipu_->tile(t), kSramBase, program(exchanges));
      put(ipu_->tile(t), kTable, shift_table(config.fabric, t));
      put(ipu_->tile(t), kOut, std::vector<std::uint32_t>(kWords, t + 1));
    }
    ipu_->boot(kSramBase, 0);
    advance();
  }

  void supersteps(unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      ipu_->release(ipu_->arrival()->latest + sync_, true);
      advance();
    }
  }
  [[nodiscard]] const FabricCounters& counters() const { return ipu_->fabric().counters(); }

  /// Throws unless every tile holds the words of its neighbour.
  void check() const {
    for (unsigned t = 0; t < ipu_->tiles(); ++t) {
      std::uint32_t last = 0;
      ipu_->tile(t).read_memory(kIn + 4 * (kWords - 1), reinterpret_cast<std::uint8_t*>(&last), 4);
      if (last != (t + ipu_->tiles() - 1) % ipu_->tiles() + 1) throw std::runtime_error("a word did not arrive");
    }
  }

 private:
  void advance() {
    if (ipu_->advance(kNever - 1) != Ipu::Outcome::arrived)
      throw std::runtime_error("the tiles of the exchange benchmark did not arrive");
  }

  Cycle sync_;
  TilePool pool_;
  std::shared_ptr<CodeCache> code_;
  std::unique_ptr<Ipu> ipu_;
};

/// A fabric alone, with tiles that only hold tables and words.
class Phases {
 public:
  /// `replay`: phases seen before are copied again; else each is matched anew.
  Phases(const Platform& platform, bool replay) : replay_(replay), fabric_(timing(platform)) {
    for (unsigned t = 0; t < platform.tiles; ++t) {
      TileConfig config;
      config.tile = t;
      config.tiles = platform.tiles;
      config.sram_bytes = kSramBytes;
      tiles_.push_back(std::make_unique<TlmTile>(config));
      put(*tiles_.back(), kTable, shift_table(fabric_.timing(), t));
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
    in.sram_bytes = kSramBytes;
    in.table = kTable;
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

  Bench silent(platform, false, threads), shifting(platform, true, threads);
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
