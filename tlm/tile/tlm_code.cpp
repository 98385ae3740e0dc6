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
    const unsigned line = index << (kPageBits - kLineBits);
    for (unsigned k = 0; k < kPageBytes / kLineBytes; ++k) line_flags_[line + k] |= kCodeLine;
  }
  return slot.get();
}

void TlmTile::decode(CodePage& page, unsigned index) {
  const std::uint32_t offset = page.address - kSramBase;
  page.decode(sram_.data() + offset, index);
  line_flags_[(offset + 4 * index) >> kLineBits] |= kCodeLine;
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

bool TlmTile::code_stored(std::uint32_t offset) {
  const unsigned index = offset >> kPageBits, word = (offset & (kPageBytes - 1)) / 4;
  bool changed = false, known = false;
  for (auto& list : pages_) {
    CodePage* at = list[index].get();
    if (at == nullptr) continue;
    if (at->known(word)) {
      at = own_page(at->role, index);
      at->forget(word);
      changed = true;
    }
    const unsigned first = word & ~(kLineBytes / 4 - 1);
    for (unsigned k = 0; changed && !known && k < kLineBytes / 4; k += 2) known = at->known(first + k);
  }
  // Data beside code: once nothing of the line is decoded, stores into it are as fast as any.
  if (changed && !known) line_flags_[offset >> kLineBits] &= static_cast<std::uint8_t>(~kCodeLine);
  return changed;
}

void TlmTile::memory_written(Address address, std::size_t count) {
  if (count == 0) return;
  const std::size_t first = address - kSramBase, last = first + count - 1;
  for (std::size_t line = first >> kLineBits; line <= last >> kLineBits; ++line) {
    if ((line_flags_[line] & kCodeLine) == 0) continue;
    const std::size_t page = line >> (kPageBits - kLineBits), low = page << kPageBits;
    if (first > low || last < low + kPageBytes - 1) {
      const std::size_t start = line << kLineBits, end = start + kLineBytes;
      for (std::size_t at = std::max(first, start) & ~std::size_t{7}; at <= std::min(last, end - 1); at += 8)
        code_stored(static_cast<std::uint32_t>(at));
      continue;
    }
    for (auto& list : pages_) list[page].reset();
    for (std::size_t k = 0; k < kPageBytes / kLineBytes; ++k)
      line_flags_[(low >> kLineBits) + k] &= static_cast<std::uint8_t>(~kCodeLine);
  }
}

}  // namespace tessera
