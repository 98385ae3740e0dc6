// See msix.h.
#include "tlm/pcie/msix.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace tessera::pcie {

Msix::Msix(unsigned vectors, std::function<bool()> may_send, std::function<void(std::uint64_t, std::uint32_t)> send)
    : table_(4 * vectors), pending_(vectors), may_send_(std::move(may_send)), send_(std::move(send)) {
  reset();
}

void Msix::reset() {
  std::fill(table_.begin(), table_.end(), 0);
  for (std::size_t v = 0; v < pending_.size(); ++v) table_[4 * v + kMsixVectorControl / 4] = 1;
  std::fill(pending_.begin(), pending_.end(), false);
}

void Msix::raise(unsigned vector) {
  if (vector >= pending_.size()) throw std::logic_error("msix: vector beyond the table");
  pending_[vector] = true;
  update();
}

void Msix::update() {
  for (unsigned v = 0; v < pending_.size(); ++v) {
    const std::uint32_t* entry = &table_[4 * v];
    if (!pending_[v] || (entry[kMsixVectorControl / 4] & 1) != 0 || !may_send_()) continue;
    pending_[v] = false;
    send_((std::uint64_t{entry[1]} << 32) | (entry[0] & ~3u), entry[2]);
  }
}

bool Msix::word(std::uint64_t offset, std::uint32_t& value) const {
  if (offset >= kMsixTableOffset && offset < kMsixTableOffset + 4 * table_.size()) {
    value = table_[(offset - kMsixTableOffset) / 4];
    return true;
  }
  const std::uint64_t pending_bytes = (pending_.size() + 63) / 64 * 8;
  if (offset >= kMsixPendingOffset && offset < kMsixPendingOffset + pending_bytes) {
    value = 0;
    const std::size_t first = (offset - kMsixPendingOffset) * 8;
    for (std::size_t i = 0; i < 32 && first + i < pending_.size(); ++i)
      value |= std::uint32_t{pending_[first + i]} << i;
    return true;
  }
  return false;
}

bool Msix::read(std::uint64_t offset, std::uint8_t* bytes, std::size_t count) const {
  if ((count != 4 && count != 8) || offset % count != 0) return false;
  for (std::size_t i = 0; i < count; i += 4) {
    std::uint32_t value = 0;
    if (!word(offset + i, value)) return false;
    std::memcpy(bytes + i, &value, 4);
  }
  return true;
}

bool Msix::write(std::uint64_t offset, const std::uint8_t* bytes, std::size_t count) {
  if ((count != 4 && count != 8) || offset % count != 0) return false;
  std::uint32_t old = 0;
  if (!word(offset, old) || !word(offset + count - 4, old)) return false;
  if (offset < kMsixTableOffset + 4 * table_.size()) {
    for (std::size_t i = 0; i < count; i += 4) {
      const std::size_t at = (offset - kMsixTableOffset + i) / 4;
      std::memcpy(&table_[at], bytes + i, 4);
      if (at % 4 == kMsixVectorControl / 4) table_[at] &= 1;
    }
    update();
  }
  return true;  // writes to pending bits are lost
}

}  // namespace tessera::pcie
