// A linked bare-metal RISC-V program (ELF32) for one tile: what to load, where it starts, its symbols and source lines.
//
// Everything that can be wrong with the file is a named Error: no ELF, wrong class, machine or kind, an ABI that the
// tile lacks, segments that overlap, lie outside the tile's memory or reach beyond the end of the file. Relocatable
// files are the codelet library's business (host/codelets), not read here.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hw/types.h"

namespace tessera::elf {

/// Bytes to be placed at an address; the rest of `memory_bytes` is zero.
struct Segment {
  Address address = 0;
  std::vector<std::uint8_t> bytes;
  std::uint32_t memory_bytes = 0;
  [[nodiscard]] std::uint64_t end() const { return std::uint64_t{address} + memory_bytes; }
};

/// Where an address lies, as far as the file says.
struct Place {
  std::string symbol;        ///< empty if there is none
  std::uint32_t offset = 0;  ///< bytes from the symbol
  std::string file;          ///< empty without line information
  int line = 0;
  /// "main+0x8 (main.c:12)", or the bare address.
  [[nodiscard]] std::string text(Address address) const;
};

class Program {
 public:
  /// Reads and checks a file. `memory_base`, `memory_limit`: the program must lie in [base, base + limit) bytes.
  static Program read(const std::string& path, Address memory_base, std::uint32_t memory_limit);
  ~Program();
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;

  [[nodiscard]] Address entry() const { return entry_; }
  [[nodiscard]] const std::vector<Segment>& segments() const { return segments_; }
  /// Highest address that a segment covers, plus one.
  [[nodiscard]] std::uint64_t end() const;
  /// Address of a global or local symbol; global wins.
  [[nodiscard]] std::optional<Address> symbol(const std::string& name) const;
  /// Symbol and source line of an address.
  [[nodiscard]] Place place(Address address) const;

 private:
  struct Symbol {
    Address address = 0;
    std::uint32_t size = 0;
    bool global = false, code = false;
    std::string name;
  };
  struct Lines;  // libdw

  Program();
  void read_symbols(void* elf);

  Address entry_ = 0;
  std::vector<Segment> segments_;
  std::vector<Symbol> symbols_;  ///< by address
  std::unique_ptr<Lines> lines_;
};

}  // namespace tessera::elf
