// Turns records and stops into signal changes.
#include "verif/cosim/wave_tile.h"

#include <algorithm>
#include <string>

#include "hw/generated/isa.h"

namespace tessera {
namespace {

constexpr std::size_t kHeld = 4'000'000;  ///< changes

}  // namespace

WaveTile::WaveTile(const TileConfig& config, std::unique_ptr<TileModel> tile, SignalWave& wave)
    : config_(config), tile_(std::move(tile)), wave_(wave) {
  for (unsigned id = 0; id < contexts_.size(); ++id) {
    const std::string name = id == 0 ? "supervisor" : "worker" + std::to_string(id);
    contexts_[id] = {wave_.declare(name + ".state", 3), wave_.declare(name + ".issue", 1),
                     wave_.declare(name + ".pc", 32), wave_.declare(name + ".instruction", 32)};
  }
  line_ = wave_.declare("sync.line", 1);
  zone_ = wave_.declare("sync.zone", 3);
  tx_valid_ = wave_.declare("exchange.tx_valid", 1);
  tx_word_ = wave_.declare("exchange.tx_word", 32);
  rx_valid_ = wave_.declare("exchange.rx_valid", 1);
  rx_word_ = wave_.declare("exchange.rx_word", 32);
  tile_->observe(this);
}

WaveTile::~WaveTile() { tile_->observe(nullptr); }

void WaveTile::state(ContextId context, Cycle cycle, Run run) {
  wave_.set(contexts_[context].state, cycle, static_cast<std::uint64_t>(run));
}

void WaveTile::start(Address pc, Cycle at) {
  tile_->start(pc, at);
  state(0, at, Run::running);
}

void WaveTile::start_context(ContextId context, Address pc, Cycle at) {
  tile_->start_context(context, pc, at);
  state(context, at, Run::running);
}

TileStop WaveTile::run(Cycle limit, ExchangePort* port, PacketPort* packets) {
  const TileStop stop = tile_->run(limit, port, packets);
  using Kind = TileStop::Kind;
  if (stop.kind == Kind::limit) return stop;
  if (pending_ && pending_->kind == stop.kind && pending_->cycle == stop.cycle) return stop;
  if (stop.kind == Kind::exchange) words_.begin(*tile_, config_, stop, release_);
  if (stop.kind == Kind::exchange || stop.kind == Kind::packet || stop.kind == Kind::sync) {
    pending_ = stop;
    state(0, stop.cycle, Run::waiting);
  }
  if (stop.kind == Kind::sync) {
    wave_.set(line_, stop.cycle, 1);
    wave_.set(zone_, stop.cycle, static_cast<std::uint64_t>(stop.zone));
  }
  wave_.settle(stop.cycle);
  return stop;
}

void WaveTile::release(Cycle z, bool vote) {
  release_ = z;
  pending_.reset();
  wave_.set(line_, z, 0);
  state(0, z, Run::running);
  tile_->release(z, vote);
}

void WaveTile::finish_exchange(const ExchangeResult& result) {
  words_.finish(*tile_, result);
  show_words();
  const Cycle issue = pending_ ? pending_->cycle : release_;
  pending_.reset();
  state(0, std::max(issue + 12, result.last_word + 4), Run::running);
  tile_->finish_exchange(result);
}

void WaveTile::show_words() {
  for (const ExchangeWord& w : words_.sent) exchanged(w);
  for (const PhaseWords::Received& r : words_.received) exchanged(r.word);
  // A port is idle in every cycle without a word of its own.
  for (std::size_t k = 0; k < words_.sent.size(); ++k) {
    const Cycle next = words_.sent[k].cycle + 1;
    if (k + 1 == words_.sent.size() || words_.sent[k + 1].cycle != next) wave_.set(tx_valid_, next, 0);
  }
  for (std::size_t k = 0; k < words_.received.size(); ++k) {
    const Cycle next = words_.received[k].word.cycle + 1;
    if (k + 1 == words_.received.size() || words_.received[k + 1].word.cycle != next) wave_.set(rx_valid_, next, 0);
  }
}

void WaveTile::exchanged(const ExchangeWord& word) {
  wave_.set(word.out ? tx_valid_ : rx_valid_, word.cycle, 1);
  wave_.set(word.out ? tx_word_ : rx_word_, word.cycle, word.word);
}

void WaveTile::finish_packets(Cycle cycle, std::uint32_t received_words) {
  pending_.reset();
  state(0, cycle + 6, Run::running);
  tile_->finish_packets(cycle, received_words);
}

void WaveTile::fail_packets(Cycle cycle, std::uint32_t received_words, std::uint32_t cause, std::uint32_t tval) {
  pending_.reset();
  tile_->fail_packets(cycle, received_words, cause, tval);
}

/// Records come in cycle order, but that of a waiting instruction of the supervisor comes when it goes on: until then
/// nothing after its last one is settled, unless that would hold too much.
void WaveTile::settle(Cycle cycle) {
  const bool waiting = tile_->context(0).run == Run::waiting;
  wave_.settle(waiting && wave_.pending() < kHeld ? std::min(cycle, supervisor_seen_) : cycle);
}

void WaveTile::retired(const RetireRecord& record) {
  const ContextSignals& s = contexts_[record.context];
  const bool second_of_pair = record.paired && record.pc % 8 != 0;
  if (!second_of_pair) {
    wave_.set(s.issue, record.cycle, 1);
    wave_.set(s.issue, record.cycle + 1, 0);
    wave_.set(s.pc, record.cycle, record.pc);
    wave_.set(s.instruction, record.cycle, record.word);
  }
  if (record.trap && record.next_pc == record.pc) state(record.context, record.cycle + 6, Run::excepted);
  if (record.run[0] != 0) {
    for (ContextId w = 1; w < 7; ++w) {
      if (record.run[0] == 7 || record.run[0] == w) state(w, record.cycle + 6, Run::running);
    }
  }
  if (!record.trap && isa::decode(record.word) == isa::Op::x_exit) state(record.context, record.cycle + 6, Run::idle);
  if (record.context == 0) supervisor_seen_ = std::max(supervisor_seen_, record.cycle);
  if (++records_ % 1024 == 0) settle(record.cycle);
  if (outer_ != nullptr) outer_->retired(record);
}

}  // namespace tessera
