// Sections, symbols and relocations of relocatable RV32 ELF objects, as codelet library and linker use them.
//
// Only what can reach a tile is kept: allocated code and constants, and the line table for reports. Mergeable constants
// are split into one section an element, so that a codelet takes only its own. Writable data is refused: a codelet
// keeps its state in its fields.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

struct Relocation {
  std::uint32_t offset = 0;  ///< bytes from the start of the section
  std::uint32_t type = 0;    ///< R_RISCV_...
  std::uint32_t symbol = 0;  ///< index into ObjectSet::symbols
  std::int32_t addend = 0;
};

struct ObjectSection {
  std::string name;
  std::vector<std::uint8_t> bytes;
  std::uint32_t align = 1;
  bool code = false;
  bool constant_element = false;        ///< one element of a mergeable section: equal ones may share an address
  std::vector<Relocation> relocations;  ///< ascending offsets
};

struct ObjectSymbol {
  static constexpr int kUndefined = -1, kAbsolute = -2;
  std::string name;
  int section = kUndefined;  ///< index into ObjectSet::sections
  std::uint32_t value = 0;   ///< bytes from the start of the section
  std::uint32_t size = 0;
  bool global = false, function = false, object = false;
};

/// The line table of one object, to be decoded once addresses are known.
struct LineTable {
  std::vector<std::uint8_t> bytes;    ///< .debug_line
  std::vector<std::uint8_t> strings;  ///< .debug_line_str
  std::vector<Relocation> relocations;
};

/// One note, before it is read as a codelet.
struct ObjectNote {
  std::string section;
  std::vector<std::uint8_t> bytes;
};

class ObjectSet {
 public:
  /// Adds an object; returns its codelet notes. Throws Error (usage).
  std::vector<ObjectNote> add(const std::vector<std::uint8_t>& elf, const std::string& origin);

  [[nodiscard]] const std::vector<ObjectSection>& sections() const { return sections_; }
  [[nodiscard]] const std::vector<ObjectSymbol>& symbols() const { return symbols_; }
  [[nodiscard]] const std::vector<LineTable>& line_tables() const { return line_tables_; }

  /// A place in a section (or an absolute value) that a symbol and addend stand for.
  struct Target {
    int section = ObjectSymbol::kUndefined;
    std::uint32_t offset = 0;
    std::uint32_t symbol = 0;  ///< the defining symbol
  };
  /// Follows an undefined symbol to the global one of its name; Target::section is kUndefined if there is none.
  [[nodiscard]] Target resolve(std::uint32_t symbol, std::int32_t addend) const;
  /// Index of the global symbol of that name, if it is defined.
  [[nodiscard]] std::optional<std::uint32_t> global(const std::string& name) const;

 private:
  struct Reader;
  struct Split {
    std::uint32_t bytes = 0;  ///< of one element
    std::uint32_t count = 0;
  };
  std::vector<ObjectSection> sections_;
  std::vector<ObjectSymbol> symbols_;
  std::vector<LineTable> line_tables_;
  std::map<std::string, std::uint32_t> globals_;
  std::map<int, Split> splits_;  ///< by first element section: section symbols of split sections point at it
};

}  // namespace tessera
