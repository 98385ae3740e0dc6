// Largest error of exp, log, sigmoid and tanh in units in the last place, over dense samples of all f32.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>

#include "host/codelets/reference.h"

namespace tessera {
namespace {

float from_bits(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

/// |got - want| in units of the last place of the f32 around `want` (subnormal results: 2^-149).
double ulps(float got, double want) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : HUGE_VAL;
  const auto rounded = static_cast<float>(want);
  if (std::isinf(rounded) || std::isinf(got)) return got == rounded ? 0 : HUGE_VAL;
  const double magnitude = std::max(std::fabs(want), 1.1754943508222875e-38);
  return std::fabs(got - want) / std::ldexp(1.0, std::ilogb(magnitude) - 23);
}

/// Every `step`-th bit pattern; the step is odd, so all exponents, signs and low bits come up.
void measure(const char* codelet, double (*exact)(double)) {
  constexpr std::uint32_t kStep = 1031, kCount = 4096;
  double worst = 0;
  float where = 0;
  long samples = 0;
  std::uint64_t bits = 0;
  while (bits < (std::uint64_t{1} << 32)) {
    Bindings b;
    b["x"].bytes.resize(kCount * 4), b["y"].bytes.resize(kCount * 4), b["y"].count = kCount;
    for (std::uint32_t i = 0; i < kCount; ++i, bits += kStep) {
      const auto low = static_cast<std::uint32_t>(bits);
      std::memcpy(&b["x"].bytes[i * 4], &low, 4);
    }
    run_reference(codelet, b);
    for (std::uint32_t i = 0; i < kCount; ++i, ++samples) {
      float x, y;
      std::memcpy(&x, &b["x"].bytes[i * 4], 4), std::memcpy(&y, &b["y"].bytes[i * 4], 4);
      const double error = ulps(y, exact(x));
      if (error > worst) worst = error, where = x;
    }
  }
  std::printf("%s: largest error %.3f ulp at %.9g, %ld samples\n", codelet, worst, where, samples);
  EXPECT_GT(samples, 4000000);
  EXPECT_LE(worst, 2.0) << codelet << " at " << where;
}

TEST(Math, Exp) {
  measure("Exp_f32", [](double x) { return std::exp(x); });
}
TEST(Math, Log) {
  measure("Log_f32", [](double x) { return std::log(x); });
}
TEST(Math, Sigmoid) {
  measure("Sigmoid_f32", [](double x) { return 1.0 / (1.0 + std::exp(-x)); });
}
TEST(Math, Tanh) {
  measure("Tanh_f32", [](double x) { return std::tanh(x); });
}

TEST(Math, SpecialValues) {
  const auto run = [](const char* codelet, float x) {
    Bindings b;
    b["x"].bytes.resize(4), b["y"].bytes.resize(4), b["y"].count = 1;
    std::memcpy(b["x"].bytes.data(), &x, 4);
    run_reference(codelet, b);
    std::uint32_t bits;
    std::memcpy(&bits, b["y"].bytes.data(), 4);
    return bits;
  };
  const float infinity = HUGE_VALF, nan = from_bits(0xffc00001);
  EXPECT_EQ(run("Exp_f32", infinity), 0x7f800000u);
  EXPECT_EQ(run("Exp_f32", -infinity), 0u);
  EXPECT_EQ(run("Exp_f32", 0.0f), 0x3f800000u);
  EXPECT_EQ(run("Log_f32", 0.0f), 0xff800000u);
  EXPECT_EQ(run("Log_f32", 1.0f), 0u);
  EXPECT_EQ(run("Log_f32", infinity), 0x7f800000u);
  EXPECT_EQ(run("Tanh_f32", -0.0f), 0x80000000u);
  EXPECT_EQ(run("Tanh_f32", -infinity), 0xbf800000u);
  EXPECT_EQ(run("Sigmoid_f32", -infinity), 0u);
  EXPECT_EQ(run("Sigmoid_f32", 0.0f), 0x3f000000u);
  for (const char* codelet : {"Exp_f32", "Log_f32", "Sigmoid_f32", "Tanh_f32"})
    EXPECT_EQ(run(codelet, nan), 0x7fc00000u) << codelet;
  EXPECT_EQ(run("Log_f32", -1.0f), 0x7fc00000u);
}

}  // namespace
}  // namespace tessera
