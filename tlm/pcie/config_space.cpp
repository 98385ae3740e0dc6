// See config_space.h.
#include "tlm/pcie/config_space.h"

#include <algorithm>
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
  if (bridge_) define(kSecondaryStatus, 2, 0, 0, 0xf900);
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
  define(kBridgeControl, 2, 0, kBridgeParity | kBridgeSerr | kBridgeReset);
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

void ConfigSpace::assign_bits(unsigned offset, unsigned size, std::uint32_t mask, std::uint32_t value) {
  const std::uint32_t now = (read(offset, size) & ~mask) | (value & mask);
  for (unsigned i = 0; i < size; ++i) value_.at(offset + i) = static_cast<std::uint8_t>(now >> (8 * i));
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
  define(at + kPowerCaps, 2, 0x0003);  // version 3, no PME
  define(at + kPowerControl, 2, kPowerNoSoftReset, kPowerState);
}

namespace {
/// 128 bytes are 0, each doubling one more.
unsigned size_code(unsigned bytes) {
  unsigned code = 0;
  while (code < 5 && (256u << code) <= bytes) ++code;
  return code;
}
}  // namespace

void ConfigSpace::add_express(unsigned port_type, unsigned port, unsigned max_payload, unsigned max_read_request) {
  const unsigned at = add_capability(kCapExpress, 0x3c);
  const bool endpoint = port_type == kPortEndpoint, downstream = port_type == kPortRoot || port_type == kPortDownstream;
  define(at + kExpressCaps, 2, 2 | (port_type << 4));
  define(at + kDeviceCaps, 4, kDeviceCapsRoleBased | (endpoint ? kDeviceCapsFlr : 0) | size_code(max_payload));
  // Relaxed ordering allowed (and not used); payload, tags, snooping, request size are software's.
  define(at + kDeviceControl, 2, 0x0010 | (size_code(max_read_request) << 12), 0x78ff);
  define(at + kDeviceStatus, 2, 0, 0, 0x000f);
  define(at + kLinkCaps, 4,
         (port << 24) | (downstream ? kLinkCapsActiveReporting : 0) | (16 << 4) | 4);  // x16, 16 GT/s
  define(at + kLinkControl, 2, 0, 0x00c3);
  define(at + kLinkStatus, 2, (downstream ? kLinkStatusActive : 0) | (16 << 4) | 4);
  if (port_type == kPortRoot) define(at + kRootControl, 2, 0, 0x0007);
}

void ConfigSpace::add_msix(unsigned vectors, unsigned bar, std::uint32_t table, std::uint32_t pending) {
  const unsigned at = add_capability(kCapMsix, 12);
  define(at + kMsixControl, 2, vectors - 1, kMsixEnable | kMsixFunctionMask);
  define(at + kMsixTable, 4, table | bar);
  define(at + kMsixPending, 4, pending | bar);
}

void ConfigSpace::add_aer(unsigned port_type) {
  const bool root = port_type == kPortRoot, downstream = root || port_type == kPortDownstream;
  const unsigned at = add_extended_capability(kExtCapAer, 2, root ? 0x38 : 0x2c);
  const std::uint32_t known = kAerPoisoned | kAerCompletionTimeout | kAerCompleterAbort | kAerUnsupportedRequest |
                              (downstream ? kAerSurpriseDown : 0);
  define(at + kAerUncorrectable, 4, 0, 0, known);
  define(at + kAerUncorrectableMask, 4, 0, known);
  define(at + kAerSeverity, 4, downstream ? kAerSurpriseDown : 0, known);
  define(at + kAerCorrectable, 4, 0, 0, 0x000031c1);
  define(at + kAerCorrectableMask, 4, 0x00002000, 0x000031c1);
  define(at + kAerControl, 4, 0);
  define(at + kAerHeaderLog, 4, 0);
  if (!root) return;
  define(at + kAerRootCommand, 4, 0, 0x7);
  define(at + kAerRootStatus, 4, 0, 0, 0x7f);
  define(at + kAerErrorSource, 4, 0);
}

unsigned ConfigSpace::add_vendor(std::uint16_t id, unsigned bytes) {
  const unsigned at = add_extended_capability(kExtCapVendor, 1, bytes);
  define(at + kVendorHeader, 4, id | (1u << 16) | (bytes << 20));
  return at;
}

void ConfigSpace::reset(Reset kind) {
  const std::array<std::uint8_t, 4096> before = value_;
  value_ = initial_;
  const auto keep = [&](unsigned from, unsigned bytes) {
    std::copy_n(before.begin() + from, bytes, value_.begin() + from);
  };
  if (const unsigned at = extended_capability(kExtCapAer)) keep(at + 4, 0x28);
  if (kind == Reset::hot) return;
  const unsigned express = capability(kCapExpress);
  keep(express + kLinkControl, 2);
  constexpr std::uint16_t kPayload = 0x00e0;
  const unsigned control = express + kDeviceControl;
  const auto payload = static_cast<std::uint8_t>(before[control] & kPayload);
  value_[control] = static_cast<std::uint8_t>((value_[control] & ~kPayload) | payload);
}

bool ConfigSpace::in_d0() const {
  const unsigned at = capability(kCapPower);
  return at == 0 || (read(at + kPowerControl, 2) & kPowerState) == 0;
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

ErrorMessage ConfigSpace::log(std::uint32_t error, const std::optional<TlpHeader>& header) {
  if (error == kAerCompleterAbort) set_bits(kStatus, 2, kStatusTargetAbortSent);
  if (error == kAerPoisoned) set_bits(kStatus, 2, kStatusPoisonGot);
  const unsigned at = extended_capability(kExtCapAer);
  const bool fatal = (read(at + kAerSeverity, 4) & error) != 0;
  const unsigned express = capability(kCapExpress);
  set_bits(express + kDeviceStatus, 2,
           (fatal ? kDeviceStatusFatal : kDeviceStatusNonFatal) |
               (error == kAerUnsupportedRequest ? kDeviceStatusUnsupported : 0));
  const std::uint32_t before = read(at + kAerUncorrectable, 4);
  set_bits(at + kAerUncorrectable, 4, error);
  if ((read(at + kAerUncorrectableMask, 4) & error) != 0) return ErrorMessage::none;
  // The log belongs to the first error that software has not cleared.
  const std::uint32_t first = read(at + kAerControl, 4) & 0x1f;
  if ((before >> first & 1) == 0) {
    value_[at + kAerControl] = static_cast<std::uint8_t>(__builtin_ctz(error));
    for (unsigned i = 0; i < 4; ++i) define(at + kAerHeaderLog + 4 * i, 4, header ? (*header)[i] : 0);
  }
  const std::uint32_t control = read(express + kDeviceControl, 2);
  const bool serr = (read(kCommand, 2) & kCommandSerr) != 0;
  const bool enabled = (control & (fatal ? kDeviceControlFatal : kDeviceControlNonFatal)) != 0 &&
                       (error != kAerUnsupportedRequest || (control & kDeviceControlUnsupported) != 0);
  if (!serr && !enabled) return ErrorMessage::none;
  if (serr) set_bits(kStatus, 2, kStatusSystemError);
  return fatal ? ErrorMessage::fatal : ErrorMessage::non_fatal;
}

void ConfigSpace::log_message(ErrorMessage message, std::uint16_t source) {
  const unsigned at = extended_capability(kExtCapAer);
  const std::uint32_t before = read(at + kAerRootStatus, 4);
  std::uint32_t bits = 0;
  if (message == ErrorMessage::correctable) {
    const bool again = (before & kRootCorrectable) != 0;
    bits = again ? kRootSeveralCorrectable : kRootCorrectable;
    if (!again) define(at + kAerErrorSource, 2, source);
  } else {
    const bool fatal = message == ErrorMessage::fatal, again = (before & kRootUncorrectable) != 0;
    bits = (again ? kRootSeveralUncorrectable : kRootUncorrectable) | (fatal ? kRootFatal : kRootNonFatal);
    if (!again) {
      if (fatal) bits |= kRootFirstFatal;
      define(at + kAerErrorSource + 2, 2, source);
    }
  }
  set_bits(at + kAerRootStatus, 4, bits);
  set_bits(kSecondaryStatus, 2, kStatusSystemError);
}

}  // namespace tessera::pcie
