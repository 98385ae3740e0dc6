// See enumerate.h.
#include "host/driver/enumerate.h"

#include <fmt/format.h>

#include <algorithm>

#include "hw/error.h"
#include "hw/pcie.h"

namespace tessera::driver {

using namespace pcie;

namespace {

constexpr std::uint64_t kWindowGrain = 0x10'0000;  // bridge windows are whole MiB

std::uint64_t align(std::uint64_t value, std::uint64_t to) { return (value + to - 1) / to * to; }

constexpr unsigned kDevicesOnBus = 32;

class Enumerator {
 public:
  Enumerator(Transport& transport, const PciWindows& windows) : t_(transport), w_(windows) {}

  std::vector<PciFunction> run() {
    scan(0, 0);
    return std::move(found_);
  }

 private:
  void scan(unsigned bus, unsigned root_port) {
    for (unsigned device = 0; device < kDevicesOnBus; ++device) {
      const PciAddress at{static_cast<std::uint8_t>(bus), static_cast<std::uint8_t>(device), 0};
      const std::uint32_t id = t_.config_read(at, kVendorId, 4);
      if ((id & 0xffff) == 0xffff) continue;
      const unsigned port = bus == 0 ? device : root_port;
      if ((t_.config_read(at, kHeaderType, 1) & 0x7f) == 1)
        bridge(at, port);
      else
        endpoint(at, id, port);
    }
  }

  void bridge(PciAddress at, unsigned root_port) {
    const unsigned secondary = ++last_bus_;
    if (secondary > 0xff) throw Error(Category::device_exception, "PCI Express: more than 256 buses");
    t_.config_write(at, kPrimaryBus, 1, at.bus);
    t_.config_write(at, kSecondaryBus, 1, secondary);
    t_.config_write(at, kSubordinateBus, 1, 0xff);  // all that is to come, while we look below
    w_.memory = align(w_.memory, kWindowGrain);
    w_.prefetch = align(w_.prefetch, kWindowGrain);
    const std::uint64_t memory = w_.memory, prefetch = w_.prefetch;
    scan(secondary, root_port);
    t_.config_write(at, kSubordinateBus, 1, last_bus_);
    w_.memory = align(w_.memory, kWindowGrain);
    w_.prefetch = align(w_.prefetch, kWindowGrain);
    window(at, kMemoryBase, kMemoryLimit, memory, w_.memory);
    const std::uint64_t limit = w_.prefetch - 1;
    window(at, kPrefetchBase, kPrefetchLimit, prefetch, w_.prefetch);
    if (w_.prefetch > prefetch) {
      t_.config_write(at, kPrefetchBaseHigh, 4, static_cast<std::uint32_t>(prefetch >> 32));
      t_.config_write(at, kPrefetchLimitHigh, 4, static_cast<std::uint32_t>(limit >> 32));
    }
    const std::uint32_t command = t_.config_read(at, kCommand, 2);
    t_.config_write(at, kCommand, 2, command | kCommandMemory | kCommandBusMaster);
    report_errors(t_, at);
  }

  /// Opens a window on [from, to), or shuts it if it is empty.
  void window(PciAddress at, unsigned base, unsigned limit, std::uint64_t from, std::uint64_t to) {
    const bool empty = from == to;
    t_.config_write(at, base, 2, empty ? 0xfff0 : static_cast<std::uint32_t>(from >> 16 & 0xfff0));
    t_.config_write(at, limit, 2, empty ? 0 : static_cast<std::uint32_t>((to - 1) >> 16 & 0xfff0));
  }

  void endpoint(PciAddress at, std::uint32_t id, unsigned root_port) {
    PciFunction function;
    function.at = at;
    function.vendor = static_cast<std::uint16_t>(id);
    function.device = static_cast<std::uint16_t>(id >> 16);
    function.root_port = root_port;
    t_.config_write(at, kCommand, 2, t_.config_read(at, kCommand, 2) & ~std::uint32_t{kCommandMemory});
    for (unsigned i = 0; i < 6; ++i) i += size_bar(function, i);
    found_.push_back(function);
  }

  /// Sizes BAR `i` and places it; 1 if it takes two registers.
  unsigned size_bar(PciFunction& function, unsigned i) {
    const unsigned offset = kBar0 + 4 * i;
    t_.config_write(function.at, offset, 4, 0xffffffff);
    const std::uint32_t low = t_.config_read(function.at, offset, 4);
    if (low == 0) return 0;
    if ((low & 1) != 0) throw Error(Category::device_exception, "PCI Express: an I/O BAR, which is not supported");
    const bool wide = (low & 6) == kBar64;
    std::uint64_t mask = (low & ~std::uint64_t{0xf}) | 0xffffffff00000000ull;
    if (wide) {
      t_.config_write(function.at, offset + 4, 4, 0xffffffff);
      mask = (std::uint64_t{t_.config_read(function.at, offset + 4, 4)} << 32) | (low & ~0xfu);
    }
    PciFunction::Bar& bar = function.bars[i];
    bar.size = ~mask + 1;
    bar.wide = wide;
    bar.prefetchable = wide && (low & kBarPrefetchable) != 0;
    bar.address = place(bar);
    t_.config_write(function.at, offset, 4, static_cast<std::uint32_t>(bar.address));
    if (wide) t_.config_write(function.at, offset + 4, 4, static_cast<std::uint32_t>(bar.address >> 32));
    return wide ? 1 : 0;
  }

  std::uint64_t place(const PciFunction::Bar& bar) {
    std::uint64_t& next = bar.prefetchable ? w_.prefetch : w_.memory;
    const std::uint64_t end = bar.prefetchable ? w_.prefetch_end : w_.memory_end;
    const std::uint64_t address = align(next, bar.size);
    if (address + bar.size > end)
      throw Error(Category::device_exception,
                  "PCI Express: no address space left for a BAR of " + std::to_string(bar.size) + " bytes");
    next = address + bar.size;
    return address;
  }

  Transport& t_;
  PciWindows w_;
  unsigned last_bus_ = 0;
  std::vector<PciFunction> found_;
};

/// Walks what is there by the bus numbers that its bridges have.
class Adopter {
 public:
  explicit Adopter(Transport& transport) : t_(transport) {}

  std::vector<PciFunction> run() {
    if (!scan(0, 0)) return {};
    return std::move(found_);
  }

 private:
  /// false: not set up.
  bool scan(unsigned bus, unsigned root_port) {
    for (unsigned device = 0; device < kDevicesOnBus; ++device) {
      const PciAddress at{static_cast<std::uint8_t>(bus), static_cast<std::uint8_t>(device), 0};
      const std::uint32_t id = t_.config_read(at, kVendorId, 4);
      if ((id & 0xffff) == 0xffff) continue;
      const unsigned port = bus == 0 ? device : root_port;
      if ((t_.config_read(at, kHeaderType, 1) & 0x7f) == 1) {
        const std::uint32_t secondary = t_.config_read(at, kSecondaryBus, 1);
        if (secondary <= bus || !scan(secondary, port)) return false;
      } else if (!endpoint(at, id, port)) {
        return false;
      }
    }
    return true;
  }

  bool endpoint(PciAddress at, std::uint32_t id, unsigned root_port) {
    if ((t_.config_read(at, kCommand, 2) & kCommandMemory) == 0) return false;
    PciFunction function;
    function.at = at;
    function.vendor = static_cast<std::uint16_t>(id);
    function.device = static_cast<std::uint16_t>(id >> 16);
    function.root_port = root_port;
    for (unsigned i = 0; i < 6; ++i) {
      const std::uint32_t low = t_.config_read(at, kBar0 + 4 * i, 4);
      if (low == 0) continue;
      PciFunction::Bar& bar = function.bars[i];
      bar.wide = (low & 6) == kBar64;
      bar.prefetchable = bar.wide && (low & kBarPrefetchable) != 0;
      bar.address = low & ~0xfu;
      if (bar.wide) bar.address |= std::uint64_t{t_.config_read(at, kBar0 + 4 * ++i, 4)} << 32;
    }
    found_.push_back(function);
    return true;
  }

  Transport& t_;
  std::vector<PciFunction> found_;
};

}  // namespace

std::vector<PciFunction> adopt(Transport& transport) { return Adopter(transport).run(); }

std::vector<PciFunction> enumerate(Transport& transport, PciWindows windows) {
  return Enumerator(transport, windows).run();
}

namespace {

constexpr unsigned kBridgeWords[] = {kPrimaryBus, kMemoryBase, kPrefetchBase, kPrefetchBaseHigh, kPrefetchLimitHigh};

bool is_bridge(Transport& t, PciAddress at) {
  return (t.config_read(at, kVendorId, 4) & 0xffff) != 0xffff && (t.config_read(at, kHeaderType, 1) & 0x7f) == 1;
}

}  // namespace

std::vector<PciBridge> bridges_below(Transport& t, PciAddress top) {
  std::vector<PciBridge> found;
  if (!is_bridge(t, top)) return found;
  const std::uint32_t bus = t.config_read(top, kSecondaryBus, 1);
  if (bus <= top.bus) return found;
  for (unsigned device = 0; device < kDevicesOnBus; ++device) {
    PciBridge bridge;
    bridge.at = {static_cast<std::uint8_t>(bus), static_cast<std::uint8_t>(device), 0};
    if (!is_bridge(t, bridge.at)) continue;
    for (unsigned i = 0; i < bridge.words.size(); ++i) bridge.words[i] = t.config_read(bridge.at, kBridgeWords[i], 4);
    bridge.command = t.config_read(bridge.at, kCommand, 2);
    bridge.control = t.config_read(bridge.at, kBridgeControl, 2) & ~std::uint32_t{kBridgeReset};
    if (const unsigned express = find_capability(t, bridge.at, kCapExpress); express != 0)
      bridge.device_control = t.config_read(bridge.at, express + kDeviceControl, 2);
    found.push_back(bridge);
    for (const PciBridge& below : bridges_below(t, bridge.at)) found.push_back(below);
  }
  return found;
}

void restore(Transport& t, const PciBridge& bridge) {
  for (unsigned i = 0; i < bridge.words.size(); ++i) t.config_write(bridge.at, kBridgeWords[i], 4, bridge.words[i]);
  t.config_write(bridge.at, kBridgeControl, 2, bridge.control);
  if (const unsigned express = find_capability(t, bridge.at, kCapExpress); express != 0)
    t.config_write(bridge.at, express + kDeviceControl, 2, bridge.device_control);
  t.config_write(bridge.at, kCommand, 2, bridge.command);
}

unsigned find_capability(Transport& transport, PciAddress function, std::uint8_t id) {
  if ((transport.config_read(function, kStatus, 2) & kStatusCapabilities) == 0) return 0;
  unsigned at = transport.config_read(function, kCapabilities, 1) & 0xfc;
  // A list in 192 bytes has at most 48 members: a loop is no reason to hang.
  for (unsigned n = 0; at != 0 && n < 48; ++n) {
    const std::uint32_t head = transport.config_read(function, at, 2);
    if ((head & 0xff) == id) return at;
    at = head >> 8 & 0xfc;
  }
  return 0;
}

unsigned find_extended_capability(Transport& transport, PciAddress function, std::uint16_t id) {
  unsigned at = kExtendedStart;
  for (unsigned n = 0; n < 960; ++n) {  // more are not possible: a loop is no reason to hang
    const std::uint32_t head = transport.config_read(function, at, 4);
    if (head == 0 || head == 0xffffffff) return 0;
    if ((head & 0xffff) == id) return at;
    at = head >> 20 & 0xffc;
    if (at < kExtendedStart) return 0;
  }
  return 0;
}

void report_errors(Transport& t, PciAddress function) {
  const unsigned express = find_capability(t, function, kCapExpress);
  if (express != 0) {
    const std::uint32_t control = t.config_read(function, express + kDeviceControl, 2);
    t.config_write(
        function, express + kDeviceControl, 2,
        control | kDeviceControlCorrectable | kDeviceControlNonFatal | kDeviceControlFatal | kDeviceControlUnsupported);
  }
  t.config_write(function, kCommand, 2, t.config_read(function, kCommand, 2) | kCommandSerr);
  if (!is_bridge(t, function)) return;
  t.config_write(function, kBridgeControl, 2, t.config_read(function, kBridgeControl, 2) | kBridgeSerr);
}

std::string take_logged_errors(Transport& t, PciAddress function, PciAddress root_port) {
  static constexpr std::pair<std::uint32_t, const char*> kNames[] = {{kAerSurpriseDown, "link lost"},
                                                                     {kAerPoisoned, "poisoned data"},
                                                                     {kAerCompletionTimeout, "completion time-out"},
                                                                     {kAerCompleterAbort, "completer abort"},
                                                                     {kAerUnsupportedRequest, "unsupported request"}};
  std::vector<PciAddress> path = {root_port};
  for (const PciBridge& bridge : bridges_below(t, root_port)) {
    const std::uint32_t buses = bridge.words[0];
    if (function.bus >= (buses >> 8 & 0xff) && function.bus <= (buses >> 16 & 0xff)) path.push_back(bridge.at);
  }
  if (function.bus != root_port.bus) path.push_back(function);
  std::string text;
  for (const PciAddress& at : path) {
    const unsigned aer = find_extended_capability(t, at, kExtCapAer);
    if (aer == 0) continue;
    const std::uint32_t errors = t.config_read(at, aer + kAerUncorrectable, 4);
    for (const auto& [bit, name] : kNames)
      if ((errors & bit) != 0)
        text += fmt::format("{}{} at {:02x}:{:02x}.{}", text.empty() ? "" : "; ", name, at.bus, at.device, at.function);
    t.config_write(at, aer + kAerUncorrectable, 4, errors);
    if (at.bus == root_port.bus)
      t.config_write(at, aer + kAerRootStatus, 4, t.config_read(at, aer + kAerRootStatus, 4));
  }
  // A requester that was refused logs nothing by AER: its status has bits for that.
  const std::uint32_t status = t.config_read(function, kStatus, 2);
  if (status != 0xffff && (status & kStatusMasterAbortGot) != 0) {
    text += fmt::format("{}unsupported request, answered to {:02x}:{:02x}.{}", text.empty() ? "" : "; ", function.bus,
                        function.device, function.function);
    t.config_write(function, kStatus, 2, kStatusMasterAbortGot);
  }
  return text;
}

}  // namespace tessera::driver
