// The modelled machine as the commands use it: platform, which tiles are RTL or in lockstep, waves, limits; with the
// driver on top. One a process, since SystemC elaborates once.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "host/cli/command.h"
#include "host/cli/machine_options.h"
#include "host/cli/progress.h"
#include "host/cli/taps.h"
#include "host/driver/driver.h"
#include "host/engine/stand.h"
#include "host/executable/executable.h"
#include "host/profile/amp_spans.h"
#include "host/profile/cycles.h"
#include "host/profile/phases.h"
#include "host/profile/spans.h"
#include "hw/platform.h"
#include "tlm/system/system.h"
#include "tlm/system/transport.h"
#include "tlm/tile/code_cache.h"
#include "tlm/tile/race_checker.h"
#include "verif/cosim/lockstep_tile.h"
#include "verif/cosim/wave.h"

namespace tessera::cli {

/// One end of a waveform's window: a cycle, or the superstep that begins or ends it ("superstep=12"). Superstep 0 runs
/// from the start of the program to the first release, superstep n from the n-th release to the next.
struct WaveEnd {
  std::optional<Cycle> cycle;
  std::optional<std::uint64_t> superstep;
};
[[nodiscard]] WaveEnd parse_wave_end(const std::string& text, const Platform& platform);

/// A point of time on the command line: "1200" or "1200cycles" (cycles), "3us", "250ns" (simulated time).
[[nodiscard]] Cycle parse_time(const std::string& text, const Platform& platform);

/// The options of a waveform of a chosen platform; throws Error(usage) for what is wrong with them, and for scopes that
/// no tile has.
void check_wave(const MachineOptions& options, const Platform& platform);

class Machine {
 public:
  /// `executable` names code in reports; must outlive the machine. Throws Error(usage) for wrong options.
  Machine(const Context& context, const MachineOptions& options, const Platform& platform,
          const executable::Executable& executable, Progress& progress);
  ~Machine();

  [[nodiscard]] driver::Driver& driver() { return *driver_; }
  /// Throws Error(device_exception) if PCI Express has shown fewer IPUs than the platform has: their numbers would be
  /// those of others.
  void require_all_ipus() const;
  [[nodiscard]] const Platform& platform() const { return platform_; }
  [[nodiscard]] System& system() { return *system_; }
  [[nodiscard]] profile::CycleProfile& profile() { return observers_.cycles; }
  [[nodiscard]] const profile::CycleProfile& profile() const { return observers_.cycles; }
  /// Lengths of the exchange phases against the compiler's.
  [[nodiscard]] profile::PhaseCheck& phases() { return observers_.phases; }
  /// Parts of the supersteps on the slowest tiles.
  [[nodiscard]] profile::SuperstepSpans& spans() { return observers_.spans; }

  /// Cycles of the matrix engines' compute sets.
  [[nodiscard]] profile::AmpSpans& amp_spans() { return observers_.amp; }
  [[nodiscard]] const profile::AmpSpans& amp_spans() const { return observers_.amp; }

  /// Last cycle that the waveform may hold.
  [[nodiscard]] Cycle wave_end() const { return wave_ == nullptr ? 0 : wave_->options().to; }
  /// Closes waves; once, before results are printed. Returns nothing if there are none.
  [[nodiscard]] std::optional<WaveSummary> close_waves();

  /// Races found so far, the first of each tile, earliest first; none is looked for without check_races.
  [[nodiscard]] std::vector<TileRace> races() const;
  [[nodiscard]] bool checks_races() const { return options_.check_races; }
  /// In how many tiles of each IPU they are looked for, if at all; none is in those of them that are RTL alone.
  [[nodiscard]] unsigned race_tiles() const;
  /// A race with both places in the program's terms: pcs, vertices and the step.
  [[nodiscard]] std::string text(const TileRace& race) const;

  /// Symbol, source line and step at a pc; empty if nothing is known.
  [[nodiscard]] std::string symbol(TileRef tile, Address pc) const;
  /// Registers of all contexts, for messages that say where they stand.
  [[nodiscard]] engine::Look look() const;
  /// Words that tiles sent and nobody heard though their descriptors do not say that this may be: one text for each of
  /// the first descriptors of each IPU.
  [[nodiscard]] std::vector<std::string> unheard() const;

  /// Where tapped tensors go as the program runs.
  void on_tap(TapSink sink) { tap_sink_ = std::move(sink); }

  struct Statistics {
    unsigned rtl_tiles = 0, lockstep_tiles = 0, tlm_tiles = 0;
    LockstepTile::Counts compared;
    std::uint64_t instructions = 0;
    Cycle last_arrival = 0;  ///< cycle in which the program reached its end: the last tile arrived in the host sync
  };
  [[nodiscard]] Statistics statistics();

 private:
  std::unique_ptr<TileModel> make_tile(const TileConfig& config, TileMode mode);
  std::unique_ptr<TileModel> make_rtl(const TileConfig& config);

  MachineOptions options_;
  Platform platform_;
  const executable::Executable& executable_;
  void open_wave();
  void superstep_begins(Cycle release);
  /// The step that a tile's supervisor works for where it runs a routine of the firmware; empty elsewhere.

  TapSink tap_sink_;
  std::unique_ptr<WaveFile> wave_;
  WaveEnd wave_from_, wave_to_;
  unsigned root_ = 0;            // lowest IPU of the executable
  std::uint64_t superstep_ = 0;  // of it
  std::shared_ptr<CodeCache> code_;
  std::vector<LockstepTile*> lockstep_tiles_;
  mutable std::mutex races_mutex_;  // tiles run on threads of a pool
  std::vector<TileRace> races_;
  /// All who look at the machine's events.
  struct Observers : EventObserver {
    Observers(const Platform& platform, const executable::Executable& executable);
    void event(const MachineEvent& event) override {
      cycles.event(event);
      phases.event(event);
      spans.event(event);
      amp.event(event);
    }
    profile::CycleProfile cycles;
    profile::PhaseCheck phases;
    profile::SuperstepSpans spans;
    profile::AmpSpans amp;
  } observers_;
  std::unique_ptr<System> system_;
  std::unique_ptr<InProcessTransport> transport_;
  std::unique_ptr<driver::Driver> driver_;
};

}  // namespace tessera::cli
