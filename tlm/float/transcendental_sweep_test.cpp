// All 2^32 inputs of each f32 transcendental function against the host's double precision functions: label slow, since
// it takes minutes. States the greatest error, how many results are not the nearest, and where order is broken.
//
// Double is accurate enough to decide 2 ulp: glibc's exp, log and tanh are off by at most 2 units of 2^-53 relative,
// the three operations of sigmoid and the two of 1/sqrt add at most 2 more, and a unit of f32's last place is at least
// 2^-24 relative. So the error stated is wrong by less than 2^-26 ulp; transcendental_test.cpp checks samples with
// MPFR.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "tlm/float/transcendental.h"

namespace tessera::fp {
namespace {

double value(std::uint32_t bits) {
  float v;
  std::memcpy(&v, &bits, sizeof v);
  return v;
}

/// One unit in the last place that f32 has at this value.
double ulp(double exact) {
  std::uint64_t bits;
  std::memcpy(&bits, &exact, sizeof bits);
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
  bits = static_cast<std::uint64_t>(std::clamp(exponent, -126, 127) - 23 + 1023) << 52;
  std::memcpy(&exact, &bits, sizeof exact);
  return exact;
}

/// `direction` 1 if the function rises with its argument, -1 if it falls.
template <typename Function, typename Exact>
void sweep(const char* name, Function function, Exact exact_function, int direction) {
  std::uint64_t compared = 0, specials = 0, wrong_specials = 0, not_nearest = 0, disordered = 0;
  double worst = 0;
  std::uint32_t where = 0;
  for (const std::uint32_t sign : {0u, 0x80000000u}) {
    const int rising = sign != 0 ? -direction : direction;  // with the magnitude of the argument
    double before = std::nan("");
    for (std::uint32_t magnitude = 0; magnitude <= 0x7fffffff; ++magnitude) {
      const std::uint32_t a = sign | magnitude, bits = function(a);
      const double exact = exact_function(value(a)), got = value(bits);
      if (std::isnan(exact) || std::isinf(exact)) {
        ++specials;
        const bool right = std::isnan(exact) ? bits == 0x7fc00000 : got == exact;
        if (!right && ++wrong_specials <= 5) ADD_FAILURE() << name << std::hex << " " << a << " gives " << bits;
      } else {
        ++compared;
        const double finite = std::isinf(got) ? std::copysign(0x1p128, got) : got;  // what overflow rounds to
        const double error = std::isinf(got) && std::fabs(exact) > 0x1p128 ? 0 : std::fabs(finite - exact) / ulp(exact);
        not_nearest += error > 0.5 ? 1 : 0;
        if (!(error <= worst)) worst = error, where = a;
        if (rising * (got - before) < 0) ++disordered;
        before = got;
      }
    }
  }
  std::printf(
      "%s: %llu results compared, greatest error %.4f ulp at %08x, %llu not the nearest, %llu out of order; "
      "%llu infinities and NaNs\n",
      name, static_cast<unsigned long long>(compared), worst, where, static_cast<unsigned long long>(not_nearest),
      static_cast<unsigned long long>(disordered), static_cast<unsigned long long>(specials));
  EXPECT_EQ(compared + specials, std::uint64_t{1} << 32);
  EXPECT_EQ(wrong_specials, 0u);
  EXPECT_LE(worst, 2.0);
  EXPECT_EQ(disordered, 0u);
}

TEST(TranscendentalSweep, Exp) {
  sweep(
      "exp", exp_f32, [](double x) { return std::exp(x); }, 1);
}
TEST(TranscendentalSweep, Log) {
  sweep(
      "log", log_f32, [](double x) { return std::log(x); }, 1);
}
TEST(TranscendentalSweep, Tanh) {
  sweep(
      "tanh", tanh_f32, [](double x) { return std::tanh(x); }, 1);
}
TEST(TranscendentalSweep, Sigmoid) {
  sweep(
      "sigmoid", sigmoid_f32, [](double x) { return 1 / (1 + std::exp(-x)); }, 1);
}
TEST(TranscendentalSweep, Rsqrt) {
  sweep(
      "rsqrt", rsqrt_f32, [](double x) { return 1 / std::sqrt(x); }, -1);
}

}  // namespace
}  // namespace tessera::fp
