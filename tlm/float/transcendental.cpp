// The integer programs of hw/arith under the names of transcendental.h. No arithmetic of its own.
#include "tlm/float/transcendental.h"

namespace tessera::fp {
namespace {
namespace program {
#include "hw/generated/transcendental.inc"
}  // namespace program
}  // namespace

std::uint32_t exp_f32(std::uint32_t a) { return program::exp_f32(a); }
std::uint32_t log_f32(std::uint32_t a) { return program::log_f32(a); }
std::uint32_t tanh_f32(std::uint32_t a) { return program::tanh_f32(a); }
std::uint32_t sigmoid_f32(std::uint32_t a) { return program::sigmoid_f32(a); }
std::uint32_t rsqrt_f32(std::uint32_t a) { return program::rsqrt_f32(a); }

std::uint16_t exp_f16(std::uint16_t a) { return program::exp_f16(a); }
std::uint16_t log_f16(std::uint16_t a) { return program::log_f16(a); }
std::uint16_t tanh_f16(std::uint16_t a) { return program::tanh_f16(a); }
std::uint16_t sigmoid_f16(std::uint16_t a) { return program::sigmoid_f16(a); }

}  // namespace tessera::fp
