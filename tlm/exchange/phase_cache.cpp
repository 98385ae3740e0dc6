// See phase_cache.h.
#include "tlm/exchange/phase_cache.h"

#include <algorithm>
#include <cstring>

namespace tessera {

namespace {

constexpr Address kBase = 0x0004'0000;
constexpr std::size_t kMostBytes = std::size_t{128} << 20;
constexpr std::size_t kMostSignatures = 1 << 16;  // base registers that change each time make new ones each time
constexpr unsigned kOfAFamily = 4;                // phases of the same tables that are kept at first sight

/// Bytes of the table in SRAM; 0 if it reaches beyond.
std::uint32_t table_bytes(const ExchangeInputs& in) {
  const std::uint64_t offset = in.table - kBase;
  if (offset + 8 > in.sram_bytes) return 0;
  std::uint64_t header = 0;
  std::memcpy(&header, in.sram + offset, 8);
  const std::uint64_t bytes = 8 + 8 * ((header & 0xffff) + (header >> 16 & 0xffff));
  return offset + bytes > in.sram_bytes ? 0 : static_cast<std::uint32_t>(bytes);
}

}  // namespace

std::size_t PhaseCache::Phase::bytes() const {
  return parts.size() * sizeof(Part) + tables.size() + copies.size() * sizeof(Copy) + written.size() * sizeof(Written) +
         unheard.size() * sizeof(UnheardRun);
}

void PhaseCache::Phase::add(unsigned tile, const ExchangeInputs& in) {
  Part part;
  part.tile = tile;
  part.table = in.table;
  part.xbase = in.xbase;
  part.xsource = in.xsource;
  part.issue = in.issue - in.release;
  part.table_bytes = tessera::table_bytes(in);
  parts.push_back(part);
  const std::uint8_t* words = in.sram + (in.table - kBase);
  tables.insert(tables.end(), words, words + part.table_bytes);
}

void PhaseCache::Phase::add(const Copy& copy) {
  received += copy.bytes / 4;
  Copy* const last = copies.empty() ? nullptr : &copies.back();
  if (last != nullptr && last->from == copy.from && last->to == copy.to &&
      last->from_offset + last->bytes == copy.from_offset && last->to_offset + last->bytes == copy.to_offset)
    last->bytes += copy.bytes;
  else
    copies.push_back(copy);
  Written* const end = written.empty() ? nullptr : &written.back();
  if (end != nullptr && end->tile == copy.to && end->offset + end->bytes == copy.to_offset)
    end->bytes += copy.bytes;
  else
    written.push_back({copy.to, copy.to_offset, copy.bytes});
}

std::uint64_t PhaseCache::signature(const std::vector<Participant>& participants, bool bases) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const Participant& p : participants) {
    const ExchangeInputs& in = *p.inputs;
    std::uint64_t value = (std::uint64_t{p.tile} << 32 | in.table) * 0x9e3779b97f4a7c15ull;
    if (bases) {
      value ^= (std::uint64_t{in.xbase[0]} << 32 | in.xbase[1]) * 0xc2b2ae3d27d4eb4full;
      value ^= (std::uint64_t{in.xbase[2]} << 32 | in.xsource) * 0x165667b19e3779f9ull;
    }
    hash = (hash ^ value ^ value >> 29) * 0x100000001b3ull;
  }
  return hash;
}

bool PhaseCache::same(const Phase& phase, const std::vector<Participant>& participants) {
  if (phase.parts.size() != participants.size()) return false;
  const std::uint8_t* words = phase.tables.data();
  for (std::size_t i = 0; i < participants.size(); ++i) {
    const Part& part = phase.parts[i];
    const ExchangeInputs& in = *participants[i].inputs;
    // An earlier x.exchange cannot break a start rule that a later one kept.
    if (part.tile != participants[i].tile || part.table != in.table || part.xbase != in.xbase ||
        part.xsource != in.xsource || in.issue - in.release > part.issue || part.table_bytes == 0 ||
        in.table - kBase + part.table_bytes > in.sram_bytes ||
        std::memcmp(in.sram + (in.table - kBase), words, part.table_bytes) != 0)
      return false;
    words += part.table_bytes;
  }
  return true;
}

const PhaseCache::Phase* PhaseCache::find(const std::vector<Participant>& participants) {
  ++clock_;
  const auto found = phases_.find(signature(participants, true));
  if (found == phases_.end() || !same(found->second, participants)) return nullptr;
  found->second.used = clock_;
  return &found->second;
}

bool PhaseCache::wanted(const std::vector<Participant>& participants) {
  if (families_.size() >= kMostSignatures) families_.clear();
  if (families_[signature(participants, false)]++ < kOfAFamily) return true;
  if (seen_.size() >= kMostSignatures) seen_.clear();
  return !seen_.insert(signature(participants, true)).second;
}

void PhaseCache::keep(const std::vector<Participant>& participants, Phase phase) {
  phase.used = clock_;
  Phase& place = phases_[signature(participants, true)];
  bytes_ -= place.bytes();
  place = std::move(phase);
  bytes_ += place.bytes();
  if (bytes_ > kMostBytes) make_room();
}

void PhaseCache::make_room() {
  // The half that was not used for longest goes at once, so that this is seldom.
  std::vector<std::uint64_t> used;
  for (const auto& [key, phase] : phases_) used.push_back(phase.used);
  const auto middle = used.begin() + static_cast<std::ptrdiff_t>(used.size() / 2);
  std::nth_element(used.begin(), middle, used.end());
  for (auto it = phases_.begin(); it != phases_.end();) {
    if (it->second.used > *middle) {
      ++it;
      continue;
    }
    bytes_ -= it->second.bytes();
    it = phases_.erase(it);
  }
}

}  // namespace tessera
