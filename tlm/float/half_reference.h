// References for tests of f16 that share nothing with half.cpp: MPFR with 11 bits, and the host's double where a double
// holds the exact result. Also the operand sets. Tests only.
#pragma once

#include <mpfr.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "tlm/float/cases.h"

namespace tessera::fp::half_reference {

inline constexpr std::uint16_t kNan = 0x7e00;

/// The value, by its definition; every f16 is a double.
[[nodiscard]] inline double value(std::uint16_t a) {
  const int biased = a >> 10 & 31, fraction = a & 0x3ff;
  double v = 0;
  if (biased == 31) {
    v = fraction != 0 ? std::nan("") : HUGE_VAL;
  } else if (biased == 0) {
    v = std::ldexp(fraction, -24);
  } else {
    v = std::ldexp(1024 + fraction, biased - 25);
  }
  return (a & 0x8000) != 0 ? -v : v;
}

/// Nearest even f16 of a double: the only rounding is nearbyint's, since scaling by a power of two is exact here (no
/// argument used is near the ends of the double range).
[[nodiscard]] inline std::uint16_t nearest(double v) {
  const std::uint16_t sign = std::signbit(v) ? 0x8000 : 0;
  if (std::isnan(v)) return kNan;
  const double m = std::fabs(v);
  if (m >= 65536.0) return sign | 0x7c00;
  int exponent = -14;  // of the binade; what is below has the last place of the smallest normal one
  if (m >= 0x1p-14) exponent = std::ilogb(m);
  const double units = std::nearbyint(std::ldexp(m, 10 - exponent));  // 0 .. 2048
  // Units count on from the start of the binade, so 2048 runs into the next one, and past the last into infinity.
  return static_cast<std::uint16_t>(sign | (((exponent + 14) << 10) + static_cast<int>(units)));
}

/// MPFR in the f16 format: 11 bits, exponents of [1/2, 1) significands -23..16, subnormals by mpfr_subnormalize.
class Mpfr {
 public:
  Mpfr() {
    mpfr_set_emin(-23);
    mpfr_set_emax(16);
    for (auto* x : {a_, b_, c_, r_}) mpfr_init2(x, 11);
  }
  ~Mpfr() {
    for (auto* x : {a_, b_, c_, r_}) mpfr_clear(x);
    mpfr_set_emin(mpfr_get_emin_min());
    mpfr_set_emax(mpfr_get_emax_max());
  }
  Mpfr(const Mpfr&) = delete;
  Mpfr& operator=(const Mpfr&) = delete;

  [[nodiscard]] std::uint16_t add(std::uint16_t a, std::uint16_t b) {
    load(a, b);
    return bits(mpfr_add(r_, a_, b_, MPFR_RNDN));
  }
  [[nodiscard]] std::uint16_t sub(std::uint16_t a, std::uint16_t b) {
    load(a, b);
    return bits(mpfr_sub(r_, a_, b_, MPFR_RNDN));
  }
  [[nodiscard]] std::uint16_t mul(std::uint16_t a, std::uint16_t b) {
    load(a, b);
    return bits(mpfr_mul(r_, a_, b_, MPFR_RNDN));
  }
  [[nodiscard]] std::uint16_t fma(std::uint16_t a, std::uint16_t b, std::uint16_t c) {
    load(a, b);
    mpfr_set_d(c_, value(c), MPFR_RNDN);
    return bits(mpfr_fma(r_, a_, b_, c_, MPFR_RNDN));
  }

 private:
  void load(std::uint16_t a, std::uint16_t b) {
    mpfr_set_d(a_, value(a), MPFR_RNDN);
    mpfr_set_d(b_, value(b), MPFR_RNDN);
  }
  std::uint16_t bits(int ternary) {
    mpfr_subnormalize(r_, ternary, MPFR_RNDN);
    if (mpfr_nan_p(r_) != 0) return kNan;
    const std::uint16_t sign = mpfr_signbit(r_) != 0 ? 0x8000 : 0;
    if (mpfr_inf_p(r_) != 0) return sign | 0x7c00;
    if (mpfr_zero_p(r_) != 0) return sign;
    const double m = std::fabs(mpfr_get_d(r_, MPFR_RNDN));
    const auto exponent = static_cast<int>(mpfr_get_exp(r_)) - 1;
    if (exponent < -14) return sign | static_cast<std::uint16_t>(std::ldexp(m, 24));
    return static_cast<std::uint16_t>(sign |
                                      (((exponent + 14) << 10) + static_cast<int>(std::ldexp(m, 10 - exponent))));
  }
  mpfr_t a_, b_, c_, r_;
};

/// 66 values: both zeros, ends of the subnormals, around powers of two, one and its neighbours, ends of the range,
/// infinities, NaNs quiet and signaling with payloads.
[[nodiscard]] inline std::vector<std::uint16_t> corners() {
  std::vector<std::uint16_t> all;
  for (const std::uint16_t magnitude :
       {0x0000, 0x0001, 0x0002, 0x0003, 0x01ff, 0x0200, 0x03fe, 0x03ff, 0x0400, 0x0401, 0x07ff,
        0x0800, 0x1000, 0x13ff, 0x1400, 0x37ff, 0x3800, 0x3bff, 0x3c00, 0x3c01, 0x3c02, 0x3e00,
        0x4000, 0x4200, 0x6400, 0x77ff, 0x7800, 0x7bfe, 0x7bff, 0x7c00, 0x7c01, 0x7e00, 0x7fff}) {
    all.push_back(magnitude);
    all.push_back(magnitude | 0x8000);
  }
  return all;
}

/// Any 16 bits, or exponents near one, or a fraction with a run of ones.
[[nodiscard]] inline std::uint16_t any(cases::Random& random) {
  const std::uint64_t r = random.next();
  const auto bits = static_cast<std::uint16_t>(r >> 48);
  switch (r & 3) {
    case 0:
      return static_cast<std::uint16_t>((bits & 0x83ff) | (10 + (r >> 8) % 10) << 10);
    case 1:
      return static_cast<std::uint16_t>((bits & 0xfc00) | (0x3ff >> (r >> 8) % 11));
    default:
      return bits;
  }
}

}  // namespace tessera::fp::half_reference
