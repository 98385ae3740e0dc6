// The packet lanes of one IPU: tiles' port buffers, lanes up (towards links and host blocks) with their arbitration,
// and the words that wait at tiles' ports.
//
// Up: a packet waits whole in its tile's port buffer; the lane takes waiting packets round robin by tile number from
// the last one taken, one word a cycle, and `latency` cycles after its last word it is at the lane's end. A packet for
// another IPU needs a place in the buffer there; the lane knows that a place is free `latency` cycles after it is. So
// lanes may be run that far ahead of all that happens beyond them. What does happen there, and the lanes down, is
// Crossbar's (tlm/link/crossbar.h). Times are exact whatever the order of calls, as long as advance() is told only
// cycles up to which every tile has been run and every credit is known.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "tlm/link/packet.h"
#include "tlm/tile/tile_model.h"

namespace tessera {

struct LaneTiming {
  unsigned tiles = 1;
  unsigned tiles_per_column = 1;
  unsigned lanes_per_column = 2;
  unsigned words_per_cycle = 1;
  Cycle latency = 20;
  unsigned buffers = 4;  ///< packets in a tile's port buffer, at a lane's end, before a lane down

  [[nodiscard]] unsigned lanes() const { return (tiles + tiles_per_column - 1) / tiles_per_column * lanes_per_column; }
  /// The tiles of a column in lanes_per_column equal parts, north to south.
  [[nodiscard]] unsigned lane_of(unsigned tile) const {
    const unsigned column = tile / tiles_per_column, row = tile % tiles_per_column;
    return column * lanes_per_column + row * lanes_per_column / tiles_per_column;
  }
  /// Cycles for which a packet holds a lane.
  [[nodiscard]] Cycle busy(const Packet& packet) const {
    return (packet.lane_words() + words_per_cycle - 1) / words_per_cycle;
  }
};

class PacketLanes {
 public:
  explicit PacketLanes(const LaneTiming& timing);
  ~PacketLanes();
  PacketLanes& operator=(PacketLanes&&) noexcept;

  [[nodiscard]] const LaneTiming& timing() const { return timing_; }
  /// Smallest number of cycles in which what a tile does can come back to a tile.
  [[nodiscard]] Cycle lookahead() const { return timing_.latency; }

  // Pin-level tiles.
  /// The first call for a tile makes its port: not while another thread uses one.
  PacketPort& port(unsigned tile);
  // Interval-based tiles.
  /// The first cycle >= `from` in which the tile's buffer can take a packet; nothing if that depends on packets that
  /// the lane has not taken yet.
  [[nodiscard]] std::optional<Cycle> room(unsigned tile, Cycle from) const;
  /// A packet whose first word is taken in `first`, the rest in the cycles after.
  void take(unsigned tile, Cycle first, Packet packet);
  struct Delivery {
    Cycle first = 0;  ///< cycle in which the first header word stands on the port
    Packet packet;
  };
  /// Next packet for a tile, in order; nullptr if none is known.
  [[nodiscard]] const Delivery* next_delivery(unsigned tile) const {
    return deliveries_[tile].empty() ? nullptr : &deliveries_[tile].front();
  }
  std::optional<Delivery> take_delivery(unsigned tile);
  /// Tiles to whose ports packets came, or of whose packets the lane took one, since this was last called; each once.
  std::vector<unsigned> take_touched();

  // Beyond the lanes.
  void deliver(unsigned tile, Cycle first, Packet packet);
  struct Arrival {
    Cycle cycle = 0;
    unsigned lane = 0;
    Packet packet;
  };
  /// Packets that come to lanes' ends, by (cycle, lane) among those of one call; later calls may bring earlier ones of
  /// other lanes.
  std::vector<Arrival> take_arrivals();
  /// A place at the end of `lane` is free from `cycle` on.
  void credit(unsigned lane, Cycle cycle);

  /// Does everything that lanes do before `limit`.
  void advance(Cycle limit);
  /// Cycle of the next packet that a lane takes; kNever if none can be known.
  [[nodiscard]] Cycle next_event();
  /// Packets in port buffers or on their way to a lane's end that nobody has been told of.
  [[nodiscard]] unsigned waiting() const { return waiting_packets_; }
  /// All words and times of a new run.
  void reset();

  [[nodiscard]] std::uint64_t packets() const { return packets_; }
  /// Headers of the last packets that came to a tile, newest last; payload is not kept.
  struct Header {
    Cycle first = 0;
    Packet packet;
  };
  [[nodiscard]] const std::deque<Header>& last_delivered(unsigned tile) const { return recent_[tile]; }

 private:
  class Port;
  static constexpr std::size_t kRecent = 4;
  struct Waiting {
    Cycle available = 0;  // first cycle in which the lane can begin with it
    Packet packet;
  };
  struct Lane {
    Cycle up_free = 0;
    unsigned last_tile = 0;  // taken from last
    bool granted = false;
    std::vector<unsigned> waiting;  // tiles with packets, ascending
    unsigned pending = 0;           // places at the end of which nothing is known
    std::deque<Cycle> credits;      // cycles in which places are known to be free again, ascending
    Cycle next = kNever;            // next grant; what stands in the heap beside this is stale
  };

  [[nodiscard]] static bool for_link(const Packet& packet);
  [[nodiscard]] Cycle place_from(const Lane& lane) const;
  [[nodiscard]] Cycle ready(const Lane& lane, unsigned tile) const;
  void put(unsigned tile, Cycle available, Packet packet);
  void look(unsigned lane);
  void collect_ports();
  void schedule(unsigned lane, Cycle cycle);
  void grant(unsigned lane, Cycle cycle);
  void touch(unsigned tile);

  LaneTiming timing_;
  std::vector<Lane> lanes_;
  std::vector<std::deque<Waiting>> waiting_;  // by tile
  std::vector<std::deque<Cycle>> freed_;      // by tile: cycles in which places of granted packets are free again
  std::vector<std::unique_ptr<Port>> ports_;
  std::vector<unsigned> pin_level_;               // tiles with a port, as they were made
  std::vector<std::deque<Delivery>> deliveries_;  // by tile
  std::vector<std::deque<Header>> recent_;        // by tile
  std::vector<bool> is_touched_;
  std::vector<unsigned> touched_;
  std::vector<Arrival> arrivals_;
  using Entry = std::pair<Cycle, unsigned>;  // cycle, lane
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> heap_;
  unsigned waiting_packets_ = 0;
  std::uint64_t packets_ = 0;
};

}  // namespace tessera
