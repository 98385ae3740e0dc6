// The packet lanes of one IPU and its host blocks: two lanes a column, one word a cycle each way, store and forward.
//
// Up: a packet waits whole in its tile's port buffer; the lane takes waiting packets round robin by tile number from
// the last one taken, and after its last word it is at the host block `latency` cycles later. The port buffer holds a
// few packets; a place is free again when its packet has come to the end of the lane. Down: answers wait in order of
// arrival and reach the tile's port `latency` cycles after the lane begins to take them. What the host does with a
// packet is PacketHost's; packets to other IPUs need links and are not here. Times are exact whatever the order of
// calls, as long as advance() is told only cycles up to which every tile has been run.
#pragma once

#include <deque>
#include <memory>
#include <optional>
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
  unsigned buffers = 4;  ///< packets in a tile's port buffer
};

/// The chip's host block: moves words to and from host buffers.
class PacketHost {
 public:
  virtual ~PacketHost() = default;
  /// Serves a request that arrives in cycle `at`: fills the words and gives the cycle in which they are back at the
  /// block; nothing if the access is refused (no such buffer, not allowed, out of bounds, no answer).
  virtual std::optional<Cycle> read(Cycle at, const Packet& request, std::vector<Word>& words) = 0;
  /// Takes a write that arrives in cycle `at`; false if it is refused.
  virtual bool write(Cycle at, const Packet& packet) = 0;
};

class PacketLanes {
 public:
  PacketLanes(const LaneTiming& timing, PacketHost* host);
  ~PacketLanes();

  /// Smallest number of cycles in which what a tile does can come back to a tile.
  [[nodiscard]] Cycle lookahead() const { return timing_.latency; }

  // Pin-level tiles.
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
  /// Next packet for an interval-based tile, in order.
  std::optional<Delivery> take_delivery(unsigned tile);

  /// Does everything that happens before `limit`.
  void advance(Cycle limit);
  /// Cycle of the next thing that happens by itself; kNever if nothing is under way.
  [[nodiscard]] Cycle next_event() const;
  /// Latest cycle in which a packet arrived at a host block.
  [[nodiscard]] Cycle last_arrival() const { return last_arrival_; }
  /// All words and times of a new run.
  void reset();

  [[nodiscard]] std::uint64_t packets() const { return packets_; }
  /// A packet that the host block refused: nothing after it is promised.
  struct Refusal {
    Cycle cycle = 0;
    Packet packet;
  };
  [[nodiscard]] const std::optional<Refusal>& refused() const { return refused_; }

 private:
  class Port;
  struct Waiting {
    Cycle available = 0;  // first cycle in which the lane can begin with it
    Packet packet;
  };
  struct Lane {
    Cycle up_free = 0, down_free = 0;
    unsigned last_tile = 0;  // granted last
    bool granted = false;
  };
  struct Arrival {
    Cycle cycle = 0;
    unsigned lane = 0;
    Packet packet;
  };

  [[nodiscard]] unsigned lane_of(unsigned tile) const;
  [[nodiscard]] Cycle next_grant(unsigned lane, unsigned& tile) const;
  void grant(unsigned lane, unsigned tile, Cycle cycle);
  void arrive(const Arrival& arrival);
  void answer(const Arrival& answer);

  LaneTiming timing_;
  PacketHost* host_;
  std::vector<Lane> lanes_;
  std::vector<std::vector<unsigned>> lane_tiles_;
  std::vector<std::deque<Waiting>> waiting_;  // by tile
  std::vector<std::deque<Cycle>> freed_;      // by tile: cycles in which places of granted packets are free again
  std::vector<std::unique_ptr<Port>> ports_;
  std::deque<Arrival> arrivals_, answers_;        // by (cycle, lane)
  std::vector<std::deque<Delivery>> deliveries_;  // by tile
  Cycle last_arrival_ = 0;
  std::uint64_t packets_ = 0;
  std::optional<Refusal> refused_;
};

}  // namespace tessera
