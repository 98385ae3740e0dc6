// The image of a controller's firmware: a header and the bytes from the start of its memory on. firmware/card makes it;
// pack.py there fills the header.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hw/types.h"

namespace tessera {

struct FirmwareImage {
  static constexpr std::uint32_t kMagic = 0x57464354;  ///< "TCFW"
  static constexpr std::size_t kHeaderBytes = 32;
  std::vector<std::uint8_t> bytes;  ///< header and all: goes to kSramBase
  std::uint32_t version = 0;
  Address entry = 0;

  /// Checks header, length, checksum, entry and that it fits `ram_bytes`. Throws Error(usage) that names `where`.
  static FirmwareImage parse(std::vector<std::uint8_t> bytes, const std::string& where, std::uint32_t ram_bytes);
  /// The one of this build.
  static std::vector<std::uint8_t> embedded();
};

}  // namespace tessera
