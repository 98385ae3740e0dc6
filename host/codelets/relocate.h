// Applies RV32 relocations to section bytes at chosen addresses.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "host/codelets/object.h"
#include "hw/types.h"

namespace tessera {

/// Value (address) of a symbol plus addend. Throws if it has none.
using SymbolValue = std::function<std::uint32_t(std::uint32_t symbol, std::int32_t addend)>;

/// Applies `relocations` (ascending offsets) to `bytes`, which stand at `address`. Throws std::logic_error if a
/// target is out of reach or a type unknown.
void relocate(std::vector<std::uint8_t>& bytes, Address address, const std::vector<Relocation>& relocations,
              const SymbolValue& value);

}  // namespace tessera
