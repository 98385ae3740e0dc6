// Host memory that the driver lends to devices: allocations at bus addresses, and the bounds of each for bus mastering.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "host/driver/transport.h"

namespace tessera::driver {

class HostHeap : public HostMemory {
 public:
  /// First address of what is allocated from now on.
  void start_at(std::uint64_t address) { next_ = address; }
  /// Zeroed memory at a bus address aligned to 4 KiB; a guard page follows. Stays in place until release().
  std::uint64_t allocate(std::size_t bytes);
  void release(std::uint64_t address);
  [[nodiscard]] std::uint8_t* data(std::uint64_t address);
  [[nodiscard]] std::size_t size(std::uint64_t address) const;

  bool dma_read(std::uint64_t address, std::uint8_t* bytes, std::size_t count) override;
  bool dma_write(std::uint64_t address, const std::uint8_t* bytes, std::size_t count) override;

 private:
  /// Start of `count` bytes at `address`; nullptr if any byte is outside one allocation.
  std::uint8_t* find(std::uint64_t address, std::size_t count);
  std::map<std::uint64_t, std::vector<std::uint8_t>> blocks_;
  std::uint64_t next_ = 0x1'0000'0000;
};

}  // namespace tessera::driver
