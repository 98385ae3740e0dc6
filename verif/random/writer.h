// Random code of one context, piece by piece, from the instruction table: what the table gains is written from then on.
//
// Registers: x8 data base, x9 traps taken, x10..x17 and all f operands, x18..x21 loop counters, x22 and x23 pointers
// and steps, x24..x26 links, x28..x31 scratch of the writer and the trap handler. Race-free contexts read and write
// 2 KiB around x8, read the constants at the start of the SRAM, and (one context, the owner) its last bytes.
#pragma once

#include <random>
#include <vector>

#include "hw/generated/isa.h"
#include "hw/generated/machine.h"
#include "hw/types.h"
#include "verif/random/code.h"

namespace tessera::random {

/// The instructions that programs may use.
enum class Subset : std::uint8_t {
  portable,  ///< RV32IMF
  rtl,       ///< what the RTL core has
  all,       ///< what the C++ models have
};
[[nodiscard]] bool in_subset(Subset subset, isa::Op op);

struct WriterOptions {
  enum class Kind : std::uint8_t { supervisor, worker, portable };
  Kind kind = Kind::worker;
  Subset subset = Subset::all;
  bool wild = false;        ///< accesses may go anywhere and see other contexts' memory (a race)
  bool owns_edge = false;   ///< may write the first and last bytes of the SRAM
  bool reads_edge = false;  ///< may read them
  bool shared = false;      ///< several workers may run it at once: it does not write its own code
  Address sram_end = 0;
};

class Writer {
 public:
  Writer(std::mt19937_64& random, const WriterOptions& options);

  /// `items` random pieces.
  std::vector<Node> body(unsigned items);
  /// Stores what does not stand in x and f registers: PRNG state, streams, AMP sets. Empty if there is none.
  std::vector<Node> dump();
  /// rd = value, always two instructions.
  static Node constant(unsigned rd, std::uint32_t value);

  unsigned pick(unsigned n) { return static_cast<unsigned>(random_() % n); }
  bool one_in(unsigned n) { return pick(n) == 0; }
  unsigned reg() { return 10 + pick(8); }
  unsigned freg() { return pick(32); }

 private:
  using Kind = WriterOptions::Kind;
  [[nodiscard]] bool supervisor() const { return options_.kind == Kind::supervisor; }
  [[nodiscard]] bool portable() const { return options_.kind == Kind::portable; }
  [[nodiscard]] bool has(isa::Op op) const { return in_subset(options_.subset, op); }
  [[nodiscard]] bool has_csr(unsigned number) const;
  std::int32_t offset(unsigned bytes);

  // writer.cpp
  std::uint32_t encode(isa::Op op);
  std::uint32_t integer();
  std::uint32_t memory();
  std::uint32_t floating();
  Node fresh_operands(std::uint32_t word);
  Node csr();
  Node csr_write(unsigned rd);
  Node load_over_base();
  std::uint32_t aux_word();
  Node trap();
  std::uint32_t odd_word();
  Node control(unsigned depth);
  Node without_f();
  Node item(unsigned depth);

  // writer_xtile.cpp
  Node post_increment();
  Node post_increment_access(std::int32_t& budget);
  Node streams(unsigned accesses, bool in_loop);
  std::uint32_t stream_access();
  Node unfit(bool last);
  Node repeat();
  Node amp();
  Node draws();
  std::uint32_t main_word();
  Node pair();
  Address edge_address(bool store);

  std::mt19937_64& random_;
  WriterOptions options_;
  std::vector<isa::Op> integer_ops_, float_ops_, aux_ops_, amp_ops_, draw_ops_, stream_ops_, post_ops_;
  std::vector<std::uint32_t> seen_;  ///< words written so far, to be spoilt by odd_word()
};

}  // namespace tessera::random
