// See link_frame.h.
#include "tlm/link/link_frame.h"

#include <boost/crc.hpp>

namespace tessera {

namespace {

void put(std::vector<std::uint8_t>& bytes, Word word) {
  for (unsigned k = 0; k < 4; ++k) bytes.push_back(static_cast<std::uint8_t>(word >> 8 * k));
}

Word get(const std::vector<std::uint8_t>& bytes, std::size_t at) {
  return bytes[at] | Word{bytes[at + 1]} << 8 | Word{bytes[at + 2]} << 16 | Word{bytes[at + 3]} << 24;
}

Word crc(const std::vector<std::uint8_t>& bytes, std::size_t count) {
  boost::crc_32_type sum;
  sum.process_bytes(bytes.data(), count);
  return sum.checksum();
}

}  // namespace

std::vector<std::uint8_t> encode_frame(std::uint32_t sequence, const Packet& packet, unsigned padding) {
  std::vector<std::uint8_t> bytes;
  bytes.reserve(8 + padding + 4 * packet.lane_words());
  put(bytes, sequence);
  bytes.resize(bytes.size() + padding);
  for (unsigned k = 0; k < packet.lane_words(); ++k) put(bytes, packet.lane_word(k));
  put(bytes, crc(bytes, bytes.size()));
  return bytes;
}

std::optional<FrameContent> decode_frame(const std::vector<std::uint8_t>& bytes, unsigned padding) {
  const std::size_t start = 4 + padding;
  if (bytes.size() < start + 4 * kPacketHeaderWords + 4 || (bytes.size() - start) % 4 != 0) return std::nullopt;
  const std::size_t end = bytes.size() - 4;
  if (get(bytes, end) != crc(bytes, end)) return std::nullopt;
  std::vector<Word> words;
  for (std::size_t at = start; at < end; at += 4) words.push_back(get(bytes, at));
  FrameContent content{get(bytes, 0), Packet::from_words(words)};
  if (content.packet.lane_words() != words.size()) return std::nullopt;
  return content;
}

FramePool::~FramePool() {
  for (const auto& slot : all_) slot->payload.clear_extension(&slot->frame);
}

tlm::tlm_generic_payload& FramePool::get() {
  if (idle_.empty()) {
    all_.push_back(std::make_unique<Slot>(this));
    idle_.push_back(&all_.back()->payload);
  }
  tlm::tlm_generic_payload& payload = *idle_.back();
  idle_.pop_back();
  payload.acquire();
  payload.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
  return payload;
}

void FramePool::free(tlm::tlm_generic_payload* payload) {
  payload->get_extension<LinkFrame>()->packet.reset();
  idle_.push_back(payload);
}

}  // namespace tessera
