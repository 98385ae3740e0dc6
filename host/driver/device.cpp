// Finding, claiming, resetting and recovering IPUs; register access. See driver.h.
#include <algorithm>
#include <cstring>

#include "host/driver/driver_impl.h"

namespace tessera::driver {

namespace {

/// Heaps of drivers on one transport lie apart: driver n's begins at n TiB, the first one's at 4 GiB.
constexpr std::uint64_t kHeapStride = std::uint64_t{1} << 40;

constexpr std::size_t kNameWords = chip::kOwnerNameCount;

std::uint32_t name_word(const std::string& name, std::size_t i) {
  std::uint32_t word = 0;
  if (4 * i < name.size()) std::memcpy(&word, name.data() + 4 * i, std::min<std::size_t>(4, name.size() - 4 * i));
  return word;
}

}  // namespace

Driver::Impl::Impl(Transport& transport, std::string client_name) : t(transport), client(std::move(client_name)) {
  std::vector<PciFunction> functions = adopt(t);
  if (functions.empty()) functions = enumerate(t);
  for (const PciFunction& f : functions)
    if (f.vendor == pcie::kVendor && f.device == pcie::kDeviceIpu) add(f);
  if (devices.empty())
    throw Error(Category::device_exception, "no IPU found on PCI Express", "",
                "check the platform: cards, ipus_per_card");
  find_cards();
  for (CardController& card : cards) boot(card);
  for (Device& d : devices) identify(d);
  tag = read(devices.front(), chip::kOwnerTicket);
  if (tag > 1) heap.start_at((tag - 1) * kHeapStride);
  t.attach(heap);
}

std::uint32_t Driver::Impl::read(const Device& d, std::uint32_t offset) {
  std::uint32_t value = 0;
  const PciStatus status = t.memory_read(d.info.registers + offset, reinterpret_cast<std::uint8_t*>(&value), 4);
  check(d, status, offset);
  if (value == 0xffffffff) check_alive(d);
  return value;
}

void Driver::Impl::write(const Device& d, std::uint32_t offset, std::uint32_t value) {
  check(d, t.memory_write(d.info.registers + offset, reinterpret_cast<const std::uint8_t*>(&value), 4), offset);
}

void Driver::Impl::check(const Device& d, PciStatus status, std::uint32_t offset) {
  if (status == PciStatus::ok) return;
  const std::string errors = logged(d);
  throw Error(Category::device_exception,
              status == PciStatus::timeout ? "the device does not answer" : "the device refused a register access",
              fmt::format("{} register 0x{:x}{}{}", name(d), offset, errors.empty() ? "" : "; ", errors),
              "recover the IPU, or power its card off and on");
}

void Driver::Impl::check_alive(const Device& d) {
  std::uint32_t id = 0;
  const PciStatus status = t.memory_read(d.info.registers + chip::kId, reinterpret_cast<std::uint8_t*>(&id), sizeof id);
  if (status == PciStatus::ok && id == kSignature) return;
  const std::string errors = logged(d);
  throw Error(Category::device_exception, "the device is lost: its registers read all ones",
              fmt::format("{}{}{}", name(d), errors.empty() ? "" : "; ", errors),
              "recover the IPU, or power its card off and on");
}

std::string Driver::Impl::logged(const Device& d) {
  const PciAddress root_port{0, static_cast<std::uint8_t>(d.info.card), 0};
  const std::string errors = take_logged_errors(t, d.function.at, root_port);
  return errors.empty() ? "" : "PCI Express logged: " + errors;
}

void Driver::Impl::turn_on(const PciFunction& f) {
  const std::uint32_t command = t.config_read(f.at, pcie::kCommand, 2);
  t.config_write(f.at, pcie::kCommand, 2,
                 command | pcie::kCommandMemory | pcie::kCommandBusMaster | pcie::kCommandIntxOff);
  report_errors(t, f.at);
}

void Driver::Impl::add(const PciFunction& f) {
  Device d;
  d.function = f;
  d.info.function = f.at;
  d.info.card = f.root_port;
  d.info.registers = f.bars[pcie::kBarRegisters].address;
  d.info.tile_memory = f.bars[pcie::kBarTiles].address;
  for (unsigned bar = 0; bar < f.bars.size(); ++bar)
    if (f.bars[bar].address != 0) d.info.bars.push_back({bar, f.bars[bar].address, f.bars[bar].size});
  turn_on(f);
  devices.push_back(d);
  check_alive(devices.back());
  enable_msix(devices.back());
}

void Driver::Impl::boot(CardController& card) {
  if (!card.present()) return;
  card.wait_ready();
  constexpr std::uint32_t kHello = 0x7e55e4a0;
  if (!card.ping(kHello))
    throw Error(Category::device_exception, "the card controller's answer to a ping is not what was sent", card.name(),
                "reset the card and boot it again");
}

void Driver::Impl::find_cards() {
  for (unsigned ipu = 0; ipu < devices.size(); ++ipu) {
    if (ipu != 0 && devices[ipu].info.card == devices[ipu - 1].info.card) continue;
    const PciAddress& at = devices[ipu].info.function;
    CardAccess access;
    access.name = fmt::format("card {} ({:02x}:{:02x}.{})", cards.size(), at.bus, at.device, at.function);
    access.read = [this, ipu](std::uint32_t offset) { return read(devices[ipu], offset); };
    access.write = [this, ipu](std::uint32_t offset, std::uint32_t value) { write(devices[ipu], offset, value); };
    access.elapse = [this](std::uint64_t ns) { t.elapse(ns); };
    access.now_ns = [this] { return t.now_ns(); };
    cards.emplace_back(std::move(access));
  }
}

void Driver::Impl::identify(Device& d) {
  d.info.tiles = read(d, chip::kTiles);
  d.info.sram_bytes = read(d, chip::kSramBytes);
  if (read(d, chip::kIpu) != number(d)) write(d, chip::kIpu, number(d));
}

void Driver::Impl::enable_msix(const Device& d) {
  const PciFunction& f = d.function;
  const unsigned at = find_capability(t, f.at, pcie::kCapMsix);
  if (at == 0) throw Error(Category::device_exception, "the device has no MSI-X", name(d));
  const std::uint32_t table = t.config_read(f.at, at + pcie::kMsixTable, 4);
  const std::uint64_t entries = f.bars.at(table & 7).address + (table & ~7u);
  for (unsigned cause = 0; cause < kCauses; ++cause) {
    // One message address for each IPU, the cause as data.
    const std::uint64_t address = pcie::kMessageBase + 0x1000 * std::uint64_t{number(d)};
    const std::uint32_t entry[4] = {static_cast<std::uint32_t>(address), static_cast<std::uint32_t>(address >> 32),
                                    cause, 0};
    const PciStatus status =
        t.memory_write(entries + pcie::kMsixEntryBytes * cause, reinterpret_cast<const std::uint8_t*>(entry), 8);
    const PciStatus second = t.memory_write(entries + pcie::kMsixEntryBytes * cause + 8,
                                            reinterpret_cast<const std::uint8_t*>(entry + 2), 8);
    check(d, status == PciStatus::ok ? second : status, pcie::kMsixTableOffset);
  }
  const std::uint32_t control = t.config_read(f.at, at + pcie::kMsixControl, 2);
  t.config_write(f.at, at + pcie::kMsixControl, 2, control | pcie::kMsixEnable);
}

std::optional<Claim> Driver::Impl::holder(const Device& d) {
  Claim claim;
  claim.tag = read(d, chip::kOwner);
  if (claim.tag == 0) return std::nullopt;
  claim.mine = claim.tag == tag;
  for (std::size_t i = 0; i < kNameWords; ++i) {
    const std::uint32_t word = read(d, chip::kOwnerName + static_cast<std::uint32_t>(4 * i));
    claim.client.append(reinterpret_cast<const char*>(&word), 4);
  }
  claim.client.resize(std::min(claim.client.find('\0'), claim.client.size()));
  return claim;
}

void Driver::Impl::write_owner(const Device& d, std::uint32_t holder_tag, const std::string& holder_name) {
  write(d, chip::kOwner, holder_tag);
  for (std::size_t i = 0; i < kNameWords; ++i)
    write(d, chip::kOwnerName + static_cast<std::uint32_t>(4 * i), name_word(holder_name, i));
}

void Driver::Impl::claim(Device& d) {
  write(d, chip::kOwner, tag);  // takes only if nobody holds it
  const std::optional<Claim> now = holder(d);
  if (!now) throw Error(Category::device_exception, "the IPU does not keep a claim", name(d), "recover it");
  if (!now->mine || d.claimed)
    throw Error(Category::usage,
                fmt::format("the IPU is claimed already, by {}",
                            now->mine ? "this driver" : fmt::format("'{}' (driver {})", now->client, now->tag)),
                name(d), "release it there first, or choose another IPU");
  write_owner(d, tag, client);
  d.claimed = true;
  d.boots_later = true;  // for all we know: start() writes the register
}

void Driver::Impl::forget_buffers(Device& d) {
  for (const auto& [index, buffer] : d.buffers) heap.release(buffer.address);
  d.buffers.clear();
}

void Driver::Impl::stop(Device& d) {
  const std::uint32_t status = read(d, chip::kStatus);
  if (chip::kStatusRunning.get(status) != 0 || chip::kStatusException.get(status) != 0) d.cut_short = true;
  write(d, chip::kControl, static_cast<std::uint32_t>(chip::kControlReset.mask()));
  // The chip takes it when its tiles come to the end of their quantum.
  const std::uint64_t begin = t.now_ns();
  while (chip::kStatusRunning.get(read(d, chip::kStatus)) != 0) {
    if (t.now_ns() - begin > kResetLimitNs)
      throw Error(Category::no_progress, "the IPU does not take its reset", name(d),
                  "recover it, or power its card off and on");
    t.elapse(1000);
  }
  forget_buffers(d);
  // Messages of the run that was cut short are here by now: writes do not fall behind the answer to a read.
  while (wait_for_interrupt(0)) {
  }
  d.pending = 0;
  d.in_host_sync = false;
}

void Driver::Impl::restore(const Device& d) {
  const PciFunction& f = d.function;
  for (unsigned bar = 0; bar < f.bars.size(); ++bar) {
    if (f.bars[bar].address == 0) continue;
    t.config_write(f.at, pcie::kBar0 + 4 * bar, 4, static_cast<std::uint32_t>(f.bars[bar].address));
    if (f.bars[bar].wide)
      t.config_write(f.at, pcie::kBar0 + 4 * (bar + 1), 4, static_cast<std::uint32_t>(f.bars[bar].address >> 32));
  }
  turn_on(f);
  enable_msix(d);
}

void Driver::claim(unsigned ipu) { impl_->claim(impl_->at(ipu)); }

bool Driver::claimed(unsigned ipu) const { return impl_->at(ipu).claimed; }

std::optional<Claim> Driver::holder(unsigned ipu) { return impl_->holder(impl_->at(ipu)); }

std::string Driver::state(unsigned ipu) {
  const std::uint32_t status = impl_->read(impl_->at(ipu), chip::kStatus);
  if (chip::kStatusException.get(status) != 0) return "excepted";
  if (chip::kStatusHostSync.get(status) != 0) return "in a host sync";
  return chip::kStatusRunning.get(status) != 0 ? "running" : "not running";
}

void Driver::release(unsigned ipu) {
  Device& d = impl_->at(ipu);
  if (!d.claimed) throw Error(Category::usage, "the IPU is not claimed by this driver", impl_->name(d));
  reset(ipu);
  impl_->write(d, chip::kOwner, 0);
  d.claimed = false;
}

void Driver::reset(unsigned ipu) {
  Device& d = impl_->own(ipu);
  impl_->stop(d);
  set_up(ipu);
}

void Driver::set_up(unsigned ipu) {
  set_active(ipu, std::vector<bool>(impl_->at(ipu).info.tiles, true));
  set_classes(ipu, {});
  set_groups(ipu, false, false);
}

}  // namespace tessera::driver
