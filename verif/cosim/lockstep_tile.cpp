// Feeding both sides and comparing them. What a report says is in mismatch.cpp.
#include "verif/cosim/lockstep_tile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "hw/generated/isa.h"
#include "hw/generated/machine.h"
#include "tlm/link/packet.h"

namespace tessera {
namespace {

/// RTL may tell a retirement this many cycles after its issue cycle: the longest instruction and the pipeline.
constexpr Cycle kLate = 64;

/// Instructions whose record may come long after their issue cycle: when the supervisor goes on.
bool waits(std::uint32_t word) {
  const isa::Op op = isa::decode(word);
  return op == isa::Op::x_sync || op == isa::Op::x_exchange || op == isa::Op::x_packet || op == isa::Op::x_run ||
         op == isa::Op::x_amp_ldw;
}

const char* name(TileStop::Kind kind) {
  static constexpr const char* kNames[] = {"limit", "exchange",  "packet", "sync",
                                           "idle",  "exception", "halted", "tohost"};
  return kNames[static_cast<unsigned>(kind)];
}

std::string text(const TileStop& s) {
  return fmt::format("{} in cycle {} (zone {}, value 0x{:x})", name(s.kind), s.cycle, static_cast<unsigned>(s.zone),
                     s.value);
}

}  // namespace

class LockstepTile::TlmObserver final : public RetireObserver {
 public:
  explicit TlmObserver(LockstepTile& tile) : tile_(tile) {}
  void retired(const RetireRecord& record) override {
    tile_.lanes_[record.context].tlm.push_back(record);
    if (!tile_.lanes_[record.context].rtl.empty()) tile_.compare_lane(record.context);
    if (tile_.observer_ != nullptr) tile_.observer_->retired(record);
  }
  void exchanged(const ExchangeWord&) override {}  // words come from the phase's result

 private:
  LockstepTile& tile_;
};

class LockstepTile::RtlObserver final : public RetireObserver {
 public:
  explicit RtlObserver(LockstepTile& tile) : tile_(tile) {}
  void retired(const RetireRecord& record) override {
    Lane& lane = tile_.lanes_.at(record.context);
    // The common case, without a copy: the record is the next one that TLM has.
    if (lane.rtl.empty() && !lane.tlm.empty() && lane.tlm.front() == record) {
      lane.tlm.pop_front();
      tile_.matched(lane, record);
      return;
    }
    lane.rtl.push_back(record);
    if (!lane.tlm.empty()) tile_.compare_lane(record.context);
  }
  void exchanged(const ExchangeWord&) override {}  // the pins see the words; addresses show in memory

 private:
  LockstepTile& tile_;
};

/// The ports of the RTL tile: what TLM and the fabric agreed on, checked and replayed.
class LockstepTile::Pins final : public ExchangePort, public PacketPort {
 public:
  explicit Pins(LockstepTile& tile) : tile_(tile) {}

  PhaseWords phase;
  PacketTraffic packets;

  void begin_phase() {
    next_send_ = next_receive_ = 0;
    active_ = true;
  }
  void begin_packets() { next_sent_ = next_delivered_ = 0; }
  [[nodiscard]] bool active() const { return active_; }

  void send(Cycle c, Word word) override {
    if (!active_ || next_send_ == phase.sent.size()) {
      tile_.fail_word(fmt::format("RTL sends 0x{:08x} in cycle {} on the exchange, TLM sends nothing more", word, c),
                      c);
    }
    const ExchangeWord& want = phase.sent[next_send_++];
    ++tile_.counts_.words;
    if (want.cycle == c && want.word == word) return;
    tile_.fail_word(fmt::format("exchange word {} sent: TLM 0x{:08x} in cycle {} from 0x{:x}, RTL 0x{:08x} in cycle {}",
                                next_send_ - 1, want.word, want.cycle, want.address, word, c),
                    c);
  }

  std::optional<Word> receive(Cycle c, unsigned source) override {
    if (!active_ || next_receive_ == phase.received.size()) {
      // In the cycle of an underrun RTL listens and there is no word: that is the fault, which both report.
      if (active_ && underrun_ && *underrun_ == c) return std::nullopt;
      tile_.fail_word(fmt::format("RTL listens to tile {} in cycle {}, TLM does not", source, c), c);
    }
    const PhaseWords::Received& want = phase.received[next_receive_++];
    ++tile_.counts_.words;
    if (want.word.cycle == c && want.source == source) return want.word.word;
    tile_.fail_word(
        fmt::format("exchange word {} received: TLM listens to tile {} in cycle {}, RTL to tile {} in cycle {}",
                    next_receive_ - 1, want.source, want.word.cycle, source, c),
        c);
  }

  void set_underrun(std::optional<Cycle> cycle) { underrun_ = cycle; }

  /// All words that stand before `position` must have been seen.
  void check(Cycle position) {
    if (!active_) return;
    if (next_send_ < phase.sent.size() && phase.sent[next_send_].cycle < position) {
      const ExchangeWord& w = phase.sent[next_send_];
      tile_.fail_word(
          fmt::format("RTL did not send exchange word {} (0x{:08x} in cycle {})", next_send_, w.word, w.cycle),
          w.cycle);
    }
    if (next_receive_ < phase.received.size() && phase.received[next_receive_].word.cycle < position) {
      const ExchangeWord& w = phase.received[next_receive_].word;
      tile_.fail_word(fmt::format("RTL did not take exchange word {} in cycle {}", next_receive_, w.cycle), w.cycle);
    }
    active_ = next_send_ < phase.sent.size() || next_receive_ < phase.received.size() || underrun_;
  }

  bool send(Cycle c, Word word, bool first, bool last) override {
    if (next_sent_ == packets.sent.size()) {
      tile_.fail_word(fmt::format("RTL offers packet word 0x{:08x} in cycle {}, TLM sends nothing more", word, c), c);
    }
    const PacketTraffic::Beat& want = packets.sent[next_sent_];
    if (c < want.cycle && word == want.word) return false;
    if (c != want.cycle || word != want.word || first != want.first || last != want.last) {
      tile_.fail_word(fmt::format("packet word {}: TLM 0x{:08x} taken in cycle {}, RTL 0x{:08x} in cycle {}",
                                  next_sent_, want.word, want.cycle, word, c),
                      c);
    }
    ++next_sent_;
    ++tile_.counts_.words;
    return true;
  }

  std::optional<std::pair<Word, bool>> receive(Cycle c) override {
    if (next_delivered_ == packets.delivered.size() || packets.delivered[next_delivered_].cycle > c)
      return std::nullopt;
    const PacketTraffic::Beat& beat = packets.delivered[next_delivered_++];
    return std::make_pair(beat.word, beat.last);
  }

 private:
  LockstepTile& tile_;
  bool active_ = false;
  std::optional<Cycle> underrun_;
  std::size_t next_send_ = 0, next_receive_ = 0, next_sent_ = 0, next_delivered_ = 0;
};

LockstepTile::LockstepTile(const TileConfig& config, std::unique_ptr<TileModel> tlm, std::unique_ptr<TileModel> rtl,
                           LockstepOptions options)
    : config_(config),
      options_(std::move(options)),
      tlm_(std::move(tlm)),
      rtl_(std::move(rtl)),
      tlm_observer_(std::make_unique<TlmObserver>(*this)),
      rtl_observer_(std::make_unique<RtlObserver>(*this)),
      pins_(std::make_unique<Pins>(*this)) {
  if (!tlm_->interval_based() || rtl_->interval_based()) throw std::logic_error("lockstep wants a TLM and an RTL tile");
  tlm_->observe(tlm_observer_.get());
  rtl_->observe(rtl_observer_.get());
}

LockstepTile::~LockstepTile() = default;

// ---- feeding both ---------------------------------------------------------------------------------------------------

void LockstepTile::start(Address pc, Cycle at) {
  tlm_->start(pc, at);
  rtl_->start(pc, at);
  resume_ = at;
}

void LockstepTile::start_context(ContextId context, Address pc, Cycle at) {
  tlm_->start_context(context, pc, at);
  rtl_->start_context(context, pc, at);
  resume_ = at;
  ShadowRegisters& r = lanes_.at(context).registers;
  if (context != 0) r.x[1] = r.x[2] = r.x[10] = r.x[11] = 0, r.x[4] = context - 1u;
}

void LockstepTile::release(Cycle z, bool vote) {
  tlm_->release(z, vote);
  rtl_->release(z, vote);
  release_ = resume_ = z;
  pending_.reset();
}

void LockstepTile::finish_exchange(const ExchangeResult& result) {
  pins_->phase.finish(*tlm_, result);
  pins_->set_underrun(result.underrun);
  pins_->begin_phase();
  if (observer_ != nullptr) report_words();
  tlm_->finish_exchange(result);
  resume_ = std::max(resume_, result.last_word + 4);
  pending_.reset();
}

void LockstepTile::report_words() {
  std::vector<ExchangeWord> words = pins_->phase.sent;
  for (const PhaseWords::Received& r : pins_->phase.received) words.push_back(r.word);
  std::stable_sort(words.begin(), words.end(),
                   [](const ExchangeWord& a, const ExchangeWord& b) { return a.cycle < b.cycle; });
  for (const ExchangeWord& word : words) observer_->exchanged(word);
}

void LockstepTile::packet_traffic(const PacketTraffic& traffic) {
  pins_->packets = traffic;
  pins_->begin_packets();
}

void LockstepTile::stray_packet(Address address) {
  tlm_->stray_packet(address);
  // RTL is given a write of one word, as soon as it goes on from its sync and long before the release.
  pins_->packets.delivered.clear();
  const Packet packet{Packet::Kind::write, 1, 0, 0, address - kSramBase, 0, {0}};
  for (unsigned k = 0; k < packet.lane_words(); ++k)
    pins_->packets.delivered.push_back({position_ + k, packet.lane_word(k), k == 0, k + 1 == packet.lane_words()});
  pins_->begin_packets();
}

void LockstepTile::finish_packets(Cycle cycle, std::uint32_t received_words) {
  tlm_->finish_packets(cycle, received_words);
  resume_ = std::max(resume_, cycle);
  pending_.reset();
}

void LockstepTile::fail_packets(Cycle cycle, std::uint32_t received_words, std::uint32_t cause, std::uint32_t tval) {
  tlm_->fail_packets(cycle, received_words, cause, tval);
  resume_ = std::max(resume_, cycle);
  pending_.reset();
}

void LockstepTile::write_memory(Address address, const std::uint8_t* bytes, std::size_t count) {
  tlm_->write_memory(address, bytes, count);
  rtl_->write_memory(address, bytes, count);
}

void LockstepTile::read_memory(Address address, std::uint8_t* bytes, std::size_t count) const {
  tlm_->read_memory(address, bytes, count);
}

void LockstepTile::memory_written(Address address, std::size_t count) {
  tlm_->memory_written(address, count);
  // While the tile exchanges, these are words that RTL takes from its pins.
  const bool from_pins =
      pending_ && (pending_->kind == TileStop::Kind::exchange || pending_->kind == TileStop::Kind::packet);
  if (!from_pins) rtl_->write_memory(address, tlm_->sram() + (address - kSramBase), count);
}

void LockstepTile::set_groups(bool group1, bool group2) {
  tlm_->set_groups(group1, group2);
  rtl_->set_groups(group1, group2);
}

// ---- debug port -----------------------------------------------------------------------------------------------------

void LockstepTile::debug_attach(bool attached) {
  tlm_->debug_attach(attached);
  rtl_->debug_attach(attached);
}

void LockstepTile::debug_halt(std::uint8_t contexts, Cycle at) {
  tlm_->debug_halt(contexts, at);
  rtl_->debug_halt(contexts, at);
}

void LockstepTile::debug_resume(std::uint8_t contexts, Cycle at) {
  tlm_->debug_resume(contexts, at);
  rtl_->debug_resume(contexts, at);
  resume_ = std::max(resume_, at);
}

std::uint32_t LockstepTile::debug_read(ContextId context, DebugSpace space, unsigned number) const {
  const std::uint32_t a = tlm_->debug_read(context, space, number), b = rtl_->debug_read(context, space, number);
  // Cycle counters (0xB00, 0xC00, 0xC01 and their high halves) and what changes with an instruction of another context
  // under way.
  const bool moves = space == DebugSpace::csr && ((number & 0xf7f) == 0xb00 || (number & 0xf7e) == 0xc00 ||
                                                  number == csr::xwstat || number == csr::xexit);
  if (a == b || moves || rtl_->context(context).run != ContextState::Run::halted) return a;
  static constexpr const char* kSpaces[] = {"x", "f", "csr", "pc", "amp", "stream"};
  fail(fmt::format("debug read of {} {}: TLM 0x{:x}, RTL 0x{:x}", kSpaces[static_cast<unsigned>(space)], number, a, b),
       position_, context, nullptr, nullptr);
}

void LockstepTile::debug_write(ContextId context, DebugSpace space, unsigned number, std::uint32_t value) {
  tlm_->debug_write(context, space, number, value);
  rtl_->debug_write(context, space, number, value);
  ShadowRegisters& r = lanes_.at(context).registers;
  if (space == DebugSpace::x && number != 0) r.x.at(number) = value;
  if (space == DebugSpace::f && context != 0) r.f.at(number) = value;
}

// ---- running --------------------------------------------------------------------------------------------------------

TileStop LockstepTile::run(Cycle limit, ExchangePort*, PacketPort*) {
  if (pending_) return pending_->cycle < limit ? *pending_ : TileStop{TileStop::Kind::limit, limit};
  for (;;) {
    const Cycle base = std::max(position_, resume_);
    const Cycle target = base > kNever - options_.stretch ? limit : std::min(limit, base + options_.stretch);
    const TileStop stop = tlm_->run(target, nullptr, nullptr);
    follow(target, stop);
    using Kind = TileStop::Kind;
    if (stop.kind == Kind::exchange) pins_->phase.begin(*tlm_, config_, stop, release_);
    if (stop.kind == Kind::exchange || stop.kind == Kind::packet || stop.kind == Kind::sync) pending_ = stop;
    if (stop.kind != Kind::limit || target >= limit) return stop;
  }
}

void LockstepTile::follow(Cycle target, const TileStop& stop) {
  using Kind = TileStop::Kind;
  Cycle limit = target;
  Kind want = stop.kind;
  if (stop.kind == Kind::exchange || stop.kind == Kind::packet) {
    // What comes then is known only with the phase's result.
    limit = stop.cycle;
    want = Kind::limit;
  } else if (stop.kind == Kind::sync) {
    limit = stop.cycle + 1;
  } else if (stop.kind != Kind::limit) {
    // Nothing more happens in TLM; RTL may be seen to come to its end a little later.
    limit = target > kNever - kLate ? kNever : target + kLate;
  }
  const TileStop rtl = rtl_->run(limit, pins_.get(), pins_.get());
  // A halted tile goes on in a cycle that is still to be named.
  position_ = std::max(position_, stop.kind == Kind::halted ? stop.cycle : limit);
  pins_->check(limit);
  check_leftovers(limit, stop);
  const bool same = rtl.kind == want &&
                    (want != Kind::sync || (rtl.cycle == stop.cycle && rtl.zone == stop.zone &&
                                            ((rtl.value ^ stop.value) & 0xffff'ff01u) == 0)) &&
                    (want != Kind::tohost || (rtl.cycle == stop.cycle && rtl.value == stop.value));
  if (!same)
    fail(fmt::format("TLM stops with {}, RTL with {}", text(stop), text(rtl)), stop.cycle, 0, nullptr, nullptr);
  // Reading all registers of RTL costs some hundred evaluations: at every end, at syncs and halts now and then.
  const bool often = want == Kind::sync || want == Kind::halted;
  if (often) ++pauses_;
  const bool sampled = often && (pauses_ <= 8 || pauses_ % 32 == 0);
  if (sampled || want == Kind::idle || want == Kind::exception) check_registers();
  if (want == Kind::sync) check_received();
  if (want == Kind::exception) check_exception();
  // At tohost too: what RTL issued later has not been stored.
  if ((want == Kind::idle || want == Kind::exception || want == Kind::tohost) && options_.check_memory) {
    check_memory(kSramBase, config_.sram_bytes);
  }
}

// ---- comparing ------------------------------------------------------------------------------------------------------

void LockstepTile::matched(Lane& lane, const RetireRecord& record) {
  if (record.trap) {
    ++counts_.traps;
  } else {
    ++counts_.instructions;
  }
  lane.registers.apply(record);
  if (record.run[0] == 0) return;
  for (unsigned w = 1; w < lanes_.size(); ++w) {
    if (record.run[0] != 7 && record.run[0] != w) continue;
    ShadowRegisters& r = lanes_[w].registers;
    r.x[10] = record.run[2];
    r.x[11] = record.run[3];
    r.x[2] = record.run[4] + w * record.run[5];
    r.x[4] = w - 1;
    r.x[1] = record.run[6];
    r.fflags = 0;
  }
}

void LockstepTile::compare_lane(unsigned context) {
  Lane& lane = lanes_[context];
  while (!lane.tlm.empty() && !lane.rtl.empty()) {
    if (!(lane.tlm.front() == lane.rtl.front())) {
      const auto d = first_difference(lane.tlm.front(), lane.rtl.front());
      fail(fmt::format("{}: TLM {}, RTL {}", d->field, d->tlm, d->rtl), lane.tlm.front().cycle, context,
           &lane.tlm.front(), &lane.rtl.front());
    }
    matched(lane, lane.tlm.front());
    lane.tlm.pop_front();
    lane.rtl.pop_front();
  }
}

void LockstepTile::check_leftovers(Cycle position, const TileStop& stop) {
  using Kind = TileStop::Kind;
  const bool settled =
      stop.kind == Kind::sync || stop.kind == Kind::idle || stop.kind == Kind::exception || stop.kind == Kind::halted;
  for (unsigned context = 0; context < lanes_.size(); ++context) {
    Lane& lane = lanes_[context];
    if (lane.tlm.empty() && lane.rtl.empty()) continue;
    const RetireRecord& r = lane.tlm.empty() ? lane.rtl.front() : lane.tlm.front();
    const bool waiting = context == 0 && waits(r.word) && !r.trap;
    // RTL may have issued other contexts beyond the store that ended the run.
    if (stop.kind == Kind::tohost && lane.tlm.empty() && r.cycle > stop.cycle) continue;
    if (waiting) {
      // Both tell it when the supervisor goes on, which lies in the future as yet; RTL alone may tell it before that.
      if (lane.tlm.empty()) continue;
      if (lane.waiting_from != r.cycle) {
        lane.waiting_from = r.cycle;
        lane.waiting_since = std::max(position, resume_);
      }
      if (position <= lane.waiting_since + kLate) continue;
    } else if (!settled && std::max(r.cycle, resume_) + kLate >= position) {
      continue;
    }
    fail(lane.tlm.empty() ? "RTL retires an instruction that TLM does not" : "RTL does not retire an instruction",
         r.cycle, context, lane.tlm.empty() ? nullptr : &r, lane.tlm.empty() ? &r : nullptr);
  }
}

void LockstepTile::check_registers() {
  for (unsigned id = 0; id < lanes_.size(); ++id) {
    const ContextState a = tlm_->context(static_cast<ContextId>(id)), b = rtl_->context(static_cast<ContextId>(id));
    counts_.registers += 64;
    for (unsigned k = 0; k < 32; ++k) {
      if (a.x[k] != b.x[k]) {
        fail(fmt::format("register x{} at a stop, unseen in any record: TLM 0x{:x}, RTL 0x{:x}", k, a.x[k], b.x[k]),
             position_, id, nullptr, nullptr);
      }
      if (id != 0 && a.f[k] != b.f[k]) {
        fail(fmt::format("register f{} at a stop, unseen in any record: TLM 0x{:x}, RTL 0x{:x}", k, a.f[k], b.f[k]),
             position_, id, nullptr, nullptr);
      }
    }
    if (a.fcsr != b.fcsr) {
      fail(fmt::format("fcsr at a stop: TLM 0x{:x}, RTL 0x{:x}", a.fcsr, b.fcsr), position_, id, nullptr, nullptr);
    }
  }
}

void LockstepTile::check_exception() {
  const auto a = tlm_->exception(), b = rtl_->exception();
  if (a && b && a->cycle == b->cycle && a->context == b->context && a->cause == b->cause && a->pc == b->pc &&
      a->tval == b->tval) {
    return;
  }
  const auto words = [](const std::optional<TileException>& e) {
    if (!e) return std::string("none");
    return fmt::format("cause {} in cycle {}, context {}, pc 0x{:x}, value 0x{:x}", e->cause, e->cycle, e->context,
                       e->pc, e->tval);
  };
  fail(fmt::format("first exception: TLM {}, RTL {}", words(a), words(b)), a ? a->cycle : position_, a ? a->context : 0,
       nullptr, nullptr);
}

void LockstepTile::check_memory(Address address, std::size_t count) {
  std::vector<std::uint8_t> a(count), b(count);
  tlm_->read_memory(address, a.data(), count);
  rtl_->read_memory(address, b.data(), count);
  counts_.memory_bytes += count;
  const auto [x, y] = std::mismatch(a.begin(), a.end(), b.begin());
  if (x == a.end()) return;
  const auto at = static_cast<Address>(address + (x - a.begin()));
  fail(fmt::format("memory at 0x{:x}, unseen in any record: TLM 0x{:02x}, RTL 0x{:02x}", at, *x, *y), position_, 0,
       nullptr, nullptr);
}

/// Places that the last phase wrote, now that RTL is beyond it.
void LockstepTile::check_received() {
  auto& received = pins_->phase.received;
  for (std::size_t begin = 0; begin < received.size();) {
    std::size_t end = begin + 1;
    while (end < received.size() && received[end].word.address == received[end - 1].word.address + 4) ++end;
    check_memory(received[begin].word.address, 4 * (end - begin));
    begin = end;
  }
  received.clear();
}

void LockstepTile::fail_word(const std::string& message, Cycle cycle) { fail(message, cycle, 0, nullptr, nullptr); }

void LockstepTile::fail(const std::string& message, Cycle cycle, unsigned context, const RetireRecord* tlm,
                        const RetireRecord* rtl) const {
  const Lane& lane = lanes_[context];
  const TileRef ref{static_cast<std::uint16_t>(config_.ipu), static_cast<std::uint16_t>(config_.tile)};
  const auto symbol = [&](Address pc) { return options_.symbolizer ? options_.symbolizer(ref, pc) : std::string(); };
  std::vector<RetireRecord> before;
  for (std::size_t k = 0; k < lane.tlm.remembered(); ++k) before.push_back(lane.tlm.past(k));
  std::string report;
  if (tlm != nullptr || rtl != nullptr) {
    report = mismatch_report(tlm, rtl, before, lane.registers, symbol);
  } else {
    report = fmt::format("last {} instructions of the context, in both:\n", before.size());
    for (const RetireRecord& r : before) report += "  " + describe(r) + "\n";
  }
  throw Error(Category::lockstep_mismatch, "RTL and TLM differ: " + message + "\n" + report,
              fmt::format("ipu {} tile {} context {}", config_.ipu, config_.tile, context),
              "run again with --wave FILE to see the cycles around it", cycle);
}

}  // namespace tessera
