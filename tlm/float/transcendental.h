// Transcendental instructions: the integer programs of hw/arith as host functions, generated. The same programs are
// generated as SystemVerilog, so both sides agree to the bit.
#pragma once

#include <cstdint>

namespace tessera::fp {

/// f32, at most 2 ulp over all inputs; NaN gives the canonical NaN, special cases as IEEE 754 recommends.
[[nodiscard]] std::uint32_t exp_f32(std::uint32_t a);
[[nodiscard]] std::uint32_t log_f32(std::uint32_t a);
[[nodiscard]] std::uint32_t tanh_f32(std::uint32_t a);
[[nodiscard]] std::uint32_t sigmoid_f32(std::uint32_t a);
[[nodiscard]] std::uint32_t rsqrt_f32(std::uint32_t a);

/// f16, correctly rounded (nearest even) for all 2^16 inputs.
[[nodiscard]] std::uint16_t exp_f16(std::uint16_t a);
[[nodiscard]] std::uint16_t log_f16(std::uint16_t a);
[[nodiscard]] std::uint16_t tanh_f16(std::uint16_t a);
[[nodiscard]] std::uint16_t sigmoid_f16(std::uint16_t a);

}  // namespace tessera::fp
