// Host buffers as tiles see them: the address table, and bus mastering at the exact time of each packet. See chip.h.
#include <algorithm>

#include "hw/generated/machine.h"
#include "hw/generated/registers.h"
#include "tlm/system/chip.h"

namespace tessera {

using namespace reg::chip;

std::optional<std::uint64_t> Chip::translate(const Packet& packet) {
  const PacketRemote remote = PacketRemote::unpack(packet.remote);
  if (remote.ipu >= kBufferBytesCount) return std::nullopt;
  const auto entry = static_cast<std::uint32_t>(remote.ipu) * kBufferBytesStride;
  const std::uint32_t control = shadow(kBufferControl + entry);
  const bool allowed =
      packet.kind == Packet::Kind::write ? kBufferControlWrite.get(control) != 0 : kBufferControlRead.get(control) != 0;
  if (!allowed || remote.offset + std::uint64_t{4} * packet.words > shadow(kBufferBytes + entry)) return std::nullopt;
  return ((std::uint64_t{shadow(kBufferAddressHigh + entry)} << 32) | shadow(kBufferAddressLow + entry)) +
         remote.offset;
}

std::optional<Cycle> Chip::read(Cycle at, const Packet& request, std::vector<Word>& words) {
  const auto address = translate(request);
  words.assign(request.words, 0);
  sc_core::sc_time end = sc_core::sc_time_stamp();
  if (!address || !move_host(false, *address, reinterpret_cast<std::uint8_t*>(words.data()), 4 * words.size(), end))
    return std::nullopt;
  return std::max(at, clock_.cycle_at(end));
}

bool Chip::write(Cycle, const Packet& packet) {
  const auto address = translate(packet);
  std::vector<Word> words = packet.payload;
  sc_core::sc_time end;
  return address && move_host(true, *address, reinterpret_cast<std::uint8_t*>(words.data()), 4 * words.size(), end);
}

}  // namespace tessera
