// A packet on a lane: 4 header words and the payload (docs/machine/packets.md).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "hw/generated/machine.h"
#include "hw/types.h"

namespace tessera {

struct Packet {
  enum class Kind : std::uint8_t { write = 1, read_request = 2, read_response = 3 };
  Kind kind = Kind::write;
  unsigned words = 0;          ///< 1..256: payload, or words asked for
  unsigned tile = 0, ipu = 0;  ///< source
  std::uint64_t remote = 0;    ///< address of the first word, a packed PacketRemote
  std::uint32_t local = 0;     ///< byte offset in the source tile's SRAM
  std::vector<Word> payload;   ///< empty for requests

  [[nodiscard]] bool carries_payload() const { return kind != Kind::read_request; }
  /// Words on a lane.
  [[nodiscard]] unsigned lane_words() const { return kPacketHeaderWords + (carries_payload() ? words : 0); }
  [[nodiscard]] std::array<Word, 4> header() const {
    return {static_cast<Word>(kind) | words << 2 | tile << 11 | ipu << 23, static_cast<Word>(remote),
            static_cast<Word>(remote >> 32), local};
  }
  [[nodiscard]] Word lane_word(unsigned k) const { return k < 4 ? header()[k] : payload[k - 4]; }
  /// The same without payload, for those who only have to name it.
  [[nodiscard]] Packet header_only() const {
    Packet p;
    p.kind = kind, p.words = words, p.tile = tile, p.ipu = ipu, p.remote = remote, p.local = local;
    return p;
  }
  /// From its words on a lane, header first.
  [[nodiscard]] static Packet from_words(const std::vector<Word>& words);
};

inline Packet Packet::from_words(const std::vector<Word>& w) {
  Packet p;
  p.kind = static_cast<Kind>(w[0] & 3);
  p.words = w[0] >> 2 & 0x1ff;
  p.tile = w[0] >> 11 & 0xfff;
  p.ipu = w[0] >> 23 & 0xff;
  p.remote = w[1] | std::uint64_t{w[2]} << 32;
  p.local = w[3];
  p.payload.assign(w.begin() + 4, w.end());
  return p;
}

}  // namespace tessera
