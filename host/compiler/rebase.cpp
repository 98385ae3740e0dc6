#include "host/compiler/rebase.h"

#include <algorithm>
#include <stdexcept>

#include "hw/generated/machine.h"

namespace tessera::compiler {

std::vector<std::vector<std::uint32_t>> window_variables(const Ir& ir) {
  std::vector<std::vector<std::uint32_t>> result;
  for (const Window& w : ir.windows) {
    result.push_back(w.blocks.empty() ? std::vector<std::uint32_t>{} : w.blocks.front());
    std::sort(result.back().begin(), result.back().end());
  }
  return result;
}

std::vector<std::uint32_t> rebase_table_of(const Window& window, const std::vector<Address>& words, std::uint32_t tile,
                                           Address at, const Allocation& allocation, Address routine) {
  const auto here = [&](std::uint32_t v) { return allocation.has(v, tile); };
  const auto first = std::find_if(window.blocks[0].begin(), window.blocks[0].end(), here);
  if (first == window.blocks[0].end()) throw std::logic_error("lists that point into a window that is not there");
  const std::uint32_t next = window.blocks[1][static_cast<std::size_t>(first - window.blocks[0].begin())];
  std::vector<std::uint32_t> table(rebase_table::kBytes / 4, 0);
  table[rebase_table::fn / 4] = routine;
  table[rebase_table::stride / 4] = allocation.base(next, tile) - allocation.base(*first, tile);
  table[rebase_table::end / 4] = at + rebase_table::kBytes + 4 * static_cast<Address>(words.size());
  table.insert(table.end(), words.begin(), words.end());
  return table;
}

}  // namespace tessera::compiler
