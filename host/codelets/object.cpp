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

/// What an ELF section index became: nothing that is kept, a section, or the first of `count` split elements.
struct Mapped {
  int section = ObjectSymbol::kUndefined;
  std::uint32_t element = 0;  ///< bytes of an element if split, else 0
  std::uint32_t count = 0;
};

}  // namespace

std::vector<ObjectNote> ObjectSet::add(const std::vector<std::uint8_t>& bytes, const std::string& origin) {
  elf_version(EV_CURRENT);
  std::vector<std::uint8_t> copy = bytes;  // libelf wants writable memory
  std::unique_ptr<Elf, int (*)(Elf*)> elf(elf_memory(reinterpret_cast<char*>(copy.data()), copy.size()), elf_end);
  GElf_Ehdr header;
  if (!elf || elf_kind(elf.get()) != ELF_K_ELF || gelf_getehdr(elf.get(), &header) == nullptr)
    bad_object(origin, "it is no ELF file");
  if (header.e_machine != EM_RISCV || header.e_ident[EI_CLASS] != ELFCLASS32) bad_object(origin, "it is not RV32");
  if (header.e_type != ET_REL) bad_object(origin, "it is not relocatable");
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf.get(), &names) != 0) bad_object(origin, "it has no section names");

  const auto first_symbol = static_cast<std::uint32_t>(symbols_.size());
  std::vector<ObjectNote> notes;
  std::map<std::size_t, Mapped> mapped;  // by ELF section index
  std::vector<std::pair<Elf_Scn*, GElf_Shdr>> relocation_sections;
  Elf_Scn* symbol_section = nullptr;
  GElf_Shdr symbol_header{};
  LineTable lines;
  std::size_t line_index = 0;

  for (Elf_Scn* scn = elf_nextscn(elf.get(), nullptr); scn != nullptr; scn = elf_nextscn(elf.get(), scn)) {
    GElf_Shdr section;
    if (gelf_getshdr(scn, &section) == nullptr) bad_object(origin, "a section header cannot be read");
    const char* raw_name = elf_strptr(elf.get(), names, section.sh_name);
    const std::string name = raw_name == nullptr ? "" : raw_name;
    if (section.sh_type == SHT_SYMTAB) {
      symbol_section = scn;
      symbol_header = section;
    } else if (section.sh_type == SHT_RELA) {
      relocation_sections.emplace_back(scn, section);
    } else if (name.rfind(".note.tessera.", 0) == 0) {
      notes.push_back({name, section_bytes(scn, section, origin)});
    } else if (name == ".debug_line") {
      lines.bytes = section_bytes(scn, section, origin);
      line_index = elf_ndxscn(scn);
    } else if (name == ".debug_line_str") {
      lines.strings = section_bytes(scn, section, origin);
    } else if ((section.sh_flags & SHF_ALLOC) != 0 && section.sh_size != 0 && section.sh_type != SHT_NOTE) {
      if ((section.sh_flags & SHF_WRITE) != 0)
        throw Error(Category::usage, "A codelet source has writable variables (section " + name + ").", origin,
                    "keep state in fields of the vertex; constants are `static const`");
      Mapped where{static_cast<int>(sections_.size()), 0, 1};
      auto content = section_bytes(scn, section, origin);
      const bool split = (section.sh_flags & SHF_MERGE) != 0 && (section.sh_flags & SHF_STRINGS) == 0 &&
                         section.sh_entsize != 0 && content.size() % section.sh_entsize == 0;
      if (split) {
        where.element = static_cast<std::uint32_t>(section.sh_entsize);
        where.count = static_cast<std::uint32_t>(content.size() / section.sh_entsize);
        splits_[where.section] = {where.section, where.element, where.count};
      }
      const std::size_t step = split ? where.element : content.size();
      for (std::size_t at = 0; at < content.size(); at += step) {
        ObjectSection piece;
        piece.name = name;
        piece.bytes.assign(content.begin() + at, content.begin() + at + step);
        piece.align = std::max<std::uint32_t>(1, static_cast<std::uint32_t>(section.sh_addralign));
        piece.code = (section.sh_flags & SHF_EXECINSTR) != 0;
        piece.constant_element = split;
        sections_.push_back(std::move(piece));
      }
      mapped[elf_ndxscn(scn)] = where;
    }
  }
  if (symbol_section == nullptr) bad_object(origin, "it has no symbols");

  Elf_Data* symbol_data = elf_getdata(symbol_section, nullptr);
  const std::size_t symbol_count = symbol_header.sh_size / symbol_header.sh_entsize;
  for (std::size_t i = 0; i < symbol_count; ++i) {
    GElf_Sym sym;
    if (gelf_getsym(symbol_data, static_cast<int>(i), &sym) == nullptr) bad_object(origin, "a symbol cannot be read");
    ObjectSymbol symbol;
    const char* name = elf_strptr(elf.get(), symbol_header.sh_link, sym.st_name);
    symbol.name = name == nullptr ? "" : name;
    symbol.value = static_cast<std::uint32_t>(sym.st_value);
    symbol.size = static_cast<std::uint32_t>(sym.st_size);
    symbol.global = GELF_ST_BIND(sym.st_info) != STB_LOCAL;
    symbol.function = GELF_ST_TYPE(sym.st_info) == STT_FUNC;
    symbol.object = GELF_ST_TYPE(sym.st_info) == STT_OBJECT;
    if (sym.st_shndx == SHN_ABS) {
      symbol.section = ObjectSymbol::kAbsolute;
    } else if (const auto it = mapped.find(sym.st_shndx); sym.st_shndx != SHN_UNDEF && it != mapped.end()) {
      symbol.section = it->second.section;
      // A label of an element belongs to that element's own section; the section symbol keeps the whole (resolve).
      if (it->second.element != 0 && GELF_ST_TYPE(sym.st_info) != STT_SECTION &&
          symbol.value / it->second.element < it->second.count) {
        symbol.section += static_cast<int>(symbol.value / it->second.element);
        symbol.value %= it->second.element;
      }
    }
    const auto index = static_cast<std::uint32_t>(symbols_.size());
    if (symbol.global && symbol.section != ObjectSymbol::kUndefined) globals_.emplace(symbol.name, index);
    symbols_.push_back(std::move(symbol));
  }

  for (const auto& [scn, section] : relocation_sections) {
    const auto target = mapped.find(section.sh_info);
    const bool for_lines = line_index != 0 && section.sh_info == line_index;
    if (target == mapped.end() && !for_lines) continue;
    Elf_Data* data = elf_getdata(scn, nullptr);
    for (std::size_t i = 0; i < section.sh_size / section.sh_entsize; ++i) {
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
      int index = target->second.section;
      if (target->second.element != 0) {
        index += static_cast<int>(relocation.offset / target->second.element);
        relocation.offset %= target->second.element;
      }
      if (relocation.offset >= sections_.at(static_cast<std::size_t>(index)).bytes.size())
        bad_object(origin, "a relocation lies outside its section");
      sections_[static_cast<std::size_t>(index)].relocations.push_back(relocation);
    }
  }
  for (auto& section : sections_) {
    std::stable_sort(section.relocations.begin(), section.relocations.end(),
                     [](const Relocation& a, const Relocation& b) { return a.offset < b.offset; });
  }
  if (!lines.bytes.empty()) line_tables_.push_back(std::move(lines));
  return notes;
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
