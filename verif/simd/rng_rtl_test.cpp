// The Verilated PRNG unit against fp::Rng: power-on states, sequences of six workers mixed with bubbles, CSR accesses.
#include <Vxtile_rng.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>

#include "tlm/float/simd.h"
#include "verif/simd/half_cases.h"

namespace tessera::fp {
namespace {

class Unit {
 public:
  explicit Unit(std::uint32_t hart_base) : model_(std::make_unique<Vxtile_rng>(&context_)) {
    model_->hart_base_i = hart_base;
    model_->rst_ni = 0;
    edge();
    model_->rst_ni = 1;
    model_->eval();
  }
  ~Unit() { model_->final(); }
  /// What R reads; the step is made a cycle later, or not at all.
  std::uint64_t draw(unsigned worker, bool commit) {
    model_->draw_i = 1;
    model_->draw_worker_i = static_cast<std::uint8_t>(worker);
    model_->eval();
    const std::uint64_t out = model_->draw_o;
    model_->draw_i = 0;
    model_->worker_i = static_cast<std::uint8_t>(worker);
    model_->step_i = commit;
    model_->eval();
    EXPECT_EQ(model_->draw_o, 0u);
    if (commit) edge();
    model_->step_i = 0;
    return out;
  }
  std::uint32_t read(unsigned worker, unsigned index) {
    model_->worker_i = static_cast<std::uint8_t>(worker);
    model_->index_i = static_cast<std::uint8_t>(index);
    model_->read_i = 1;
    model_->eval();
    const std::uint32_t value = model_->value_o;
    model_->read_i = 0;
    return value;
  }
  void write(unsigned worker, unsigned index, std::uint32_t value) {
    model_->worker_i = static_cast<std::uint8_t>(worker);
    model_->index_i = static_cast<std::uint8_t>(index);
    model_->value_i = value;
    model_->read_i = model_->write_i = 1;
    edge();
    model_->read_i = model_->write_i = 0;
  }
  Rng state(unsigned worker) {
    model_->state_i = 1;
    model_->state_worker_i = static_cast<std::uint8_t>(worker);
    model_->eval();
    const auto& s = model_->state_o;
    const Rng r{std::uint64_t{s[1]} << 32 | s[0], std::uint64_t{s[3]} << 32 | s[2]};
    model_->state_i = 0;
    return r;
  }

 private:
  void edge() {
    model_->clk_i = 1;
    model_->eval();
    model_->clk_i = 0;
    model_->eval();
  }
  VerilatedContext context_;
  std::unique_ptr<Vxtile_rng> model_;
};

TEST(Rng, SequencesOfSixWorkers) {
  cases::Random random(41);
  std::uint64_t compared = 0;
  for (const std::uint32_t hart_base : {0u, 7u * 1216u, 0xfffffffcu}) {
    Unit unit(hart_base);
    std::array<Rng, 6> reference;
    for (unsigned w = 0; w < 6; ++w) reference[w] = {std::uint64_t{1} << 32 | (hart_base + w + 1), 1};
    for (int n = 0; n < 100'000; ++n) {
      const unsigned w = random.below(6);
      Rng& r = reference[w];
      switch (random.below(16)) {
        case 0: {
          const unsigned index = random.below(4);
          const auto value = static_cast<std::uint32_t>(random.next());
          unit.write(w, index, value);
          std::uint64_t& half = index < 2 ? r.s0 : r.s1;
          half = (half & ~(0xffffffffull << 32 * (index & 1))) | std::uint64_t{value} << 32 * (index & 1);
          break;
        }
        case 1: {
          const unsigned index = random.below(4);
          ASSERT_EQ(unit.read(w, index), static_cast<std::uint32_t>((index < 2 ? r.s0 : r.s1) >> 32 * (index & 1)));
          break;
        }
        case 2: {
          Rng next = r;
          ASSERT_EQ(unit.draw(w, false), next.step());  // void: no step
          break;
        }
        default:
          ASSERT_EQ(unit.draw(w, true), r.step()) << "worker " << w;
      }
      const Rng state = unit.state(w);
      ASSERT_EQ(state.s0, r.s0);
      ASSERT_EQ(state.s1, r.s1);
      compared += 2;
    }
  }
  std::printf("rng: %llu comparisons, 0 different\n", static_cast<unsigned long long>(compared));
  EXPECT_EQ(compared, 600'000u);
}

}  // namespace
}  // namespace tessera::fp
