// The TLM tile: pre-decoded code, contexts run to their next event, exact cycles by the slot rules
// (docs/machine/timing.md).
//
// Fast mode runs a context as threaded code until it exits, traps or reaches an instruction that concerns the tile; a
// worker is run when the supervisor next needs its slot or its state. Exact mode issues one instruction (or pair) of
// one context at a time in cycle order from the same operation table and emits a record for each; it is used while the
// tile is observed, and while several contexts run under a `tohost` watch. Both give the same cycles and states for
// programs without races.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tlm/float/amp_fast.h"
#include "tlm/tile/code_cache.h"
#include "tlm/tile/context.h"
#include "tlm/tile/race_checker.h"
#include "tlm/tile/sram.h"
#include "tlm/tile/tile_model.h"

namespace tessera {

class TlmTile final : public TileModel {
 public:
  /// `code` is shared by the tiles of a chip; without one the tile has its own.
  explicit TlmTile(const TileConfig& config, std::shared_ptr<CodeCache> code = nullptr);

  [[nodiscard]] TileMode mode() const override { return TileMode::tlm; }
  [[nodiscard]] bool interval_based() const override { return true; }
  void start(Address pc, Cycle at) override;
  void start_context(ContextId context, Address pc, Cycle at) override;
  TileStop run(Cycle limit, ExchangePort* port, PacketPort* packets) override;
  void release(Cycle z, bool vote) override;
  void finish_exchange(const ExchangeResult& result) override;
  void finish_packets(Cycle cycle, std::uint32_t received_words) override;
  void write_memory(Address address, const std::uint8_t* bytes, std::size_t count) override;
  void read_memory(Address address, std::uint8_t* bytes, std::size_t count) const override;
  std::uint8_t* sram() override { return sram_.data(); }
  void memory_written(Address address, std::size_t count) override;
  [[nodiscard]] std::uint32_t supervisor_csr(unsigned number) const override;
  [[nodiscard]] Address supervisor_pc() const override { return contexts_[0].pc; }
  [[nodiscard]] ExchangeBases exchange_bases() const override { return {xbase_, xsource_}; }
  [[nodiscard]] ContextState context(ContextId context) const override;
  [[nodiscard]] std::optional<TileException> exception() const override;
  [[nodiscard]] std::uint64_t retired() const override;
  void observe(RetireObserver* observer) override { observer_ = observer; }
  void observe_events(EventObserver* observer) override { events_ = observer; }
  void set_groups(bool group1, bool group2) override;
  void debug_attach(bool attached) override;
  void debug_halt(std::uint8_t contexts, Cycle at) override;
  void debug_resume(std::uint8_t contexts, Cycle at) override;
  [[nodiscard]] std::uint32_t debug_read(ContextId context, DebugSpace space, unsigned number) const override;
  void debug_write(ContextId context, DebugSpace space, unsigned number, std::uint32_t value) override;

  /// Exact interleave in small steps, for a lockstep tile: issues at most one instruction or pair, in cycle order,
  /// whose records go to the observer. Returns a stop as run() would; nothing if there is more to do.
  std::optional<TileStop> step(Cycle limit);
  /// Always interleaves exactly (the cross-check of the fast mode), even when nobody observes.
  void force_exact(bool exact) { force_exact_ = exact; }
  /// Ends the packet window with a trap in place of the supervisor's next issue (docs/machine/packets.md).
  void fail_packets(Cycle cycle, std::uint32_t received_words, std::uint32_t cause, std::uint32_t tval) override;
  /// A packet arrived while no window was open: cause 30 in place of the supervisor's next issue.
  void stray_packet(Address address) override;
  /// Looks for races from now on, in exact interleave, until the first is found: it is told once, by the thread that
  /// runs the tile. Nothing of timing or state changes.
  void watch_races(std::function<void(const TileRace&)> found);
  /// Gives the supervisor peripherals at these addresses, outside the SRAM (the controller of a card; a tile has none):
  /// an access to them is a stop with `mmio`.
  void attach_peripherals(Address base, std::uint32_t bytes) {
    mmio_base_ = base;
    mmio_bytes_ = bytes;
  }
  /// The access that a stop with `mmio` tells of.
  struct MmioAccess {
    Address address = 0;
    unsigned bytes = 4;
    bool write = false;
    std::uint32_t value = 0;  ///< of a write
  };
  [[nodiscard]] const MmioAccess& mmio() const { return mmio_; }
  /// The access is done: `value` is what a load reads; the next issue is at the first cycle >= `next`.
  void finish_mmio(std::uint32_t value, Cycle next);
  /// Nobody answered: an access fault in the cycle of the access.
  void fail_mmio();
  /// Issue cycle of the last instruction executed.
  [[nodiscard]] Cycle last_issue() const { return last_issue_; }
  [[nodiscard]] const TileConfig& config() const { return config_; }

 private:
  using Run = ContextState::Run;

  /// What the supervisor is doing, beyond its Run state.
  enum class Mode : std::uint8_t {
    issue,          ///< its next instruction
    implicit_wait,  ///< an instruction that waits for workers, or that takes effect next
    local_sync,     ///< x.sync local, or wider before the line is raised: waits for the workers
    wide_sync,      ///< line raised: waits for release()
    exchange,       ///< waits for finish_exchange()
    packet,         ///< waits for finish_packets()
    mmio,           ///< waits for finish_mmio() or fail_mmio()
    stopped,        ///< idle, halted or excepted
  };
  enum class Outcome : std::uint8_t { done, trap, deferred };

  /// The instruction that the supervisor waits in, as it was fetched at `cycle` (or takes effect, once it does).
  struct Waiting {
    Cycle cycle = 0;
    Address pc = 0, next_pc = 0;
    std::array<std::uint32_t, 3> operands{};
    Decoded op;
  };

  /// One instruction under way: its record, and where the context goes on.
  struct Step {
    RetireRecord record;
    Address next_pc = 0;
    std::uint32_t cause = 0, tval = 0;
    Outcome raise(std::uint32_t trap_cause, std::uint32_t trap_value) {
      cause = trap_cause;
      tval = trap_value;
      return Outcome::trap;
    }
  };

  // Event loop (tlm_tile.cpp).
  /// One event; true if the tile stops, as `stop` says.
  bool advance(Cycle limit, bool exact, TileStop& stop);
  [[nodiscard]] bool exact() const;
  [[nodiscard]] TileStop settled();
  void stand(const TileStop& stop);
  [[nodiscard]] TileContext* first_worker();
  /// Finds out which workers are idle by now.
  void settle_workers();
  [[nodiscard]] Cycle first_vacant(Cycle from) const;
  [[nodiscard]] Cycle supervisor_candidate() const;
  void resolve_sync();
  /// Runs a context until its next issue is not before `limit`, or until an event; may stop once it is not before
  /// `enough`, which need not be exact and so costs less.
  void run_context(TileContext& c, Cycle limit, Cycle enough);
  void catch_up(Cycle t);
  void emit(MachineEvent::Kind kind, Cycle cycle, ContextId context, Address pc, std::uint32_t a0);
  void flush_events();

  // One issue (tlm_execute.cpp, tlm_float.cpp).
  void issue(TileContext& c, Cycle t);
  const Decoded* fetch(TileContext& c, Cycle t);
  /// `next` is where the context goes on if the instruction does not say otherwise.
  Outcome retire(TileContext& c, const Decoded& in, Address pc, Address next, Cycle t, bool paired);
  [[nodiscard]] bool observed() const { return observer_ != nullptr || races_ != nullptr; }
  /// Tells a record to those who look.
  void tell(const RetireRecord& record);
  void trap(TileContext& c, Cycle t, Address pc, std::uint32_t word, std::uint32_t cause, std::uint32_t tval,
            bool paired = false);
  Outcome execute(TileContext& c, const Decoded& in, Cycle t, Step& step);
  Outcome execute_memory(TileContext& c, const Decoded& in, Step& step);
  Outcome execute_system(TileContext& c, const Decoded& in, Cycle t, Step& step);
  Outcome execute_float(TileContext& c, const Decoded& in, Step& step);
  Outcome repeat(TileContext& c, const Decoded& in, Step& step);
  /// The end of the body is reached: counts, and returns the next pc.
  static Address turn_loop(TileContext& c);
  Outcome load(TileContext& c, Address address, unsigned bytes, Step& step, std::uint32_t& value);
  Outcome store(TileContext& c, Address address, unsigned bytes, std::uint64_t value, Step& step);
  void stored(Address address, unsigned bytes, Cycle t);
  /// An access that is not to the SRAM: the peripherals' if there are some, else a trap.
  Outcome outside(const TileContext& c, Address address, unsigned bytes, bool write, std::uint64_t value, Step& step);
  void write_x(TileContext& c, unsigned rd, std::uint32_t value, Step& step);

  // Wide and streaming accesses (tlm_stream.cpp).
  Outcome execute_wide(TileContext& c, const Decoded& in, Step& step);
  Outcome execute_streams(TileContext& c, const Decoded& in, Step& step);
  Outcome set_stream(TileContext& c, const Decoded& in, Step& step);
  [[nodiscard]] std::uint64_t doubleword(Address address) const;
  void write_doubleword(Address address, std::uint64_t value, Step& step);

  // AUX of Xtile (tlm_vector.cpp).
  Outcome execute_vector(TileContext& c, const Decoded& in, Step& step);
  /// The same bits by host vectors, for steps whose records nobody reads for values.
  void execute_vector_unseen(TileContext& c, const Decoded& in, Step& step);
  Outcome load_weights(Step& step);

  // CSRs (tlm_csr.cpp).
  [[nodiscard]] bool read_csr(const TileContext& c, unsigned number, Cycle t, std::uint32_t& value) const;
  void write_csr(TileContext& c, unsigned number, Cycle t, std::uint32_t value);
  [[nodiscard]] bool supervisor_csr_value(unsigned number, Cycle t, std::uint32_t& value) const;
  Outcome execute_csr(TileContext& c, const Decoded& in, Cycle t, Step& step);
  void settle_exits(Cycle t);

  // Control of the tile (tlm_control.cpp).
  Outcome execute_control(TileContext& c, const Decoded& in, Cycle t, Step& step);
  Outcome begin_sync(const Decoded& in, Cycle t, Step& step);
  void take_effect(Cycle t);
  Outcome start_workers(Cycle t, Step& step);
  void start_worker(unsigned w, Address pc, std::uint32_t a0, std::uint32_t a1, Cycle t);
  Outcome enter_exchange(Cycle t, Step& step);
  Outcome enter_packet(Cycle t, Step& step);
  void wait_in(const Decoded& in, Address pc, Cycle t, Mode mode);
  [[nodiscard]] bool member(Zone zone) const;
  /// The step of the instruction that waits, anew.
  [[nodiscard]] Step waiting_step() const;
  /// The instruction that waited retires, and the supervisor goes on at `next`.
  void finish_waiting(Cycle next);
  void finish_waiting(const Step& step, Cycle next);
  /// The same with a value for its rd.
  void finish_waiting(std::uint32_t value, Cycle next);
  [[nodiscard]] bool bad_table(Address table) const;

  // Debug port (tlm_debug.cpp).
  struct DebugCommand {
    enum class Kind : std::uint8_t { halt, resume, write };
    Cycle at = 0;
    std::uint8_t contexts = 0;
    Kind kind = Kind::halt;
    DebugSpace space = DebugSpace::x;  // of a write
    unsigned number = 0;
    std::uint32_t value = 0;
  };
  /// What keeps a context from issuing, and its xdcsr. A step counts from stepped_at + 1, an ebreak from broken_at + 6.
  struct DebugFlags {
    bool request = false, stepped = false, broken = false;
    bool step = false, ebreakm = false;
    Cycle stepped_at = 0, broken_at = 0;
  };
  void command(const DebugCommand& command);
  void act(const DebugCommand& command);
  void resume(TileContext& c, Cycle at);
  void update_debugging();
  /// True if a flag is up in the cycle of the context's next issue; it is halted then.
  bool halts(TileContext& c, Cycle n);
  /// An ebreak is issued: true if it halts and does not trap.
  bool breaks(TileContext& c, Cycle t);
  void issued(const TileContext& c, Cycle t);
  [[nodiscard]] bool live() const;
  void write_state(TileContext& c, DebugSpace space, unsigned number, std::uint32_t value);
  void write_debug_csr(TileContext& c, unsigned number, std::uint32_t value);

  // Threaded code (tlm_fast.cpp).
  struct Handlers;
  friend class HandlerAccess;
  static const Handlers& handlers();
  void run_fast(TileContext& c, Cycle limit, Cycle enough);
  static void run_threaded(TlmTile* tile, TileContext* c, Cycle limit, Cycle enough, Handlers* table);
  [[nodiscard]] static bool fast_able(const TileContext& c);
  [[nodiscard]] bool store_now(std::uint32_t offset, unsigned bytes, Address pc) const;
  void generic_float(TileContext& c, const Decoded& in);
  /// Whether the body [start, end) of an x.rpt may repeat in threaded code; its end is then marked. May give the tile a
  /// page of its own.
  bool loop_ready(Address start, Address end);
  /// The weights, ready for vectors.
  const fp::fast::AmpReady* ready_weights();

  // Decoded code of this tile (tlm_code.cpp).
  CodePage* page(Role role, Address pc);
  CodePage* own_page(Role role, unsigned index);
  void decode(CodePage& page, unsigned index);
  /// A store into a line with decoded code; true if a decoded doubleword was forgotten (a page may have been replaced).
  bool code_stored(std::uint32_t offset);

  // What a superstep without work touches stands together: with a thousand tiles, cache lines are its cost.
  TileConfig config_;
  Mode mode_ = Mode::stopped;
  std::uint8_t wait_mask_ = 0;  ///< workers (bit w-1) that it waits for
  /// Workers (bit w-1) that may not be idle. Of one that is not here the slot is vacant from quiet_from_ on.
  std::uint8_t busy_workers_ = 0;
  bool any_excepted_ = false;  ///< a context has been
  bool force_exact_ = false;
  bool debugging_ = false;  ///< attached, or a flag or command is there: exact interleave
  bool tohost_hit_ = false;
  bool exchange_open_ = false,
       window_open_ = false;  ///< one x.exchange a release; a window for group and host releases
  Cycle quiet_from_ = 0;
  Waiting waiting_;  ///< the instruction that waits
  std::optional<TileStop> pending_;
  Cycle last_issue_ = 0;
  Cycle stands_ = 0;       ///< where the last run ended: time of what is read from outside
  Cycle done_before_ = 0;  ///< debug commands for earlier cycles come too late
  Cycle release_ = 0;      ///< Z
  Cycle effective_issue_ = 0;
  Cycle slots_end_ = 0;  ///< end of the supervisor's last operation of several slots, all in one slot
  std::array<std::uint32_t, 3> xbase_{};
  std::uint32_t xsource_ = 0;
  RetireObserver* observer_ = nullptr;
  EventObserver* events_ = nullptr;
  std::unique_ptr<RaceChecker> races_;
  std::vector<MachineEvent> queued_events_;
  std::optional<Address> stray_;
  std::vector<DebugCommand> commands_;  ///< that have not acted yet, by cycle

  Sram sram_;
  // Decoded pages by role and page number. Stores look at a flag for each line of 64 bytes: whether a word of it may
  // stand decoded in a page, and whether it is watched.
  static constexpr std::uint8_t kCodeLine = 1, kWatchedLine = 2;
  static constexpr unsigned kLineBits = 6, kLineBytes = 1u << kLineBits;
  std::array<std::vector<std::shared_ptr<CodePage>>, 2> pages_;
  std::vector<std::uint8_t> line_flags_;
  std::shared_ptr<CodeCache> code_;
  std::array<TileContext, 7> contexts_;
  fp::AmpWeights weights_{};
  std::unique_ptr<fp::fast::AmpReady> amp_ready_;  ///< what threaded code makes of them
  std::function<void(const TileRace&)> race_found_;

  // Debug port.
  std::array<DebugFlags, 7> debug_;
  Cycle next_write_ = 0;  ///< in which the debug port is free for the next write while the tile is live
  bool attached_ = false;

  Cycle tohost_cycle_ = 0;
  std::uint32_t tohost_value_ = 0;
  Cycle fault_time_ = 0;  ///< cycle of the last exchange fault
  std::uint32_t packet_count_ = 0, fault_cycle_ = 0;

  // Peripherals.
  Address mmio_base_ = 0;
  std::uint32_t mmio_bytes_ = 0;
  MmioAccess mmio_;

  // Supervisor CSRs.
  std::uint32_t xwstack_ = 0, xwstksz_ = 0, xwra_ = 0;
  std::uint32_t xexit_ = 0;
  std::vector<std::pair<Cycle, std::uint32_t>> exits_;  ///< codes on their way: visible from the cycle
};

}  // namespace tessera
