// Random race-free programs of a supervisor and six workers, for comparing models of a tile. Programs compute, branch,
// loop, call, load and store in regions of their own, run F in pairs and alone in every rounding mode, write their own
// code, trap, and read counters and status. The same seed gives the same program.
#pragma once

#include <array>
#include <random>
#include <stdexcept>
#include <vector>

#include "tlm/tile/assembler.h"
#include "tlm/tile/tile_model.h"

namespace tessera::testing {

inline constexpr std::uint32_t kRandomBytes = 65536;        ///< SRAM they want
inline constexpr Address kRandomData = kSramBase + 0x8000;  // 4 KiB for each context

/// Writes one context's program, word by word.
class Program {
 public:
  Program(std::mt19937& random, bool worker) : random_(random), worker_(worker) {}

  std::vector<std::uint32_t> code;

  void body(unsigned items, Address at) {
    at_ = at;
    for (unsigned k = 0; k < items; ++k) item(2);
  }
  unsigned pick(unsigned n) { return static_cast<unsigned>(random_() % n); }

 private:
  unsigned reg() { return 10 + pick(8); }
  unsigned freg() { return pick(16); }
  std::int32_t aligned(unsigned bytes) {
    if (pick(400) == 0) return static_cast<std::int32_t>(pick(4096)) - 2048;  // may be misaligned
    return (static_cast<std::int32_t>(pick(4096)) - 2048) & -static_cast<std::int32_t>(bytes);
  }
  void alu() {
    static constexpr Op kRegister[] = {Op::add, Op::sub, Op::sll,  Op::slt, Op::sltu, Op::xor_,   Op::srl,
                                       Op::sra, Op::or_, Op::and_, Op::mul, Op::mulh, Op::mulhsu, Op::mulhu};
    static constexpr Op kImmediate[] = {Op::addi, Op::slti, Op::sltiu, Op::xori, Op::ori, Op::andi};
    static constexpr Op kShift[] = {Op::slli, Op::srli, Op::srai};
    static constexpr Op kDivide[] = {Op::div, Op::divu, Op::rem, Op::remu};
    const unsigned kind = pick(20), rd = pick(12) == 0 ? 0 : reg();
    if (kind < 8) return code.push_back(r(kRegister[pick(14)], rd, reg(), reg()));
    if (kind < 14)
      return code.push_back(i(kImmediate[pick(6)], rd, reg(), static_cast<std::int32_t>(pick(4096)) - 2048));
    if (kind < 16) return code.push_back(i(kShift[pick(3)], rd, reg(), static_cast<std::int32_t>(pick(32))));
    if (kind < 17) return code.push_back(r(kDivide[pick(4)], rd, reg(), reg()));
    if (kind < 18) return code.push_back(i(Op::lui, rd, 0, static_cast<std::int32_t>(random_() & 0xfffff000u)));
    if (kind < 19) return code.push_back(i(Op::auipc, rd, 0, static_cast<std::int32_t>(random_() & 0xfffff000u)));
    code.push_back(r(Op::fence, 0));
  }
  void memory() {
    static constexpr Op kLoad[] = {Op::lb, Op::lbu, Op::lh, Op::lhu, Op::lw};
    static constexpr Op kStore[] = {Op::sb, Op::sh, Op::sw};
    static constexpr unsigned kLoadBytes[] = {1, 1, 2, 2, 4}, kStoreBytes[] = {1, 2, 4};
    const unsigned l = pick(5), st = pick(3);
    switch (pick(worker_ ? 4 : 2)) {
      case 0:
        return code.push_back(i(kLoad[l], reg(), 8, aligned(kLoadBytes[l])));
      case 1:
        return code.push_back(s(kStore[st], 8, reg(), aligned(kStoreBytes[st])));
      case 2:
        return code.push_back(i(Op::flw, freg(), 8, aligned(4)));
      default:
        return code.push_back(s(Op::fsw, 8, freg(), aligned(4)));
    }
  }
  void floating() {
    static constexpr Op kTwo[] = {Op::fadd_s, Op::fsub_s, Op::fmul_s, Op::fdiv_s};
    static constexpr Op kThree[] = {Op::fmadd_s, Op::fmsub_s, Op::fnmadd_s, Op::fnmsub_s};
    static constexpr Op kPlain[] = {Op::fsgnj_s, Op::fsgnjn_s, Op::fsgnjx_s, Op::fmin_s, Op::fmax_s};
    static constexpr Op kCompare[] = {Op::feq_s, Op::flt_s, Op::fle_s};
    static constexpr Op kToX[] = {Op::fcvt_w_s, Op::fcvt_wu_s};
    static constexpr Op kFromX[] = {Op::fcvt_s_w, Op::fcvt_s_wu};
    const unsigned mode = pick(3) == 0 ? pick(5) : 7u;
    const std::uint32_t rm = mode << 12;
    switch (pick(9)) {
      case 0:
      case 1:
        return code.push_back(r(kTwo[pick(4)], freg(), freg(), freg()) | rm);
      case 2:
      case 3:
        return code.push_back(r(kThree[pick(4)], freg(), freg(), freg(), freg()) | rm);
      case 4:
        return code.push_back(r(kPlain[pick(5)], freg(), freg(), freg()));
      case 5:
        return code.push_back(r(kCompare[pick(3)], reg(), freg(), freg()));
      case 6:
        return code.push_back(pick(2) ? r(kToX[pick(2)], reg(), freg()) | rm : r(Op::fclass_s, reg(), freg()));
      case 7:
        return code.push_back(pick(2) ? r(kFromX[pick(2)], freg(), reg()) | rm : r(Op::fmv_w_x, freg(), reg()));
      default:
        return code.push_back(pick(2) ? r(Op::fsqrt_s, freg(), freg()) | rm : r(Op::fmv_x_w, reg(), freg()));
    }
  }
  void counters() {
    static constexpr unsigned kAll[] = {csr::mcycle,  csr::instret,  csr::mcycleh,
                                        csr::mstatus, csr::mscratch, csr::time};
    static constexpr unsigned kSupervisor[] = {csr::xwstat, csr::xexit, csr::xsyncz};
    static constexpr unsigned kWorker[] = {csr::fflags, csr::frm, csr::fcsr, csr::xworker};
    const unsigned kind = pick(10);
    const auto role = static_cast<std::int32_t>(worker_ ? kWorker[pick(4)] : kSupervisor[pick(3)]);
    if (kind < 4) return code.push_back(i(Op::csrrs, reg(), 0, static_cast<std::int32_t>(kAll[pick(6)])));
    if (kind < 7) return code.push_back(i(Op::csrrs, reg(), 0, role));
    if (kind == 7) return code.push_back(i(Op::csrrw, reg(), reg(), csr::mscratch));
    if (kind == 8) return code.push_back(i(Op::csrrw, reg(), reg(), pick(2) ? csr::minstret : csr::mcycle));
    if (worker_) return code.push_back(i(Op::csrrwi, reg(), pick(5), csr::frm));
    code.push_back(i(Op::csrrwi, reg(), pick(4), csr::xexit));
  }
  void control(unsigned depth) {
    if (depth == 0) return alu();
    const std::size_t from = code.size();
    static constexpr Op kBranch[] = {Op::beq, Op::bne, Op::blt, Op::bge, Op::bltu, Op::bgeu};
    const unsigned kind = pick(3);
    if (kind == 0) {  // forward branch over a few items
      code.push_back(0);
      for (unsigned k = pick(4); k-- > 0;) item(depth - 1);
      code[from] = s(kBranch[pick(6)], reg(), reg(), static_cast<std::int32_t>(4 * (code.size() - from)));
    } else if (kind == 1) {  // counted loop; the counter is a register of its own for each depth
      const unsigned counter = 18 + depth;
      code.push_back(i(Op::addi, counter, 0, static_cast<std::int32_t>(1 + pick(6))));
      for (unsigned k = 1 + pick(5); k-- > 0;) item(depth - 1);
      code.push_back(i(Op::addi, counter, counter, -1));
      code.push_back(s(Op::bne, counter, 0, -static_cast<std::int32_t>(4 * (code.size() - from - 1))));
    } else {  // a call and its body
      code.push_back(0);
      const unsigned link = 24 + depth;
      const std::size_t entry = code.size();
      for (unsigned k = 1 + pick(3); k-- > 0;) alu();
      code.push_back(i(Op::jalr, 0, link, 0));
      code[from] = i(Op::jal, 0, 0, static_cast<std::int32_t>(4 * (code.size() - from)));
      code.push_back(i(Op::jal, link, 0, -static_cast<std::int32_t>(4 * (code.size() - entry))));
    }
  }
  /// Stores an instruction over a word a little further on, and goes there.
  void write_code() {
    const std::size_t from = code.size();
    std::vector<std::uint32_t> patch;
    const std::uint32_t word = pick(3) == 0 && worker_
                                   ? r(Op::fadd_s, freg(), freg(), freg()) | 7u << 12
                                   : i(Op::addi, reg(), reg(), static_cast<std::int32_t>(pick(2000)));
    load_constant(patch, 28, word);
    const unsigned gap = pick(4);
    load_constant(patch, 29, at_ + 4 * static_cast<Address>(from + 5 + gap));
    patch.push_back(s(Op::sw, 29, 28, 0));
    code.insert(code.end(), patch.begin(), patch.end());
    for (unsigned k = 0; k < gap + 1; ++k) code.push_back(nop());
  }
  /// A random word that means the same to all kinds of tile.
  std::uint32_t any_word() {
    for (;;) {
      const auto word = static_cast<std::uint32_t>(random_());
      const Op op = isa::decode(word);
      const bool csr = isa::info(op).imm == isa::Imm::csr;
      if (op == Op::illegal || (isa::info(op).in_rtl && (!csr || csr_in_rtl(isa::csr_number(word))))) return word;
    }
  }
  void item(unsigned depth) {
    const unsigned kind = pick(200);
    if (kind < 70) return alu();
    if (kind < 110) return memory();
    if (kind < 160) return worker_ ? floating() : alu();
    if (kind < 168) return counters();
    if (kind < 172) return write_code();
    if (kind < 173 && depth == 2 && pick(8) == 0) return code.push_back(any_word());
    control(depth);
  }

  std::mt19937& random_;
  bool worker_;
  Address at_ = 0;
};

inline std::vector<std::uint32_t> worker_program(std::mt19937& random, unsigned w, Address at) {
  Program p(random, true);
  load_constant(p.code, 8, kRandomData + 0x1000 * w + 0x800);
  p.body(5 + p.pick(40), at);
  p.code.push_back(p.pick(3) == 0 ? r(Op::x_exit, 0, 10) : r(Op::x_exit, 0, 0));
  return p.code;
}

inline std::vector<std::uint32_t> supervisor_program(std::mt19937& random, const std::array<Address, 7>& entry) {
  Program p(random, false);
  load_constant(p.code, 8, kRandomData + 0x800);
  const Address at = kSramBase;
  for (unsigned round = 3 + p.pick(8); round-- > 0;) {
    p.body(p.pick(6), at);
    const unsigned w = 1 + p.pick(6);
    load_constant(p.code, 5, entry[w]);
    switch (p.pick(12)) {
      case 0:
        p.code.push_back(sync(6, 10, 0));
        break;
      case 1:
        p.code.push_back(sync(6, 10, 1));
        break;
      case 2:
        p.code.push_back(i(Op::addi, 7, 0, static_cast<std::int32_t>(p.pick(60))));
        p.code.push_back(r(Op::x_delay, 0, 7));
        break;
      default:
        p.code.push_back(r(Op::x_run, w, 5, 10, 11));
    }
  }
  p.code.push_back(sync(6, 10, p.pick(2)));
  p.code.push_back(r(Op::ecall, 0));
  return p.code;
}

/// Loads the same programs into a tile.
inline void load_random_programs(TileModel& tile, unsigned seed) {
  std::mt19937 random(seed);
  std::array<Address, 7> entry{};
  Address at = kSramBase + 0x2000;
  for (unsigned w = 1; w < 7; ++w) {
    at += 4 * (random() % 3);
    entry[w] = at;
    const auto code = worker_program(random, w, at);
    tile.write_memory(at, reinterpret_cast<const std::uint8_t*>(code.data()), 4 * code.size());
    at += 4 * static_cast<Address>(code.size());
  }
  if (at > kRandomData) throw std::logic_error("random worker programs are too long");
  const auto code = supervisor_program(random, entry);
  if (code.size() * 4 > 0x2000u) throw std::logic_error("random supervisor program is too long");
  tile.write_memory(kSramBase, reinterpret_cast<const std::uint8_t*>(code.data()), 4 * code.size());
  std::vector<std::uint32_t> data(0x7000 / 4);
  for (auto& word : data) {
    word = static_cast<std::uint32_t>(random());
    if (random() % 3 == 0) word = (word & 0x807fffffu) | (120u + word % 16) << 23;  // numbers near one
  }
  tile.write_memory(kRandomData, reinterpret_cast<const std::uint8_t*>(data.data()), 4 * data.size());
}

}  // namespace tessera::testing
