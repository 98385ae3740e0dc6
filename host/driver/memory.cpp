// Memory of tiles: through BAR2, and by the chips' loaders, which read their records from host memory. See driver.h.
#include <algorithm>
#include <cstring>

#include "host/driver/driver_impl.h"

namespace tessera::driver {

void Driver::Impl::access_tile(unsigned ipu, unsigned tile, Address address, std::uint32_t* words, std::size_t count,
                               bool write) {
  Device& d = at(ipu);
  if (tile >= d.info.tiles || address % 4 != 0 || address < kSramBase ||
      address - kSramBase + std::uint64_t{4} * count > d.info.sram_bytes)
    throw Error(Category::usage, "access outside tile memory",
                fmt::format("{} tile {} address 0x{:x}, {} words", name(d), tile, address, count));
  if (count >= kDmaWords && d.claimed)
    return move_by_dma(d, std::uint64_t{tile} * d.info.sram_bytes + (address - kSramBase), words, count, write);
  const std::uint64_t bus = d.info.tile_memory + std::uint64_t{tile} * d.info.sram_bytes + (address - kSramBase);
  for (std::size_t done = 0; done < count;) {
    const std::size_t piece = std::min(count - done, kWordsAtOnce);
    auto* bytes = reinterpret_cast<std::uint8_t*>(words + done);
    const PciStatus status =
        write ? t.memory_write(bus + 4 * done, bytes, 4 * piece) : t.memory_read(bus + 4 * done, bytes, 4 * piece);
    if (status == PciStatus::completer_abort)
      throw Error(Category::device_exception, "the IPU refused an access to the memory of a running tile",
                  fmt::format("{} tile {} address 0x{:x}", name(d), tile, address),
                  "access tiles before start, in a host sync or after the program has stopped");
    if (status != PciStatus::ok)
      throw Error(Category::device_exception, "no answer from tile memory",
                  fmt::format("{} tile {}; {}", name(d), tile, logged(d)));
    // A device that is gone answers like one whose memory holds ones.
    if (!write && words[done] == 0xffffffff && words[done + piece - 1] == 0xffffffff) check_alive(d);
    done += piece;
  }
}

void Driver::Impl::await(Device& d, std::uint32_t causes, std::uint64_t limit_ns, const char* what) {
  const std::uint64_t begin = t.now_ns();
  while ((d.pending & causes) == 0) {
    const std::uint64_t spent = t.now_ns() - begin;
    if (spent < limit_ns && wait_for_interrupt(limit_ns - spent)) continue;
    check_alive(d);
    const std::string errors = logged(d);  // a request that was lost on its way says why
    throw Error(errors.empty() ? Category::no_progress : Category::device_exception,
                fmt::format("the chip's {} did not end in time", what),
                name(d) + (errors.empty() ? "" : "; " + errors), "recover the IPU, or power its card off and on");
  }
  d.pending &= ~causes;
}

void Driver::Impl::move_by_dma(Device& d, std::uint64_t tile_byte, std::uint32_t* words, std::size_t count,
                               bool write) {
  const std::size_t bytes = 4 * count;
  const std::uint64_t host = heap.allocate(bytes);
  if (write) std::memcpy(heap.data(host), words, bytes);
  const std::uint32_t registers[] = {static_cast<std::uint32_t>(host),
                                     static_cast<std::uint32_t>(host >> 32),
                                     static_cast<std::uint32_t>(tile_byte),
                                     static_cast<std::uint32_t>(tile_byte >> 32),
                                     static_cast<std::uint32_t>(bytes),
                                     static_cast<std::uint32_t>(chip::kDmaControlToHost.set(0, !write)),
                                     static_cast<std::uint32_t>(chip::kDmaGoStart.mask())};
  static_assert(chip::kDmaGo - chip::kDmaHostLow == sizeof registers - 4);
  check(d,
        t.memory_write(d.info.registers + chip::kDmaHostLow, reinterpret_cast<const std::uint8_t*>(registers),
                       sizeof registers),
        chip::kDmaHostLow);
  constexpr std::uint32_t kEnds = 1u << kDmaDone | 1u << kDmaFailed;
  await(d, kEnds, kLoadLimitNs * (1 + (bytes >> 20)), "DMA engine");
  const std::uint32_t status = read(d, chip::kDmaStatus);
  this->write(d, chip::kDmaStatus, status);
  this->write(d, chip::kInterruptStatus, kEnds);
  if (!write) std::memcpy(words, heap.data(host), bytes);
  heap.release(host);
  if (chip::kDmaStatusDone.get(status) != 0) return;
  constexpr std::uint32_t kTilesRun = 7;
  const std::uint64_t error = chip::kDmaStatusError.get(status);
  if (error == kTilesRun)
    throw Error(Category::device_exception, "the IPU refused an access to the memory of a running tile", name(d),
                "access tiles before start, in a host sync or after the program has stopped");
  const std::string errors = logged(d);
  throw Error(Category::device_exception, fmt::format("the chip's DMA engine stopped with error {}", error),
              fmt::format("{}{}{}", name(d), errors.empty() ? "" : "; ", errors),
              "docs/machine/registers.md, dma_status, lists the errors");
}

bool Driver::Impl::loader_done(Device& d, std::uint64_t limit_ns) {
  await(d, 1u << kLoader, limit_ns, "loader");
  const bool failed = chip::kStatusLoaderError.get(read(d, chip::kStatus)) != 0;
  write(d, chip::kInterruptStatus, 1u << kLoader);
  return !failed;
}

void Driver::Impl::check_records(const Device& d, const std::vector<LoadRecord>& records) const {
  for (const LoadRecord& r : records) {
    if ((r.tile != LoadRecord::kAllTiles && r.tile >= d.info.tiles) || r.address < kSramBase || r.address % 4 != 0 ||
        r.address - kSramBase + std::uint64_t{4} * r.words.size() > d.info.sram_bytes)
      throw Error(Category::usage, "a load record lies outside tile memory",
                  fmt::format("{} tile {} address 0x{:x}, {} words", name(d), r.tile, r.address, r.words.size()));
  }
}

void Driver::load(const std::vector<unsigned>& ipus, const std::vector<LoadRecord>& records) {
  if (records.empty()) return;
  for (const unsigned ipu : ipus) impl_->check_records(impl_->own(ipu), records);
  std::size_t words = 0;
  for (const LoadRecord& r : records) words += r.words.size();
  const std::uint64_t list = impl_->heap.allocate(loader_record::kBytes * records.size());
  const std::uint64_t image = impl_->heap.allocate(4 * words);
  std::uint8_t* entry = impl_->heap.data(list);
  std::size_t at = 0;
  for (const LoadRecord& r : records) {
    const std::uint64_t from = image + 4 * at;
    const auto count = static_cast<std::uint32_t>(r.words.size());
    const auto tile = static_cast<std::uint16_t>(r.tile);
    const std::uint32_t offset = r.address - kSramBase;
    std::memcpy(entry + loader_record::host_address, &from, 8);
    std::memcpy(entry + loader_record::words, &count, 4);
    std::memcpy(entry + loader_record::tile, &tile, 2);
    std::memcpy(entry + loader_record::class_mask, &r.class_mask, 2);
    std::memcpy(entry + loader_record::offset, &offset, 4);
    std::memcpy(impl_->heap.data(image) + 4 * at, r.words.data(), 4 * r.words.size());
    entry += loader_record::kBytes;
    at += r.words.size();
  }
  for (const unsigned ipu : ipus) {
    const Device& d = impl_->at(ipu);
    impl_->write(d, chip::kLoaderListLow, static_cast<std::uint32_t>(list));
    impl_->write(d, chip::kLoaderListHigh, static_cast<std::uint32_t>(list >> 32));
    impl_->write(d, chip::kLoaderCount, static_cast<std::uint32_t>(records.size()));
    impl_->write(d, chip::kLoaderGo, 1);
  }
  const std::uint64_t limit = kLoadLimitNs * (1 + (4 * words >> 20)) * ipus.size();
  const Device* failed = nullptr;
  for (const unsigned ipu : ipus)
    if (!impl_->loader_done(impl_->at(ipu), limit) && failed == nullptr) failed = &impl_->at(ipu);
  impl_->heap.release(list);
  impl_->heap.release(image);
  if (failed != nullptr) {
    const std::string errors = impl_->logged(*failed);
    throw Error(Category::device_exception, "the chip's loader stopped with an error",
                impl_->name(*failed) + (errors.empty() ? "" : "; " + errors),
                errors.empty() ? "load before start, in a host sync or after reset"
                               : "its reads of host memory failed: recover the IPU and load again");
  }
}

void Driver::write_tile(unsigned ipu, unsigned tile, Address address, const std::uint32_t* words, std::size_t count) {
  (void)impl_->own(ipu);
  impl_->access_tile(ipu, tile, address, const_cast<std::uint32_t*>(words), count, true);
}

void Driver::read_tile(unsigned ipu, unsigned tile, Address address, std::uint32_t* words, std::size_t count) {
  impl_->access_tile(ipu, tile, address, words, count, false);
}

}  // namespace tessera::driver
