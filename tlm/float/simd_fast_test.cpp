// Fast kernels against the integer reference: every instruction of custom-2 and custom-3, corner and random operands,
// any registers; steps of the matrix product in long sequences. Also that the portable kernels are the reference.
#include "tlm/float/simd_fast.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>

#include "tlm/float/amp_fast.h"
#include "tlm/float/fast.h"
#include "tlm/float/half.h"
#include "tlm/float/half_reference.h"
#include "tlm/float/simd.h"

namespace tessera::fp {
namespace {

using cases::Random;
using fast::Registers;
using isa::Op;
using File = std::array<std::uint32_t, 32>;

Operand operand(const File& f, isa::Reg reg, unsigned number) {
  Operand out;
  if (reg.file != isa::File::f) return out;
  std::uint64_t* const halves[2] = {&out.lo, &out.hi};
  for (unsigned k = 0; k < reg.count; ++k) *halves[k / 2] |= std::uint64_t{f[number + k]} << 32 * (k % 2);
  return out;
}

/// The reference on a register file.
void by_reference(File& f, Registers r, std::uint64_t draw, Op op) {
  const isa::Info& info = isa::info(op);
  const Operand out =
      simd(op, operand(f, info.rs1, r.rs1), operand(f, info.rs2, r.rs2), operand(f, info.rs3, r.rs3), draw);
  for (unsigned k = 0; k < info.rd.count; ++k)
    f[r.rd + k] = static_cast<std::uint32_t>((k < 2 ? out.lo : out.hi) >> 32 * (k % 2));
}

std::uint8_t any_register(Random& random, isa::Reg reg) {
  const unsigned count = reg.file == isa::File::f ? reg.count : 1;
  return static_cast<std::uint8_t>(random.below(32 / count) * count);
}

std::uint32_t two_halves(Random& random) {
  return half_reference::any(random) | std::uint32_t{half_reference::any(random)} << 16;
}

bool of_halves(Op op) {
  const std::string name = isa::info(op).name;
  return name.find("f16") != std::string::npos;
}

/// A register file of values that suit an operation: corners, random ones, sums that nearly cancel.
File any_file(Random& random, Op op, int round) {
  static const auto single = cases::corners();
  static const auto half = half_reference::corners();
  const auto pick = [&](const auto& from) { return from[random.below(static_cast<std::uint32_t>(from.size()))]; };
  File f;
  for (std::uint32_t& v : f) {
    const bool corner = round % 3 == 0 || random.below(8) == 0;
    if (of_halves(op) && random.below(4) != 0) {
      v = corner ? pick(half) | std::uint32_t{pick(half)} << 16 : two_halves(random);
    } else {
      v = corner ? pick(single) : random.value();
      if (random.below(4) == 0) v = (v & 0x807fffffu) | (84 + random.below(62)) << 23;  // the range of f16
    }
  }
  return f;
}

/// For fused f16: addends that differ from the product by little, where a second rounding would show.
void make_near(File& f, Registers r, Op op) {
  if (op != Op::x_mac_f16v2 && op != Op::x_mac_f16v4) return;
  for (unsigned k = 0; k < (op == Op::x_mac_f16v2 ? 1u : 2u); ++k) {
    std::uint32_t near = 0;
    for (unsigned h = 0; h < 32; h += 16)
      near |= std::uint32_t{half_mul(static_cast<std::uint16_t>(f[r.rs1 + k] >> h),
                                     static_cast<std::uint16_t>(f[r.rs2 + k] >> h))}
              << h;
    f[r.rs3 + k] = near ^ (f[r.rs3 + k] & 0xbc0fbc0fu & -(f[r.rs3 + k] >> 16 & 1));
  }
}

void compare(const fast::SimdKernels& kernels, int rounds, std::uint64_t at_least) {
  Random random(51);
  std::uint64_t compared = 0;
  unsigned ops = 0;
  for (unsigned n = 0; n < isa::kOpCount; ++n) {
    const auto op = static_cast<Op>(n);
    const isa::Info& info = isa::info(op);
    if (kernels.run[n] == nullptr) {
      EXPECT_THROW((void)simd(op, {}, {}, {}, 0), std::logic_error) << info.name;
      continue;
    }
    ++ops;
    for (int round = 0; round < rounds; ++round) {
      File want = any_file(random, op, round);
      const Registers r{any_register(random, info.rd), any_register(random, info.rs1), any_register(random, info.rs2),
                        any_register(random, info.rs3)};
      if (round % 2 == 0) make_near(want, r, op);
      const File before = want;
      File got = want;
      const std::uint64_t draw = random.next();
      by_reference(want, r, draw, op);
      FlagScope scope;
      kernels.run[n](got.data(), r, draw, op);
      if (!kernels.raises[n]) {
        ASSERT_EQ(scope.take(), 0) << info.name;
      }
      ASSERT_EQ(got, want) << info.name << std::hex << " of " << before[r.rs1] << " " << before[r.rs2] << " "
                           << before[r.rs3];
      ++compared;
    }
  }
  std::printf("kernels of %u instructions: %llu comparisons\n", ops, static_cast<unsigned long long>(compared));
  EXPECT_EQ(ops, 74u);
  EXPECT_GE(compared, at_least);
}

TEST(SimdFast, HostKernelsAreTheReference) {
  std::printf("host vectors: %s\n", fast::host_vectors() ? "yes" : "no");
  compare(fast::simd_kernels(), 40'000, 2'500'000);
}

TEST(SimdFast, PortableKernelsAreTheReference) { compare(fast::portable_simd_kernels(), 1'000, 70'000); }

TEST(SimdFast, AllHalvesThroughOneOperandKernels) {
  std::uint64_t compared = 0;
  for (const Op op : {Op::x_cvt_f32v2_f16v2, Op::x_sum_f16v2, Op::x_swap_f16v2, Op::x_abs_f16v2, Op::x_add_f16v2,
                      Op::x_mul_f16v2, Op::x_max_f16v2, Op::x_min_f16v2, Op::x_cmple_f16v2}) {
    for (std::uint32_t a = 0; a < 0x10000; ++a, ++compared) {
      File want{};
      want[4] = a | (a * 0x9e37u & 0xffffu) << 16;
      want[6] = (a * 0x6a2du & 0xffffu) | (a ^ 0x8001u) << 16;
      File got = want;
      const Registers r{8, 4, 6, 0};
      by_reference(want, r, 0, op);
      fast::simd_kernels().run[static_cast<unsigned>(op)](got.data(), r, 0, op);
      ASSERT_EQ(got, want) << isa::info(op).name << " " << std::hex << a;
    }
  }
  std::printf("all f16: %llu comparisons\n", static_cast<unsigned long long>(compared));
}

void compare_amp(const fast::AmpKernels& kernels, int rounds) {
  static const auto single = cases::corners();
  static const auto half = half_reference::corners();
  Random random(52);
  std::uint64_t steps = 0, nans = 0;
  const std::pair<Op, fast::AmpKernel> ops[] = {
      {Op::x_amp_f16, kernels.f16}, {Op::x_amp_f32, kernels.f32}, {Op::x_amp_g, kernels.g}, {Op::x_amp_io, kernels.io}};
  for (int round = 0; round < rounds; ++round) {
    const bool special = round % 3 == 0;
    const auto half_word = [&] {
      std::uint32_t v = two_halves(random);
      if (!special) v &= 0xbfffbfffu;  // finite
      if (special && random.below(8) == 0) v = half[random.below(static_cast<std::uint32_t>(half.size()))];
      return v;
    };
    const auto single_word = [&] {
      if (special && random.below(4) == 0) return single[random.below(static_cast<std::uint32_t>(single.size()))];
      return random.value();
    };
    AmpWeights weights;
    for (std::uint32_t& w : weights) w = round % 2 == 0 ? half_word() : single_word();
    fast::AmpReady ready;
    make_ready(weights, ready);
    AmpSums want, got;
    for (int n = 0; n < 100; ++n) {
      // Long stretches of one instruction, so that sums live; then another.
      const auto& [op, kernel] = ops[(round / 2 + n / 25) % 4];
      const unsigned p =
          n % 25 == 24 ? random.below(last_phase(op) + 1) : static_cast<unsigned>(n) % (last_phase(op) + 1);
      const auto pair = [&](auto word) { return word() | std::uint64_t{word()} << 32; };
      const std::uint64_t rs1 = op == Op::x_amp_f32 ? pair(single_word) : pair(half_word);
      const std::uint64_t rs2 = pair(half_word), rs3 = n % 4 == 0 ? 0 : pair(single_word);
      ASSERT_EQ(kernel(p, ready, got, rs1, rs2, rs3), amp_step(op, p, weights, want, rs1, rs2, rs3))
          << isa::info(op).name << " " << round << " " << n;
      ASSERT_EQ(got.a, want.a) << isa::info(op).name << " " << round << " " << n;
      ASSERT_EQ(got.b, want.b) << isa::info(op).name << " " << round << " " << n;
      ++steps;
      for (const std::uint32_t v : got.a) nans += is_nan(v);
    }
  }
  std::printf("matrix product: %llu steps of eight engines, %llu NaN sums\n", static_cast<unsigned long long>(steps),
              static_cast<unsigned long long>(nans));
  EXPECT_GT(nans, 1000u);
}

TEST(AmpFast, HostStepsAreTheReference) { compare_amp(fast::amp_kernels(), 6'000); }
TEST(AmpFast, PortableStepsAreTheReference) { compare_amp(fast::portable_amp_kernels(), 200); }

}  // namespace
}  // namespace tessera::fp
