// Custom-2 and custom-3 arithmetic by lanes, from half.h, soft.h and the generated transcendental programs.
#include "tlm/float/simd.h"

#include <stdexcept>

#include "tlm/float/half.h"
#include "tlm/float/soft.h"
#include "tlm/float/transcendental.h"

namespace tessera::fp {
namespace {

using isa::Op;

constexpr std::uint64_t rotl(std::uint64_t v, unsigned by) { return v << by | v >> (64 - by); }

std::uint16_t h(const Operand& v, unsigned lane) { return static_cast<std::uint16_t>(v.lo >> 16 * lane); }
std::uint32_t s(const Operand& v, unsigned lane) {
  return static_cast<std::uint32_t>((lane < 2 ? v.lo : v.hi) >> 32 * (lane & 1));
}
void put(Operand& v, unsigned lane, std::uint32_t f32) {
  (lane < 2 ? v.lo : v.hi) |= std::uint64_t{f32} << 32 * (lane & 1);
}

/// f(lane) for each f16 lane.
template <typename F>
Operand halves(unsigned lanes, F f) {
  Operand out;
  for (unsigned k = 0; k < lanes; ++k) out.lo |= std::uint64_t{static_cast<std::uint16_t>(f(k))} << 16 * k;
  return out;
}

/// f(lane) for each f32 lane.
template <typename F>
Operand singles(unsigned lanes, F f) {
  Operand out;
  for (unsigned k = 0; k < lanes; ++k) put(out, k, f(k));
  return out;
}

std::uint16_t mask16(bool v) { return v ? 0xffff : 0; }
std::uint32_t mask32(bool v) { return v ? 0xffffffffu : 0; }

std::uint32_t plus(std::uint32_t a, std::uint32_t b) { return add(a, b, Round::rne).bits; }

/// f32 sum of four f16 products added to c, in the order of the matrix product; the products are exact in f32.
std::uint32_t dot(const Operand& a, const Operand& b, std::uint32_t c) {
  const auto product = [&](unsigned k) { return mul(half_to_f32(h(a, k)), half_to_f32(h(b, k)), Round::rne).bits; };
  return plus(c, plus(plus(product(0), product(1)), plus(product(2), product(3))));
}

}  // namespace

std::uint64_t Rng::step() {
  const std::uint64_t sx = s0 ^ s1, sa = s0 & s1;
  s0 = rotl(s0, 55) ^ sx ^ sx << 14;
  s1 = rotl(sx, 36);
  return sx ^ (rotl(sa, 1) | rotl(sa, 2));
}

bool draws(Op op) {
  switch (op) {
    case Op::x_urand32:
    case Op::x_urand64:
    case Op::x_cvt_sr_f16_f32:
    case Op::x_cvt_sr_f16v2_f32v2:
    case Op::x_cvt_sr_f16v4_f32v4:
      return true;
    default:
      return false;
  }
}

Operand simd(Op op, const Operand& rs1, const Operand& rs2, const Operand& rs3, std::uint64_t draw) {
  constexpr Round rne = Round::rne;
  switch (op) {
#define TESSERA_HALF(name, expression)                                                                      \
  case Op::x_##name##_f16v2:                                                                                \
  case Op::x_##name##_f16v4:                                                                                \
    return halves(op == Op::x_##name##_f16v2 ? 2 : 4, [&](unsigned k) {                                     \
      [[maybe_unused]] const std::uint16_t a = h(rs1, k), b = h(rs2, k), c = h(rs3, k), scalar = h(rs1, 0); \
      return (expression);                                                                                  \
    });
#define TESSERA_SINGLE(name, expression)                                                                    \
  case Op::x_##name##_f32v2:                                                                                \
    return singles(2, [&](unsigned k) {                                                                     \
      [[maybe_unused]] const std::uint32_t a = s(rs1, k), b = s(rs2, k), c = s(rs3, k), scalar = s(rs1, 0); \
      return (expression);                                                                                  \
    });
    TESSERA_HALF(add, half_add(a, b))
    TESSERA_HALF(sub, half_sub(a, b))
    TESSERA_HALF(mul, half_mul(a, b))
    TESSERA_HALF(max, half_max(a, b))
    TESSERA_HALF(min, half_min(a, b))
    TESSERA_HALF(cmpeq, mask16(half_eq(a, b)))
    TESSERA_HALF(cmplt, mask16(half_lt(a, b)))
    TESSERA_HALF(cmple, mask16(half_le(a, b)))
    TESSERA_HALF(abs, a & 0x7fff)
    TESSERA_HALF(neg, a ^ 0x8000)
    TESSERA_HALF(mac, half_fma(a, b, c))
    TESSERA_HALF(sadd, half_fma(scalar, b, c))
    TESSERA_HALF(sel, (a & 0x8000) != 0 ? b : c)
    case Op::x_exp_f16v2:
      return halves(2, [&](unsigned k) { return exp_f16(h(rs1, k)); });
    case Op::x_log_f16v2:
      return halves(2, [&](unsigned k) { return log_f16(h(rs1, k)); });
    case Op::x_tanh_f16v2:
      return halves(2, [&](unsigned k) { return tanh_f16(h(rs1, k)); });
    case Op::x_sigmoid_f16v2:
      return halves(2, [&](unsigned k) { return sigmoid_f16(h(rs1, k)); });
    case Op::x_exp_f32:
      return {exp_f32(s(rs1, 0)), 0};
    case Op::x_log_f32:
      return {log_f32(s(rs1, 0)), 0};
    case Op::x_tanh_f32:
      return {tanh_f32(s(rs1, 0)), 0};
    case Op::x_sigmoid_f32:
      return {sigmoid_f32(s(rs1, 0)), 0};
    case Op::x_rsqrt_f32:
      return {rsqrt_f32(s(rs1, 0)), 0};
      TESSERA_SINGLE(add, add(a, b, rne).bits)
      TESSERA_SINGLE(sub, sub(a, b, rne).bits)
      TESSERA_SINGLE(mul, mul(a, b, rne).bits)
      TESSERA_SINGLE(max, max(a, b).bits)
      TESSERA_SINGLE(min, min(a, b).bits)
      TESSERA_SINGLE(cmpeq, mask32(equal(a, b)))
      TESSERA_SINGLE(cmplt, mask32(less(a, b)))
      TESSERA_SINGLE(cmple, mask32(less(a, b) || equal(a, b)))
      TESSERA_SINGLE(abs, a & ~kSignBit)
      TESSERA_SINGLE(neg, a ^ kSignBit)
      TESSERA_SINGLE(mac, fma(a, b, c, rne).bits)
      TESSERA_SINGLE(sadd, fma(scalar, b, c, rne).bits)
      TESSERA_SINGLE(sel, (a & kSignBit) != 0 ? b : c)
#undef TESSERA_HALF
#undef TESSERA_SINGLE
    case Op::x_dot_f16v4:
      return {dot(rs1, rs2, s(rs3, 0)), 0};

    case Op::x_cvt_f32_f16:
    case Op::x_cvt_f32v2_f16v2:
    case Op::x_cvt_f32v4_f16v4:
      return singles(op == Op::x_cvt_f32_f16       ? 1
                     : op == Op::x_cvt_f32v2_f16v2 ? 2
                                                   : 4,
                     [&](unsigned k) { return half_to_f32(h(rs1, k)); });
    case Op::x_cvt_f16_f32:
    case Op::x_cvt_f16v2_f32v2:
    case Op::x_cvt_f16v4_f32v4:
      return halves(op == Op::x_cvt_f16_f32       ? 1
                    : op == Op::x_cvt_f16v2_f32v2 ? 2
                                                  : 4,
                    [&](unsigned k) { return half_from_f32(s(rs1, k)); });
    case Op::x_cvt_sr_f16_f32:
    case Op::x_cvt_sr_f16v2_f32v2:
    case Op::x_cvt_sr_f16v4_f32v4:
      return halves(
          op == Op::x_cvt_sr_f16_f32       ? 1
          : op == Op::x_cvt_sr_f16v2_f32v2 ? 2
                                           : 4,
          [&](unsigned k) { return half_from_f32_stochastic(s(rs1, k), static_cast<std::uint16_t>(draw >> 16 * k)); });
    case Op::x_cvt_i32_f32:
      return {to_i32(s(rs1, 0), rne).bits, 0};
    case Op::x_cvt_u32_f32:
      return {to_u32(s(rs1, 0), rne).bits, 0};
    case Op::x_cvt_f32_i32:
      return {from_i32(s(rs1, 0), rne).bits, 0};
    case Op::x_cvt_f32_u32:
      return {from_u32(s(rs1, 0), rne).bits, 0};
    case Op::x_cvt_i32v2_f32v2:
      return singles(2, [&](unsigned k) { return to_i32(s(rs1, k), rne).bits; });
    case Op::x_cvt_f32v2_i32v2:
      return singles(2, [&](unsigned k) { return from_i32(s(rs1, k), rne).bits; });

    case Op::x_urand32:
      return {draw & 0xffffffffu, 0};
    case Op::x_urand64:
      return {draw, 0};

    case Op::x_sum_f16v2:
      return {half_add(h(rs1, 0), h(rs1, 1)), 0};
    case Op::x_sum_f16v4:
      return {half_add(half_add(h(rs1, 0), h(rs1, 1)), half_add(h(rs1, 2), h(rs1, 3))), 0};
    case Op::x_sum_f32v2:
      return {plus(s(rs1, 0), s(rs1, 1)), 0};
    case Op::x_dup_f16:
      return halves(2, [&](unsigned) { return h(rs1, 0); });
    case Op::x_swap_f16v2:
      return halves(2, [&](unsigned k) { return h(rs1, 1 - k); });
    case Op::x_high_f16:
      return {h(rs1, 1), 0};
    case Op::x_pack_f16:
      return halves(2, [&](unsigned k) { return h(k == 0 ? rs1 : rs2, 0); });
    case Op::x_mv64:
      return {rs1.lo, 0};

    default:
      throw std::logic_error("fp::simd: not an instruction of its own");
  }
}

}  // namespace tessera::fp
