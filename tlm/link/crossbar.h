// What lies between the lanes' ends, the host blocks, the links and the lanes down of one IPU
// (docs/machine/packets.md).
//
// Inputs are the buffers at the ends of the lanes up and the receive buffers of the links; outputs are the transmit
// queues of the links and the queues before the lanes down. A move takes no time; an input gives and an output takes at
// most one packet a cycle; an output takes its inputs round robin, lanes by number and then links. Packets for the host
// are served in the cycle in which they come to the end of their lane. Plain C++: the chip calls run() at the time
// itself, so links and hosts are spoken to in their own time.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "hw/topology.h"
#include "tlm/link/lanes.h"

namespace tessera {

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

/// One end of a link as the crossbar sees it; rules of LinkPort (tlm/link/link_port.h).
class CrossbarLink {
 public:
  virtual ~CrossbarLink() = default;
  [[nodiscard]] virtual bool room() const = 0;
  /// A packet waits for room.
  virtual void blocked() {}
  virtual void send(Packet packet) = 0;
  /// The oldest packet that was announced, and when it is whole; nullptr if there is none.
  [[nodiscard]] virtual const Packet* front(Cycle& whole) const = 0;
  virtual Packet pop() = 0;
};

/// A packet that goes nowhere.
struct PacketRefusal {
  enum class Why : std::uint8_t { host_access, own_ipu, registers, no_way, no_tile, inactive_tile };
  Cycle cycle = 0;
  Why why = Why::host_access;
  Packet packet;  ///< header only
  [[nodiscard]] std::string text() const;
};

/// For reports: "IPU 0 tile 3 to IPU 1 tile 2 (offset 0x100, 16 words from 0x46000)".
[[nodiscard]] std::string way_of(const Packet& packet);

class Crossbar {
 public:
  /// `topology` may be nullptr: no links. `lanes` is told of deliveries and free places.
  Crossbar(unsigned ipu, PacketLanes& lanes, const Topology* topology);

  PacketHost* host = nullptr;
  std::vector<CrossbarLink*> links;  ///< by port
  /// Whether a tile of this IPU takes packets.
  std::function<bool(unsigned)> active;
  std::function<void(const PacketRefusal&)> refuse;

  /// Takes what has come to the ends of the lanes; its cycles lie behind everything that was run.
  void collect();
  /// A packet was announced at a link, a place became free in its transmit queue in `now`.
  void announced(unsigned port, Cycle now);
  void room_made(unsigned port, Cycle now);

  /// Next cycle in which something happens by itself.
  [[nodiscard]] Cycle next_event() const { return heap_.empty() ? kNever : heap_.top().cycle; }
  /// Does everything that happens up to and with cycle `until`.
  void run(Cycle until);
  /// Whether lanes were told of something since the last call.
  [[nodiscard]] bool take_changed() { return std::exchange(changed_, false); }

  /// Packets of the own tiles that are not yet in a link, at the host, or, as answers, at their tile's port.
  [[nodiscard]] unsigned own() const { return own_; }
  /// Cycle in which the last of these was there: at the host block, in a transmit queue; an answer's last word.
  [[nodiscard]] Cycle last_served() const { return last_served_; }
  /// Headers of packets that wait for a place in a link's transmit queue.
  [[nodiscard]] std::vector<Packet> waiting_for(unsigned port) const;
  /// The IPU's program is no more: packets of its tiles and those before its lanes down are dropped, what it forwards
  /// stays. Every arbiter begins anew. next_event() may be in the past: run() at once.
  void reset();
  /// A link's end has forgotten what had come: nothing of it waits for a way any more.
  void link_reset(unsigned port);

  struct Counters {
    std::uint64_t to_links = 0, forwarded = 0, from_links = 0;
  };
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  enum class Step : std::uint8_t { host, answer, input, output };
  struct Event {
    Cycle cycle = 0;
    Step step = Step::host;
    std::uint64_t index = 0;
    friend bool operator>(const Event& a, const Event& b) {
      return std::tie(a.cycle, a.step, a.index) > std::tie(b.cycle, b.step, b.index);
    }
  };
  struct Queued {
    Cycle whole = 0;
    Packet packet;
  };
  struct Input {
    std::deque<Queued> packets;  // lanes' ends; a link keeps its own
    Cycle free = 0;              // may give the next packet
    bool waits = false;          // scheduled, or among the contenders of an output
  };
  struct Output {
    std::vector<unsigned> contenders;  // inputs, ascending
    unsigned last = 0;                 // input taken last
    bool any = false;
    Cycle free = 0;        // may take the next packet
    Cycle tried = kNever;  // of the next try
    // Lanes down only.
    Cycle lane_free = 0;
    std::deque<Cycle> places;  // cycles in which packets of links leave their places, ascending
  };

  [[nodiscard]] const Packet* head(unsigned input, Cycle& whole) const;
  [[nodiscard]] bool is_link(unsigned input) const { return input >= lane_count_; }
  Packet take(unsigned input, Cycle now);
  void schedule_input(unsigned input);
  void schedule_output(unsigned output, Cycle cycle);
  void serve_host(unsigned lane, Cycle now);
  void present(unsigned input, Cycle now);
  void serve_output(unsigned output, Cycle now);
  [[nodiscard]] std::optional<unsigned> output_of(const Packet& packet, bool from_lane, PacketRefusal::Why& why) const;
  /// Puts a packet before the lane down of a tile; gives the cycle of its last word at the tile's port.
  Cycle enter(unsigned tile, Cycle now, Packet packet, bool of_link);
  void served(Cycle cycle);

  unsigned ipu_;
  PacketLanes& lanes_;
  const Topology* topology_;
  unsigned lane_count_, ports_;
  std::vector<Input> inputs_;    // lanes, then links
  std::vector<Output> outputs_;  // links, then lanes
  std::vector<std::deque<Queued>> host_;
  std::map<std::uint64_t, Packet> answers_;
  std::uint64_t next_answer_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> heap_;
  bool changed_ = false;
  unsigned own_ = 0;
  Cycle last_served_ = 0;
  unsigned resets_ = 0;
  Counters counters_;
};

}  // namespace tessera
