// Threaded code: runs one context from its next issue until a limit or until something the slow path must do (traps,
// CSRs, control of the tile). One handler an instruction, entered by computed goto (gcc keeps one indirect jump a
// handler).
//
// Time is counted, not simulated, and the count costs nothing in a straight line: `due` is where the operation pointer
// would stand if the slots that are left were instructions in a row. A taken branch moves both and brings `due` one
// nearer; an instruction of n slots brings it n - 1 nearer, the MAIN of a pair pushes it one away (its slot is the
// AUX's). The limit is looked at when a straight line ends: the longest one of the page is kept in reserve.
#include <cstring>

#include "hw/generated/isa.h"
#include "hw/generated/machine.h"
#include "tlm/float/amp_fast.h"
#include "tlm/float/fast.h"
#include "tlm/float/simd.h"
#include "tlm/float/simd_fast.h"
#include "tlm/tile/alu.h"
#include "tlm/tile/threaded.h"
#include "tlm/tile/tlm_fast_amp.h"
#include "tlm/tile/tlm_handlers.h"

namespace tessera {

using isa::Op;

/// Memory seen as another type.
template <typename T>
using Aliased [[gnu::may_alias]] = T;

const TlmTile::Handlers& TlmTile::handlers() {
  static const Handlers table = [] {
    Handlers h;
    run_threaded(nullptr, nullptr, 0, 0, &h);
    return h;
  }();
  return table;
}

namespace {

/// By selector: +8, A, B, none.
std::array<std::uint32_t, 4> stream_steps(std::uint32_t strides) {
  return {8, 8u * static_cast<std::uint32_t>(static_cast<std::int16_t>(strides)),
          8u * static_cast<std::uint32_t>(static_cast<std::int16_t>(strides >> 16)), 0};
}

}  // namespace

bool TlmTile::fast_able(const TileContext& c) { return c.supervisor() || (c.fs && c.frm == 0); }

void TlmTile::run_fast(TileContext& c, Cycle limit, Cycle enough) {
  if (c.looping && !loop_ready(c.loop_start, c.loop_end)) return;
  run_threaded(this, &c, limit, enough, nullptr);
}

bool TlmTile::store_now(std::uint32_t offset, unsigned bytes, Address pc) const {
  // A store over its own doubleword (the pair was fetched as it was), and one that ends the run, go the slow way.
  if (offset >> 3 == (pc - kSramBase) >> 3) return false;
  if (config_.tohost == 0) return true;
  const Address address = offset + kSramBase;
  return address + bytes <= config_.tohost || address >= config_.tohost + 4;
}

void TlmTile::generic_float(TileContext& c, const Decoded& in) {
  Step step;
  execute_float(c, in, step);
}

#define LIKELY(e) __builtin_expect(!!(e), 1)
#define UNLIKELY(e) __builtin_expect(!!(e), 0)

// NOLINTBEGIN: computed goto
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdangling-pointer"  // labels live as long as the program
void TlmTile::run_threaded(TlmTile* tile, TileContext* c, Cycle limit, Cycle enough, Handlers* table) {
  if (table != nullptr) {
#define X(name, expression)                      \
  table->plain[unsigned(Op::name)] = &&L_##name; \
  table->paired[unsigned(Op::name)] = &&P_##name;
    TESSERA_ALU_OPERATIONS(X)
    TESSERA_ALU_IMMEDIATES(X)
    X(lui, )
    X(auipc, )
    X(lb, )
    X(lbu, )
    X(lh, )
    X(lhu, )
    X(lw, )
    X(sb, )
    X(sh, )
    X(sw, )
    X(flw, )
    X(fsw, )
    X(x_ld64, )
    X(x_ld64_r, )
    X(x_ld128, )
    X(x_ld128_r, )
    X(x_st64, )
    X(x_st64_r, )
    X(x_ld2, )
    X(x_ldst, )
    X(x_ld2st, )
    X(x_sset, )
    X(x_rpt, )
    X(x_rpti, )
#undef X
#define X(name) table->far[unsigned(Op::name)] = &&C_##name;
    X(x_rpt)
    X(x_rpti)
#undef X
#define X(name) table->plain[unsigned(Op::name)] = &&L_##name;
    X(x_amp_f16)
    X(x_amp_f32)
    X(x_amp_g)
    X(x_amp_io)
#undef X
    for (unsigned op = 0; op < isa::kOpCount; ++op) {
      const fp::fast::SimdKernels& kernels = fp::fast::simd_kernels();
      if (kernels.run[op] == nullptr) continue;
      table->plain[op] = kernels.raises[op] ? &&simd_float : &&simd_bits;
      if (isa::info(static_cast<Op>(op)).slots > 1) table->plain[op] = &&simd_slots;
      if (fp::draws(static_cast<Op>(op))) table->plain[op] = &&simd_draw;
    }
#define X(x, y) table->fused[unsigned(Op::x)][unsigned(Op::y)] = &&U_##x##_##y;
    TESSERA_FUSED(X)
#undef X
#define X(x, y) table->fused_pair[unsigned(Op::x)][unsigned(Op::y)] = &&V_##x##_##y;
    TESSERA_FUSED_PAIRS(X)
#undef X
    table->loop_end = &&loop_end;
    table->amp_group = &&amp_group;
#define X(name, expression) table->plain[unsigned(Op::name)] = &&L_##name;
    TESSERA_DIVISIONS(X)
    X(jalr, )
    X(fence, )
    X(fadd_s, )
    X(fsub_s, )
    X(fmul_s, )
    X(fdiv_s, )
    X(fsqrt_s, )
    X(fmadd_s, )
    X(fmsub_s, ) X(fnmadd_s, ) X(fnmsub_s, ) X(fsgnj_s, ) X(fsgnjn_s, ) X(fsgnjx_s, ) X(fmin_s, ) X(fmax_s, ) X(feq_s, )
        X(flt_s, ) X(fle_s, ) X(fclass_s, ) X(fmv_x_w, ) X(fmv_w_x, ) X(fcvt_w_s, ) X(fcvt_wu_s, ) X(fcvt_s_w, )
            X(fcvt_s_wu, )
#undef X
#define X(name, condition)                       \
  table->plain[unsigned(Op::name)] = &&L_##name; \
  table->far[unsigned(Op::name)] = &&F_##name;
                TESSERA_BRANCHES(X) X(jal, )
#undef X
                    table->other[unsigned(Op::fcvt_w_s)] = &&L_fcvt_w_rtz;
    table->other[unsigned(Op::fcvt_wu_s)] = &&L_fcvt_wu_rtz;
    table->slow = &&stopped;  // no handler has begun it, so there is no count of a pair to take back
    table->generic_float = &&generic;
    table->undecoded = &&undecoded;
    table->page_end = &&page_end;
    return;
  }

  const Role role = c->supervisor() ? Role::supervisor : Role::worker;
  std::uint8_t* const memory = tile->sram_.data();
  const std::uint8_t* const flags = tile->line_flags_.data();
  const std::uint32_t size = static_cast<std::uint32_t>(tile->sram_.size());
  const std::uint32_t doublewords = size / 8, words = size / 4, halves = size / 2;
  const Cycle start = c->next;
  // Slots that may be begun before a cycle; a pointer must be able to hold as many operations.
  const auto slots_before = [start](Cycle cycle) {
    const Cycle span = cycle > start ? cycle - start : 0;
    return static_cast<std::int64_t>(std::min<Cycle>(span / 6 + (span % 6 != 0), Cycle{1} << 40));
  };
  const std::int64_t budget = slots_before(limit), target = slots_before(enough);
  constexpr std::int64_t kOp = sizeof(FastOp);
  std::int64_t slots = 0, extra = 0, stop_at = 0;  // `slots` is known between straight lines only
  std::intptr_t due = 0;
  CodePage* page = nullptr;
  FastOp *first = nullptr, *o = nullptr;
  std::uint32_t offset = c->pc - kSramBase;       // of a jump's target
  FastOp *loop_at = nullptr, *loop_to = nullptr;  // end and start of the active body, where they are on this page
  StreamSteps steps{stream_steps(c->stride[0]), stream_steps(c->stride[1]), stream_steps(c->stride[2])};
  const fp::fast::SimdKernels& simd = fp::fast::simd_kernels();
  const fp::fast::AmpKernels& amp = fp::fast::amp_kernels();
  const fp::fast::AmpReady* weights = nullptr;  // looked up when first used
  fp::FlagScope scope(role == Role::worker);
  bool stale = false;  // the host's flags are not those of F

#define GO goto * o->handler
#define NEXT \
  do {       \
    ++o;     \
    GO;      \
  } while (0)
#define HERE reinterpret_cast<std::intptr_t>(o)
#define PC (page->address + static_cast<Address>(HERE - reinterpret_cast<std::intptr_t>(first)) / 4)
#define RD c->x[o->rd]
#define RS1 c->x[o->rs1]
#define RS2 c->x[o->rs2]
#define FD c->f[o->rd]
#define FS1 c->f[o->rs1]
#define FS2 c->f[o->rs2]
#define FS3 c->f[o->rs3]
#define MORE_SLOTS(n) \
  do {                \
    due -= (n)*kOp;   \
    extra += (n);     \
  } while (0)
#define PAIRED MORE_SLOTS(-1)
#define TAKE_NEAR                             \
  do {                                        \
    const std::intptr_t by = o->imm;          \
    o = reinterpret_cast<FastOp*>(HERE + by); \
    due += by - kOp;                          \
    if (UNLIKELY(HERE >= due)) goto stopped;  \
    GO;                                       \
  } while (0)

#define FIND_LOOP                                                                               \
  do {                                                                                          \
    const Address end = c->loop_end - 8 - page->address, begin = c->loop_start - page->address; \
    loop_at = end < kPageBytes ? first + end / 4 + 2 : nullptr;                                 \
    loop_to = begin < kPageBytes ? first + begin / 4 : nullptr;                                 \
  } while (0)

  if (offset % 4 != 0 || offset >= size) return;
  goto enter;

#define X(name, expression)               \
  P_##name : PAIRED;                      \
  L_##name : {                            \
    const std::uint32_t a = RS1, b = RS2; \
    (void)b;                              \
    RD = (expression);                    \
    NEXT;                                 \
  }
  TESSERA_ALU_OPERATIONS(X)
#undef X
#define X(name, expression)                                              \
  P_##name : PAIRED;                                                     \
  L_##name : {                                                           \
    const std::uint32_t a = RS1, b = static_cast<std::uint32_t>(o->imm); \
    RD = (expression);                                                   \
    NEXT;                                                                \
  }
  TESSERA_ALU_IMMEDIATES(X)
#undef X
#define X(name, expression)               \
  L_##name : {                            \
    const std::uint32_t a = RS1, b = RS2; \
    MORE_SLOTS(5);                        \
    RD = (expression);                    \
    NEXT;                                 \
  }
  TESSERA_DIVISIONS(X)
#undef X
#define X(name, condition)                                          \
  L_##name : {                                                      \
    const std::uint32_t a = RS1, b = RS2;                           \
    if (condition) TAKE_NEAR;                                       \
    NEXT;                                                           \
  }                                                                 \
  F_##name : {                                                      \
    const std::uint32_t a = RS1, b = RS2;                           \
    if (condition) {                                                \
      offset = PC + static_cast<std::uint32_t>(o->imm) - kSramBase; \
      goto jump;                                                    \
    }                                                               \
    NEXT;                                                           \
  }
  TESSERA_BRANCHES(X)
#undef X

P_lui:
  PAIRED;
L_lui:
  RD = static_cast<std::uint32_t>(o->imm);
  NEXT;
P_auipc:
  PAIRED;
L_auipc:
  RD = static_cast<std::uint32_t>(o->imm);
  NEXT;
L_jal:
  RD = PC + 4;
  TAKE_NEAR;
F_jal:
  offset = PC + static_cast<std::uint32_t>(o->imm) - kSramBase;
  RD = PC + 4;
  goto jump;
L_jalr : {
  const std::uint32_t target = (RS1 + static_cast<std::uint32_t>(o->imm)) & ~1u;
  if (UNLIKELY(target % 4 != 0)) goto slow;
  RD = PC + 4;
  offset = target - kSramBase;
  goto jump;
}
L_fence:
  NEXT;

#define OFFSET (RS1 + static_cast<std::uint32_t>(o->imm))
// Aligned and inside in one compare: rotating puts misaligned bits on top.
#define ROTATED(by) (at >> by | at << (32 - by))
#define LOAD(name, type, inside, target)    \
  P_##name : PAIRED;                        \
  L_##name : {                              \
    const std::uint32_t at = OFFSET;        \
    if (UNLIKELY(!(inside))) goto slow;     \
    type v;                                 \
    std::memcpy(&v, memory + at, sizeof v); \
    target = static_cast<std::uint32_t>(v); \
    NEXT;                                   \
  }
  LOAD(lb, std::int8_t, at < size, RD)
  LOAD(lbu, std::uint8_t, at < size, RD)
  LOAD(lh, std::int16_t, ROTATED(1) < halves, RD)
  LOAD(lhu, std::uint16_t, ROTATED(1) < halves, RD)
  LOAD(lw, std::uint32_t, ROTATED(2) < words, RD)
  LOAD(flw, std::uint32_t, ROTATED(2) < words, FD)
#define STORE(name, type, inside, source)                    \
  P_##name : PAIRED;                                         \
  L_##name : {                                               \
    const std::uint32_t at = OFFSET;                         \
    if (UNLIKELY(!(inside))) goto slow;                      \
    const auto v = static_cast<type>(source);                \
    if (UNLIKELY(flags[at >> kLineBits] != 0)) {             \
      if (!tile->store_now(at, sizeof(type), PC)) goto slow; \
      *reinterpret_cast<Aliased<type>*>(memory + at) = v;    \
      if (tile->code_stored(at)) goto code_written;          \
      NEXT;                                                  \
    }                                                        \
    *reinterpret_cast<Aliased<type>*>(memory + at) = v;      \
    NEXT;                                                    \
  }
  STORE(sb, std::uint8_t, at < size, RS2)
  STORE(sh, std::uint16_t, ROTATED(1) < halves, RS2)
  STORE(sw, std::uint32_t, ROTATED(2) < words, RS2)
  STORE(fsw, std::uint32_t, ROTATED(2) < words, FS2)

// Flags that vectors left in the host are not those of F.
#define HOST_FLAGS         \
  do {                     \
    if (UNLIKELY(stale)) { \
      (void)scope.take();  \
      stale = false;       \
    }                      \
  } while (0)
#define F2(name, call)                    \
  L_##name : {                            \
    HOST_FLAGS;                           \
    const std::uint32_t a = FS1, b = FS2; \
    FD = (call);                          \
    NEXT;                                 \
  }
#define F3(name, call)                             \
  L_##name : {                                     \
    HOST_FLAGS;                                    \
    const std::uint32_t a = FS1, b = FS2, d = FS3; \
    FD = (call);                                   \
    NEXT;                                          \
  }
#define FX(name, call)                    \
  L_##name : {                            \
    HOST_FLAGS;                           \
    const std::uint32_t a = FS1, b = FS2; \
    (void)b;                              \
    RD = (call);                          \
    NEXT;                                 \
  }
  F2(fadd_s, fp::fast::add(a, b))
  F2(fsub_s, fp::fast::sub(a, b))
  F2(fmul_s, fp::fast::mul(a, b))
  F2(fsgnj_s, fp::sgnj(a, b))
  F2(fsgnjn_s, fp::sgnjn(a, b))
  F2(fsgnjx_s, fp::sgnjx(a, b))
  F2(fmin_s, fp::fast::min(a, b))
  F2(fmax_s, fp::fast::max(a, b))
  F3(fmadd_s, fp::fast::fma(a, b, d))
  F3(fmsub_s, fp::fast::fmsub(a, b, d))
  F3(fnmsub_s, fp::fast::fnmsub(a, b, d))
  F3(fnmadd_s, fp::fast::fnmadd(a, b, d))
  FX(feq_s, fp::fast::feq(a, b))
  FX(flt_s, fp::fast::flt(a, b))
  FX(fle_s, fp::fast::fle(a, b))
  FX(fclass_s, fp::classify(a))
  FX(fmv_x_w, a)
  FX(fcvt_w_s, fp::fast::to_i32(a))
  FX(fcvt_w_rtz, fp::fast::to_i32_rtz(a))
  FX(fcvt_wu_rtz, fp::fast::to_u32_rtz(a))
L_fcvt_wu_s:
  goto generic;
L_fdiv_s:
  HOST_FLAGS;
  MORE_SLOTS(4);
  FD = fp::fast::div(FS1, FS2);
  NEXT;
L_fsqrt_s:
  HOST_FLAGS;
  MORE_SLOTS(4);
  FD = fp::fast::sqrt(FS1);
  NEXT;
L_fmv_w_x:
  FD = RS1;
  NEXT;
L_fcvt_s_w:
  HOST_FLAGS;
  FD = fp::fast::from_i32(RS1);
  NEXT;
L_fcvt_s_wu:
  HOST_FLAGS;
  FD = fp::fast::from_u32(RS1);
  NEXT;

generic : {  // any rounding field; cannot trap here (frm is 0, FS is not)
  const Decoded& in = page->decoded[o - first];
  MORE_SLOTS(in.slots - 1);
  tile->generic_float(*c, in);
  NEXT;
}

#include "tlm/tile/tlm_fast_fused.inc"
#include "tlm/tile/tlm_fast_xtile.inc"

undecoded:
  if (UNLIKELY(c->looping)) goto stopped;  // what is decoded now may not repeat
  tile->decode(*page, static_cast<unsigned>(o - first));
  GO;

code_written : {  // the page may be another one now
  slots = stop_at - (due - HERE) / kOp;
  const std::ptrdiff_t at = o - first;
  page = tile->pages_[static_cast<unsigned>(role)][(page->address - kSramBase) >> kPageBits].get();
  first = page->fast.data();
  stop_at = std::min(budget - page->longest, target);
  o = first + at;
  due = HERE + (stop_at - slots) * kOp;
  if (c->looping) FIND_LOOP;
  NEXT;
}

page_end:
  slots = stop_at - (due - HERE) / kOp;
  offset = page->address + kPageBytes - kSramBase;
  goto arrive;

jump:
  slots = stop_at - (due - HERE) / kOp + 1;
arrive:
  if (UNLIKELY(offset >= size)) {
    c->pc = offset + kSramBase;
    goto leave;
  }
enter:
  page = tile->pages_[static_cast<unsigned>(role)][offset >> kPageBits].get();
  if (UNLIKELY(page == nullptr)) page = tile->page(role, offset + kSramBase);
  first = page->fast.data();
  stop_at = std::min(budget - page->longest, target);
  o = first + ((offset & (kPageBytes - 1)) >> 2);
  due = HERE + (stop_at - slots) * kOp;
  if (UNLIKELY(c->looping)) FIND_LOOP;
  if (UNLIKELY(HERE >= due)) goto stopped;
  GO;

slow:
  // The instruction has had no effect but the count of a pair, which is taken back.
  if (page->decoded[o - first].pair()) MORE_SLOTS(1);
stopped:
  slots = stop_at - (due - HERE) / kOp;
  c->pc = PC;
leave:
  c->next = start + 6 * static_cast<Cycle>(slots);
  c->retired += static_cast<std::uint64_t>(slots - extra);
  if (role == Role::worker && !stale) c->fflags |= scope.take();
  if (slots != 0) tile->last_issue_ = std::max(tile->last_issue_, c->next - 6);
}
#pragma GCC diagnostic pop
// NOLINTEND

}  // namespace tessera
