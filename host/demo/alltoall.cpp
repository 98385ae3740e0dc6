// All tiles of an IPU exchange with all others: a piece of n words from each tile to each other one, in one phase.
//
// One descriptor a port (docs/machine/exchange.md): in spine time u, in which all delays vanish, tile s sends the piece
// for tile s + 1 + k from u0 + k n on, one word a cycle without gap, and tile d sweeps over its sources d - 1, d - 2,
// ... at the same times. So one-word pieces cost one cycle, where a descriptor a piece would cost two. Send and receive
// buffers are in the order of k.
#include <fmt/format.h>

#include <algorithm>

#include "host/demo/builder.h"
#include "host/demo/kinds.h"
#include "hw/encode.h"
#include "hw/error.h"
#include "hw/generated/machine.h"

namespace tessera::demo {

namespace {

using isa::encode;
using isa::Op;

constexpr std::uint32_t kTileFactor = 0x9E3779B1, kWordFactor = 0x85EBCA6B, kSaltFactor = 0xC2B2AE35;
constexpr unsigned kMostWords = 64;

/// Word j of the send buffer of a tile; the receiver of piece k finds it at its own word j.
std::uint32_t sent_word(std::uint32_t tile, std::uint32_t j, std::uint32_t salt) {
  const std::uint32_t v = (tile + 1) * kTileFactor + j * kWordFactor + salt * kSaltFactor;
  return v ^ v >> 15;
}

/// Fills state[1] words at state[0] with sent_word(this tile, j, salt) for state[2] = salt x kSaltFactor; worker tp
/// takes words tp, tp + 6, ...
std::vector<std::uint32_t> fill_code() {
  using namespace compiler;  // NOLINT: register names
  constexpr int t0 = 5, t1 = 6, a0 = 10, a2 = 12, a3 = 13, a4 = 14, a5 = 15, tp = 4, ra = 1;
  Assembler as(0);
  const auto op = [&](Op o, std::initializer_list<std::int64_t> x) { as.word(encode(o, x)); };
  op(Op::lw, {a2, 0, a0});  // next word
  op(Op::lw, {a3, 4, a0});  // words
  op(Op::lw, {a4, 8, a0});
  op(Op::csrrs, {t0, csr::xtile, 0});
  op(Op::addi, {t0, t0, 1});
  as.li(static_cast<Reg>(t1), kTileFactor);
  op(Op::mul, {t0, t0, t1});
  op(Op::add, {a4, a4, t0});
  as.li(static_cast<Reg>(t1), kWordFactor);
  op(Op::mul, {t0, tp, t1});
  op(Op::add, {a4, a4, t0});  // value before the last mixing
  as.li(static_cast<Reg>(t1), 6 * kWordFactor);
  op(Op::slli, {t0, tp, 2});
  op(Op::add, {a2, a2, t0});
  op(Op::slli, {a3, a3, 2});
  op(Op::lw, {t0, 0, a0});
  op(Op::add, {a3, a3, t0});  // end
  const Assembler::Label head = as.label(), out = as.label();
  as.bind(head);
  as.bgeu(static_cast<Reg>(a2), static_cast<Reg>(a3), out);
  op(Op::srli, {a5, a4, 15});
  op(Op::xor_, {a5, a5, a4});
  op(Op::sw, {a5, 0, a2});
  op(Op::add, {a4, a4, t1});
  op(Op::addi, {a2, a2, 24});
  as.jal(zero, head);
  as.bind(out);
  op(Op::jalr, {0, 0, ra});
  return as.finish();
}

struct Size {
  std::uint32_t words = 1;  ///< of a piece
  Address send = 0, receive = 0;
  std::string name;
};

exchange::Messages messages_of(unsigned tiles, const Size& size) {
  exchange::Messages messages;
  messages.reserve(std::size_t{tiles} * (tiles - 1), 2 * std::size_t{tiles} * (tiles - 1));
  const std::uint32_t from = (size.send - kSramBase) / 4, to = (size.receive - kSramBase) / 4;
  for (unsigned s = 0; s < tiles; ++s)
    for (unsigned k = 0; k + 1 < tiles; ++k) {
      const exchange::Place source{static_cast<std::uint16_t>(s), 0, from + k * size.words};
      const exchange::Place target{static_cast<std::uint16_t>((s + 1 + k) % tiles), 0, to + k * size.words};
      messages.add(source, target, size.words);
    }
  return messages;
}

/// Cycles before which no schedule can end: the farthest receiver takes all its words, the first one at the earliest.
unsigned bound_of(const exchange::Delays& delays, std::uint32_t words) {
  unsigned bound = 0;
  for (unsigned d = 0; d < delays.tiles(); ++d) {
    unsigned nearest = ~0U;
    for (unsigned s = 0; s < delays.tiles(); ++s)
      if (s != d) nearest = std::min(nearest, delays.send[s]);
    bound = std::max(bound, kExchangeFirstStart + nearest + delays.base + delays.receive[d] + words);
  }
  return bound;
}

/// The phase as the head of this file says it.
exchange::Schedule schedule_of(const exchange::Delays& delays, const Size& size) {
  const unsigned tiles = delays.tiles();
  const std::uint32_t words = (tiles - 1) * size.words;
  const unsigned first = kExchangeFirstStart + *std::max_element(delays.send.begin(), delays.send.end());
  exchange::Phase phase;
  phase.bound = bound_of(delays, words);
  phase.words = std::uint64_t{tiles} * words;
  for (unsigned t = 0; t < tiles; ++t)
    phase.cycles = std::max(phase.cycles, first + words + delays.base + delays.receive[t]);
  for (unsigned t = 0; t < tiles; ++t) {
    ExchangeDescriptor send, receive;
    ExchangeBlock block;
    ExchangeSweep sweep;
    send.kind = kKindBlock;
    send.start = first - delays.send[t];
    send.words = size.words;
    send.address = (size.send - kSramBase) / 4;
    block.stride1 = block.stride2 = size.words;
    block.count1 = tiles - 1;
    block.count2 = 1;
    receive.kind = kKindSweep;
    receive.start = first + delays.base + delays.receive[t];
    receive.words = size.words;
    receive.address = (size.receive - kSramBase) / 4;
    receive.peer = (t + tiles - 1) % tiles;
    sweep.count = tiles - 1;
    sweep.step = -1;
    sweep.wrap = tiles;
    sweep.stride = size.words;
    ExchangeHeader header;
    header.sends = header.receives = 2;
    header.length = phase.cycles;
    if (!send.fits() || !receive.fits() || !block.fits() || !sweep.fits() || !header.fits() ||
        phase.cycles >= kExchangeMaxLength) {
      throw Error(
          Category::does_not_fit,
          fmt::format("pieces of {} words from {} tiles to {} do not fit an exchange table", size.words, tiles, tiles),
          "all-to-all", "give fewer --words");
    }
    phase.tables.push_back({header.pack(), send.pack(), block.pack(), receive.pack(), sweep.pack()});
    phase.last_word.push_back(static_cast<unsigned>(receive.start) + words - 1);
  }
  exchange::Schedule schedule;
  schedule.phases.push_back(std::move(phase));
  return schedule;
}

/// Compares every received word of every IPU with what its sender must have had.
Verdict verify(const Memory& memory, const std::vector<Size>& sizes, unsigned ipus, unsigned tiles) {
  Verdict verdict;
  for (std::size_t ipu = 0; ipu < ipus; ++ipu) {
    for (std::uint32_t n = 0; n < sizes.size(); ++n) {
      const std::uint32_t pieces = tiles - 1, words = pieces * sizes[n].words;
      const std::vector<std::uint32_t> received = memory.tensor(sizes[n].name, ipu);
      if (received.size() != std::size_t{tiles} * words) throw std::logic_error("all-to-all: a tensor of another size");
      for (unsigned d = 0; d < tiles; ++d)
        for (std::uint32_t k = 0; k < pieces; ++k) {
          const std::uint32_t source = (d + 2 * tiles - 1 - k) % tiles;
          for (std::uint32_t i = 0; i < sizes[n].words; ++i, ++verdict.values) {
            const std::uint32_t j = k * sizes[n].words + i;
            const std::uint32_t got = received[std::size_t{d} * words + j], want = sent_word(source, j, n);
            if (got == want || !verdict.failure.empty()) continue;
            verdict.failure = fmt::format(
                "word {} of the piece of {} words from tile {} to tile {} of IPU {} is 0x{:08x}, not "
                "0x{:08x}",
                i, sizes[n].words, source, d, ipu, got, want);
          }
        }
    }
  }
  verdict.text = "words received, each compared with its sender's";
  return verdict;
}

std::vector<std::uint32_t> piece_sizes(const Arguments& arguments) {
  if (arguments.text("words") == "1,2,8") return {1, 2, 8};
  return {static_cast<std::uint32_t>(arguments.number("words", 1, kMostWords))};
}

Demonstration make(const Platform& platform, const Arguments& arguments) {
  const std::vector<std::uint32_t> pieces = piece_sizes(arguments);
  if (platform.tiles < 2) {
    throw Error(Category::unsupported, "an IPU of one tile has nobody to exchange with", "platform " + platform.name,
                "take a platform with two tiles or more");
  }
  Builder b("all-to-all", platform);
  const unsigned tiles = b.tiles();
  const exchange::Delays delays = exchange::delays_of(platform);
  const Code fill = b.code("fill", fill_code());
  std::vector<Size> sizes;
  for (const std::uint32_t n : pieces) {
    const std::string name = fmt::format("pieces of {} word{}", n, n == 1 ? "" : "s");
    const Address send = b.allocate((tiles - 1) * n);
    sizes.push_back({n, send, b.allocate((tiles - 1) * n), name});
  }
  for (std::uint32_t n = 0; n < sizes.size(); ++n) {
    std::vector<Call> calls;
    for (unsigned ipu = 0; ipu < b.ipus(); ++ipu)
      for (unsigned t = 0; t < tiles; ++t) {
        const TileRef tile{static_cast<std::uint16_t>(ipu), static_cast<std::uint16_t>(t)};
        calls.push_back({tile, kAllWorkers, fill, {sizes[n].send, (tiles - 1) * sizes[n].words, n * kSaltFactor}});
      }
    b.compute("fill " + sizes[n].name, std::move(calls));
  }
  for (const Size& size : sizes) {
    b.exchange(size.name, messages_of(tiles, size), schedule_of(delays, size));
    b.tensor(size.name, executable::Type::u32, size.receive, std::uint64_t{tiles - 1} * size.words);
  }
  Demonstration demo;
  demo.executable = b.build();
  const unsigned ipus = b.ipus();
  demo.about = {fmt::format("each of {} tiles sends a piece to each of the {} others{}", tiles, tiles - 1,
                            ipus == 1 ? "" : fmt::format(", on {} IPUs", ipus))};
  demo.verify = [sizes, ipus, tiles](const Memory& memory) {
    return std::vector<Verdict>{verify(memory, sizes, ipus, tiles)};
  };
  return demo;
}

}  // namespace

Kind all_to_all() {
  Kind kind;
  kind.name = "alltoall";
  kind.does = "every tile of an IPU exchanges with every other, in pieces of 1, 2 and 8 words";
  kind.example = "tessera demo alltoall --platform c2";
  kind.ipus = 1;
  kind.parameters = {{"words", "1,2,8", "words of a piece, 1 to 64; 1,2,8 is one phase after the other"}};
  kind.make = make;
  return kind;
}

}  // namespace tessera::demo
