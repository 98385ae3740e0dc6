#include "host/cli/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <tuple>

#include "host/cli/rtl_factory.h"
#include "host/cli/tile_list.h"
#include "host/codelets/linker.h"
#include "host/engine/engine.h"
#include "hw/error.h"
#include "tlm/tile/tlm_tile.h"
#include "verif/cosim/shutdown.h"
#include "verif/cosim/wave_tile.h"

namespace tessera::cli {

WaveEnd parse_wave_end(const std::string& text, const Platform& platform) {
  const std::string key = "superstep=";
  WaveEnd end;
  if (text.rfind(key, 0) != 0) {
    end.cycle = parse_time(text, platform);
    return end;
  }
  std::uint64_t number = 0;
  const char* begin = text.data() + key.size();
  const auto [at, error] = std::from_chars(begin, text.data() + text.size(), number);
  if (error != std::errc() || at != text.data() + text.size())
    throw Error(Category::usage, "'" + text + "' names no superstep", "", "write it as superstep=12");
  end.superstep = number;
  return end;
}

Cycle parse_time(const std::string& text, const Platform& platform) {
  const char* begin = text.c_str();
  char* end = nullptr;
  const double value = std::strtod(begin, &end);
  const std::string unit = end;
  double seconds_per_unit = 0;
  if (unit == "ns") seconds_per_unit = 1e-9;
  if (unit == "us") seconds_per_unit = 1e-6;
  if (unit == "ms") seconds_per_unit = 1e-3;
  const bool cycles = unit.empty() || unit == "cycles";
  if (end == begin || std::isdigit(static_cast<unsigned char>(*begin)) == 0 || (!cycles && seconds_per_unit == 0)) {
    throw Error(Category::usage, "'" + text + "' is no point of time", "",
                "give cycles (1200), simulated time with a unit (750ns, 3us, 1ms), or superstep=12");
  }
  const double in_cycles = cycles ? value : value * seconds_per_unit * static_cast<double>(platform.clock_hz);
  if (in_cycles >= 1e18)
    throw Error(Category::usage, "'" + text + "' is beyond the end of time", "", "1e18 cycles are");
  return static_cast<Cycle>(in_cycles);
}

namespace {

std::vector<unsigned> programs_by_ipu(const Platform& platform, const executable::Executable& executable) {
  std::vector<unsigned> programs(platform.ipus(), 0);
  for (const executable::Instance& instance : executable.instances)
    if (instance.ipu < programs.size()) programs[instance.ipu] = instance.program;
  return programs;
}

}  // namespace

Machine::Observers::Observers(const Platform& platform, const executable::Executable& executable)
    : cycles(platform.ipus(), platform.tiles, programs_by_ipu(platform, executable)),
      phases(executable),
      spans(platform.ipus()),
      amp(platform.ipus(), platform.tiles, executable) {}

Machine::Machine(const Context& context, const MachineOptions& options, const Platform& platform,
                 const executable::Executable& executable, Progress& progress)
    : options_(options),
      platform_(options.chosen(platform)),
      executable_(executable),
      code_(std::make_shared<CodeCache>()),
      observers_(platform_, executable) {
  check_wave(options, platform_);
  if (!options.wave.empty()) open_wave();
  if (!executable.instances.empty()) root_ = executable.instances.front().ipu;
  for (const executable::Instance& instance : executable.instances) root_ = std::min(root_, instance.ipu);
  SystemConfig config;
  config.platform = platform_;
  config.modes = options.modes(platform_);
  config.injections = options.injections(platform_);
  config.seed = context.seed;
  config.quantum = options.quantum;
  config.factory = [this](const TileConfig& tile, TileMode mode) { return make_tile(tile, mode); };
  config.threads = context.threads;
  config.max_cycles = options.max_cycles;
  config.max_idle_cycles = options.max_idle_cycles;
  config.events = &observers_;
  config.released = [this](unsigned ipu, Cycle z) {
    if (ipu == root_) superstep_begins(z);
    if (tap_sink_) read_taps(*system_, ipu, executable_, tap_sink_);
  };
  config.symbolizer = [this](TileRef tile, Address pc) {
    return engine::stand_text(executable_, tile.ipu, tile.tile, pc, look());
  };
  config.stop = [] { return Shutdown::requested() != 0; };
  config.progress = [&progress, limit = options.max_cycles](Cycle cycle) {
    progress.update(static_cast<double>(cycle), static_cast<double>(limit), cycle);
  };
  system_ = std::make_unique<System>("tessera", config);
  if (wave_ != nullptr) wave_->require_parts();
  transport_ = std::make_unique<InProcessTransport>(*system_);
  driver_ = std::make_unique<driver::Driver>(*transport_);
}

Machine::~Machine() = default;

void Machine::require_all_ipus() const {
  if (driver_->ipus() == platform_.ipus()) return;
  throw Error(
      Category::device_exception,
      fmt::format("{} of {} IPUs do not answer on PCI Express", platform_.ipus() - driver_->ipus(), platform_.ipus()),
      "platform " + platform_.name, "look at its faults and at --inject: a link or an answer is lost");
}

void check_wave(const MachineOptions& options, const Platform& platform) {
  if (options.wave.empty()) {
    if (!(options.wave_from + options.wave_to).empty())
      throw Error(Category::usage, "--wave-from and --wave-to without --wave", "", "name the waveform: --wave FILE");
    return;
  }
  WaveFile::check_place(options.wave);
  const WaveEnd from = options.wave_from.empty() ? WaveEnd{} : parse_wave_end(options.wave_from, platform);
  const WaveEnd to = options.wave_to.empty() ? WaveEnd{} : parse_wave_end(options.wave_to, platform);
  if (from.cycle.value_or(0) > to.cycle.value_or(kNever) ||
      from.superstep.value_or(0) > to.superstep.value_or(~std::uint64_t{0})) {
    throw Error(Category::usage, "--wave-from " + options.wave_from + " is behind --wave-to " + options.wave_to, "",
                "give the earlier time first");
  }
  std::vector<std::string> tiles;
  const auto modes = options.modes(platform);
  for (std::uint16_t ipu = 0; ipu < modes.size(); ++ipu)
    for (std::uint16_t tile = 0; tile < modes[ipu].size(); ++tile) {
      if (modes[ipu][tile] != TileMode::rtl) tiles.push_back(WaveFile::scope({ipu, tile}, "tlm"));
      if (modes[ipu][tile] != TileMode::tlm) tiles.push_back(WaveFile::scope({ipu, tile}, "rtl"));
    }
  WaveFile::require_tiles(options.wave, options.wave_scopes, tiles);
}

void Machine::open_wave() {
  if (!options_.wave_from.empty()) wave_from_ = parse_wave_end(options_.wave_from, platform_);
  if (!options_.wave_to.empty()) wave_to_ = parse_wave_end(options_.wave_to, platform_);
  WaveOptions wave;
  wave.file = options_.wave;
  wave.scopes = options_.wave_scopes;
  wave.from = wave_from_.cycle.value_or(wave_from_.superstep.value_or(0) > 0 ? kNever : 0);
  wave.to = wave_to_.cycle.value_or(kNever);
  wave.cycle_ps = static_cast<unsigned>(1000000000000ULL / platform_.clock_hz);
  wave_ = std::make_unique<WaveFile>(wave);
}

void Machine::superstep_begins(Cycle release) {
  ++superstep_;
  if (wave_ == nullptr) return;
  const WaveOptions& window = wave_->options();
  if (wave_from_.superstep == superstep_) wave_->set_window(release, window.to);
  if (wave_to_.superstep && *wave_to_.superstep + 1 == superstep_) wave_->set_window(window.from, release - 1);
}

std::unique_ptr<TileModel> Machine::make_rtl(const TileConfig& config) {
  const TileRef ref{static_cast<std::uint16_t>(config.ipu), static_cast<std::uint16_t>(config.tile)};
  if (wave_ == nullptr || !wave_->wants_rtl(ref)) return rtl_tile(config);
  auto traced = traced_rtl_tile(config);
  traced->attach_wave(wave_->add_rtl(ref));
  return traced;
}

std::unique_ptr<TileModel> Machine::make_tile(const TileConfig& config, TileMode mode) {
  if (mode == TileMode::rtl) return make_rtl(config);
  auto tlm = std::make_unique<TlmTile>(config, code_);
  if (options_.check_races && in_spread(config.tile, platform_.tiles, race_tiles(), config.ipu)) {
    tlm->watch_races([this](const TileRace& race) {
      const std::lock_guard<std::mutex> lock(races_mutex_);
      races_.push_back(race);
    });
  }
  std::unique_ptr<TileModel> tile = std::move(tlm);
  if (mode == TileMode::lockstep) {
    LockstepOptions options;
    options.symbolizer = [this](TileRef t, Address pc) { return engine::place_text(executable_, t.ipu, pc); };
    tile = std::make_unique<LockstepTile>(config, std::move(tile), make_rtl(config), options);
  }
  const TileRef ref{static_cast<std::uint16_t>(config.ipu), static_cast<std::uint16_t>(config.tile)};
  if (wave_ == nullptr || !wave_->wants_tlm(ref)) return tile;
  return std::make_unique<WaveTile>(config, std::move(tile), wave_->add_tlm(ref));
}

unsigned Machine::race_tiles() const {
  return options_.race_tiles == 0 ? platform_.tiles : std::min(options_.race_tiles, platform_.tiles);
}

std::vector<TileRace> Machine::races() const {
  const std::lock_guard<std::mutex> lock(races_mutex_);
  std::vector<TileRace> sorted = races_;
  std::sort(sorted.begin(), sorted.end(), [](const TileRace& a, const TileRace& b) {
    return std::tie(a.cycle, a.ipu, a.tile) < std::tie(b.cycle, b.ipu, b.tile);
  });
  return sorted;
}

std::string Machine::text(const TileRace& race) const {
  const auto side = [&](const TileRace::Access& access) {
    const std::string who = access.context == 0 ? "the supervisor" : fmt::format("worker {}", access.context);
    const TileRef tile{static_cast<std::uint16_t>(race.ipu), static_cast<std::uint16_t>(race.tile)};
    const std::string symbol = engine::place_text(executable_, tile.ipu, access.pc);
    return fmt::format("{} {} it at pc 0x{:05x}{}", who,
                       access.write   ? "writes"
                       : access.fetch ? "executes"
                                      : "reads",
                       access.pc, symbol.empty() ? "" : " (" + symbol + ")");
  };
  std::string text = fmt::format("race on byte 0x{:05x} of IPU {} tile {}: {}, {}, and nothing orders the two",
                                 race.address, race.ipu, race.tile, side(race.first), side(race.second));
  std::string before;
  for (const TileRace::Access* access : {&race.first, &race.second}) {
    driver::ExceptionInfo place;
    place.ipu = race.ipu;
    place.tile = race.tile;
    place.context = access->context;
    place.pc = access->pc;
    // In the loop over AMP vertices the step is where that was called.
    const std::string routine =
        symbol({static_cast<std::uint16_t>(race.ipu), static_cast<std::uint16_t>(race.tile)}, race.supervisor_pc);
    place.supervisor_pc = routine.rfind(kFirmwareAmp, 0) == 0 ? race.supervisor_return : race.supervisor_pc;
    const std::string vertices = engine::describe_vertices(executable_, place);
    if (vertices != before) text += vertices;
    before = vertices;
  }
  return text;
}

engine::Look Machine::look() const {
  return [this](unsigned ipu, unsigned tile, unsigned context) -> std::optional<engine::Registers> {
    if (system_ == nullptr || ipu >= system_->ipus()) return std::nullopt;
    const ContextState state =
        std::as_const(*system_).chip(ipu).ipu().tile(tile).context(static_cast<ContextId>(context));
    return engine::Registers{state.pc, state.x, state.run == ContextState::Run::running};
  };
}

std::string Machine::symbol(TileRef tile, Address pc) const { return engine::place_text(executable_, tile.ipu, pc); }

std::vector<std::string> Machine::unheard() const {
  std::vector<std::string> texts;
  for (unsigned i = 0; i < system_->ipus(); ++i)
    for (const UnheardRun& run : std::as_const(*system_).chip(i).ipu().unheard())
      texts.push_back(fmt::format("IPU {} tile {} sent {} words that nobody heard{}", i, run.tile, run.words,
                                  engine::describe_descriptor(executable_, i, run.tile, run.descriptor)));
  return texts;
}

std::optional<WaveSummary> Machine::close_waves() {
  if (wave_ == nullptr) return std::nullopt;
  return wave_->close();
}

Machine::Statistics Machine::statistics() {
  Statistics s;
  for (unsigned ipu = 0; ipu < system_->ipus(); ++ipu) {
    Ipu& tiles = system_->chip(ipu).ipu();
    for (unsigned t = 0; t < tiles.tiles(); ++t) {
      TileModel* tile = &tiles.tile(t);
      if (auto* wave = dynamic_cast<WaveTile*>(tile)) tile = &wave->inner();
      s.instructions += tile->retired();
      s.rtl_tiles += tile->mode() == TileMode::rtl ? 1 : 0;
      s.tlm_tiles += tile->mode() == TileMode::tlm ? 1 : 0;
      const auto* lockstep = dynamic_cast<const LockstepTile*>(tile);
      if (lockstep == nullptr) continue;
      ++s.lockstep_tiles;
      const LockstepTile::Counts& counts = lockstep->compared();
      s.compared.instructions += counts.instructions;
      s.compared.traps += counts.traps;
      s.compared.words += counts.words;
      s.compared.registers += counts.registers;
      s.compared.memory_bytes += counts.memory_bytes;
    }
  }
  s.last_arrival = observers_.cycles.last_arrival();
  return s;
}

}  // namespace tessera::cli
