// The ELF reader: what it reads, and a named error for everything that can be wrong with a file.
#include "host/elf/program.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <fstream>

#include "host/elf/elf_builder.h"
#include "hw/error.h"
#include "hw/generated/machine.h"

namespace tessera::elf {
namespace {

using testing::Builder;

constexpr std::uint32_t kLimit = 0x40000;

std::string path_of(const std::string& name) { return ::testing::TempDir() + "tessera_elf_" + name + ".elf"; }

Builder simple() {
  Builder b;
  b.header.e_entry = kSramBase + 4;
  b.segments = {{kSramBase, {0x13, 0x13, 0x13, 0x73}}, {kSramBase + 0x100, {1, 2}}};
  b.symbols = {{"_start", kSramBase + 4}, {"tohost", kSramBase + 0x100}};
  b.extra_memory = 16;
  return b;
}

/// The error that reading the file gives.
Error refused(const Builder& b, const std::string& name, std::size_t limit = ~std::size_t{0}) {
  const std::string path = path_of(name);
  b.write(path, limit);
  try {
    (void)Program::read(path, kSramBase, kLimit);
  } catch (const Error& error) {
    std::remove(path.c_str());
    return error;
  }
  std::remove(path.c_str());
  ADD_FAILURE() << name << " was read";
  return Error(Category::internal, "none");
}

void expect_refused(const Builder& b, const std::string& name, Category category, const std::string& words,
                    std::size_t limit = ~std::size_t{0}) {
  const Error error = refused(b, name, limit);
  EXPECT_EQ(error.category(), category) << name << ": " << error.what();
  EXPECT_NE(error.message().find(words), std::string::npos) << name << ": " << error.what();
  EXPECT_FALSE(error.where().empty());
  EXPECT_FALSE(error.advice().empty());
}

TEST(Elf, ReadsSegmentsSymbolsAndEntry) {
  const std::string path = path_of("good");
  simple().write(path);
  const Program program = Program::read(path, kSramBase, kLimit);
  EXPECT_EQ(program.entry(), kSramBase + 4);
  ASSERT_EQ(program.segments().size(), 2u);
  EXPECT_EQ(program.segments()[0].bytes.size(), 16u);
  EXPECT_EQ(program.segments()[0].memory_bytes, 32u);
  EXPECT_EQ(program.segments()[1].address, kSramBase + 0x100);
  EXPECT_EQ(program.end(), kSramBase + 0x108u);
  EXPECT_EQ(program.symbol("tohost"), kSramBase + 0x100);
  EXPECT_FALSE(program.symbol("fromhost").has_value());
  EXPECT_EQ(program.place(kSramBase + 12).text(kSramBase + 12), "_start+0x8");
  EXPECT_EQ(program.place(kSramBase + 4).text(kSramBase + 4), "_start");
  EXPECT_EQ(program.place(0x1000).text(0x1000), "0x00001000");
  std::remove(path.c_str());
}

TEST(Elf, WrongClassMachineKindAndByteOrder) {
  Builder b = simple();
  b.header.e_machine = EM_X86_64;
  expect_refused(b, "machine", Category::usage, "not for RISC-V");
  b = simple();
  b.header.e_type = ET_REL;
  expect_refused(b, "object", Category::usage, "object file");
  b = simple();
  b.header.e_type = ET_DYN;
  expect_refused(b, "pie", Category::usage, "fixed addresses");
  b = simple();
  b.header.e_ident[EI_CLASS] = ELFCLASS64;
  const Error wide = refused(b, "class");
  EXPECT_EQ(wide.category(), Category::usage);
}

TEST(Elf, AbisThatATileLacks) {
  Builder b = simple();
  b.header.e_flags = 4;
  expect_refused(b, "double", Category::unsupported, "double");
  b.header.e_flags = 3;
  expect_refused(b, "compressed", Category::unsupported, "compressed");
  b.header.e_flags = 8;
  expect_refused(b, "rve", Category::unsupported, "RV32E");
  b.header.e_flags = 0;
  b.write(path_of("soft"));
  EXPECT_NO_THROW((void)Program::read(path_of("soft"), kSramBase, kLimit)) << "soft float is fine";
  std::remove(path_of("soft").c_str());
}

TEST(Elf, SegmentsThatOverlapOrLieOutside) {
  Builder b = simple();
  b.extra_memory = 0x100;
  expect_refused(b, "overlap", Category::usage, "segments overlap");
  b = simple();
  b.segments[1].first = 0x8000'0000;
  expect_refused(b, "outside", Category::does_not_fit, "outside the tile's memory");
  b = simple();
  b.extra_memory = kLimit;
  expect_refused(b, "large", Category::does_not_fit, "outside the tile's memory");
  b = simple();
  b.segments[0].first = kSramBase - 4;
  expect_refused(b, "below", Category::does_not_fit, "outside the tile's memory");
}

TEST(Elf, HeadersBelowTheMemoryAreLeftOut) {
  // As linkers write it: the first segment begins with the file, at an address below the text.
  const std::string path = path_of("headers");
  std::string bytes = simple().bytes();
  Elf32_Phdr first;
  std::memcpy(&first, &bytes[sizeof(Elf32_Ehdr)], sizeof first);
  const Elf32_Word headers = first.p_offset;
  first.p_offset = 0;
  first.p_vaddr = first.p_paddr = kSramBase - headers;
  first.p_filesz += headers, first.p_memsz += headers;
  std::memcpy(&bytes[sizeof(Elf32_Ehdr)], &first, sizeof first);
  std::ofstream(path, std::ios::binary) << bytes;
  const Program program = Program::read(path, kSramBase, kLimit);
  EXPECT_EQ(program.segments()[0].address, kSramBase);
  EXPECT_EQ(program.segments()[0].bytes.size(), 16u);
  EXPECT_EQ(program.segments()[0].bytes[0], 0x13);
  EXPECT_EQ(program.segments()[0].memory_bytes, 32u);
  // One word of the program below the memory is not left out.
  first.p_vaddr = first.p_paddr = kSramBase - headers - 4;
  std::memcpy(&bytes[sizeof(Elf32_Ehdr)], &first, sizeof first);
  std::ofstream(path, std::ios::binary) << bytes;
  EXPECT_THROW((void)Program::read(path, kSramBase, kLimit), Error);
  std::remove(path.c_str());
}

TEST(Elf, EntryOutsideAndNothingToLoad) {
  Builder b = simple();
  b.header.e_entry = 0;
  expect_refused(b, "entry", Category::usage, "entry point");
  b.segments.clear();
  expect_refused(b, "empty", Category::usage, "nothing to load");
}

TEST(Elf, FilesCutShortAreNamedAndNeverCrash) {
  const Builder b = simple();
  const std::size_t whole = b.bytes().size();
  unsigned refusals = 0;
  for (std::size_t limit = 0; limit < whole; limit += 3) {
    const std::string path = path_of("cut");
    b.write(path, limit);
    try {
      (void)Program::read(path, kSramBase, kLimit);  // what misses only symbols may still be read
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), Category::usage) << limit;
      ++refusals;
    }
    std::remove(path.c_str());
  }
  EXPECT_GT(refusals, 40u);
  expect_refused(b, "cut_segment", Category::usage, "cut short", sizeof(Elf32_Ehdr) + 2 * sizeof(Elf32_Phdr) + 18);
}

TEST(Elf, NoFileNoElf) {
  EXPECT_THROW((void)Program::read("/nonexistent/program", kSramBase, kLimit), Error);
  EXPECT_THROW((void)Program::read("/tmp", kSramBase, kLimit), Error);
  std::ofstream(path_of("text")) << "just text, long enough to be read as a header of something else entirely";
  EXPECT_THROW((void)Program::read(path_of("text"), kSramBase, kLimit), Error);
  std::remove(path_of("text").c_str());
}

}  // namespace
}  // namespace tessera::elf
