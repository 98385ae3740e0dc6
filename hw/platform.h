// Platform files: the sizes and latencies of a machine that an architect may change. Nothing here simulates.
//
// A platform is a JSON file (schema: docs/schema/platform.json). Every key must be present and known, so that a value
// given is a value used. Units: cycles of the tile clock unless the name says otherwise.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hw/types.h"

namespace tessera {

struct Platform {
  std::string name;
  std::string description;

  // Sizes.
  unsigned cards = 1;
  unsigned ipus_per_card = 1;
  unsigned tiles = 16;                ///< per IPU, 1..4095
  unsigned tiles_per_column = 4;      ///< columns count from the spine outwards in pairs: see column_distance()
  std::uint32_t sram_bytes = 262144;  ///< per tile, 64 KiB..768 KiB in steps of 1 KiB
  unsigned workers = 6;
  std::uint64_t clock_hz = 1600000000;

  /// Exchange inside an IPU: a word sent at t by s stands at d at t + base + send(s) + receive(d).
  struct Exchange {
    unsigned base = 20;               ///< B
    unsigned send_per_column = 2;     ///< S = this x columns from the spine
    unsigned receive_per_column = 2;  ///< R = this x columns from the spine
    friend bool operator==(const Exchange& a, const Exchange& b) {
      return a.base == b.base && a.send_per_column == b.send_per_column && a.receive_per_column == b.receive_per_column;
    }
  } exchange;

  /// From the last arrival to the release Z.
  struct Sync {
    unsigned internal = 64;    ///< zone internal
    unsigned group_base = 64;  ///< groups 1 and 2: group_base + 2 x group_hop x hops to the farthest IPU of the group
    unsigned group_hop = 24;   ///< one hop, one way
    unsigned host = 64;        ///< zone host: added after the host's acknowledge has reached the chip
    friend bool operator==(const Sync& a, const Sync& b) {
      return a.internal == b.internal && a.group_base == b.group_base && a.group_hop == b.group_hop && a.host == b.host;
    }
  } sync;

  /// Packets on the chip: lanes from the columns to links and host blocks.
  struct Packet {
    unsigned lanes_per_column = 2;
    unsigned lane_words_per_cycle = 1;
    unsigned lane_latency = 20;   ///< lane end to end, after the last word of the packet (store and forward)
    unsigned buffer_packets = 4;  ///< packet buffers of 1 KiB a stage
    friend bool operator==(const Packet& a, const Packet& b) {
      return a.lanes_per_column == b.lanes_per_column && a.lane_words_per_cycle == b.lane_words_per_cycle &&
             a.lane_latency == b.lane_latency && a.buffer_packets == b.buffer_packets;
    }
  } packet;

  /// IPU-Links; bandwidth of one link and direction before the efficiency.
  struct Link {
    unsigned sibling_direct = 4;
    unsigned sibling_crossed = 2;
    unsigned rail_up = 2;
    unsigned rail_down = 2;
    unsigned lanes = 8;                            ///< serial lanes of a link, each a part of its rate
    std::uint64_t bits_per_second = 137438953472;  ///< 128 Gibit/s: all lanes of one link, one way
    unsigned efficiency_permille = 850;            ///< what line coding and framing leave
    unsigned frame_bytes = 8;        ///< sequence number and CRC of a packet, beside its header and payload
    unsigned latency = 24;           ///< propagation, one way
    unsigned credits = 8;            ///< packet buffers of 1 KiB at the receiver
    unsigned replay_packets = 16;    ///< packets that a sender keeps until they are acknowledged
    unsigned replay_timeout = 4096;  ///< without an acknowledge, everything kept is sent again
    unsigned max_replays = 4;        ///< of the same packet, then the link retrains
    unsigned training = 20000;       ///< from down to up
    unsigned max_trainings = 3;      ///< without success in a row, then the link is given up
  } link;

  /// Which IPUs are joined by how many links, and by which way packets go (hw/topology.h).
  struct Topology {
    struct Bundle {
      unsigned a = 0, b = 0, links = 1;
    };
    /// Packets at `from` for `to` go to the neighbour `via`.
    struct Route {
      unsigned from = 0, to = 0, via = 0;
    };
    bool ladder = true;           ///< rungs between siblings, rails between equal sides of neighbouring cards
    std::vector<Bundle> bundles;  ///< no ladder: each pair once
    std::vector<Route> routes;    ///< exceptions to the shortest way
  } topology;

  /// Faults to be injected, one text each (hw/injection.h). Not part of the hash: the machine is the same.
  std::vector<std::string> faults;

  struct Pcie {
    unsigned card_bytes_per_cycle = 20;  ///< upstream port of the card's switch, each way
    unsigned latency_ns = 500;           ///< root port to endpoint, one way
    unsigned completion_timeout_us = 50000;
    unsigned max_payload_bytes = 256;       ///< of one packet of the link, writes and completions
    unsigned max_read_request_bytes = 512;  ///< asked for by one request
    unsigned outstanding = 128;  ///< of an endpoint: read requests without completion, and packets of writes on the way
  } pcie;

  /// The controller of a card, and what it looks after (docs/machine/card.md).
  struct Card {
    std::uint64_t controller_hz = 200000000;
    unsigned ram_bytes = 65536;       ///< of the controller
    unsigned bus_cycles = 6;          ///< controller cycles of an access to a peripheral
    unsigned pll_lock_us = 100;       ///< a PLL locks that long after it was started
    unsigned pll_timeout_us = 400;    ///< how long the firmware waits for that
    unsigned link_timeout_us = 200;   ///< how long the firmware waits for a link to train
    unsigned retries = 3;             ///< further tries for a PLL or a link
    unsigned watchdog_us = 2000;      ///< period in which awake firmware must show up
    unsigned ambient_mc = 35000;      ///< air, millidegrees Celsius
    unsigned idle_mw = 30000;         ///< power of an IPU that does nothing, milliwatt
    unsigned busy_mw = 120000;        ///< of one whose tiles run
    unsigned thermal_mc_per_w = 400;  ///< millidegrees above the air for each watt, in the end
    unsigned thermal_ms = 5000;       ///< time constant of an IPU with its cooler
    unsigned alarm_mc = 95000;        ///< temperature alarm after power-on, millidegrees Celsius; 0 is none
  } card;

  /// Simulated time that host software takes; never wall time.
  struct Host {
    unsigned service_ns = 2000;          ///< from interrupt to acknowledge of a host sync
    unsigned service_prefetch_ns = 300;  ///< the same when the step was prepared ahead
    friend bool operator==(const Host& a, const Host& b) {
      return a.service_ns == b.service_ns && a.service_prefetch_ns == b.service_prefetch_ns;
    }
  } host;

  /// AMP weight sets of a tile.
  unsigned amp_sets = 1;

  [[nodiscard]] unsigned ipus() const { return cards * ipus_per_card; }
  [[nodiscard]] unsigned columns() const { return (tiles + tiles_per_column - 1) / tiles_per_column; }
  /// Column of a tile, 0..columns()-1. Tiles fill one column after another; the last may be short.
  [[nodiscard]] unsigned column(unsigned tile) const { return tile / tiles_per_column; }
  /// Columns between a tile's column and the spine, which runs down the middle: 0 next to it, on either side.
  [[nodiscard]] unsigned column_distance(unsigned tile) const;
  /// S(tile) and R(tile), cycles.
  [[nodiscard]] unsigned send_delay(unsigned tile) const { return exchange.send_per_column * column_distance(tile); }
  [[nodiscard]] unsigned receive_delay(unsigned tile) const {
    return exchange.receive_per_column * column_distance(tile);
  }
  /// Delay of a word from s to d: B + S(s) + R(d).
  [[nodiscard]] unsigned exchange_delay(unsigned s, unsigned d) const {
    return exchange.base + send_delay(s) + receive_delay(d);
  }
  /// Smallest delay of any pair of tiles.
  [[nodiscard]] unsigned min_exchange_delay() const;
  /// Longest delay of any pair of tiles.
  [[nodiscard]] unsigned max_exchange_delay() const;
  [[nodiscard]] Address sram_end() const;
  /// Nanoseconds of simulated time in cycles, rounded up.
  [[nodiscard]] Cycle cycles_of_ns(std::uint64_t ns) const;
  [[nodiscard]] double seconds(Cycle cycles) const {
    return static_cast<double>(cycles) / static_cast<double>(clock_hz);
  }

  /// Canonical JSON: every key, fixed order, two spaces. load_platform_text(to_json()) is the same platform.
  [[nodiscard]] std::string to_json() const;
  /// FNV-1a of the canonical JSON without name and description: equal for equal machines, on every host.
  [[nodiscard]] std::uint64_t hash() const;
  friend bool operator==(const Platform& a, const Platform& b) { return a.to_json() == b.to_json(); }
};

/// JSON schema of platform files; docs/schema/platform.json holds the same text.
[[nodiscard]] std::string platform_schema();

/// Names of the built-in platforms, in alphabetical order.
[[nodiscard]] std::vector<std::string> platform_names();

/// A built-in platform by name, or the file at that path (anything with a '/' or ending in .json is a path).
/// Throws Error(usage) that names file and JSON path.
[[nodiscard]] Platform load_platform(const std::string& name_or_path);

/// A platform from JSON text; `where` stands for the file in messages.
[[nodiscard]] Platform load_platform_text(const std::string& text, const std::string& where);

}  // namespace tessera
