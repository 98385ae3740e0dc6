// The Verilated AMP unit against fp::amp_step, to the bit: corner values in full products, random steps of six workers
// with bubbles and void starts, loads, clears, debug port; and a planted bug that the same comparison must catch.
#include <Vxtile_amp.h>
#include <Vxtile_amp_order.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <ctime>

#include "verif/amp/amp_bench.h"
#include "verif/simd/half_cases.h"

namespace tessera::fp {
namespace {

using cases::Random;
using isa::Op;

template <typename Bench>
void report(const Bench& bench, const char* what, std::uint64_t at_least) {
  std::printf("%s: %llu comparisons, %llu different\n", what, static_cast<unsigned long long>(bench.compared()),
              static_cast<unsigned long long>(bench.different()));
  EXPECT_GE(bench.compared(), at_least);
  EXPECT_EQ(bench.different(), 0u) << bench.first();
}

/// f32 bits for partial sums: corners, any value, or one near the products, so that the last addition cancels.
std::uint32_t partial(Random& random) {
  static const std::vector<std::uint32_t> corners = cases::corners();
  const std::uint32_t kind = random.below(8);
  if (kind == 0) return corners[random.below(static_cast<std::uint32_t>(corners.size()))];
  if (kind == 1) return random.value();
  return (random.value() & 0x807fffffu) | (112 + random.below(32)) << 23;
}

AmpStep any_step(Random& random, unsigned worker) {
  static constexpr std::array<Op, 4> kOps = {Op::x_amp_f16, Op::x_amp_f32, Op::x_amp_g, Op::x_amp_io};
  AmpStep s;
  s.worker = worker;
  s.op = kOps[random.below(4)];
  s.phase = random.below(3) == 0 ? last_phase(s.op) : random.below(last_phase(s.op) + 1);
  s.a = s.op == Op::x_amp_f32 ? partial(random) : cases::half_values(random);
  s.b = s.op == Op::x_amp_g ? cases::half_values(random) : random.next();
  s.c = std::uint64_t{partial(random)} << 32 | partial(random);
  s.commit = random.below(8) != 0;
  return s;
}

AmpWeights any_weights(Random& random) {
  AmpWeights w{};
  // Either f16 or f32 by engine: the other reading of the same bits is as good a case as any.
  for (unsigned k = 0; k < 64; k += 2) {
    if (random.below(4) == 0) {
      w[k] = partial(random);
      w[k + 1] = partial(random);
    } else {
      const std::uint64_t four = cases::half_values(random);
      w[k] = static_cast<std::uint32_t>(four);
      w[k + 1] = static_cast<std::uint32_t>(four >> 32);
    }
  }
  return w;
}

/// `cycles` cycles of steps by slots, some void, some missing, with loads and clears between.
template <typename Bench>
void random_steps(Bench& bench, std::uint64_t seed, int cycles) {
  Random random(seed);
  for (int n = 0; n < cycles; ++n) {
    if (n % 2000 == 0) bench.load(any_weights(random));
    if (n % 500 == 250) {
      bench.idle(5);
      bench.clear(static_cast<std::uint8_t>(random.below(64)));
    }
    if (n % 5000 == 4999) bench.compare_state();
    if (random.below(16) == 0) {
      bench.cycle(std::nullopt);
    } else {
      bench.cycle(any_step(random, static_cast<unsigned>(n % 6)));
    }
    // Six cycles apart whatever stood between: the slot goes on only with the cycles of this loop.
    if (n % 6 == 5 && random.below(50) == 0) bench.idle(static_cast<int>(random.below(9)));
  }
  bench.compare_state();
}

TEST(Amp, Random) {
  AmpBench<Vxtile_amp> bench;
  random_steps(bench, 21, 1'200'000);
  report(bench, "amp, random", 5'000'000);
  EXPECT_GT(bench.gated(), 1000u);
}

TEST(Amp, HalfCorners) {
  // Every (a0, w0, a1, w1) of the corners: 32 pairs of weights at a time, in eight engines and four phases.
  const auto v = cases::half_corners();
  const auto singles = cases::corners();
  Random random(22);
  AmpBench<Vxtile_amp> bench;
  const auto count = static_cast<unsigned>(v.size());
  std::uint64_t steps = 0;
  for (unsigned first = 0; first < count * count; first += 32) {
    AmpWeights weights{};
    for (unsigned n = 0; n < 32; ++n) {
      const unsigned pair = (first + n) % (count * count);
      weights[2 * n] = static_cast<std::uint32_t>(v[pair % count] | v[pair / count] << 16);
      weights[2 * n + 1] = static_cast<std::uint32_t>(v[random.below(count)] | v[random.below(count)] << 16);
    }
    bench.load(weights);
    unsigned turn = 0;
    for (const std::uint16_t a0 : v) {
      for (const std::uint16_t a1 : v) {
        const std::uint64_t a = std::uint64_t{cases::half_value(random)} << 48 |
                                std::uint64_t{v[random.below(count)]} << 32 | std::uint64_t{a1} << 16 | a0;
        // A after every phase; partial sums that are corners too go in behind it for the worker's next round.
        const unsigned worker = turn++ % 6;
        for (unsigned p = 0; p < 4; ++p) {
          AmpStep s{Op::x_amp_f16, p, worker, a, 0, 0, true};
          s.c = std::uint64_t{singles[random.below(58)]} << 32 | singles[random.below(58)];
          bench.cycle(s);
          bench.idle(5);
          bench.compare_a(worker);
          ++steps;
        }
      }
    }
  }
  report(bench, "amp, f16 corners", steps * 8);
}

TEST(Amp, SingleCorners) {
  // Every a * w + A of the f32 corners; eight engines have eight weights.
  const auto v = cases::corners();
  AmpBench<Vxtile_amp> bench;
  AmpWeights weights{};
  for (unsigned n = 0; n < 64; ++n) weights[8 * (n % 8) + n / 8] = v[n % v.size()];
  bench.load(weights);
  std::uint64_t steps = 0;
  for (unsigned p = 0; p < 8; ++p) {
    for (const std::uint32_t a : v) {
      for (const std::uint32_t sum : v) {
        bench.put_a(2, sum);
        bench.cycle(AmpStep{Op::x_amp_f32, p, 2, a, 0, sum, true});
        bench.idle(5);
        if (p != 7) bench.compare_a(2);
        ++steps;
      }
    }
  }
  report(bench, "amp, f32 corners", steps * 7);
}

TEST(Amp, PlantedOrderIsCaught) {
  AmpBench<Vxtile_amp_order> bench;
  random_steps(bench, 21, 20'000);
  std::printf("amp with another association: %llu of %llu differ\n", static_cast<unsigned long long>(bench.different()),
              static_cast<unsigned long long>(bench.compared()));
  EXPECT_GT(bench.different(), 100u);
}

TEST(Amp, SpeedOfTheModel) {
  // Printed, not judged: a step in every cycle, all engines busy, no comparison.
  for (const Op op : {Op::x_amp_f16, Op::x_amp_f32, Op::x_amp_io}) {
    AmpBench<Vxtile_amp> bench;
    Random random(23);
    // As in a matrix product: values from 2^-4 to 2 of both signs.
    const auto half = [&] { return (random.next() & 0x83ff) + ((11 + random.below(4)) << 10); };
    const auto single = [&] { return (random.value() & 0x807fffffu) + ((123 + random.below(4)) << 23); };
    AmpWeights weights{};
    for (auto& word : weights) {
      word = op == Op::x_amp_f32 ? single() : static_cast<std::uint32_t>(half() | half() << 16);
    }
    bench.load(weights);
    std::array<std::uint64_t, 1024> values{}, sums{};
    for (auto& value : values)
      value = op == Op::x_amp_f32 ? single() : half() | half() << 16 | half() << 32 | half() << 48;
    for (auto& value : sums) value = std::uint64_t{single()} << 32 | single();
    Vxtile_amp& model = bench.model();
    model.valid_i = 1;
    model.commit_i = 1;
    model.op_i = static_cast<std::uint16_t>(op);
    constexpr unsigned kSteps = 300'000;
    const std::clock_t start = std::clock();
    for (unsigned n = 0; n < kSteps; ++n) {
      model.ctx_i = static_cast<std::uint8_t>(n % 6);
      model.phase_i = static_cast<std::uint8_t>(n / 6 % (last_phase(op) + 1));
      model.a_i = values[n % 1024];
      model.c_i = sums[n % 1024];
      model.clk_i = 1;
      model.eval();
      model.clk_i = 0;
      model.eval();
    }
    const double taken = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    std::printf("amp op %u: %.2f million steps a second of processor time\n", static_cast<unsigned>(op),
                kSteps / taken / 1e6);
    model.valid_i = 0;
    EXPECT_EQ(model.busy_o, 1);
  }
}

}  // namespace
}  // namespace tessera::fp
