// See ipu.h.
#include "tlm/system/ipu.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <tuple>

#include "hw/error.h"

namespace tessera {

namespace {
constexpr std::size_t kUnheardKept = 16;

// What is worth waking threads for, in cycles of TLM tiles: a tile issues at most one instruction a cycle, which takes
// about a nanosecond. A lockstep tile computes what takes some hundred times that.
constexpr std::uint64_t kWorthThreads = 100'000;
constexpr std::uint64_t kLockstepWeight = 400;
// Tiles that a thread takes at once: few enough that the threads end together.
constexpr std::size_t kPiecesPerThread = 16;

/// What a tile touches at each stop stands at its begin (tlm_tile.h); a thousand tiles are more than the host's caches
/// hold close by.
void prefetch(const TileModel& tile) {
  constexpr std::size_t kLine = 64, kLines = 10;
  const auto* at = reinterpret_cast<const char*>(&tile);
  for (std::size_t i = 0; i < kLines; ++i) __builtin_prefetch(at + i * kLine, 1);
}

LaneTiming lanes_of(const IpuConfig& config) {
  LaneTiming lanes = config.lanes;
  lanes.tiles = config.tiles;
  return lanes;
}
}  // namespace

/// Events of one tile, emitted by whatever thread runs it, handed on in tile order.
class Ipu::EventBuffer : public EventObserver {
 public:
  void event(const MachineEvent& e) override { events.push_back(e); }
  std::vector<MachineEvent> events;
};

Ipu::Ipu(const IpuConfig& config, const TileFactory& factory, TilePool& pool, IpuHooks ipu_hooks)
    : hooks(std::move(ipu_hooks)),
      config_(config),
      factory_(factory),
      pool_(pool),
      fabric_(config.fabric),
      lanes_(lanes_of(config)),
      sync_(config.tiles) {
  if (config.fabric.tiles() != config.tiles)
    throw std::logic_error("ipu: fabric timing is not for this number of tiles");
  make_tiles();
}

Ipu::~Ipu() = default;

void Ipu::make_tiles() {
  tiles_.clear();
  interval_based_.clear();
  pins_ = false;
  for (unsigned t = 0; t < config_.tiles; ++t) {
    TileConfig tile;
    tile.ipu = config_.ipu;
    tile.tile = t;
    tile.tiles = config_.tiles;
    tile.sram_bytes = config_.sram_bytes;
    tile.hart_base = (config_.ipu * config_.tiles + t) * 7;
    tile.group1 = config_.group1;
    tile.group2 = config_.group2;
    tiles_.push_back(factory_(tile, t < config_.modes.size() ? config_.modes[t] : TileMode::tlm));
    interval_based_.push_back(tiles_.back()->interval_based());
    pins_ = pins_ || !interval_based_.back();
  }
  seats_.clear();
  seats_.resize(config_.tiles);
  packet_seats_.clear();
  packet_seats_.resize(config_.tiles);
  for (unsigned t = 0; t < config_.tiles; ++t)
    if (!tiles_[t]->interval_based()) lanes_.port(t);
  running_ = in_packet_ = 0;
  pristine_ = true;
}

void Ipu::reset() {
  if (!pristine_) make_tiles();
  sync_.release();
  fabric_.begin_phase();
  lanes_.reset();
  packet_events_ = {};
  packets_move_ = false;
  arrival_.reset();
  conflict_.reset();
  exception_.reset();
}

void Ipu::boot(Address pc, Cycle at) {
  pristine_ = false;
  watch_events();
  for (unsigned t = 0; t < config_.tiles; ++t) {
    if (!active(t)) continue;
    tiles_[t]->start(pc, at);
    set_status(t, TileStatus::running);
    seats_[t].progress = at;
    emit(t, MachineEvent::Kind::start, at, 0);
  }
}

void Ipu::watch_events() {
  if (hooks.events == nullptr) return;
  buffers_.resize(config_.tiles);
  for (unsigned t = 0; t < config_.tiles; ++t) {
    if (!buffers_[t]) buffers_[t] = std::make_unique<EventBuffer>();
    tiles_[t]->observe_events(buffers_[t].get());
  }
}

void Ipu::emit_event(unsigned t, MachineEvent::Kind kind, Cycle cycle, std::uint32_t a0) {
  const Address pc = tiles_[t]->supervisor_pc();
  buffers_[t]->event({cycle, static_cast<std::uint16_t>(config_.ipu), static_cast<std::uint16_t>(t), 0, kind, pc, a0});
}

/// Hands on the events before `before` by cycle, in a cycle by tile, of a tile as they came.
void Ipu::flush_events(Cycle before) {
  if (hooks.events == nullptr) return;
  std::vector<MachineEvent> all;
  for (auto& buffer : buffers_) {
    if (!buffer || buffer->events.empty()) continue;
    auto& events = buffer->events;
    const auto later = std::stable_partition(events.begin(), events.end(),
                                             [before](const MachineEvent& e) { return e.cycle < before; });
    all.insert(all.end(), events.begin(), later);
    events.erase(events.begin(), later);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const MachineEvent& a, const MachineEvent& b) { return a.cycle < b.cycle; });
  for (const MachineEvent& e : all) hooks.events->event(e);
}

void Ipu::flush_settled_events(Outcome outcome) {
  if (hooks.events == nullptr) return;
  if (outcome != Outcome::running) return flush_events(kNever);
  // What a tile does later has a later cycle than what it has come to.
  Cycle settled = kNever;
  for (const Seat& seat : seats_) {
    if (seat.status == TileStatus::running) settled = std::min(settled, seat.progress);
    if (seat.status == TileStatus::exchange || seat.status == TileStatus::packet)
      settled = std::min(settled, seat.stop.cycle);
  }
  flush_events(settled);
}

Cycle Ipu::capped(Cycle limit) const {
  // Once an exception is known, only what comes before it can still matter.
  return exception_ ? std::min(limit, exception_->exception.cycle + 1) : limit;
}

void Ipu::find_runnable(bool interval_based, Cycle limit) {
  runnable_.clear();
  if (running_ == 0 || (!interval_based && !pins_)) return;
  for (unsigned t = 0; t < config_.tiles; ++t) {
    const Seat& seat = seats_[t];
    if (seat.status == TileStatus::running && seat.progress < limit && interval_based_[t] == interval_based)
      runnable_.push_back(t);
  }
}

bool Ipu::any_runnable(Cycle limit) const {
  return running_ != 0 && std::any_of(seats_.begin(), seats_.end(), [&](const Seat& seat) {
           return seat.status == TileStatus::running && seat.progress < limit;
         });
}

void Ipu::run_interval_tiles(Cycle limit) {
  find_runnable(true, limit);
  const std::size_t count = runnable_.size();
  const auto run = [&](std::size_t i) {
    seats_[runnable_[i]].stop = tiles_[runnable_[i]]->run(limit, nullptr, nullptr);
  };
  const auto settle_at = [&](std::size_t i) {
    Seat& seat = seats_[runnable_[i]];
    if (seat.stop.kind == TileStop::Kind::limit) seat.progress = limit;
    settle(runnable_[i], seat.stop);
  };
  // By how far the first tiles go they tell what the others may cost: a guess, which decides about threads alone.
  // Whatever it decides, all tiles run, and those before the first that fails are settled, in order.
  const bool alone = pool_.threads() == 1;
  const std::size_t sample = alone ? count : std::max<std::size_t>(1, count / 64);
  TilePool::Failure failure;
  for (std::size_t i = 0; i < count;) {
    const std::size_t end = std::min(count, i + sample);
    std::uint64_t work = 0;
    for (; i < end; ++i) {
      const unsigned t = runnable_[i];
      if (i + 2 < count) prefetch(*tiles_[runnable_[i + 2]]);
      try {
        run(i);
      } catch (...) {
        if (!failure.error) failure = {i, std::current_exception()};
      }
      if (!alone) {
        const Cycle reached = std::max(seats_[t].stop.cycle, seats_[t].progress);
        work += (reached - seats_[t].progress) * (tiles_[t]->mode() == TileMode::lockstep ? kLockstepWeight : 1);
      }
      if (!failure.error) settle_at(i);
    }
    if (i == count || work * (count - i) / sample < kWorthThreads) continue;
    const std::size_t grain = std::max<std::size_t>(1, (count - i) / (kPiecesPerThread * pool_.threads()));
    const TilePool::Failure there = pool_.try_run(i, count, grain, run);
    if (!failure.error) failure = there;
    for (; i < count && (!failure.error || i < failure.task); ++i) settle_at(i);
    break;
  }
  if (failure.error) std::rethrow_exception(failure.error);
}

void Ipu::run_pin_tiles(Cycle limit) {
  for (unsigned round = 0;; ++round) {
    find_runnable(false, capped(limit));
    const std::vector<unsigned>& list = runnable_;
    if (list.empty()) return;
    Cycle from = kNever;
    for (unsigned t : list) from = std::min(from, seats_[t].progress);
    // One pin-level tile alone hears nobody who is not known already, unless packets come back to it.
    Cycle step = list.size() == 1 ? kNever - from : fabric_.timing().smallest();
    Cycle to = capped(limit);
    if (packets_move_) {
      step = std::min(step, lanes_.lookahead());
      to = std::min(to, known_);
    }
    if (to <= from) return;
    to = std::min(to, from + step);
    for (unsigned t : list) fabric_.port(t), lanes_.port(t);  // made here, in order, not by the pool's threads
    pool_.run(list.size(), [&](std::size_t i) {
      const unsigned t = list[i];
      if (seats_[t].progress < to) seats_[t].stop = tiles_[t]->run(to, &fabric_.port(t), &lanes_.port(t));
    });
    fabric_.commit();
    for (unsigned t : list) {
      if (seats_[t].progress >= to) continue;
      if (seats_[t].stop.kind == TileStop::Kind::limit) seats_[t].progress = to;
      settle(t, seats_[t].stop);
    }
    if (packets_move_) step_packets(to);
    if (round % 1024 == 1023) poll(to);
  }
}

void Ipu::note_exception(unsigned t) {
  const auto found = tiles_[t]->exception();
  if (!found) return;
  const auto key = [](unsigned tile, const TileException& e) { return std::make_tuple(e.cycle, tile, e.context); };
  if (!exception_ || key(t, *found) < key(exception_->tile, exception_->exception)) exception_ = {t, *found};
}

void Ipu::publish(unsigned t, const TileStop& stop) {
  ExchangeInputs inputs;
  inputs.sram = tiles_[t]->sram();
  inputs.sram_bytes = config_.sram_bytes;
  inputs.table = stop.value;
  inputs.issue = stop.cycle;
  inputs.release = release_;
  const ExchangeBases bases = tiles_[t]->exchange_bases();
  inputs.xbase = bases.base;
  inputs.xsource = bases.source;
  inputs.tiles = config_.tiles;
  seats_[t].exchange_table = stop.value;
  seats_[t].exchanged = true;
  fabric_.publish(t, *tiles_[t], inputs);
}

void Ipu::settle(unsigned t, const TileStop& stop) {
  note_exception(t);
  switch (stop.kind) {
    case TileStop::Kind::limit:
      return;
    case TileStop::Kind::exchange:
      set_status(t, TileStatus::exchange);
      publish(t, stop);
      return;
    case TileStop::Kind::packet:
      set_status(t, TileStatus::packet);
      open_window(t, stop);
      return;
    case TileStop::Kind::sync:
      set_status(t, TileStatus::sync);
      sync_.arrive(t, {stop.cycle, stop.zone, (stop.value & 1) != 0, stop.value >> 8});
      emit(t, MachineEvent::Kind::sync_arrive, stop.cycle, static_cast<std::uint32_t>(stop.zone));
      return;
    case TileStop::Kind::exception:
      set_status(t, TileStatus::excepted);
      return;
    case TileStop::Kind::tohost:
      set_status(t, TileStatus::done);
      return;
    case TileStop::Kind::idle:
      set_status(t, TileStatus::idle);
      return;
    case TileStop::Kind::mmio:
      throw std::logic_error("a tile of a chip has no peripherals");
    case TileStop::Kind::halted:
      throw std::logic_error("a tile of a chip was halted, but no debugger reaches it");
  }
}

bool Ipu::resolve_exchange() {
  if (!fabric_.pending()) return false;
  // Everything that could be heard must be known: tiles that still run may yet publish, and one in x.packet, if it has
  // a table, comes to it after its packets. Only then are times looked at; else the whole phase may be a known one.
  // And pin-level tiles, which may be held back by packets, must have heard what the others send: those go on to
  // change the memory that it is read from.
  Cycle last = 0, heard = 0;
  const Cycle smallest = fabric_.timing().smallest();
  if (running_ != 0) {
    last = fabric_.last_listening();
    if (pins_) heard = fabric_.last_heard();
  }
  for (unsigned t = 0; t < config_.tiles; ++t) {
    const Seat& seat = seats_[t];
    if (seat.status == TileStatus::packet && !seat.exchanged && fabric_.pending_listens_to(t)) return false;
    if (seat.status != TileStatus::running) continue;
    if (seat.progress + smallest <= last) return false;
    if (!interval_based_[t] && seat.progress <= heard) return false;
  }
  for (const PhaseOutcome& phase : fabric_.resolve()) {
    const Address table = seats_[phase.tile].exchange_table;
    emit(phase.tile, MachineEvent::Kind::exchange_begin, phase.first_word, table);
    emit(phase.tile, MachineEvent::Kind::exchange_end, phase.result.last_word, table);
    tiles_[phase.tile]->finish_exchange(phase.result);
    set_status(phase.tile, TileStatus::running);
  }
  return true;
}

void Ipu::set_status(unsigned t, TileStatus status) {
  Seat& seat = seats_[t];
  running_ += static_cast<unsigned>(status == TileStatus::running) - (seat.status == TileStatus::running ? 1u : 0u);
  in_packet_ += static_cast<unsigned>(status == TileStatus::packet) - (seat.status == TileStatus::packet ? 1u : 0u);
  seat.status = status;
}

Ipu::Outcome Ipu::advance(Cycle limit, Cycle known) {
  Outcome result;
  known_ = known;
  do {
    run_interval_tiles(capped(limit));
    run_pin_tiles(limit);
    poll(limit);
    conflict_ = sync_.conflict();
  } while (!conflict_ && (resolve_exchange() || run_packets(capped(limit))));
  result = outcome();
  flush_settled_events(result);
  return result;
}

Ipu::Outcome Ipu::outcome() {
  if (exception_) {
    // A packet may yet make an earlier one.
    const bool open = in_packet_ != 0 && known_ <= exception_->exception.cycle;
    if (!any_runnable(capped(kNever))) return open ? Outcome::running : Outcome::exception;
  }
  if (conflict_) return Outcome::conflict;
  arrival_ = sync_.complete();
  if (arrival_) return Outcome::arrived;
  // A packet may be on its way for longer than a quantum.
  if (running_ != 0 || next_packet_event() != kNever) return Outcome::running;
  if (sync_.arrivals() != 0 || in_packet_ != 0) return Outcome::stuck;
  for (const Seat& seat : seats_)
    if (seat.status == TileStatus::exchange) return Outcome::stuck;
  return Outcome::stopped;
}

void Ipu::release(Cycle z, bool vote) {
  if (!arrival_) throw std::logic_error("ipu: release without arrival");
  for (const UnheardRun& run : fabric_.begin_phase())
    if (unheard_.size() < kUnheardKept) unheard_.push_back(run);
  sync_.release();
  release_ = z;
  if (hooks.released) hooks.released(config_.ipu, z);
  if (arrival_->zone != Zone::internal) close_windows(z);
  packets_move_ = packets_move_ || arrival_->zone != Zone::internal;
  unsigned released = 0;
  for (unsigned t = 0; t < config_.tiles; ++t) {
    if (seats_[t].status != TileStatus::sync) continue;
    if (t + 4 < config_.tiles) prefetch(*tiles_[t + 4]);
    if (packets_move_) before_release(t, z);
    tiles_[t]->release(z, vote);
    Seat& seat = seats_[t];
    seat.status = TileStatus::running;  // from sync: what set_status() counts is added once below
    ++released;
    seat.progress = z;
    seat.exchanged = false;
    emit(t, MachineEvent::Kind::sync_release, z, static_cast<std::uint32_t>(arrival_->zone));
  }
  running_ += released;
  arrival_.reset();
}

std::uint64_t Ipu::retired() const {
  std::uint64_t sum = 0;
  for (const auto& tile : tiles_) sum += tile->retired();
  return sum;
}

std::string Ipu::describe(const Symbolizer& symbolizer) const {
  std::map<std::string, std::vector<unsigned>> groups;
  for (unsigned t = 0; t < config_.tiles; ++t) {
    if (!active(t)) continue;
    std::string what;
    switch (seats_[t].status) {
      case TileStatus::held:
        what = "held, not started";
        break;
      case TileStatus::running:
        what = "running, not arrived anywhere";
        break;
      case TileStatus::exchange:
        what = "in x.exchange, waits for the phase";
        break;
      case TileStatus::packet:
        what = "in x.packet, waits for packets";
        if (packet_seats_[t].window && !packet_seats_[t].window->describe().empty())
          what = "in x.packet, waits for packets: " + packet_seats_[t].window->describe();
        break;
      case TileStatus::sync:
        what = std::string("waits in x.sync ") + zone_name(sync_.arrival(t)->zone);
        break;
      case TileStatus::idle:
        what = "idle, no context can run: it will never arrive";
        break;
      case TileStatus::excepted:
        what = "excepted";
        break;
      case TileStatus::done:
        what = "ended its program (tohost)";
        break;
    }
    const Address pc = tiles_[t]->context(0).pc;
    char address[16];
    std::snprintf(address, sizeof address, "0x%08x", pc);
    what += std::string(", supervisor pc ") + address;
    if (symbolizer) {
      const std::string symbol =
          symbolizer({static_cast<std::uint16_t>(config_.ipu), static_cast<std::uint16_t>(t)}, pc);
      if (!symbol.empty()) what += " (" + symbol + ")";
    }
    groups[what].push_back(t);
  }
  std::vector<std::pair<unsigned, std::string>> lines;
  for (const auto& [what, list] : groups)
    lines.emplace_back(list.front(), (list.size() == 1 ? "tile " : "tiles ") + tile_ranges(list) + ": " + what);
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const auto& [first, line] : lines)
    text += (text.empty() ? "" : "\n") + std::string("IPU ") + std::to_string(config_.ipu) + " " + line;
  return text;
}

}  // namespace tessera
