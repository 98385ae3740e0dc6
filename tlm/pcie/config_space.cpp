// See config_space.h.
#include "tlm/pcie/config_space.h"

#include <stdexcept>

namespace tessera::pcie {

ConfigSpace::ConfigSpace(std::uint16_t device, std::uint32_t class_code, bool bridge) : bridge_(bridge) {
  define_header(device, class_code);
  if (bridge) define_bridge();
}

void ConfigSpace::define_header(std::uint16_t device, std::uint32_t class_code) {
  define(kVendorId, 2, kVendor);
  define(kDeviceId, 2, device);
  define(kCommand, 2, 0, kCommandMemory | kCommandBusMaster | kCommandParity | kCommandSerr | kCommandIntxOff);
  define(kStatus, 2, 0, 0, 0xf900);
  define(kRevision, 1, 1);
  define(kClassCode, 1, class_code & 0xff);
  define(kClassCode + 1, 2, class_code >> 8);
  define(kCacheLine, 1, 0, 0xff);
  define(kHeaderType, 1, bridge_ ? 1 : 0);
  define(kInterruptLine, 1, 0, 0xff);
  if (!bridge_) {
    define(kSubsystemVendor, 2, kVendor);
    define(kSubsystem, 2, device);
  }
}

void ConfigSpace::define_bridge() {
  define(kPrimaryBus, 1, 0, 0xff);
  define(kSecondaryBus, 1, 0, 0xff);
  define(kSubordinateBus, 1, 0, 0xff);
  // Windows are shut (base above limit) until software opens them. Low bits 0001: 64-bit prefetchable window.
  define(kMemoryBase, 2, 0xfff0, 0xfff0);
  define(kMemoryLimit, 2, 0x0000, 0xfff0);
  define(kPrefetchBase, 2, 0xfff1, 0xfff0);
  define(kPrefetchLimit, 2, 0x0001, 0xfff0);
  define(kPrefetchBaseHigh, 4, 0, 0xffffffff);
  define(kPrefetchLimitHigh, 4, 0, 0xffffffff);
  define(kBridgeControl, 2, 0, 0x0003);
}

bool ConfigSpace::legal(unsigned offset, unsigned size) {
  return (size == 1 || size == 2 || size == 4) && offset % size == 0 && offset + size <= 4096;
}

std::uint32_t ConfigSpace::read(unsigned offset, unsigned size) const {
  if (!legal(offset, size)) return 0xffffffffu;
  std::uint32_t value = 0;
  for (unsigned i = 0; i < size; ++i) value |= std::uint32_t{value_[offset + i]} << (8 * i);
  return value;
}

void ConfigSpace::write(unsigned offset, unsigned size, std::uint32_t value) {
  if (!legal(offset, size)) return;
  for (unsigned i = 0; i < size; ++i) {
    const auto byte = static_cast<std::uint8_t>(value >> (8 * i));
    std::uint8_t& now = value_[offset + i];
    now = static_cast<std::uint8_t>((now & ~writable_[offset + i]) | (byte & writable_[offset + i]));
    now = static_cast<std::uint8_t>(now & ~(byte & w1c_[offset + i]));
  }
}

void ConfigSpace::define(unsigned offset, unsigned size, std::uint32_t value, std::uint32_t writable,
                         std::uint32_t w1c) {
  for (unsigned i = 0; i < size; ++i) {
    value_.at(offset + i) = static_cast<std::uint8_t>(value >> (8 * i));
    writable_[offset + i] = static_cast<std::uint8_t>(writable >> (8 * i));
    w1c_[offset + i] = static_cast<std::uint8_t>(w1c >> (8 * i));
  }
}

void ConfigSpace::set_bits(unsigned offset, unsigned size, std::uint32_t bits) {
  for (unsigned i = 0; i < size; ++i) value_.at(offset + i) |= static_cast<std::uint8_t>(bits >> (8 * i));
}

unsigned ConfigSpace::add_capability(std::uint8_t id, unsigned bytes) {
  const unsigned at = next_capability_;
  if (at + bytes > kExtendedStart) throw std::logic_error("pcie: no room for a capability");
  define(at, 1, id);
  define(at + 1, 1, 0);
  if (last_capability_ == 0) {
    define(kCapabilities, 1, at);
    set_bits(kStatus, 2, kStatusCapabilities);
  } else {
    define(last_capability_ + 1, 1, at);
  }
  last_capability_ = at;
  next_capability_ = (at + bytes + 3) & ~3u;
  return at;
}

unsigned ConfigSpace::add_extended_capability(std::uint16_t id, unsigned version, unsigned bytes) {
  const unsigned at = next_extended_;
  if (at + bytes > 4096) throw std::logic_error("pcie: no room for an extended capability");
  define(at, 4, id | (version << 16));
  if (last_extended_ != 0) define(last_extended_, 4, read(last_extended_, 4) | (at << 20));
  last_extended_ = at;
  next_extended_ = (at + bytes + 3) & ~3u;
  return at;
}

void ConfigSpace::add_bar64(unsigned index, std::uint64_t size, bool prefetchable) {
  if (size < 16 || (size & (size - 1)) != 0) throw std::logic_error("pcie: the size of a BAR is no power of two");
  const std::uint64_t mask = ~(size - 1);
  define(kBar0 + 4 * index, 4, kBar64 | (prefetchable ? kBarPrefetchable : 0), static_cast<std::uint32_t>(mask));
  define(kBar0 + 4 * index + 4, 4, 0, static_cast<std::uint32_t>(mask >> 32));
  bars_.push_back({index, size});
}

void ConfigSpace::add_power_management() {
  const unsigned at = add_capability(kCapPower, 8);
  define(at + 2, 2, 0x0003);          // version 3, no PME
  define(at + 4, 2, 0x0008, 0x0003);  // D0; no soft reset from D3hot
}

void ConfigSpace::add_express(unsigned port_type, unsigned port) {
  const unsigned at = add_capability(kCapExpress, 0x3c);
  define(at + kExpressCaps, 2, 2 | (port_type << 4));
  define(at + kDeviceCaps, 4, 0x8000 | 0x3);       // role-based errors, payload up to 1 KiB
  define(at + kDeviceControl, 2, 0x2010, 0x7fff);  // relaxed ordering, requests of 512 bytes
  define(at + kDeviceStatus, 2, 0, 0, 0x000f);
  define(at + kLinkCaps, 4, (port << 24) | (16 << 4) | 4);  // x16 at 16 GT/s
  define(at + kLinkControl, 2, 0, 0x00f3);
  define(at + kLinkStatus, 2, (16 << 4) | 4);
  define(at + kDeviceCaps2, 4, 0x0000001f);  // completion time-out ranges A..D, may be disabled
  define(at + kDeviceControl2, 2, 0, 0x001f);
}

void ConfigSpace::add_msix(unsigned vectors, unsigned bar, std::uint32_t table, std::uint32_t pending) {
  const unsigned at = add_capability(kCapMsix, 12);
  define(at + kMsixControl, 2, vectors - 1, kMsixEnable | kMsixFunctionMask);
  define(at + kMsixTable, 4, table | bar);
  define(at + kMsixPending, 4, pending | bar);
}

void ConfigSpace::add_aer() {
  const unsigned at = add_extended_capability(kExtCapAer, 2, 0x2c);
  const std::uint32_t known = kAerCompleterAbort | kAerUnsupportedRequest;
  define(at + kAerUncorrectable, 4, 0, 0, known);
  define(at + kAerUncorrectableMask, 4, 0, known);
  define(at + kAerSeverity, 4, 0, known);
  define(at + kAerCorrectable, 4, 0, 0, 0x000031c1);
  define(at + kAerHeaderLog, 4, 0);
}

unsigned ConfigSpace::capability(std::uint8_t id) const {
  for (unsigned at = read(kCapabilities, 1); at != 0; at = read(at + 1, 1))
    if (read(at, 1) == id) return at;
  return 0;
}

unsigned ConfigSpace::extended_capability(std::uint16_t id) const {
  for (unsigned at = kExtendedStart; at != 0; at = read(at, 4) >> 20)
    if ((read(at, 4) & 0xffff) == id) return at;
  return 0;
}

std::optional<ConfigSpace::BarHit> ConfigSpace::bar_hit(std::uint64_t address, std::uint64_t bytes) const {
  if (!memory_enabled()) return std::nullopt;
  for (const Bar& bar : bars_) {
    const std::uint64_t base =
        (std::uint64_t{read(kBar0 + 4 * bar.index + 4, 4)} << 32) | (read(kBar0 + 4 * bar.index, 4) & ~0xfu);
    if (address >= base && address - base < bar.size && bytes <= bar.size - (address - base))
      return BarHit{bar.index, address - base};
  }
  return std::nullopt;
}

bool ConfigSpace::forwards_bus(unsigned bus) const {
  return bus >= read(kSecondaryBus, 1) && bus <= read(kSubordinateBus, 1) && read(kSecondaryBus, 1) != 0;
}

bool ConfigSpace::forwards_memory(std::uint64_t address, std::uint64_t bytes) const {
  if (!memory_enabled()) return false;
  const auto within = [&](std::uint64_t base, std::uint64_t limit) {
    return base <= limit && address >= base && address + bytes - 1 <= limit;
  };
  const std::uint64_t base = std::uint64_t{read(kMemoryBase, 2) & 0xfff0} << 16;
  const std::uint64_t limit = (std::uint64_t{read(kMemoryLimit, 2) & 0xfff0} << 16) | 0xfffff;
  const std::uint64_t prefetch_base =
      (std::uint64_t{read(kPrefetchBaseHigh, 4)} << 32) | (std::uint64_t{read(kPrefetchBase, 2) & 0xfff0} << 16);
  const std::uint64_t prefetch_limit = (std::uint64_t{read(kPrefetchLimitHigh, 4)} << 32) |
                                       (std::uint64_t{read(kPrefetchLimit, 2) & 0xfff0} << 16) | 0xfffff;
  return within(base, limit) || within(prefetch_base, prefetch_limit);
}

void ConfigSpace::log_unsupported_request() {
  if (const unsigned at = capability(kCapExpress))
    set_bits(at + kDeviceStatus, 2, kDeviceStatusUnsupported | kDeviceStatusNonFatal);
  if (const unsigned at = extended_capability(kExtCapAer)) set_bits(at + kAerUncorrectable, 4, kAerUnsupportedRequest);
}

void ConfigSpace::log_completer_abort() {
  set_bits(kStatus, 2, 1 << 11);  // signalled target abort
  if (const unsigned at = capability(kCapExpress)) set_bits(at + kDeviceStatus, 2, kDeviceStatusNonFatal);
  if (const unsigned at = extended_capability(kExtCapAer)) set_bits(at + kAerUncorrectable, 4, kAerCompleterAbort);
}

}  // namespace tessera::pcie
