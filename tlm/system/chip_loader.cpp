// The chip's loader: walks a list of records in host memory and writes tile memory, broadcasts by class. Requests go
// out back to back, so time is the link's rate and one latency. See chip.h, docs/machine/chip.md.
#include <algorithm>
#include <cstring>

#include "hw/generated/machine.h"
#include "hw/generated/registers.h"
#include "tlm/system/chip.h"

namespace tessera {

namespace {

constexpr unsigned kLoaderDone = 2;  // cause of the interrupt

std::uint64_t field(const std::uint8_t* record, std::uint32_t offset, std::size_t bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, record + offset, bytes);
  return value;
}

}  // namespace

bool Chip::move_host(bool write, std::uint64_t address, std::uint8_t* bytes, std::size_t count, sc_core::sc_time& end) {
  for (std::size_t done = 0; done < count;) {
    const std::size_t piece = std::min<std::size_t>(count - done, 4096 - (address + done) % 4096);
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    if (!endpoint_.dma(write, address + done, bytes + done, piece, delay)) return false;
    end = std::max(end, sc_core::sc_time_stamp() + delay);
    done += piece;
  }
  return true;
}

bool Chip::load_record(const std::uint8_t* record, sc_core::sc_time& end) {
  const std::uint64_t host = field(record, loader_record::host_address, 8);
  const auto words = static_cast<std::uint32_t>(field(record, loader_record::words, 4));
  const auto tile = static_cast<unsigned>(field(record, loader_record::tile, 2));
  const auto mask = static_cast<unsigned>(field(record, loader_record::class_mask, 2));
  const auto offset = static_cast<std::uint32_t>(field(record, loader_record::offset, 4));
  const bool all = tile == kLoaderAllTiles;
  if ((!all && tile >= ipu_.tiles()) || offset % 4 != 0 || offset + std::uint64_t{4} * words > ipu_.sram_bytes())
    return false;
  std::vector<std::uint8_t> bytes(std::size_t{4} * words);
  if (!move_host(false, host, bytes.data(), bytes.size(), end)) return false;
  for (unsigned t = all ? 0 : tile; t < (all ? ipu_.tiles() : tile + 1); ++t) {
    const unsigned number = shadow(reg::chip::kClass + 4 * (t / 8)) >> (4 * (t % 8)) & 0xf;
    const bool active = (shadow(reg::chip::kActive + 4 * (t / 32)) >> (t % 32) & 1) != 0;
    if (!all || (active && (mask >> number & 1) != 0))
      ipu_.tile(t).write_memory(kSramBase + offset, bytes.data(), bytes.size());
  }
  return true;
}

void Chip::walk_list() {
  loader_request_ = false;
  loader_error_ = running();  // tiles that run may not be written
  const std::uint64_t list =
      (std::uint64_t{shadow(reg::chip::kLoaderListHigh)} << 32) | shadow(reg::chip::kLoaderListLow);
  std::vector<std::uint8_t> records(std::size_t{loader_record::kBytes} * shadow(reg::chip::kLoaderCount));
  sc_core::sc_time end = sc_core::sc_time_stamp();
  loader_error_ = loader_error_ || !move_host(false, list, records.data(), records.size(), end);
  for (std::size_t at = 0; at < records.size() && !loader_error_; at += loader_record::kBytes)
    loader_error_ = !load_record(records.data() + at, end);
  if (end > sc_core::sc_time_stamp()) wait(end - sc_core::sc_time_stamp());
  loader_busy_ = loader_request_;
  raise(kLoaderDone);
}

}  // namespace tessera
