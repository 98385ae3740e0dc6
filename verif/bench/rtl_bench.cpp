#include "verif/bench/rtl_bench.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "host/elf/program.h"
#include "hw/generated/machine.h"
#include "tlm/tile/tlm_tile.h"
#include "verif/bench/program_file.h"
#include "verif/cosim/lockstep_tile.h"
#include "verif/cosim/wave.h"

namespace tessera::bench {

namespace {

/// Cycles measured of a tile, after the first `kWarm`; a traced tile is some thirty times slower.
struct Lengths {
  Cycle plain, traced;
};
Lengths lengths(const Effort& effort) { return effort.quick ? Lengths{20'000, 4'000} : Lengths{1'000'000, 60'000}; }
constexpr Cycle kWarm = 1000;
constexpr const char* kScope = "u_fetch.u_issue";  ///< the slot arbiter: at work in each cycle

class Kernel {
 public:
  Kernel() : program_(elf::Program::read(ProgramFile(ProgramFile::Which::tile).path(), kSramBase, 262144)) {}

  /// Loads the tile, starts its six workers and runs the first cycles.
  void start(TileModel& tile) const {
    for (const auto& segment : program_.segments())
      if (!segment.bytes.empty()) tile.write_memory(segment.address, segment.bytes.data(), segment.bytes.size());
    const std::uint32_t rounds = 1'000'000;  // more than anybody runs
    tile.write_memory(program_.symbol("rounds").value(), reinterpret_cast<const std::uint8_t*>(&rounds), 4);
    // Pins start one context a cycle: apart enough that RTL and TLM start alike.
    for (ContextId w = 1; w <= 6; ++w) tile.start_context(w, program_.entry(), 6 * w);
    go(tile, kWarm);
  }

  static void go(TileModel& tile, Cycle to) {
    if (tile.run(to, nullptr, nullptr).kind != TileStop::Kind::limit)
      throw std::runtime_error("the benchmark program ended before its time");
  }

 private:
  elf::Program program_;
};

struct Measured {
  Seconds seconds;
  std::uint64_t instructions = 0;
  std::uint64_t changes = 0;  ///< in the waveform
};

Measured measure(const Kernel& kernel, TileModel& tile, Cycle cycles) {
  kernel.start(tile);
  const std::uint64_t before = tile.retired();
  Measured m;
  m.seconds = timed([&] { Kernel::go(tile, kWarm + cycles); });
  m.instructions = tile.retired() - before;
  return m;
}

/// A directory for waves that goes when it is no longer needed.
class Scratch {
 public:
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tessera-bench-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make a directory for waves");
    path_ = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// A traced run with the merge that ends every waveform.
Measured measure_traced(const Kernel& kernel, const RtlModels& models, Cycle cycles,
                        std::vector<std::string> scopes = {}) {
  const Scratch scratch;
  WaveOptions options;
  options.scopes = std::move(scopes);
  options.file = scratch.path() + "/tile.fst";
  options.from = kWarm;
  WaveFile wave(options);
  const auto tile = models.traced(TileConfig{});
  tile->attach_wave(wave.add_rtl({0, 0}));
  kernel.start(*tile);
  const std::uint64_t before = tile->retired();
  Measured m;
  m.seconds = timed([&] {
    Kernel::go(*tile, kWarm + cycles);
    m.changes = wave.close().changes;
    if (m.changes == 0) throw std::runtime_error("the waveform is empty");
  });
  m.instructions = tile->retired() - before;
  return m;
}

struct Ignoring : RetireObserver {
  void retired(const RetireRecord&) override {}
  void exchanged(const ExchangeWord&) override {}
};

}  // namespace

Report run_rtl_bench(const Effort& effort, const RtlModels& models) {
  const Kernel kernel;
  const auto [cycles, traced_cycles] = lengths(effort);
  Figure speed{"tile", "Mcycle/s", "at least 2", "RTL tile without trace, six workers busy", {}, {}};
  Figure instructions{"tile instructions", "Minstr/s", "", "instructions that this tile retires", {}, {}};
  Figure untraced{"tile that can be traced", "Mcycle/s", "", "the model with tracing compiled in, no waveform", {}, {}};
  Figure traced{"tile with FST", "Mcycle/s", "", "the same with a waveform of all its signals, merge included", {}, {}};
  Figure scope{
      "tile with FST of one scope", "Mcycle/s", "", "with a waveform of tile_core." + std::string(kScope), {}, {}};
  std::uint64_t retired = 0, changes = 0, scope_changes = 0;
  for (unsigned round = 0; round < effort.rounds; ++round) {
    const Measured plain = measure(kernel, *models.plain(TileConfig{}), cycles);
    speed.add_rate(1e-6 * static_cast<double>(cycles), plain.seconds);
    instructions.add_rate(1e-6 * static_cast<double>(plain.instructions), plain.seconds);
    retired = plain.instructions;
    const Measured capable = measure(kernel, *models.traced(TileConfig{}), traced_cycles);
    untraced.add_rate(1e-6 * static_cast<double>(traced_cycles), capable.seconds);
    const Measured dumped = measure_traced(kernel, models, traced_cycles);
    changes = dumped.changes;
    const Measured selected =
        measure_traced(kernel, models, cycles / 2, {std::string("ipu0.tile0.rtl.tile_core.") + kScope});
    scope_changes = selected.changes;
    scope.add_rate(1e-6 * static_cast<double>(cycles / 2), selected.seconds);
    traced.add_rate(1e-6 * static_cast<double>(traced_cycles), dumped.seconds);
  }
  Report report;
  report.name = "rtl";
  report.figures = {speed,
                    instructions,
                    untraced,
                    traced,
                    scope,
                    ratio("traced / untraced", traced, speed, "", "speed with a waveform against speed without"),
                    ratio("time of one scope / untraced", speed, scope, "at most 2",
                          "time with a waveform of one scope against time of the tile without")};
  report.notes = {
      fmt::format("{} cycles, {} instructions a round; {} cycles traced, {} changes; {} cycles of {}, {} "
                  "changes",
                  cycles, retired, traced_cycles, changes, cycles / 2, kScope, scope_changes)};
  return report;
}

Report run_lockstep_bench(const Effort& effort, const RtlModels& models) {
  const Kernel kernel;
  const Cycle cycles = lengths(effort).plain;
  Ignoring ignoring;
  Figure rtl{"RTL alone", "s", "", "time of the RTL tile alone", {}, {}};
  Figure observed{"RTL with records", "s", "", "the RTL tile that reports what it retires", {}, {}};
  Figure exact{"TLM with records", "s", "", "the TLM tile in exact interleave that reports the same", {}, {}};
  Figure lockstep{"lockstep", "s", "", "both, every record compared", {}, {}};
  LockstepTile::Counts counts;
  for (unsigned round = 0; round < effort.rounds; ++round) {
    rtl.add_time(measure(kernel, *models.plain(TileConfig{}), cycles).seconds);
    const auto recorded = models.plain(TileConfig{});
    recorded->observe(&ignoring);
    observed.add_time(measure(kernel, *recorded, cycles).seconds);
    TlmTile tlm{TileConfig{}};
    tlm.observe(&ignoring);
    exact.add_time(measure(kernel, tlm, cycles).seconds);
    LockstepTile both(TileConfig{}, std::make_unique<TlmTile>(TileConfig{}), models.plain(TileConfig{}));
    lockstep.add_time(measure(kernel, both, cycles).seconds);
    counts = both.compared();
  }
  Report report;
  report.name = "lockstep";
  report.figures = {rtl, observed, exact, lockstep,
                    ratio("lockstep / RTL alone", lockstep, rtl, "at most 1.5", "time in lockstep against RTL alone")};
  report.notes = {fmt::format("{} cycles, {} instructions compared a round", cycles, counts.instructions)};
  return report;
}

}  // namespace tessera::bench
