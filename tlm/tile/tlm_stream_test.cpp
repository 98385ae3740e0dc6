// Bit operations, post-increment accesses and streams: exact records, written down from docs/machine/timing.md,
// tile.md, isa.md and docs/lockstep.md.
#include <gtest/gtest.h>

#include "tlm/tile/tile_bench.h"

namespace tessera {

namespace {

using namespace tessera::testing;  // NOLINT: the bench

constexpr Address kEnd = kSramBase + 0x40000;  // of the default 256 KiB
const Code kExit = {encode(Op::x_exit, {0})};

std::uint64_t wide(std::uint32_t low, std::uint32_t high) { return low | std::uint64_t{high} << 32; }
std::uint32_t strides(std::int32_t a, std::int32_t b) {
  return (static_cast<std::uint32_t>(a) & 0xffff) | static_cast<std::uint32_t>(b) << 16;
}

TEST(TlmBits, CountReverseShuffle) {
  struct Case {
    Op op;
    std::uint32_t a, b, result;
  };
  const Case cases[] = {{Op::x_clz, 0, 0, 32},
                        {Op::x_clz, 1, 0, 31},
                        {Op::x_clz, 0x80000000, 0, 0},
                        {Op::x_clz, 0x00012345, 0, 15},
                        {Op::x_ctz, 0, 0, 32},
                        {Op::x_ctz, 0x80000000, 0, 31},
                        {Op::x_ctz, 1, 0, 0},
                        {Op::x_ctz, 0x00012300, 0, 8},
                        {Op::x_cpop, 0, 0, 0},
                        {Op::x_cpop, 0xffffffff, 0, 32},
                        {Op::x_cpop, 0xf00f1248, 0, 12},
                        {Op::x_brev, 1, 0, 0x80000000},
                        {Op::x_brev, 0x12345678, 0, 0x1e6a2c48},
                        {Op::x_brev, 0xffff0000, 0, 0x0000ffff},
                        {Op::x_shuf8, 0x44332211, 0x03020100, 0x44332211},
                        {Op::x_shuf8, 0x44332211, 0x00010203, 0x11223344},
                        {Op::x_shuf8, 0x44332211, 0x80028003, 0x00330044},
                        {Op::x_shuf8, 0x44332211, 0x7c7d7e7f, 0x11223344},
                        {Op::x_shuf8, 0x44332211, 0xffffffff, 0}};
  for (const Case& k : cases) {
    const std::uint32_t word = k.op == Op::x_shuf8 ? encode(k.op, {7, 5, 6}) : encode(k.op, {7, 5});
    WorkerBench worker(constants({{5, k.a}, {6, k.b}}), join({word}, kExit));
    worker.go();
    RetireRecord expected = worker.plain(0, word, 24);
    expected.xrd = 7;
    expected.xval = k.result;
    EXPECT_EQ(worker.record(0), expected) << isa::info(k.op).name;
    // The supervisor has them too.
    Bench supervisor(join(constants({{5, k.a}, {6, k.b}}), {word, encode(Op::ecall)}));
    supervisor.go();
    EXPECT_EQ(supervisor.seen.records.at(4).xval, k.result);
    EXPECT_FALSE(supervisor.seen.records.at(4).trap);
  }
}

TEST(TlmBits, ReservedFieldsAreIllegal) {
  for (const std::uint32_t word : {encode(Op::x_clz, {7, 5}) | 1u << 20, encode(Op::x_shuf8, {7, 5, 6}) | 1u << 25}) {
    WorkerBench bench({}, {word});
    bench.go();
    EXPECT_EQ(bench.record(0), bench.trapped(0, word, 0, 2, word));
  }
}

TEST(TlmPostIncrement, LoadsWriteRegistersAndPointer) {
  const struct {
    std::uint32_t word;
    unsigned pairs;
    std::int32_t by;
  } cases[] = {{encode(Op::x_ld64, {4, 16, 5}), 1, 16},   {encode(Op::x_ld64, {30, -2048, 5}), 1, -2048},
               {encode(Op::x_ld64, {4, 3, 5}), 1, 3},     {encode(Op::x_ld128, {4, 2047, 5}), 2, 2047},
               {encode(Op::x_ld128, {28, 0, 5}), 2, 0},   {encode(Op::x_ld64_r, {4, 5, 6}), 1, -24},
               {encode(Op::x_ld128_r, {8, 5, 6}), 2, -24}};
  for (const auto& k : cases) {
    WorkerBench bench(constants({{5, kData + 8}, {6, static_cast<std::uint32_t>(-24)}}), join({k.word}, kExit));
    bench.poke(kData + 8, {0x11, 0x22, 0x33, 0x44});
    bench.go();
    RetireRecord expected = bench.plain(0, k.word, 24);
    expected.xrd = 5;
    expected.xval = kData + 8 + static_cast<std::uint32_t>(k.by);
    expected.mem_read = true;
    for (unsigned n = 0; n < k.pairs; ++n) {
      expected.read_addr[n] = kData + 8 + 8 * n;
      expected.fwrite[n] = {2, static_cast<std::uint8_t>(isa::rd(k.word) + 2 * n),
                            wide(0x11 + 0x22 * n, 0x22 + 0x22 * n)};
    }
    EXPECT_EQ(bench.record(0), expected) << isa::info(isa::decode(k.word)).name;
    EXPECT_EQ(bench.tile.context(1).f[isa::rd(k.word) + 1], 0x22u);
  }
}

TEST(TlmPostIncrement, StoresTakeAPairAndMoveThePointer) {
  const std::uint32_t load_word = encode(Op::x_ld64, {10, 0, 6});
  for (const std::uint32_t word : {encode(Op::x_st64, {10, -8, 5}), encode(Op::x_st64_r, {10, 5, 7})}) {
    WorkerBench bench(
        join(constants({{5, kData}, {6, kData + 64}, {7, static_cast<std::uint32_t>(-8)}}), {nop(), load_word}),
        join({word}, kExit));
    bench.poke(kData + 64, {0xdeadbeef, 0x12345678});
    bench.go();
    RetireRecord expected = bench.plain(0, word, 48);
    expected.xrd = 5;
    expected.xval = kData - 8;
    expected.mem_write = true;
    expected.write_addr = kData;
    expected.write_mask = 0xff;
    expected.write_data = 0x12345678deadbeefu;
    EXPECT_EQ(bench.record(0), expected);
    EXPECT_EQ(bench.peek(kData), 0xdeadbeefu);
    EXPECT_EQ(bench.peek(kData + 4), 0x12345678u);
  }
}

TEST(TlmPostIncrement, IncrementByItselfDoublesThePointer) {
  const std::uint32_t word = encode(Op::x_ld64_r, {4, 5, 5});
  WorkerBench bench(constants({{5, kData}}), join({word}, kExit));
  bench.go();
  EXPECT_EQ(bench.record(0).xval, 2 * kData);
}

TEST(TlmPostIncrement, PointersWrap) {
  const std::uint32_t by = 0u - kData - 8;  // from kData to 0xfffffff8
  const std::uint32_t word = encode(Op::x_ld64_r, {4, 5, 6});
  WorkerBench bench(constants({{5, kData}, {6, by}, {7, kData}, {8, 0xfffffff0}}),
                    join({word, encode(Op::addi, {5, 5, 16}), encode(Op::x_ld64_r, {4, 7, 8})}, kExit));
  bench.go();
  EXPECT_EQ(bench.record(0).xval, 0xfffffff8u);
  EXPECT_EQ(bench.record(1).xval, 8u);
  EXPECT_EQ(bench.record(2).xval, kData - 16);
}

TEST(TlmPostIncrement, FaultsLeaveEverythingAsItWas) {
  struct Case {
    Op op;
    std::uint32_t address;
    std::uint32_t cause;  // 0: none
  };
  std::vector<Case> cases;
  for (const Op load : {Op::x_ld64, Op::x_ld128, Op::x_st64}) {
    const bool store = load == Op::x_st64;
    const std::uint32_t size = load == Op::x_ld128 ? 16 : 8, misaligned = store ? 6 : 4, outside = store ? 7 : 5;
    for (std::uint32_t low = 1; low < 8; ++low) {
      cases.push_back({load, kData + low, misaligned});
      cases.push_back({load, kEnd + low, misaligned});  // misaligned before outside
    }
    cases.push_back({load, kSramBase, 0});
    cases.push_back({load, kSramBase - 8, outside});
    cases.push_back({load, kEnd - size, 0});
    cases.push_back({load, kEnd - size + 8, outside});
    cases.push_back({load, kEnd, outside});
    cases.push_back({load, 0, outside});
    cases.push_back({load, 0xfffffff8, outside});
  }
  for (const Case& k : cases) {
    const std::uint32_t word = encode(k.op, {8, 8, 5});
    WorkerBench bench(constants({{5, k.address}}), join({word}, kExit));
    bench.go();
    if (k.cause == 0) {
      EXPECT_FALSE(bench.record(0).trap) << isa::info(k.op).name << std::hex << k.address;
      EXPECT_EQ(bench.tile.context(1).x[5], k.address + 8);
      continue;
    }
    EXPECT_EQ(bench.record(0), bench.trapped(0, word, 12, k.cause, k.address)) << isa::info(k.op).name;
    EXPECT_EQ(bench.tile.context(1).x[5], k.address);
    EXPECT_EQ(bench.count(), 1u);
  }
}

TEST(TlmPostIncrement, OddRegistersAndOtherRolesAreIllegal) {
  const std::uint32_t legal = encode(Op::x_ld64, {4, 8, 5});
  for (const std::uint32_t word :
       {legal | 1u << 7, encode(Op::x_ld128, {4, 8, 5}) | 2u << 7, encode(Op::x_st64, {4, 8, 5}) | 1u << 20}) {
    WorkerBench bench(constants({{5, kData}}), {word});
    bench.go();
    EXPECT_EQ(bench.record(0), bench.trapped(0, word, 12, 2, word));
  }
  Bench supervisor({legal});
  supervisor.go();
  EXPECT_EQ(supervisor.seen.records.at(0).cause, 2u);
}

TEST(TlmPostIncrement, WithoutFloatStateTheyAreIllegalBeforeTheirAddressIsLookedAt) {
  const std::uint32_t off = encode(Op::csrrc, {0, csr::mstatus, 6});
  for (const std::uint32_t word :
       {encode(Op::x_ld64, {4, 8, 5}), encode(Op::x_st64_r, {4, 5, 6}), encode(Op::x_ld2, {4, 6, 0, 0}),
        encode(Op::x_ldst, {4, 6, 0, 0}), encode(Op::x_ld2st, {4, 6, 8, 0, 0, 0})}) {
    WorkerBench bench(join(constants({{5, 1}, {6, 0x6000}}), {nop(), off}), {word});
    bench.go();
    EXPECT_EQ(bench.record(0), bench.trapped(0, word, 36, 2, word));
  }
  // Setting a stream and bit operations touch no f register.
  const std::uint32_t set = encode(Op::x_sset, {2, 5, 6}), count = encode(Op::x_cpop, {7, 6});
  WorkerBench bench(join(constants({{5, 1}, {6, 0x6000}}), {nop(), off}), join({set, count}, kExit));
  bench.go();
  RetireRecord expected = bench.plain(0, set, 36);
  expected.streams = 4;
  expected.stream_addr[2] = 1;
  EXPECT_EQ(bench.record(0), expected);
  EXPECT_EQ(bench.record(1).xval, 2u);
}

/// S0, S1, S2 at these addresses; strides A = 3, B = -2 doublewords of S0, doubled of S1, tripled of S2. 18 words.
Code streams(Address s0, Address s1, Address s2) {
  return join(constants({{5, s0}, {6, s1}, {7, s2}, {8, strides(3, -2)}, {9, strides(6, -4)}, {10, strides(9, -6)}}),
              {encode(Op::x_sset, {0, 5, 8}), encode(Op::x_sset, {1, 6, 9}), encode(Op::x_sset, {2, 7, 10}), nop()});
}
constexpr Cycle kStreamsReady = 16 * 6;

std::uint32_t moved(std::uint32_t step, std::uint32_t k) {
  const std::uint32_t by[4] = {8, 24 * (k + 1), 0u - 16 * (k + 1), 0};
  return by[step];
}

TEST(TlmStreams, AllStepsOfAllForms) {
  unsigned compared = 0;
  for (unsigned steps = 0; steps < 64; ++steps) {
    const std::uint32_t p = steps & 3, q = steps >> 2 & 3, t = steps >> 4;
    for (const Op op : {Op::x_ld2, Op::x_ldst, Op::x_ld2st}) {
      if ((op == Op::x_ld2 && t != 0) || (op == Op::x_ldst && q != 0)) continue;
      const std::uint32_t word = op == Op::x_ld2    ? encode(op, {4, 12, p, q})
                                 : op == Op::x_ldst ? encode(op, {4, 14, p, t})
                                                    : encode(op, {4, 12, 14, p, q, t});
      const Address s0 = kData, s1 = kData + 0x1000, s2 = kData + 0x2000;
      WorkerBench bench(streams(s0, s1, s2), join({word}, kExit));
      bench.poke(s0, {1, 2});
      bench.poke(s1, {3, 4});
      bench.poke(s2, {5, 6});
      bench.go();
      RetireRecord expected = bench.plain(0, word, kStreamsReady);
      expected.mem_read = true;
      expected.read_addr[0] = s0;
      expected.fwrite[0] = {2, 4, wide(1, 2)};
      expected.streams = 1;
      expected.stream_addr[0] = s0 + moved(p, 0);
      if (op != Op::x_ldst) {
        expected.read_addr[1] = s1;
        expected.fwrite[1] = {2, 12, wide(3, 4)};
        expected.streams |= 2;
        expected.stream_addr[1] = s1 + moved(q, 1);
      }
      if (op != Op::x_ld2) {
        expected.mem_write = true;
        expected.write_addr = s2;
        expected.write_mask = 0xff;
        expected.write_data = 0;
        expected.streams |= 4;
        expected.stream_addr[2] = s2 + moved(t, 2);
      }
      EXPECT_EQ(bench.record(0), expected);
      ++compared;
    }
  }
  EXPECT_EQ(compared, 16u + 16u + 64u);
}

TEST(TlmStreams, LoadSeesMemoryBeforeTheStoreAndTheStoreTakesOldRegisters) {
  // f4, f5 = {1, 2} from S0; then x.ldst f4 <- S0, f4 -> S2 with S0 = S2 and memory {7, 8} there.
  const std::uint32_t first = encode(Op::x_ld2, {4, 12, 0, 3}), word = encode(Op::x_ldst, {4, 4, 3, 3});
  WorkerBench bench(streams(kData, kData, kData + 8), join({first, word}, kExit));
  bench.poke(kData, {1, 2, 7, 8});
  bench.go();
  EXPECT_EQ(bench.record(1).fwrite[0].bits, wide(7, 8));
  EXPECT_EQ(bench.record(1).write_data, wide(1, 2));
  EXPECT_EQ(bench.peek(kData + 8), 1u);
  const std::uint32_t three = encode(Op::x_ld2st, {4, 12, 4, 3, 3, 3});
  WorkerBench other(streams(kData, kData + 8, kData + 8), join({first, three}, kExit));
  other.poke(kData, {1, 2, 7, 8});
  other.go();
  EXPECT_EQ(other.record(1).fwrite[1].bits, wide(7, 8));
  EXPECT_EQ(other.record(1).write_data, wide(1, 2));
}

TEST(TlmStreams, FaultsInOrderMisalignedThenOutsideForEachStream) {
  struct Case {
    Address s0, s1, s2;
    std::uint32_t cause, tval;
  };
  const Case cases[] = {{kData + 4, kEnd, kData + 1, 4, kData + 4},
                        {kEnd + 1, kData, kData, 4, kEnd + 1},
                        {kEnd, kData + 1, kData + 1, 5, kEnd},
                        {kSramBase - 8, kData, kData, 5, kSramBase - 8},
                        {kData, kEnd + 2, kData + 1, 4, kEnd + 2},
                        {kData, 0xfffffff8, kData + 1, 5, 0xfffffff8},
                        {kData, kData, kEnd + 4, 6, kEnd + 4},
                        {kData, kData, kEnd, 7, kEnd},
                        {kData, kData, 0, 7, 0}};
  const std::uint32_t word = encode(Op::x_ld2st, {4, 12, 14, 0, 1, 2});
  for (const Case& k : cases) {
    WorkerBench bench(streams(k.s0, k.s1, k.s2), {word});
    bench.poke(kData, {1, 2});
    bench.go();
    EXPECT_EQ(bench.record(0), bench.trapped(0, word, kStreamsReady, k.cause, k.tval));
    const ContextState after = bench.tile.context(1);
    EXPECT_EQ(after.f[4], 0u);
    EXPECT_EQ(bench.peek(kData), 1u);
  }
  // x.ld2 does not look at S2, x.ldst not at S1.
  for (const std::uint32_t other : {encode(Op::x_ld2, {4, 12, 0, 0}), encode(Op::x_ldst, {4, 12, 0, 0})}) {
    const bool two = isa::decode(other) == Op::x_ld2;
    WorkerBench bench(streams(kData, two ? kData : 1, two ? 1 : kData), join({other}, kExit));
    bench.go();
    EXPECT_FALSE(bench.record(0).trap);
  }
}

TEST(TlmStreams, BothEndsOfSramAndWrap) {
  // The last doubleword is inside; the pointer behind it rests outside without a fault, and comes back by a stride.
  const std::uint32_t plus = encode(Op::x_ld2, {4, 12, 0, 2}), back = encode(Op::x_ld2, {4, 12, 2, 3});
  WorkerBench bench(streams(kEnd - 8, kSramBase + 0x20, kData), join({plus, plus, back}, {}));
  bench.poke(kEnd - 8, {9, 10});
  bench.go();
  EXPECT_EQ(bench.record(0).fwrite[0].bits, wide(9, 10));
  EXPECT_EQ(bench.record(0).stream_addr[0], kEnd);
  EXPECT_EQ(bench.record(0).stream_addr[1], kSramBase);
  EXPECT_EQ(bench.record(1), bench.trapped(1, plus, kStreamsReady + 6, 5, kEnd));
  // A largest stride wraps around the address space.
  const Code wrap = join(constants({{5, kSramBase}, {8, strides(-32768, 32767)}}),
                         {encode(Op::x_sset, {0, 5, 8}), encode(Op::x_sset, {1, 5, 8})});
  const std::uint32_t both = encode(Op::x_ld2, {4, 12, 1, 2});
  WorkerBench far(wrap, {both, encode(Op::csrrs, {11, csr::xs0, 0}), encode(Op::csrrs, {12, csr::xs1, 0})});
  far.go();
  EXPECT_EQ(far.record(0).stream_addr[0], kSramBase - 0x40000);
  EXPECT_EQ(far.record(0).stream_addr[1], kSramBase + 8 * 32767);
  EXPECT_EQ(far.record(1).xval, kSramBase - 0x40000);
  EXPECT_EQ(far.record(2).xval, kSramBase + 8 * 32767);
}

TEST(TlmStreams, CsrsReadAndWriteAddressesAndStrides) {
  Code code;
  for (unsigned k = 0; k < 3; ++k) {
    code.push_back(encode(Op::csrrw, {11, csr::xs0 + k, 6}));
    code.push_back(encode(Op::csrrw, {12, csr::xst0 + k, 7}));
  }
  code.push_back(encode(Op::x_ld2, {4, 12, 1, 2}));
  WorkerBench bench(join(streams(1, 2, 3), constants({{6, kData}, {7, strides(5, -7)}})), code);
  bench.go();
  for (unsigned k = 0; k < 3; ++k) {
    EXPECT_EQ(bench.record(2 * k).xval, k + 1);
    EXPECT_EQ(bench.record(2 * k).csr, csr::xs0 + k);
    EXPECT_EQ(bench.record(2 * k).csr_value, kData);
    EXPECT_EQ(bench.record(2 * k).streams, 0u) << "a CSR write is told as one";
    EXPECT_EQ(bench.record(2 * k + 1).xval, strides(3 * (static_cast<int>(k) + 1), -2 * (static_cast<int>(k) + 1)));
  }
  EXPECT_EQ(bench.record(6).stream_addr[0], kData + 40);
  EXPECT_EQ(bench.record(6).stream_addr[1], kData - 56);
  // They belong to workers, each its own, and x.run keeps them.
  Bench supervisor({encode(Op::csrrs, {11, csr::xs0, 0})});
  supervisor.go();
  EXPECT_EQ(supervisor.seen.records.at(0).cause, 2u);
  const Code worker = {encode(Op::csrrw, {11, csr::xs1, 10}), encode(Op::csrrs, {11, csr::xs1, 0}),
                       encode(Op::x_exit, {0})};
  Bench tile(join(constants({{5, kWorkerCode}, {6, 0x123}}),
                  {encode(Op::x_run, {2, 5, 6, 0}), encode(Op::x_run, {2, 5, 0, 0}), encode(Op::x_run, {3, 5, 0, 0}),
                   encode(Op::x_sync, {0, 0, 0}), encode(Op::ecall)}),
             worker);
  tile.go();
  std::vector<std::uint32_t> seen[4];
  for (const RetireRecord& r : tile.seen.records)
    if (r.context != 0 && r.csr == csr::xs1) seen[r.context].push_back(r.xval);
  EXPECT_EQ(seen[2], (std::vector<std::uint32_t>{0, 0x123}));
  EXPECT_EQ(seen[3], (std::vector<std::uint32_t>{0}));
}

TEST(TlmStreams, IllegalForms) {
  for (const std::uint32_t word :
       {encode(Op::x_ld2, {4, 12, 0, 0}) ^ (4u ^ 12u) << 15,
        encode(Op::x_ld2st, {4, 12, 14, 0, 0, 0}) ^ (4u ^ 12u) << 15, encode(Op::x_ld2, {4, 12, 0, 0}) | 1u << 20,
        encode(Op::x_ld2, {4, 12, 0, 0}) | 1u << 29, encode(Op::x_ldst, {4, 12, 0, 0}) | 1u << 27,
        encode(Op::x_ldst, {4, 12, 0, 0}) | 2u << 15, encode(Op::x_ld2st, {4, 12, 14, 0, 0, 0}) | 1u << 31,
        encode(Op::x_ld2, {4, 12, 0, 0}) | 1u << 7, encode(Op::x_sset, {2, 5, 6}) | 1u << 25,
        encode(Op::x_sset, {2, 5, 6}) | 1u << 7}) {
    WorkerBench bench(streams(kData, kData, kData), {word});
    bench.go();
    EXPECT_EQ(bench.record(0), bench.trapped(0, word, kStreamsReady, 2, word)) << std::hex << word;
  }
}

TEST(TlmStreams, StoresReachCodeAndPairsWereFetchedBefore) {
  // The pair (x.ldst over itself, fadd) issues as fetched; the words that it stored run when the pc comes there again.
  const std::uint32_t add = encode(Op::fadd_s, {20, 21, 22, 0}), word = encode(Op::x_ldst, {4, 2, 3, 3});
  const Code patch = {encode(Op::addi, {11, 0, 77}), encode(Op::x_exit, {0})};
  Code code = join(streams(kData, kData, 0), {});
  const Address here = kWorkerCode + 4 * static_cast<Address>(code.size() + 2);
  code[4] = constants({{7, here}})[0];
  code[5] = constants({{7, here}})[1];
  WorkerBench bench(code, {encode(Op::x_ld2, {2, 12, 3, 3}), nop(), word, add, encode(Op::jal, {0, -8})});
  bench.poke(kData, patch);
  bench.go();
  EXPECT_TRUE(bench.record(2).paired);
  EXPECT_EQ(bench.record(2).write_addr, here);
  EXPECT_EQ(bench.record(3).word, add);
  EXPECT_TRUE(bench.record(3).paired);
  EXPECT_EQ(bench.record(5).word, patch[0]);
  EXPECT_EQ(bench.record(6).word, patch[1]);
}

}  // namespace
}  // namespace tessera
