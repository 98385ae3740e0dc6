/* Xtile arithmetic on single elements, the same bits on tile and host: what vector loops do lane by lane, for elements
 * that are no whole vector and for the host. */
#ifndef TESSERA_CODELETS_LANES_H_
#define TESSERA_CODELETS_LANES_H_

#include "tessera/vertex.h"

#ifdef __riscv
#define LANE_F32(name) \
  static inline f32 lane_##name##_f32(f32 a) { return x_##name##_f32(a); }
#define LANE_F16(name) \
  static inline f16 lane_##name##_f16(f16 a) { return (f16)x_bits(x_##name##_f16v2((f16x2){x_from_bits(a)}).r0); }
#define LANE2_F16(name)                                                                        \
  static inline f16 lane_##name##_f16(f16 a, f16 b) {                                          \
    return (f16)x_bits(x_##name##_f16v2((f16x2){x_from_bits(a)}, (f16x2){x_from_bits(b)}).r0); \
  }
#define LANE2_F32(name)                                                 \
  static inline f32 lane_##name##_f32(f32 a, f32 b) {                   \
    f32 result; /* gcc 12 would call a library function */              \
    __asm__("f" #name ".s %0, %1, %2" : "=f"(result) : "f"(a), "f"(b)); \
    return result;                                                      \
  }
#else
#define LANE_F32(name)                                                            \
  static inline f32 lane_##name##_f32(f32 a) {                                    \
    return tessera_f32_from_bits(tessera_host_##name##_f32(tessera_f32_bits(a))); \
  }
#define LANE_F16(name) \
  static inline f16 lane_##name##_f16(f16 a) { return tessera_host_##name##_f16(a); }
#define LANE2_F16(name) \
  static inline f16 lane_##name##_f16(f16 a, f16 b) { return tessera_host_##name##_f16(a, b); }
#define LANE2_F32(name)                                                                                \
  static inline f32 lane_##name##_f32(f32 a, f32 b) {                                                  \
    return tessera_f32_from_bits(tessera_host_##name##_f32(tessera_f32_bits(a), tessera_f32_bits(b))); \
  }
#endif
LANE_F32(exp)
LANE_F32(log)
LANE_F32(tanh)
LANE_F32(sigmoid)
LANE_F32(rsqrt)
LANE_F16(exp)
LANE_F16(log)
LANE_F16(tanh)
LANE_F16(sigmoid)
LANE2_F16(add)
LANE2_F16(sub)
LANE2_F16(mul)
LANE2_F32(min)
LANE2_F32(max)

/* Elements begin .. end of n that a worker of a multi-vertex takes: equal shares in multiples of `grain`, a constant.
 */
static inline void worker_share(u32 n, u32 grain, u32 worker, u32* begin, u32* end) {
  const u32 share = (n + 6 * grain - 1) / (6 * grain) * grain;
  const u32 from = worker * share, to = from + share;
  *begin = from < n ? from : n;
  *end = to < n ? to : n;
}

/* Whether both addresses are those of whole vectors. */
static inline u32 vectors_at(const void* x, const void* y) { return (((uintptr_t)x | (uintptr_t)y) & 7) == 0; }

#endif /* TESSERA_CODELETS_LANES_H_ */
