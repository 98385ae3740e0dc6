// See driver.h.
#include "host/driver/driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>

#include "host/driver/enumerate.h"
#include "host/driver/host_heap.h"
#include "hw/error.h"
#include "hw/generated/machine.h"
#include "hw/generated/registers.h"
#include "hw/pcie.h"

namespace tessera::driver {

namespace chip = reg::chip;

namespace {

constexpr std::uint32_t kSignature = 0x54455353;  // register id
constexpr unsigned kHostSync = 0, kException = 1, kLoader = 2, kStopped = 3, kCauses = 5;
constexpr std::size_t kWordsAtOnce = 1024;  // of one access to tile memory

struct Buffer {
  std::uint64_t address = 0;
  std::size_t bytes = 0;
};

struct Device {
  IpuInfo info;
  std::map<unsigned, Buffer> buffers;
  std::uint32_t pending = 0;  ///< causes whose interrupts have come and were not yet handed on
  bool boots_later = false;   ///< boot_cycle is not 0
};

}  // namespace

class Driver::Impl {
 public:
  explicit Impl(Transport& transport) : t(transport) {
    t.attach(heap);
    for (const PciFunction& f : enumerate(t))
      if (f.vendor == pcie::kVendor && f.device == pcie::kDeviceIpu) claim(f);
    if (devices.empty())
      throw Error(Category::device_exception, "no IPU found on PCI Express", "",
                  "check the platform: cards, ipus_per_card");
  }

  Device& at(unsigned ipu) {
    if (ipu >= devices.size())
      throw Error(Category::usage, fmt::format("there is no IPU {}: the machine has {}", ipu, devices.size()));
    return devices[ipu];
  }

  std::string name(const Device& d) const {
    return fmt::format("IPU {} ({:02x}:{:02x}.{})", &d - devices.data(), d.info.function.bus, d.info.function.device,
                       d.info.function.function);
  }

  void claim(const PciFunction& f);
  void enable_msix(const PciFunction& f, unsigned ipu);

  std::uint32_t read(const Device& d, std::uint32_t offset) {
    std::uint32_t value = 0;
    const PciStatus status = t.memory_read(d.info.registers + offset, reinterpret_cast<std::uint8_t*>(&value), 4);
    check(d, status, offset);
    if (value == 0xffffffff) check_alive(d);
    return value;
  }

  void write(const Device& d, std::uint32_t offset, std::uint32_t value) {
    check(d, t.memory_write(d.info.registers + offset, reinterpret_cast<const std::uint8_t*>(&value), 4), offset);
  }

  std::uint64_t read_wide(const Device& d, std::uint32_t low) {
    const std::uint64_t bits = read(d, low);  // reading the low word latches the high one
    return bits | std::uint64_t{read(d, low + 4)} << 32;
  }

  void check(const Device& d, PciStatus status, std::uint32_t offset) const {
    if (status == PciStatus::ok) return;
    throw Error(Category::device_exception,
                status == PciStatus::timeout ? "the device does not answer" : "the device refused a register access",
                fmt::format("{} register 0x{:x}", name(d), offset));
  }

  /// All ones may be a value or a device that is gone: the signature tells.
  void check_alive(const Device& d) {
    std::uint32_t id = 0;
    t.memory_read(d.info.registers + chip::kId, reinterpret_cast<std::uint8_t*>(&id), 4);
    if (id != kSignature)
      throw Error(Category::device_exception, "the device is lost: its registers read all ones", name(d),
                  "reset the card and enumerate again");
  }

  void access_tile(unsigned ipu, unsigned tile, Address address, std::uint32_t* words, std::size_t count, bool write);
  std::optional<ExceptionInfo> exception(unsigned ipu);
  std::vector<Stand> where_tiles_stand(const Device& d);
  std::optional<Event> take_event();
  std::optional<Event> event_of(unsigned ipu, unsigned cause);
  void note(const Interrupt& interrupt);
  bool loader_done(Device& d);
  void check_records(const Device& d, const std::vector<LoadRecord>& records) const;
  void release_buffers(Device& d);

  Transport& t;
  HostHeap heap;
  std::vector<Device> devices;
};

void Driver::Impl::claim(const PciFunction& f) {
  const auto ipu = static_cast<unsigned>(devices.size());
  Device d;
  d.info.function = f.at;
  d.info.card = f.root_port;
  d.info.registers = f.bars[pcie::kBarRegisters].address;
  d.info.tile_memory = f.bars[pcie::kBarTiles].address;
  const std::uint32_t command = t.config_read(f.at, pcie::kCommand, 2);
  t.config_write(f.at, pcie::kCommand, 2,
                 command | pcie::kCommandMemory | pcie::kCommandBusMaster | pcie::kCommandIntxOff);
  devices.push_back(d);
  Device& device = devices.back();
  check_alive(device);
  device.info.tiles = read(device, chip::kTiles);
  device.info.sram_bytes = read(device, chip::kSramBytes);
  write(device, chip::kIpu, ipu);
  enable_msix(f, ipu);
}

void Driver::Impl::enable_msix(const PciFunction& f, unsigned ipu) {
  const unsigned at = find_capability(t, f.at, pcie::kCapMsix);
  if (at == 0) throw Error(Category::device_exception, "the device has no MSI-X", name(devices[ipu]));
  const std::uint32_t table = t.config_read(f.at, at + pcie::kMsixTable, 4);
  const std::uint64_t entries = f.bars[table & 7].address + (table & ~7u);
  for (unsigned cause = 0; cause < kCauses; ++cause) {
    // One message address for each IPU, the cause as data.
    const std::uint64_t address = pcie::kMessageBase + 0x1000 * std::uint64_t{ipu};
    const std::uint32_t entry[4] = {static_cast<std::uint32_t>(address), static_cast<std::uint32_t>(address >> 32),
                                    cause, 0};
    const PciStatus status =
        t.memory_write(entries + pcie::kMsixEntryBytes * cause, reinterpret_cast<const std::uint8_t*>(entry), 8);
    const PciStatus second = t.memory_write(entries + pcie::kMsixEntryBytes * cause + 8,
                                            reinterpret_cast<const std::uint8_t*>(entry + 2), 8);
    check(devices[ipu], status == PciStatus::ok ? second : status, pcie::kMsixTableOffset);
  }
  const std::uint32_t control = t.config_read(f.at, at + pcie::kMsixControl, 2);
  t.config_write(f.at, at + pcie::kMsixControl, 2, control | pcie::kMsixEnable);
}

void Driver::Impl::note(const Interrupt& interrupt) {
  const std::uint64_t ipu = (interrupt.address - pcie::kMessageBase) / 0x1000;
  if (interrupt.address < pcie::kMessageBase || ipu >= devices.size() || interrupt.data >= kCauses)
    throw Error(Category::device_exception, fmt::format("an interrupt that nobody asked for: address 0x{:x}, data {}",
                                                        interrupt.address, interrupt.data));
  devices[ipu].pending |= 1u << interrupt.data;
}

/// Nothing if the cause is gone: an interrupt of a run that was reset.
std::optional<Event> Driver::Impl::event_of(unsigned ipu, unsigned cause) {
  Device& d = devices[ipu];
  Event event;
  event.ipu = ipu;
  switch (cause) {
    case kHostSync: {
      const std::uint32_t status = read(d, chip::kSyncStatus);
      if (chip::kSyncStatusWaiting.get(status) == 0) return std::nullopt;
      event.kind = Event::Kind::host_sync;
      event.code = static_cast<std::uint32_t>(chip::kSyncStatusCode.get(status));
      event.vote = chip::kSyncStatusVote.get(status) != 0;
      break;
    }
    case kException:
      event.kind = Event::Kind::exception;
      if (const auto info = exception(ipu))
        event.exception = *info;
      else
        return std::nullopt;
      break;
    default:
      event.kind = Event::Kind::stopped;
  }
  write(d, chip::kInterruptStatus, 1u << cause);
  return event;
}

std::optional<Event> Driver::Impl::take_event() {
  // An exception matters more than what else has come.
  for (unsigned cause : {kException, kHostSync, kStopped})
    for (unsigned ipu = 0; ipu < devices.size(); ++ipu)
      if ((devices[ipu].pending >> cause & 1) != 0) {
        devices[ipu].pending &= ~(1u << cause);
        if (auto event = event_of(ipu, cause)) return event;
      }
  return std::nullopt;
}

std::vector<Stand> Driver::Impl::where_tiles_stand(const Device& d) {
  static const char* const kStatus[] = {"held",       "running", "in x.exchange", "in x.packet",
                                        "in x.sync ", "idle",    "excepted",      "ended"};
  static const char* const kZone[] = {"local", "internal", "group 1", "group 2", "host", "?", "?", "?"};
  std::map<std::pair<std::string, Address>, std::vector<unsigned>> groups;
  for (unsigned tile = 0; tile < d.info.tiles; ++tile) {
    const std::uint32_t state = read(d, chip::kTileState + 4 * tile);
    if (chip::kTileStateActive.get(state) == 0) continue;
    std::string what = kStatus[chip::kTileStateStatus.get(state) & 7];
    if (chip::kTileStateStatus.get(state) == 4) what += kZone[chip::kTileStateZone.get(state)];
    groups[{what, read(d, chip::kTilePc + 4 * tile)}].push_back(tile);
  }
  std::vector<Stand> stands;
  for (const auto& [what, tiles] : groups) {
    std::string line = tiles.size() == 1 ? "tile" : "tiles";
    for (std::size_t i = 0; i < tiles.size();) {
      std::size_t last = i;
      while (last + 1 < tiles.size() && tiles[last + 1] == tiles[last] + 1) ++last;
      line += fmt::format("{} {}", i == 0 ? "" : ",", tiles[i]);
      if (last > i) line += fmt::format("-{}", tiles[last]);
      i = last + 1;
    }
    stands.push_back({tiles, line + ": " + what.first, what.second});
  }
  std::sort(stands.begin(), stands.end(),
            [](const Stand& a, const Stand& b) { return a.tiles.front() < b.tiles.front(); });
  return stands;
}

std::optional<ExceptionInfo> Driver::Impl::exception(unsigned ipu) {
  Device& d = at(ipu);
  const std::uint32_t cause = read(d, chip::kExceptionCause);
  if (chip::kExceptionCauseValid.get(cause) == 0) return std::nullopt;
  ExceptionInfo info;
  info.ipu = ipu;
  info.tile = static_cast<unsigned>(chip::kExceptionCauseTile.get(cause));
  info.context = static_cast<unsigned>(chip::kExceptionCauseContext.get(cause));
  info.cause = static_cast<std::uint32_t>(chip::kExceptionCauseCause.get(cause));
  info.pc = read(d, chip::kExceptionPc);
  info.value = read(d, chip::kExceptionValue);
  info.cycle = read(d, chip::kExceptionCycleLow);
  info.cycle |= Cycle{read(d, chip::kExceptionCycleHigh)} << 32;
  if (info.tile < d.info.tiles) info.supervisor_pc = read(d, chip::kTilePc + 4 * info.tile);
  if (chip::kExceptionCauseChipFault.get(cause) == 0) {
    info.detail = cause_name(info.cause);
    return info;
  }
  static constexpr ExceptionInfo::Kind kKinds[] = {ExceptionInfo::Kind::zones_differ, ExceptionInfo::Kind::no_progress,
                                                   ExceptionInfo::Kind::host_access};
  info.kind = kKinds[std::min<std::uint32_t>(info.cause, 2)];
  info.cause = 0;
  info.stands = where_tiles_stand(d);
  for (const Stand& stand : info.stands)
    info.detail += fmt::format("{}{}, pc 0x{:08x}", info.detail.empty() ? "" : "\n", stand.text, stand.pc);
  return info;
}

void Driver::Impl::access_tile(unsigned ipu, unsigned tile, Address address, std::uint32_t* words, std::size_t count,
                               bool write) {
  Device& d = at(ipu);
  if (tile >= d.info.tiles || address % 4 != 0 || address < kSramBase ||
      address - kSramBase + std::uint64_t{4} * count > d.info.sram_bytes)
    throw Error(Category::usage, "access outside tile memory",
                fmt::format("{} tile {} address 0x{:x}, {} words", name(d), tile, address, count));
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
      throw Error(Category::device_exception, "no answer from tile memory", fmt::format("{} tile {}", name(d), tile));
    done += piece;
  }
}

bool Driver::Impl::loader_done(Device& d) {
  while ((d.pending >> kLoader & 1) == 0) {
    const auto interrupt = t.wait_interrupt(~std::uint64_t{0});
    if (interrupt) note(*interrupt);
  }
  d.pending &= ~(1u << kLoader);
  const bool failed = chip::kStatusLoaderError.get(read(d, chip::kStatus)) != 0;
  write(d, chip::kInterruptStatus, 1u << kLoader);
  return !failed;
}

void Driver::Impl::release_buffers(Device& d) {
  for (const auto& [index, buffer] : d.buffers) heap.release(buffer.address);
  d.buffers.clear();
}

Counters& Counters::operator+=(const Counters& other) {
  cycles = std::max(cycles, other.cycles);
  instructions += other.instructions;
  host_syncs += other.host_syncs;
  refused_accesses += other.refused_accesses;
  words_sent += other.words_sent;
  words_received += other.words_received;
  words_unheard += other.words_unheard;
  packets += other.packets;
  return *this;
}

Counters Counters::since(const Counters& earlier) const {
  Counters c;
  c.cycles = cycles - earlier.cycles;
  c.instructions = instructions - earlier.instructions;
  c.host_syncs = host_syncs - earlier.host_syncs;
  c.refused_accesses = refused_accesses - earlier.refused_accesses;
  c.words_sent = words_sent - earlier.words_sent;
  c.words_received = words_received - earlier.words_received;
  c.words_unheard = words_unheard - earlier.words_unheard;
  c.packets = packets - earlier.packets;
  return c;
}

Driver::Driver(Transport& transport) : impl_(std::make_unique<Impl>(transport)) {}
Driver::~Driver() = default;

unsigned Driver::ipus() const { return static_cast<unsigned>(impl_->devices.size()); }
const IpuInfo& Driver::info(unsigned ipu) const { return impl_->at(ipu).info; }

void Driver::reset(unsigned ipu) {
  Device& d = impl_->at(ipu);
  impl_->write(d, chip::kControl, static_cast<std::uint32_t>(chip::kControlReset.mask()));
  // The chip takes it when its tiles come to the end of their quantum.
  while (chip::kStatusRunning.get(impl_->read(d, chip::kStatus)) != 0) impl_->t.elapse(1000);
  impl_->release_buffers(d);
  // Messages of the run that was cut short are here by now: writes do not fall behind the answer to a read.
  while (const auto interrupt = impl_->t.wait_interrupt(0)) impl_->note(*interrupt);
  d.pending = 0;
  set_active(ipu, std::vector<bool>(d.info.tiles, true));
  set_classes(ipu, {});
  set_groups(ipu, false, false);
}

void Driver::set_active(unsigned ipu, const std::vector<bool>& active) {
  Device& d = impl_->at(ipu);
  std::vector<std::uint32_t> words((d.info.tiles + 31) / 32);
  for (std::size_t t = 0; t < std::min<std::size_t>(active.size(), d.info.tiles); ++t)
    words[t / 32] |= std::uint32_t{active[t]} << (t % 32);
  for (std::size_t i = 0; i < words.size(); ++i)
    impl_->write(d, chip::kActive + static_cast<std::uint32_t>(4 * i), words[i]);
}

void Driver::set_classes(unsigned ipu, const std::vector<std::uint8_t>& classes) {
  Device& d = impl_->at(ipu);
  std::vector<std::uint32_t> words((d.info.tiles + 7) / 8);
  for (std::size_t t = 0; t < std::min<std::size_t>(classes.size(), d.info.tiles); ++t)
    words[t / 8] |= std::uint32_t{classes[t] & 0xfu} << (4 * (t % 8));
  for (std::size_t i = 0; i < words.size(); ++i)
    impl_->write(d, chip::kClass + static_cast<std::uint32_t>(4 * i), words[i]);
}

void Driver::set_groups(unsigned ipu, bool group1, bool group2) {
  impl_->write(impl_->at(ipu), chip::kGroups,
               static_cast<std::uint32_t>(chip::kGroupsGs1.set(0, group1) | chip::kGroupsGs2.set(0, group2)));
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
  for (const unsigned ipu : ipus) impl_->check_records(impl_->at(ipu), records);
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
  const Device* failed = nullptr;
  for (const unsigned ipu : ipus)
    if (!impl_->loader_done(impl_->at(ipu)) && failed == nullptr) failed = &impl_->at(ipu);
  impl_->heap.release(list);
  impl_->heap.release(image);
  if (failed != nullptr)
    throw Error(Category::device_exception, "the chip's loader stopped with an error", impl_->name(*failed),
                "load before start, in a host sync or after reset");
}

std::uint8_t* Driver::attach_buffer(unsigned ipu, unsigned index, std::size_t bytes, bool read, bool write) {
  Device& d = impl_->at(ipu);
  if (index >= chip::kBufferBytesCount || bytes == 0 || bytes > 0xffffffff || d.buffers.count(index) != 0)
    throw Error(Category::usage, fmt::format("buffer {} of {} bytes cannot be attached", index, bytes), impl_->name(d),
                fmt::format("indices are 0..{}, each once; sizes 1..2^32-1", chip::kBufferBytesCount - 1));
  const Buffer buffer{impl_->heap.allocate(bytes), bytes};
  d.buffers[index] = buffer;
  const std::uint32_t entry = index * chip::kBufferBytesStride;
  impl_->write(d, chip::kBufferAddressLow + entry, static_cast<std::uint32_t>(buffer.address));
  impl_->write(d, chip::kBufferAddressHigh + entry, static_cast<std::uint32_t>(buffer.address >> 32));
  impl_->write(
      d, chip::kBufferControl + entry,
      static_cast<std::uint32_t>(chip::kBufferControlRead.set(0, read) | chip::kBufferControlWrite.set(0, write)));
  impl_->write(d, chip::kBufferBytes + entry, static_cast<std::uint32_t>(bytes));
  return impl_->heap.data(buffer.address);
}

std::uint8_t* Driver::buffer(unsigned ipu, unsigned index) {
  Device& d = impl_->at(ipu);
  if (d.buffers.count(index) == 0)
    throw Error(Category::usage, fmt::format("there is no buffer {}", index), impl_->name(d));
  return impl_->heap.data(d.buffers[index].address);
}

std::size_t Driver::buffer_bytes(unsigned ipu, unsigned index) const {
  const Device& d = impl_->at(ipu);
  return d.buffers.count(index) == 0 ? 0 : d.buffers.at(index).bytes;
}

void Driver::start(const std::vector<Boot>& boots) {
  for (const Boot& boot : boots) {
    const Device& d = impl_->at(boot.ipu);
    if (chip::kStatusRunning.get(impl_->read(d, chip::kStatus)) != 0)
      throw Error(Category::usage, "the IPU runs already", impl_->name(d), "reset it first");
    impl_->write(d, chip::kBootPc, boot.pc);
  }
  Cycle at = 0;  // as soon as the chip hears of it
  if (boots.size() > 1) {
    // What is written below is there in less time than as many reads take, each a way there and back.
    const Device& d = impl_->at(boots.front().ipu);
    const Cycle before = impl_->read_wide(d, chip::kCycleLow);
    const Cycle after = impl_->read_wide(d, chip::kCycleLow);
    at = after + (after - before) * (3 * boots.size() + 2);
  }
  for (const Boot& boot : boots) {
    Device& d = impl_->at(boot.ipu);
    if (at != 0 || d.boots_later) {
      impl_->write(d, chip::kBootCycleLow, static_cast<std::uint32_t>(at));
      impl_->write(d, chip::kBootCycleHigh, static_cast<std::uint32_t>(at >> 32));
      d.boots_later = at != 0;
    }
    impl_->write(d, chip::kBoot, 1);
  }
}

Event Driver::wait(std::uint64_t limit_ns) {
  const std::uint64_t begin = impl_->t.now_ns();
  for (;;) {
    if (auto event = impl_->take_event()) return *event;
    const std::uint64_t spent = impl_->t.now_ns() - begin;
    if (limit_ns != ~std::uint64_t{0} && spent >= limit_ns) return {};
    const auto interrupt = impl_->t.wait_interrupt(limit_ns == ~std::uint64_t{0} ? limit_ns : limit_ns - spent);
    if (!interrupt) return {};
    impl_->note(*interrupt);
  }
}

void Driver::acknowledge(unsigned ipu, bool vote, std::uint64_t service_ns) {
  Device& d = impl_->at(ipu);
  if (service_ns != 0) impl_->t.elapse(service_ns);
  if (chip::kSyncStatusWaiting.get(impl_->read(d, chip::kSyncStatus)) == 0)
    throw Error(Category::usage, "no host sync waits to be acknowledged", impl_->name(d));
  impl_->write(d, chip::kSyncAck, static_cast<std::uint32_t>(chip::kSyncAckVote.set(0, vote)));
}

void Driver::write_tile(unsigned ipu, unsigned tile, Address address, const std::uint32_t* words, std::size_t count) {
  impl_->access_tile(ipu, tile, address, const_cast<std::uint32_t*>(words), count, true);
}

void Driver::read_tile(unsigned ipu, unsigned tile, Address address, std::uint32_t* words, std::size_t count) {
  impl_->access_tile(ipu, tile, address, words, count, false);
}

std::optional<ExceptionInfo> Driver::exception(unsigned ipu) { return impl_->exception(ipu); }

Counters Driver::counters(unsigned ipu) {
  const Device& d = impl_->at(ipu);
  Counters c;
  c.cycles = impl_->read_wide(d, chip::kCycleLow);
  c.instructions = impl_->read_wide(d, chip::kInstructionsLow);
  c.host_syncs = impl_->read(d, chip::kSyncCount);
  c.refused_accesses = impl_->read(d, chip::kRefusedAccesses);
  c.words_sent = impl_->read_wide(d, chip::kWordsSentLow);
  c.words_received = impl_->read_wide(d, chip::kWordsReceivedLow);
  c.words_unheard = impl_->read_wide(d, chip::kWordsUnheardLow);
  c.packets = impl_->read(d, chip::kPackets);
  return c;
}

std::uint32_t Driver::read_register(unsigned ipu, std::uint32_t offset) { return impl_->read(impl_->at(ipu), offset); }
void Driver::write_register(unsigned ipu, std::uint32_t offset, std::uint32_t value) {
  impl_->write(impl_->at(ipu), offset, value);
}

std::string cause_name(std::uint32_t cause) {
  switch (cause) {
    case 0:
      return "jump to a misaligned address";
    case 1:
      return "fetch outside SRAM";
    case 2:
      return "illegal instruction";
    case 3:
      return "ebreak";
    case 4:
      return "misaligned load";
    case 5:
      return "load outside SRAM";
    case 6:
      return "misaligned store";
    case 7:
      return "store outside SRAM";
    case 11:
      return "ecall";
    case 25:
      return "x.exchange, x.packet or x.sync out of place";
    case 26:
      return "control transfer inside x.rpt";
    case 27:
      return "exchange underrun: no word in a listening cycle";
    case 28:
      return "exchange overrun: a descriptor starts too early";
    case 29:
      return "bad descriptor or address";
    case 30:
      return "packet outside its window or beyond the expected words";
    default:
      return fmt::format("cause {}", cause);
  }
}

}  // namespace tessera::driver
