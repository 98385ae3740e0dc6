// The lockstep record: one for each retired instruction or trap (docs/lockstep.md).
//
// Simulator-neutral: the TLM tile emits it from its exact interleave, the RTL adapter builds it from the core's retire
// port, an instruction trace prints it. Every field is cleared for each record, so no stale field can match. MAIN comes
// before the AUX of its pair; both carry the same cycle.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "hw/types.h"

namespace tessera {

struct RetireRecord {
  struct FWrite {
    std::uint8_t valid = 0;  ///< 0 none, 1 one register, 2 an even/odd pair
    std::uint8_t reg = 0;    ///< first register
    std::uint64_t bits = 0;  ///< low half: register `reg`
    friend bool operator==(const FWrite& a, const FWrite& b) {
      return a.valid == b.valid && a.reg == b.reg && a.bits == b.bits;
    }
  };

  Cycle cycle = 0;  ///< issue cycle
  ContextId context = 0;
  bool paired = false;  ///< issued as half of a MAIN/AUX pair
  bool trap = false;    ///< a trap record: nothing retired
  Address pc = 0;
  std::uint32_t word = 0;  ///< the instruction
  Address next_pc = 0;  ///< of this context's next issue; MAIN of a pair: pc + 4; trap: the handler, or pc if excepted
  std::uint32_t cause = 0, tval = 0;  ///< of a trap
  std::uint8_t xrd = 0;               ///< x register written; 0 is none
  std::uint32_t xval = 0;
  std::array<FWrite, 3> fwrite{};
  std::uint8_t fflags = 0;                   ///< accrued flags that this instruction raised (not the sticky sum)
  bool mem_read = false, mem_write = false;  ///< x.amp.ldw tells its reads by `amp_words` alone
  std::array<Address, 2> read_addr{};
  Address write_addr = 0;
  std::uint8_t write_mask = 0;         ///< bytes from write_addr up
  std::uint64_t write_data = 0;        ///< low byte at write_addr; bytes outside the mask are 0
  std::uint16_t csr = 0;               ///< CSR number written, 0 is none
  std::uint32_t csr_value = 0;         ///< value the CSR holds afterwards
  std::array<std::uint32_t, 7> run{};  ///< x.run: worker field, pc, a0, a1, xwstack, xwstksz, xwra; otherwise 0
  std::uint8_t streams = 0;            ///< bit k: stream pointer S[k] was used (x.ld2, x.ldst, x.ld2st) or set (x.sset)
  std::array<Address, 3> stream_addr{};  ///< its value afterwards; 0 if not in the mask
  bool drew = false;                     ///< the PRNG made a step
  std::array<std::uint32_t, 4> rng{};    ///< its state afterwards: s0 low, high, s1 low, high
  /// What `amp_words` holds: 0 nothing; 16 after a step of the last phase: A[0..7], B[0..7] of the worker after the
  /// swap; 64 after x.amp.ldw: the 256 bytes of weights as they stood in memory, word k at byte 4k.
  std::uint8_t amp = 0;
  std::array<std::uint32_t, 64> amp_words{};

  friend bool operator==(const RetireRecord& a, const RetireRecord& b) {
    return a.cycle == b.cycle && a.context == b.context && a.paired == b.paired && a.trap == b.trap && a.pc == b.pc &&
           a.word == b.word && a.next_pc == b.next_pc && a.cause == b.cause && a.tval == b.tval && a.xrd == b.xrd &&
           a.xval == b.xval && a.fwrite == b.fwrite && a.fflags == b.fflags && a.mem_read == b.mem_read &&
           a.mem_write == b.mem_write && a.read_addr == b.read_addr && a.write_addr == b.write_addr &&
           a.write_mask == b.write_mask && a.write_data == b.write_data && a.csr == b.csr &&
           a.csr_value == b.csr_value && a.run == b.run && a.streams == b.streams && a.stream_addr == b.stream_addr &&
           a.drew == b.drew && a.rng == b.rng && a.amp == b.amp &&
           std::equal(a.amp_words.begin(), a.amp_words.begin() + a.amp, b.amp_words.begin());
  }
};

/// A word on an exchange port of a tile.
struct ExchangeWord {
  Cycle cycle = 0;
  Address address = 0;  ///< byte address read (out) or written (in)
  Word word = 0;
  bool out = false;
  friend bool operator==(const ExchangeWord& a, const ExchangeWord& b) {
    return a.cycle == b.cycle && a.address == b.address && a.word == b.word && a.out == b.out;
  }
};

/// Receives what a tile does, in retire order.
class RetireObserver {
 public:
  virtual ~RetireObserver() = default;
  virtual void retired(const RetireRecord& record) = 0;
  virtual void exchanged(const ExchangeWord& word) = 0;
};

}  // namespace tessera
