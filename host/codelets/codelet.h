// Codelets as the compiler sees them: fields, stack use and code size, read from the notes of a relocatable ELF
// library.
//
// A codelet is a C function made by VERTEX (firmware/include/tessera/vertex.h). Its ELF note lists the fields of its
// state struct in order. The built-in library is embedded in the program; user sources are compiled at run time. What
// is not here: placing codelets at addresses (host/codelets/linker.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hw/types.h"

namespace tessera {

/// How a vertex uses a field. Values are those of the note (vertex.h).
enum class FieldKind : std::uint8_t {
  in = 1,       ///< pointer to elements that are read
  out = 2,      ///< pointer to elements that are written, every one of them
  inout = 3,    ///< pointer to elements that are read and written
  in_span = 4,  ///< pointer and element count
  out_span = 5,
  inout_span = 6,
  value = 7,  ///< the element itself stands in the state
};

/// Element types of fields. Values are those of the note.
enum class FieldType : std::uint8_t { boolean = 1, i8, u8, i16, u16, i32, u32, f16, f32 };

/// Bytes of one element.
[[nodiscard]] std::uint32_t field_type_bytes(FieldType type);
/// "f32", "bool", ... as written in VERTEX.
[[nodiscard]] std::string_view field_type_name(FieldType type);

/// One field of a codelet's state. Pointers are absolute tile addresses (u32); a span is {u32 address; u32 count}.
struct Field {
  std::string name;
  FieldKind kind = FieldKind::value;
  FieldType type = FieldType::u32;
  std::uint32_t offset = 0;   ///< bytes from the start of the state
  std::uint32_t align = 4;    ///< bytes; what the data address must be a multiple of (values: of the field itself)
  std::uint32_t minimum = 1;  ///< least number of elements of the connected data
  bool elementwise = false;   ///< an output of the same element size may stand where this input stands

  [[nodiscard]] bool is_value() const { return kind == FieldKind::value; }
  [[nodiscard]] bool is_span() const {
    return kind == FieldKind::in_span || kind == FieldKind::out_span || kind == FieldKind::inout_span;
  }
  [[nodiscard]] bool reads() const {
    return kind != FieldKind::out && kind != FieldKind::out_span && kind != FieldKind::value;
  }
  [[nodiscard]] bool writes() const {
    return kind != FieldKind::in && kind != FieldKind::in_span && kind != FieldKind::value;
  }
  /// Bytes the field takes in the state.
  [[nodiscard]] std::uint32_t state_bytes() const { return is_value() ? field_type_bytes(type) : is_span() ? 8 : 4; }
};

struct CodeletInfo {
  std::string name;
  bool multi = false;  ///< one state for all six workers, which split the work by index
  bool amp = false;    ///< a multi-vertex run set by set (VERTEX_AMP); weights and offsets are its first fields
  std::uint32_t state_bytes = 0;  ///< size of the state struct; it is 4-byte aligned
  std::vector<Field> fields;      ///< in the order of VERTEX, offsets ascending
  std::uint32_t stack_bytes = 0;  ///< deepest stack of the codelet and all it calls
  std::uint32_t code_bytes = 0;   ///< code and constants of the codelet and all it uses, 8-byte granules

  /// The field of that name; nullptr if there is none.
  [[nodiscard]] const Field* field(std::string_view field_name) const;
};

class ObjectSet;  // host/codelets/object.h: sections, symbols and relocations

/// A set of codelets with the sections they are made of. Copies share the objects.
class CodeletLibrary {
 public:
  /// The codelets and firmware built with the project, embedded in the program.
  [[nodiscard]] static const CodeletLibrary& builtin();

  CodeletLibrary();
  /// Adds the codelets of a relocatable RV32 ELF. `origin` names it in messages. Throws Error (usage) if the bytes are
  /// not such an ELF, a note is malformed, a codelet recurses, moves its stack pointer by a variable amount, calls
  /// through a pointer, or has the name of one that is there.
  void add(std::vector<std::uint8_t> elf, const std::string& origin);

  /// Sorted by name.
  [[nodiscard]] const std::vector<CodeletInfo>& codelets() const { return codelets_; }
  /// nullptr if there is none of that name.
  [[nodiscard]] const CodeletInfo* find(std::string_view name) const;
  /// Throws Error (usage) that gives the nearest name if there is none of that name.
  [[nodiscard]] const CodeletInfo& at(std::string_view name) const;

  [[nodiscard]] const ObjectSet& objects() const { return *objects_; }

 private:
  std::shared_ptr<ObjectSet> objects_;
  std::vector<CodeletInfo> codelets_;
};

}  // namespace tessera
