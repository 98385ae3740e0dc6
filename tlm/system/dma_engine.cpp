// See dma_engine.h.
#include "tlm/system/dma_engine.h"

#include <algorithm>
#include <cstring>

#include "hw/generated/machine.h"
#include "hw/generated/registers.h"

namespace tessera {

using namespace reg::chip;

namespace {
constexpr std::uint64_t kPage = 4096;  // no request crosses it
constexpr unsigned kOrder = 1;         // after the packets and the loader of the same chip
constexpr std::uint32_t kMostDescriptors = 0x10000;

template <typename T>
T field(const std::uint8_t* record, std::uint32_t offset) {
  T value = 0;
  std::memcpy(&value, record + offset, sizeof value);
  return value;
}
}  // namespace

DmaEngine::Error DmaEngine::error_of(pcie::Completion completion) {
  using E = Error;
  switch (completion) {
    case pcie::Completion::ok:
      return E::none;
    case pcie::Completion::unsupported_request:
      return E::unsupported;
    case pcie::Completion::completer_abort:
      return E::abort;
    case pcie::Completion::timeout:
      return E::timeout;
    case pcie::Completion::poisoned:
      return E::poisoned;
    case pcie::Completion::not_master:
      return E::not_master;
    case pcie::Completion::link_down:
      break;
  }
  return E::link_down;
}

DmaEngine::DmaEngine(const sc_core::sc_module_name& name, pcie::Endpoint& endpoint, DmaMemory& memory,
                     std::function<void(bool)> ended)
    : sc_module(name), endpoint_(endpoint), memory_(memory), ended_(std::move(ended)) {
  SC_HAS_PROCESS(DmaEngine);
  SC_THREAD(process);
}

bool DmaEngine::owns(std::uint32_t offset) { return offset >= kDmaHostLow && offset <= kDmaMoved; }

std::uint32_t DmaEngine::read(std::uint32_t offset) const {
  switch (offset) {
    case kDmaHostLow:
      return static_cast<std::uint32_t>(host_);
    case kDmaHostHigh:
      return static_cast<std::uint32_t>(host_ >> 32);
    case kDmaTileLow:
      return static_cast<std::uint32_t>(tile_);
    case kDmaTileHigh:
      return static_cast<std::uint32_t>(tile_ >> 32);
    case kDmaBytes:
      return bytes_;
    case kDmaControl:
      return control_;
    case kDmaMoved:
      return moved_;
    case kDmaStatus: {
      std::uint64_t value = kDmaStatusBusy.set(0, busy_);
      value = kDmaStatusDone.set(value, done_);
      value = kDmaStatusFailed.set(value, failed_);
      value = kDmaStatusOverrun.set(value, overrun_);
      value = kDmaStatusError.set(value, static_cast<unsigned>(error_));
      return static_cast<std::uint32_t>(kDmaStatusDescriptor.set(value, bad_));
    }
    default:
      return 0;
  }
}

void DmaEngine::write(std::uint32_t offset, std::uint32_t value) {
  const auto low = [value](std::uint64_t old) { return (old & ~std::uint64_t{0xffffffff}) | value; };
  const auto high = [value](std::uint64_t old) { return (old & 0xffffffff) | std::uint64_t{value} << 32; };
  switch (offset) {
    case kDmaHostLow:
      host_ = low(host_);
      return;
    case kDmaHostHigh:
      host_ = high(host_);
      return;
    case kDmaTileLow:
      tile_ = low(tile_);
      return;
    case kDmaTileHigh:
      tile_ = high(tile_);
      return;
    case kDmaBytes:
      bytes_ = value;
      return;
    case kDmaControl:
      control_ = value & static_cast<std::uint32_t>(kDmaControlToHost.mask() | kDmaControlList.mask());
      return;
    case kDmaGo:
      if (kDmaGoStop.get(value) != 0 && busy_) stop_ = true;
      if (kDmaGoStart.get(value) != 0) {
        overrun_ = overrun_ || busy_;
        if (!busy_) {
          busy_ = start_ = true;
          stop_ = done_ = failed_ = false;
          error_ = Error::none;
          bad_ = moved_ = 0;
        }
      }
      command_.notify(sc_core::SC_ZERO_TIME);
      return;
    case kDmaStatus:
      if (kDmaStatusDone.get(value) != 0) done_ = false;
      if (kDmaStatusOverrun.get(value) != 0) overrun_ = false;
      if (kDmaStatusFailed.get(value) != 0 && !busy_) failed_ = false, error_ = Error::none, bad_ = 0;
      return;
    default:
      return;
  }
}

void DmaEngine::reset() {
  ++resets_;
  flights_.clear();
  host_ = tile_ = bytes_ = control_ = moved_ = 0;
  busy_ = done_ = failed_ = overrun_ = start_ = stop_ = false;
  error_ = Error::none;
  bad_ = 0;
  command_.notify(sc_core::SC_ZERO_TIME);
}

void DmaEngine::process() {
  for (;;) {
    while (!start_) wait(command_);
    start_ = false;
    run();
  }
}

void DmaEngine::run() {
  const unsigned resets = resets_;
  closed_ = false;
  work_.clear();
  const bool to_host = kDmaControlToHost.get(control_) != 0;
  if (kDmaControlList.get(control_) == 0)
    work_.push_back({host_, tile_, bytes_, to_host});
  else if (!fetch_list())
    return;
  if (error_ == Error::none) move();
  if (resets == resets_) finish();
}

void DmaEngine::finish() {
  busy_ = false;
  failed_ = error_ != Error::none;
  done_ = !failed_;
  stop_ = false;
  ended_(done_);
}

void DmaEngine::close(Error error, std::size_t descriptor) {
  closed_ = true;
  Flight mark;
  mark.error = error;
  mark.descriptor = descriptor;
  mark.end = flights_.empty() ? sc_core::sc_time_stamp() : flights_.back().end;
  flights_.push_back(std::move(mark));
}

void DmaEngine::fail(Error error, std::size_t descriptor) {
  closed_ = true;
  if (error_ != Error::none) return;  // the first one counts
  error_ = error;
  bad_ = descriptor;
}

bool DmaEngine::pass_time(const sc_core::sc_time& until) {
  const unsigned resets = resets_;
  sc_core::sc_time next = until;
  if (!flights_.empty()) next = std::min(next, flights_.front().end);
  if (next > sc_core::sc_time_stamp()) wait(next - sc_core::sc_time_stamp(), command_);
  return resets == resets_;
}

void DmaEngine::issue(const Descriptor& piece, std::size_t number, bool is_list) {
  const unsigned resets = resets_;
  Flight flight{piece.to_host, is_list, piece.tile, std::vector<std::uint8_t>(piece.bytes), {}, Error::none, number};
  if (!is_list && !memory_.tiles_accessible()) return close(Error::tiles_run, number);
  if (piece.to_host) memory_.read_tiles(piece.tile, flight.bytes.data(), piece.bytes);
  sc_core::sc_time delay;
  flight.error = error_of(endpoint_.dma(piece.to_host, piece.host, flight.bytes.data(), piece.bytes, delay, kOrder));
  if (resets != resets_) return;
  if (flight.error == Error::not_master || flight.error == Error::link_down) return close(flight.error, number);
  flight.end = sc_core::sc_time_stamp() + delay;
  flights_.push_back(std::move(flight));
}

void DmaEngine::retire() {
  while (!flights_.empty() && flights_.front().end <= sc_core::sc_time_stamp()) {
    const Flight flight = std::move(flights_.front());
    flights_.pop_front();
    if (flight.error != Error::none) fail(flight.error, flight.descriptor);
    if (error_ != Error::none) continue;  // what comes behind an error is not used
    if (flight.is_list) {
      std::copy(flight.bytes.begin(), flight.bytes.end(), list_.begin() + static_cast<std::ptrdiff_t>(flight.place));
      continue;
    }
    if (!flight.to_host) {
      if (!endpoint_.config().bus_master()) {
        fail(Error::not_master, flight.descriptor);
        continue;
      }
      if (!memory_.tiles_accessible()) {
        fail(Error::tiles_run, flight.descriptor);
        continue;
      }
      memory_.write_tiles(flight.place, flight.bytes.data(), flight.bytes.size());
    }
    moved_ += static_cast<std::uint32_t>(flight.bytes.size());
  }
}

bool DmaEngine::fetch_list() {
  if (host_ % 8 != 0 || bytes_ > kMostDescriptors) {
    fail(Error::bad_descriptor, 0);
    return true;
  }
  list_.assign(std::size_t{dma_descriptor::kBytes} * bytes_, 0);
  const unsigned resets = resets_;
  for (std::uint64_t done = 0;;) {
    retire();
    if (closed_ || done == list_.size()) {
      if (flights_.empty()) break;
      if (!pass_time(flights_.front().end)) return false;
      continue;
    }
    const std::uint64_t at = host_ + done;
    const auto piece = static_cast<std::uint32_t>(
        std::min<std::uint64_t>({list_.size() - done, kPage - at % kPage, endpoint_.largest_request(false)}));
    const sc_core::sc_time room = endpoint_.room(false, piece);
    if (room != sc_core::SC_ZERO_TIME) {
      if (!pass_time(sc_core::sc_time_stamp() + room)) return false;
      continue;
    }
    issue({at, done, piece, false}, 0, true);
    if (resets != resets_) return false;
    done += piece;
  }
  for (std::size_t d = 0; d < bytes_ && error_ == Error::none; ++d) {
    const std::uint8_t* record = list_.data() + d * dma_descriptor::kBytes;
    const auto control = field<std::uint32_t>(record, dma_descriptor::control);
    if ((control & ~1u) != 0) fail(Error::bad_descriptor, d);
    work_.push_back({field<std::uint64_t>(record, dma_descriptor::host_address),
                     field<std::uint64_t>(record, dma_descriptor::tile_offset),
                     field<std::uint32_t>(record, dma_descriptor::length), (control & 1) != 0});
  }
  return true;
}

void DmaEngine::move() {
  const unsigned resets = resets_;
  std::size_t number = 0;
  std::uint32_t done = 0;  // bytes of descriptor `number`
  for (;;) {
    retire();
    if (stop_ && !closed_) close(Error::stopped, number);
    while (number < work_.size() && done == work_[number].bytes) ++number, done = 0;
    if (closed_ || number == work_.size()) {
      if (flights_.empty()) return;
      if (!pass_time(flights_.front().end)) return;
      continue;
    }
    const Descriptor& d = work_[number];
    if (d.tile > memory_.tile_bytes() || d.bytes > memory_.tile_bytes() - d.tile) {
      close(Error::outside, number);
      continue;
    }
    const std::uint64_t host = d.host + done;
    const auto piece = static_cast<std::uint32_t>(
        std::min<std::uint64_t>({d.bytes - done, kPage - host % kPage, endpoint_.largest_request(d.to_host)}));
    const sc_core::sc_time room = endpoint_.room(d.to_host, piece);
    if (room != sc_core::SC_ZERO_TIME) {
      if (!pass_time(sc_core::sc_time_stamp() + room)) return;
      continue;
    }
    issue({host, d.tile + done, piece, d.to_host}, number, false);
    if (resets != resets_) return;
    done += piece;
  }
}

}  // namespace tessera
