// The codelets as host functions, and vertices bound to host data: the bit-exact reference of what tiles compute.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "host/codelets/codelet.h"

namespace tessera {

/// What one field of a vertex is connected to.
struct Binding {
  std::vector<std::uint8_t> bytes;  ///< the data of a pointer or span field
  std::uint32_t count = 0;          ///< elements of a span
  std::uint32_t value = 0;          ///< bits of a value field, low ones first
};
using Bindings = std::map<std::string, Binding>;  // by field name

/// A codelet of the host library. Field offsets are those of the host's state struct.
struct ReferenceCodelet {
  CodeletInfo info;
  void (*run)(const void* state, std::uint32_t offset) = nullptr;
};

/// Sorted by name; the same codelets as CodeletLibrary::builtin().
[[nodiscard]] const std::vector<ReferenceCodelet>& reference_codelets();

/// Runs codelet `name` over the bindings; written fields change in place. Throws std::logic_error if a field is
/// missing.
void run_reference(std::string_view name, Bindings& bindings, std::uint32_t offset = 0);

}  // namespace tessera
