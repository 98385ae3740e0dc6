// The Verilated f32 unit and divider lane against tlm/float: results, flags and latency, corners in full and random.
#include <Vfpu.h>
#include <Vfpu_divsqrt.h>
#include <Vfpu_round.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <deque>
#include <memory>
#include <optional>

#include "tlm/float/cases.h"

namespace tessera::fp {
namespace {

using cases::Case;
using cases::Op;
using cases::Random;

std::string text(const Case& k) {
  char buffer[96];
  std::snprintf(buffer, sizeof buffer, "%s rm %u %08x %08x %08x", cases::name(k.op), static_cast<unsigned>(k.rm), k.a,
                k.b, k.c);
  return buffer;
}

/// Counts comparisons and prints the first differences.
class Tally {
 public:
  explicit Tally(bool quiet = false) : quiet_(quiet) {}
  void compare(const Case& k, Result expected, std::uint32_t bits, std::uint32_t flags) {
    ++count_;
    if (expected.bits == bits && expected.flags == flags) return;
    if (++wrong_ <= 10 && !quiet_) {
      ADD_FAILURE() << text(k) << std::hex << ": expected " << expected.bits << " flags " << int{expected.flags}
                    << ", RTL " << bits << " flags " << flags;
    }
  }
  void report(const char* what, std::uint64_t at_least) const {
    std::printf("%s: %llu comparisons, %llu different\n", what, static_cast<unsigned long long>(count_),
                static_cast<unsigned long long>(wrong_));
    EXPECT_GE(count_, at_least);
    EXPECT_EQ(wrong_, 0u);
  }
  [[nodiscard]] std::uint64_t wrong() const { return wrong_; }
  [[nodiscard]] std::uint64_t count() const { return count_; }

 private:
  bool quiet_;
  std::uint64_t count_ = 0, wrong_ = 0;
};

/// The pipeline: one operation a cycle, each looked at exactly three cycles later; bubbles must give 0.
template <class Model>
class PipelineOf {
 public:
  explicit PipelineOf(Tally& tally) : tally_(tally), fpu_(std::make_unique<Model>(&context_)) {
    fpu_->rst_ni = 0;
    fpu_->clk_i = 0;
    fpu_->eval();
    fpu_->clk_i = 1;
    fpu_->eval();
    fpu_->clk_i = 0;
    fpu_->eval();
    fpu_->rst_ni = 1;
    fpu_->eval();
  }
  ~PipelineOf() {
    for (int n = 0; n < 3; ++n) cycle(std::nullopt);
    fpu_->final();
  }
  /// Drives one operation, or none, for a cycle and checks what stands at the outputs.
  void cycle(const std::optional<Case>& k) {
    fpu_->valid_i = k.has_value();
    if (k) {
      fpu_->op_i = static_cast<std::uint8_t>(k->op);
      fpu_->rm_i = static_cast<std::uint8_t>(k->rm);
      fpu_->a_i = k->a;
      fpu_->b_i = k->b;
      fpu_->c_i = k->c;
    }
    in_flight_.push_back(k);
    fpu_->clk_i = 1;
    fpu_->eval();
    fpu_->clk_i = 0;
    fpu_->eval();
    if (in_flight_.size() < 3) return;
    const std::optional<Case> done = in_flight_.front();
    in_flight_.pop_front();
    if (done) {
      tally_.compare(*done, cases::reference(*done), fpu_->result_o, fpu_->fflags_o);
    } else {
      EXPECT_EQ(fpu_->result_o, 0u);
      EXPECT_EQ(fpu_->fflags_o, 0u);
    }
  }

 private:
  Tally& tally_;
  VerilatedContext context_;
  std::unique_ptr<Model> fpu_;
  std::deque<std::optional<Case>> in_flight_;
};
using Pipeline = PipelineOf<Vfpu>;

constexpr unsigned kPipelined = static_cast<unsigned>(Op::div);  // operations below are the pipeline's

/// Every operation of two operands on every pair of corner values in each mode.
template <class Model>
void run_corners(Tally& tally) {
  const auto v = cases::corners();
  PipelineOf<Model> pipeline(tally);
  for (unsigned n = 0; n < kPipelined; ++n) {
    const auto op = static_cast<Op>(n);
    if (cases::operands(op) == 3) continue;
    for (unsigned m = 0; m < 5; ++m) {
      for (const std::uint32_t a : v) {
        for (const std::uint32_t b : v) pipeline.cycle(Case{op, static_cast<Round>(m), a, b, 0x12345678u});
      }
    }
  }
}

/// Operations of all kinds on random values, a quarter of the cycles empty.
template <class Model>
void run_random(Tally& tally, int cycles) {
  Random random(12);
  PipelineOf<Model> pipeline(tally);
  for (int n = 0; n < cycles; ++n) {
    if (random.below(4) == 0) {
      pipeline.cycle(std::nullopt);
    } else {
      pipeline.cycle(random.any_case(static_cast<Op>(random.below(kPipelined))));
    }
  }
}

TEST(Fpu, CornersInEveryMode) {
  Tally tally;
  run_corners<Vfpu>(tally);
  tally.report("fpu, corners", 17 * 5 * 50 * 50);
}

TEST(Fpu, FusedCorners) {
  const auto v = cases::corners();
  Tally tally;
  {
    Pipeline pipeline(tally);
    unsigned turn = 0;
    for (const std::uint32_t a : v) {
      for (const std::uint32_t b : v) {
        // Every triple once for each operation, the five modes in turn: 5 and the number of values share no factor.
        for (const std::uint32_t c : v) {
          for (const Op op : {Op::madd, Op::msub, Op::nmsub, Op::nmadd}) {
            pipeline.cycle(Case{op, static_cast<Round>(turn++ % 5), a, b, c});
          }
        }
      }
    }
  }
  tally.report("fpu, fused corners", 750'000);
}

TEST(Fpu, FusedRandom) {
  Random random(11);
  Tally tally;
  {
    Pipeline pipeline(tally);
    for (int n = 0; n < 2'000'000; ++n) {
      pipeline.cycle(random.any_case(static_cast<Op>(static_cast<unsigned>(Op::madd) + random.below(4))));
    }
  }
  tally.report("fpu, fused random", 2'000'000);
}

TEST(Fpu, RandomWithBubbles) {
  Tally tally;
  run_random<Vfpu>(tally, 1'500'000);
  tally.report("fpu, random", 1'000'000);
}

TEST(Fpu, TiesThatGoAwayFromZeroAreFound) {
  Tally corners(true), random(true);
  run_corners<Vfpu_round>(corners);
  run_random<Vfpu_round>(random, 200'000);
  for (const Tally& tally : {corners, random}) {
    std::printf("fpu with ties away from zero: %llu of %llu differ\n", static_cast<unsigned long long>(tally.wrong()),
                static_cast<unsigned long long>(tally.count()));
    EXPECT_GT(tally.wrong(), 50u);
  }
}

/// The divider lane: results are looked at exactly 28 cycles after the start.
class Lane {
 public:
  Lane() : lane_(std::make_unique<Vfpu_divsqrt>(&context_)) {
    lane_->rst_ni = 0;
    lane_->clk_i = 0;
    lane_->eval();
    lane_->clk_i = 1;
    lane_->eval();
    lane_->clk_i = 0;
    lane_->eval();
    lane_->rst_ni = 1;
    lane_->eval();
  }
  ~Lane() { lane_->final(); }
  void run(const Case& k, Tally& tally) {
    lane_->start_i = 1;
    lane_->sqrt_i = k.op == Op::sqrt;
    lane_->rm_i = static_cast<std::uint8_t>(k.rm);
    lane_->a_i = k.a;
    lane_->b_i = k.b;
    tick();
    lane_->start_i = 0;
    lane_->a_i = ~k.a;  // operands are taken at the start only
    lane_->b_i = ~k.b;
    for (int n = 1; n < 28; ++n) tick();
    EXPECT_EQ(lane_->busy_o, 0);
    tally.compare(k, cases::reference(k), lane_->result_o, lane_->fflags_o);
  }

 private:
  void tick() {
    lane_->clk_i = 1;
    lane_->eval();
    lane_->clk_i = 0;
    lane_->eval();
  }
  VerilatedContext context_;
  std::unique_ptr<Vfpu_divsqrt> lane_;
};

TEST(FpuDivSqrt, CornersInEveryMode) {
  const auto v = cases::corners();
  Tally tally;
  Lane lane;
  for (unsigned m = 0; m < 5; ++m) {
    for (const std::uint32_t a : v) {
      lane.run({Op::sqrt, static_cast<Round>(m), a, 0x3f800001u, 0}, tally);
      for (const std::uint32_t b : v) lane.run({Op::div, static_cast<Round>(m), a, b, 0}, tally);
    }
  }
  tally.report("fpu_divsqrt, corners", 5 * 50 * 50);
}

TEST(FpuDivSqrt, Random) {
  Random random(13);
  Tally tally;
  Lane lane;
  for (int n = 0; n < 200'000; ++n) lane.run(random.any_case(random.below(3) == 0 ? Op::sqrt : Op::div), tally);
  tally.report("fpu_divsqrt, random", 200'000);
}

}  // namespace
}  // namespace tessera::fp
