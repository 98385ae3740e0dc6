// Element types of tensors on the device. 64-bit types exist only at the edge (ONNX) and are narrowed before they get
// here.
#pragma once

#include <cstdint>
#include <string_view>

namespace tessera::graph {

enum class Type : std::uint8_t { boolean, i8, u8, i16, u16, i32, u32, f16, f32 };

/// Size of one element in bytes: 1, 2 or 4.
[[nodiscard]] constexpr unsigned size_of(Type type) {
  switch (type) {
    case Type::boolean:
    case Type::i8:
    case Type::u8:
      return 1;
    case Type::i16:
    case Type::u16:
    case Type::f16:
      return 2;
    default:
      return 4;
  }
}

/// Name as users see it: "bool", "i8", .. "f32".
[[nodiscard]] constexpr std::string_view name_of(Type type) {
  constexpr std::string_view names[] = {"bool", "i8", "u8", "i16", "u16", "i32", "u32", "f16", "f32"};
  return names[static_cast<unsigned>(type)];
}

}  // namespace tessera::graph
