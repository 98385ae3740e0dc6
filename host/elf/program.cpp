// Reads ELF32 RISC-V executables with libelf, and their line tables with libdw.
#include "host/elf/program.h"

#include <elfutils/libdw.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>

#include "hw/error.h"
#include "hw/read_file.h"

namespace tessera::elf {

namespace {

constexpr unsigned kRvc = 1, kFloatAbi = 6, kFloatSingle = 2, kRve = 8;  // e_flags
constexpr unsigned kAttributes = 0x70000003;                             // section type .riscv.attributes

[[noreturn]] void refuse(Category category, const std::string& message, const std::string& where,
                         const std::string& advice) {
  throw Error(category, message, where, advice);
}

/// Owns a file descriptor.
class File {
 public:
  explicit File(const std::string& path) {
    require_file(path, "program");
    fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat info {};
    if (fstat(fd_, &info) != 0 || !S_ISREG(info.st_mode))
      refuse(Category::usage, "the program is no regular file", path, "give the path of an ELF file");
    size_ = static_cast<std::uint64_t>(info.st_size);
  }
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  int fd_ = -1;
  std::uint64_t size_ = 0;
};

std::string hex(std::uint64_t v) { return fmt::format("0x{:08x}", v); }

/// True if the file's attributes, or for want of them its flags, say that it is built with extension C. The flag alone
/// also comes of a few lines under .option rvc, which public tests of misaligned jumps have.
bool built_compressed(Elf* elf, const GElf_Ehdr& header) {
  if ((header.e_flags & kRvc) == 0) return false;
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf, section)) != nullptr) {
    GElf_Shdr sh;
    if (gelf_getshdr(section, &sh) == nullptr || sh.sh_type != kAttributes) continue;
    const Elf_Data* data = elf_rawdata(section, nullptr);
    if (data == nullptr || data->d_buf == nullptr) continue;
    const std::string text(static_cast<const char*>(data->d_buf), data->d_size);
    const auto start = text.find("rv32");
    if (start == std::string::npos) continue;
    const std::string arch = text.substr(start, text.find('\0', start) - start);  // rv32i2p1_m2p0_c2p0_...
    const auto c = arch.find("_c");
    return c != std::string::npos && c + 2 < arch.size() && std::isdigit(static_cast<unsigned char>(arch[c + 2])) != 0;
  }
  return true;
}

/// Class, machine, kind, ABI: the header and the attributes.
void check_header(Elf* elf, const GElf_Ehdr& header, const std::string& path) {
  if (gelf_getclass(elf) != ELFCLASS32)
    refuse(Category::usage, "the program is a 64-bit ELF file; a tile runs 32-bit programs", path,
           "build with -march=rv32imf -mabi=ilp32f");
  if (header.e_machine != EM_RISCV)
    refuse(Category::usage, fmt::format("the program is for machine {}, not for RISC-V", header.e_machine), path,
           "build with riscv64-unknown-elf-gcc -march=rv32imf -mabi=ilp32f");
  if (header.e_ident[EI_DATA] != ELFDATA2LSB)
    refuse(Category::usage, "the program is big endian", path, "build for little-endian RISC-V");
  if (header.e_type != ET_EXEC)
    refuse(Category::usage,
           header.e_type == ET_REL ? "the file is an object file, not a linked program"
                                   : "the program is not linked to fixed addresses",
           path, "link it statically, without -pie, with its text at 0x00040000");
  if (built_compressed(elf, header))
    refuse(Category::unsupported, "the program uses compressed instructions (extension C), which a tile has not", path,
           "build with -march=rv32imf");
  if ((header.e_flags & kRve) != 0)
    refuse(Category::unsupported, "the program is built for the embedded base (RV32E)", path,
           "build with -march=rv32imf -mabi=ilp32f");
  if ((header.e_flags & kFloatAbi) > kFloatSingle)
    refuse(Category::unsupported, "the program uses a double- or quad-precision ABI, which a tile has not", path,
           "build with -mabi=ilp32f or -mabi=ilp32");
}

Segment read_segment(Elf* elf, const GElf_Phdr& header, std::size_t index, const File& file, const std::string& path) {
  const std::string where = fmt::format("{}, segment {} at {}", path, index, hex(header.p_paddr));
  if (header.p_offset > file.size() || header.p_filesz > file.size() - header.p_offset)
    refuse(Category::usage,
           fmt::format("the file is cut short: the segment needs bytes {} to {}, the file has {}", header.p_offset,
                       header.p_offset + header.p_filesz, file.size()),
           where, "build or copy the program again");
  if (header.p_filesz > header.p_memsz)
    refuse(Category::usage, "the segment is larger in the file than in memory", where, "build the program again");
  Segment segment;
  segment.address = static_cast<Address>(header.p_paddr);
  segment.memory_bytes = static_cast<std::uint32_t>(header.p_memsz);
  std::size_t size = 0;
  const char* raw = elf_rawfile(elf, &size);
  if (header.p_filesz != 0) {
    if (raw == nullptr) refuse(Category::usage, "cannot read the segment", where, "check the file");
    const auto* from = reinterpret_cast<const std::uint8_t*>(raw) + header.p_offset;
    segment.bytes.assign(from, from + header.p_filesz);
  }
  return segment;
}

/// Linkers without a script of the program's own put the file's headers into the first segment, in front of the text:
/// bytes that no program reads and that would lie below the memory.
void drop_headers(Segment& segment, const GElf_Phdr& program, const GElf_Ehdr& header, Address base) {
  const std::uint64_t headers = header.e_phoff + std::uint64_t{header.e_phnum} * header.e_phentsize;
  if (program.p_offset != 0 || segment.address >= base) return;
  const std::uint64_t below = base - segment.address;
  if (below < headers || below > segment.bytes.size()) return;
  const auto cut = segment.bytes.begin() + static_cast<std::ptrdiff_t>(below);
  if (!std::all_of(segment.bytes.begin() + static_cast<std::ptrdiff_t>(headers), cut, [](auto b) { return b == 0; }))
    return;
  segment.bytes.erase(segment.bytes.begin(), cut);
  segment.address = base;
  segment.memory_bytes -= static_cast<std::uint32_t>(below);
}

void check_places(std::vector<Segment>& segments, Address base, std::uint32_t limit, const std::string& path) {
  const std::uint64_t end = std::uint64_t{base} + limit;
  for (const Segment& s : segments)
    if (s.address < base || s.end() > end)
      refuse(
          Category::does_not_fit,
          fmt::format("the program's segment {} to {} lies outside the tile's memory, {} to {}", hex(s.address),
                      hex(s.end()), hex(base), hex(end)),
          path,
          fmt::format("link the program at {} (-Wl,-Ttext={}) and within {} KiB", hex(base), hex(base), limit / 1024));
  std::sort(segments.begin(), segments.end(), [](const Segment& a, const Segment& b) { return a.address < b.address; });
  for (std::size_t k = 1; k < segments.size(); ++k)
    if (segments[k - 1].end() > segments[k].address)
      refuse(Category::usage,
             fmt::format("segments overlap: {} to {} and {} to {}", hex(segments[k - 1].address),
                         hex(segments[k - 1].end()), hex(segments[k].address), hex(segments[k].end())),
             path, "correct the linker script");
}

}  // namespace

struct Program::Lines {
  explicit Lines(const std::string& path) : file(path), dwarf(dwarf_begin(file.fd(), DWARF_C_READ)) {}
  ~Lines() {
    if (dwarf != nullptr) dwarf_end(dwarf);
  }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  /// File and line of an address in any compilation unit's table.
  void find(Address address, Place& place) const {
    if (dwarf == nullptr) return;
    Dwarf_Off offset = 0, next = 0;
    std::size_t header_size = 0;
    while (dwarf_nextcu(dwarf, offset, &next, &header_size, nullptr, nullptr, nullptr) == 0) {
      Dwarf_Die unit;
      Dwarf_Line* line = nullptr;
      if (dwarf_offdie(dwarf, offset + header_size, &unit) != nullptr && covers(unit, address)) {
        line = dwarf_getsrc_die(&unit, address);
        int number = 0;
        const char* name = line != nullptr ? dwarf_linesrc(line, nullptr, nullptr) : nullptr;
        if (name != nullptr && dwarf_lineno(line, &number) == 0 && number > 0) {
          const char* slash = std::strrchr(name, '/');
          place.file = slash != nullptr ? slash + 1 : name;
          place.line = number;
          return;
        }
      }
      offset = next;
    }
  }
  static bool covers(Dwarf_Die& unit, Address address) { return dwarf_haspc(&unit, address) > 0; }

  File file;
  Dwarf* dwarf;
};

std::string Place::text(Address address) const {
  std::string out = symbol.empty() ? hex(address) : offset == 0 ? symbol : fmt::format("{}+0x{:x}", symbol, offset);
  if (!file.empty()) out += fmt::format(" ({}:{})", file, line);
  return out;
}

Program::Program() = default;
Program::~Program() = default;
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;

Program Program::read(const std::string& path, Address memory_base, std::uint32_t memory_limit) {
  elf_version(EV_CURRENT);
  const File file(path);
  const std::unique_ptr<Elf, int (*)(Elf*)> elf(elf_begin(file.fd(), ELF_C_READ_MMAP, nullptr), elf_end);
  if (!elf || elf_kind(elf.get()) != ELF_K_ELF)
    refuse(Category::usage, "the file is no ELF program", path, "give a linked RISC-V program");
  GElf_Ehdr header;
  if (gelf_getehdr(elf.get(), &header) == nullptr)
    refuse(Category::usage, "the file is cut short: its ELF header is not whole", path, "build or copy it again");
  check_header(elf.get(), header, path);
  std::size_t count = 0;
  if (header.e_phoff > file.size() || elf_getphdrnum(elf.get(), &count) != 0 ||
      header.e_phoff + count * header.e_phentsize > file.size())
    refuse(Category::usage, "the file is cut short: its program headers are not whole", path, "build or copy it again");
  Program program;
  for (std::size_t k = 0; k < count; ++k) {
    GElf_Phdr segment;
    if (gelf_getphdr(elf.get(), static_cast<int>(k), &segment) == nullptr)
      refuse(Category::usage, "a program header cannot be read", path, "build or copy it again");
    if (segment.p_type == PT_INTERP)
      refuse(Category::usage, "the program is dynamically linked", path, "link it statically (-static -nostdlib)");
    if (segment.p_type == PT_LOAD && segment.p_memsz != 0) {
      program.segments_.push_back(read_segment(elf.get(), segment, k, file, path));
      drop_headers(program.segments_.back(), segment, header, memory_base);
    }
  }
  if (program.segments_.empty())
    refuse(Category::usage, "the program has nothing to load", path, "link it with a text section");
  check_places(program.segments_, memory_base, memory_limit, path);
  program.entry_ = static_cast<Address>(header.e_entry);
  const bool inside = std::any_of(program.segments_.begin(), program.segments_.end(), [&](const Segment& s) {
    return program.entry_ >= s.address && program.entry_ < s.end();
  });
  if (!inside || program.entry_ % 4 != 0)
    refuse(Category::usage, fmt::format("the entry point {} is not in the program", hex(program.entry_)), path,
           "define _start, or link with -e SYMBOL");
  program.read_symbols(elf.get());
  program.lines_ = std::make_unique<Lines>(path);
  return program;
}

void Program::read_symbols(void* handle) {
  auto* elf = static_cast<Elf*>(handle);
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf, section)) != nullptr) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_SYMTAB || header.sh_entsize == 0) continue;
    Elf_Data* data = elf_getdata(section, nullptr);
    if (data == nullptr) continue;
    const auto count = static_cast<int>(header.sh_size / header.sh_entsize);
    for (int k = 0; k < count; ++k) {
      GElf_Sym symbol;
      if (gelf_getsym(data, k, &symbol) == nullptr || symbol.st_shndx == SHN_UNDEF) continue;
      const unsigned type = GELF_ST_TYPE(symbol.st_info);
      const char* name = elf_strptr(elf, header.sh_link, symbol.st_name);
      if (name == nullptr || *name == '\0' || *name == '$' || type == STT_FILE || type == STT_SECTION) continue;
      symbols_.push_back({static_cast<Address>(symbol.st_value), static_cast<std::uint32_t>(symbol.st_size),
                          GELF_ST_BIND(symbol.st_info) != STB_LOCAL, symbol.st_shndx != SHN_ABS, name});
    }
  }
  std::stable_sort(symbols_.begin(), symbols_.end(),
                   [](const Symbol& a, const Symbol& b) { return a.address < b.address; });
}

std::uint64_t Program::end() const {
  std::uint64_t last = 0;
  for (const Segment& s : segments_) last = std::max(last, s.end());
  return last;
}

std::optional<Address> Program::symbol(const std::string& name) const {
  std::optional<Address> found;
  for (const Symbol& s : symbols_) {
    if (s.name != name) continue;
    if (s.global) return s.address;
    if (!found) found = s.address;
  }
  return found;
}

Place Program::place(Address address) const {
  Place place;
  const bool inside = std::any_of(segments_.begin(), segments_.end(),
                                  [&](const Segment& s) { return address >= s.address && address < s.end(); });
  if (!inside) return place;
  const Symbol* best = nullptr;
  for (const Symbol& s : symbols_) {
    if (s.address > address) break;
    if (!s.code || (s.size != 0 && address - s.address >= s.size)) continue;
    // The nearest one before; of several at one address a global with a size says most.
    if (best == nullptr || s.address > best->address || (s.global && !best->global)) best = &s;
  }
  if (best != nullptr) {
    place.symbol = best->name;
    place.offset = address - best->address;
  }
  if (lines_) lines_->find(address, place);
  return place;
}

}  // namespace tessera::elf
