// What a chip sees of a tile, whether it is TLM, RTL or both in lockstep.
//
// A tile is a plain object: no SystemC process, no clock of its own. The chip lets it run from a release to its next
// stop (arrival at a wide sync, an exchange, a packet window, an exception, nothing left to run) and answers the stop.
// Between stops a tile touches only its own memory, so a pool of threads may run tiles in parallel.
//
// Two kinds, told apart by interval_based():
//  - interval based (TLM, lockstep): run() stops with `exchange` at the effective issue cycle X; the fabric reads the
//    send intervals, resolves the phase and calls finish_exchange(). Words are moved as blocks.
//  - pin level (RTL): the exchange engine is in the model; run() takes an ExchangePort and moves one word a cycle
//    through it, and never stops with `exchange`. The chip advances pin-level tiles together in steps of at most the
//    smallest fabric delay, after the intervals of the others are known.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "hw/event.h"
#include "hw/types.h"
#include "tlm/tile/retire.h"

namespace tessera {

/// A trap that left its context excepted, or an exchange fault (causes of docs/machine/isa.md).
struct TileException {
  Cycle cycle = 0;  ///< issue cycle of the faulting instruction; for exchange faults the cycle of the fault
  ContextId context = 0;
  std::uint32_t cause = 0;
  Address pc = 0;          ///< mepc
  std::uint32_t tval = 0;  ///< mtval
};

/// Why a tile stopped running. `cycle` is exact (an issue cycle or the cycle the sync line rises).
struct TileStop {
  enum class Kind : std::uint8_t {
    limit,      ///< all of the tile's activity before the limit is done
    exchange,   ///< interval based only: x.exchange took effect at `cycle` (X), table at `value`
    packet,     ///< x.packet took effect at `cycle`, table at `value`
    sync,       ///< arrived: line raised at `cycle` (r of timing.md), zone, vote = bit 0 and code = bits 31:8 of rs1
                ///< in `value`
    idle,       ///< no context can run: nothing was started, or the supervisor waits for nothing that can come
    exception,  ///< the supervisor is excepted or waits for an excepted worker, or nothing else can run
    halted,     ///< no context can run and at least one is halted by the debug port
    tohost,     ///< a store of a non-zero low word to the watched address; the value is in `value`
    mmio,       ///< TlmTile with peripherals: the supervisor's access at address `value`; TlmTile::mmio() has the rest
  };
  constexpr TileStop() = default;
  constexpr TileStop(Kind k, Cycle at, Zone z = Zone::local, std::uint32_t v = 0)
      : cycle(at), value(v), kind(k), zone(z) {}

  // In this order it is two registers, and a superstep is a stop or two of each tile.
  Cycle cycle = 0;
  std::uint32_t value = 0;
  Kind kind = Kind::idle;
  Zone zone = Zone::local;
  std::uint16_t unused = 0;  // no gap at the end: copied as two words
};

/// What a context is doing, for reports and debuggers.
struct ContextState {
  enum class Run : std::uint8_t { idle, running, waiting, halted, excepted };
  Run run = Run::idle;
  Address pc = 0;
  std::array<std::uint32_t, 32> x{};
  std::array<std::uint32_t, 32> f{};
  std::uint32_t fcsr = 0;
  std::uint32_t mcause = 0, mepc = 0, mtval = 0;
};

/// Result of an exchange phase for one interval-based tile.
struct ExchangeResult {
  /// L of docs/machine/exchange.md: last cycle with a word, or in which a list ended with a fault (X if none).
  Cycle last_word = 0;
  struct Fault {
    std::uint32_t cause = 0;  ///< 27 underrun, 28 overrun, 29 bad descriptor
    Cycle cycle = 0;
    Address descriptor = 0;
  };
  std::optional<Fault> fault;  ///< the one that traps
  /// A word was missing in this cycle, whichever fault traps: nothing was taken from there on.
  std::optional<Cycle> underrun{};
};

/// What exchange and packet descriptors are read against.
struct ExchangeBases {
  std::array<std::uint32_t, 3> base{};  ///< xbase1..3
  std::uint32_t source = 0;             ///< xsource
};

/// The fabric as a pin-level tile sees it. Cycles are non-decreasing from one call to the next.
class ExchangePort {
 public:
  virtual ~ExchangePort() = default;
  /// The tile drives `word` with valid set in cycle `c`.
  virtual void send(Cycle c, Word word) = 0;
  /// The word that stands on the tile's port in cycle `c` while it listens to tile `source`; nothing if invalid.
  virtual std::optional<Word> receive(Cycle c, unsigned source) = 0;
};

/// The packet lane as a pin-level tile sees it; header and payload words in order (docs/machine/packets.md).
class PacketPort {
 public:
  virtual ~PacketPort() = default;
  /// Offers a word in cycle `c`; true if the lane takes it in that cycle.
  virtual bool send(Cycle c, Word word, bool first, bool last) = 0;
  /// The word delivered to the tile in cycle `c`, if any; `last` marks the end of a packet.
  virtual std::optional<std::pair<Word, bool>> receive(Cycle c) = 0;
};

/// What stood on the packet lane of a tile since the release that opened its window, in time order.
struct PacketTraffic {
  struct Beat {
    Cycle cycle = 0;  ///< in which the lane took or delivered the word
    Word word = 0;
    bool first = false, last = false;  ///< of its packet
  };
  std::vector<Beat> sent, delivered;
};

/// Identity and reset-time settings of a tile: pins of the RTL, construction parameters of the TLM.
struct TileConfig {
  unsigned ipu = 0;
  unsigned tile = 0;
  unsigned tiles = 1;                   ///< xntiles
  std::uint32_t sram_bytes = 262144;    ///< multiple of 1024
  std::uint32_t hart_base = 0;          ///< mhartid = hart_base + context
  Address tohost = 0;                   ///< watched word, 0 is none
  bool group1 = false, group2 = false;  ///< membership in sync groups
};

/// What the debug port of a tile reads and writes (docs/machine/debug.md).
enum class DebugSpace : std::uint8_t {
  x,       ///< number 0..31
  f,       ///< number 0..31, workers
  csr,     ///< CSR number as the context sees it, without side effects; also xdcsr (0x7B0) and read-only ones
  pc,      ///< number 0
  amp,     ///< worker: 0..7 A, 8..15 B; supervisor: 0..63 the weights
  stream,  ///< worker: 0..2 addresses, 3..5 stride pairs
};

class TileModel {
 public:
  virtual ~TileModel() = default;

  [[nodiscard]] virtual TileMode mode() const = 0;
  [[nodiscard]] virtual bool interval_based() const = 0;

  /// Starts the supervisor: first issue at the first vacant cycle >= `at`.
  virtual void start(Address pc, Cycle at) = 0;
  /// Starts one context with everything else idle (`tessera elf`): supervisor at the first cycle >= `at`; worker in its
  /// slot, registers as after x.run with zero arguments.
  virtual void start_context(ContextId context, Address pc, Cycle at) = 0;
  /// Runs until a stop with cycle < `limit`, else until nothing of the tile is left before `limit`. Pin-level tiles
  /// take `port` and `packets`; interval-based tiles ignore both.
  virtual TileStop run(Cycle limit, ExchangePort* port, PacketPort* packets) = 0;

  /// Ends a wide sync: the supervisor's next issue is at exactly `z`; `vote` goes to rd. Internal and wider zones open
  /// an exchange phase, group and host zones a packet window too.
  virtual void release(Cycle z, bool vote) = 0;
  /// Interval based: the phase is resolved (received words are already in sram()); the supervisor goes on at
  /// max(X+12, L+4), or traps there if there was a fault.
  virtual void finish_exchange(const ExchangeResult& result) = 0;
  /// Interval based: all packets of the window are complete in `cycle`; the supervisor goes on 6 cycles later.
  virtual void finish_packets(Cycle cycle, std::uint32_t received_words) = 0;
  /// Interval based: a fault ends the window (docs/machine/packets.md): the supervisor traps in place of its next
  /// issue, 6 cycles later.
  virtual void fail_packets(Cycle cycle, std::uint32_t received_words, std::uint32_t cause, std::uint32_t tval) {
    (void)cycle, (void)received_words, (void)cause, (void)tval;
    throw std::logic_error("fail_packets of a tile that has no packet window");
  }
  /// Interval based, just before finish_packets() or fail_packets(): the words themselves, for a tile that checks them
  /// against pins.
  virtual void packet_traffic(const PacketTraffic& traffic) { (void)traffic; }
  /// Interval based: whether it does.
  [[nodiscard]] virtual bool wants_packet_traffic() const { return false; }
  /// Interval based, just before release(): a packet came while no window was open; the first such address. The
  /// supervisor traps (cause 30) in place of its issue at Z.
  virtual void stray_packet(Address address) {
    (void)address;
    throw std::logic_error("stray_packet of a tile that has no packet window");
  }

  /// SRAM, for the loader and host accesses while the tile may be accessed. A pin-level tile copies.
  virtual void write_memory(Address address, const std::uint8_t* bytes, std::size_t count) = 0;
  virtual void read_memory(Address address, std::uint8_t* bytes, std::size_t count) const = 0;
  /// Interval based: the SRAM itself (byte 0 is kSramBase), for the fabric; nullptr for pin-level tiles. After writing
  /// through it call memory_written().
  virtual std::uint8_t* sram() = 0;
  virtual void memory_written(Address address, std::size_t count) = 0;

  /// CSR of the supervisor as it stands.
  [[nodiscard]] virtual std::uint32_t supervisor_csr(unsigned number) const = 0;
  /// pc of the supervisor, as in context(0).
  [[nodiscard]] virtual Address supervisor_pc() const { return context(0).pc; }
  /// xbase1..3 and xsource at once, as every x.exchange and x.packet needs them.
  [[nodiscard]] virtual ExchangeBases exchange_bases() const {
    return {{supervisor_csr(0x7c3), supervisor_csr(0x7c4), supervisor_csr(0x7c5)}, supervisor_csr(0x7c6)};
  }
  [[nodiscard]] virtual ContextState context(ContextId context) const = 0;
  /// First exception of the tile by (cycle, context), if any context is excepted.
  [[nodiscard]] virtual std::optional<TileException> exception() const = 0;
  /// Instructions retired by all contexts.
  [[nodiscard]] virtual std::uint64_t retired() const = 0;
  /// Observes every retired instruction from now on; nullptr stops it. TLM then runs its exact interleave.
  virtual void observe(RetireObserver* observer) = 0;
  /// Emits run and exit events of the workers from now on (called from whatever thread runs the tile); nullptr stops.
  /// The other kinds are the chip's. Timing and results are the same with and without.
  virtual void observe_events(EventObserver* observer) { (void)observer; }

  // The debug port (docs/machine/debug.md). Commands name the cycle at which they act; it must not lie before what the
  // tile has already done. An attached debugger means exact interleave, so that this can be kept.

  /// Attaches or detaches a debugger. Nothing of timing or state changes.
  virtual void debug_attach(bool attached) { (void)attached, no_debug(); }
  /// Halts the contexts of the mask (bit = context): each stops before its first issue at a cycle >= `at`. A supervisor
  /// that waits (sync, exchange, packets, workers) halts when the wait ends. The request stands until a resume: an idle
  /// or excepted context of the mask halts before its first issue when it is started.
  virtual void debug_halt(std::uint8_t contexts, Cycle at) { (void)contexts, (void)at, no_debug(); }
  /// Lets halted contexts go on: next issue at the first cycle >= `at` that the slot rules allow. With xdcsr.step set a
  /// context halts again after one issue (a pair is one). Excepted contexts run again at their pc.
  virtual void debug_resume(std::uint8_t contexts, Cycle at) { (void)contexts, (void)at, no_debug(); }
  /// State of a context as it stands; any time.
  [[nodiscard]] virtual std::uint32_t debug_read(ContextId context, DebugSpace space, unsigned number) const {
    (void)context, (void)space, (void)number, no_debug();
  }
  /// Writes state of a halted, idle or excepted context (std::logic_error otherwise, and for AMP state). A write of the
  /// pc ends its loop.
  virtual void debug_write(ContextId context, DebugSpace space, unsigned number, std::uint32_t value) {
    (void)context, (void)space, (void)number, (void)value, no_debug();
  }

  /// Membership in sync groups, as the chip's registers say; only while no context runs.
  virtual void set_groups(bool group1, bool group2) { (void)group1, (void)group2; }

 private:
  [[noreturn]] static void no_debug() { throw std::logic_error("this tile model has no debug port"); }
};

}  // namespace tessera
