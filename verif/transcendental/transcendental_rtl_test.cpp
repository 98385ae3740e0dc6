// xtile_transcendental against tlm/float: all f16 inputs, f32 corners and random ones, issued as a tile does: a slot a
// cycle, each operation read in the W of its last slot, all slots busy with different functions, some starts void. The
// clock rises only in cycles with a start or with busy_o.
#include <Vxtile_transcendental.h>
#include <gtest/gtest.h>
#include <verilated.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "hw/generated/isa.h"
#include "tlm/float/cases.h"
#include "tlm/float/simd.h"
#include "tlm/float/transcendental_cases.h"

namespace tessera::fp {
namespace {

using cases::Random;
using isa::Op;

struct Work {
  Op op;
  std::uint32_t a;
};

constexpr Op kHalves[] = {Op::x_exp_f16v2, Op::x_log_f16v2, Op::x_tanh_f16v2, Op::x_sigmoid_f16v2};
constexpr Op kSingles[] = {Op::x_exp_f32, Op::x_log_f32, Op::x_tanh_f32, Op::x_sigmoid_f32, Op::x_rsqrt_f32};

/// Six slots around the unit. Stage R of a slot is in every sixth cycle, its W four cycles later.
class Slots {
 public:
  explicit Slots(unsigned voids_of_64)
      : voids_(voids_of_64), unit_(std::make_unique<Vxtile_transcendental>(&context_)) {
    unit_->rst_ni = 0;
    unit_->clk_i = 0;
    unit_->eval();
    unit_->clk_i = 1;
    unit_->eval();
    unit_->clk_i = 0;
    unit_->eval();
    unit_->rst_ni = 1;
    unit_->eval();
  }
  ~Slots() { unit_->final(); }
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;

  /// Runs until `next` has no more work and all is done.
  void run(const std::function<std::optional<Work>()>& next) {
    bool more = true;
    for (unsigned left = 40; left != 0; left = more ? 40 : left - 1) {
      const unsigned slot = cycle_ % 6;
      unit_->valid_i = 0;
      unit_->a_i = static_cast<std::uint32_t>(cycle_ * 2654435761u);  // what stands there without a start is no operand
      if (more && cycle_ >= free_[slot] && random_.below(16) != 0) {
        const bool is_void = random_.below(64) < voids_;
        const std::optional<Work> work =
            is_void ? Work{random_op(), static_cast<std::uint32_t>(random_.next())} : next();
        if (work) {
          start(slot, *work, is_void);
        } else {
          more = false;
        }
      }
      check();
      tick();
      ++cycle_;
    }
  }

  void report(const char* what, std::uint64_t at_least) const {
    std::printf("%s: %llu results compared, %llu different; %llu void starts; the clock rose in %llu of %llu cycles\n",
                what, static_cast<unsigned long long>(compared_), static_cast<unsigned long long>(different_),
                static_cast<unsigned long long>(void_starts_), static_cast<unsigned long long>(edges_),
                static_cast<unsigned long long>(cycle_));
    EXPECT_GE(compared_, at_least);
    EXPECT_EQ(different_, 0u);
  }

 private:
  Op random_op() {
    const std::uint32_t n = random_.below(9);
    return n < 4 ? kHalves[n] : kSingles[n - 4];
  }

  void start(unsigned slot, const Work& work, bool is_void) {
    unit_->valid_i = 1;
    unit_->op_i = static_cast<std::uint16_t>(work.op);
    unit_->start_lane_i = static_cast<std::uint8_t>(slot);
    unit_->a_i = work.a;
    if (is_void) {
      ++void_starts_;
      free_[slot] = cycle_ + 6;
      return;
    }
    const unsigned slots = isa::info(work.op).slots;
    free_[slot] = cycle_ + 6 * slots;
    pending_[slot] = Pending{work, cycle_ + 6 * (slots - 1) + 4};
  }

  // The instruction in W: after the edges before this cycle, with this cycle's lane.
  void check() {
    const unsigned slot = (cycle_ + 2) % 6;  // that of four cycles ago
    unit_->lane_i = static_cast<std::uint8_t>(slot);
    unit_->eval();
    if (!pending_[slot] || pending_[slot]->cycle != cycle_) return;
    const Work& work = pending_[slot]->work;
    const auto want = static_cast<std::uint32_t>(simd(work.op, Operand{work.a, 0}, {}, {}, 0).lo);
    ++compared_;
    if (unit_->result_o != want && ++different_ <= 10) {
      ADD_FAILURE() << isa::info(work.op).name << std::hex << " " << work.a << " gives " << unit_->result_o << ", not "
                    << want;
    }
    pending_[slot].reset();
  }

  void tick() {
    if (unit_->valid_i == 0 && unit_->busy_o == 0) return;
    ++edges_;
    unit_->clk_i = 1;
    unit_->eval();
    unit_->clk_i = 0;
    unit_->eval();
  }

  struct Pending {
    Work work;
    std::uint64_t cycle;  ///< in which its W is
  };
  unsigned voids_;
  VerilatedContext context_;
  std::unique_ptr<Vxtile_transcendental> unit_;
  Random random_{7};
  std::uint64_t cycle_ = 0, compared_ = 0, different_ = 0, void_starts_ = 0, edges_ = 0;
  std::array<std::uint64_t, 6> free_{};
  std::array<std::optional<Pending>, 6> pending_;
};

TEST(TranscendentalRtl, AllHalfInputsInBothLanes) {
  Slots slots(0);
  std::uint32_t n = 0;
  slots.run([&]() -> std::optional<Work> {
    if (n == 4 * 0x10000) return std::nullopt;
    const std::uint32_t low = n / 4, high = (low * 0x9e37u + 0x1234u) & 0xffff;  // an odd factor: all values once
    return Work{kHalves[n++ % 4], high << 16 | low};
  });
  slots.report("f16v2, all inputs", 4 * 0x10000);
}

TEST(TranscendentalRtl, SingleCorners) {
  Slots slots(0);
  const std::vector<std::uint32_t> corners = transcendental_corners();
  std::size_t n = 0;
  slots.run([&]() -> std::optional<Work> {
    if (n == 5 * corners.size()) return std::nullopt;
    const Work work{kSingles[n % 5], corners[n / 5]};
    ++n;
    return work;
  });
  slots.report("f32, corners", 5 * corners.size());
}

// Half of the operands are any bits, half have exponents with which all functions are away from their ends.
TEST(TranscendentalRtl, SingleRandom) {
  constexpr std::uint32_t kEach = 900'000;
  Slots slots(0);
  Random random(23);
  std::uint32_t n = 0;
  slots.run([&]() -> std::optional<Work> {
    if (n == 5 * kEach) return std::nullopt;
    auto a = static_cast<std::uint32_t>(random.next());
    if (random.below(2) == 0) a = (a & 0x807fffff) | (127 - 14 + random.below(21)) << 23;
    return Work{kSingles[n++ % 5], a};
  });
  slots.report("f32, random", 5 * kEach);
}

TEST(TranscendentalRtl, MixedFormatsWithVoidStarts) {
  Slots slots(12);
  Random random(29);
  std::uint32_t n = 0;
  slots.run([&]() -> std::optional<Work> {
    if (++n > 400'000) return std::nullopt;
    const std::uint32_t f = random.below(9);
    return Work{f < 4 ? kHalves[f] : kSingles[f - 4], static_cast<std::uint32_t>(random.next())};
  });
  slots.report("both formats, void starts between", 400'000);
}

}  // namespace
}  // namespace tessera::fp
