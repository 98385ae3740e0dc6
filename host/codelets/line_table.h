// Decodes DWARF line tables (versions 2 to 5, 32-bit) of linked code.
#pragma once

#include <string>
#include <vector>

#include "host/codelets/linker.h"
#include "host/codelets/object.h"
#include "host/codelets/relocate.h"

namespace tessera {

/// Appends the rows of `table` whose sequences start at placed code to `image` (lines are left unsorted). `value` gives
/// addresses of symbols, 0 for those that were not placed. Rows of a malformed table are left out.
void decode_lines(const LineTable& table, const SymbolValue& value, LinkedImage& image);

}  // namespace tessera
