// Reads relocatable RV32 ELF objects with libelf (object.h).
#include "host/codelets/object.h"

#include <gelf.h>
#include <libelf.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "hw/error.h"

namespace tessera {
namespace {

[[noreturn]] void bad_object(const std::string& origin, const std::string& what) {
  throw Error(Category::usage, "The codelet object cannot be used: " + what + ".", origin,
              "build it with riscv64-unknown-elf-gcc and the flags of the built-in library");
}

std::vector<std::uint8_t> section_bytes(Elf_Scn* scn, const GElf_Shdr& header, const std::string& origin) {
  if (header.sh_type == SHT_NOBITS) return std::vector<std::uint8_t>(header.sh_size, 0);
  Elf_Data* data = elf_rawdata(scn, nullptr);
  if (data == nullptr || (data->d_size != 0 && data->d_buf == nullptr)) bad_object(origin, "a section cannot be read");
  const auto* begin = static_cast<const std::uint8_t*>(data->d_buf);
  return begin == nullptr ? std::vector<std::uint8_t>{} : std::vector<std::uint8_t>(begin, begin + data->d_size);
}

struct ElfCloser {
  void operator()(Elf* elf) const { elf_end(elf); }
};
using ElfHandle = std::unique_ptr<Elf, ElfCloser>;

/// Opens `bytes` (libelf wants them writable) and checks that it is a relocatable RV32 object.
ElfHandle open_elf(std::vector<std::uint8_t>& bytes, const std::string& origin) {
  elf_version(EV_CURRENT);
  ElfHandle elf(elf_memory(reinterpret_cast<char*>(bytes.data()), bytes.size()));
  GElf_Ehdr header;
  if (!elf || elf_kind(elf.get()) != ELF_K_ELF || gelf_getehdr(elf.get(), &header) == nullptr)
    bad_object(origin, "it is no ELF file");
  if (header.e_machine != EM_RISCV || header.e_ident[EI_CLASS] != ELFCLASS32) bad_object(origin, "it is not RV32");
  if (header.e_type != ET_REL) bad_object(origin, "it is not relocatable");
  return elf;
}

}  // namespace

/// One object on its way into the set.
struct ObjectSet::Reader {
  /// What an ELF section became: the first of its sections here, and the bytes of an element if it was split.
  struct Mapped {
    int section = ObjectSymbol::kUndefined;
    std::uint32_t element = 0, count = 0;
  };
  ObjectSet& set;
  const std::string& origin;
  Elf* elf;
  std::uint32_t first_symbol;
  std::vector<ObjectNote> notes;
  std::map<std::size_t, Mapped> mapped;  // by ELF section index
  std::vector<std::pair<Elf_Scn*, GElf_Shdr>> relocations;
  Elf_Scn* symbols = nullptr;
  GElf_Shdr symbols_header{};
  std::size_t symbol_count = 0;
  LineTable lines;
  std::size_t line_index = 0;

  void read_sections() {
    std::size_t names = 0;
    if (elf_getshdrstrndx(elf, &names) != 0) bad_object(origin, "it has no section names");
    for (Elf_Scn* scn = elf_nextscn(elf, nullptr); scn != nullptr; scn = elf_nextscn(elf, scn)) {
      GElf_Shdr header;
      if (gelf_getshdr(scn, &header) == nullptr) bad_object(origin, "a section header cannot be read");
      const char* raw_name = elf_strptr(elf, names, header.sh_name);
      read_section(scn, header, raw_name == nullptr ? "" : raw_name);
    }
    if (symbols == nullptr || symbols_header.sh_entsize == 0) bad_object(origin, "it has no symbols");
    symbol_count = symbols_header.sh_size / symbols_header.sh_entsize;
  }

  void read_section(Elf_Scn* scn, const GElf_Shdr& header, const std::string& name) {
    if (header.sh_type == SHT_SYMTAB) {
      symbols = scn;
      symbols_header = header;
    } else if (header.sh_type == SHT_RELA) {
      relocations.emplace_back(scn, header);
    } else if (name.rfind(".note.tessera.", 0) == 0) {
      notes.push_back({name, section_bytes(scn, header, origin)});
    } else if (name == ".debug_line") {
      lines.bytes = section_bytes(scn, header, origin);
      line_index = elf_ndxscn(scn);
    } else if (name == ".debug_line_str") {
      lines.strings = section_bytes(scn, header, origin);
    } else if ((header.sh_flags & SHF_ALLOC) != 0 && header.sh_size != 0 && header.sh_type != SHT_NOTE) {
      if ((header.sh_flags & SHF_WRITE) != 0)
        throw Error(Category::usage, "A codelet source has writable variables (section " + name + ").", origin,
                    "keep state in fields of the vertex; constants are `static const`");
      mapped[elf_ndxscn(scn)] = keep(section_bytes(scn, header, origin), header, name);
    }
  }

  Mapped keep(const std::vector<std::uint8_t>& content, const GElf_Shdr& header, const std::string& name) {
    Mapped where{static_cast<int>(set.sections_.size()), 0, 1};
    const bool split = (header.sh_flags & SHF_MERGE) != 0 && (header.sh_flags & SHF_STRINGS) == 0 &&
                       header.sh_entsize != 0 && content.size() % header.sh_entsize == 0;
    if (split) {
      where.element = static_cast<std::uint32_t>(header.sh_entsize);
      where.count = static_cast<std::uint32_t>(content.size() / header.sh_entsize);
      set.splits_[where.section] = {where.element, where.count};
    }
    const auto step = static_cast<std::ptrdiff_t>(split ? where.element : content.size());
    for (auto from = content.begin(); from != content.end(); from += step) {
      ObjectSection piece;
      piece.name = name;
      piece.bytes.assign(from, from + step);
      piece.align = std::max<std::uint32_t>(1, static_cast<std::uint32_t>(header.sh_addralign));
      piece.code = (header.sh_flags & SHF_EXECINSTR) != 0;
      piece.constant_element = split;
      set.sections_.push_back(std::move(piece));
    }
    return where;
  }

  void read_symbols() {
    Elf_Data* data = elf_getdata(symbols, nullptr);
    for (std::size_t i = 0; i < symbol_count; ++i) {
      GElf_Sym sym;
      if (gelf_getsym(data, static_cast<int>(i), &sym) == nullptr) bad_object(origin, "a symbol cannot be read");
      const auto type = GELF_ST_TYPE(sym.st_info);
      ObjectSymbol symbol;
      const char* name = elf_strptr(elf, symbols_header.sh_link, sym.st_name);
      symbol.name = name == nullptr ? "" : name;
      symbol.value = static_cast<std::uint32_t>(sym.st_value);
      symbol.size = static_cast<std::uint32_t>(sym.st_size);
      symbol.global = GELF_ST_BIND(sym.st_info) != STB_LOCAL;
      symbol.function = type == STT_FUNC;
      symbol.object = type == STT_OBJECT;
      if (sym.st_shndx == SHN_ABS) {
        symbol.section = ObjectSymbol::kAbsolute;
      } else if (const auto it = mapped.find(sym.st_shndx); sym.st_shndx != SHN_UNDEF && it != mapped.end()) {
        const Mapped& where = it->second;
        symbol.section = where.section;
        // A label of an element belongs to that element's own section; the section symbol keeps the whole (resolve).
        if (where.element != 0 && type != STT_SECTION && symbol.value / where.element < where.count) {
          symbol.section += static_cast<int>(symbol.value / where.element);
          symbol.value %= where.element;
        }
      }
      const auto index = static_cast<std::uint32_t>(set.symbols_.size());
      if (symbol.global && symbol.section != ObjectSymbol::kUndefined) set.globals_.emplace(symbol.name, index);
      set.symbols_.push_back(std::move(symbol));
    }
  }

  void read_relocations(Elf_Scn* scn, const GElf_Shdr& header) {
    const auto target = mapped.find(header.sh_info);
    const bool for_lines = line_index != 0 && header.sh_info == line_index;
    if ((target == mapped.end() && !for_lines) || header.sh_entsize == 0) return;
    Elf_Data* data = elf_getdata(scn, nullptr);
    for (std::size_t i = 0; i < header.sh_size / header.sh_entsize; ++i) {
      GElf_Rela rela;
      if (gelf_getrela(data, static_cast<int>(i), &rela) == nullptr || GELF_R_SYM(rela.r_info) >= symbol_count)
        bad_object(origin, "a relocation cannot be read");
      Relocation relocation{
          static_cast<std::uint32_t>(rela.r_offset), static_cast<std::uint32_t>(GELF_R_TYPE(rela.r_info)),
          first_symbol + static_cast<std::uint32_t>(GELF_R_SYM(rela.r_info)), static_cast<std::int32_t>(rela.r_addend)};
      if (for_lines) {
        lines.relocations.push_back(relocation);
        continue;
      }
      std::size_t index = static_cast<std::size_t>(target->second.section);
      if (const std::uint32_t element = target->second.element; element != 0) {
        if (relocation.offset / element >= target->second.count) bad_object(origin, "a relocation lies outside");
        index += relocation.offset / element;
        relocation.offset %= element;
      }
      ObjectSection& section = set.sections_.at(index);
      if (relocation.offset >= section.bytes.size()) bad_object(origin, "a relocation lies outside its section");
      section.relocations.push_back(relocation);
    }
  }
};

std::vector<ObjectNote> ObjectSet::add(const std::vector<std::uint8_t>& bytes, const std::string& origin) {
  std::vector<std::uint8_t> copy = bytes;
  const ElfHandle elf = open_elf(copy, origin);
  const std::size_t first_section = sections_.size();
  Reader reader{*this, origin, elf.get(), static_cast<std::uint32_t>(symbols_.size()), {}, {}, {}, nullptr, {},
                0,     {},     0};
  reader.read_sections();
  reader.read_symbols();
  for (const auto& [scn, header] : reader.relocations) reader.read_relocations(scn, header);
  for (std::size_t i = first_section; i < sections_.size(); ++i) {
    auto& list = sections_[i].relocations;
    std::stable_sort(list.begin(), list.end(),
                     [](const Relocation& a, const Relocation& b) { return a.offset < b.offset; });
  }
  if (!reader.lines.bytes.empty()) line_tables_.push_back(std::move(reader.lines));
  return std::move(reader.notes);
}

ObjectSet::Target ObjectSet::resolve(std::uint32_t symbol, std::int32_t addend) const {
  const ObjectSymbol* found = &symbols_.at(symbol);
  if (found->section == ObjectSymbol::kUndefined) {
    const auto it = globals_.find(found->name);
    if (it == globals_.end()) return {ObjectSymbol::kUndefined, 0, symbol};
    symbol = it->second;
    found = &symbols_[symbol];
  }
  const std::uint32_t offset = found->value + static_cast<std::uint32_t>(addend);
  const auto split = splits_.find(found->section);
  if (split != splits_.end() && found->name.empty() && offset / split->second.bytes < split->second.count)
    return {found->section + static_cast<int>(offset / split->second.bytes), offset % split->second.bytes, symbol};
  return {found->section, offset, symbol};
}

std::optional<std::uint32_t> ObjectSet::global(const std::string& name) const {
  const auto it = globals_.find(name);
  if (it == globals_.end()) return std::nullopt;
  return it->second;
}

}  // namespace tessera
