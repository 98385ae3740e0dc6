// Random RV32IMF programs on qemu-riscv32 and on a worker of the TLM tile, fast and exact: the same registers and
// memory. The program stands at the same addresses in both; it leaves its registers in memory, and memory is compared.
#include <elf.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "hw/generated/machine.h"
#include "tlm/tile/assembler.h"
#include "tlm/tile/tlm_tile.h"
#include "verif/random/generator.h"
#include "verif/random/played_tile.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using tessera::testing::i;
using tessera::testing::load_constant;
using tessera::testing::Op;
using tessera::testing::r;

/// The program with an end for Linux: write(1, data, bytes), exit(0). A worker traps at the first ecall.
random::Program with_end(random::Program program) {
  auto& code = program.blocks.front().words;
  load_constant(code, 10, 1);
  load_constant(code, 11, program.data);
  load_constant(code, 12, program.data_bytes);
  load_constant(code, 17, 64);
  code.push_back(r(Op::ecall, 0));
  load_constant(code, 10, 0);
  load_constant(code, 17, 93);
  code.push_back(r(Op::ecall, 0));
  return program;
}

/// A static ELF with one segment, readable, writable and executable, of the size of the tile's memory.
void write_elf(const fs::path& path, const random::Program& program) {
  std::vector<std::uint8_t> image(random::Program::kSramBytes);
  for (const auto& block : program.blocks) {
    std::memcpy(image.data() + (block.at - kSramBase), block.words.data(), 4 * block.words.size());
  }
  constexpr std::uint32_t kOffset = 0x1000;
  Elf32_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS32;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_EXEC;
  header.e_machine = EM_RISCV;
  header.e_version = EV_CURRENT;
  header.e_entry = program.entry;
  header.e_phoff = sizeof header;
  header.e_flags = 2;  // single-float ABI
  header.e_ehsize = sizeof header;
  header.e_phentsize = sizeof(Elf32_Phdr);
  header.e_phnum = 1;
  Elf32_Phdr segment{};
  segment.p_type = PT_LOAD;
  segment.p_offset = kOffset;
  segment.p_vaddr = segment.p_paddr = kSramBase;
  segment.p_filesz = segment.p_memsz = static_cast<Elf32_Word>(image.size());
  segment.p_flags = PF_R | PF_W | PF_X;
  segment.p_align = 0x1000;
  std::vector<std::uint8_t> file(kOffset);
  std::memcpy(file.data(), &header, sizeof header);
  std::memcpy(file.data() + sizeof header, &segment, sizeof segment);
  file.insert(file.end(), image.begin(), image.end());
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
  fs::permissions(path, fs::perms::owner_all);
}

std::vector<std::uint8_t> on_qemu(const random::Program& program) {
  const fs::path folder = fs::path(::testing::TempDir()) / "tessera_random_qemu";
  fs::create_directories(folder);
  const fs::path elf = folder / "program.elf", out = folder / "out";
  write_elf(elf, program);
  const std::string command = std::string(QEMU_RISCV32) + " " + elf.string() + " > " + out.string();
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  std::vector<std::uint8_t> data(program.data_bytes);
  std::ifstream file(out, std::ios::binary);
  file.read(reinterpret_cast<char*>(data.data()), static_cast<std::streamsize>(data.size()));
  EXPECT_EQ(static_cast<std::size_t>(file.gcount()), data.size());
  return data;
}

std::vector<std::uint8_t> on_tile(const random::Program& program, bool exact, std::uint64_t& instructions) {
  const TileConfig config = random::config_of(0);
  TlmTile tile(config);
  tile.force_exact(exact);
  random::load(tile, program);
  tile.start_context(1, program.entry, 0);
  EXPECT_EQ(tile.run(10'000'000, nullptr, nullptr).kind, TileStop::Kind::exception);
  EXPECT_EQ(tile.context(1).mcause, 11u);
  instructions += tile.retired();
  std::vector<std::uint8_t> data(program.data_bytes);
  tile.read_memory(program.data, data.data(), data.size());
  return data;
}

TEST(RandomOnQemu, ProgramsLeaveTheSameState) {
  const char* text = std::getenv("TESSERA_SEED");
  const std::uint64_t seed = text != nullptr ? std::strtoull(text, nullptr, 0) : 1;
  std::uint64_t instructions = 0, again = 0, bytes = 0;
  constexpr unsigned kPrograms = 60;
  for (unsigned n = 0; n < kPrograms; ++n) {
    random::ProgramOptions options;
    options.seed = seed * 1000 + n;
    options.portable = true;
    options.items = 700;
    const random::Program program = with_end(random::generate(options));
    const auto want = on_qemu(program), exact = on_tile(program, true, instructions),
               fast = on_tile(program, false, again);
    ASSERT_EQ(exact, want) << "seed " << options.seed;
    ASSERT_EQ(fast, want) << "seed " << options.seed;
    bytes += want.size();
  }
  std::printf("seed %llu: %u programs, %llu instructions, %llu bytes equal to qemu-riscv32\n",
              static_cast<unsigned long long>(seed), kPrograms, static_cast<unsigned long long>(instructions),
              static_cast<unsigned long long>(bytes));
  EXPECT_EQ(instructions, again);
  EXPECT_GT(instructions, 100'000u);
}

}  // namespace
}  // namespace tessera
