// See phase_cache.h.
#include "tlm/exchange/phase_cache.h"

#include <cstring>

namespace tessera {

namespace {

constexpr Address kBase = 0x0004'0000;
constexpr std::size_t kMostCopies = 4'000'000;    // about 80 MB
constexpr std::size_t kMostSignatures = 1 << 16;  // base registers that change each time make new ones each time

/// Bytes of the table in SRAM; 0 if it reaches beyond.
std::size_t table_bytes(const ExchangeInputs& in) {
  const std::uint64_t offset = in.table - kBase;
  if (offset + 8 > in.sram_bytes) return 0;
  std::uint64_t header = 0;
  std::memcpy(&header, in.sram + offset, 8);
  const std::uint64_t bytes = 8 + 8 * ((header & 0xffff) + (header >> 16 & 0xffff));
  return offset + bytes > in.sram_bytes ? 0 : bytes;
}

}  // namespace

std::uint64_t PhaseCache::signature(const std::vector<Participant>& participants) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  const auto mix = [&](std::uint64_t value) { hash = (hash ^ value) * 0x100000001b3ull; };
  for (const Participant& p : participants) {
    mix(p.tile);
    mix(p.inputs->table);
    for (std::uint32_t base : p.inputs->xbase) mix(base);
    mix(p.inputs->xsource);
  }
  return hash;
}

PhaseCache::Part PhaseCache::part_of(const Participant& participant) {
  const ExchangeInputs& in = *participant.inputs;
  Part part;
  part.tile = participant.tile;
  part.table = in.table;
  part.xbase = in.xbase;
  part.xsource = in.xsource;
  part.issue = in.issue - in.release;
  const std::uint8_t* words = in.sram + (in.table - kBase);
  part.words.assign(words, words + table_bytes(in));
  return part;
}

bool PhaseCache::same(const Part& part, const Participant& participant) {
  const ExchangeInputs& in = *participant.inputs;
  // An earlier x.exchange cannot break a start rule that a later one kept.
  return part.tile == participant.tile && part.table == in.table && part.xbase == in.xbase &&
         part.xsource == in.xsource && in.issue - in.release <= part.issue && !part.words.empty() &&
         in.table - kBase + part.words.size() <= in.sram_bytes &&
         std::memcmp(in.sram + (in.table - kBase), part.words.data(), part.words.size()) == 0;
}

const PhaseCache::Phase* PhaseCache::find(const std::vector<Participant>& participants) const {
  const auto found = phases_.find(signature(participants));
  if (found == phases_.end() || found->second.parts.size() != participants.size()) return nullptr;
  for (std::size_t i = 0; i < participants.size(); ++i)
    if (!same(found->second.parts[i], participants[i])) return nullptr;
  return &found->second;
}

bool PhaseCache::wanted(const std::vector<Participant>& participants) {
  if (copies_ >= kMostCopies) return false;
  if (seen_.size() >= kMostSignatures) seen_.clear();
  return !seen_.insert(signature(participants)).second;
}

void PhaseCache::keep(const std::vector<Participant>& participants, Phase phase) {
  Phase& place = phases_[signature(participants)];
  copies_ -= place.copies.size();
  copies_ += phase.copies.size();
  place = std::move(phase);
}

}  // namespace tessera
