// Addresses of the handlers of threaded code, as run_threaded() tells them; read by what makes operations
// (threaded.cpp).
#pragma once

#include <array>

#include "hw/generated/isa.h"
#include "tlm/tile/tlm_tile.h"

/// Neighbours that run as one operation, X(first, second): what compilers often put side by side.
#define TESSERA_FUSED(X) \
  X(addi, addi)          \
  X(addi, add)           \
  X(addi, xor_)          \
  X(addi, mul)           \
  X(addi, lw)            \
  X(addi, sw)            \
  X(addi, beq)           \
  X(addi, bne)           \
  X(add, addi)           \
  X(add, add)            \
  X(add, lw)             \
  X(add, beq)            \
  X(add, bne)            \
  X(andi, sub)           \
  X(andi, beq)           \
  X(andi, bne)           \
  X(and_, addi)          \
  X(sub, srli)           \
  X(srli, and_)          \
  X(srli, andi)          \
  X(srli, beq)           \
  X(srli, xor_)          \
  X(slli, add)           \
  X(slli, or_)           \
  X(xor_, bne)           \
  X(mul, add)            \
  X(lw, lw)              \
  X(lw, add)             \
  X(lw, addi)            \
  X(lw, sw)              \
  X(lw, beq)             \
  X(lw, bne)             \
  X(sw, sw)              \
  X(sw, lw)              \
  X(sw, addi)            \
  X(flw, flw)            \
  X(flw, addi)           \
  X(fsw, addi)           \
  X(fsw, bne)            \
  X(fadd_s, fmul_s)      \
  X(fadd_s, fadd_s)      \
  X(fadd_s, fsw)         \
  X(fmul_s, fadd_s)      \
  X(fmul_s, fmul_s)      \
  X(fmul_s, flw)         \
  X(fmul_s, fsw)         \
  X(fmadd_s, bne)        \
  X(fmadd_s, fmadd_s)

/// MAIN and AUX of a pair.
#define TESSERA_FUSED_PAIRS(X) \
  X(addi, fmadd_s)             \
  X(addi, fmul_s)              \
  X(addi, fadd_s)              \
  X(flw, fmadd_s)              \
  X(flw, fmul_s)               \
  X(flw, fadd_s)               \
  X(flw, fsub_s)               \
  X(fsw, fmadd_s)              \
  X(fsw, fmul_s)               \
  X(fsw, fadd_s)

namespace tessera {

/// By instruction. `paired`: as MAIN of a pair; `far`: a jump that leaves its page, or a repeat whose body must be
/// looked at when it is reached; `other`: the variant for another rounding field.
struct TlmTile::Handlers {
  std::array<const void*, isa::kOpCount> plain{}, paired{}, far{}, other{};
  /// Two neighbours, by both; only of RV32IMF.
  static constexpr unsigned kFusable = static_cast<unsigned>(isa::Op::x_sync);
  std::array<std::array<const void*, kFusable>, kFusable> fused{}, fused_pair{};
  const void* slow = nullptr;
  const void* generic_float = nullptr;
  const void* undecoded = nullptr;
  const void* page_end = nullptr;
  const void* loop_end = nullptr;
  const void* amp_group = nullptr;
};

/// Reads the private table.
class HandlerAccess {
 public:
  using Handlers = TlmTile::Handlers;
  static const Handlers& get() { return TlmTile::handlers(); }
};

}  // namespace tessera
