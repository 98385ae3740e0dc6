// The event loop of the TLM tile: which context goes next, when the supervisor finds a vacant slot, and how stops are
// answered. What instructions do is in tlm_execute.cpp, tlm_float.cpp, tlm_csr.cpp and tlm_control.cpp.
#include "tlm/tile/tlm_tile.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "hw/generated/machine.h"

namespace tessera {

namespace {

/// How far a worker may run ahead of a supervisor that does not wait for it: bounds the work on a worker that never
/// ends, and is long against the cost of a call.
constexpr Cycle kAhead = Cycle{1} << 20;

Cycle plus(Cycle a, Cycle b) { return a > kNever - b ? kNever : a + b; }

}  // namespace

TlmTile::TlmTile(const TileConfig& config, std::shared_ptr<CodeCache> code)
    : config_(config), sram_(config.sram_bytes), code_(code ? std::move(code) : std::make_shared<CodeCache>()) {
  for (unsigned i = 0; i < contexts_.size(); ++i) {
    TileContext& c = contexts_[i];
    c.id = static_cast<ContextId>(i);
    c.fs = i != 0;
    c.rng = {config.hart_base + i, 1, 1, 0};
  }
  const std::size_t pages = (config.sram_bytes + kPageBytes - 1) / kPageBytes;
  for (auto& list : pages_) list.resize(pages);
  line_flags_.resize(pages * (kPageBytes / kLineBytes));
  if (config.tohost == 0) return;
  for (const Address byte : {config.tohost, config.tohost + 3})
    if (byte - kSramBase < config.sram_bytes) line_flags_[(byte - kSramBase) >> kLineBits] |= kWatchedLine;
}

void TlmTile::start(Address pc, Cycle at) {
  TileContext& c = contexts_[0];
  c.run = Run::running;
  c.pc = pc;
  c.next = at;
  mode_ = Mode::issue;
  pending_.reset();
}

void TlmTile::start_context(ContextId context, Address pc, Cycle at) {
  if (context == 0) return start(pc, at);
  TileContext& c = contexts_.at(context);
  c.run = Run::running;
  busy_workers_ |= static_cast<std::uint8_t>(1u << (context - 1));
  c.pc = pc;
  c.x[10] = c.x[11] = c.x[2] = c.x[1] = 0;
  c.x[4] = context - 1u;
  c.fflags = c.frm = 0;
  c.looping = false;
  c.sums = {};
  c.next = at + (c.slot() + 6 - at % 6) % 6;
}

void TlmTile::watch_races(std::function<void(const TileRace&)> found) {
  races_ = std::make_unique<RaceChecker>();
  race_found_ = std::move(found);
}

void TlmTile::set_groups(bool group1, bool group2) {
  config_.group1 = group1;
  config_.group2 = group2;
}

TileStop TlmTile::run(Cycle limit, ExchangePort*, PacketPort*) {
  TileStop stop;
  while (!advance(limit, exact(), stop)) {
  }
  flush_events();
  stand(stop);
  return stop;
}

std::optional<TileStop> TlmTile::step(Cycle limit) {
  TileStop stop;
  const bool stops = advance(limit, true, stop);
  flush_events();
  if (!stops) return std::nullopt;
  stand(stop);
  return stop;
}

void TlmTile::stand(const TileStop& stop) {
  stands_ = stop.kind == TileStop::Kind::limit ? stop.cycle : std::max(stop.cycle, last_issue_ + 6);
  // In fast mode issues are not noted one by one.
  done_before_ = std::max({done_before_, last_issue_ + 1, stop.kind == TileStop::Kind::limit ? stop.cycle : 0});
}

bool TlmTile::exact() const {
  if (observer_ != nullptr || force_exact_ || debugging_ || races_) return true;
  if (config_.tohost == 0) return false;
  // The first store to tohost ends the run: nobody may be ahead of it.
  int live = mode_ == Mode::issue || mode_ == Mode::implicit_wait ? 1 : 0;
  for (unsigned w = 1; w < 7; ++w) live += contexts_[w].run == Run::running ? 1 : 0;
  return live > 1;
}

bool TlmTile::advance(Cycle limit, bool exact, TileStop& stop) {
  const auto stops = [&stop](const TileStop& with) {
    stop = with;
    return true;
  };
  resolve_sync();
  TileContext* worker = first_worker();
  const Cycle supervisor = supervisor_candidate();
  if (!commands_.empty()) {
    const Cycle event = pending_            ? pending_->cycle
                        : worker != nullptr ? std::min(worker->next, supervisor)
                                            : supervisor;
    const DebugCommand first = commands_.front();
    if (first.at < limit && first.at <= event) {
      commands_.erase(commands_.begin());
      act(first);
      update_debugging();
      return false;
    }
    if (event == kNever) return stops({TileStop::Kind::limit, limit});
  }
  if (pending_) {
    if (pending_->cycle >= limit) return stops({TileStop::Kind::limit, limit});
    // Made of its fields, which were written a moment ago: the host would wait for a copy of the whole.
    return stops({pending_->kind, pending_->cycle, pending_->zone, pending_->value});
  }
  if (worker == nullptr && supervisor == kNever) return stops(settled());
  if (worker != nullptr && worker->next < supervisor) {
    if (worker->next >= limit) return stops({TileStop::Kind::limit, limit});
    if (debugging_ && halts(*worker, worker->next)) return false;
    const Cycle bound = plus(supervisor == kNever ? worker->next : supervisor, kAhead);
    if (exact)
      issue(*worker, worker->next);
    else
      run_context(*worker, limit, bound);
  } else {
    if (supervisor >= limit) return stops({TileStop::Kind::limit, limit});
    TileContext& c = contexts_[0];
    c.next = supervisor;
    if (mode_ == Mode::implicit_wait) {
      take_effect(supervisor);
    } else if (debugging_ && halts(c, supervisor)) {
      return false;
    } else if (stray_) {
      trap(c, supervisor, c.pc, 0, 30, *stray_);
      stray_.reset();
      issued(c, supervisor);
    } else if (exact) {
      issue(c, supervisor);
    } else {
      run_context(c, limit, limit);
    }
  }
  if (tohost_hit_) {
    tohost_hit_ = false;
    return stops({TileStop::Kind::tohost, tohost_cycle_, Zone::local, tohost_value_});
  }
  return false;
}

TileStop TlmTile::settled() {
  for (const TileContext& c : contexts_)
    if (c.run == Run::halted) return {TileStop::Kind::halted, last_issue_};
  if (const auto first = exception()) return {TileStop::Kind::exception, first->cycle, Zone::local, first->cause};
  return {TileStop::Kind::idle, last_issue_};
}

void TlmTile::settle_workers() {
  for (unsigned w = 1; w < 7; ++w) {
    const TileContext& c = contexts_[w];
    if (c.run != Run::idle || (busy_workers_ >> (w - 1) & 1) == 0) continue;
    busy_workers_ &= static_cast<std::uint8_t>(~(1u << (w - 1)));
    quiet_from_ = std::max(quiet_from_, c.vacant_from);
  }
}

TileContext* TlmTile::first_worker() {
  if (busy_workers_ == 0) return nullptr;
  settle_workers();
  TileContext* best = nullptr;
  for (unsigned w = 1; w < 7; ++w) {
    TileContext& c = contexts_[w];
    if (c.run == Run::running && (best == nullptr || c.next < best->next)) best = &c;
  }
  return best;
}

Cycle TlmTile::first_vacant(Cycle from) const {
  if (busy_workers_ == 0 && from >= quiet_from_) return from;
  Cycle best = kNever;
  for (unsigned slot = 0; slot < 6; ++slot) {
    const TileContext& w = contexts_[slot + 1];
    if (w.run == Run::halted) continue;
    // A running worker owns its slot at least until six cycles after its next issue (it may exit there).
    const Cycle earliest = std::max(from, w.run == Run::running ? w.next + 6 : w.vacant_from);
    best = std::min(best, earliest + (slot + 6 - earliest % 6) % 6);
  }
  return best;
}

Cycle TlmTile::supervisor_candidate() const {
  const TileContext& c = contexts_[0];
  if (c.run == Run::halted) return kNever;
  if (mode_ == Mode::issue) return first_vacant(c.next);
  if (mode_ != Mode::implicit_wait) return kNever;
  Cycle from = c.next;
  if (busy_workers_ == 0 && from >= quiet_from_) return from;
  for (unsigned w = 1; w < 7; ++w) {
    if ((wait_mask_ >> (w - 1) & 1) == 0) continue;
    if (contexts_[w].run != Run::idle) return kNever;
    from = std::max(from, contexts_[w].vacant_from);
  }
  return first_vacant(from);
}

void TlmTile::resolve_sync() {
  if (mode_ != Mode::local_sync) return;
  if (busy_workers_ != 0) settle_workers();
  if (busy_workers_ != 0) return;
  const Cycle raised = std::max(waiting_.cycle + 6, quiet_from_);
  if (races_) races_->waited(0x3f);
  const auto zone = static_cast<Zone>(waiting_.op.imm);
  const std::uint32_t value = waiting_.operands[0];
  if (zone == Zone::local) {
    finish_waiting(value & 1, raised);
  } else {
    mode_ = Mode::wide_sync;
    pending_ = TileStop{TileStop::Kind::sync, raised, zone, value};
  }
}

void TlmTile::run_context(TileContext& c, Cycle limit, Cycle enough) {
  while (c.run == Run::running && c.next < std::min(limit, enough) && !tohost_hit_) {
    if (fast_able(c)) {
      run_fast(c, limit, enough);
      if (c.next >= std::min(limit, enough)) return;
    }
    issue(c, c.next);
    // The supervisor may have started the worker of its slot, or moved, or waits: the event loop decides.
    if (c.supervisor()) return;
  }
}

void TlmTile::catch_up(Cycle t) {
  for (unsigned w = 1; w < 7; ++w)
    if (contexts_[w].run == Run::running && contexts_[w].next < t) run_context(contexts_[w], t, t);
}

void TlmTile::release(Cycle z, bool vote) {
  if (mode_ != Mode::wide_sync) throw std::logic_error("release of a tile that does not wait in a wide sync");
  const auto zone = static_cast<Zone>(waiting_.op.imm);
  pending_.reset();
  release_ = z;
  exchange_open_ = true;
  if (zone != Zone::internal) {
    window_open_ = true;
    packet_count_ = 0;
  }
  finish_waiting(vote ? 1 : 0, z);
}

void TlmTile::finish_exchange(const ExchangeResult& result) {
  if (mode_ != Mode::exchange) throw std::logic_error("finish_exchange of a tile that does not exchange");
  pending_.reset();
  const Cycle next = std::max(effective_issue_ + 12, result.last_word + 4);
  if (result.fault) {
    fault_time_ = result.fault->cycle;
    fault_cycle_ = static_cast<std::uint32_t>(fault_time_);
    trap(contexts_[0], next, waiting_.pc, waiting_.op.word, result.fault->cause, result.fault->descriptor);
    return;
  }
  finish_waiting(next);
}

void TlmTile::finish_packets(Cycle cycle, std::uint32_t received_words) {
  if (mode_ != Mode::packet) throw std::logic_error("finish_packets of a tile that has no packet window");
  pending_.reset();
  window_open_ = false;
  packet_count_ = received_words;
  finish_waiting(cycle + 6);
}

void TlmTile::fail_packets(Cycle cycle, std::uint32_t received_words, std::uint32_t cause, std::uint32_t tval) {
  if (mode_ != Mode::packet) throw std::logic_error("fail_packets of a tile that has no packet window");
  pending_.reset();
  window_open_ = false;
  packet_count_ = received_words;
  trap(contexts_[0], cycle + 6, waiting_.pc, waiting_.op.word, cause, tval);
}

void TlmTile::stray_packet(Address address) {
  if (!stray_) stray_ = address;
}

void TlmTile::write_memory(Address address, const std::uint8_t* bytes, std::size_t count) {
  const std::size_t offset = address - kSramBase;
  if (offset > sram_.size() || count > sram_.size() - offset) throw std::out_of_range("write outside the SRAM");
  if (count != 0) std::memcpy(sram_.data() + offset, bytes, count);
  memory_written(address, count);
}

void TlmTile::read_memory(Address address, std::uint8_t* bytes, std::size_t count) const {
  const std::size_t offset = address - kSramBase;
  if (offset > sram_.size() || count > sram_.size() - offset) throw std::out_of_range("read outside the SRAM");
  std::memcpy(bytes, sram_.data() + offset, count);
}

std::uint32_t TlmTile::supervisor_csr(unsigned number) const {
  std::uint32_t value = 0;
  // Seen from outside: with everything that has happened, also what the supervisor's next instruction could not see
  // yet.
  if (!read_csr(contexts_[0], number, std::max(contexts_[0].next, last_issue_ + 6), value))
    throw std::out_of_range("no such CSR");
  return value;
}

ContextState TlmTile::context(ContextId context) const {
  const TileContext& c = contexts_.at(context);
  ContextState state;
  state.run = c.run;
  if (c.supervisor() && c.run == Run::running && mode_ != Mode::issue) state.run = Run::waiting;
  state.pc = c.pc;
  std::copy_n(c.x.begin(), 32, state.x.begin());
  state.f = c.f;
  state.fcsr = c.frm << 5 | c.fflags;
  state.mcause = c.mcause;
  state.mepc = c.mepc;
  state.mtval = c.mtval;
  return state;
}

std::optional<TileException> TlmTile::exception() const {
  if (!any_excepted_) return std::nullopt;
  std::optional<TileException> first;
  for (const TileContext& c : contexts_) {
    if (c.run != Run::excepted || (first && first->cycle <= c.trap_cycle)) continue;
    first = TileException{c.trap_cycle, c.id, c.mcause, c.mepc, c.mtval};
  }
  return first;
}

std::uint64_t TlmTile::retired() const {
  std::uint64_t sum = 0;
  for (const TileContext& c : contexts_) sum += c.retired;
  return sum;
}

void TlmTile::emit(MachineEvent::Kind kind, Cycle cycle, ContextId context, Address pc, std::uint32_t a0) {
  if (events_ == nullptr) return;
  MachineEvent event;
  event.cycle = cycle;
  event.ipu = static_cast<std::uint16_t>(config_.ipu);
  event.tile = static_cast<std::uint16_t>(config_.tile);
  event.context = context;
  event.kind = kind;
  event.pc = pc;
  event.a0 = a0;
  queued_events_.push_back(event);
}

void TlmTile::flush_events() {
  if (queued_events_.empty()) return;
  // Contexts run ahead of each other, so events of a stretch are put in time order when the tile stops.
  std::stable_sort(queued_events_.begin(), queued_events_.end(), [](const MachineEvent& a, const MachineEvent& b) {
    return a.cycle != b.cycle ? a.cycle < b.cycle : a.context < b.context;
  });
  if (events_ != nullptr)
    for (const MachineEvent& event : queued_events_) events_->event(event);
  queued_events_.clear();
}

}  // namespace tessera
