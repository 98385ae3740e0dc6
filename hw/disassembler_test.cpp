// The disassembler against GNU objdump on random legal words of every standard instruction, and Xtile by example.
#include "hw/disassembler.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <random>
#include <regex>
#include <sstream>

#include "hw/generated/isa.h"
#include "hw/generated/machine.h"

namespace tessera {
namespace {

constexpr unsigned kWordsPerInstruction = 40;

/// Random legal words of every implemented instruction that GNU binutils knows.
std::vector<std::uint32_t> corpus() {
  std::mt19937 random(7);
  std::vector<std::uint32_t> words;
  for (unsigned n = 1; n < isa::kOpCount; ++n) {
    const isa::Info& info = isa::kTable[n];
    if (std::string(info.name).rfind("x.", 0) == 0) continue;
    for (unsigned made = 0; made < kWordsPerInstruction;) {
      std::uint32_t word = (static_cast<std::uint32_t>(random()) & ~info.mask) | info.match;
      // The machine ignores the reserved fields of fences, as RISC-V asks; GNU prints data if they are not 0.
      if (static_cast<isa::Op>(n) == isa::Op::fence) word &= 0x0FF0707F;
      if (static_cast<isa::Op>(n) == isa::Op::fence_i) word &= 0x0000707F;
      if (isa::decode(word) != static_cast<isa::Op>(n)) continue;
      words.push_back(word);
      ++made;
    }
  }
  return words;
}

/// objdump's text of each word, address = 4 x index, blanks and comments normalised.
std::vector<std::string> objdump(const std::vector<std::uint32_t>& words) {
  const std::string file = ::testing::TempDir() + "tessera_disassembler_" + std::to_string(getpid()) + ".bin";
  std::ofstream(file, std::ios::binary).write(reinterpret_cast<const char*>(words.data()), 4 * words.size());
  const std::string command = "riscv64-unknown-elf-objdump -D -z -b binary -m riscv:rv32 -M no-aliases " + file;
  std::FILE* pipe = popen(command.c_str(), "r");
  EXPECT_NE(pipe, nullptr);
  std::vector<std::string> lines;
  char buffer[512];
  const std::regex line_form("^ *[0-9a-f]+:\t[0-9a-f]{8} +\t([^\n#<]*).*\n$");
  while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) {
    std::smatch match;
    std::string line = buffer;
    if (!std::regex_match(line, match, line_form)) continue;
    std::string text = std::regex_replace(match[1].str(), std::regex("\t"), " ");
    while (!text.empty() && text.back() == ' ') text.pop_back();
    lines.push_back(text);
  }
  EXPECT_EQ(pclose(pipe), 0);
  std::remove(file.c_str());
  return lines;
}

TEST(Disassembler, AgreesWithObjdump) {
  const std::vector<std::uint32_t> words = corpus();
  const std::vector<std::string> expected = objdump(words);
  ASSERT_EQ(expected.size(), words.size());
  unsigned compared = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string ours = disassemble(words[i], static_cast<Address>(4 * i));
    const isa::Op op = isa::decode(words[i]);
    const bool csr = isa::info(op).imm == isa::Imm::csr;
    // Only our table knows the custom CSRs, and only GNU's knows CSRs that this machine has not: compare numbers.
    if (csr) {
      const std::string name = ours.substr(ours.find(',') + 1, ours.rfind(',') - ours.find(',') - 1);
      const std::string theirs =
          expected[i].substr(expected[i].find(',') + 1, expected[i].rfind(',') - expected[i].find(',') - 1);
      if (name != theirs) {
        EXPECT_TRUE(theirs.rfind("0x", 0) == 0 || csr_name(isa::csr_number(words[i])) == nullptr) << ours << theirs;
        ours.replace(ours.find(',') + 1, name.size(), theirs);
      }
    }
    EXPECT_EQ(ours, expected[i]) << std::hex << words[i];
    ++compared;
  }
  EXPECT_GE(compared, 80u * kWordsPerInstruction);
}

TEST(Disassembler, Xtile) {
  const std::map<std::uint32_t, std::string> examples = {
      {0x0415050B, "x.sync a0,a0,internal"},
      {0x0605000B, "x.exchange a0"},
      {0x0805000B, "x.delay a0"},
      {0x0C05000B, "x.packet a0"},
      {0x00B4E38B, "x.run all,s1,a1,zero"},
      {0x00B4E18B, "x.run 3,s1,a1,zero"},
      {0x0005100B, "x.exit a0"},
      {0x0405200B, "x.rpt a0,64"},
      {0x0000007F, ".word 0x0000007f"},
      {0x00000000, ".word 0x00000000"},
  };
  for (const auto& [word, text] : examples) EXPECT_EQ(disassemble(word, 0), text);
}

TEST(Disassembler, EveryInstructionPrintsItsName) {
  std::mt19937 random(11);
  unsigned compared = 0;
  for (unsigned n = 1; n < isa::kOpCount; ++n) {
    const isa::Info& info = isa::kTable[n];
    for (unsigned tries = 0; tries < 1000000; ++tries) {
      const std::uint32_t word = (static_cast<std::uint32_t>(random()) & ~info.mask) | info.match;
      if (isa::decode_word(word, true) != static_cast<isa::Op>(n)) continue;
      const std::string text = disassemble(word, 0x40000);
      EXPECT_EQ(text.rfind(info.name, 0), 0u) << text;
      EXPECT_EQ(text.find('?'), std::string::npos) << text;
      ++compared;
      break;
    }
  }
  EXPECT_EQ(compared, isa::kOpCount - 1);
}

}  // namespace
}  // namespace tessera
