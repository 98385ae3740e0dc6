// Tables by which run lists of a function are turned to the arguments of another call (firmware/boot/rebase.S).
#pragma once

#include <cstdint>
#include <vector>

#include "host/compiler/allocate.h"
#include "host/compiler/ir.h"

namespace tessera::compiler {

/// By function: the variables of the first block of its window, ascending; none if it has no window.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> window_variables(const Ir& ir);

/// The table of one function on one tile. words: addresses of the words in its lists that point into the window;
/// at: where the table will stand; routine: tessera_rebase.
[[nodiscard]] std::vector<std::uint32_t> rebase_table_of(const Window& window, const std::vector<Address>& words,
                                                         std::uint32_t tile, Address at, const Allocation& allocation,
                                                         Address routine);

}  // namespace tessera::compiler
