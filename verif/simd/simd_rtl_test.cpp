// The Verilated SIMD unit against fp::simd, to the bit: every operation on the full cross product of corner values,
// conversions exhaustively over f16 and around every rounding boundary, random operands with bubbles; and a planted bug
// that the same comparison must catch.
#include <Vxtile_simd.h>
#include <Vxtile_simd_round.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <ctime>
#include <string_view>

#include "tlm/float/half.h"
#include "verif/simd/half_cases.h"
#include "verif/simd/simd_bench.h"

namespace tessera::fp {
namespace {

using cases::Random;
using isa::Op;

template <typename Bench>
void report(Bench& bench, const char* what, std::uint64_t at_least) {
  bench.drain();
  std::printf("%s: %llu comparisons, %llu different\n", what, static_cast<unsigned long long>(bench.compared()),
              static_cast<unsigned long long>(bench.different()));
  EXPECT_GE(bench.compared(), at_least);
  EXPECT_EQ(bench.different(), 0u) << bench.first();
}

std::string_view name(Op op) { return isa::info(op).name; }
bool contains(Op op, std::string_view text) { return name(op).find(text) != std::string_view::npos; }
bool conversion(Op op) { return contains(op, ".cvt."); }
bool draws_only(Op op) { return contains(op, ".urand"); }
/// Whether its operands are f32 lanes; all else has f16 lanes.
bool single(Op op) {
  if (conversion(op)) return !(contains(op, ".f16") && name(op).rfind(".f16") > name(op).rfind(".f32") + 1);
  return contains(op, "f32v2") || op == Op::x_mv64;
}
unsigned operands(Op op) {
  const isa::Info& info = isa::info(op);
  return info.rs3.count != 0 ? 3 : info.rs2.count != 0 ? 2 : info.rs1.count != 0 ? 1 : 0;
}

/// The lanes of an operand from `next()`, all that there is room for.
template <typename Next>
Operand fill(bool single, Next next) {
  Operand v;
  for (unsigned n = 0; n < (single ? 2 : 4); ++n) {
    const unsigned width = single ? 32 : 16;
    v.lo |= std::uint64_t{next()} << width * n;
    v.hi |= std::uint64_t{next()} << width * n;
  }
  return v;
}

SimdCase any_case(Random& random, Op op) {
  SimdCase k;
  k.op = op;
  k.draw = random.next();
  if (conversion(op) && contains(op, "f32.") && contains(op, "i32") && random.below(2) == 0) {
    k.a = fill(true, [&] { return (random.value() & 0x807fffffu) | (120 + random.below(42)) << 23; });
  } else if (conversion(op) && single(op) && random.below(2) == 0) {
    k.a = fill(true, [&] { return (random.value() & 0x807fffffu) | (85 + random.below(62)) << 23; });
  } else if (single(op)) {
    k.a = fill(true, [&] { return random.value(); });
    k.b = fill(true, [&] { return random.value(); });
    const bool near = random.below(2) == 0;
    for (unsigned n = 0; n < 2; ++n) {
      const auto a = static_cast<std::uint32_t>(k.a.lo >> 32 * n), b = static_cast<std::uint32_t>(k.b.lo >> 32 * n);
      k.c.lo |= std::uint64_t{random.addend_near(a, b)} << 32 * n;
      if (near && operands(op) == 2) {
        k.b.lo = (k.b.lo & ~(0xffffffffull << 32 * n)) | std::uint64_t{random.addend_near(a, 0x3f800000u)} << 32 * n;
      }
    }
  } else {
    k.a = {cases::half_values(random), cases::half_values(random)};
    k.b = {cases::half_values(random), 0};
    const bool near = random.below(2) == 0;
    for (unsigned n = 0; n < 4; ++n) {
      const auto a = static_cast<std::uint16_t>(k.a.lo >> 16 * n), b = static_cast<std::uint16_t>(k.b.lo >> 16 * n);
      k.c.lo |= std::uint64_t{cases::half_addend_near(random, a, b)} << 16 * n;
      if (near && operands(op) == 2) {
        k.b.lo = (k.b.lo & ~(0xffffull << 16 * n)) | std::uint64_t{cases::half_addend_near(random, a, 0x3c00)}
                                                         << 16 * n;
      }
    }
  }
  if (op == Op::x_dot_f16v4) k.c.lo = (random.value() & 0x807fffffu) | std::uint64_t{112 + random.below(32)} << 23;
  return k;
}

template <typename Bench>
void random_cases(Bench& bench, std::uint64_t seed, int cycles) {
  const auto ops = simd_ops();
  Random random(seed);
  for (int n = 0; n < cycles; ++n) {
    if (random.below(8) == 0) {
      for (std::uint32_t idle = random.below(7); idle != 0; --idle) bench.cycle(std::nullopt);
    }
    bench.cycle(any_case(random, ops[random.below(static_cast<std::uint32_t>(ops.size()))]));
  }
  bench.drain();
}

TEST(Simd, HasEveryOperation) {
  // 30 + 16 + 2 + 8 of custom-2, 10 of custom-3: what the instruction table has without transcendentals and AMP.
  EXPECT_EQ(simd_ops().size(), 30u + 15u + 2u + 8u + 10u);
}

TEST(Simd, Random) {
  SimdBench<Vxtile_simd> bench;
  random_cases(bench, 31, 2'000'000);
  report(bench, "simd, random", 2'000'000);
  EXPECT_GT(bench.gated(), 1000u);
}

/// Every combination of corner values in lane 0, neighbours of it in the other lanes.
template <typename Value>
void corners(SimdBench<Vxtile_simd>& bench, Op op, const std::vector<Value>& v) {
  const auto count = static_cast<std::uint32_t>(v.size());
  const unsigned terms = operands(op);
  std::uint32_t all = 1;
  for (unsigned n = 0; n < terms; ++n) all *= count;
  std::uint32_t turn = 0;
  for (std::uint32_t n = 0; n < all; ++n) {
    SimdCase k;
    k.op = op;
    Operand* const operand[3] = {&k.a, &k.b, &k.c};
    k.draw = 0x9e3779b97f4a7c15u * ++turn;
    std::uint32_t rest = n;
    for (unsigned m = 0; m < terms; ++m) {
      const std::uint32_t index = rest % count;
      rest /= count;
      std::uint32_t lane = 0;
      *operand[m] = fill(sizeof(Value) == 4, [&] { return v[(index + lane++ * (m + 1)) % count]; });
    }
    bench.cycle(k);
  }
}

TEST(Simd, Corners) {
  const auto halves = cases::half_corners();
  const auto singles = cases::corners();
  SimdBench<Vxtile_simd> bench;
  for (const Op op : simd_ops()) {
    if (draws_only(op)) continue;
    const std::uint64_t before = bench.compared();
    if (single(op)) {
      corners(bench, op, singles);
    } else {
      corners(bench, op, halves);
    }
    bench.drain();
    const std::uint64_t values = single(op) ? singles.size() : halves.size();
    std::uint64_t product = 1;
    for (unsigned n = 0; n < operands(op); ++n) product *= values;
    EXPECT_EQ(bench.compared() - before, product) << name(op);
  }
  report(bench, "simd, corners", 1'000'000);
}

TEST(Simd, DotCorners) {
  const auto halves = cases::half_corners();
  const auto singles = cases::corners();
  const auto count = static_cast<std::uint32_t>(halves.size());
  Random random(32);
  SimdBench<Vxtile_simd> bench;
  for (const std::uint16_t a : halves) {
    for (const std::uint16_t b : halves) {
      for (const std::uint32_t c : singles) {
        SimdCase k;
        k.op = Op::x_dot_f16v4;
        const auto corner = [&] { return std::uint64_t{random.below(3) == 0 ? halves[random.below(count)] : 0u}; };
        k.a.lo = corner() << 48 | corner() << 32 | corner() << 16 | a;
        k.b.lo = corner() << 48 | corner() << 32 | corner() << 16 | b;
        k.c.lo = c;
        bench.cycle(k);
      }
    }
  }
  report(bench, "simd, dot corners", 90'000);
}

TEST(Simd, SumCorners) {
  const auto v = cases::half_corners();
  SimdBench<Vxtile_simd> bench;
  for (const std::uint64_t a : v) {
    for (const std::uint64_t b : v) {
      for (const std::uint64_t c : v) {
        for (const std::uint64_t d : v) {
          SimdCase k;
          k.op = Op::x_sum_f16v4;
          k.a.lo = a | b << 16 | c << 32 | d << 48;
          bench.cycle(k);
        }
      }
    }
  }
  report(bench, "simd, sums of four corners", 2'000'000);
}

TEST(Simd, WideningOfEveryHalf) {
  SimdBench<Vxtile_simd> bench;
  for (std::uint64_t n = 0; n < 65536; ++n) {
    SimdCase k;
    k.a.lo = n | (n + 1) % 65536 << 16 | (n ^ 0xffff) << 32 | (n ^ 0x8000) << 48;
    for (const Op op : {Op::x_cvt_f32_f16, Op::x_cvt_f32v2_f16v2, Op::x_cvt_f32v4_f16v4}) {
      k.op = op;
      bench.cycle(k);
    }
  }
  report(bench, "simd, f16 to f32", 3 * 65536);
}

TEST(Simd, NarrowingAroundEveryHalf) {
  // Every finite f16 and the middle to the next, each with both neighbours; stochastic with the random bits at which
  // the decision changes, and their neighbours.
  SimdBench<Vxtile_simd> bench;
  for (std::uint32_t n = 0; n < 65536; ++n) {
    const auto half = static_cast<std::uint16_t>(n);
    if ((half & 0x7c00) == 0x7c00) continue;
    const std::uint32_t exact = half_to_f32(half);
    const std::uint32_t next = (half & 0x7fff) == 0x7bff ? 0x47800000u | (exact & kSignBit)
                                                         : half_to_f32(static_cast<std::uint16_t>(half + 1));
    const std::uint32_t middle = exact + (next - exact) / 2;
    const std::uint32_t values[6] = {exact, exact + 1, middle - 1, middle, middle + 1, next - 1};
    SimdCase k;
    for (unsigned set = 0; set < 2; ++set) {
      k.a.lo = values[3 * set] | std::uint64_t{values[3 * set + 1]} << 32;
      k.a.hi = values[3 * set + 2] | std::uint64_t{exact + 77 * n} << 32;
      for (const Op op : {Op::x_cvt_f16_f32, Op::x_cvt_f16v2_f32v2, Op::x_cvt_f16v4_f32v4}) {
        k.op = op;
        bench.cycle(k);
      }
      // Of a normal result the 13 bits dropped, of a subnormal one whatever comes.
      for (const int shift : {-1, 0, 1}) {
        k.draw = 0;
        for (unsigned lane = 0; lane < 4; ++lane) {
          const auto value = static_cast<std::uint32_t>((lane < 2 ? k.a.lo : k.a.hi) >> 32 * (lane & 1));
          const auto draw =
              static_cast<std::uint16_t>(0x10000 - ((value & 0x1fffu) << 3) + static_cast<unsigned>(shift));
          k.draw |= std::uint64_t{draw} << 16 * lane;
        }
        for (const Op op : {Op::x_cvt_sr_f16_f32, Op::x_cvt_sr_f16v2_f32v2, Op::x_cvt_sr_f16v4_f32v4}) {
          k.op = op;
          bench.cycle(k);
        }
      }
    }
  }
  report(bench, "simd, f32 to f16", 1'000'000);
}

TEST(Simd, StochasticSubnormals) {
  // Each number of dropped bits, with draws around the one at which the decision changes.
  SimdBench<Vxtile_simd> bench;
  Random random(33);
  for (unsigned n = 0; n < 300'000; ++n) {
    SimdCase k;
    k.op = Op::x_cvt_sr_f16v4_f32v4;
    for (unsigned lane = 0; lane < 4; ++lane) {
      const std::uint32_t exponent = 60 + random.below(56);
      const std::uint32_t value = (random.value() & 0x807fffffu) | exponent << 23;
      (lane < 2 ? k.a.lo : k.a.hi) |= std::uint64_t{value} << 32 * (lane & 1);
      const unsigned drop = 13 + (exponent < 113 ? 113 - exponent : 0);
      const std::uint64_t significand = (value & 0x7fffffu) | 0x800000u;
      const std::uint64_t dropped = drop < 64 ? significand & ((std::uint64_t{1} << drop) - 1) : significand;
      const std::uint64_t top = drop <= 16 ? dropped << (16 - drop) : dropped >> (drop - 16);
      k.draw |= std::uint64_t{static_cast<std::uint16_t>(0x10000 - top + random.below(5) - 2)} << 16 * lane;
    }
    bench.cycle(k);
  }
  report(bench, "simd, stochastic subnormals", 300'000);
}

TEST(Simd, PlantedRoundingIsCaught) {
  SimdBench<Vxtile_simd_round> bench;
  random_cases(bench, 31, 20'000);
  std::printf("simd with f16 results cut: %llu of %llu differ\n", static_cast<unsigned long long>(bench.different()),
              static_cast<unsigned long long>(bench.compared()));
  EXPECT_GT(bench.different(), 100u);
}

TEST(Simd, SpeedOfTheModel) {
  // Printed, not judged: an operation in every cycle, no comparison.
  for (const Op op :
       {Op::x_mac_f16v4, Op::x_add_f16v4, Op::x_mac_f32v2, Op::x_dot_f16v4, Op::x_cvt_sr_f16v4_f32v4, Op::x_mv64}) {
    SimdBench<Vxtile_simd> bench;
    Random random(34);
    std::vector<SimdCase> all(512);
    for (auto& k : all) {
      k = any_case(random, op);
      k.a.lo &= 0xbbffbbffbbffbbffu;
      k.b.lo &= 0xbbffbbffbbffbbffu;
      k.c.lo &= 0xbbffbbffbbffbbffu;
    }
    Vxtile_simd& model = bench.model();
    model.valid_i = 1;
    model.op_i = static_cast<std::uint16_t>(op);
    constexpr unsigned kSteps = 300'000;
    const std::clock_t start = std::clock();
    for (unsigned n = 0; n < kSteps; ++n) {
      const SimdCase& k = all[n % 512];
      model.a_i[0] = static_cast<std::uint32_t>(k.a.lo);
      model.a_i[1] = static_cast<std::uint32_t>(k.a.lo >> 32);
      model.b_i = k.b.lo;
      model.c_i = k.c.lo;
      model.clk_i = 1;
      model.eval();
      model.clk_i = 0;
      model.eval();
    }
    const double taken = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    std::printf("%s: %.2f million operations a second of processor time\n", isa::info(op).name, kSteps / taken / 1e6);
    model.valid_i = 0;
    EXPECT_EQ(model.busy_o, 1);
  }
}

}  // namespace
}  // namespace tessera::fp
