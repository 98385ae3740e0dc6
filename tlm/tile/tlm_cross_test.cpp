// Fast mode against exact interleave: thousands of random race-free programs of a supervisor and six workers; stops,
// cycles, all state and all memory must be the same. Programs compute, branch, loop, call, load and store in regions of
// their own, run F in pairs and alone in every rounding mode, write their own code, trap, and read counters and status.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "tlm/tile/assembler.h"
#include "tlm/tile/tlm_tile.h"

namespace tessera {
namespace {

using namespace tessera::testing;  // NOLINT: the assembler

constexpr std::uint32_t kBytes = 65536;
constexpr Address kData = kSramBase + 0x8000;  // 4 KiB for each context

struct NullObserver : RetireObserver {
  std::uint64_t records = 0, traps = 0, pairs = 0;
  void retired(const RetireRecord& r) override {
    ++records;
    traps += r.trap;
    pairs += r.paired;
  }
  void exchanged(const ExchangeWord&) override {}
};

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
  void item(unsigned depth) {
    const unsigned kind = pick(200);
    if (kind < 70) return alu();
    if (kind < 110) return memory();
    if (kind < 160) return worker_ ? floating() : alu();
    if (kind < 168) return counters();
    if (kind < 172) return write_code();
    if (kind < 173 && depth == 2 && pick(8) == 0) return code.push_back(static_cast<std::uint32_t>(random_()));
    control(depth);
  }

  std::mt19937& random_;
  bool worker_;
  Address at_ = 0;
};

std::vector<std::uint32_t> worker_program(std::mt19937& random, unsigned w, Address at) {
  Program p(random, true);
  load_constant(p.code, 8, kData + 0x1000 * w + 0x800);
  p.body(5 + p.pick(40), at);
  p.code.push_back(p.pick(3) == 0 ? r(Op::x_exit, 0, 10) : r(Op::x_exit, 0, 0));
  return p.code;
}

std::vector<std::uint32_t> supervisor_program(std::mt19937& random, const std::array<Address, 7>& entry) {
  Program p(random, false);
  load_constant(p.code, 8, kData + 0x800);
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
void fill(TlmTile& tile, unsigned seed) {
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
  ASSERT_LE(at, kData);
  const auto code = supervisor_program(random, entry);
  ASSERT_LE(code.size() * 4, 0x2000u);
  tile.write_memory(kSramBase, reinterpret_cast<const std::uint8_t*>(code.data()), 4 * code.size());
  std::vector<std::uint32_t> data(0x7000 / 4);
  for (auto& word : data) {
    word = static_cast<std::uint32_t>(random());
    if (random() % 3 == 0) word = (word & 0x807fffffu) | (120u + word % 16) << 23;  // numbers near one
  }
  tile.write_memory(kData, reinterpret_cast<const std::uint8_t*>(data.data()), 4 * data.size());
}

/// Runs to the end, releasing wide syncs; the stops as they came. `limits`: also stops at random limits between.
std::vector<TileStop> run(TlmTile& tile, std::mt19937* limits) {
  std::vector<TileStop> stops;
  tile.start(kSramBase, 5);
  Cycle limit = limits != nullptr ? (*limits)() % 3000 : 200000;
  for (;;) {
    const TileStop stop = tile.run(limit, nullptr, nullptr);
    if (stop.kind == TileStop::Kind::limit && limit < 200000) {
      limit = std::min<Cycle>(200000, limit + (*limits)() % 3000);
      continue;
    }
    stops.push_back(stop);
    if (stop.kind != TileStop::Kind::sync) return stops;
    tile.release(stop.cycle + 64, (stop.value & 1) != 0);
  }
}

void expect_same(const TlmTile& a, const TlmTile& b, unsigned seed) {
  for (ContextId c = 0; c < 7; ++c) {
    const ContextState x = a.context(c), y = b.context(c);
    ASSERT_EQ(x.run, y.run) << "seed " << seed << " context " << int{c};
    ASSERT_EQ(x.pc, y.pc) << "seed " << seed << " context " << int{c};
    ASSERT_EQ(x.x, y.x) << "seed " << seed << " context " << int{c};
    ASSERT_EQ(x.f, y.f) << "seed " << seed << " context " << int{c};
    ASSERT_EQ(x.fcsr, y.fcsr) << "seed " << seed << " context " << int{c};
    ASSERT_EQ(x.mcause, y.mcause) << "seed " << seed << " context " << int{c};
    ASSERT_EQ(x.mepc, y.mepc) << "seed " << seed << " context " << int{c};
  }
  std::vector<std::uint8_t> m(kBytes), n(kBytes);
  a.read_memory(kSramBase, m.data(), kBytes);
  b.read_memory(kSramBase, n.data(), kBytes);
  ASSERT_EQ(std::memcmp(m.data(), n.data(), kBytes), 0) << "seed " << seed;
  ASSERT_EQ(a.retired(), b.retired()) << "seed " << seed;
  ASSERT_EQ(a.exception().has_value(), b.exception().has_value()) << "seed " << seed;
  if (a.exception()) {
    ASSERT_EQ(a.exception()->cycle, b.exception()->cycle) << "seed " << seed;
    ASSERT_EQ(a.exception()->context, b.exception()->context) << "seed " << seed;
  }
}

void expect_same(const std::vector<TileStop>& a, const std::vector<TileStop>& b, unsigned seed) {
  ASSERT_EQ(a.size(), b.size()) << "seed " << seed;
  for (std::size_t k = 0; k < a.size(); ++k) {
    ASSERT_EQ(a[k].kind, b[k].kind) << "seed " << seed << " stop " << k;
    ASSERT_EQ(a[k].cycle, b[k].cycle) << "seed " << seed << " stop " << k;
    ASSERT_EQ(a[k].value, b[k].value) << "seed " << seed << " stop " << k;
  }
}

/// Seeds first..first+count: fast, fast with random limits, exact. `all` adds up what the exact runs retired.
void compare(unsigned first, unsigned count, NullObserver& all) {
  TileConfig config;
  config.sram_bytes = kBytes;
  auto cache = std::make_shared<CodeCache>();
  for (unsigned seed = first; seed < first + count; ++seed) {
    TlmTile fast(config, cache), chopped(config, cache), exact(config, cache);
    for (TlmTile* tile : {&fast, &chopped, &exact}) ASSERT_NO_FATAL_FAILURE(fill(*tile, seed));
    exact.observe(&all);
    std::mt19937 limits(seed);
    const auto reference = run(exact, nullptr);
    ASSERT_NO_FATAL_FAILURE(expect_same(run(fast, nullptr), reference, seed));
    ASSERT_NO_FATAL_FAILURE(expect_same(run(chopped, &limits), reference, seed));
    ASSERT_NO_FATAL_FAILURE(expect_same(fast, exact, seed));
    ASSERT_NO_FATAL_FAILURE(expect_same(chopped, exact, seed));
  }
}

TEST(TlmCross, FastEqualsExactOnRandomPrograms) {
  NullObserver all;
  ASSERT_NO_FATAL_FAILURE(compare(0, 3000, all));
  // The programs must do something: many instructions, many pairs, some traps.
  EXPECT_GT(all.records, 1'000'000u);
  EXPECT_GT(all.pairs, 10'000u);
  EXPECT_GT(all.traps, 3000u);
  RecordProperty("instructions", std::to_string(all.records));
}

}  // namespace
}  // namespace tessera
