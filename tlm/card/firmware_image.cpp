// See firmware_image.h.
#include "tlm/card/firmware_image.h"

#include <fmt/format.h>

#include <cstring>

#include "hw/error.h"
#include "hw/generated/machine.h"

__asm__(
    ".pushsection .rodata\n"
    ".balign 16\n"
    "tessera_embedded_card: .incbin \"" TESSERA_CARD_IMAGE
    "\"\n"
    "tessera_embedded_card_end:\n"
    ".popsection\n");

extern "C" {
extern const std::uint8_t tessera_embedded_card[], tessera_embedded_card_end[];
}

namespace tessera {

std::vector<std::uint8_t> FirmwareImage::embedded() { return {tessera_embedded_card, tessera_embedded_card_end}; }

FirmwareImage FirmwareImage::parse(std::vector<std::uint8_t> bytes, const std::string& where, std::uint32_t ram_bytes) {
  const auto bad = [&](const std::string& why) {
    return Error(Category::usage, "not an image of the card controller's firmware: " + why, where,
                 "use the image that the build makes, build/lib/tessera/card.bin");
  };
  const auto word = [&](std::size_t at) {
    std::uint32_t value = 0;
    std::memcpy(&value, bytes.data() + at, 4);
    return value;
  };
  if (bytes.size() < kHeaderBytes) throw bad(fmt::format("{} bytes are less than its header", bytes.size()));
  if (word(0) != kMagic) throw bad("it does not begin with TCFW");
  if (word(8) != bytes.size()) throw bad(fmt::format("it is cut or padded: {} bytes, not {}", bytes.size(), word(8)));
  if (bytes.size() % 4 != 0) throw bad("its length is no multiple of 4");
  std::uint32_t sum = 0;
  for (std::size_t at = 0; at < bytes.size(); at += 4) sum = (sum << 1 | sum >> 31) + (at == 12 ? 0 : word(at));
  if (sum != word(12)) throw bad(fmt::format("checksum 0x{:08x}, not 0x{:08x}", sum, word(12)));
  FirmwareImage image;
  image.version = word(4);
  image.entry = word(16);
  if (image.entry % 4 != 0 || image.entry - kSramBase >= bytes.size())
    throw bad(fmt::format("entry 0x{:08x} lies outside", image.entry));
  if (bytes.size() > ram_bytes)
    throw Error(Category::usage,
                fmt::format("firmware of {} bytes in a controller memory of {}", bytes.size(), ram_bytes), where,
                "raise card.ram_bytes of the platform");
  image.bytes = std::move(bytes);
  return image;
}

}  // namespace tessera
