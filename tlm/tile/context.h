// State of one context of a TLM tile: what the instructions see, and where the barrel stands with it. No behaviour.
#pragma once

#include <array>
#include <cstdint>

#include "hw/types.h"
#include "tlm/float/amp.h"
#include "tlm/tile/tile_model.h"

namespace tessera {

/// One of the seven contexts. Register 32 is where writes to x0 go, so that handlers need no test.
struct TileContext {
  // What every stop of the supervisor touches stands first.
  std::uint64_t retired = 0;  ///< instructions since power-on
  ContextId id = 0;
  ContextState::Run run = ContextState::Run::idle;
  Address pc = 0;
  /// Worker: issue cycle of its next instruction. Supervisor: earliest cycle of it; the slot must be vacant too.
  Cycle next = 0;
  /// Worker that is not running: its slot is vacant, and its new state visible, from this cycle.
  Cycle vacant_from = 0;
  std::array<std::uint32_t, 33> x{};

  Cycle trap_cycle = 0;              ///< of the exception, while excepted
  std::uint64_t instret_offset = 0;  ///< minstret = retired + this
  std::uint64_t cycle_offset = 0;    ///< mcycle = cycle + this

  bool fs = false;  ///< mstatus.FS is 3, else 0
  bool mie = false, mpie = false;
  std::uint8_t frm = 0, fflags = 0;
  std::uint32_t mtvec = 0, mscratch = 0, mepc = 0, mcause = 0, mtval = 0;
  std::array<std::uint32_t, 4> rng{};     ///< s0 low, high, s1 low, high
  std::array<Address, 3> stream{};        ///< S0, S1, S2
  std::array<std::uint32_t, 3> stride{};  ///< of each: A in bits 15:0, B in 31:16, signed, units of 8 bytes
  alignas(16) std::array<std::uint32_t, 32> f{};
  alignas(32) fp::AmpSums sums;

  /// x.rpt: rounds that are left, this one counted (xrpt; kept over traps and x.run), and the body while it is active.
  std::uint32_t repeats = 0;
  bool looping = false;
  Address loop_start = 0, loop_end = 0;

  [[nodiscard]] bool supervisor() const { return id == 0; }
  [[nodiscard]] unsigned slot() const { return id - 1u; }
};

}  // namespace tessera
