// tlm/float against qemu-riscv32, an independent implementation of RISC-V F: all operations, all five rounding modes
// (RMM included, which no x86 can check), results and flags.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tlm/float/cases.h"

namespace tessera::fp {
namespace {

using cases::Case;
using cases::Op;

struct Answer {
  std::uint32_t bits, flags;
};

/// Runs the table program on qemu; files in a directory of this test's own.
std::vector<Answer> on_qemu(const std::vector<Case>& table) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) /
      (std::string("tessera_float_qemu_") + testing::UnitTest::GetInstance()->current_test_info()->name());
  std::filesystem::create_directories(folder);
  const std::string in = folder / "in", out = folder / "out";
  {
    std::vector<std::uint32_t> words;
    for (const Case& k : table) {
      words.insert(words.end(), {static_cast<std::uint32_t>(k.op), static_cast<std::uint32_t>(k.rm), k.a, k.b, k.c});
    }
    std::ofstream(in, std::ios::binary)
        .write(reinterpret_cast<const char*>(words.data()), static_cast<std::streamsize>(words.size() * 4));
  }
  const std::string command = std::string(QEMU_RISCV32) + " " + FLOAT_TABLE_ELF + " < " + in + " > " + out;
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  std::vector<Answer> answers(table.size());
  std::ifstream file(out, std::ios::binary);
  file.read(reinterpret_cast<char*>(answers.data()), static_cast<std::streamsize>(answers.size() * sizeof(Answer)));
  EXPECT_EQ(static_cast<std::size_t>(file.gcount()), answers.size() * sizeof(Answer));
  return answers;
}

void compare(const char* what, const std::vector<Case>& table, std::size_t at_least) {
  const std::vector<Answer> answers = on_qemu(table);
  std::size_t wrong = 0;
  for (std::size_t n = 0; n < table.size(); ++n) {
    const Case& k = table[n];
    const Result r = cases::reference(k);
    if (r.bits == answers[n].bits && r.flags == answers[n].flags) continue;
    if (++wrong <= 10) {
      ADD_FAILURE() << cases::name(k.op) << " rm " << int(k.rm) << std::hex << " " << k.a << " " << k.b << " " << k.c
                    << ": qemu " << answers[n].bits << " flags " << answers[n].flags << ", ours " << r.bits << " flags "
                    << int{r.flags};
    }
  }
  std::printf("%s: %zu comparisons with qemu-riscv32, %zu different\n", what, table.size(), wrong);
  EXPECT_GE(table.size(), at_least);
  EXPECT_EQ(wrong, 0u);
}

TEST(FloatOnQemu, CornersInEveryMode) {
  const auto v = cases::corners();
  std::vector<Case> table;
  for (unsigned n = 0; n < static_cast<unsigned>(Op::count); ++n) {
    const auto op = static_cast<Op>(n);
    for (unsigned m = 0; m < 5; ++m) {
      for (const std::uint32_t a : v) {
        if (cases::operands(op) == 1) {
          table.push_back({op, static_cast<Round>(m), a, 0, 0});
          continue;
        }
        for (const std::uint32_t b : v) {
          // Fused: a third operand that walks the corners as a and b do.
          table.push_back({op, static_cast<Round>(m), a, b, v[table.size() % v.size()]});
        }
      }
    }
  }
  compare("corners", table, 250'000);
}

TEST(FloatOnQemu, Random) {
  cases::Random random(21);
  std::vector<Case> table;
  for (unsigned n = 0; n < static_cast<unsigned>(Op::count); ++n) {
    for (int i = 0; i < 40'000; ++i) table.push_back(random.any_case(static_cast<Op>(n)));
  }
  compare("random", table, 900'000);
}

}  // namespace
}  // namespace tessera::fp
