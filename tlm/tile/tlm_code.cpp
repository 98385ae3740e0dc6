// Decoded code of one tile: pages come from the shared cache at the first fetch; a write into a decoded page makes it
// the tile's own and marks the words written, so that every fetch sees all earlier stores.
#include <algorithm>

#include "hw/generated/machine.h"
#include "tlm/tile/threaded.h"
#include "tlm/tile/tlm_tile.h"

namespace tessera {

CodePage* TlmTile::page(Role role, Address pc) {
  const unsigned index = (pc - kSramBase) >> kPageBits;
  auto& slot = pages_[static_cast<unsigned>(role)][index];
  if (!slot) {
    slot = code_->find(role, kSramBase + index * kPageBytes, sram_.data() + std::size_t{index} * kPageBytes);
    page_flags_[index] |= kCodePage;
  }
  return slot.get();
}

CodePage* TlmTile::own_page(Role role, unsigned index) {
  auto& slot = pages_[static_cast<unsigned>(role)][index];
  if (slot->shared) {
    slot = std::make_shared<CodePage>(*slot);
    slot->shared = false;
    slot->longest = kPageWords * 6;  // words decoded later may be anything
  }
  return slot.get();
}

void TlmTile::code_stored(std::uint32_t offset) {
  const unsigned index = offset >> kPageBits, word = (offset & (kPageBytes - 1)) / 4;
  for (const Role role : {Role::supervisor, Role::worker}) {
    const auto& slot = pages_[static_cast<unsigned>(role)][index];
    if (slot && slot->known(word)) own_page(role, index)->forget(word);
  }
}

void TlmTile::memory_written(Address address, std::size_t count) {
  if (count == 0) return;
  const std::size_t first = address - kSramBase, last = first + count - 1;
  for (std::size_t index = first >> kPageBits; index <= last >> kPageBits; ++index) {
    if ((page_flags_[index] & kCodePage) == 0) continue;
    const std::size_t low = index << kPageBits, high = low + kPageBytes - 1;
    if (first <= low && last >= high) {
      for (auto& list : pages_) list[index].reset();
      page_flags_[index] &= static_cast<std::uint8_t>(~kCodePage);
      continue;
    }
    for (std::size_t at = std::max(first, low) & ~std::size_t{7}; at <= std::min(last, high); at += 8)
      code_stored(static_cast<std::uint32_t>(at));
  }
}

}  // namespace tessera
