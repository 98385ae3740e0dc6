// Operand sets and an operation index for tests of f32 arithmetic, shared by the host, RTL and qemu comparisons.
// No expected values: those come from whoever is compared.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tlm/float/soft.h"

namespace tessera::fp::cases {

/// Operations with the numbers of fpu_pkg::fp_op_e; division and square root, which RTL has in a unit of its own,
/// follow.
enum class Op : std::uint8_t {
  add,
  sub,
  mul,
  madd,
  msub,
  nmsub,
  nmadd,
  sgnj,
  sgnjn,
  sgnjx,
  min,
  max,
  eq,
  lt,
  le,
  classify,
  cvt_w_s,
  cvt_wu_s,
  cvt_s_w,
  cvt_s_wu,
  move,
  div,
  sqrt,
  count
};
inline constexpr std::array<const char*, 23> kNames = {
    "fadd.s",   "fsub.s",    "fmul.s",   "fmadd.s",   "fmsub.s", "fnmsub.s", "fnmadd.s", "fsgnj.s",
    "fsgnjn.s", "fsgnjx.s",  "fmin.s",   "fmax.s",    "feq.s",   "flt.s",    "fle.s",    "fclass.s",
    "fcvt.w.s", "fcvt.wu.s", "fcvt.s.w", "fcvt.s.wu", "fmv",     "fdiv.s",   "fsqrt.s"};

[[nodiscard]] inline const char* name(Op op) { return kNames[static_cast<std::size_t>(op)]; }
[[nodiscard]] inline unsigned operands(Op op) {
  if (op >= Op::madd && op <= Op::nmadd) return 3;
  return op >= Op::classify && op != Op::div ? 1 : 2;
}

struct Case {
  Op op = Op::add;
  Round rm = Round::rne;
  std::uint32_t a = 0, b = 0, c = 0;
};

/// What soft.h says.
[[nodiscard]] inline Result reference(const Case& k) {
  switch (k.op) {
    case Op::add:
      return add(k.a, k.b, k.rm);
    case Op::sub:
      return sub(k.a, k.b, k.rm);
    case Op::mul:
      return mul(k.a, k.b, k.rm);
    case Op::madd:
      return fma(k.a, k.b, k.c, k.rm);
    case Op::msub:
      return fmsub(k.a, k.b, k.c, k.rm);
    case Op::nmsub:
      return fnmsub(k.a, k.b, k.c, k.rm);
    case Op::nmadd:
      return fnmadd(k.a, k.b, k.c, k.rm);
    case Op::sgnj:
      return {sgnj(k.a, k.b), 0};
    case Op::sgnjn:
      return {sgnjn(k.a, k.b), 0};
    case Op::sgnjx:
      return {sgnjx(k.a, k.b), 0};
    case Op::min:
      return min(k.a, k.b);
    case Op::max:
      return max(k.a, k.b);
    case Op::eq:
      return feq(k.a, k.b);
    case Op::lt:
      return flt(k.a, k.b);
    case Op::le:
      return fle(k.a, k.b);
    case Op::classify:
      return {classify(k.a), 0};
    case Op::cvt_w_s:
      return to_i32(k.a, k.rm);
    case Op::cvt_wu_s:
      return to_u32(k.a, k.rm);
    case Op::cvt_s_w:
      return from_i32(k.a, k.rm);
    case Op::cvt_s_wu:
      return from_u32(k.a, k.rm);
    case Op::move:
      return {k.a, 0};
    case Op::div:
      return div(k.a, k.b, k.rm);
    case Op::sqrt:
      return sqrt(k.a, k.rm);
    case Op::count:
      break;
  }
  return {};
}

/// 52 values at which something changes: zeros, both ends of the subnormals, one and its neighbours, ends of the range,
/// infinities, NaNs with payloads, halves, and the limits of the integer conversions.
[[nodiscard]] inline std::vector<std::uint32_t> corners() {
  std::vector<std::uint32_t> all;
  for (const std::uint32_t magnitude :
       {0x00000000u, 0x00000001u, 0x00000002u, 0x00400000u, 0x007fffffu, 0x00800000u, 0x00800001u,
        0x00ffffffu, 0x01000000u, 0x33800000u, 0x34000001u, 0x3effffffu, 0x3f000000u, 0x3f000001u,
        0x3f7fffffu, 0x3f800000u, 0x3f800001u, 0x3fc00000u, 0x40200000u, 0x4affffffu, 0x4effffffu,
        0x4f000000u, 0x4f7fffffu, 0x4f800000u, 0x7f000000u, 0x7f7fffffu, 0x7f800000u}) {
    all.push_back(magnitude);
    all.push_back(magnitude | kSignBit);
  }
  for (const std::uint32_t nan : {0x7fc00000u, 0xffc12345u, 0x7f800001u, 0xffbfffffu}) all.push_back(nan);
  return all;
}

/// Deterministic random numbers (splitmix64); one generator a test, seeded by it.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  [[nodiscard]] std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  [[nodiscard]] std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>((next() >> 32) * bound >> 32);
  }

  /// Any 32 bits; or a fraction with runs of ones or zeros, which exercises carries and sticky bits.
  [[nodiscard]] std::uint32_t value() {
    const std::uint64_t r = next();
    const auto bits = static_cast<std::uint32_t>(r >> 32);
    switch (r & 3) {
      case 0:
        return bits;
      case 1:
        return (bits & 0xff800000u) | (0x007fffffu >> (r >> 2 & 31) % 24);
      case 2:
        return (bits & 0xff800000u) | (0x007fffffu & ~(0x007fffffu >> (r >> 2 & 31) % 24));
      default:
        return (bits & 0x807fffffu) | ((bits >> 23 & 0x1f) + 112) << 23;  // exponents near one
    }
  }

  /// c with an exponent near that of a*b, so that a fused sum cancels or straddles; otherwise any value.
  [[nodiscard]] std::uint32_t addend_near(std::uint32_t a, std::uint32_t b) {
    const int product = static_cast<int>(a >> 23 & 0xff) + static_cast<int>(b >> 23 & 0xff) - 127;
    const int exponent = product + static_cast<int>(below(61)) - 30;
    if (exponent < 0 || exponent > 254) return value();
    return static_cast<std::uint32_t>(exponent) << 23 | (value() & 0x807fffffu);
  }

  [[nodiscard]] Case any_case(Op op) {
    Case k;
    k.op = op;
    k.rm = static_cast<Round>(below(5));
    k.a = value();
    k.b = value();
    k.c = operands(op) == 3 ? addend_near(k.a, k.b) : value();
    if ((op == Op::add || op == Op::sub) && (k.c & 1) != 0) k.b = addend_near(k.a, 0x3f800000u);
    return k;
  }

 private:
  std::uint64_t state_;
};

}  // namespace tessera::fp::cases
