// One IPU as a SystemC process: chip registers, loader, start, syncs with their times, host syncs, exceptions, host
// access to tile memory. What happens between two releases is Ipu's (tlm/system/ipu.h); PCI Express is the endpoint's.
//
// The process runs the tiles ahead of SystemC time by at most a quantum, then waits until what it found happens; so all
// that others see of a chip (registers, interrupts, refusals) is at its exact time.
#pragma once

#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hw/error.h"
#include "hw/platform.h"
#include "tlm/card/card_target.h"
#include "tlm/link/crossbar.h"
#include "tlm/link/link_port.h"
#include "tlm/link/link_registers.h"
#include "tlm/pcie/endpoint.h"
#include "tlm/system/clock.h"
#include "tlm/system/dma_engine.h"
#include "tlm/system/ipu.h"
#include "tlm/system/sync_network.h"

namespace tessera {

/// Asked to stop from outside (a signal): thrown through the run so that everything is closed in order.
class RunStopped : public std::runtime_error {
 public:
  RunStopped() : std::runtime_error("the run was stopped from outside") {}
};

struct ChipConfig {
  IpuConfig ipu;
  Platform platform;
  const Topology* topology = nullptr;  ///< no links without
  bool train_links = true;             ///< at power-on
  Cycle quantum = Cycle{1} << 20;      ///< cycles that tiles may run ahead of SystemC time
  Cycle max_cycles = 0;                ///< end with an error this many cycles after start; 0 is no limit
  Cycle max_idle_cycles = 0;  ///< the same after a start or release that no other release follows; 0 is no limit
  IpuHooks hooks;
  Symbolizer symbolizer;
};

class Chip : public sc_core::sc_module,
             public pcie::EndpointFunction,
             public PacketHost,
             public DmaMemory,
             public CardTarget {
 public:
  Chip(const sc_core::sc_module_name& name, const ChipConfig& config, const TileFactory& factory, TilePool& pool,
       SyncNetwork& network, pcie::Endpoint& endpoint);
  ~Chip() override;

  // Behind the endpoint's BARs.
  pcie::Completion bar_read(unsigned bar, std::uint64_t offset, std::uint8_t* bytes, std::size_t count,
                            sc_core::sc_time& delay) override;
  pcie::Completion bar_write(unsigned bar, std::uint64_t offset, const std::uint8_t* bytes, std::size_t count,
                             sc_core::sc_time& delay) override;
  std::size_t debug(unsigned bar, bool write, std::uint64_t offset, std::uint8_t* bytes, std::size_t count) override;

  void function_reset() override;

  // For the DMA engine.
  [[nodiscard]] std::uint64_t tile_bytes() const override;
  [[nodiscard]] bool tiles_accessible() const override { return !running(); }
  void read_tiles(std::uint64_t offset, std::uint8_t* bytes, std::size_t count) override;
  void write_tiles(std::uint64_t offset, const std::uint8_t* bytes, std::size_t count) override;

  // Packets of tiles to and from host buffers, through the address table (chip_packets.cpp).
  std::optional<Cycle> read(Cycle at, const Packet& request, std::vector<Word>& words) override;
  bool write(Cycle at, const Packet& packet) override;

  /// End of a link; to be bound to its peer by who makes the chips.
  [[nodiscard]] LinkPort& link(unsigned port) { return *ports_.at(port); }
  [[nodiscard]] unsigned links() const { return static_cast<unsigned>(ports_.size()); }
  [[nodiscard]] const Crossbar& crossbar() const { return crossbar_; }

  /// The controller of its card, on which it is IPU `index`: from now on the lines hold it until they are set. A chip
  /// without controller runs from power-on.
  void attach_card(CardPort& card, unsigned index);
  void set_lines(const Lines& lines) override;
  void mailbox_interrupt() override;
  void controller_died(std::uint32_t status) override;
  [[nodiscard]] unsigned ports() const override { return links(); }
  [[nodiscard]] LinkState link_state(unsigned port) const override { return ports_.at(port)->state(); }
  void train_link(unsigned port) override { ports_.at(port)->train(); }
  void disable_link(unsigned port) override { ports_.at(port)->disable(); }
  [[nodiscard]] LinkCounters link_counters(unsigned port) const override { return ports_.at(port)->counters(); }

  [[nodiscard]] Ipu& ipu() { return ipu_; }
  [[nodiscard]] const Ipu& ipu() const { return ipu_; }
  [[nodiscard]] Cycle now() const { return clock_.cycle_at(sc_core::sc_time_stamp()); }
  [[nodiscard]] bool running() const { return state_ == State::running || state_ == State::group_sync; }
  /// Waits in a host sync that another IPU, the root, serves for all.
  [[nodiscard]] bool in_host_wait() const { return state_ == State::host_wait; }
  [[nodiscard]] bool in_host_sync() const { return state_ == State::host_sync; }
  [[nodiscard]] bool in_program() const { return running() || in_host_sync() || in_host_wait(); }
  /// Where the tiles stand, for reports.
  [[nodiscard]] std::string describe() const { return ipu_.describe(config_.symbolizer); }

  /// Called from the chip's process with what must end the run: an error for the user, or a stop.
  std::function<void(std::exception_ptr)> failed;
  /// Called when a program starts.
  std::function<void()> started;
  /// What ends the run of the IPU whose packet it is, wherever it was found.
  struct Fault {
    std::uint32_t number = 0;  ///< of the chip
    Cycle cycle = 0;
    unsigned tile = 0;
    std::uint32_t value = 0;
    std::optional<Packet> packet;  ///< header
    std::string text;
  };
  /// Hands a fault to the chip of an IPU; false if it has no program to stop.
  std::function<bool(unsigned ipu, const Fault&)> report;
  /// A fault found outside: the run ends with the first. Ignored, and false, unless the chip is in a program.
  bool note(const Fault& fault);

 private:
  /// held: before boot or after reset. host_sync: the host serves it here; host_wait: it does so at another IPU, the
  /// root. stopped: exception, fault or nothing left to run.
  enum class State : std::uint8_t { held, running, group_sync, host_sync, host_wait, stopped };
  enum ChipFault : std::uint32_t {
    zones_differ = 0,
    no_progress = 1,
    host_access = 2,
    link_failed = 3,
    no_destination = 4,
    card_controller = 5,
    pcie_error = 6
  };

  void process();
  void wait_until(Cycle cycle);
  /// Until `cycle` (kNever: for ever), a command, or something from beyond the lanes.
  void wait_for_packets(Cycle cycle);
  bool command_pending() const { return reset_request_ || loader_request_ || boot_request_; }

  // Running (chip_run.cpp).
  void run_program();
  /// false: the run is over.
  bool answer(Ipu::Outcome outcome, Cycle limit);
  bool finish_sync();
  bool host_sync(Meeting& meeting);
  void stop_with_exception();
  void stop_with_conflict();
  void stop_with_outside_fault();
  void stop_with_stray(const Ipu::Stray& stray, Cycle cycle);
  void stop_with_fault(ChipFault fault, unsigned tile, Cycle cycle);
  void stop_without_progress(const std::string& what);
  /// From a start or release on; the limit ends tiles that spin while others wait.
  void expect_sync(Cycle from);
  void check_cycle_limit();
  void raise(unsigned cause);
  void reset();
  void power_on_registers();

  // Links and what lies between (chip_links.cpp).
  class LinkEnd;
  void make_links();
  void route();
  void route_at(Cycle cycle);
  void pass_packets();
  /// Lets packets move until `cycle`, and then until none of this IPU's tiles is on its way if `drain`. false: the run
  /// is over.
  bool settle_packets(Cycle cycle, bool drain);
  void refuse(const PacketRefusal& refusal);
  void fail_on_pcie(Fault fault, bool read);
  /// A link was given up: stops the program of this IPU, or of one whose packets wait. false: there is none.
  bool link_down(unsigned port, const std::string& reason);
  [[nodiscard]] bool over() const { return reset_request_ || fault_.has_value(); }

  // Loader (chip_loader.cpp).
  void walk_list();
  /// Words of a record that are on their way from host memory.
  struct Loading {
    sc_core::sc_time end;
    unsigned tile = 0, mask = 0;
    std::uint32_t offset = 0;
    std::vector<std::uint8_t> bytes;
  };
  /// Reads host memory as the endpoint's tags allow; `end` grows to the last completion. false: refused, or a reset.
  bool fetch(std::uint64_t address, std::vector<std::uint8_t>& bytes, sc_core::sc_time& end);
  bool load_record(const std::uint8_t* record, std::deque<Loading>& loading);
  void store(const Loading& loaded);
  /// Moves the words of a packet by bus mastering, cut at 4 KiB; `end` grows to the last completion or arrival.
  bool move_host(bool write, std::uint64_t address, std::uint8_t* bytes, std::size_t count, sc_core::sc_time& end);
  /// Bus address of the words of a packet in its host buffer; nothing if the table does not allow it.
  std::optional<std::uint64_t> translate(const Packet& packet);

  // Registers (chip_registers.cpp).
  [[nodiscard]] std::uint32_t read_register(std::uint32_t offset, Cycle at);
  void write_register(std::uint32_t offset, std::uint32_t value, const sc_core::sc_time& delay);
  [[nodiscard]] std::uint32_t counter_low(std::uint64_t value);
  [[nodiscard]] std::uint32_t& shadow(std::uint32_t offset) { return shadow_[offset / 4]; }
  void apply_settings();
  /// Tells the sync network of the register `groups`.
  void join_groups();
  /// The card's lines forbid the access; counted.
  bool held_back(unsigned bar, std::uint64_t offset, std::size_t count);
  pcie::Completion access_tiles(bool write, std::uint64_t offset, std::uint8_t* bytes, std::size_t count);

  ChipConfig config_;
  TileClock clock_;
  Ipu ipu_;
  SyncNetwork& network_;
  pcie::Endpoint& endpoint_;
  DmaEngine dma_;
  Crossbar crossbar_;
  std::vector<std::unique_ptr<LinkPort>> ports_;
  LinkRegisters link_registers_;
  std::vector<std::unique_ptr<CrossbarLink>> ends_;
  sc_core::sc_event route_event_, outside_;
  std::optional<Fault> fault_;
  bool draining_ = false;

  /// The state, of which the card learns when tiles begin and cease to run.
  class StateTold {
   public:
    operator State() const { return state_; }  // NOLINT: it is the state
    StateTold& operator=(State next);
    CardPort* card = nullptr;
    unsigned index = 0;

   private:
    State state_ = State::held;
  } state_;
  Lines lines_{false, true, true};
  Cycle cycle_limit_ = kNever, idle_limit_ = kNever;
  bool power_on_request_ = false;  // with reset_request_: the whole function
  bool reset_request_ = false, loader_request_ = false, boot_request_ = false, acknowledged_ = false;
  bool acknowledge_vote_ = true;
  sc_core::sc_event command_;

  std::vector<std::uint32_t> shadow_, writable_;
  std::uint32_t interrupt_status_ = 0, refused_ = 0, host_syncs_ = 0, latched_high_ = 0;
  /// Why a packet's host access has failed on PCI Express, if nobody refused it, and when that is known.
  struct PcieFailure {
    pcie::Completion what = pcie::Completion::ok;
    sc_core::sc_time at;
  };
  std::optional<PcieFailure> pcie_failure_;
  unsigned resets_ = 0;
  FabricCounters words_before_;  // of the time before the last reset of the function
  std::uint64_t packets_before_ = 0;
  std::uint32_t sync_code_ = 0;
  std::uint32_t owner_tickets_ = 0;  // drivers that have come
  bool sync_vote_ = true;
  bool loader_busy_ = false, loader_error_ = false;
  struct ExceptionRegisters {
    std::uint32_t cause = 0, pc = 0, value = 0;
    Cycle cycle = 0;
    std::optional<Packet> packet;  // header: whose words were not taken
  } exception_;
};

}  // namespace tessera
