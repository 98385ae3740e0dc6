// One recipe for each concern; all deterministic.
#include "verif/random/directed.h"

#include <fmt/format.h>

#include <array>

#include "hw/generated/machine.h"
#include "tlm/tile/assembler.h"
#include "verif/coverage/operands.h"
#include "verif/random/image.h"
#include "verif/random/values.h"
#include "verif/random/writer.h"

namespace tessera::random {
namespace {

using coverage::Type;
using isa::File;
using isa::Op;
using testing::i;
using testing::r;
using testing::s;
using testing::sync;

// Words of each class, at the start of the data: f32, f16 pairs, integers, six of each.
constexpr std::array<std::uint32_t, 18> kClasses = {
    0x00000000, 0x00000123, 0x3fc00001, 0x7f800000, 0x7fc00000, 0x7f800001,  //
    0x80000000, 0x01238001, 0x3c004200, 0xfc007c00, 0x7e01fe00, 0x7c01fd00,  //
    0,          5,          0xfffffff0, 0x80000000, 0x7fffffff, 0xffffffff};

std::int32_t class_offset(Type type, unsigned k) {
  const unsigned row = type == Type::half ? 6 : type == Type::integer ? 12 : 0;
  return static_cast<std::int32_t>(4 * (row + k));
}

Recipe empty(bool handlers) {
  std::mt19937_64 random(1);
  Recipe recipe;
  recipe.data = biased_words(random, kDataWords);
  recipe.exchange_seed = 12345;
  for (ContextRecipe& context : recipe.contexts) context.handler = handlers;
  std::copy(kClasses.begin(), kClasses.end(), recipe.data.begin() + 0x1000 / 4);  // worker 1
  std::copy(kClasses.begin(), kClasses.end(), recipe.data.begin());               // supervisor
  return recipe;
}

void run_worker(Recipe& recipe, std::vector<Node> code, unsigned w = 1) {
  auto& context = recipe.contexts[w].code;
  context.push_back(Writer::constant(8, data_of(w)));
  for (Node& node : code) context.push_back(std::move(node));
  context.push_back(Node(r(Op::x_exit, 0, 0)));
  recipe.contexts[0].code.push_back(Node(Node::Kind::run, {r(Op::x_run, w, 5, 0, 0)}, {}, 0, w));
  recipe.contexts[0].code.push_back(Node(sync(6, 0, 0)));
}

bool computes(Op op, Subset subset) {
  const isa::Info& info = isa::info(op);
  const unsigned opcode = info.match & 0x7f;
  if (!in_subset(subset, op) || info.role == isa::Role::supervisor) return false;
  if (opcode == 0x0b)
    return op == Op::x_clz || op == Op::x_ctz || op == Op::x_cpop || op == Op::x_brev || op == Op::x_shuf8;
  return opcode == 0x33 || opcode == 0x13 || opcode == 0x63 || opcode == 0x53 || opcode == 0x43 || opcode == 0x47 ||
         opcode == 0x4b || opcode == 0x4f || opcode == 0x5b || opcode == 0x7b;
}

/// `op` on registers that hold operands; rm, phases and immediates 0 unless `extra` sets them.
std::uint32_t word_of(Op op, const std::array<unsigned, 4>& regs, std::uint32_t extra) {
  const isa::Info& info = isa::info(op);
  std::uint32_t word = info.match | extra;
  if (info.rd.file != File::none) word |= regs[0] << 7;
  if (info.rs1.file != File::none) word |= regs[1] << 15;
  if (info.rs2.file != File::none) word |= regs[2] << 20;
  if (info.rs3.file != File::none) word |= regs[3] << 27;
  return word;
}

/// Every class in every source operand, the others a step further; then equal registers.
std::vector<Directed> operand_classes(Subset subset) {
  std::vector<Directed> all;
  std::vector<Node> code;
  std::size_t words = 0;
  const auto flush = [&] {
    Directed d{fmt::format("operands {}", all.size()), empty(true)};
    run_worker(d.recipe, std::move(code));
    all.push_back(std::move(d));
    code.clear();
    words = 0;
  };
  for (unsigned n = 1; n < isa::kOpCount; ++n) {
    const auto op = static_cast<Op>(n);
    if (!computes(op, subset)) continue;
    const isa::Info& info = isa::info(op);
    const std::array<isa::Reg, 3> sources{info.rs1, info.rs2, info.rs3};
    const auto types = coverage::operand_types(op);
    for (unsigned k = 0; k < 7; ++k) {
      Node node;
      for (unsigned o = 0; o < 3; ++o) {
        const unsigned kind = k == 6 ? (o == 1 ? 5 : 3) : (k + (o == 0 ? 0 : 2 + o)) % 6;  // also infinity and NaN
        const Type type = types[o] == Type::none ? Type::single : types[o];
        if (sources[o].file == File::x) node.words.push_back(i(Op::lw, 10 + o, 8, class_offset(type, kind)));
        for (unsigned c = 0; sources[o].file == File::f && c < sources[o].count; ++c)
          node.words.push_back(i(Op::flw, 4 + 4 * o + c, 8, class_offset(type, kind)));
      }
      const auto reg = [&](const isa::Reg& operand, unsigned x, unsigned f) {
        return operand.file == File::f ? f : operand.file == File::x ? x : 0u;
      };
      std::uint32_t word =
          word_of(op, {reg(info.rd, 13, 16), reg(info.rs1, 10, 4), reg(info.rs2, 11, 8), reg(info.rs3, 12, 12)}, 0);
      if (info.imm == isa::Imm::b) word |= testing::place(isa::Imm::b, 4);
      node.words.push_back(word);
      words += node.words.size();
      code.push_back(std::move(node));
    }
    // All operands one register; the destination too.
    if (info.rd.file == info.rs1.file || info.rs1.file == info.rs2.file) {
      const unsigned same = info.rs1.file == File::f ? 4 : 10;
      const unsigned rd = info.rd.file == info.rs1.file ? same : info.rd.file == File::f ? 16 : 13;
      const std::uint32_t word =
          word_of(op, {rd, same, same, same}, info.imm == isa::Imm::b ? testing::place(isa::Imm::b, 4) : 0);
      if (isa::decode(word) == op) code.push_back(Node(word));
    }
    if (coverage::rounds(op)) {
      for (unsigned rm = 0; rm < 5; ++rm) {
        const auto at = [&](std::uint32_t mode) {
          const unsigned rd = info.rd.file == File::f ? 16 : 13, rs1 = info.rs1.file == File::f ? 4 : 10;
          return word_of(op, {rd, rs1, 8, 12}, mode << 12);
        };
        code.push_back(Node({i(Op::csrrwi, 0, rm, csr::frm), at(7), at(rm)}));
      }
    }
    if (words > 3000) flush();
  }
  flush();
  return all;
}

/// Sums that overflow, underflow and are invalid.
Directed flag_corners(Subset) {
  Directed d{"flags", empty(true)};
  const std::uint32_t values[] = {0x7f7fffff, 0xff7fffff, 0x00000001, 0x7f800001, 0x7f800000,
                                  0xff800000, 0x00800000, 0x3f000001, 0x00000000, 0xbf800000};
  std::vector<Node> code;
  unsigned n = 0;
  for (const std::uint32_t v : values) d.recipe.data[0x1000 / 4 + 32 + n++] = v;
  for (unsigned a = 0; a < n; ++a) {
    for (unsigned b = 0; b < n; ++b) {
      Node node;
      for (const unsigned f : {4u, 8u})
        node.words.push_back(i(Op::flw, f, 8, static_cast<std::int32_t>(128 + 4 * (f == 4 ? a : b))));
      node.words.push_back(i(Op::flw, 12, 8, static_cast<std::int32_t>(128 + 4 * ((a + b) % n))));
      for (const Op op : {Op::fadd_s, Op::fsub_s, Op::fmul_s, Op::fdiv_s, Op::fmin_s, Op::fmax_s})
        node.words.push_back(r(op, 16, 4, 8));
      for (const Op op : {Op::fmadd_s, Op::fmsub_s, Op::fnmadd_s, Op::fnmsub_s})
        node.words.push_back(r(op, 16, 4, 8, 12));
      code.push_back(std::move(node));
    }
  }
  run_worker(d.recipe, std::move(code));
  return d;
}

/// Reads and writes of every CSR that is one, in both roles; the handler skips what traps.
std::vector<Directed> csrs(Subset subset) {
  std::vector<Directed> all;
  for (const bool supervisor : {false, true}) {
    std::vector<Node> code;
    unsigned tries = 0;
    const auto flush = [&] {
      Directed d{fmt::format("CSRs of the {} {}", supervisor ? "supervisor" : "worker", all.size()), empty(true)};
      if (supervisor) {
        d.recipe.contexts[0].code = std::move(code);
      } else {
        run_worker(d.recipe, std::move(code));
      }
      all.push_back(std::move(d));
      code.clear();
      tries = 0;
    };
    for (unsigned number = 0; number < 4096; ++number) {
      if (csr_name(number) == nullptr || number == csr::mtvec || number == csr::mstatus || number == csr::xwra)
        continue;
      if (subset == Subset::rtl && !csr_in_rtl(number)) continue;
      const auto at = static_cast<std::int32_t>(number);
      code.push_back(Node({i(Op::csrrs, 10, 0, at), i(Op::csrrw, 11, 10, at)}));
      tries += csr_access(number, supervisor) == CsrAccess::absent ? 2 : number >> 10 == 3 ? 1 : 0;
      if (tries > 24) flush();  // the handler gives up after 32
    }
    code.push_back(
        Node({i(Op::csrrs, 10, 0, csr::mtvec), i(Op::csrrw, 0, 10, csr::mtvec), i(Op::csrrs, 10, 0, csr::mstatus),
              i(Op::csrrw, 0, 10, csr::mstatus), i(Op::csrrs, 10, 0, csr::xwra), i(Op::csrrw, 0, 10, csr::xwra)}));
    flush();
  }
  return all;
}

/// Each cause in each role, with a handler and without.
std::vector<Directed> traps(Subset subset) {
  struct Cause {
    const char* name;
    std::vector<std::uint32_t> words;
  };
  std::vector<Cause> causes = {
      {"0", {i(Op::jal, 0, 0, 6)}}, {"1", {i(Op::jalr, 0, 0, 16)}}, {"2", {0xffffffff}},
      {"3", {r(Op::ebreak, 0)}},    {"4", {i(Op::lw, 10, 8, 2)}},   {"5", {i(Op::lw, 10, 0, 0)}},
      {"6", {s(Op::sw, 8, 10, 2)}}, {"7", {s(Op::sw, 0, 10, 0)}},   {"11", {r(Op::ecall, 0)}}};
  std::vector<Directed> all;
  for (const bool handler : {true, false}) {
    for (const Cause& cause : causes) {
      for (const bool supervisor : {true, false}) {
        Directed d{fmt::format("trap {} of the {}", cause.name, supervisor ? "supervisor" : "worker"), empty(handler)};
        if (supervisor) {
          d.recipe.contexts[0].code = {Writer::constant(8, data_of(0)), Node(cause.words)};
        } else {
          run_worker(d.recipe, {Node(cause.words)});
        }
        all.push_back(std::move(d));
      }
    }
    Directed misuse{"trap 25", empty(handler)};
    misuse.recipe.contexts[0].code = {Node(sync(6, 0, 3))};
    all.push_back(std::move(misuse));
    if (in_subset(subset, Op::x_rpti)) {
      Directed loop{"trap 26", empty(handler)};
      Node repeat(Node::Kind::repeat, {isa::info(Op::x_rpti).match | 3 << 15}, {Node(i(Op::jal, 0, 0, 4))});
      run_worker(loop.recipe, {std::move(repeat)});
      all.push_back(std::move(loop));
    }
  }
  return all;
}

/// Every set of running workers while the supervisor issues, in every slot that is left.
Directed running_sets() {
  Directed d{"sets of running workers", empty(true)};
  auto& code = d.recipe.contexts[0].code;
  for (unsigned w = 1; w < 7; ++w)
    d.recipe.contexts[w].code = {Node(Node::Kind::loop, {}, {Node(testing::nop())}, 18, 12), Node(r(Op::x_exit, 0, 0))};
  for (unsigned mask = 0; mask < 63; ++mask) {
    for (unsigned w = 1; w < 7; ++w) {
      if ((mask >> (w - 1) & 1) != 0) code.push_back(Node(Node::Kind::run, {r(Op::x_run, w, 5, 0, 0)}, {}, 0, w));
    }
    code.push_back(Node({testing::nop(), testing::nop(), sync(6, 0, 0)}));
  }
  return d;
}

/// Every pointer of every access at the first and the last doubleword, and one beyond each.
std::vector<Directed> ends_of_sram(Subset subset) {
  std::vector<Directed> all;
  if (!in_subset(subset, Op::x_ld2st)) return all;
  const auto set = [](unsigned k, Address at) {
    Node node = Writer::constant(22, at);
    node.words.push_back(r(Op::x_sset, 0, 22, 0) | k << 25);
    return node;
  };
  std::vector<Node> code;
  const Address middle = data_of(1) + 0x400;
  const struct {
    Op op;
    std::vector<unsigned> pointers;
    std::uint32_t word;
  } streams[] = {{Op::x_ld2, {0, 1}, r(Op::x_ld2, 4, 6)},
                 {Op::x_ldst, {0, 2}, r(Op::x_ldst, 4, 0, 8)},
                 {Op::x_ld2st, {0, 1, 2}, r(Op::x_ld2st, 4, 6, 8)}};
  for (const auto& stream : streams) {
    for (const unsigned moved : stream.pointers) {
      for (const Address at : {kSramBase, kEnd - 8, kSramBase - 8, kEnd, middle + 4}) {
        Node node;
        for (const unsigned k : stream.pointers) node.children.push_back(set(k, k == moved ? at : middle + 64 * k));
        node.children.push_back(Node(stream.word));
        code.push_back(std::move(node));
      }
    }
  }
  Directed first{"streams at the ends of the SRAM", empty(true)};
  run_worker(first.recipe, std::move(code));
  all.push_back(std::move(first));
  code.clear();
  for (const Op op : {Op::x_ld64, Op::x_ld128, Op::x_st64, Op::x_ld64_r, Op::x_ld128_r, Op::x_st64_r}) {
    const isa::Info& info = isa::info(op);
    const bool wide = op == Op::x_ld128 || op == Op::x_ld128_r;
    for (const Address at : {kSramBase, kEnd - (wide ? 16 : 8), kSramBase - 16, kEnd, middle + 4}) {
      for (const int step : {8, 0, -8}) {
        if (step != 8 && at != kSramBase) continue;
        Node node = Writer::constant(22, at);
        node.words.push_back(i(Op::addi, 23, 0, step));
        node.words.push_back(info.imm == isa::Imm::none ? r(op, 4, 22, 23)
                             : info.imm == isa::Imm::s  ? s(op, 22, 4, step)
                                                        : i(op, 4, 22, step));
        code.push_back(std::move(node));
      }
    }
    if (info.imm == isa::Imm::none) {
      Node node = Writer::constant(22, middle);
      node.words.push_back(r(op, 4, 22, 22));
      code.push_back(std::move(node));
    }
  }
  Directed second{"post-increment accesses at the ends of the SRAM", empty(true)};
  run_worker(second.recipe, std::move(code));
  all.push_back(std::move(second));
  return all;
}

/// Values spread over the ranges of the transcendental functions: their tables entry by entry.
std::vector<Directed> transcendental_sweep(Subset subset) {
  std::vector<Directed> all;
  if (!in_subset(subset, Op::x_rsqrt_f32) || !in_subset(subset, Op::x_urand64)) return all;
  Directed d{"transcendental functions", empty(true)};
  for (unsigned w = 1; w < 7; ++w) {
    // f = random sign and fraction with an exponent of 2^-8 .. 2^7 (f16: the same by conversion).
    std::vector<std::uint32_t> round = {
        i(Op::csrrs, 10, 0, csr::xrng0), r(Op::x_urand32, 1),           i(Op::srli, 11, 10, 9),
        i(Op::andi, 12, 10, 15),         i(Op::addi, 12, 12, 119),      i(Op::slli, 12, 12, 23),
        r(Op::or_, 11, 11, 12),          i(Op::andi, 12, 10, 64),       i(Op::slli, 12, 12, 25),
        r(Op::fmv_w_x, 4, 11),           r(Op::x_rsqrt_f32, 5, 4),      r(Op::x_log_f32, 6, 4),
        r(Op::x_cvt_f16_f32, 12, 4),     r(Op::x_log_f16v2, 13, 12),    r(Op::or_, 11, 11, 12),
        r(Op::fmv_w_x, 4, 11),           r(Op::x_exp_f32, 7, 4),        r(Op::x_tanh_f32, 8, 4),
        r(Op::x_sigmoid_f32, 9, 4),      r(Op::x_cvt_f16_f32, 12, 4),   r(Op::x_exp_f16v2, 14, 12),
        r(Op::x_tanh_f16v2, 15, 12),     r(Op::x_sigmoid_f16v2, 16, 12)};
    auto& code = d.recipe.contexts[w].code;
    code.push_back(Node({i(Op::addi, 18, 0, 400)}));
    const auto length = static_cast<std::int32_t>(4 * (round.size() + 1));
    round.push_back(i(Op::addi, 18, 18, -1));
    round.push_back(s(Op::bne, 18, 0, -length));
    code.push_back(Node(std::move(round)));
    code.push_back(Node(r(Op::x_exit, 0, 0)));
    d.recipe.contexts[0].code.push_back(Node(Node::Kind::run, {r(Op::x_run, w, 5, 0, 0)}, {}, 0, w));
  }
  d.recipe.contexts[0].code.push_back(Node(sync(6, 0, 0)));
  all.push_back(std::move(d));
  return all;
}

/// Each kind of MAIN beside each kind of AUX, and what writes a register that x.run sets.
std::vector<Directed> pairs(Subset subset) {
  std::array<Op, coverage::kMainKinds.size()> mains{};
  std::array<Op, coverage::kAuxKinds.size()> auxes{};
  for (unsigned n = isa::kOpCount; n-- > 1;) {
    const auto op = static_cast<Op>(n);
    const isa::Info& info = isa::info(op);
    if (!in_subset(subset, op) || info.role == isa::Role::supervisor) continue;
    if (info.klass == isa::Class::main_) mains[coverage::main_kind(op)] = op;
    if (info.klass == isa::Class::aux) auxes[coverage::aux_kind(op)] = op;
  }
  std::vector<Node> code;
  for (const Op main : mains) {
    for (const Op aux : auxes) {
      if (main == Op::illegal || aux == Op::illegal) continue;
      const isa::Info& m = isa::info(main);
      const isa::Info& a = isa::info(aux);
      const auto reg = [](const isa::Reg& operand, unsigned x, unsigned f) {
        return operand.file == File::f ? f : operand.file == File::x ? x : 0u;
      };
      const std::uint32_t second =
          word_of(aux, {reg(a.rd, 0, 20), reg(a.rs1, 0, 24), reg(a.rs2, 0, 28), reg(a.rs3, 0, 16)}, 0);
      std::uint32_t first = word_of(main, {reg(m.rd, 12, 4), reg(m.rs1, 22, 6), reg(m.rs2, 23, 8), 0}, 0);
      Node node({i(Op::addi, 22, 8, 64), i(Op::addi, 23, 0, 8)});
      node.whole = true;
      if (coverage::main_kind(main) == 12) {
        first = isa::info(Op::x_rpti).match | 2 << 15;
        node.children.push_back(Node(Node::Kind::repeat, {first, second}, {Node(testing::nop())}));
      } else {
        if (coverage::main_kind(main) == 10) {
          for (unsigned k = 0; k < 3; ++k) node.words.push_back(r(Op::x_sset, 0, 22, 23) | k << 25);
        }
        node.children.push_back(Node(Node::Kind::pair, {first, second}));
      }
      code.push_back(std::move(node));
    }
  }
  for (const unsigned x : {1u, 2u, 3u, 4u, 11u, 10u})
    code.push_back(Node({i(Op::addi, x, x, 16), i(Op::addi, 12, x, 0)}));
  Directed d{"pairs", empty(true)};
  run_worker(d.recipe, std::move(code));
  return {d};
}

/// Lists that break each rule, one rule a table.
std::vector<Directed> exchange_faults() {
  const auto linear = [](Cycle t, unsigned words, Address address, unsigned peer) {
    ExchangeDescriptor d;
    d.start = t;
    d.words = words;
    d.address = (address - kSramBase) / 4;
    d.peer = peer;
    return std::vector<std::uint64_t>{d.pack()};
  };
  const auto block = [&](Cycle t, unsigned words, Address address, int stride1, int stride2) {
    auto d = linear(t, words, address, 0);
    d[0] |= 1;
    ExchangeBlock b;
    b.count1 = 2;
    b.count2 = 2;
    b.stride1 = stride1;
    b.stride2 = stride2;
    d.push_back(b.pack());
    return d;
  };
  const Address out = data_of(0) + 0x200, in = data_of(0) + 0x800;
  std::vector<TableRecipe> tables;
  for (const bool receive : {false, true}) {
    const Address at = receive ? in : out;
    std::vector<std::vector<std::vector<std::uint64_t>>> lists = {
        {linear(40, 1, at, 0), linear(41, 1, at, 0)},
        {linear(40, 6, at, 0), linear(44, 1, at, 0)},
        {linear(40, 1, at, 0), block(43, 1, at, 1, 2)},
        {linear(4, 1, at, 0)},
        {linear(40, 4, kEnd - 8, 0)},
        {linear(40, 2, 0x000ffff0, 0)},
        {block(40, 2, at + 0x100, -3, -20), block(48, 1, at, 4, 8), linear(52, 2, at, 0), linear(54, 20, at, 0)}};
    auto cut = block(40, 1, at, 1, 2);
    cut.pop_back();
    lists.push_back({cut});
    auto bad = linear(40, 1, at, 0);
    bad[0] |= 3;
    lists.push_back({bad});
    if (receive) lists.push_back({linear(40, 1, at, 77)});
    for (auto& list : lists) {
      TableRecipe table;
      (receive ? table.receives : table.sends) = std::move(list);
      tables.push_back(std::move(table));
    }
  }
  TableRecipe both;
  both.sends = {linear(4, 1, out, 0)};
  both.receives = {linear(5, 1, in, 0)};
  tables.push_back(both);
  std::swap(both.sends[0][0], both.receives[0][0]);
  tables.push_back(both);
  std::vector<Directed> all;
  for (std::size_t n = 0; n < tables.size(); n += kTableCount) {
    Directed d{fmt::format("exchange lists {}", n), empty(true)};
    d.recipe.underrun = n == 0;
    auto& code = d.recipe.contexts[0].code;
    for (std::size_t t = n; t < std::min<std::size_t>(n + kTableCount, tables.size()); ++t) {
      d.recipe.tables.push_back(tables[t]);
      code.push_back(
          Node(Node::Kind::table, {sync(6, 0, 1), r(Op::x_exchange, 0, 5)}, {}, 0, static_cast<unsigned>(t - n)));
    }
    all.push_back(std::move(d));
  }
  // Lists that reach beyond the SRAM.
  Directed beyond{"exchange lists beyond the SRAM", empty(true)};
  beyond.recipe.data[kDataWords - 4] = 9;  // table words to send
  beyond.recipe.data[kDataWords - 3] = 0;
  Node node = Writer::constant(5, kEnd - 16);
  node.words.push_back(sync(6, 0, 1));
  node.words.push_back(r(Op::x_exchange, 0, 5));
  beyond.recipe.contexts[0].code = {node};
  all.push_back(std::move(beyond));
  // An underrun without a handler: the second phase of a program that says so.
  Directed silent{"underrun", empty(false)};
  silent.recipe.underrun = true;
  TableRecipe table;
  table.receives = {linear(40, 4, in, 0)};
  silent.recipe.tables = {table};
  for (unsigned k = 0; k < 2; ++k)
    silent.recipe.contexts[0].code.push_back(Node(Node::Kind::table, {sync(6, 0, 1), r(Op::x_exchange, 0, 5)}));
  all.push_back(std::move(silent));
  return all;
}

}  // namespace

std::vector<Directed> directed_programs(Subset subset) {
  std::vector<Directed> all = operand_classes(subset);
  const auto add = [&all](std::vector<Directed> more) {
    for (Directed& d : more) all.push_back(std::move(d));
  };
  all.push_back(flag_corners(subset));
  all.push_back(running_sets());
  add(csrs(subset));
  add(traps(subset));
  add(ends_of_sram(subset));
  add(transcendental_sweep(subset));
  add(pairs(subset));
  add(exchange_faults());
  for (Directed& d : all) d.recipe.options.subset = subset;
  return all;
}

}  // namespace tessera::random
