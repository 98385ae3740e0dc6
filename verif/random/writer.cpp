// Weights of the pieces, and the pieces that plain RISC-V has.
#include "verif/random/writer.h"

#include <algorithm>
#include <stdexcept>

#include "tlm/tile/assembler.h"
#include "verif/random/values.h"

namespace tessera::random {

using isa::Class;
using isa::File;
using isa::Op;
using testing::i;
using testing::r;
using testing::s;

namespace {

bool uses(const isa::Info& info, File file) {
  return info.rd.file == file || info.rs1.file == file || info.rs2.file == file || info.rs3.file == file;
}

/// Neither memory, control, CSR nor anything else that needs care: registers in, registers out.
bool plain(Op op) {
  const isa::Info& info = isa::info(op);
  if (info.imm == isa::Imm::s || info.imm == isa::Imm::b || info.imm == isa::Imm::j || info.imm == isa::Imm::csr)
    return false;
  if (info.rs1.write || info.role == isa::Role::supervisor) return false;
  switch (info.match & 0x7f) {
    case 0x03:
    case 0x07:
    case 0x67:
    case 0x73:
      return false;  // loads, jalr, system
    case 0x0b:
      return op == Op::x_clz || op == Op::x_ctz || op == Op::x_cpop || op == Op::x_brev || op == Op::x_shuf8;
    case 0x2b:
      return false;
    default:
      return true;
  }
}

bool draws_random(Op op) {
  return op == Op::x_urand32 || op == Op::x_urand64 || op == Op::x_cvt_sr_f16_f32 || op == Op::x_cvt_sr_f16v2_f32v2 ||
         op == Op::x_cvt_sr_f16v4_f32v4;
}

}  // namespace

bool in_subset(Subset subset, Op op) {
  const isa::Info& info = isa::info(op);
  if (op == Op::illegal || !info.implemented) return false;
  const unsigned opcode = info.match & 0x7f;
  const bool custom = opcode == 0x0b || opcode == 0x2b || opcode == 0x5b || opcode == 0x7b;
  return subset == Subset::portable ? !custom : subset == Subset::rtl ? info.in_rtl : true;
}

Writer::Writer(std::mt19937_64& random, const WriterOptions& options) : random_(random), options_(options) {
  for (unsigned n = 1; n < isa::kOpCount; ++n) {
    const auto op = static_cast<Op>(n);
    const isa::Info& info = isa::info(op);
    if (!has(op)) continue;
    const unsigned opcode = info.match & 0x7f;
    if (opcode == 0x2b) {
      const bool stream = op == Op::x_ld2 || op == Op::x_ldst || op == Op::x_ld2st;
      (stream ? stream_ops_ : post_ops_).push_back(op);
    }
    if (!plain(op)) continue;
    if (uses(info, File::f)) {
      float_ops_.push_back(op);
      if (info.klass == Class::aux) aux_ops_.push_back(op);
      if (draws_random(op)) draw_ops_.push_back(op);
      if (op == Op::x_amp_f16 || op == Op::x_amp_f32 || op == Op::x_amp_g || op == Op::x_amp_io) amp_ops_.push_back(op);
    } else {
      integer_ops_.push_back(op);
    }
  }
}

Node Writer::constant(unsigned rd, std::uint32_t value) {
  Node node;
  testing::load_constant(node.words, rd, value);
  return node;
}

std::int32_t Writer::offset(unsigned bytes) {
  // Within the context's 4 KiB around x8; now and then misaligned.
  if (one_in(16)) return one_in(2) ? 0 : -2048;
  if (one_in(32) && bytes == 1) return 2047;
  const std::int32_t any = one_in(60) ? 2047 : static_cast<std::int32_t>(pick(4096)) - 2048;
  return !portable() && one_in(60) ? any : any & -static_cast<std::int32_t>(bytes);
}

/// `op` with random operands in all its fields: registers of the right file and alignment, immediates, phases.
std::uint32_t Writer::encode(Op op) {
  const isa::Info& info = isa::info(op);
  const auto number = [this](const isa::Reg& reg, bool destination) -> unsigned {
    if (reg.file == File::f) return freg() & ~(reg.count - 1u);
    if (reg.file == File::x) return one_in(destination ? 12 : 24) ? 0 : this->reg();
    return 0;
  };
  for (unsigned tries = 0; tries < 1000; ++tries) {
    std::uint32_t word = static_cast<std::uint32_t>(random_()) & ~info.mask;
    const auto field = [&](const isa::Reg& reg, unsigned low, bool destination) {
      if (reg.file != File::none) word = (word & ~(31u << low)) | number(reg, destination) << low;
    };
    field(info.rd, 7, true);
    field(info.rs1, 15, false);
    field(info.rs2, 20, false);
    field(info.rs3, 27, false);
    if (info.imm == isa::Imm::i && one_in(6)) {  // the ends of the range and zero
      constexpr std::uint32_t kEnds[] = {0, 0x7ff, 0x800, 1, 0xfff};
      word = (word & 0xfffffu) | kEnds[pick(5)] << 20;
    }
    if (info.imm == isa::Imm::shamt && one_in(6)) word = (word & ~0x1f00000u) | (one_in(2) ? 31u << 20 : 0u);
    word |= info.match;
    if (isa::decode(word) == op) return word;
  }
  throw std::logic_error(std::string("no operands found for ") + info.name);
}

std::uint32_t Writer::integer() {
  switch (pick(20)) {
    case 0:  // -2^31 and -1: the overflow of a division needs them
      return i(Op::lui, reg(), 0, INT32_MIN);
    case 1:
      return i(Op::addi, reg(), 0, -1);
    case 2:
      return i(Op::lw, reg(), 8, offset(4) & ~3);
    default:
      return encode(integer_ops_[pick(static_cast<unsigned>(integer_ops_.size()))]);
  }
}

std::uint32_t Writer::memory() {
  static constexpr Op kLoad[] = {Op::lb, Op::lbu, Op::lh, Op::lhu, Op::lw, Op::flw};
  static constexpr Op kStore[] = {Op::sb, Op::sh, Op::sw, Op::fsw};
  static constexpr unsigned kLoadBytes[] = {1, 1, 2, 2, 4, 4}, kStoreBytes[] = {1, 2, 4, 4};
  // Now and then outside the SRAM: through x0, or any register. Never a store that could hit.
  const unsigned base = !portable() && one_in(50) ? (options_.wild ? reg() : 0) : 8;
  if (pick(2) != 0) {
    const unsigned n = pick(supervisor() ? 5 : 6);
    return i(kLoad[n], n == 5 ? freg() : reg(), base, offset(kLoadBytes[n]));
  }
  const unsigned n = pick(supervisor() ? 3 : 4);
  return s(kStore[n], base == 8 ? 8 : 0, n == 3 ? freg() : reg(), offset(kStoreBytes[n]));
}

std::uint32_t Writer::floating() {
  const Op op = float_ops_[pick(static_cast<unsigned>(float_ops_.size()))];
  const std::uint32_t word = encode(op);
  // Mostly the dynamic rounding mode where there is one.
  if (isa::info(op).fp != isa::FpOp::none && (isa::info(op).mask & 0x7000) == 0 && pick(3) != 0) return word | 0x7000;
  return word;
}

/// Loads of the f registers that `word` reads, then the word: values are corners again.
Node Writer::fresh_operands(std::uint32_t word) {
  Node node;
  const std::uint32_t reads = isa::f_reads(isa::decode(word), word);
  for (unsigned f = 0; f < 32; ++f) {
    if ((reads >> f & 1) != 0) node.words.push_back(i(Op::flw, f, 8, 4 * static_cast<std::int32_t>(pick(448))));
  }
  node.words.push_back(word);
  return node;
}

/// Registers of units that the subset may lack.
bool Writer::has_csr(unsigned number) const {
  return options_.subset != Subset::rtl || (csr_in_rtl(number) && (number != csr::xrpt || has(Op::x_rpt)));
}

namespace {

/// CSRs by name, and some that are none.
const std::vector<unsigned>& known_csrs() {
  static const std::vector<unsigned> kAll = [] {
    std::vector<unsigned> all;
    for (unsigned n = 0; n < 4096; ++n) {
      // A few of the many counters that read 0 are enough.
      const bool many = (n & 0x1f) > 4 && (n >> 8 == 0xB || n >> 8 == 0xC || n >> 8 == 3) && (n & 0x40) == 0;
      if (csr_name(n) != nullptr && !many) all.push_back(n);
    }
    for (const unsigned n : {0x305u, 0x310u, 0xCC0u, 0xCC1u, 0x180u, 0x3A0u, 0x302u, 0x100u}) all.push_back(n);
    return all;
  }();
  return kAll;
}

}  // namespace

Node Writer::csr() {
  static constexpr Op kImmediate[] = {Op::csrrwi, Op::csrrsi, Op::csrrci};
  const unsigned rd = one_in(6) ? 0 : reg(), kind = pick(10);
  const auto at = [](unsigned number) { return static_cast<std::int32_t>(number); };
  if (portable() || (!supervisor() && kind < 4)) {
    // Reserved rounding modes trap; portable programs keep to the others.
    if (one_in(3)) return Node(i(kImmediate[pick(3)], rd, pick(32), at(csr::fflags)));
    const unsigned mode = portable() || !one_in(8) ? pick(5) : 5 + pick(3);
    if (one_in(6)) return Node({i(Op::addi, 28, 0, at(mode << 5 | pick(32))), i(Op::csrrw, rd, 28, at(csr::fcsr))});
    return Node(i(Op::csrrwi, rd, mode, at(csr::frm)));
  }
  if (kind >= 7) return csr_write(rd);
  const unsigned number = known_csrs()[pick(static_cast<unsigned>(known_csrs().size()))];
  if (!has_csr(number)) return Node(integer());
  return Node(i(pick(2) ? Op::csrrs : Op::csrrsi, rd, 0, at(number)));
}

/// Any CSR but those that the program's own ways hang on.
Node Writer::csr_write(unsigned rd) {
  static constexpr Op kRegister[] = {Op::csrrw, Op::csrrs, Op::csrrc};
  static constexpr Op kImmediate[] = {Op::csrrwi, Op::csrrsi, Op::csrrci};
  const unsigned number = known_csrs()[pick(static_cast<unsigned>(known_csrs().size()))];
  const auto at = static_cast<std::int32_t>(number);
  // mstatus: interrupt bits only, so that FS stays.
  if (number == csr::mstatus) return Node(i(pick(2) ? Op::csrrsi : Op::csrrci, rd, 8, at));
  const bool kept = number == csr::mtvec || number == csr::frm || number == csr::fcsr || number == csr::xwra ||
                    (number >= csr::xbase1 && number < csr::xbase1 + 3);
  if (kept || !has_csr(number)) return Node(integer());
  if (pick(3) != 0) return Node(i(kRegister[pick(3)], rd, reg(), at));
  return Node(i(kImmediate[pick(3)], rd, pick(32), at));
}

/// A load whose destination is its own base, or nothing; accesses with the largest offset.
Node Writer::load_over_base() {
  static constexpr Op kLoad[] = {Op::lb, Op::lbu, Op::lh, Op::lhu, Op::lw};
  const unsigned n = pick(5), base = reg();
  if (one_in(3)) {  // the largest offset from an odd base
    const std::int32_t below = -1023 - 8 * static_cast<std::int32_t>(pick(100));
    const unsigned kind = pick(supervisor() ? 7 : 9);
    static constexpr Op kStore[] = {Op::sh, Op::sw, Op::fsw};
    return Node({i(Op::addi, base, 8, below),
                 kind < 4    ? i(kLoad[1 + kind], reg(), base, 2047)
                 : kind == 8 ? i(Op::flw, freg(), base, 2047)
                             : testing::s(kStore[std::min(kind - 4, supervisor() ? 1u : 2u)], base, reg(), 2047)});
  }
  const std::int32_t at = static_cast<std::int32_t>(pick(1024)) & ~3;
  return Node({i(Op::addi, base, 8, one_in(2) ? 0 : -2048 + 4 * static_cast<std::int32_t>(pick(16))),
               i(kLoad[n], one_in(3) ? 0 : base, base, one_in(4) && n < 2 ? 2047 : at)});
}

std::uint32_t Writer::aux_word() { return encode(aux_ops_[pick(static_cast<unsigned>(aux_ops_.size()))]); }

Node Writer::trap() {
  switch (pick(8)) {
    case 0:
      return Node(r(Op::ecall, 0));
    case 1:
      return Node(r(Op::ebreak, 0));
    case 2:
      return Node(r(Op::wfi, 0));
    case 3:
      return Node(i(Op::jal, reg(), 0, 6));  // target not aligned
    case 4:
      return Node(s(Op::beq, 0, 0, 10));
    case 5:  // fetch outside: the handler leaves the program then
      if (!one_in(6)) return Node(Node::Kind::mret, {});
      return Node(i(Op::jalr, 28, 0, 16));
    case 6:  // what this role must not do
      return Node(supervisor() ? r(Op::x_exit, 0, reg()) : r(Op::x_delay, 0, reg()));
    default:
      return Node(supervisor() ? encode(Op::fadd_s) : testing::sync(reg(), reg(), pick(5)));
  }
}

/// A word that may mean nothing: random, or a legal one with a bit turned. Only what cannot leave the context's data,
/// registers and code, and what model and subset agree on.
std::uint32_t Writer::odd_word() {
  for (;;) {
    auto word = static_cast<std::uint32_t>(random_());
    if (!seen_.empty() && pick(2) != 0) word = seen_[pick(static_cast<unsigned>(seen_.size()))] ^ 1u << pick(32);
    const Op op = isa::decode(word);
    if (op == Op::illegal) return word;
    if (!has(op) || op == Op::jalr || op == Op::mret || op == Op::x_exit) continue;
    const isa::Info& info = isa::info(op);
    const unsigned opcode = word & 0x7f;
    if (info.role == isa::Role::supervisor || opcode == 0x2b || op == Op::x_rpt || op == Op::x_rpti) continue;
    if (info.imm == isa::Imm::s || info.imm == isa::Imm::b || info.imm == isa::Imm::j || info.imm == isa::Imm::csr)
      continue;
    const unsigned rd = isa::rd(word);
    if (info.rd.file == File::x && info.rd.write && rd != 0 && (rd < 10 || rd > 17)) continue;
    if (!options_.wild && (opcode == 0x03 || opcode == 0x07) && isa::rs1(word) != 8) continue;
    return word;
  }
}

Node Writer::control(unsigned depth) {
  if (depth == 0) return Node(integer());
  static constexpr Op kBranch[] = {Op::beq, Op::bne, Op::blt, Op::bge, Op::bltu, Op::bgeu};
  std::vector<Node> inside;
  switch (pick(3)) {
    case 0:  // a forward branch over a few items
      for (unsigned k = pick(4); k-- > 0;) inside.push_back(item(depth - 1));
      return Node(Node::Kind::branch, {s(kBranch[pick(6)], reg(), reg(), 0)}, std::move(inside));
    case 1:
      for (unsigned k = 1 + pick(5); k-- > 0;) inside.push_back(item(depth - 1));
      return Node(Node::Kind::loop, {}, std::move(inside), 18 + depth, 1 + pick(6));
    default:
      for (unsigned k = 1 + pick(3); k-- > 0;) inside.push_back(Node(integer()));
      return Node(Node::Kind::call, {}, std::move(inside), 24 + depth);
  }
}

/// FS = 0 for a while: every instruction with an f operand traps and is skipped.
Node Writer::without_f() {
  Node node;
  node.children.push_back(constant(28, 0x6000));
  node.children.push_back(Node(i(Op::csrrc, 0, 28, csr::mstatus)));
  for (unsigned k = 1 + pick(4); k-- > 0;) {
    const unsigned kind = pick(6);
    node.children.push_back(kind < 3    ? Node(floating())
                            : kind == 3 ? pair()
                            : kind == 4 ? Node(memory())
                                        : Node(integer()));
  }
  node.children.push_back(constant(28, 0x2000));
  node.children.push_back(Node(i(Op::csrrs, reg(), 28, csr::mstatus)));
  return node;
}

Node Writer::item(unsigned depth) {
  const bool worker = options_.kind == Kind::worker;
  const unsigned kind = pick(1000);
  if (kind < 200) return Node(integer());
  if (kind < 310) return Node(memory());
  if (kind < 320) return load_over_base();
  if (kind < 640) {
    if (supervisor()) return Node(integer());
    const std::uint32_t word = floating();
    return pick(2) == 0 ? fresh_operands(word) : Node(word);
  }
  if (kind < 690) return csr();
  if (kind < 705 && !options_.shared)
    return Node(Node::Kind::store_code, {one_in(3) && !supervisor() ? encode(Op::fadd_s) : encode(Op::addi)}, {},
                pick(4));
  if (worker) {
    if (kind < 750) return pair();
    if (kind < 780 && !post_ops_.empty()) return post_increment();
    if (kind < 810 && !stream_ops_.empty()) return streams(1 + pick(10), false);
    if (kind < 850 && has(Op::x_rpt) && depth > 0) return repeat();
    if (kind < 870 && !amp_ops_.empty()) return amp();
    if (kind < 880 && !draw_ops_.empty()) return draws();
  }
  if (!portable()) {
    if (kind < 905) return trap();
    if (kind < 925) return Node(odd_word());
    if (kind < 935 && worker) return without_f();
  }
  return control(depth);
}

std::vector<Node> Writer::body(unsigned items) {
  std::vector<Node> nodes;
  while (items-- > 0) {
    nodes.push_back(item(2));
    if (!nodes.back().words.empty()) seen_.push_back(nodes.back().words.back());
  }
  return nodes;
}

}  // namespace tessera::random
