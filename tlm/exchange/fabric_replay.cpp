// Recording and replay of whole phases; see phase_cache.h.
#include <cstring>

#include "hw/generated/machine.h"
#include "tlm/exchange/fabric_state.h"

namespace tessera {

namespace {

/// Whole words, possibly of one tile to itself.
void copy_block(std::uint8_t* to, const std::uint8_t* from, std::uint32_t bytes) {
  struct Block {
    std::uint8_t bytes[32];
  };
  if (bytes != sizeof(Block)) {
    std::memmove(to, from, bytes);
    return;
  }
  Block block;  // a piece of 8 words, the commonest of short ones: without a call
  std::memcpy(&block, from, sizeof block);
  std::memcpy(to, &block, sizeof block);
}

}  // namespace

bool Fabric::replay(std::vector<PhaseOutcome>& outcomes) {
  Replay& r = *replay_;
  r.participants.clear();
  for (unsigned id : pending_) {
    // Read already: somebody asked for its times, or it was published with its runs.
    if (!sources_[id].unread) return false;
    r.participants.push_back({id, &*sources_[id].unread});
  }
  const PhaseCache::Phase* phase = r.cache.find(r.participants);
  if (phase == nullptr) return false;
  r.memories.resize(sources_.size());
  for (unsigned id : pending_) r.memories[id] = sources_[id].tile->sram();
  for (const PhaseCache::Copy& copy : phase->copies)
    copy_block(r.memories[copy.to] + copy.to_offset, r.memories[copy.from] + copy.from_offset, copy.bytes);
  for (const PhaseCache::Written& written : phase->written)
    sources_[written.tile].tile->memory_written(kSramBase + written.offset, written.bytes);
  for (const PhaseCache::Part& part : phase->parts) {
    const ExchangeInputs& in = *sources_[part.tile].unread;
    PhaseOutcome outcome;
    outcome.tile = part.tile;
    outcome.result.last_word = part.silent ? in.issue : in.release + part.last_word;
    outcome.first_word = part.silent ? in.issue : in.release + part.first_word;
    outcomes.push_back(outcome);
  }
  counters_.words_sent += phase->sent;
  counters_.words_received += phase->received;
  ++counters_.replayed;
  r.unheard = phase->unheard;
  pending_.clear();
  return true;
}

void Fabric::begin_recording() {
  Replay& r = *replay_;
  r.recording = false;
  r.participants.clear();
  r.inputs.clear();
  for (unsigned id : pending_) {
    if (!sources_[id].unread) return;
    r.inputs.push_back(*sources_[id].unread);
  }
  for (std::size_t i = 0; i < pending_.size(); ++i) r.participants.push_back({pending_[i], &r.inputs[i]});
  if (r.participants.empty() || !r.cache.wanted(r.participants)) return;
  r.recording = true;
  r.phase = {};
  // Before the copies: afterwards a table could have been received over.
  for (const auto& participant : r.participants) r.phase.add(participant.tile, *participant.inputs);
}

void Fabric::copied(unsigned from, unsigned to, const std::uint8_t* from_bytes, const std::uint8_t* to_bytes,
                    std::size_t bytes) {
  PhaseCache::Copy copy;
  copy.from = static_cast<std::uint16_t>(from);
  copy.to = static_cast<std::uint16_t>(to);
  copy.from_offset = static_cast<std::uint32_t>(from_bytes - sources_[from].tile->sram());
  copy.to_offset = static_cast<std::uint32_t>(to_bytes - sources_[to].tile->sram());
  copy.bytes = static_cast<std::uint32_t>(bytes);
  replay_->phase.add(copy);
}

void Fabric::record(const std::vector<PhaseOutcome>& outcomes) {
  Replay& r = *replay_;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const PhaseOutcome& outcome = outcomes[i];
    if (outcome.result.fault) {
      r.recording = false;
      return;
    }
    PhaseCache::Part& part = r.phase.parts[i];
    const ExchangeInputs& in = r.inputs[i];
    part.silent = outcome.result.last_word == in.issue;
    part.first_word = outcome.first_word - in.release;
    part.last_word = outcome.result.last_word - in.release;
    for (const SendRun& run : sources_[outcome.tile].phase.sends) r.phase.sent += run.words;
  }
}

void Fabric::finish_recording(const std::vector<UnheardRun>& unheard) {
  Replay& r = *replay_;
  if (!r.recording) return;
  r.recording = false;
  r.phase.unheard = unheard;
  r.cache.keep(r.participants, std::move(r.phase));
  r.phase = {};
}

}  // namespace tessera
