// f32 arithmetic of RISC-V F for interpreters: the same results and flags as soft.h, by the host's floating point where
// that is exact, at a few host instructions an operation. x86-64; any other host takes the integer path.
//
// Use: hold a FlagScope while running target code, call the functions below, and read FlagScope::take() when fflags is
// read or the context is left:
//
//     fp::FlagScope scope;                      // saves the host's state, clears the sticky flags
//     f[rd] = fp::fast::add(f[rs1], f[rs2]);    // round to nearest even; flags accrue in the host
//     fflags |= scope.take();                   // exact fflags of everything since the last take()
//
// Operations accrue into the host's MXCSR, which costs nothing; the scope must be alive on the calling thread, and no
// other floating point of the host may run between (the compiler's own float arithmetic would accrue too).
//
// Why it is exact:
//  - addss, subss, mulss, divss, sqrtss and vfmadd231ss are IEEE 754 binary32 operations with one rounding; DAZ and FTZ
//    are off and all exceptions masked inside the scope. x86 detects tininess after rounding, and with UE masked sets
//    the underflow flag only for tiny and inexact results: the rule of RISC-V. IE, ZE, OE, PE are NV, DZ, OF, NX.
//  - NaN results are replaced by the canonical NaN, so no payload or sign of the host shows. IE is raised as RISC-V
//  does
//    but for inf*0 + quiet NaN, which the integer path decides (every NaN of a fused operation goes there).
//  - Fused operations without host FMA: a*b is exact in binary64 (48 of 53 bits; exponents -298..255 are normal there);
//    its sum with c is made round-to-odd from the rounding error that TwoSum gives exactly. Rounding a round-to-odd
//    value of 53 >= 24 + 2 bits to binary32 equals rounding the exact sum, at any last place (Boldo, Melquiond 2008),
//    and its flags are those of that conversion: if the sum was inexact the odd value has bit 0 set and does not fit in
//    24 bits, so PE, which the binary64 steps may set only in that case, is right.
//  - Compares: cmpeqss is quiet, cmpltss and cmpless signal for every NaN, as feq, flt, fle.
//  - Arithmetic is volatile assembly, so that no compiler option moves it over the reading of flags, folds it or
//    removes it.
#pragma once

#include <cstdint>
#include <cstring>

#include "tlm/float/soft.h"

#ifdef __FAST_MATH__
#error "tlm/float must not be built with -ffast-math: NaN tests would be folded away"
#endif

#if defined(__x86_64__) && defined(__GNUC__) && !defined(TESSERA_FLOAT_PORTABLE)
#define TESSERA_FLOAT_SSE 1
#else
#define TESSERA_FLOAT_SSE 0
#endif

namespace tessera::fp {

namespace detail {

#if TESSERA_FLOAT_SSE

inline constexpr std::uint32_t kMxcsrClear = 0x1f80;  ///< nearest even, all masked, no flags, subnormals honoured

inline std::uint32_t read_mxcsr() {
  std::uint32_t v;
  asm volatile("stmxcsr %0" : "=m"(v) : : "memory");
  return v;
}
inline void write_mxcsr(std::uint32_t v) { asm volatile("ldmxcsr %0" : : "m"(v) : "memory"); }

/// fflags from MXCSR: bit 0 IE, 2 ZE, 3 OE, 4 UE, 5 PE.
constexpr std::uint8_t flags_of_mxcsr(std::uint32_t m) {
  return static_cast<std::uint8_t>((m & 1) << 4 | (m & 4) << 1 | (m & 8) >> 1 | (m & 16) >> 3 | (m & 32) >> 5);
}
constexpr std::uint32_t mxcsr_of_flags(std::uint8_t f) {
  return (f & kNV) >> 4 | (f & kDZ) >> 1 | (f & kOF) << 1 | (f & kUF) << 3 | (f & kNX) << 5;
}
inline void raise(std::uint8_t flags) {
  if (flags != 0) write_mxcsr(read_mxcsr() | mxcsr_of_flags(flags));
}

#else

inline std::uint8_t& pending_flags() {
  thread_local std::uint8_t flags = 0;
  return flags;
}
inline void raise(std::uint8_t flags) { pending_flags() |= flags; }

#endif

inline float to_float(std::uint32_t a) {
  float f;
  std::memcpy(&f, &a, sizeof f);
  return f;
}
inline std::uint32_t to_bits(float f) {
  std::uint32_t a;
  std::memcpy(&a, &f, sizeof a);
  return a;
}
inline std::uint32_t accrue(Result r) {
  raise(r.flags);
  return r.bits;
}

}  // namespace detail

/// Holds the host's floating-point state while target code runs on this thread; restores it, flags included, at its
/// end.
class FlagScope {
 public:
#if TESSERA_FLOAT_SSE
  /// `used`: whether there is F in it at all; changing the host's state takes longer than many an instruction.
  explicit FlagScope(bool used = true) : used_(used) {
    if (!used_) return;
    saved_ = detail::read_mxcsr();
    detail::write_mxcsr(detail::kMxcsrClear);
  }
  ~FlagScope() {
    if (used_) detail::write_mxcsr(saved_);
  }
  /// fflags raised since the scope began or since the last take(), and clears them.
  [[nodiscard]] std::uint8_t take() {
    const std::uint8_t flags = detail::flags_of_mxcsr(detail::read_mxcsr());
    if (flags != 0) detail::write_mxcsr(detail::kMxcsrClear);
    return flags;
  }
  /// The same without clearing.
  [[nodiscard]] std::uint8_t peek() const { return detail::flags_of_mxcsr(detail::read_mxcsr()); }
#else
  explicit FlagScope(bool = true) : saved_(detail::pending_flags()) { detail::pending_flags() = 0; }
  ~FlagScope() { detail::pending_flags() = static_cast<std::uint8_t>(saved_); }
  [[nodiscard]] std::uint8_t take() {
    const std::uint8_t flags = detail::pending_flags();
    detail::pending_flags() = 0;
    return flags;
  }
  [[nodiscard]] std::uint8_t peek() const { return detail::pending_flags(); }
#endif
  FlagScope(const FlagScope&) = delete;
  FlagScope& operator=(const FlagScope&) = delete;

 private:
#if TESSERA_FLOAT_SSE
  bool used_;
#endif
  std::uint32_t saved_ = 0;
};

/// Round to nearest even. Flags accrue into the FlagScope of this thread.
namespace fast {

#if TESSERA_FLOAT_SSE

namespace x86 {
/// One unordered compare and a branch: results are never signaling, so the compare raises nothing.
inline std::uint32_t canonical(float f) { return __builtin_expect(f != f, 0) ? kCanonicalNan : detail::to_bits(f); }
// Rare ways out of the fast path, kept out of line so that handlers save no registers.
[[gnu::noinline, gnu::cold]] inline std::uint32_t slow_fma(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  return detail::accrue(fp::fma(a, b, c, Round::rne));
}
[[gnu::noinline, gnu::cold]] inline std::uint32_t slow_to_i32(std::uint32_t a, Round rm) {
  return detail::accrue(fp::to_i32(a, rm));
}
[[gnu::noinline, gnu::cold]] inline std::uint32_t slow_to_u32(std::uint32_t a, Round rm) {
  return detail::accrue(fp::to_u32(a, rm));
}
/// cvtsd2ss of the round-to-odd sum of an exact product and c; only for finite operands and no NaN result.
inline float fma_by_double(double product, double c) {
  double sum = product, virtual_c = 0, error = 0, rest = 0;
  asm volatile("addsd %1, %0" : "+x"(sum) : "x"(c));
  virtual_c = sum;
  asm volatile("subsd %1, %0" : "+x"(virtual_c) : "x"(product));
  rest = sum;
  asm volatile("subsd %1, %0" : "+x"(rest) : "x"(virtual_c));
  error = product;
  asm volatile("subsd %1, %0" : "+x"(error) : "x"(rest));
  rest = c;
  asm volatile("subsd %1, %0" : "+x"(rest) : "x"(virtual_c));
  asm volatile("addsd %1, %0" : "+x"(error) : "x"(rest));
  std::uint64_t sum_bits, error_bits;
  std::memcpy(&sum_bits, &sum, sizeof sum_bits);
  std::memcpy(&error_bits, &error, sizeof error_bits);
  if ((error_bits << 1) != 0 && (sum_bits & 1) == 0) {
    // Inexact and even: the exact sum lies between `sum` and a neighbour; the odd one of the two is the neighbour.
    sum_bits += ((sum_bits ^ error_bits) >> 63) != 0 ? ~std::uint64_t{0} : 1;
    std::memcpy(&sum, &sum_bits, sizeof sum);
  }
  float result;
  asm volatile("cvtsd2ss %1, %0" : "=x"(result) : "x"(sum));
  return result;
}
[[gnu::noinline]] inline std::uint32_t fma_portable(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  constexpr std::uint32_t exponent = 0x7f800000u;
  if ((a & exponent) == exponent || (b & exponent) == exponent || (c & exponent) == exponent) {
    return slow_fma(a, b, c);
  }
  double x, y, z;
  asm volatile("cvtss2sd %1, %0" : "=x"(x) : "x"(detail::to_float(a)));
  asm volatile("cvtss2sd %1, %0" : "=x"(y) : "x"(detail::to_float(b)));
  asm volatile("cvtss2sd %1, %0" : "=x"(z) : "x"(detail::to_float(c)));
  asm volatile("mulsd %1, %0" : "+x"(x) : "x"(y));
  return detail::to_bits(fma_by_double(x, z));
}
}  // namespace x86

inline std::uint32_t add(std::uint32_t a, std::uint32_t b) {
  float r = detail::to_float(a);
  asm volatile("addss %1, %0" : "+x"(r) : "x"(detail::to_float(b)));
  return x86::canonical(r);
}
inline std::uint32_t sub(std::uint32_t a, std::uint32_t b) {
  float r = detail::to_float(a);
  asm volatile("subss %1, %0" : "+x"(r) : "x"(detail::to_float(b)));
  return x86::canonical(r);
}
inline std::uint32_t mul(std::uint32_t a, std::uint32_t b) {
  float r = detail::to_float(a);
  asm volatile("mulss %1, %0" : "+x"(r) : "x"(detail::to_float(b)));
  return x86::canonical(r);
}
inline std::uint32_t div(std::uint32_t a, std::uint32_t b) {
  float r = detail::to_float(a);
  asm volatile("divss %1, %0" : "+x"(r) : "x"(detail::to_float(b)));
  return x86::canonical(r);
}
inline std::uint32_t sqrt(std::uint32_t a) {
  float r;
  asm volatile("sqrtss %1, %0" : "=x"(r) : "x"(detail::to_float(a)));
  return x86::canonical(r);
}
inline std::uint32_t fma(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  if (__builtin_expect(!__builtin_cpu_supports("fma"), 0)) return x86::fma_portable(a, b, c);
  float r = detail::to_float(c);
  asm volatile("vfmadd231ss %2, %1, %0" : "+x"(r) : "x"(detail::to_float(a)), "x"(detail::to_float(b)));
  return __builtin_expect(r != r, 0) ? x86::slow_fma(a, b, c) : detail::to_bits(r);
}

inline std::uint32_t feq(std::uint32_t a, std::uint32_t b) {
  float r = detail::to_float(a);
  asm volatile("cmpeqss %1, %0" : "+x"(r) : "x"(detail::to_float(b)));
  return detail::to_bits(r) & 1;
}
inline std::uint32_t flt(std::uint32_t a, std::uint32_t b) {
  float r = detail::to_float(a);
  asm volatile("cmpltss %1, %0" : "+x"(r) : "x"(detail::to_float(b)));
  return detail::to_bits(r) & 1;
}
inline std::uint32_t fle(std::uint32_t a, std::uint32_t b) {
  float r = detail::to_float(a);
  asm volatile("cmpless %1, %0" : "+x"(r) : "x"(detail::to_float(b)));
  return detail::to_bits(r) & 1;
}

/// fcvt.w.s with rounding mode RTZ (a C cast), and with RNE. 0x80000000 is the host's answer for what does not fit.
inline std::uint32_t to_i32_rtz(std::uint32_t a) {
  std::uint32_t r;
  asm volatile("cvttss2si %1, %0" : "=r"(r) : "x"(detail::to_float(a)));
  return __builtin_expect(r == 0x80000000u, 0) ? x86::slow_to_i32(a, Round::rtz) : r;
}
inline std::uint32_t to_i32(std::uint32_t a) {
  std::uint32_t r;
  asm volatile("cvtss2si %1, %0" : "=r"(r) : "x"(detail::to_float(a)));
  return __builtin_expect(r == 0x80000000u, 0) ? x86::slow_to_i32(a, Round::rne) : r;
}
/// fcvt.wu.s with RTZ: the host converts to 64 bits; only +0 .. 2^32 - 256 go that way, so that the host's inexact flag
/// is never set for a value that does not fit.
inline std::uint32_t to_u32_rtz(std::uint32_t a) {
  if (__builtin_expect(a >= 0x4f800000u, 0)) return x86::slow_to_u32(a, Round::rtz);
  std::uint64_t r;
  asm volatile("cvttss2siq %1, %0" : "=r"(r) : "x"(detail::to_float(a)));
  return static_cast<std::uint32_t>(r);
}
inline std::uint32_t from_i32(std::uint32_t a) {
  float r;
  asm volatile("xorps %0, %0\n\tcvtsi2ssl %1, %0" : "=&x"(r) : "r"(a));
  return detail::to_bits(r);
}
inline std::uint32_t from_u32(std::uint32_t a) {
  float r;
  asm volatile("xorps %0, %0\n\tcvtsi2ssq %1, %0" : "=&x"(r) : "r"(std::uint64_t{a}));
  return detail::to_bits(r);
}

#else

inline std::uint32_t add(std::uint32_t a, std::uint32_t b) { return detail::accrue(fp::add(a, b, Round::rne)); }
inline std::uint32_t sub(std::uint32_t a, std::uint32_t b) { return detail::accrue(fp::sub(a, b, Round::rne)); }
inline std::uint32_t mul(std::uint32_t a, std::uint32_t b) { return detail::accrue(fp::mul(a, b, Round::rne)); }
inline std::uint32_t div(std::uint32_t a, std::uint32_t b) { return detail::accrue(fp::div(a, b, Round::rne)); }
inline std::uint32_t sqrt(std::uint32_t a) { return detail::accrue(fp::sqrt(a, Round::rne)); }
inline std::uint32_t fma(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  return detail::accrue(fp::fma(a, b, c, Round::rne));
}
inline std::uint32_t feq(std::uint32_t a, std::uint32_t b) { return detail::accrue(fp::feq(a, b)); }
inline std::uint32_t flt(std::uint32_t a, std::uint32_t b) { return detail::accrue(fp::flt(a, b)); }
inline std::uint32_t fle(std::uint32_t a, std::uint32_t b) { return detail::accrue(fp::fle(a, b)); }
inline std::uint32_t to_i32_rtz(std::uint32_t a) { return detail::accrue(fp::to_i32(a, Round::rtz)); }
inline std::uint32_t to_i32(std::uint32_t a) { return detail::accrue(fp::to_i32(a, Round::rne)); }
inline std::uint32_t to_u32_rtz(std::uint32_t a) { return detail::accrue(fp::to_u32(a, Round::rtz)); }
inline std::uint32_t from_i32(std::uint32_t a) { return detail::accrue(fp::from_i32(a, Round::rne)); }
inline std::uint32_t from_u32(std::uint32_t a) { return detail::accrue(fp::from_u32(a, Round::rne)); }

#endif

/// Negating operands changes no NaN result, so the fused family is one operation.
inline std::uint32_t fmsub(std::uint32_t a, std::uint32_t b, std::uint32_t c) { return fma(a, b, c ^ kSignBit); }
inline std::uint32_t fnmsub(std::uint32_t a, std::uint32_t b, std::uint32_t c) { return fma(a ^ kSignBit, b, c); }
inline std::uint32_t fnmadd(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  return fma(a ^ kSignBit, b, c ^ kSignBit);
}

inline std::uint32_t min(std::uint32_t a, std::uint32_t b) {
  if (__builtin_expect(is_nan(a) || is_nan(b), 0)) return detail::accrue(fp::min(a, b));
  return fp::min(a, b).bits;
}
inline std::uint32_t max(std::uint32_t a, std::uint32_t b) {
  if (__builtin_expect(is_nan(a) || is_nan(b), 0)) return detail::accrue(fp::max(a, b));
  return fp::max(a, b).bits;
}

}  // namespace fast
}  // namespace tessera::fp
