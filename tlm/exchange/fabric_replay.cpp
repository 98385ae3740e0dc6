// Recording and replay of whole phases; see phase_cache.h.
#include <cstring>

#include "hw/generated/machine.h"
#include "tlm/exchange/fabric_state.h"

namespace tessera {

bool Fabric::replay(std::vector<PhaseOutcome>& outcomes) {
  std::vector<PhaseCache::Participant> participants;
  for (unsigned id : pending_) {
    // Read already: somebody asked for its times, or it was published with its runs.
    if (!sources_[id].unread) return false;
    participants.push_back({id, &*sources_[id].unread});
  }
  const PhaseCache::Phase* phase = replay_->cache.find(participants);
  if (phase == nullptr) return false;
  for (const PhaseCache::Copy& copy : phase->copies) {
    TileModel& to = *sources_[copy.to].tile;
    std::memmove(to.sram() + copy.to_offset, sources_[copy.from].tile->sram() + copy.from_offset, copy.bytes);
    to.memory_written(kSramBase + copy.to_offset, copy.bytes);
  }
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
  replay_->unheard = phase->unheard;
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
  for (const auto& participant : r.participants) r.phase.parts.push_back(PhaseCache::part_of(participant));
}

void Fabric::copied(unsigned from, unsigned to, const std::uint8_t* from_bytes, const std::uint8_t* to_bytes,
                    std::size_t bytes) {
  PhaseCache::Copy copy;
  copy.from = static_cast<std::uint16_t>(from);
  copy.to = static_cast<std::uint16_t>(to);
  copy.from_offset = static_cast<std::uint32_t>(from_bytes - sources_[from].tile->sram());
  copy.to_offset = static_cast<std::uint32_t>(to_bytes - sources_[to].tile->sram());
  copy.bytes = static_cast<std::uint32_t>(bytes);
  replay_->phase.copies.push_back(copy);
  replay_->phase.received += bytes / 4;
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

void Fabric::finish_recording() {
  Replay& r = *replay_;
  if (!r.recording) return;
  r.recording = false;
  r.phase.unheard = unheard();
  r.cache.keep(r.participants, std::move(r.phase));
  r.phase = {};
}

}  // namespace tessera
