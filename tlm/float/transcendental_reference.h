// What the transcendental functions should give, by MPFR: for tests alone. Shares nothing with hw/arith.
#pragma once

#include <mpfr.h>

#include <cstdint>

namespace tessera::fp {

enum class Function { exp, log, tanh, sigmoid, rsqrt };

inline constexpr const char* kFunctionNames[] = {"exp", "log", "tanh", "sigmoid", "rsqrt"};

/// An IEEE format: bits, precision with the hidden bit.
struct FormatSize {
  int bits, precision;
  [[nodiscard]] int exponent_bits() const { return bits - precision; }
  [[nodiscard]] int bias() const { return (1 << (exponent_bits() - 1)) - 1; }
  [[nodiscard]] std::uint32_t infinity() const { return ((1U << exponent_bits()) - 1) << (precision - 1); }
  [[nodiscard]] std::uint32_t nan() const { return infinity() | 1U << (precision - 2); }
};

inline constexpr FormatSize kHalf{16, 11}, kSingle{32, 24};

/// Value of a function to 200 bits, then correctly rounded (nearest even) to a format. One object a thread.
class Reference {
 public:
  Reference() { mpfr_inits2(200, x_, y_, static_cast<mpfr_ptr>(nullptr)); }
  ~Reference() { mpfr_clears(x_, y_, static_cast<mpfr_ptr>(nullptr)); }
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;

  /// The exact argument is a double; NaN and infinities too. The result is good until the next call.
  mpfr_srcptr value(Function function, double argument) {
    mpfr_set_d(x_, argument, MPFR_RNDN);
    switch (function) {
      case Function::exp:
        mpfr_exp(y_, x_, MPFR_RNDN);
        break;
      case Function::log:
        mpfr_log(y_, x_, MPFR_RNDN);
        break;
      case Function::tanh:
        mpfr_tanh(y_, x_, MPFR_RNDN);
        break;
      case Function::rsqrt:
        mpfr_rec_sqrt(y_, x_, MPFR_RNDN);
        if (mpfr_zero_p(x_)) mpfr_set_inf(y_, mpfr_signbit(x_) != 0 ? -1 : 1);  // IEEE 754: the sign of zero is kept
        break;
      case Function::sigmoid:
        mpfr_neg(y_, x_, MPFR_RNDN);
        mpfr_exp(y_, y_, MPFR_RNDN);
        mpfr_add_ui(y_, y_, 1, MPFR_RNDN);
        mpfr_ui_div(y_, 1, y_, MPFR_RNDN);
        break;
    }
    return y_;
  }

  /// Bits of the value in the format; NaN is the canonical one.
  std::uint32_t rounded(Function function, double argument, const FormatSize& format) {
    const mpfr_srcptr exact = value(function, argument);
    if (mpfr_nan_p(exact)) return format.nan();
    const std::uint32_t sign = mpfr_signbit(exact) != 0 ? 1U << (format.bits - 1) : 0;
    if (mpfr_zero_p(exact)) return sign;
    if (mpfr_inf_p(exact)) return sign | format.infinity();
    // Scale so that the last place of the result is 1, round to an integer, and put the exponent in front.
    const int smallest = 1 - format.bias();
    const int exponent = static_cast<int>(mpfr_get_exp(exact)) - 1;  // of the leading bit
    if (exponent < smallest - format.precision - 1) return sign;
    if (exponent > format.bias()) return sign | format.infinity();
    const int binade = exponent < smallest ? smallest : exponent;
    mpfr_abs(x_, exact, MPFR_RNDN);
    mpfr_mul_2si(x_, x_, format.precision - 1 - binade, MPFR_RNDN);
    const auto significand = static_cast<std::uint32_t>(mpfr_get_ui(x_, MPFR_RNDN));
    return sign | ((static_cast<std::uint32_t>(binade + format.bias() - 1) << (format.precision - 1)) + significand);
  }

 private:
  mpfr_t x_, y_;
};

}  // namespace tessera::fp
