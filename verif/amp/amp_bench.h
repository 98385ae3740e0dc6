// Drives the Verilated xtile_amp beside fp::amp_step: steps of six workers, one a cycle, loads, clears, debug accesses.
// The clock rises only when the unit asks for it, as in the tile. Differences are counted and the first ones kept.
#pragma once

#include <fmt/format.h>
#include <verilated.h>

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tlm/float/amp.h"

namespace tessera::fp {

struct AmpStep {
  isa::Op op = isa::Op::x_amp_io;
  unsigned phase = 0, worker = 0;
  std::uint64_t a = 0, b = 0, c = 0;
  bool commit = true;  ///< otherwise void: nothing may change
};

template <typename Model>
class AmpBench {
 public:
  AmpBench() : model_(std::make_unique<Model>(&context_)) {
    model_->rst_ni = 0;
    model_->clk_i = 0;
    model_->eval();
    model_->clk_i = 1;
    model_->eval();
    model_->clk_i = 0;
    model_->eval();
    model_->rst_ni = 1;
    model_->eval();
    for (int n = 0; n < 4; ++n) flight_.push_back({});
  }
  ~AmpBench() { model_->final(); }

  /// One cycle in which a step, or nothing, is in R. Steps of a worker must be six cycles apart.
  void cycle(const std::optional<AmpStep>& step) {
    Expected now = expect(step);
    model_->valid_i = step.has_value();
    if (step) {
      model_->op_i = static_cast<std::uint16_t>(step->op);
      model_->phase_i = static_cast<std::uint8_t>(step->phase);
      model_->ctx_i = static_cast<std::uint8_t>(step->worker);
      model_->a_i = step->a;
      model_->b_i = step->b;
      model_->c_i = step->c;
    } else {
      model_->a_i = ~model_->a_i;  // inputs change all the time
    }
    model_->commit_i = flight_.back().commit;
    model_->eval();
    check(flight_.front());
    flight_.pop_front();
    flight_.push_back(std::move(now));
    edge();
  }

  void idle(int cycles) {
    for (int n = 0; n < cycles; ++n) cycle(std::nullopt);
  }

  /// x.run of these workers, in the same cycle as whatever else goes on.
  void clear(std::uint8_t workers) {
    for (unsigned w = 0; w < 6; ++w) {
      if ((workers >> w & 1) != 0) sums_[w] = {};
    }
    model_->clear_i = workers;
    cycle(std::nullopt);
    model_->clear_i = 0;
  }

  /// x.amp.ldw: a row a cycle; each must be shown two cycles later.
  void load(const AmpWeights& weights) {
    idle(5);
    weights_ = weights;
    for (unsigned n = 0; n < 18; ++n) {
      model_->load_i = n < 16;
      if (n < 16) {
        model_->load_row_i = static_cast<std::uint8_t>(n);
        for (unsigned k = 0; k < 4; ++k) model_->load_data_i[k] = weights[4 * n + k];
      }
      cycle(std::nullopt);
      compare("row_valid", n >= 1 && n <= 16, model_->row_valid_o);
      for (unsigned k = 0; k < 4; ++k) {
        compare("row", n >= 1 && n <= 16 ? weights[4 * (n - 1) + k] : 0, model_->row_o[k]);
      }
    }
    model_->load_i = 0;
  }

  /// The sums A of a worker, brought in by steps as a program does.
  void put_a(unsigned worker, std::uint32_t every) {
    for (unsigned p = 0; p < 4; ++p) {
      AmpStep step;
      step.phase = p;
      step.worker = worker;
      step.c = std::uint64_t{every} << 32 | every;
      cycle(step);
      idle(5);
    }
  }
  std::uint32_t debug_get(bool of_sums, unsigned worker, unsigned word) {
    debug(of_sums, worker, word);
    model_->debug_i = 1;
    model_->eval();
    const std::uint32_t value = model_->debug_value_o;
    model_->debug_i = 0;
    model_->eval();
    return value;
  }
  /// All that the unit keeps, through the debug port.
  void compare_state() {
    idle(5);
    for (unsigned w = 0; w < 6; ++w) {
      for (unsigned k = 0; k < 16; ++k) {
        compare("debug sum", k < 8 ? sums_[w].a[k] : sums_[w].b[k - 8], debug_get(true, w, k));
      }
    }
    for (unsigned k = 0; k < 64; ++k) compare("debug weight", weights_[k], debug_get(false, 0, k));
  }
  /// The sums A of a worker, compared through the debug port when a step has gone by.
  void compare_a(unsigned worker) {
    for (unsigned e = 0; e < 8; ++e) compare("debug A", sums_[worker].a[e], debug_get(true, worker, e));
  }

  Model& model() { return *model_; }
  [[nodiscard]] std::uint64_t compared() const { return compared_; }
  [[nodiscard]] std::uint64_t different() const { return different_; }
  [[nodiscard]] std::uint64_t gated() const { return gated_; }
  [[nodiscard]] const std::string& first() const { return first_; }

 private:
  struct Expected {
    bool commit = false, last = false;
    AmpStep step;
    std::uint64_t out = 0;
    AmpSums sums;
  };

  Expected expect(const std::optional<AmpStep>& step) {
    Expected e;
    if (!step || !step->commit) return e;
    e.commit = true;
    e.step = *step;
    AmpSums& sums = sums_[step->worker];
    e.out = amp_step(step->op, step->phase, weights_, sums, step->a, step->b, step->c);
    e.last = step->phase == last_phase(step->op);
    if (e.last) e.sums = sums;
    return e;
  }

  void check(const Expected& e) {
    at_ = e.step;
    if (e.commit) compare("out", e.out, model_->out_o);
    compare("state_valid", e.last, model_->state_valid_o);
    if (!e.last) return;
    for (unsigned k = 0; k < 8; ++k) {
      compare("A", e.sums.a[k], model_->state_o[k]);
      compare("B", e.sums.b[k], model_->state_o[8 + k]);
    }
  }

  void compare(const char* what, std::uint64_t expected, std::uint64_t rtl) {
    ++compared_;
    if (expected == rtl) return;
    if (different_++ < 8) {
      first_ += fmt::format("{} of op {} phase {} worker {} ({:#x} {:#x} {:#x}): expected {:#x}, RTL {:#x}\n", what,
                            static_cast<unsigned>(at_.op), at_.phase, at_.worker, at_.a, at_.b, at_.c, expected, rtl);
    }
  }

  void debug(bool of_sums, unsigned worker, unsigned word) {
    model_->debug_sums_i = of_sums;
    model_->debug_ctx_i = static_cast<std::uint8_t>(worker);
    model_->debug_word_i = static_cast<std::uint8_t>(word);
  }

  void edge() {
    if (!model_->valid_i && !model_->busy_o && model_->clear_i == 0 && !model_->load_i) {
      ++gated_;
      return;
    }
    model_->clk_i = 1;
    model_->eval();
    model_->clk_i = 0;
    model_->eval();
  }

  VerilatedContext context_;
  std::unique_ptr<Model> model_;
  AmpWeights weights_{};
  std::array<AmpSums, 6> sums_{};
  std::deque<Expected> flight_;  // of cycles t-4 .. t-1
  AmpStep at_;
  std::uint64_t compared_ = 0, different_ = 0, gated_ = 0;
  std::string first_;
};

}  // namespace tessera::fp
