// Fast mode against exact interleave on a worker that lives in x.rpt: matrix products fed by streams, in groups of four
// steps and out of order, bodies anywhere in their pages and across them, data beside code and at both ends of the
// SRAM, bodies that write their own code, that trap, that hold what may not repeat; with limits at any cycle. All state
// is compared: at the end each program brings streams, random state, counts and sums to registers and memory.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <random>
#include <string>

#include "tlm/tile/assembler.h"
#include "tlm/tile/tile_bench.h"
#include "tlm/tile/tlm_tile.h"

namespace tessera {
namespace {

using namespace tessera::testing;  // NOLINT: programs

constexpr std::uint32_t kBytes = 65536;
constexpr Address kEnd = kSramBase + kBytes, kWeights = kSramBase + 0x7f00, kArea = kSramBase + 0x8000;

struct Counter : RetireObserver {
  std::uint64_t records = 0, traps = 0, products = 0, rounds = 0;
  void retired(const RetireRecord& r) override {
    ++records;
    traps += r.trap;
    if (r.trap) return;
    products += isa::decode(r.word) == Op::x_amp_f16 || isa::decode(r.word) == Op::x_amp_g;
    rounds += r.next_pc < r.pc;
  }
  void exchanged(const ExchangeWord&) override {}
};

class Writer {
 public:
  explicit Writer(std::mt19937& random) : random_(random) {}
  std::vector<std::uint32_t> code;

  unsigned pick(unsigned n) { return static_cast<unsigned>(random_() % n); }
  std::int64_t pair() { return 2 * pick(8); }
  void emit(std::uint32_t word) { code.push_back(word); }
  void align(unsigned odd) {
    if (code.size() % 2 != odd) emit(nop());
  }

  /// Streams somewhere in an area, near the end of the SRAM, or misaligned.
  void streams(Address area) {
    for (int k = 0; k < 3; ++k) {
      Address at = area + 8 * pick(0x200);
      if (pick(12) == 0) at = kEnd - 8 * pick(40);
      if (pick(40) == 0) at = area + pick(64);
      const std::uint32_t a = pick(8) == 0 ? pick(0x10000) : (pick(16) - 8) & 0xffff;
      const std::uint32_t b = pick(8) == 0 ? 1 : (pick(64) - 32) & 0xffff;
      load_constant(code, 10, at);
      load_constant(code, 11, a | b << 16);
      emit(encode(Op::x_sset, {k, 10, 11}));
    }
  }
  std::int64_t step() { return pick(3) == 0 ? pick(4) : 0; }

  /// Four steps as compilers write them, any registers that may pair. Sometimes a little different.
  void group() {
    const bool odd = pick(6) == 0;
    const unsigned strange = pick(8);
    for (unsigned p = 0; p < 4; ++p) {
      for (;;) {  // until the two may pair
        const std::int64_t l0 = pair(), l1 = pair();
        if (l0 == l1) continue;
        std::uint32_t main = encode(Op::x_ld2st, {l0, l1, pair(), step(), step(), step()});
        std::uint32_t aux = encode(Op::x_amp_f16, {pair(), pair(), pair(), p});
        if (odd && strange == p) main = encode(Op::x_ld2, {l0, l1, step(), step()});
        if (odd && strange == p + 4) aux = encode(Op::x_amp_g, {pair(), pair(), pair(), pair(), (p + pick(2)) % 4});
        if (!isa::pairs(isa::decode(main), main, isa::decode(aux), aux)) continue;
        emit(main);
        emit(aux);
        break;
      }
    }
  }

  /// Doublewords of other things.
  void other(Address at) {
    switch (pick(12)) {
      case 0:
        emit(encode(Op::x_ldst, {pair(), pair(), step(), step()}));
        return emit(encode(Op::x_urand32, {pick(16)}));
      case 1:
        emit(i(Op::addi, 12, 12, 1));
        return emit(encode(Op::x_cvt_sr_f16v2_f32v2, {pick(16), pair()}));
      case 2:
        emit(encode(Op::x_mac_f16v4, {pair(), pair(), pair(), pair()}));
        return emit(r(Op::fadd_s, pick(16), pick(16), pick(16)) | 7u << 12);
      case 3:
        emit(encode(Op::x_exp_f32, {pick(16), pick(16)}));
        return emit(i(Op::csrrs, 13, 0, csr::xrpt));
      case 4:
        emit(r(Op::fmul_s, pick(16), pick(16), pick(16)) | 7u << 12);
        return emit(i(Op::csrrs, 14, 0, csr::fflags));
      case 5:
        emit(encode(Op::x_amp_f32, {pick(16), pick(16), pick(16), pick(8)}));
        return emit(encode(Op::x_amp_io, {pair(), pair(), pick(4)}));
      case 6:
        if (pick(6) != 0) break;
        // May not repeat; or writes over the doubleword behind, with what it was or with something else.
        if (pick(2) == 0) {
          emit(s(Op::beq, 0, pick(2), 8));
          return emit(nop());
        }
        load_constant(code, 28, pick(2) == 0 ? nop() : i(Op::addi, 15, 15, 3));
        load_constant(code, 29, at + 4 * static_cast<Address>(code.size() + 4));
        emit(s(Op::sw, 29, 28, 0));
        emit(nop());
        emit(nop());
        return emit(nop());
      default:
        break;
    }
    emit(encode(Op::x_ld2, {0, 2, step(), step()}));
    emit(encode(Op::x_add_f16v4, {pair() | 4, pair() | 4, pair() | 4}));
  }

  /// A repeat and its body.
  void loop(Address at) {
    Writer body(random_);
    const unsigned kind = pick(5);
    const Address body_at = at + 4 * static_cast<Address>(code.size() + 6);  // about; exact for what needs it
    if (kind < 3) {
      for (unsigned n = 1 + pick(2); n-- > 0;) body.group();
      if (pick(4) == 0) body.other(body_at);
    } else {
      for (unsigned n = 1 + pick(6); n-- > 0;) body.other(body_at);
    }
    const std::int64_t n = static_cast<std::int64_t>(body.code.size() / 2);
    const unsigned count = pick(10) == 0 ? 0 : 1 + pick(pick(4) == 0 ? 200 : 12);
    load_constant(code, 16, count);
    if (pick(3) == 0) {
      align(0);
      emit(pick(2) == 0 ? encode(Op::x_rpt, {16, n}) : encode(Op::x_rpti, {count, n}));
      emit(encode(Op::x_abs_f16v4, {pair(), pair()}));
    } else {
      align(1);
      emit(pick(2) == 0 ? encode(Op::x_rpt, {16, n}) : encode(Op::x_rpti, {count, n}));
    }
    code.insert(code.end(), body.code.begin(), body.code.end());
  }

  /// Brings state to where it is compared.
  void finish(Address area) {
    unsigned reg = 17;
    for (const unsigned number : {csr::xs0, csr::xs1, csr::xs2, csr::xst0, csr::xrng0, csr::xrng1, csr::xrng2,
                                  csr::xrng3, csr::xrpt, csr::fflags})
      emit(i(Op::csrrs, reg++, 0, static_cast<std::int32_t>(number)));
    load_constant(code, 10, area + 0xf00);
    for (int k = 0; k < 8; ++k) {
      emit(encode(Op::x_amp_io, {2 * k, 2 * k, k % 4}));
      emit(encode(Op::x_st64, {2 * k, 8, 10}));
    }
    emit(r(Op::x_exit, 0, 0));
  }

 private:
  std::mt19937& random_;
};

/// The same program into a tile: weights loaded by the supervisor, then one worker, whose streams go anywhere.
void load_program(TlmTile& tile, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::uint32_t> supervisor;
  load_constant(supervisor, 10, kWeights);
  supervisor.push_back(encode(Op::x_amp_ldw, {11, 10}));
  const Address at = kSramBase + 0x1000 + 8 * static_cast<Address>(random() % 1024);
  Writer writer(random);
  writer.streams(kArea);
  for (unsigned n = 1 + writer.pick(4); n-- > 0;) {
    writer.loop(at);
    if (writer.pick(3) == 0) writer.streams(writer.pick(10) == 0 ? at : kArea);
  }
  writer.finish(kArea);
  load_constant(supervisor, 5, at);
  supervisor.push_back(r(Op::x_run, 1 + seed % 6, 5, 10, 11));
  tile.write_memory(at, reinterpret_cast<const std::uint8_t*>(writer.code.data()), 4 * writer.code.size());
  ASSERT_LE(at + 4 * writer.code.size(), kWeights);
  supervisor.push_back(sync(6, 0, 0));
  supervisor.push_back(r(Op::ecall, 0));
  tile.write_memory(kSramBase, reinterpret_cast<const std::uint8_t*>(supervisor.data()), 4 * supervisor.size());
  std::vector<std::uint32_t> data((kEnd - kWeights) / 4);
  for (std::uint32_t& word : data) {
    word = static_cast<std::uint32_t>(random());
    if (random() % 16 != 0) word = (word & 0x8fff8fffu) | 0x30003000u;  // f16 numbers near one
  }
  tile.write_memory(kWeights, reinterpret_cast<const std::uint8_t*>(data.data()), 4 * data.size());
}

/// Runs to the end in one go or in steps of up to `longest` cycles.
TileStop run(TlmTile& tile, std::mt19937* limits, unsigned longest) {
  tile.start(kSramBase, 3);
  constexpr Cycle kLast = 400'000;
  Cycle limit = limits != nullptr ? 0 : kLast;
  for (;;) {
    if (limits != nullptr) limit = std::min(kLast, limit + 1 + (*limits)() % longest);
    const TileStop stop = tile.run(limit, nullptr, nullptr);
    if (stop.kind != TileStop::Kind::limit || limit == kLast) return stop;
  }
}

void expect_same(const TlmTile& a, const TlmTile& b, unsigned seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  expect_same_state(a, b);
  ASSERT_FALSE(::testing::Test::HasFailure());
}

TEST(TlmLoopCross, FastEqualsExact) {
  TileConfig config;
  config.sram_bytes = kBytes;
  auto cache = std::make_shared<CodeCache>();
  Counter all;
  unsigned races = 0;
  for (unsigned seed = 0; seed < 6000; ++seed) {
    TlmTile exact(config, cache), fast(config, cache), chopped(config, cache), slivers(config, cache);
    for (TlmTile* tile : {&exact, &fast, &chopped, &slivers}) ASSERT_NO_FATAL_FAILURE(load_program(*tile, seed));
    exact.observe(&all);
    std::mt19937 limits(seed);
    const TileStop want = run(exact, nullptr, 0);
    // A worker that writes over the supervisor's code races with it.
    std::array<std::uint8_t, 256> before{}, after{};
    fast.read_memory(kSramBase, before.data(), before.size());
    exact.read_memory(kSramBase, after.data(), after.size());
    if (before != after) {
      ++races;
      continue;
    }
    const TileStop stops[] = {run(fast, nullptr, 0), run(chopped, &limits, 20'000), run(slivers, &limits, 300)};
    for (const TileStop& stop : stops) {
      ASSERT_EQ(stop.kind, want.kind) << "seed " << seed;
      ASSERT_EQ(stop.cycle, want.cycle) << "seed " << seed;
    }
    for (const TlmTile* tile : {&fast, &chopped, &slivers}) ASSERT_NO_FATAL_FAILURE(expect_same(exact, *tile, seed));
  }
  std::printf("%llu records, %llu traps, %llu matrix steps, %llu rounds ended\n",
              static_cast<unsigned long long>(all.records), static_cast<unsigned long long>(all.traps),
              static_cast<unsigned long long>(all.products), static_cast<unsigned long long>(all.rounds));
  EXPECT_LT(races, 60u);
  EXPECT_GT(all.products, 300'000u);
  EXPECT_GT(all.rounds, 100'000u);
  EXPECT_GT(all.traps, 500u);
}

}  // namespace
}  // namespace tessera
