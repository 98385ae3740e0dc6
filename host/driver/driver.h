// The driver of the machine's cards: finds them on PCI Express, loads programs, starts them, serves host syncs, lends
// host buffers, reads exceptions and memory. Knows the machine only through a Transport; no simulator behind it is
// visible.
//
// All calls block in simulated time and may throw tessera::Error: device_exception for what the hardware refuses or
// when a device no longer answers (all ones), usage for a call that makes no sense, does_not_fit for host memory. A
// trap or fault of the running program is no C++ exception here: wait() returns it as an event.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/driver/card.h"
#include "host/driver/transport.h"
#include "hw/types.h"

namespace tessera::driver {

/// An IPU as enumeration found it.
struct IpuInfo {
  PciAddress function;
  unsigned card = 0;  ///< number of its card, in order of root ports
  unsigned tiles = 0;
  std::uint32_t sram_bytes = 0;   ///< per tile
  std::uint64_t registers = 0;    ///< bus address of BAR0, chip registers
  std::uint64_t tile_memory = 0;  ///< bus address of BAR2, tile t at t x sram_bytes
  struct Bar {
    unsigned number = 0;
    std::uint64_t address = 0, bytes = 0;  ///< bytes 0: set up by another driver, and not sized again
  };
  std::vector<Bar> bars;
};

/// One IPU-Link at an IPU, as its port's registers tell.
struct LinkInfo {
  enum class State : std::uint8_t { absent, down, training, up, failed };
  enum class Use : std::uint8_t { direct, crossed, rail, other };
  unsigned port = 0;
  State state = State::absent;
  unsigned lanes = 0;  ///< that are up
  unsigned peer_ipu = 0, peer_port = 0;
  Use use = Use::other;
  std::uint32_t outstanding = 0;  ///< packets that wait or are not acknowledged
  std::uint64_t packets_sent = 0, words_sent = 0, packets_received = 0, words_received = 0;  ///< words with headers
  std::uint32_t crc_errors = 0, sequence_errors = 0, replays = 0, timeouts = 0, trainings = 0;
  std::uint32_t busy_cycles = 0, stalled_cycles = 0;
};
[[nodiscard]] const char* to_string(LinkInfo::State state);
[[nodiscard]] const char* to_string(LinkInfo::Use use);
/// "link 0.3 to 2.1 (rail): up, 8 lanes; sent ...": what is not 0 of the counters.
[[nodiscard]] std::string link_text(unsigned ipu, const LinkInfo& link);

/// Who has claimed an IPU.
struct Claim {
  std::uint32_t tag = 0;  ///< number of the driver, in order of their coming
  std::string client;     ///< its name
  bool mine = false;      ///< the driver that was asked holds it
};

/// Words for one tile, or for every tile whose class is in the mask.
struct LoadRecord {
  static constexpr unsigned kAllTiles = 0xfff;
  unsigned tile = kAllTiles;
  std::uint16_t class_mask = 0xffff;  ///< bit c: tiles of class c; used with kAllTiles only
  Address address = 0;                ///< byte address in the tile, a multiple of 4
  std::vector<std::uint32_t> words;
};

/// Tiles that stand alike when a program has stopped.
struct Stand {
  std::vector<unsigned> tiles;
  std::string text;  ///< "tiles 0-3, 5: in x.sync internal"
  Address pc = 0;    ///< of their supervisors
};

/// First exception of an IPU by (cycle, tile, context), or a fault that the chip found.
struct ExceptionInfo {
  enum class Kind : std::uint8_t {
    trap,
    zones_differ,
    no_progress,
    host_access,     ///< value: low word of the remote address
    link_failed,     ///< value: IPU x 256 + port
    no_destination,  ///< a packet that nobody takes; value: low word of the remote address
    card,            ///< the card's controller
    pcie,            ///< PCI Express failed a packet; value: error number as in dma_status
  };
  Kind kind = Kind::trap;
  unsigned ipu = 0, tile = 0, context = 0;
  std::uint32_t cause = 0;  ///< of a trap
  Address pc = 0;
  std::uint32_t value = 0;  ///< mtval
  Cycle cycle = 0;
  Address supervisor_pc = 0;  ///< of the tile: tells which step a worker was working for
  std::vector<Stand> stands;  ///< chip faults: all active tiles, in order of their first ones
  /// Chip faults: where the tiles stand, one line for each group of tiles that stand alike. Traps: what the cause
  /// means.
  std::string detail;
  std::string reason;  ///< of the kinds card and pcie, if known: what the controller says, what PCI Express has logged
};

/// What ended a wait.
struct Event {
  enum class Kind : std::uint8_t {
    host_sync,  ///< a step waits to be served: code; answer with acknowledge()
    exception,  ///< the IPU has stopped: exception
    stopped,    ///< no tile can go on and none waits
    timeout,    ///< the limit passed
  };
  Kind kind = Kind::timeout;
  unsigned ipu = 0;
  std::uint32_t code = 0;  ///< step code of the root tile, 24 bits
  bool vote = true;        ///< AND of the tiles' votes
  ExceptionInfo exception;
};

struct Counters {
  Cycle cycles = 0;  ///< cycle counter of the chip
  std::uint64_t instructions = 0;
  std::uint32_t host_syncs = 0;
  std::uint32_t refused_accesses = 0;
  std::uint64_t words_sent = 0, words_received = 0, words_unheard = 0;  ///< exchange
  std::uint64_t packets = 0;
  std::uint64_t link_packets = 0, link_words = 0;  ///< sent over IPU-Links, forwarded ones too; words with headers

  /// Sums over IPUs; cycles, which all count alike, is the largest.
  Counters& operator+=(const Counters& other);
  /// What has happened since `earlier`, counters of the same IPU.
  [[nodiscard]] Counters since(const Counters& earlier) const;
};

class Driver {
 public:
  /// Enumerates the hierarchy: assigns bus numbers, bridge windows and BARs, turns on memory space and bus mastering;
  /// what another driver has set up already is taken as it is. `client`: shown to drivers that want the same IPU, at
  /// most 16 characters. Throws Error(device_exception) if there is no IPU or one does not answer.
  explicit Driver(Transport& transport, std::string client = "tessera");
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  /// Controllers of the cards, in order of root ports; all were ready when the driver was made.
  [[nodiscard]] unsigned cards() const;
  [[nodiscard]] CardController& card(unsigned card);

  [[nodiscard]] unsigned ipus() const;
  [[nodiscard]] const IpuInfo& info(unsigned ipu) const;

  /// An IPU belongs to one driver at a time: claim() takes it, release() resets it and gives it back. Whatever changes
  /// an IPU claims it first if nobody has; all may look. Throws Error(usage) that says who holds it. Claims outlive the
  /// driver that made them, as they do when a process dies: recover() takes them over.
  void claim(unsigned ipu);
  void release(unsigned ipu);
  [[nodiscard]] bool claimed(unsigned ipu) const;  ///< by this driver
  [[nodiscard]] std::optional<Claim> holder(unsigned ipu);

  /// Brings an IPU back whatever it was doing and whoever had it: configuration as it was, reset, claimed by this
  /// driver. If neither the IPU nor its card's controller can be brought to that, the whole card is reset from the
  /// bridge above: all its IPUs are as after power-on then, but keep their owners, and links to other cards are trained
  /// again. Throws Error(device_exception) that says why it cannot: no answer on PCI Express, registers that read all
  /// ones, a reset that is not taken, a controller that is dead after a reset too.
  void recover(unsigned ipu);

  /// Stops the IPU and resets its tiles: contexts idle, SRAM zero, no buffers, all tiles active, class 0.
  void reset(unsigned ipu);
  /// Tiles that take part, and their classes (0..15) for the loader; before start().
  void set_active(unsigned ipu, const std::vector<bool>& active);
  void set_classes(unsigned ipu, const std::vector<std::uint8_t>& classes);
  /// Membership in sync groups, before start() of any IPU of the group. IPUs of a group meet with those of the same
  /// number (0..255) in it: pipelines chain neighbours by sets of two. A host sync is of the IPU's set of group 1,
  /// served at its lowest IPU.
  void set_groups(unsigned ipu, bool group1, bool group2, unsigned set1 = 0, unsigned set2 = 0);

  /// Loads the records with the chip's loader, which reads them from host memory; returns when they are in the tiles.
  void load(unsigned ipu, const std::vector<LoadRecord>& records) { load(std::vector<unsigned>{ipu}, records); }
  /// The same records into several IPUs: one image in host memory, their loaders at work side by side.
  void load(const std::vector<unsigned>& ipus, const std::vector<LoadRecord>& records);

  /// Lends the IPU a buffer of host memory under `index` (0..255) of its address table. `read`, `write`: what tiles may
  /// do. The memory is zero, belongs to the driver and stays in place until reset() or the end of the driver.
  std::uint8_t* attach_buffer(unsigned ipu, unsigned index, std::size_t bytes, bool read, bool write);
  [[nodiscard]] std::uint8_t* buffer(unsigned ipu, unsigned index);
  [[nodiscard]] std::size_t buffer_bytes(unsigned ipu, unsigned index) const;

  /// Starts the supervisors of all active tiles at `pc`.
  void start(unsigned ipu, Address pc) { start(std::vector<Boot>{{ipu, pc}}); }
  struct Boot {
    unsigned ipu = 0;
    Address pc = 0;
  };
  /// Starts several IPUs in one cycle, far enough ahead for the last of them to hear of it.
  void start(const std::vector<Boot>& boots);
  /// Lets the machine run until something is to be served on any IPU, or `limit_ns` of simulated time have passed.
  /// Throws what the transport throws when the machine can make no progress.
  Event wait(std::uint64_t limit_ns = ~std::uint64_t{0});
  /// Releases the host sync that waits on `ipu` after `service_ns` of simulated host time.
  void acknowledge(unsigned ipu, bool vote = true, std::uint64_t service_ns = 0);

  /// Throws Error(device_exception) if PCI Express has dropped data on their way to host memory, which no register of
  /// the IPU knows of. For the end of a run.
  void check_writes(unsigned ipu);

  /// Memory of one tile; only while the IPU is not running or waits in a host sync, else Error(device_exception). Whole
  /// words, through BAR2, or by the DMA engine if they are many and the IPU is claimed by this driver.
  void write_tile(unsigned ipu, unsigned tile, Address address, const std::uint32_t* words, std::size_t count);
  void read_tile(unsigned ipu, unsigned tile, Address address, std::uint32_t* words, std::size_t count);

  /// Ports that have a link, in order.
  [[nodiscard]] std::vector<LinkInfo> links(unsigned ipu);
  /// "running", "in a host sync", "excepted" or "not running".
  [[nodiscard]] std::string state(unsigned ipu);
  [[nodiscard]] std::optional<ExceptionInfo> exception(unsigned ipu);
  [[nodiscard]] Counters counters(unsigned ipu);
  [[nodiscard]] std::uint32_t read_register(unsigned ipu, std::uint32_t offset);
  void write_register(unsigned ipu, std::uint32_t offset, std::uint32_t value);

 private:
  class Impl;
  /// What a reset leaves to the driver: all tiles active, class 0, no groups.
  void set_up(unsigned ipu);
  std::unique_ptr<Impl> impl_;
};

/// "illegal instruction", "exchange underrun", ...: what a trap cause means.
[[nodiscard]] std::string cause_name(std::uint32_t cause);

}  // namespace tessera::driver
