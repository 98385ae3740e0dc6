// The tiles of one IPU between two releases: runs them, resolves their exchange, gathers their arrivals.
//
// Plain C++, no SystemC: the chip's process (tlm/system/chip.h) calls advance() and answers what comes of it. Per
// superstep: interval-based tiles run to their next stop; what they send is published; pin-level tiles run in steps of
// at most the smallest fabric delay; the phase is resolved; the tiles go on. All in time order as far as anybody can
// observe, on any number of host threads.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <tuple>
#include <vector>

#include "hw/event.h"
#include "hw/types.h"
#include "tlm/exchange/fabric.h"
#include "tlm/link/lanes.h"
#include "tlm/link/packet_window.h"
#include "tlm/sync/sync_unit.h"
#include "tlm/system/tile_pool.h"
#include "tlm/tile/tile_model.h"

namespace tessera {

/// Makes the tile of one place in one mode; the chip does not know which models there are.
using TileFactory = std::function<std::unique_ptr<TileModel>(const TileConfig&, TileMode)>;
/// Name of the code at an address of a tile, for reports; empty if unknown.
using Symbolizer = std::function<std::string(TileRef, Address)>;

struct IpuConfig {
  unsigned ipu = 0;
  unsigned tiles = 1;
  std::uint32_t sram_bytes = 262144;
  FabricTiming fabric;          ///< for `tiles` tiles
  LaneTiming lanes;             ///< `tiles` is taken from above
  std::vector<TileMode> modes;  ///< per tile; missing ones are tlm
  bool group1 = false, group2 = false;
};

enum class TileStatus : std::uint8_t { held, running, exchange, packet, sync, idle, excepted, done };

/// What the chip needs to hear from outside while its tiles run.
struct IpuHooks {
  EventObserver* events = nullptr;
  /// Told the release cycle of every superstep before any tile goes on into it: (IPU, cycle).
  std::function<void(unsigned, Cycle)> released;
  /// Called between rounds and steps with the cycle reached; may throw to end the run.
  std::function<void(Cycle)> poll;
};

class Ipu {
 public:
  enum class Outcome : std::uint8_t {
    running,    ///< the limit is reached, nothing to answer
    arrived,    ///< all active tiles wait in one zone: release() is next
    exception,  ///< a tile is excepted: the first exception is known
    conflict,   ///< active tiles wait in different wide zones
    stuck,      ///< no tile can go on, and some wait: a deadlock
    stopped,    ///< no tile can go on, and none waits
  };

  Ipu(const IpuConfig& config, const TileFactory& factory, TilePool& pool, IpuHooks hooks = {});
  ~Ipu();

  /// The tiles, made anew: contexts idle, SRAM zero.
  void reset();
  void set_active(unsigned tile, bool active) { sync_.set_active(tile, active); }
  [[nodiscard]] bool active(unsigned tile) const { return sync_.active(tile); }
  /// Starts the supervisors of all active tiles at `pc`.
  void boot(Address pc, Cycle at);

  /// First exception of the IPU by (cycle, tile, context).
  struct FirstException {
    unsigned tile = 0;
    TileException exception;
  };
  [[nodiscard]] const std::optional<FirstException>& exception() const { return exception_; }

  /// Runs until something is to be answered, or all tiles have done everything before `limit` and packets everything
  /// before `known`: what comes from beyond the lanes is told for all cycles before that.
  Outcome advance(Cycle limit, Cycle known = kNever);
  /// Answers `arrived`: all tiles go on at `z` with the AND of the votes of the zone.
  void release(Cycle z, bool vote);

  /// After `running`: the cycle that must become known for packets to go on; kNever if they wait for others.
  [[nodiscard]] Cycle wanted();
  /// Hands on what is known of events: all of them at the end of a run, however it ends.
  void flush_events(Cycle before = kNever);
  /// Some tile has come to `limit`.
  [[nodiscard]] bool tiles_running() const { return running_ != 0; }
  [[nodiscard]] bool tiles_in_packet() const { return in_packet_ != 0; }
  /// All tiles wait in a sync, packets of theirs may be in the lanes: lanes go on to `known`.
  void run_lanes(Cycle known) { lanes_.advance(known); }
  [[nodiscard]] PacketLanes& lanes() { return lanes_; }
  /// A packet that a tile's engine did not take, for a report of its exception of cause 30; nothing if it is not known.
  [[nodiscard]] std::optional<Packet> culprit(const FirstException& first) const;
  /// A tile holds words that came outside its window: the first of them by tile, and which packet.
  struct Stray {
    unsigned tile = 0;
    Address address = 0;
    Packet packet;
  };
  [[nodiscard]] std::optional<Stray> stray(Cycle before) const;

  [[nodiscard]] const std::optional<SyncResult>& arrival() const { return arrival_; }
  [[nodiscard]] const std::optional<ZoneConflict>& conflict() const { return conflict_; }
  [[nodiscard]] unsigned tiles() const { return config_.tiles; }
  [[nodiscard]] std::uint32_t sram_bytes() const { return config_.sram_bytes; }
  [[nodiscard]] TileModel& tile(unsigned t) {
    pristine_ = false;
    return *tiles_[t];
  }
  [[nodiscard]] const TileModel& tile(unsigned t) const { return *tiles_[t]; }
  [[nodiscard]] TileStatus status(unsigned t) const { return seats_[t].status; }
  [[nodiscard]] const SyncUnit& sync() const { return sync_; }
  [[nodiscard]] const Fabric& fabric() const { return fabric_; }
  [[nodiscard]] std::uint64_t packets() const { return lanes_.packets(); }
  /// Release cycle of the superstep that runs.
  [[nodiscard]] Cycle release_cycle() const { return release_; }
  /// Instructions retired by all tiles.
  [[nodiscard]] std::uint64_t retired() const;
  /// Runs of words that nobody heard though their descriptors do not allow it; the first few, and how many words.
  [[nodiscard]] const std::vector<UnheardRun>& unheard() const { return unheard_; }
  /// Who stands where and waits for what, one line for each group of tiles that stand alike.
  [[nodiscard]] std::string describe(const Symbolizer& symbolizer) const;

  IpuHooks hooks;

 private:
  struct Seat {
    TileStatus status = TileStatus::held;
    bool exchanged = false;  // has published since the release
    Address exchange_table = 0;
    Cycle progress = 0;  // everything of the tile before this cycle is done
    TileStop stop;
  };
  /// What packets know of an interval-based tile.
  struct PacketSeat {
    bool window_open = false;  // packets may arrive
    std::unique_ptr<PacketWindow> window;
    std::optional<PacketWindow::Stray> stray;
    Packet stray_packet;        // header
    std::optional<Stray> told;  // a stray that has trapped
  };
  /// Something that a packet window does, by time.
  struct PacketEvent {
    enum class Kind : std::uint8_t { offer, arrival, end };
    Cycle cycle = 0;
    Kind kind = Kind::offer;
    unsigned tile = 0;
    friend bool operator>(const PacketEvent& a, const PacketEvent& b) {
      return std::tie(a.cycle, a.kind, a.tile) > std::tie(b.cycle, b.kind, b.tile);
    }
  };

  void make_tiles();
  void watch_events();
  void flush_settled_events(Outcome outcome);
  void run_interval_tiles(Cycle limit);
  void run_pin_tiles(Cycle limit);
  void settle(unsigned t, const TileStop& stop);
  void publish(unsigned t, const TileStop& stop);
  void note_exception(unsigned t);
  bool resolve_exchange();
  void set_status(unsigned t, TileStatus status);
  // Packets (ipu_packets.cpp).
  void open_window(unsigned t, const TileStop& stop);
  void push(PacketEvent::Kind kind, unsigned t, Cycle cycle) { packet_events_.push({cycle, kind, t}); }
  void plan_offer(unsigned t);
  void plan_arrival(unsigned t);
  void plan_end(unsigned t);
  void look_at_touched();
  void arrive(unsigned t, Cycle to);
  void end_window(unsigned t);
  void refuse_strays(unsigned t);
  void note_stray(unsigned t, const PacketWindow::Stray& stray, const Packet& packet);
  void close_windows(Cycle z);
  void before_release(unsigned t, Cycle z);
  /// Everything that packet windows and lanes do before `to`, at most a lookahead after anything not yet done; true if
  /// a tile goes on.
  bool step_packets(Cycle to);
  /// Runs windows and lanes alone; true if a tile goes on.
  bool run_packets(Cycle limit);
  [[nodiscard]] Cycle next_packet_event();
  void emit(unsigned t, MachineEvent::Kind kind, Cycle cycle, std::uint32_t a0) {
    if (hooks.events != nullptr) emit_event(t, kind, cycle, a0);
  }
  void emit_event(unsigned t, MachineEvent::Kind kind, Cycle cycle, std::uint32_t a0);
  void poll(Cycle cycle) const {
    if (hooks.poll) hooks.poll(cycle);
  }
  [[nodiscard]] Cycle capped(Cycle limit) const;
  /// Fills runnable_ with the tiles of one kind that have something to do before `limit`.
  void find_runnable(bool interval_based, Cycle limit);
  [[nodiscard]] bool any_runnable(Cycle limit) const;
  [[nodiscard]] Outcome outcome();

  class EventBuffer;

  IpuConfig config_;
  TileFactory factory_;
  TilePool& pool_;
  std::vector<std::unique_ptr<TileModel>> tiles_;
  std::vector<Seat> seats_;
  std::vector<PacketSeat> packet_seats_;
  std::vector<bool> interval_based_;
  bool pins_ = false;  // there are pin-level tiles
  std::vector<unsigned> runnable_;
  std::vector<std::unique_ptr<EventBuffer>> buffers_;
  Fabric fabric_;
  PacketLanes lanes_;
  SyncUnit sync_;
  bool packets_move_ = false;  // a window was opened since the start
  Cycle known_ = kNever;       // what comes from beyond the lanes is known before this cycle
  std::priority_queue<PacketEvent, std::vector<PacketEvent>, std::greater<>> packet_events_;
  unsigned running_ = 0, in_packet_ = 0;  // tiles with that status
  bool pristine_ = false;  // nobody has touched the tiles since they were made: a reset has nothing to do
  Cycle release_ = 0;
  std::optional<SyncResult> arrival_;
  std::optional<ZoneConflict> conflict_;
  std::optional<FirstException> exception_;
  std::vector<UnheardRun> unheard_;
};

}  // namespace tessera
