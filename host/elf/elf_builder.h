// Makes small ELF32 files for tests: segments, symbols, and any header field spoilt on purpose.
#pragma once

#include <elf.h>

#include <cstring>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "hw/types.h"

namespace tessera::elf::testing {

struct Builder {
  Elf32_Ehdr header{};
  std::vector<std::pair<Address, std::vector<std::uint32_t>>> segments;
  std::vector<std::pair<std::string, Address>> symbols;
  std::uint32_t extra_memory = 0;  ///< zero bytes behind the first segment

  Builder() {
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS32;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_EXEC;
    header.e_machine = EM_RISCV;
    header.e_version = EV_CURRENT;
    header.e_flags = 2;  // single-float ABI
    header.e_ehsize = sizeof(Elf32_Ehdr);
    header.e_phentsize = sizeof(Elf32_Phdr);
    header.e_shentsize = sizeof(Elf32_Shdr);
  }

  [[nodiscard]] std::string bytes() const {
    Elf32_Ehdr h = header;
    h.e_phoff = sizeof h;
    h.e_phnum = static_cast<Elf32_Half>(segments.size());
    std::string body;
    std::vector<Elf32_Phdr> programs;
    const auto base = static_cast<Elf32_Off>(sizeof h + segments.size() * sizeof(Elf32_Phdr));
    for (const auto& [address, words] : segments) {
      Elf32_Phdr p{};
      p.p_type = PT_LOAD;
      p.p_offset = static_cast<Elf32_Off>(base + body.size());
      p.p_vaddr = p.p_paddr = address;
      p.p_filesz = static_cast<Elf32_Word>(4 * words.size());
      p.p_memsz = p.p_filesz + (programs.empty() ? extra_memory : 0);
      p.p_flags = PF_R | PF_W | PF_X;
      p.p_align = 4;
      programs.push_back(p);
      body.append(reinterpret_cast<const char*>(words.data()), 4 * words.size());
    }
    const std::string sections = symbol_sections(h, static_cast<Elf32_Off>(base + body.size()));
    std::string out(reinterpret_cast<const char*>(&h), sizeof h);
    out.append(reinterpret_cast<const char*>(programs.data()), programs.size() * sizeof(Elf32_Phdr));
    return out + body + sections;
  }

  void write(const std::string& path, std::size_t limit = ~std::size_t{0}) const {
    std::ofstream(path, std::ios::binary) << bytes().substr(0, limit);
  }

 private:
  /// Symbol table, its strings and the section headers, to stand at file offset `at`.
  std::string symbol_sections(Elf32_Ehdr& h, Elf32_Off at) const {
    const char names[] = "\0.symtab\0.strtab";  // also holds section names
    std::string strings(names, sizeof names);
    std::vector<Elf32_Sym> table(1);
    for (const auto& [name, address] : symbols) {
      Elf32_Sym s{};
      s.st_name = static_cast<Elf32_Word>(strings.size());
      s.st_value = address;
      s.st_info = ELF32_ST_INFO(STB_GLOBAL, STT_NOTYPE);
      s.st_shndx = 1;
      table.push_back(s);
      strings += name + '\0';
    }
    Elf32_Shdr sections[3]{};
    sections[1].sh_name = 1;
    sections[1].sh_type = SHT_SYMTAB;
    sections[1].sh_offset = at;
    sections[1].sh_size = static_cast<Elf32_Word>(table.size() * sizeof(Elf32_Sym));
    sections[1].sh_link = 2;
    sections[1].sh_info = 1;
    sections[1].sh_entsize = sizeof(Elf32_Sym);
    sections[2].sh_name = 9;
    sections[2].sh_type = SHT_STRTAB;
    sections[2].sh_offset = at + sections[1].sh_size;
    sections[2].sh_size = static_cast<Elf32_Word>(strings.size());
    std::string out(reinterpret_cast<const char*>(table.data()), sections[1].sh_size);
    out += strings;
    out.resize((out.size() + 3) / 4 * 4);
    h.e_shoff = static_cast<Elf32_Off>(at + out.size());
    h.e_shnum = 3;
    h.e_shstrndx = 2;
    out.append(reinterpret_cast<const char*>(sections), sizeof sections);
    return out;
  }
};

}  // namespace tessera::elf::testing
