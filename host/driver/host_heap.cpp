// See host_heap.h.
#include "host/driver/host_heap.h"

#include <cstring>

namespace tessera::driver {

std::uint64_t HostHeap::allocate(std::size_t bytes) {
  const std::uint64_t address = next_;
  next_ += (bytes + 0xfff) / 0x1000 * 0x1000 + 0x1000;
  blocks_[address].resize(bytes);
  return address;
}

void HostHeap::release(std::uint64_t address) { blocks_.erase(address); }

std::uint8_t* HostHeap::data(std::uint64_t address) { return blocks_.at(address).data(); }
std::size_t HostHeap::size(std::uint64_t address) const { return blocks_.at(address).size(); }

std::uint8_t* HostHeap::find(std::uint64_t address, std::size_t count) {
  auto next = blocks_.upper_bound(address);
  if (next == blocks_.begin()) return nullptr;
  auto& [start, bytes] = *--next;
  const std::uint64_t offset = address - start;
  return offset <= bytes.size() && count <= bytes.size() - offset ? bytes.data() + offset : nullptr;
}

bool HostHeap::dma_read(std::uint64_t address, std::uint8_t* bytes, std::size_t count) {
  const std::uint8_t* from = find(address, count);
  if (from == nullptr) return false;
  std::memcpy(bytes, from, count);
  return true;
}

bool HostHeap::dma_write(std::uint64_t address, const std::uint8_t* bytes, std::size_t count) {
  std::uint8_t* to = find(address, count);
  if (to == nullptr) return false;
  std::memcpy(to, bytes, count);
  return true;
}

}  // namespace tessera::driver
