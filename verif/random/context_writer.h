// The code of one context, piece by piece (used by generator.cpp).
//
// Registers: x8 data base, x9 traps taken, x10..x17 and all f operands, x18..x21 loop counters, x24..x26 links,
// x28..x31 scratch of the writer and the trap handler.
#pragma once

#include <random>
#include <vector>

#include "hw/generated/isa.h"
#include "hw/types.h"

namespace tessera::random {

class ContextWriter {
 public:
  enum class Kind { supervisor, worker, portable };
  /// wild: loads may go through any register and so see other contexts' memory (a race).
  ContextWriter(std::mt19937_64& random, Kind kind, Address at, bool wild)
      : random_(random), kind_(kind), at_(at), wild_(wild) {}

  /// Appends `items` random pieces.
  void body(unsigned items);
  void emit(std::uint32_t word) { code_.push_back(word); }
  /// rd = value, always two instructions.
  void constant(unsigned rd, std::uint32_t value);
  /// A handler that skips the faulting instruction and goes on; after a fetch fault or many traps goes to `exit`, which
  /// follows it. Returns its address.
  Address handler();

  [[nodiscard]] Address here() const { return at_ + 4 * static_cast<Address>(code_.size()); }
  [[nodiscard]] std::vector<std::uint32_t>& code() { return code_; }
  unsigned pick(unsigned n) { return static_cast<unsigned>(random_() % n); }
  unsigned reg() { return 10 + pick(8); }

 private:
  unsigned freg() { return pick(32); }
  std::int32_t offset(unsigned bytes);
  void integer();
  void memory();
  void floating();
  void csr();
  void trap();
  void odd_word();
  void control(unsigned depth);
  void write_code();
  void without_f();
  void item(unsigned depth);

  std::mt19937_64& random_;
  Kind kind_;
  Address at_;
  bool wild_;
  std::vector<std::uint32_t> code_;
};

}  // namespace tessera::random
