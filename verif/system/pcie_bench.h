// A stub host on PCI Express for tests: configuration and memory accesses by hand, plain host memory, no driver.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "host/driver/enumerate.h"
#include "hw/pcie.h"
#include "verif/system/bench.h"

namespace tessera::testing {

struct Bus : Machine {
  explicit Bus(const Platform& platform) : Bus(tlm_system(platform)) {}
  explicit Bus(const SystemConfig& config) : Machine(bare(config)) { transport.attach(memory); }

  std::uint32_t config(PciAddress at, unsigned offset, unsigned size) {
    return transport.config_read(at, offset, size);
  }
  void config(PciAddress at, unsigned offset, unsigned size, std::uint32_t value) {
    transport.config_write(at, offset, size, value);
  }
  std::uint32_t word(std::uint64_t address, PciStatus expect = PciStatus::ok) {
    std::uint32_t value = 0;
    EXPECT_EQ(transport.memory_read(address, reinterpret_cast<std::uint8_t*>(&value), 4), expect);
    return value;
  }
  void word(std::uint64_t address, std::uint32_t value) {
    EXPECT_EQ(transport.memory_write(address, reinterpret_cast<const std::uint8_t*>(&value), 4), PciStatus::ok);
  }
  /// Offset of an extended capability; 0 if absent.
  unsigned extended(PciAddress at, std::uint16_t id) {
    for (unsigned offset = pcie::kExtendedStart, n = 0; offset != 0 && n < 100; ++n) {
      const std::uint32_t head = config(at, offset, 4);
      if ((head & 0xffff) == id) return offset;
      offset = head >> 20;
    }
    return 0;
  }
  PlainMemory memory;
};

/// All endpoints enumerated and on; MSI-X of each sends vector v as message kMessageBase + 0x1000 x IPU, data v.
struct ReadyBus : Bus {
  explicit ReadyBus(const SystemConfig& config) : Bus(config) { set_up(); }
  explicit ReadyBus(const Platform& platform) : Bus(platform) { set_up(); }

  void set_up() {
    functions = driver::enumerate(transport);
    for (unsigned ipu = 0; ipu < functions.size(); ++ipu) enable(ipu);
  }
  void enable(unsigned ipu) {
    const driver::PciFunction& f = functions[ipu];
    config(f.at, pcie::kCommand, 2, pcie::kCommandMemory | pcie::kCommandBusMaster);
    const std::uint64_t table = f.bars[pcie::kBarMsix].address + pcie::kMsixTableOffset;
    for (unsigned v = 0; v < pcie::kVectors; ++v) {
      const std::uint64_t entry = table + pcie::kMsixEntryBytes * v;
      word(entry + pcie::kMsixAddressLow, static_cast<std::uint32_t>(pcie::kMessageBase + 0x1000 * ipu));
      word(entry + pcie::kMsixAddressHigh, 0);
      word(entry + pcie::kMsixData, v);
      word(entry + pcie::kMsixVectorControl, 0);
    }
    config(f.at, driver::find_capability(transport, f.at, pcie::kCapMsix) + pcie::kMsixControl, 2, pcie::kMsixEnable);
  }
  std::uint64_t reg(unsigned ipu, std::uint32_t offset) const {
    return functions[ipu].bars[pcie::kBarRegisters].address + offset;
  }
  std::uint64_t tile(unsigned ipu, std::uint64_t offset) const {
    return functions[ipu].bars[pcie::kBarTiles].address + offset;
  }
  void start_dma(unsigned ipu, bool to_host, std::uint64_t host, std::uint64_t tile_offset, std::uint32_t bytes) {
    set_dma(ipu, host, tile_offset, bytes, static_cast<std::uint32_t>(reg::chip::kDmaControlToHost.set(0, to_host)));
  }
  void start_dma_list(unsigned ipu, std::uint64_t list, std::uint32_t count) {
    set_dma(ipu, list, 0, count, static_cast<std::uint32_t>(reg::chip::kDmaControlList.mask()));
  }
  void set_dma(unsigned ipu, std::uint64_t host, std::uint64_t tile_offset, std::uint32_t bytes,
               std::uint32_t control) {
    const std::uint32_t words[] = {static_cast<std::uint32_t>(host),
                                   static_cast<std::uint32_t>(host >> 32),
                                   static_cast<std::uint32_t>(tile_offset),
                                   static_cast<std::uint32_t>(tile_offset >> 32),
                                   bytes,
                                   control,
                                   1};
    // One write of consecutive registers: the last one is dma_go.
    EXPECT_EQ(transport.memory_write(reg(ipu, reg::chip::kDmaHostLow), reinterpret_cast<const std::uint8_t*>(words),
                                     sizeof words),
              PciStatus::ok);
  }
  std::uint32_t dma_status(unsigned ipu) { return word(reg(ipu, reg::chip::kDmaStatus)); }
  /// Waits for the engine's interrupt and takes note of it; true if it was that of success.
  bool dma_ended(unsigned ipu, std::uint64_t limit_ns = 1'000'000) {
    const auto message = transport.wait_interrupt(limit_ns);
    if (!message) {
      ADD_FAILURE() << "no interrupt of the DMA engine";
      return false;
    }
    EXPECT_EQ(message->address, pcie::kMessageBase + 0x1000 * ipu);
    EXPECT_TRUE(message->data == 5 || message->data == 6) << message->data;
    word(reg(ipu, reg::chip::kInterruptStatus), 0x60);
    return message->data == 5;
  }
  unsigned dma_error(unsigned ipu) { return static_cast<unsigned>(reg::chip::kDmaStatusError.get(dma_status(ipu))); }
  /// Bytes of tile memory, seen without time passing.
  std::vector<std::uint8_t> peek(unsigned ipu, std::uint64_t offset, std::size_t count) {
    std::vector<std::uint8_t> bytes(count);
    EXPECT_EQ(transport.debug(tile(ipu, offset), false, bytes.data(), count), count);
    return bytes;
  }
  void poke(unsigned ipu, std::uint64_t offset, std::vector<std::uint8_t> bytes) {
    EXPECT_EQ(transport.debug(tile(ipu, offset), true, bytes.data(), bytes.size()), bytes.size());
  }
  std::vector<driver::PciFunction> functions;
};

}  // namespace tessera::testing
