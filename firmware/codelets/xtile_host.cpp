// Transcendental instructions for the host's build of codelets (tessera/xtile_host.h): the generated integer programs.
#include "tessera/xtile_host.h"

#include <cstdint>

namespace {
#include "hw/generated/transcendental.inc"
}  // namespace

uint32_t tessera_host_exp_f32(uint32_t a) { return exp_f32(a); }
uint32_t tessera_host_log_f32(uint32_t a) { return log_f32(a); }
uint32_t tessera_host_tanh_f32(uint32_t a) { return tanh_f32(a); }
uint32_t tessera_host_sigmoid_f32(uint32_t a) { return sigmoid_f32(a); }
uint32_t tessera_host_rsqrt_f32(uint32_t a) { return rsqrt_f32(a); }
uint16_t tessera_host_exp_f16(uint16_t a) { return exp_f16(a); }
uint16_t tessera_host_log_f16(uint16_t a) { return log_f16(a); }
uint16_t tessera_host_tanh_f16(uint16_t a) { return tanh_f16(a); }
uint16_t tessera_host_sigmoid_f16(uint16_t a) { return sigmoid_f16(a); }
