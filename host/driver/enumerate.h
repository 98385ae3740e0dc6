// Enumeration of a PCI Express hierarchy: finds every function below bus 0, numbers the buses, sizes the BARs, gives
// bridges their windows and BARs their addresses, depth first. Knows the standard only, not what an IPU is.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "host/driver/transport.h"

namespace tessera::driver {

struct PciFunction {
  PciAddress at;
  std::uint16_t vendor = 0, device = 0;
  unsigned root_port = 0;  ///< device number of the root port above
  struct Bar {
    std::uint64_t address = 0, size = 0;  ///< size 0: absent
    bool prefetchable = false;
    bool wide = false;  ///< 64 bits: takes the next register too
  };
  std::array<Bar, 6> bars{};
};

/// Where BARs may be placed.
struct PciWindows {
  std::uint64_t memory = 0xc000'0000, memory_end = 0xf000'0000;            ///< below 4 GiB, not prefetchable
  std::uint64_t prefetch = 0x40'0000'0000, prefetch_end = 0x80'0000'0000;  ///< 64-bit, prefetchable
};

/// All endpoints (type 0), with BARs placed and memory space and bus mastering of the bridges above turned on; the
/// endpoints' own command registers are left to their driver. Throws Error(device_exception) if windows run out.
[[nodiscard]] std::vector<PciFunction> enumerate(Transport& transport, PciWindows windows = {});

/// The same as somebody has set it up before, nothing written; BARs have addresses, their sizes stay 0. Empty if any
/// bridge has no bus numbers or any endpoint no memory space.
[[nodiscard]] std::vector<PciFunction> adopt(Transport& transport);

/// A bridge with what software has set up in it.
struct PciBridge {
  PciAddress at;
  std::array<std::uint32_t, 5> words{};  ///< bus numbers, windows
  std::uint32_t command = 0, control = 0, device_control = 0;
};

/// All bridges below one, each before those below it.
[[nodiscard]] std::vector<PciBridge> bridges_below(Transport& transport, PciAddress top);
void restore(Transport& transport, const PciBridge& bridge);

/// Offset of a capability in a function; 0 if it has none.
[[nodiscard]] unsigned find_capability(Transport& transport, PciAddress function, std::uint8_t id);
/// The same of an extended one (from 0x100 on).
[[nodiscard]] unsigned find_extended_capability(Transport& transport, PciAddress function, std::uint16_t id);

/// Lets a function report its errors to the root port; a bridge also those from below it.
void report_errors(Transport& transport, PciAddress function);
/// What the functions from the root port down to one have logged since this was last called (or since they began), and
/// clears it: "completion time-out at 00:00.0; ..."; empty if nothing.
[[nodiscard]] std::string take_logged_errors(Transport& transport, PciAddress function, PciAddress root_port);

}  // namespace tessera::driver
