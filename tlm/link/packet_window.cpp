// See packet_window.h.
#include "tlm/link/packet_window.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace tessera {

namespace {
constexpr Cycle kFirstOffer = 12, kNextOffer = 8;
constexpr std::uint32_t kBad = 29, kOutside = 30;
}  // namespace

PacketWindow::PacketWindow(const PacketInputs& inputs) : in_(inputs) {
  const PacketHeader header = PacketHeader::unpack(word64(in_.table));
  descriptors_ = static_cast<std::uint32_t>(header.descriptors);
  expected_ = static_cast<std::uint32_t>(header.expected);
  if (in_.table - kSramBase + 8 + std::uint64_t{16} * descriptors_ > in_.sram_bytes) {
    fail(kBad, in_.table, in_.issue + kFirstOffer);
    return;
  }
  sending_ = true;
  open_descriptor(in_.issue + kFirstOffer);
}

std::uint64_t PacketWindow::word64(Address address) const {
  std::uint64_t bits = 0;
  std::memcpy(&bits, in_.sram + (address - kSramBase), 8);
  return bits;
}

void PacketWindow::fail(std::uint32_t cause, std::uint32_t tval, Cycle cycle) {
  // Cause 30 before 29 in the same cycle.
  if (fault_ && (fault_->cycle < cycle || (fault_->cycle == cycle && fault_->cause >= cause))) return;
  fault_ = Fault{cause, tval, cycle};
}

void PacketWindow::open_descriptor(Cycle now) {
  if (index_ == descriptors_) {
    sending_ = false;
    return;
  }
  const Address at = in_.table + 8 + 16 * index_;
  descriptor_ = PacketDescriptor::unpack(word64(at));
  const auto base = [&](std::uint64_t which) { return which == 0 ? 0 : in_.xbase[which - 1]; };
  local_ = static_cast<Address>(descriptor_.local * 4 +
                                (descriptor_.local_base == 0 ? kSramBase : base(descriptor_.local_base)));
  remote_ = word64(at + 8) + base(descriptor_.remote_base);
  left_ = static_cast<std::uint32_t>(descriptor_.words);
  offer_ = now;
  const PacketRemote remote = PacketRemote::unpack(remote_);
  const bool inside =
      local_ % 4 == 0 && local_ >= kSramBase && local_ - kSramBase + std::uint64_t{4} * left_ <= in_.sram_bytes;
  const bool read = descriptor_.kind == kPacketRead;
  if ((descriptor_.kind != kPacketWrite && !read) || left_ == 0 || remote.kind > kRemoteHost ||
      (read && remote.kind != kRemoteHost) || remote.offset % 4 != 0 || !inside) {
    fail(kBad, at, now);
    sending_ = false;
  }
}

unsigned PacketWindow::piece_words() const {
  const auto to_boundary = static_cast<unsigned>((1024 - remote_ % 1024) / 4);
  return std::min({left_, std::uint32_t{kPacketMaxWords}, to_boundary});
}

std::optional<Cycle> PacketWindow::next_offer() const {
  if (!sending_) return std::nullopt;
  return offer_;
}

Packet PacketWindow::next_packet() const {
  Packet p;
  p.kind = descriptor_.kind == kPacketRead ? Packet::Kind::read_request : Packet::Kind::write;
  p.words = piece_words();
  p.tile = in_.tile;
  p.ipu = in_.ipu;
  p.remote = remote_;
  p.local = local_ - kSramBase;
  if (p.carries_payload()) {
    p.payload.resize(p.words);
    std::memcpy(p.payload.data(), in_.sram + p.local, std::size_t{4} * p.words);
  }
  return p;
}

void PacketWindow::taken(Cycle first, const Packet& p) {
  const unsigned count = p.lane_words();
  if (in_.traffic)
    for (unsigned k = 0; k < count; ++k) traffic_.sent.push_back({first + k, p.lane_word(k), k == 0, k + 1 == count});
  last_taken_ = first + count - 1;
  if (p.kind == Packet::Kind::read_request) awaited_ += p.words;
  left_ -= p.words;
  local_ += 4 * p.words;
  remote_ += std::uint64_t{4} * p.words;
  offer_ = last_taken_ + kNextOffer;
  if (left_ != 0) return;
  ++index_;
  open_descriptor(offer_);
}

bool PacketWindow::deliver(Cycle first, const Packet& p) {
  const bool write = p.kind == Packet::Kind::write;
  const std::uint32_t offset = write ? static_cast<std::uint32_t>(p.remote) : p.local;
  const unsigned count = p.lane_words();
  if (in_.traffic)
    for (unsigned k = 0; k < count; ++k)
      traffic_.delivered.push_back({first + k, p.lane_word(k), k == 0, k + 1 == count});
  last_written_ = {kSramBase, 0};
  // Behind the end of the window a write is a stray and an answer is dropped. The engine looks at word 1 of a write's
  // header, at word 3 of an answer's, in the cycle after each.
  if (write && ((fault_ && first + 2 > fault_->cycle) || over_)) {
    if (!stray_) stray_ = Stray{kSramBase + offset, first + 1};
    return false;
  }
  // A word beyond the expected before an answer has come is a fault: the window was not complete.
  if (!write && (answered_ == awaited_ || (fault_ && first + 4 > fault_->cycle) || (over_ && first + 4 > over_->cycle)))
    return false;
  std::uint32_t good = 0;
  for (; good < p.words; ++good) {
    const std::uint64_t at = std::uint64_t{offset} + 4 * good;
    const Cycle cycle = first + 4 + good;
    const auto address = static_cast<Address>(kSramBase + at);
    if (at % 4 != 0 || at + 4 > in_.sram_bytes) {
      fail(kOutside, address, cycle);
      break;
    }
    if (write && cycle >= floor() && received_ >= expected_ && !(fault_ && fault_->cycle < cycle)) {
      over_ = Fault{kOutside, address, cycle};
      break;
    }
    if (write) {
      ++received_;
      if (cycle < floor()) ++early_, early_last_ = address;
    }
    std::memcpy(in_.sram + at, &p.payload[good], 4);
  }
  last_written_ = {kSramBase + offset, std::size_t{4} * good};
  if (good != 0) last_arrived_ = first + 3 + good;
  if (!write) answered_ += good;
  return good == p.words;
}

Cycle PacketWindow::closed_from() const {
  return std::max({floor(), last_taken_, last_arrived_ == 0 ? 0 : last_arrived_ + 1});
}

std::optional<Cycle> PacketWindow::decided() const {
  if (fault_) return std::max(floor(), fault_->cycle) + 1;
  if (early_ > expected_) return floor();
  if (complete()) return closed_from();
  if (over_) return over_->cycle + 1;
  return std::nullopt;
}

bool PacketWindow::finished(Cycle to) {
  const std::optional<Cycle> when = decided();
  if (!when || *when > to) return false;
  if (early_ > expected_) fail(kOutside, early_last_, floor());
  if (over_ && (!complete() || over_->cycle < closed_from())) {
    fail(kOutside, over_->tval, over_->cycle);
  } else if (over_ && !fault_) {
    stray_ = Stray{over_->tval, over_->cycle};
  }
  return true;
}

Cycle PacketWindow::completion() const {
  return std::max(floor(), fault_ ? fault_->cycle : std::max(last_taken_, last_arrived_));
}

std::string PacketWindow::describe() const {
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (sending_) add(fmt::format("to send descriptor {} of {} ({} words left)", index_ + 1, descriptors_, left_));
  if (answered_ < awaited_) add(fmt::format("{} words of reads", awaited_ - answered_));
  if (received_ < expected_) add(fmt::format("{} more words of {} expected", expected_ - received_, expected_));
  return text;
}

}  // namespace tessera
