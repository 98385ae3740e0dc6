// One truth: C++, SystemVerilog (verilated), C (compiled for RV32 and for the host) and an independent reading of the
// tables give the same constants, the same decoding and the same pairs.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <regex>
#include <vector>

#include "Vtessera_pkg_probe.h"
#include "hw/generated/isa.h"
#include "hw/generated/machine.h"
#include "hw/generated/registers.h"
#include "verilated.h"

extern "C" {
extern const unsigned int tessera_c_values[];
extern const unsigned int tessera_c_value_count;
}

namespace tessera {
namespace {

struct Constant {
  const char* name;
  std::uint32_t value;
  bool in_c;
  bool in_sv;
};

const std::vector<Constant>& constants() {
  static const std::vector<Constant> list = {
#include "constants.inc"
  };
  return list;
}

template <typename T>
std::vector<T> read_binary(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  const std::vector<char> bytes((std::istreambuf_iterator<char>(in)), {});
  std::vector<T> result(bytes.size() / sizeof(T));
  std::memcpy(result.data(), bytes.data(), result.size() * sizeof(T));
  return result;
}

/// What the RTL's package makes of an operation: nothing, as long as only the models have it.
isa::Op in_rtl(isa::Op op) { return isa::info(op).in_rtl ? op : isa::Op::illegal; }

/// Test vector of reference_decode.py.
struct Vector {
  std::uint32_t word;
  std::uint16_t op;
  std::uint8_t klass, slots;
  std::uint32_t f_reads, f_writes;
  std::uint8_t pairs, zero[3];
};
static_assert(sizeof(Vector) == 20);

const std::vector<Vector>& vectors() {
  static const std::vector<Vector> list = read_binary<Vector>(TESSERA_CHECKS "/decode_vectors.bin");
  return list;
}

TEST(Agreement, ConstantsInHostC) {
  unsigned n = 0;
  for (const Constant& c : constants()) {
    if (!c.in_c) continue;
    ASSERT_LT(n, tessera_c_value_count);
    EXPECT_EQ(c.value, tessera_c_values[n++]) << c.name;
  }
  EXPECT_EQ(n, tessera_c_value_count);
  EXPECT_GT(n, 200u);
}

TEST(Agreement, ConstantsInTileC) {
  const auto values = read_binary<std::uint32_t>(TESSERA_CHECKS "/constants_rv32.bin");
  unsigned n = 0;
  for (const Constant& c : constants()) {
    if (!c.in_c) continue;
    ASSERT_LT(n, values.size());
    EXPECT_EQ(c.value, values[n++]) << c.name;
  }
  EXPECT_EQ(n, values.size());
}

TEST(Agreement, ConstantsInSystemVerilog) {
  VerilatedContext context;
  Vtessera_pkg_probe probe(&context);
  unsigned n = 0;
  for (const Constant& c : constants()) {
    if (!c.in_sv) continue;
    probe.index_i = n++;
    probe.eval();
    EXPECT_EQ(c.value, probe.value_o) << c.name;
  }
  EXPECT_GT(n, 300u);
}

TEST(Agreement, DecoderAgainstIndependentReading) {
  std::map<unsigned, unsigned> seen;
  for (std::size_t i = 0; i < vectors().size(); ++i) {
    const Vector& v = vectors()[i];
    const Vector& next = vectors()[(i + 1) % vectors().size()];
    const isa::Op op = isa::decode(v.word);
    ASSERT_EQ(static_cast<unsigned>(op), v.op) << std::hex << v.word;
    ASSERT_EQ(static_cast<unsigned>(isa::info(op).klass), v.klass) << std::hex << v.word;
    ASSERT_EQ(isa::info(op).slots, v.slots) << std::hex << v.word;
    ASSERT_EQ(isa::f_reads(op, v.word), v.f_reads) << std::hex << v.word;
    ASSERT_EQ(isa::f_writes(op, v.word), v.f_writes) << std::hex << v.word;
    ASSERT_EQ(isa::pairs(op, v.word, isa::decode(next.word), next.word), v.pairs != 0)
        << std::hex << v.word << next.word;
    ++seen[v.op];
  }
  unsigned implemented = 0;
  for (unsigned n = 1; n < isa::kOpCount; ++n) {
    implemented += isa::kTable[n].implemented;
    EXPECT_EQ(seen[n] > 0, isa::kTable[n].implemented) << isa::kTable[n].name;
  }
  EXPECT_GE(implemented, 89u);
  EXPECT_GT(vectors().size(), 200000u);
}

TEST(Agreement, DecoderInSystemVerilog) {
  VerilatedContext context;
  Vtessera_pkg_probe probe(&context);
  unsigned paired = 0;
  for (std::size_t i = 0; i < vectors().size(); ++i) {
    const Vector& v = vectors()[i];
    const Vector& next = vectors()[(i + 1) % vectors().size()];
    const isa::Op op = in_rtl(static_cast<isa::Op>(v.op));
    const bool known = op != isa::Op::illegal,
               both = known && in_rtl(static_cast<isa::Op>(next.op)) != isa::Op::illegal;
    probe.word0_i = v.word;
    probe.word1_i = next.word;
    probe.eval();
    ASSERT_EQ(probe.op_o, static_cast<unsigned>(op)) << std::hex << v.word;
    ASSERT_TRUE(probe.agree_o) << std::hex << v.word;
    ASSERT_EQ(probe.f_reads_o, known ? v.f_reads : 0) << std::hex << v.word;
    ASSERT_EQ(probe.f_writes_o, known ? v.f_writes : 0) << std::hex << v.word;
    ASSERT_EQ(probe.pairs_o, both ? v.pairs : 0) << std::hex << v.word;
    ASSERT_EQ(probe.immediate_o, isa::immediate(isa::info(op).imm, v.word)) << std::hex << v.word;
    paired += probe.pairs_o;
  }
  EXPECT_GT(paired, 1000u);
}

TEST(Agreement, CsrsInSystemVerilog) {
  VerilatedContext context;
  Vtessera_pkg_probe probe(&context);
  unsigned present = 0;
  for (unsigned number = 0; number < 4096; ++number) {
    for (const bool supervisor : {false, true}) {
      probe.word0_i = number;
      probe.supervisor_i = supervisor;
      probe.eval();
      const CsrAccess access = csr_in_rtl(number) ? csr_access(number, supervisor) : CsrAccess::absent;
      ASSERT_EQ(probe.csr_access_o, static_cast<unsigned>(access)) << std::hex << number;
      ASSERT_EQ(probe.csr_reset_o, csr_reset(number, supervisor)) << std::hex << number;
      present += csr_access(number, supervisor) != CsrAccess::absent;
    }
  }
  EXPECT_GT(present, 300u);
}

TEST(Agreement, FpuNumbersItsOperationsAsTheTable) {
  std::ifstream in(TESSERA_SOURCE "/rtl/fpu_pkg.sv");
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  const std::map<std::string, isa::FpOp> names = {
      {"FpAdd", isa::FpOp::add},        {"FpSub", isa::FpOp::sub},         {"FpMul", isa::FpOp::mul},
      {"FpMadd", isa::FpOp::madd},      {"FpMsub", isa::FpOp::msub},       {"FpNmsub", isa::FpOp::nmsub},
      {"FpNmadd", isa::FpOp::nmadd},    {"FpSgnj", isa::FpOp::sgnj},       {"FpSgnjn", isa::FpOp::sgnjn},
      {"FpSgnjx", isa::FpOp::sgnjx},    {"FpMin", isa::FpOp::min},         {"FpMax", isa::FpOp::max},
      {"FpEq", isa::FpOp::eq},          {"FpLt", isa::FpOp::lt},           {"FpLe", isa::FpOp::le},
      {"FpClass", isa::FpOp::classify}, {"FpCvtWS", isa::FpOp::cvt_w_s},   {"FpCvtWuS", isa::FpOp::cvt_wu_s},
      {"FpCvtSW", isa::FpOp::cvt_s_w},  {"FpCvtSWu", isa::FpOp::cvt_s_wu}, {"FpMove", isa::FpOp::move}};
  unsigned compared = 0;
  for (const auto& [name, op] : names) {
    std::smatch match;
    ASSERT_TRUE(std::regex_search(text, match, std::regex("\\b" + name + " += 5'd([0-9]+)"))) << name;
    EXPECT_EQ(std::stoul(match[1]), static_cast<unsigned>(op)) << name;
    ++compared;
  }
  EXPECT_EQ(compared, 21u);
}

TEST(Agreement, PackedWordsRoundTrip) {
  std::mt19937_64 random(3);
  for (unsigned n = 0; n < 10000; ++n) {
    const std::uint64_t bits = random();
    EXPECT_EQ(ExchangeDescriptor::unpack(bits).pack(), bits);
    EXPECT_EQ(PacketRemote::unpack(bits).pack(), bits);
    EXPECT_EQ(ExchangeBlock::unpack(bits).pack(), bits & 0x3FFFFFFFFFFFFFFFu);
    EXPECT_EQ(ExchangeSweep::unpack(bits).pack(), bits & 0x007FFFFFFFFFFFFFu);
    EXPECT_TRUE(ExchangeBlock::unpack(bits).fits());
  }
  ExchangeBlock block;
  block.stride1 = -(1 << 18);
  EXPECT_TRUE(block.fits());
  block.stride1 -= 1;
  EXPECT_FALSE(block.fits());
}

}  // namespace
}  // namespace tessera
