// See tile_machine.h.
#include "verif/bench/tile_machine.h"

#include <algorithm>
#include <stdexcept>

#include "tlm/tile/assembler.h"

namespace tessera::bench {

namespace {

namespace as = tessera::testing;
using as::Op;

/// First word after the release: the x.exchange issues 6 cycles after it, 12 more are needed.
constexpr Cycle kFirst = 24;
constexpr Address kWorker = kSramBase + 0x800;

std::uint64_t linear(Cycle t, unsigned words, Address address, unsigned peer) {
  return (t << 4) | (std::uint64_t{words} << 22) | (std::uint64_t{(address - kSramBase) / 4} << 34) |
         (std::uint64_t{peer} << 52);
}

/// A supervisor that syncs for ever, and exchanges and runs its workers after each sync as asked.
std::vector<std::uint32_t> supervisor(const Superstep& superstep) {
  std::vector<std::uint32_t> code;
  as::load_constant(code, 5, 1);
  as::load_constant(code, 7, kMachineTable);
  as::load_constant(code, 8, kWorker);
  const std::size_t loop = code.size();
  code.push_back(as::sync(6, 5, static_cast<unsigned>(Zone::internal)));
  if (superstep.pieces != 0) code.push_back(as::r(Op::x_exchange, 0, 7));
  if (superstep.turns != 0) code.push_back(as::encode(Op::x_run, {7, 8, 0, 0}));
  code.push_back(as::i(Op::jal, 0, 0, 4 * (static_cast<int>(loop) - static_cast<int>(code.size()))));
  return code;
}

std::vector<std::uint32_t> worker(std::uint32_t turns) {
  std::vector<std::uint32_t> code;
  as::load_constant(code, 6, turns);
  for (unsigned k = 0; k < 6; ++k) code.push_back(as::i(Op::addi, 7 + k, 7 + k, 3));
  code.push_back(as::i(Op::addi, 6, 6, -1));
  code.push_back(as::s(Op::bne, 6, 0, -28));
  code.push_back(as::r(Op::x_exit, 0, 0));
  return code;
}

std::uint32_t word_of(unsigned tile, unsigned piece, unsigned word) { return tile << 12 | piece << 5 | (word & 31); }

}  // namespace

std::vector<std::uint64_t> piece_table(const FabricTiming& timing, unsigned tile, unsigned pieces, unsigned words) {
  // All sends of piece k stand on the spine in one moment, so a listener can take piece k of any tile then.
  const auto tiles = static_cast<unsigned>(timing.tiles());
  const Cycle farthest = *std::max_element(timing.send.begin(), timing.send.end());
  const auto spine = [&](unsigned k) { return kFirst + farthest + Cycle{k} * words; };
  std::vector<std::uint64_t> table{pieces | std::uint64_t{pieces} << 16};
  for (unsigned k = 0; k < pieces; ++k)
    table.push_back(linear(spine(k) - timing.send[tile], words, kMachineOut + 4 * k * words, 0));
  for (unsigned k = 0; k < pieces; ++k) {
    const unsigned source = (tile + tiles - (k + 1) % tiles) % tiles;
    table.push_back(linear(spine(k) + timing.base + timing.receive[tile], words, kMachineIn + 4 * k * words, source));
  }
  return table;
}

void put_words(TileModel& tile, Address at, const void* words, std::size_t bytes) {
  tile.write_memory(at, static_cast<const std::uint8_t*>(words), bytes);
}

TileMachine::TileMachine(const Platform& platform, const Superstep& superstep, unsigned threads)
    : superstep_(superstep), sync_(platform.sync.internal), pool_(threads), code_(std::make_shared<CodeCache>()) {
  IpuConfig config;
  config.tiles = platform.tiles;
  config.sram_bytes = kMachineSram;
  config.fabric = FabricTiming::of(platform);
  ipu_ = std::make_unique<Ipu>(
      config, [this](const TileConfig& c, TileMode) { return std::make_unique<TlmTile>(c, code_); }, pool_);
  const auto put = [this](unsigned t, Address at, const auto& words) {
    put_words(ipu_->tile(t), at, words.data(), words.size() * sizeof words[0]);
  };
  for (unsigned t = 0; t < platform.tiles; ++t) {
    put(t, kSramBase, supervisor(superstep));
    if (superstep.turns != 0) put(t, kWorker, worker(superstep.turns));
    if (superstep.pieces == 0) continue;
    put(t, kMachineTable, piece_table(config.fabric, t, superstep.pieces, superstep.words));
    std::vector<std::uint32_t> out;
    for (unsigned k = 0; k < superstep.pieces; ++k)
      for (unsigned w = 0; w < superstep.words; ++w) out.push_back(word_of(t, k, w));
    put(t, kMachineOut, out);
  }
  ipu_->boot(kSramBase, 0);
  advance();
}

void TileMachine::supersteps(unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    ipu_->release(ipu_->arrival()->latest + sync_, true);
    advance();
  }
}

void TileMachine::advance() {
  if (ipu_->advance(kNever - 1) != Ipu::Outcome::arrived)
    throw std::runtime_error("the tiles of a benchmark did not arrive");
}

void TileMachine::check() const {
  const unsigned tiles = ipu_->tiles(), words = superstep_.words;
  std::vector<std::uint32_t> got(std::size_t{superstep_.pieces} * words);
  for (unsigned t = 0; t < tiles; ++t) {
    ipu_->tile(t).read_memory(kMachineIn, reinterpret_cast<std::uint8_t*>(got.data()), 4 * got.size());
    for (unsigned i = 0; i < got.size(); ++i) {
      const unsigned k = i / words, source = (t + tiles - (k + 1) % tiles) % tiles;
      if (got[i] != word_of(source, k, i % words)) throw std::runtime_error("a word did not arrive");
    }
  }
}

}  // namespace tessera::bench
