// Drives the Verilated xtile_simd beside fp::simd: one operation a cycle or none, each result looked at four edges
// later. The clock rises only when the unit asks for it, as in the tile. Differences are counted and the first ones
// kept.
#pragma once

#include <fmt/format.h>
#include <verilated.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tlm/float/simd.h"

namespace tessera::fp {

struct SimdCase {
  isa::Op op = isa::Op::illegal;
  Operand a, b, c;
  std::uint64_t draw = 0;
};

/// Whether xtile_simd has it: custom-2 and custom-3 without transcendentals and AMP.
[[nodiscard]] inline bool is_simd(isa::Op op) {
  const isa::Info& info = isa::info(op);
  const unsigned opcode = info.match & 0x7f, function = info.match >> 12 & 7, seven = info.match >> 25;
  if (opcode == 0x5b) return function > 3 || (function < 3 && seven < 0x20);
  return opcode == 0x7b && function < 3;
}
[[nodiscard]] inline std::vector<isa::Op> simd_ops() {
  std::vector<isa::Op> all;
  for (unsigned n = 1; n < isa::kOpCount; ++n) {
    if (is_simd(static_cast<isa::Op>(n))) all.push_back(static_cast<isa::Op>(n));
  }
  return all;
}

template <typename Model>
class SimdBench {
 public:
  SimdBench() : model_(std::make_unique<Model>(&context_)) {
    model_->rst_ni = 0;
    model_->eval();
    model_->clk_i = 1;
    model_->eval();
    model_->clk_i = 0;
    model_->eval();
    model_->rst_ni = 1;
    model_->eval();
    for (int n = 0; n < 4; ++n) flight_.push_back(std::nullopt);
  }
  ~SimdBench() { model_->final(); }

  void cycle(const std::optional<SimdCase>& k) {
    model_->valid_i = k.has_value();
    if (k) {
      model_->op_i = static_cast<std::uint16_t>(k->op);
      const std::uint64_t halves[2] = {k->a.lo, k->a.hi};
      for (unsigned n = 0; n < 4; ++n) model_->a_i[n] = static_cast<std::uint32_t>(halves[n / 2] >> 32 * (n & 1));
      model_->b_i = k->b.lo;
      model_->c_i = k->c.lo;
      model_->draw_i = k->draw;
    } else {
      model_->b_i = ~model_->b_i;  // inputs change all the time
    }
    model_->eval();
    if (flight_.front()) check(*flight_.front());
    flight_.pop_front();
    flight_.push_back(k);
    if (!model_->valid_i && !model_->busy_o) {
      ++gated_;
      return;
    }
    model_->clk_i = 1;
    model_->eval();
    model_->clk_i = 0;
    model_->eval();
  }
  void drain() {
    for (int n = 0; n < 5; ++n) cycle(std::nullopt);
  }

  Model& model() { return *model_; }
  [[nodiscard]] std::uint64_t compared() const { return compared_; }
  [[nodiscard]] std::uint64_t different() const { return different_; }
  [[nodiscard]] std::uint64_t gated() const { return gated_; }
  [[nodiscard]] const std::string& first() const { return first_; }

 private:
  void check(const SimdCase& k) {
    const Operand expected = simd(k.op, k.a, k.b, k.c, k.draw);
    const auto& r = model_->result_o;
    const Operand rtl{std::uint64_t{r[1]} << 32 | r[0], std::uint64_t{r[3]} << 32 | r[2]};
    ++compared_;
    if (expected == rtl) return;
    if (different_++ < 8) {
      first_ += fmt::format(
          "{} {:016x}{:016x} {:016x} {:016x} draw {:016x}: expected {:016x}{:016x}, RTL {:016x}{:016x}\n",
          isa::info(k.op).name, k.a.hi, k.a.lo, k.b.lo, k.c.lo, k.draw, expected.hi, expected.lo, rtl.hi, rtl.lo);
    }
  }

  VerilatedContext context_;
  std::unique_ptr<Model> model_;
  std::deque<std::optional<SimdCase>> flight_;  // of cycles t-4 .. t-1
  std::uint64_t compared_ = 0, different_ = 0, gated_ = 0;
  std::string first_;
};

}  // namespace tessera::fp
