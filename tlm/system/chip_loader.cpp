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
    const pcie::Completion answer = endpoint_.dma(write, address + done, bytes + done, piece, delay);
    if (answer != pcie::Completion::ok) {
      const bool refused = answer == pcie::Completion::unsupported_request || answer == pcie::Completion::not_master;
      if (!refused) pcie_failure_ = PcieFailure{answer, sc_core::sc_time_stamp() + delay};
      return false;
    }
    end = std::max(end, sc_core::sc_time_stamp() + delay);
    done += piece;
  }
  return true;
}

bool Chip::fetch(std::uint64_t address, std::vector<std::uint8_t>& bytes, sc_core::sc_time& end) {
  for (std::size_t done = 0; done < bytes.size();) {
    const std::size_t most = endpoint_.largest_request(false);
    const std::size_t piece = std::min<std::size_t>({bytes.size() - done, 4096 - (address + done) % 4096, most});
    if (const sc_core::sc_time room = endpoint_.room(false, piece); room != sc_core::SC_ZERO_TIME) {
      wait(room, command_);
      if (reset_request_) return false;
      continue;
    }
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    const pcie::Completion answer = endpoint_.dma(false, address + done, bytes.data() + done, piece, delay);
    end = std::max(end, sc_core::sc_time_stamp() + delay);
    if (answer != pcie::Completion::ok) return false;
    done += piece;
  }
  return true;
}

bool Chip::load_record(const std::uint8_t* record, std::deque<Loading>& loading) {
  const std::uint64_t host = field(record, loader_record::host_address, 8);
  const auto words = static_cast<std::uint32_t>(field(record, loader_record::words, 4));
  const auto tile = static_cast<unsigned>(field(record, loader_record::tile, 2));
  const auto mask = static_cast<unsigned>(field(record, loader_record::class_mask, 2));
  const auto offset = static_cast<std::uint32_t>(field(record, loader_record::offset, 4));
  if ((tile != kLoaderAllTiles && tile >= ipu_.tiles()) || offset % 4 != 0 ||
      offset + std::uint64_t{4} * words > ipu_.sram_bytes())
    return false;
  Loading next{sc_core::sc_time_stamp(), tile, mask, offset, std::vector<std::uint8_t>(std::size_t{4} * words)};
  const bool ok = fetch(host, next.bytes, next.end);
  if (!ok) next.bytes.clear();
  loading.push_back(std::move(next));
  return ok;
}

void Chip::store(const Loading& loaded) {
  const bool all = loaded.tile == kLoaderAllTiles;
  for (unsigned t = all ? 0 : loaded.tile; t < (all ? ipu_.tiles() : loaded.tile + 1); ++t) {
    const unsigned number = shadow(reg::chip::kClass + 4 * (t / 8)) >> (4 * (t % 8)) & 0xf;
    const bool active = (shadow(reg::chip::kActive + 4 * (t / 32)) >> (t % 32) & 1) != 0;
    if (!all || (active && (loaded.mask >> number & 1) != 0))
      ipu_.tile(t).write_memory(kSramBase + loaded.offset, loaded.bytes.data(), loaded.bytes.size());
  }
}

void Chip::walk_list() {
  loader_request_ = false;
  loader_error_ = running();  // tiles that run may not be written
  const std::uint64_t list =
      (std::uint64_t{shadow(reg::chip::kLoaderListHigh)} << 32) | shadow(reg::chip::kLoaderListLow);
  std::vector<std::uint8_t> records(std::size_t{loader_record::kBytes} * shadow(reg::chip::kLoaderCount));
  std::deque<Loading> loading;  // in order; what has come is in the tiles
  const auto wait_for = [this](const sc_core::sc_time& end) {
    while (end > sc_core::sc_time_stamp() && !reset_request_) wait(end - sc_core::sc_time_stamp(), command_);
  };
  sc_core::sc_time end = sc_core::sc_time_stamp();
  loader_error_ = loader_error_ || !fetch(list, records, end);
  wait_for(end);
  for (std::size_t at = 0; at < records.size() && !loader_error_ && !reset_request_; at += loader_record::kBytes) {
    loader_error_ = !load_record(records.data() + at, loading);
    for (; !loading.empty() && loading.front().end <= sc_core::sc_time_stamp(); loading.pop_front())
      store(loading.front());
  }
  for (; !loading.empty() && !reset_request_; loading.pop_front()) {
    wait_for(loading.front().end);
    if (!reset_request_) store(loading.front());
  }
  if (reset_request_) return;
  loader_busy_ = loader_request_;
  raise(kLoaderDone);
}

}  // namespace tessera
