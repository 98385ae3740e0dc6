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
#include <string>
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
  PacketHost* host = nullptr;  ///< serves packets to host buffers; may let time pass
  /// Called between rounds and steps with the cycle reached; may throw to end the run.
  std::function<void(Cycle)> poll;
};

class Ipu {
 public:
  enum class Outcome : std::uint8_t {
    running,    ///< the limit is reached, nothing to answer
    arrived,    ///< all active tiles wait in one zone: release() is next
    exception,  ///< a tile is excepted: the first exception is known
    refused,    ///< a packet was refused where it went: refused() says which
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

  /// Runs until something is to be answered or all tiles have done everything before `limit`.
  Outcome advance(Cycle limit);
  /// Answers `arrived`: all tiles go on at `z` with the AND of the votes of the zone.
  void release(Cycle z, bool vote);

  /// Does what packets on the way do before `limit`, when all tiles have done theirs; the latest cycle in which one
  /// arrived at a host block.
  Cycle drain_packets(Cycle limit);

  [[nodiscard]] const std::optional<SyncResult>& arrival() const { return arrival_; }
  [[nodiscard]] const std::optional<ZoneConflict>& conflict() const { return conflict_; }
  /// First exception of the IPU by (cycle, tile, context).
  struct FirstException {
    unsigned tile = 0;
    TileException exception;
  };
  [[nodiscard]] const std::optional<FirstException>& exception() const { return exception_; }

  [[nodiscard]] const std::optional<PacketLanes::Refusal>& refused() const { return lanes_.refused(); }

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
    std::unique_ptr<PacketWindow> window;
  };

  void make_tiles();
  void watch_events();
  void flush_events();
  void run_interval_tiles(Cycle limit);
  void run_pin_tiles(Cycle limit);
  void settle(unsigned t, const TileStop& stop);
  void publish(unsigned t, const TileStop& stop);
  void note_exception(unsigned t);
  bool resolve_exchange();
  void open_window(unsigned t, const TileStop& stop);
  /// Everything that packet windows and lanes do before `to`, at most a lookahead after anything not yet done.
  void step_packets(Cycle to);
  /// Runs windows and lanes alone; true if a tile goes on.
  bool run_packets(Cycle limit);
  bool finish_windows();
  [[nodiscard]] Cycle next_packet_event() const;
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
  std::vector<bool> interval_based_;
  bool pins_ = false;  // there are pin-level tiles
  std::vector<unsigned> runnable_;
  std::vector<std::unique_ptr<EventBuffer>> buffers_;
  Fabric fabric_;
  PacketLanes lanes_;
  SyncUnit sync_;
  bool window_open_ = false;  // since the last release packets may move
  bool packets_ = false;      // a tile has come to x.packet since
  bool pristine_ = false;     // nobody has touched the tiles since they were made: a reset has nothing to do
  Cycle release_ = 0;
  std::optional<SyncResult> arrival_;
  std::optional<ZoneConflict> conflict_;
  std::optional<FirstException> exception_;
  std::vector<UnheardRun> unheard_;
};

}  // namespace tessera
