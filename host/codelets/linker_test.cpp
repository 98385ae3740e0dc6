// The linked image: blobs, line table, and GNU ld's image of the same sections at the same addresses.
#include "host/codelets/linker.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "host/codelets/object.h"
#include "host/codelets/riscv.h"
#include "hw/error.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> all_roots() {
  std::vector<std::string> roots{kFirmwareBoot, kFirmwareDispatch, kFirmwareExit, kFirmwareAmp};
  for (const auto& codelet : CodeletLibrary::builtin().codelets()) roots.push_back(codelet.name);
  return roots;
}

TEST(Linker, BlobsAreDisjointAlignedAndNeeded) {
  const auto image = link(CodeletLibrary::builtin(), all_roots(), 0x40040);
  Address end = image.base;
  for (const auto& blob : image.blobs) {
    EXPECT_GE(blob.address, end) << blob.name;
    end = blob.address + static_cast<Address>(blob.bytes.size());
  }
  EXPECT_LE(end, image.end);
  std::set<std::size_t> needed;
  for (const auto& [root, blobs] : image.needs) {
    EXPECT_EQ(image.address_of(root) % 8, 0u) << root;
    needed.insert(blobs.begin(), blobs.end());
  }
  EXPECT_EQ(needed.size(), image.blobs.size());
}

TEST(Linker, TheSameRootsGiveTheSameBytes) {
  const auto a = link(CodeletLibrary::builtin(), all_roots(), 0x40040);
  const auto b = link(CodeletLibrary::builtin(), all_roots(), 0x40040);
  ASSERT_EQ(a.blobs.size(), b.blobs.size());
  for (std::size_t i = 0; i < a.blobs.size(); ++i) EXPECT_EQ(a.blobs[i].bytes, b.blobs[i].bytes);
}

TEST(Linker, PlacesAreLocatedByFunctionAndLine) {
  const auto image =
      link(CodeletLibrary::builtin(), {kFirmwareBoot, kFirmwareDispatch, kFirmwareExit, "Copy_u32"}, 0x40040);
  EXPECT_EQ(image.address_of(kFirmwareBoot), 0x40040u);
  const auto where = image.locate(image.address_of("Copy_u32") + 8);
  EXPECT_EQ(where.function, "Copy_u32");
  EXPECT_EQ(where.file, "firmware/codelets/copy.c");
  EXPECT_GT(where.line, 0u);
  EXPECT_EQ(image.locate(image.address_of(kFirmwareDispatch)).file, "firmware/boot/dispatch.S");
  EXPECT_EQ(image.locate(0x1000).line, 0u);
}

TEST(Linker, UnknownRootIsAUsageError) {
  EXPECT_THROW((void)link(CodeletLibrary::builtin(), {"NoSuchCodelet"}, 0x40040), Error);
}

/// 32 bits at `address` of our image.
std::uint32_t ours_at(const LinkedImage& image, Address address) {
  for (const auto& blob : image.blobs) {
    if (address < blob.address || address + 4 > blob.address + blob.bytes.size()) continue;
    std::uint32_t word = 0;
    std::memcpy(&word, &blob.bytes[address - blob.address], 4);
    return word;
  }
  ADD_FAILURE() << "nothing of the image at " << std::hex << address;
  return 0;
}

/// GNU ld's image of the library with every function where ours is and all constants behind, as bytes from image.base.
std::vector<std::uint8_t> gnu_image(const LinkedImage& image) {
  const fs::path folder = fs::temp_directory_path() / ("tessera-ld-" + std::to_string(getpid()));
  fs::create_directories(folder);
  std::ofstream script(folder / "script.ld");
  script << "SECTIONS {\n";
  for (const auto& blob : image.blobs)
    if (blob.name.rfind(".text.", 0) == 0)
      script << "  " << blob.name << ".out " << blob.address << " : SUBALIGN(4) { *(" << blob.name << ") }\n";
  script << "  .constants " << image.end + 0x1000 << " : { *(.rodata* .srodata*) }\n"
         << "  /DISCARD/ : { *(.note* .debug* .comment .riscv*) }\n}\n";
  script.close();
  const std::string elf = (folder / "image.elf").string(), raw = (folder / "image.bin").string();
  const std::string link_command = std::string(RISCV_GCC) +
                                   " -march=rv32imf -mabi=ilp32f -mno-relax -nostdlib -static -Wl,--no-relax " +
                                   "-Wl,--no-warn-rwx-segments -Wl,-e,tessera_boot -T " +
                                   (folder / "script.ld").string() + " " + TESSERA_CODELETS_OBJECT + " -o " + elf;
  EXPECT_EQ(std::system(link_command.c_str()), 0);
  EXPECT_EQ(std::system((std::string(RISCV_OBJCOPY) + " -O binary " + elf + " " + raw).c_str()), 0);
  std::ifstream in(raw, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  fs::remove_all(folder);
  return {text.begin(), text.end()};
}

/// Uses of constants in one function: GNU ld has them elsewhere, so its addresses differ and only their contents count.
struct ConstantUse {
  std::uint32_t offset = 0;  ///< of the instruction
  std::uint32_t upper = 0;   ///< offset of the LUI that goes with it (itself, for the LUI)
  std::uint32_t content = 0;
};

std::vector<ConstantUse> constant_uses(const ObjectSet& objects, const std::string& section_name) {
  std::vector<ConstantUse> uses;
  for (const auto& section : objects.sections()) {
    if (section.name != section_name) continue;
    std::map<std::pair<int, std::uint32_t>, std::uint32_t> upper;
    for (const auto& r : section.relocations) {
      if (r.type != riscv::kHi20 && r.type != riscv::kLo12I && r.type != riscv::kLo12S) continue;
      const auto target = objects.resolve(r.symbol, r.addend);
      const auto& placed = objects.sections().at(static_cast<std::size_t>(target.section));
      if (placed.code) continue;
      const auto key = std::make_pair(target.section, target.offset);
      if (r.type == riscv::kHi20) upper.emplace(key, r.offset);
      uses.push_back(
          {r.offset, r.type == riscv::kHi20 ? r.offset : upper.at(key), riscv::load32(placed.bytes, target.offset)});
    }
  }
  return uses;
}

TEST(Linker, AgreesWithGnuLd) {
  const auto& library = CodeletLibrary::builtin();
  const auto image = link(library, all_roots(), 0x40040);
  const auto theirs = gnu_image(image);
  const auto theirs_at = [&](Address address) {
    std::uint32_t word = 0;
    EXPECT_LE(address - image.base + 4, theirs.size());
    if (address - image.base + 4 <= theirs.size()) std::memcpy(&word, &theirs[address - image.base], 4);
    return word;
  };
  std::size_t equal = 0, constants = 0;
  std::set<std::string> names;
  for (const auto& blob : image.blobs) {
    if (blob.name.rfind(".text.", 0) != 0) continue;
    ASSERT_TRUE(names.insert(blob.name).second)
        << "two functions " << blob.name << ": the script cannot tell them apart";
    std::map<Address, ConstantUse> uses;
    for (const auto& use : constant_uses(library.objects(), blob.name)) uses[blob.address + use.offset] = use;
    for (Address at = blob.address; at + 4 <= blob.address + blob.bytes.size(); at += 4) {
      const std::uint32_t a = ours_at(image, at), b = theirs_at(at);
      const auto use = uses.find(at);
      if (use == uses.end()) {
        ASSERT_EQ(a, b) << blob.name << " at " << at - blob.address;
        ++equal;
        continue;
      }
      const std::uint32_t kept = use->second.upper == use->second.offset ? 0xfffu : 0xfffffu;
      ASSERT_EQ(a & kept, b & kept) << blob.name << " at " << at - blob.address;
      if (kept == 0xfffu) continue;
      const auto address = [&](std::uint32_t hi, std::uint32_t lo) {
        return (hi & 0xfffff000u) + static_cast<std::uint32_t>(static_cast<std::int32_t>(lo) >> 20);
      };
      const Address upper = blob.address + use->second.upper;
      ASSERT_EQ(ours_at(image, address(ours_at(image, upper), a)), use->second.content) << blob.name;
      ASSERT_EQ(theirs_at(address(theirs_at(upper), b)), use->second.content) << blob.name;
      ++constants;
    }
  }
  std::printf("%zu instructions and %zu uses of constants compared in %zu functions\n", equal, constants, names.size());
  EXPECT_GT(equal, 5000u);
  EXPECT_GT(constants, 20u);
  EXPECT_GT(names.size(), 100u);
}

}  // namespace
}  // namespace tessera
