// Matches receive runs with send runs and copies; see fabric.h.
#include "tlm/exchange/fabric.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <tuple>

#include "tlm/exchange/fabric_state.h"

namespace tessera {

namespace {

constexpr Address kBase = 0x0004'0000;
constexpr std::uint32_t kUnderrun = 27;

void mark(HeardWords& heard, std::uint32_t from, std::uint32_t to) {
  if (!heard.empty()) {
    auto& last = heard.back();
    if (last.first <= from && to <= last.second) return;
    if (last.first <= from && from <= last.second) {
      last.second = to;
      return;
    }
  }
  heard.emplace_back(from, to);
}

std::uint64_t covered(HeardWords heard) {
  std::sort(heard.begin(), heard.end());
  std::uint64_t sum = 0;
  std::uint32_t end = 0;
  for (auto [from, to] : heard) {
    from = std::max(from, end);
    if (to > from) sum += to - from, end = to;
  }
  return sum;
}

}  // namespace

FabricTiming FabricTiming::of(const Platform& platform) {
  FabricTiming timing;
  timing.base = platform.exchange.base;
  for (unsigned t = 0; t < platform.tiles; ++t) {
    timing.send.push_back(platform.send_delay(t));
    timing.receive.push_back(platform.receive_delay(t));
  }
  return timing;
}

Cycle FabricTiming::smallest() const {
  if (send.empty()) return base;
  return base + *std::min_element(send.begin(), send.end()) + *std::min_element(receive.begin(), receive.end());
}

Cycle FabricTiming::largest() const {
  if (send.empty()) return base;
  return base + *std::max_element(send.begin(), send.end()) + *std::max_element(receive.begin(), receive.end());
}

class Fabric::Port : public ExchangePort {
 public:
  Port(Fabric& fabric, unsigned id) : fabric_(fabric), id_(id) {}

  void send(Cycle c, Word word) override { fabric_.sources_[id_].fresh.emplace_back(c, word); }

  std::optional<Word> receive(Cycle c, unsigned source) override {
    if (source >= fabric_.sources_.size()) return std::nullopt;
    const Cycle delay = fabric_.timing_.delay(source, id_);
    if (c < delay) return std::nullopt;
    Word word = 0;
    if (source == id_) {  // its own words may be too fresh to be in the log
      const auto& fresh = fabric_.sources_[id_].fresh;
      const auto at = std::lower_bound(fresh.begin(), fresh.end(), std::make_pair(c - delay, Word{0}));
      if (at != fresh.end() && at->first == c - delay) {
        heard.emplace_back(source, c - delay);
        return at->second;
      }
    }
    // Several ports may look at one source at once, so what pin-level tiles hear is noted here and merged at commit.
    if (fabric_.peek(source, c - delay, word) == 0) return std::nullopt;
    heard.emplace_back(source, c - delay);
    return word;
  }

  std::vector<std::pair<unsigned, Cycle>> heard;

 private:
  Fabric& fabric_;
  unsigned id_;
};

Fabric::Fabric(FabricTiming timing)
    : timing_(std::move(timing)), sources_(timing_.tiles()), replay_(std::make_unique<Replay>()) {
  assert(timing_.send.size() == timing_.receive.size());
}

Fabric::~Fabric() = default;

std::vector<UnheardRun> Fabric::begin_phase() {
  std::vector<UnheardRun> silent;
  if (!published_ && !pins_) return silent;
  silent = unheard();
  finish_recording(silent);
  for (const UnheardRun& run : silent) counters_.words_unheard += run.words;
  for (Source& source : sources_) {
    if (source.tile == nullptr && !source.port) continue;
    source.tile = nullptr;
    source.unread.reset();
    source.phase = {};
    source.heard.clear();
    source.log.clear();
    source.fresh.clear();
  }
  pending_.clear();
  published_ = false;
  resolved_ = 0;
  replay_->unheard.clear();
  return silent;
}

void Fabric::publish(unsigned id, TileModel& tile, Cycle issue, ExchangePhase phase) {
  Source& source = sources_[id];
  source.tile = &tile;
  source.issue = issue;
  source.phase = std::move(phase);
  source.heard.assign(source.phase.sends.size(), {});
  for (const SendRun& run : source.phase.sends) counters_.words_sent += run.words;
  wait(id);
}

void Fabric::wait(unsigned id) {
  published_ = true;
  if (pending_.empty() || pending_.back() < id)
    pending_.push_back(id);
  else
    pending_.insert(std::upper_bound(pending_.begin(), pending_.end(), id), id);
}

void Fabric::publish(unsigned id, TileModel& tile, const ExchangeInputs& inputs) {
  // Pin-level tiles may look at any cycle from now on.
  if (pins_) return publish(id, tile, inputs.issue, read_exchange_table(inputs));
  Source& source = sources_[id];
  source.tile = &tile;
  source.issue = inputs.issue;
  source.unread = inputs;
  wait(id);
}

void Fabric::read(Source& source) {
  if (!source.unread) return;
  source.phase = read_exchange_table(*source.unread);
  source.unread.reset();
  source.heard.assign(source.phase.sends.size(), {});
  for (const SendRun& run : source.phase.sends) counters_.words_sent += run.words;
}

ExchangePort& Fabric::port(unsigned id) {
  if (!pins_) {
    pins_ = true;
    for (Source& source : sources_) read(source);
  }
  auto& port = sources_[id].port;
  if (!port) port = std::make_unique<Port>(*this, id);
  return *port;
}

void Fabric::commit() {
  for (Source& source : sources_) {
    for (const auto& [cycle, word] : source.fresh) {
      if (source.log.empty() || source.log.back().start + source.log.back().words.size() != cycle)
        source.log.push_back({cycle, {}});
      source.log.back().words.push_back(word);
      ++counters_.words_sent;
    }
    source.fresh.clear();
    if (!source.port) continue;
    for (const auto& [from, cycle] : source.port->heard) {
      ++counters_.words_received;
      Source& sender = sources_[from];
      if (sender.tile == nullptr) continue;
      const std::size_t at = run_at(sender, cycle);
      const auto word = static_cast<std::uint32_t>(cycle - sender.phase.sends[at].start);
      mark(sender.heard[at], word, word + 1);
    }
    source.port->heard.clear();
  }
}

Cycle Fabric::last_listening() {
  Cycle last = 0;
  for (unsigned id : pending_) {
    read(sources_[id]);
    const auto& receives = sources_[id].phase.receives;
    if (!receives.empty()) last = std::max(last, receives.back().start + receives.back().words - 1);
  }
  return last;
}

Cycle Fabric::last_heard() {
  Cycle last = 0;
  for (unsigned id : pending_) {
    read(sources_[id]);
    const auto& sends = sources_[id].phase.sends;
    if (!sends.empty()) last = std::max(last, sends.back().start + sends.back().words - 1 + timing_.largest());
  }
  return last;
}

bool Fabric::pending_listens_to(unsigned id) {
  for (unsigned listener : pending_) {
    read(sources_[listener]);
    for (const ReceiveRun& run : sources_[listener].phase.receives)
      if (run.source == id) return true;
  }
  return false;
}

std::size_t Fabric::run_at(const Source& source, Cycle sent) {
  const auto& sends = source.phase.sends;
  const auto next =
      std::upper_bound(sends.begin(), sends.end(), sent, [](Cycle c, const SendRun& run) { return c < run.start; });
  if (next == sends.begin()) return sends.size();
  const auto at = static_cast<std::size_t>(next - sends.begin()) - 1;
  return sent < sends[at].start + sends[at].words ? at : sends.size();
}

std::uint32_t Fabric::peek(unsigned id, Cycle sent, Word& word) const {
  const Source& source = sources_[id];
  if (source.tile == nullptr) return copy_from_log(source, sent, reinterpret_cast<std::uint8_t*>(&word), 1);
  const std::size_t at = run_at(source, sent);
  if (at == source.phase.sends.size()) return 0;
  const SendRun& run = source.phase.sends[at];
  std::memcpy(&word, source.tile->sram() + (run.address - kBase) + 4 * (sent - run.start), 4);
  return 1;
}

std::uint32_t Fabric::copy_from_runs(unsigned from, unsigned receiver, Cycle sent, std::uint8_t* to,
                                     std::uint32_t words) {
  Source& source = sources_[from];
  std::uint32_t done = 0;
  for (std::size_t at = run_at(source, sent); done < words && at < source.phase.sends.size(); ++at) {
    const SendRun& run = source.phase.sends[at];
    if (sent + done < run.start) break;  // a gap
    const auto skip = static_cast<std::uint32_t>(sent + done - run.start);
    const std::uint32_t count = std::min(words - done, run.words - skip);
    const std::uint8_t* bytes = source.tile->sram() + (run.address - kBase) + std::size_t{4} * skip;
    // memmove: a tile may listen to itself.
    std::memmove(to + std::size_t{4} * done, bytes, std::size_t{4} * count);
    if (replay_->recording) copied(from, receiver, bytes, to + std::size_t{4} * done, std::size_t{4} * count);
    mark(source.heard[at], skip, skip + count);
    done += count;
  }
  return done;
}

std::uint32_t Fabric::copy_from_log(const Source& source, Cycle sent, std::uint8_t* to, std::uint32_t words) const {
  std::uint32_t done = 0;
  auto next = std::upper_bound(source.log.begin(), source.log.end(), sent,
                               [](Cycle c, const Source::LogRun& run) { return c < run.start; });
  if (next == source.log.begin()) return 0;
  const Source::LogRun& run = *--next;  // runs of the log are never adjacent
  const Cycle skip = sent - run.start;
  if (skip >= run.words.size()) return 0;
  done = static_cast<std::uint32_t>(std::min<Cycle>(words, run.words.size() - skip));
  std::memcpy(to, run.words.data() + skip, std::size_t{4} * done);
  return done;
}

std::uint32_t Fabric::copy_words(unsigned id, unsigned receiver, Cycle sent, std::uint8_t* to, std::uint32_t words) {
  Source& source = sources_[id];
  if (source.tile == nullptr) return copy_from_log(source, sent, to, words);
  read(source);
  return copy_from_runs(id, receiver, sent, to, words);
}

ExchangeResult Fabric::receive_all(unsigned id) {
  Source& self = sources_[id];
  std::optional<ExchangeResult::Fault> receive_fault = self.phase.receive_fault;
  auto& receives = self.phase.receives;
  for (std::size_t i = 0; i < receives.size(); ++i) {
    ReceiveRun& run = receives[i];
    const Cycle delay = timing_.delay(run.source, id);
    std::uint32_t done = 0;
    if (run.start >= delay)
      done = copy_words(run.source, id, run.start - delay, self.tile->sram() + (run.address - kBase), run.words);
    counters_.words_received += done;
    if (done != 0) self.tile->memory_written(run.address, std::size_t{4} * done);
    if (done == run.words) continue;
    receive_fault = ExchangeResult::Fault{kUnderrun, run.start + done, run.descriptor};
    run.words = done;
    receives.resize(done == 0 ? i : i + 1);
    break;
  }
  ExchangeResult result;
  result.last_word = last_cycle(self.phase, receive_fault, self.issue);
  result.fault = first_fault(self.phase.send_fault, receive_fault);
  if (receive_fault && receive_fault->cause == kUnderrun) result.underrun = receive_fault->cycle;
  return result;
}

std::vector<PhaseOutcome> Fabric::resolve() {
  std::vector<PhaseOutcome> outcomes;
  outcomes.reserve(pending_.size());
  if (!pending_.empty()) ++counters_.phases;
  ++resolved_;
  if (!pins_ && resolved_ == 1) {
    if (replay(outcomes)) return outcomes;
    begin_recording();
  } else {
    replay_->recording = false;  // a phase in pieces is not kept
  }
  for (unsigned id : pending_) read(sources_[id]);
  for (unsigned id : pending_) {
    const Source& self = sources_[id];
    PhaseOutcome outcome{id, receive_all(id), self.issue};
    const auto& [sends, receives] = std::tie(self.phase.sends, self.phase.receives);
    Cycle first = kNever;
    if (!sends.empty()) first = sends.front().start;
    if (!receives.empty()) first = std::min(first, receives.front().start);
    if (first != kNever) outcome.first_word = first;
    outcomes.push_back(outcome);
  }
  pending_.clear();
  if (replay_->recording) record(outcomes);
  return outcomes;
}

std::vector<UnheardRun> Fabric::unheard() const {
  std::vector<UnheardRun> runs = replay_->unheard;
  for (unsigned id = 0; id < sources_.size(); ++id) {
    const Source& source = sources_[id];
    for (std::size_t i = 0; i < source.phase.sends.size(); ++i) {
      const SendRun& run = source.phase.sends[i];
      if (run.may_be_unheard) continue;
      const std::uint64_t heard = covered(source.heard[i]);
      if (heard < run.words) runs.push_back({id, run.descriptor, run.words - heard});
    }
  }
  return runs;
}

}  // namespace tessera
