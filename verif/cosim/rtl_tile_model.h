// RtlTile over any Verilated class of tile_core: drives the pins cycle by cycle and turns ports into records and stops.
// Here: pins and the loop over cycles. SRAM and ports are in rtl_tile_ports.h, records in rtl_tile_records.h, state and
// waves in rtl_tile_state.h, the debug port in rtl_tile_debug.h.
//
// A cycle c is: read data of the last cycle on the pins, settle with the clock low, talk to the ports, serve the SRAM,
// rising edge with the number of the next cycle. The clocked state stands "in" cycle now_; before the first edge that
// is cycle -2. Skipping: if the tile is quiescent the edge may name any later cycle as the next.
#pragma once

#include <verilated.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "hw/generated/isa.h"
#include "hw/generated/machine.h"
#include "verif/cosim/ring.h"
#include "verif/cosim/rtl_tile.h"
#include "verif/cosim/wave.h"

namespace tessera {

/// Says of a model that it counts the lines it executes, and what to do with the counts when a tile ends.
template <class Model>
struct CountsLines : std::false_type {};

/// Says of a model that its signals are known one by one: of() returns them.
template <class Model>
struct NamesSignals : std::false_type {};

/// `traced`: the model has trace().
template <class Model, bool traced = false>
class RtlTileModel final : public RtlTile {
 public:
  /// `plus` is an argument for the model's $test$plusargs.
  explicit RtlTileModel(const TileConfig& config, const std::string& plus = {});
  ~RtlTileModel() override;

  void start(Address pc, Cycle at) override { start_context(0, pc, at); }
  void start_context(ContextId context, Address pc, Cycle at) override;
  TileStop run(Cycle limit, ExchangePort* port, PacketPort* packets) override;
  void release(Cycle z, bool vote) override;
  void finish_exchange(const ExchangeResult&) override { throw std::logic_error("an RTL tile has its own engine"); }
  void finish_packets(Cycle, std::uint32_t) override { throw std::logic_error("an RTL tile has its own engine"); }
  void write_memory(Address address, const std::uint8_t* bytes, std::size_t count) override;
  void read_memory(Address address, std::uint8_t* bytes, std::size_t count) const override;
  std::uint8_t* sram() override { return nullptr; }
  void memory_written(Address, std::size_t) override {}
  [[nodiscard]] std::uint32_t supervisor_csr(unsigned number) const override;
  [[nodiscard]] ContextState context(ContextId context) const override;
  [[nodiscard]] std::optional<TileException> exception() const override;
  [[nodiscard]] std::uint64_t retired() const override { return retired_; }
  void observe(RetireObserver* observer) override { observer_ = observer; }
  void observe_events(EventObserver* observer) override { events_ = observer; }
  void set_groups(bool group1, bool group2) override;
  [[nodiscard]] std::uint64_t clocked() const override { return clocked_; }
  void attach_wave(RtlWave& wave) override;

  void debug_attach(bool) override {}
  void debug_halt(std::uint8_t contexts, Cycle at) override;
  void debug_resume(std::uint8_t contexts, Cycle at) override;
  [[nodiscard]] std::uint32_t debug_read(ContextId context, DebugSpace space, unsigned number) const override;
  void debug_write(ContextId context, DebugSpace space, unsigned number, std::uint32_t value) override;

 private:
  /// A cycle, or one of the two before cycle 0.
  using Time = std::int64_t;
  static constexpr Time kNoTime = std::numeric_limits<Time>::max();
  static Time time(Cycle c) { return c > static_cast<Cycle>(kNoTime) ? kNoTime : static_cast<Time>(c); }
  [[nodiscard]] Cycle cycle() const { return static_cast<Cycle>(now_); }

  /// A record whose order or value is not settled yet.
  struct Pending {
    RetireRecord record;
    bool waits = false;    ///< for a divider or transcendental lane, or for weights
    bool weights = false;  ///< x.amp.ldw
  };
  /// Commands of the debug port for one cycle, and a write that waits for its edge.
  struct Command {
    Time at = 0;
    std::uint8_t halt = 0, resume = 0;
  };
  struct Write {
    unsigned kind = 0;
    ContextId context = 0;
    unsigned select = 0;
    std::uint32_t value = 0;
  };
  struct Start {
    Time at = kNoTime;
    ContextId context = 0;
    Address pc = 0;
  };

  [[nodiscard]] std::uint64_t load(Address address) const;
  void store(Address address, std::uint64_t data, unsigned mask);
  void settle();
  void serve_memory();
  void serve_exchange(ExchangePort* port);
  void serve_packets(PacketPort* packets);
  void edge(Time next);
  void collect();
  void collect_main();
  void collect_events(Cycle cycle, ContextId context);
  void note_word(Cycle cycle);
  void collect_aux();
  void finish_lane();
  void collect_weights();
  void take_weights(Pending& pending);
  void flush_records();
  void emit(MachineEvent::Kind kind, Cycle cycle, ContextId context, Address pc, std::uint32_t a0);
  void flush_events();
  void note_exception(Cycle cycle, ContextId context, std::uint32_t cause, Address pc, std::uint32_t tval,
                      std::uint32_t word);
  [[nodiscard]] std::uint32_t debug(unsigned kind, ContextId context, unsigned select) const;
  Command& command(Cycle at);
  void drive_debug(Time next);
  void drive_write(const Write& write);
  [[nodiscard]] static std::pair<unsigned, unsigned> debug_place(ContextId context, DebugSpace space, unsigned number);
  void dump(bool clock_high);
  TileStop drain(PacketPort* packets);
  [[nodiscard]] Time wake(Time limit, PacketPort* packets);
  TileStop stop_here(Cycle limit);

  TileConfig config_;
  VerilatedContext context_;
  mutable Model model_;
  std::vector<std::uint8_t> sram_;
  std::vector<Start> starts_;

  Time now_ = -2;      ///< the cycle the clocked state stands in
  unsigned slot_ = 4;  ///< of now_
  std::uint64_t clocked_ = 0;
  std::uint64_t fetch_data_ = 0, load_a_data_ = 0, load_b_data_ = 0;  ///< read in now_
  bool settled_ = false;  ///< outputs of now_ have been seen and its ports served
  Time release_ = kNoTime;
  bool release_vote_ = false;
  std::optional<TileStop> sync_;                                        ///< arrived and not released
  std::optional<std::pair<Time, std::pair<Word, bool>>> early_packet_;  ///< found while skipping

  RetireObserver* observer_ = nullptr;
  EventObserver* events_ = nullptr;
  std::vector<MachineEvent> queued_events_;
  Cycle first_word_ = kNever, last_word_ = 0;  ///< on the exchange ports since the release
  Ring<Pending> records_;
  std::array<std::uint32_t, 64> weights_{};  ///< rows of the x.amp.ldw under way
  bool weights_done_ = false;                ///< all 16 have come, the record has not
  std::uint64_t retired_ = 0;
  Cycle last_issue_ = 0;
  std::array<std::optional<TileException>, 7> exceptions_;  ///< the last of each context
  std::deque<Command> commands_;                            ///< in order of cycles
  std::deque<Write> writes_;                                ///< one goes with each edge
  bool debug_pins_ = false;                                 ///< something stands on the pins of the debug port
  std::optional<TileStop> tohost_;
  Address listened_ = 0;
  RtlWave* wave_ = nullptr;
};

template <class Model, bool traced>
RtlTileModel<Model, traced>::RtlTileModel(const TileConfig& config, const std::string& plus)
    : config_(config), model_(&context_, "tile"), sram_(config.sram_bytes) {
  if (config.sram_bytes % 8 != 0) throw std::logic_error("SRAM of an RTL tile: a multiple of 8 bytes");
  if (!plus.empty()) {
    const char* arguments[] = {"", plus.c_str()};
    context_.commandArgs(2, arguments);
  }
  if constexpr (traced) context_.traceEverOn(true);
  model_.tile_i = config.tile;
  model_.ipu_i = config.ipu;
  model_.ntiles_i = config.tiles;
  model_.hart_base_i = config.hart_base;
  model_.sram_end_i = kSramBase + config.sram_bytes;
  set_groups(config.group1, config.group2);
  model_.rst_ni = 0;
  model_.cycle_i = cycle();
  model_.slot_i = slot_;
  settle();
  // Reset is synchronous, so every clock rises in it.
  model_.unit_clk_i = model_.state_clk_i = model_.simd_clk_i = model_.trans_clk_i = model_.amp_clk_i = 1;
  model_.clk_i = 1;
  model_.eval();
  model_.rst_ni = 1;
  settle();
  // One edge more out of reset, still before cycle 0, so that the pins have been sampled.
  model_.clk_i = 1;
  model_.eval();
}

template <class Model, bool traced>
RtlTileModel<Model, traced>::~RtlTileModel() {
  model_.final();
  if constexpr (CountsLines<Model>::value) CountsLines<Model>::add(model_);
}

template <class Model, bool traced>
void RtlTileModel<Model, traced>::set_groups(bool group1, bool group2) {
  model_.groups_i = (group1 ? 1 : 0) | (group2 ? 2 : 0);
}

template <class Model, bool traced>
void RtlTileModel<Model, traced>::start_context(ContextId context, Address pc, Cycle at) {
  // The pins act at the edge before the last: a cycle that is over cannot be named any more.
  starts_.push_back({std::max(time(at), now_ + 2), context, pc});
  std::stable_sort(starts_.begin(), starts_.end(), [](const Start& a, const Start& b) { return a.at < b.at; });
  for (std::size_t i = 1; i < starts_.size(); ++i) starts_[i].at = std::max(starts_[i].at, starts_[i - 1].at + 1);
}

template <class Model, bool traced>
void RtlTileModel<Model, traced>::release(Cycle z, bool vote) {
  if (!sync_) throw std::logic_error("release of a tile that does not wait in a wide sync");
  if (time(z) <= now_) throw std::logic_error("release in a cycle that is over");
  sync_.reset();
  release_ = time(z);
  release_vote_ = vote;
  first_word_ = kNever;
  last_word_ = 0;
}

// ---- one cycle ----

template <class Model, bool traced>
void RtlTileModel<Model, traced>::settle() {
  model_.clk_i = 0;
  model_.unit_clk_i = 0;
  model_.state_clk_i = 0;
  model_.simd_clk_i = 0;
  model_.trans_clk_i = 0;
  model_.amp_clk_i = 0;
  model_.eval();
}

template <class Model, bool traced>
void RtlTileModel<Model, traced>::edge(Time next) {
  slot_ = next == now_ + 1 ? (slot_ == 5 ? 0 : slot_ + 1) : static_cast<unsigned>(static_cast<Cycle>(next) % 6);
  model_.cycle_i = static_cast<Cycle>(next);
  model_.slot_i = slot_;
  model_.release_valid_i = next == release_;
  model_.release_vote_i = release_vote_;
  if (next == release_) release_ = kNoTime;
  model_.start_valid_i = 0;
  if (!starts_.empty() && starts_.front().at == next + 1) {
    model_.start_valid_i = 1;
    model_.start_ctx_i = starts_.front().context;
    model_.start_pc_i = starts_.front().pc;
    starts_.erase(starts_.begin());
  }
  if (debug_pins_ || !commands_.empty() || !writes_.empty()) drive_debug(next);
  dump(false);
  model_.unit_clk_i = model_.unit_on_o || model_.packet_rx_valid_i;
  model_.state_clk_i = model_.state_on_o || model_.dbg_we_i;
  model_.simd_clk_i = model_.simd_on_o;
  model_.trans_clk_i = model_.trans_on_o;
  model_.amp_clk_i = model_.amp_on_o;
  model_.clk_i = 1;
  model_.eval();
  model_.fetch_data_i = fetch_data_;
  model_.load_a_data_i = load_a_data_;
  model_.load_b_data_i = load_b_data_;
  now_ = next;
  ++clocked_;
  settled_ = false;
  dump(true);
}

// ---- running ----

template <class Model, bool traced>
TileStop RtlTileModel<Model, traced>::run(Cycle limit, ExchangePort* port, PacketPort* packets) {
  TileStop stop;
  for (;;) {
    if (sync_) {
      stop = sync_->cycle < limit ? *sync_ : TileStop{TileStop::Kind::limit, limit};
      break;
    }
    if (!settled_) {
      settle();
      serve_memory();
      serve_exchange(port);
      serve_packets(packets);
      if (model_.ret_valid_o || model_.aux_valid_o || model_.done_valid_o || model_.ldw_valid_o) collect();
      settled_ = true;
      if (tohost_) {
        stop = drain(packets);
        break;
      }
      if (model_.raise_o) {
        const std::uint32_t value = model_.raise_code_o << 8 | model_.raise_vote_o;
        sync_ = TileStop{TileStop::Kind::sync, cycle(), static_cast<Zone>(model_.raise_zone_o), value};
        continue;
      }
    }
    Time next = now_ + 1;
    if (model_.quiescent_o && writes_.empty()) {
      next = wake(time(limit), packets);
      if (next == kNoTime) {
        stop = stop_here(limit);
        break;
      }
    }
    if (next >= time(limit)) {
      stop = TileStop{TileStop::Kind::limit, limit};
      break;
    }
    edge(next);
  }
  flush_events();
  return stop;
}

/// Next cycle in which something happens to a quiescent tile; kNoTime if nothing will, `limit` if not before that.
template <class Model, bool traced>
typename RtlTileModel<Model, traced>::Time RtlTileModel<Model, traced>::wake(Time limit, PacketPort* packets) {
  Time next = release_;
  if (!starts_.empty()) next = std::min(next, starts_.front().at - 1);
  if (!commands_.empty()) next = std::min(next, commands_.front().at);
  if (packets != nullptr && now_ >= 0 && limit != kNoTime) {
    const Time until = std::min(next, limit);
    for (Time c = now_ + 1; c < until; ++c) {
      if (early_packet_) return early_packet_->first;
      if (const auto word = packets->receive(static_cast<Cycle>(c))) {
        early_packet_ = std::pair{c, *word};
        return c;
      }
    }
  }
  return next;
}

template <class Model, bool traced>
TileStop RtlTileModel<Model, traced>::stop_here(Cycle) {
  flush_records();
  if (model_.halted_o != 0) return {TileStop::Kind::halted, last_issue_};
  if (const auto e = exception()) return {TileStop::Kind::exception, e->cycle, Zone::local, e->cause};
  return {TileStop::Kind::idle, last_issue_};
}

/// After the store that ends the run: what was issued until then retires, nothing later is done or reported.
template <class Model, bool traced>
TileStop RtlTileModel<Model, traced>::drain(PacketPort* packets) {
  const auto open = [this] {
    for (std::size_t k = 0; k < records_.size(); ++k)
      if (records_[k].waits) return true;
    return false;
  };
  for (unsigned i = 0; i < 4 || (open() && i < 48); ++i) {
    edge(now_ + 1);
    settle();
    serve_memory();
    serve_packets(packets);
    collect();
    settled_ = true;
  }
  flush_records();
  const TileStop stop = *tohost_;
  tohost_.reset();
  return stop;
}

}  // namespace tessera

#include "verif/cosim/rtl_tile_debug.h"    // IWYU pragma: export
#include "verif/cosim/rtl_tile_ports.h"    // IWYU pragma: export
#include "verif/cosim/rtl_tile_records.h"  // IWYU pragma: export
#include "verif/cosim/rtl_tile_state.h"    // IWYU pragma: export
