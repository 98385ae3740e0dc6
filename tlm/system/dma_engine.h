// The DMA engine of a chip: moves bytes between host memory and tile memory by bus mastering, one transfer or a list of
// descriptors (hw/registers/chip.toml, dma_*). Keeps as many requests on the way as the endpoint allows; bytes are in a
// tile, or taken out of it, at the time of their request or completion. What tile memory is, and when it may be
// touched, is the chip's.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <systemc>
#include <vector>

#include "tlm/pcie/endpoint.h"

namespace tessera {

/// Tile memory as BAR2 shows it: tile t at t x SRAM size.
class DmaMemory {
 public:
  virtual ~DmaMemory() = default;
  [[nodiscard]] virtual std::uint64_t tile_bytes() const = 0;
  /// Tiles may be accessed now (docs/machine/chip.md).
  [[nodiscard]] virtual bool tiles_accessible() const = 0;
  /// Within tile_bytes(), any byte.
  virtual void read_tiles(std::uint64_t offset, std::uint8_t* bytes, std::size_t count) = 0;
  virtual void write_tiles(std::uint64_t offset, const std::uint8_t* bytes, std::size_t count) = 0;
};

class DmaEngine : public sc_core::sc_module {
 public:
  enum class Error : std::uint8_t {
    none = 0,
    unsupported = 1,
    abort = 2,
    timeout = 3,
    poisoned = 4,
    not_master = 5,
    outside = 6,
    tiles_run = 7,
    stopped = 8,
    link_down = 9,
    bad_descriptor = 10,
  };

  [[nodiscard]] static Error error_of(pcie::Completion completion);

  /// `ended(ok)` is called when a transfer or list has ended, at that time.
  DmaEngine(const sc_core::sc_module_name& name, pcie::Endpoint& endpoint, DmaMemory& memory,
            std::function<void(bool)> ended);

  /// Registers dma_host_low..dma_moved, by offset in the block.
  [[nodiscard]] static bool owns(std::uint32_t offset);
  [[nodiscard]] std::uint32_t read(std::uint32_t offset) const;
  void write(std::uint32_t offset, std::uint32_t value);
  /// As after power-on; what is on the way is dropped.
  void reset();

 private:
  struct Descriptor {
    std::uint64_t host = 0, tile = 0;
    std::uint32_t bytes = 0;
    bool to_host = false;
  };
  /// A request on the way.
  struct Flight {
    bool to_host = false, is_list = false;
    std::uint64_t place = 0;  ///< byte of tile memory, or of the list
    std::vector<std::uint8_t> bytes;
    sc_core::sc_time end;
    Error error = Error::none;
    std::size_t descriptor = 0;
  };

  void process();
  void run();
  [[nodiscard]] bool fetch_list();
  void move();
  /// Lets time pass until the next completion or `until`; false if a reset has come.
  [[nodiscard]] bool pass_time(const sc_core::sc_time& until);
  void issue(const Descriptor& piece, std::size_t number, bool is_list);
  void retire();
  /// Nothing more is issued; the error counts when what is on the way has ended.
  void close(Error error, std::size_t descriptor);
  void fail(Error error, std::size_t descriptor);
  void finish();

  pcie::Endpoint& endpoint_;
  DmaMemory& memory_;
  std::function<void(bool)> ended_;
  sc_core::sc_event command_;

  std::uint64_t host_ = 0, tile_ = 0;
  std::uint32_t bytes_ = 0, control_ = 0;
  bool busy_ = false, done_ = false, failed_ = false, overrun_ = false, start_ = false, stop_ = false;
  Error error_ = Error::none;
  std::size_t bad_ = 0;
  std::uint32_t moved_ = 0;
  unsigned resets_ = 0;

  bool closed_ = false;
  std::vector<Descriptor> work_;
  std::vector<std::uint8_t> list_;
  std::deque<Flight> flights_;
};

}  // namespace tessera
