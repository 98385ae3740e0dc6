// Decoding of pages and their sharing between tiles.
#include "tlm/tile/code_cache.h"

#include <algorithm>
#include <cstring>

#include "tlm/tile/threaded.h"

namespace tessera {

namespace {

std::uint32_t word_at(const std::uint8_t* bytes) {
  std::uint32_t w = 0;
  std::memcpy(&w, bytes, sizeof w);
  return w;
}

std::uint64_t hash(const std::uint8_t* bytes, Address address, Role role) {
  std::uint64_t h = address * 2u + static_cast<unsigned>(role) + 0x9e37'79b9'7f4a'7c15u;
  for (unsigned i = 0; i < kPageBytes; i += 8) {
    std::uint64_t v = 0;
    std::memcpy(&v, bytes + i, sizeof v);
    h = (h ^ v) * 0xff51'afd7'ed55'8ccdu;
    h ^= h >> 32;
  }
  return h;
}

bool allowed(isa::Role who, Role role) {
  return who == isa::Role::all || (who == isa::Role::worker) == (role == Role::worker);
}

}  // namespace

Decoded decode_word(std::uint32_t word, Role role) {
  Decoded d;
  d.word = word;
  const isa::Op op = isa::decode(word);
  const isa::Info& info = isa::info(op);
  if (op == isa::Op::illegal || !allowed(info.role, role)) return d;
  d.op = static_cast<std::uint16_t>(op);
  d.rd = static_cast<std::uint8_t>(isa::rd(word));
  d.rs1 = static_cast<std::uint8_t>(isa::rs1(word));
  d.rs2 = static_cast<std::uint8_t>(isa::rs2(word));
  d.rs3 = static_cast<std::uint8_t>(isa::rs3(word));
  d.slots = info.slots;
  d.flags = static_cast<std::uint8_t>(isa::rm(word));
  d.imm = static_cast<std::int32_t>(isa::immediate(info.imm, word));
  if (op == isa::Op::x_sync) d.imm = d.rs2;
  return d;
}

void decode_pair(const std::uint8_t* bytes, Role role, Decoded* out) {
  out[0] = decode_word(word_at(bytes), role);
  out[1] = decode_word(word_at(bytes + 4), role);
  if (role == Role::worker &&
      isa::pairs(static_cast<isa::Op>(out[0].op), out[0].word, static_cast<isa::Op>(out[1].op), out[1].word))
    out[0].flags |= Decoded::kPair;
}

std::shared_ptr<CodePage> CodeCache::find(Role role, Address address, const std::uint8_t* bytes) {
  const std::uint64_t key = hash(bytes, address, role);
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto range = pages_.equal_range(key);
  for (auto it = range.first; it != range.second; ++it) {
    const Entry& entry = it->second;
    if (entry.page->role == role && entry.page->address == address &&
        std::memcmp(entry.bytes.data(), bytes, kPageBytes) == 0)
      return entry.page;
  }
  if (pages_.size() >= purge_at_) {
    drop_unused();
    // As many again before the next look, so that pages which differ by tile cost no search each.
    purge_at_ = std::max(kPurgeAbove, 2 * pages_.size());
  }
  auto page = std::make_shared<CodePage>();
  page->role = role;
  page->shared = true;
  page->address = address;
  page->decode_all(bytes);
  std::uint32_t run = 0;
  for (const Decoded& d : page->decoded) {
    run += d.slots;
    page->longest = std::max(page->longest, run);
    if (leaves_straight_line(d)) run = 0;
  }
  pages_.emplace(key, Entry{std::vector<std::uint8_t>(bytes, bytes + kPageBytes), page});
  return page;
}

void CodeCache::drop_unused() {
  for (auto it = pages_.begin(); it != pages_.end();) it = it->second.page.use_count() == 1 ? pages_.erase(it) : ++it;
}

std::size_t CodeCache::pages() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return pages_.size();
}

}  // namespace tessera
