// tessera/xtile.h: what the assembler makes of every macro, intrinsic and block text disassembles to the instruction
// and operands that the table's syntax says. Operands that the compiler chose are not compared (conformance programs
// run them).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include "hw/disassembler.h"
#include "hw/generated/isa.h"

namespace tessera {
namespace {

#include "xtile_expected.inc"

struct Line {
  Address pc = 0;
  std::uint32_t word = 0;
  std::string text;
};

/// The Xtile instructions of a flat image, in order.
std::vector<Line> xtile_in(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::vector<char> bytes((std::istreambuf_iterator<char>(in)), {});
  while (bytes.size() > 4 && std::all_of(bytes.end() - 4, bytes.end(), [](char c) { return c == 0; }))
    bytes.resize(bytes.size() - 4);  // the section's end
  std::vector<Line> lines;
  for (std::size_t at = 0; at + 4 <= bytes.size(); at += 4) {
    std::uint32_t word = 0;
    std::memcpy(&word, &bytes[at], 4);
    std::string text = disassemble(word, static_cast<Address>(at));
    EXPECT_NE(text.rfind(".word", 0), 0u) << "no instruction at " << at;  // padding is a nop, too
    if (text.rfind("x.", 0) == 0) lines.push_back({static_cast<Address>(at), word, std::move(text)});
  }
  return lines;
}

/// `expected` with `*` for any register name.
bool fits(const std::string& text, const std::string& expected) {
  std::string pattern;
  for (const char c : expected) {
    if (c == '*')
      pattern += "[a-z0-9]+";
    else if (std::string("+.()").find(c) != std::string::npos)
      pattern += std::string("\\") + c;
    else
      pattern += c;
  }
  return std::regex_match(text, std::regex(pattern));
}

template <std::size_t N>
void compare(const std::vector<Line>& lines, const char* const (&expected)[N]) {
  ASSERT_EQ(lines.size(), N);
  for (std::size_t k = 0; k < N; ++k)
    EXPECT_TRUE(fits(lines[k].text, expected[k])) << lines[k].text << " for " << expected[k];
}

std::size_t xtile_instructions() {
  std::size_t count = 0;
  for (std::size_t op = 1; op < isa::kOpCount; ++op)
    count += std::string(isa::info(static_cast<isa::Op>(op)).name).rfind("x.", 0) == 0;
  return count;
}

TEST(XtileHeader, AssemblyMacrosGiveTheirInstructions) {
  compare(xtile_in(TESSERA_CHECKS "/xtile_macros.bin"), kMacroTexts);
  EXPECT_EQ(std::size(kMacroTexts), 3 * xtile_instructions());
}

TEST(XtileHeader, IntrinsicsAndBlocksGiveTheirInstructions) {
  compare(xtile_in(TESSERA_CHECKS "/xtile_intrinsics.bin"), kIntrinsicTexts);
}

TEST(XtileHeader, LoopsStandWhereTheRuleOfPairsPutsThem) {
  // The blocks of the file end with two loops: x.rpt is MAIN of a pair, so the body begins at an aligned address.
  const std::vector<Line> lines = xtile_in(TESSERA_CHECKS "/xtile_intrinsics.bin");
  unsigned loops = 0;
  for (std::size_t k = lines.size() - 6; k < lines.size(); ++k) {
    if (lines[k].text.rfind("x.rpt", 0) != 0) continue;
    ++loops;
    EXPECT_EQ(lines[k].pc % 8, 0u);
    EXPECT_EQ(lines[k + 1].pc, lines[k].pc + (loops == 1 ? 8u : 12u));  // the second body starts with a nop
  }
  EXPECT_EQ(loops, 2u);
}

}  // namespace
}  // namespace tessera
