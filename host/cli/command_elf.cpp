// tessera elf: a bare-metal RV32 program on one tile, in the manner of RISC-V test suites: `tohost` gives the verdict,
// `begin_signature`..`end_signature` the signature.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>

#include "host/cli/commands.h"
#include "host/cli/elf_runner.h"
#include "host/cli/progress.h"
#include "host/cli/rtl_factory.h"
#include "host/cli/trace_writer.h"
#include "hw/disassembler.h"
#include "hw/error.h"
#include "hw/generated/isa.h"
#include "hw/generated/machine.h"
#include "hw/whole_file.h"
#include "tlm/tile/tlm_tile.h"
#include "verif/cosim/lockstep_tile.h"
#include "verif/cosim/shutdown.h"
#include "verif/cosim/wave.h"
#include "verif/cosim/wave_tile.h"

namespace tessera::cli {

namespace {

struct Options {
  std::string program, model = "tlm", context = "supervisor", signature, trace, wave, platform = "c2";
  std::vector<std::string> wave_scopes;
  Cycle max_cycles = 0, wave_from = 0, wave_to = kNever;
  [[nodiscard]] ContextId context_id() const { return context == "worker" ? 1 : 0; }
};

std::string context_name(ContextId context) {
  return context == 0 ? "supervisor" : fmt::format("worker {}", int{context});
}

/// One 32-bit hexadecimal word a line; the file is there whole or not at all.
void write_signature(const Options& options, const elf::Program& program, const TileModel& tile) {
  if (options.signature.empty()) return;
  const Address begin = *program.symbol("begin_signature"), end = *program.symbol("end_signature");
  std::string text;
  for (Address at = begin & ~3u; at < end; at += 4) {
    std::uint8_t b[4];
    tile.read_memory(at, b, 4);
    text += fmt::format("{:02x}{:02x}{:02x}{:02x}\n", b[3], b[2], b[1], b[0]);
  }
  if (!write_whole_file(options.signature, text))
    throw Error(Category::usage, "cannot write the signature", options.signature, "check the path and free space");
}

/// Refuses a signature file for a program that has none, before anything runs.
void check_signature(const Options& options, const elf::Program& program, const TileConfig& config) {
  if (options.signature.empty()) return;
  const auto begin = program.symbol("begin_signature"), end = program.symbol("end_signature");
  if (!begin || !end)
    throw Error(Category::usage, "the program has no begin_signature and end_signature", options.program,
                "leave --signature out, or define both symbols");
  if (*begin > *end || *begin < kSramBase || *end > kSramBase + config.sram_bytes)
    throw Error(Category::usage,
                fmt::format("the signature, 0x{:08x} to 0x{:08x}, is no range of the tile's memory", *begin, *end),
                options.program, "correct begin_signature and end_signature");
}

/// The tile of a run with what looks at it.
class Bench {
 public:
  Bench(const Options& options, const TileConfig& config, const Platform& platform, const elf::Program& program)
      : options_(options) {
    if (!options.wave.empty()) open_wave(platform);
    if (options.model == "rtl")
      tile_ = make_rtl(config);
    else
      tile_ = std::make_unique<TlmTile>(config);
    if (options.model == "lockstep") {
      LockstepOptions lockstep;
      lockstep.symbolizer = [&program](TileRef, Address pc) { return program.place(pc).text(pc); };
      auto both = std::make_unique<LockstepTile>(config, std::move(tile_), make_rtl(config), lockstep);
      lockstep_ = both.get();
      tile_ = std::move(both);
    }
    if (wave_ && tile_->interval_based() && wave_->wants_tlm({}))
      tile_ = std::make_unique<WaveTile>(config, std::move(tile_), wave_->add_tlm({}));
    if (wave_) wave_->require_parts();
    if (!options.trace.empty()) {
      trace_ = std::make_unique<TraceWriter>(options.trace);
      tile_->observe(trace_.get());
    }
  }

  [[nodiscard]] TileModel& tile() { return *tile_; }
  /// Throws Error(usage) if what is recorded cannot be kept.
  void check() const {
    if (trace_) trace_->check();
  }

  /// Closes trace and waveform and says in `result` what they hold.
  void close(nlohmann::ordered_json& result) {
    if (trace_) {
      trace_->close();
      result["trace"] = {{"file", options_.trace}, {"lines", trace_->lines()}};
    }
    if (wave_) {
      const WaveSummary summary = wave_->close();
      result["wave"] = {{"file", summary.file},       {"view", summary.view},   {"signals", summary.signals},
                        {"changes", summary.changes}, {"first", summary.first}, {"last", summary.last}};
    }
    if (lockstep_ == nullptr) return;
    const LockstepTile::Counts& counts = lockstep_->compared();
    result["compared"] = {{"instructions", counts.instructions},
                          {"traps", counts.traps},
                          {"words", counts.words},
                          {"registers", counts.registers},
                          {"memory_bytes", counts.memory_bytes}};
  }

 private:
  void open_wave(const Platform& platform) {
    WaveOptions wave;
    wave.file = options_.wave;
    wave.scopes = options_.wave_scopes;
    wave.from = options_.wave_from;
    wave.to = options_.wave_to;
    if (wave.from > wave.to)
      throw Error(Category::usage, "--wave-from is later than --wave-to", options_.wave, "exchange them");
    wave.cycle_ps = static_cast<unsigned>(1'000'000'000'000u / platform.clock_hz);
    wave_ = std::make_unique<WaveFile>(wave);
  }
  std::unique_ptr<TileModel> make_rtl(const TileConfig& config) {
    if (!wave_ || !wave_->wants_rtl({})) return rtl_tile(config);
    auto traced = traced_rtl_tile(config);
    traced->attach_wave(wave_->add_rtl({}));
    return traced;
  }

  const Options& options_;
  std::unique_ptr<WaveFile> wave_;  // outlives the tile, which writes into it
  std::unique_ptr<TraceWriter> trace_;
  std::unique_ptr<TileModel> tile_;
  LockstepTile* lockstep_ = nullptr;
};

/// An illegal instruction is named. One of the other role (f registers are the workers') is what programs often run
/// into.
std::string trap_advice(const TileException& e) {
  constexpr std::uint32_t kIllegalInstruction = 2;
  std::string advice = "look at the instructions before it with --trace FILE";
  if (e.cause != kIllegalInstruction) return advice;
  const isa::Role role = isa::info(isa::decode(e.tval)).role;
  if (e.context == 0 && role == isa::Role::worker) advice = "only workers have it: run with --context worker";
  if (e.context != 0 && role == isa::Role::supervisor)
    advice = "only the supervisor has it: run without --context worker";
  return fmt::format("the instruction is {}; {}", disassemble(e.tval, e.pc), advice);
}

[[noreturn]] void throw_exception(const elf::Program& program, const TileException& e) {
  const char* text = trap_text(e.cause);
  throw Error(Category::device_exception,
              fmt::format("{} trapped: {} (cause {}, mtval 0x{:08x})", context_name(e.context),
                          text != nullptr ? text : "unknown cause", e.cause, e.tval),
              fmt::format("{}, pc 0x{:08x}, {}", context_name(e.context), e.pc, program.place(e.pc).text(e.pc)),
              trap_advice(e), e.cycle);
}

[[noreturn]] void throw_limit(const elf::Program& program, const TileModel& tile, const Options& options) {
  std::string where;
  for (ContextId c = 0; c < 7; ++c) {
    const ContextState state = tile.context(c);
    if (state.run == ContextState::Run::idle) continue;
    if (!where.empty()) where += "; ";
    where +=
        fmt::format("{} {} at 0x{:08x} {}", context_name(c), state.run == ContextState::Run::waiting ? "waits" : "is",
                    state.pc, program.place(state.pc).text(state.pc));
  }
  throw Error(Category::no_progress, fmt::format("the program did not end within {} cycles", options.max_cycles), where,
              program.symbol("tohost") ? "raise --max-cycles, or look where it stands"
                                       : "the program has no symbol tohost, whose store ends a run: add one",
              options.max_cycles);
}

/// Prints the verdict or throws the error that it is.
int verdict(Context& context, const Options& options, const elf::Program& program, const TileModel& tile,
            const ElfEnd& end) {
  const std::string figures = fmt::format("{} instructions, {} cycles", tile.retired(), end.cycle);
  switch (end.reason) {
    case ElfEnd::Reason::exception:
      throw_exception(program, *end.exception);
    case ElfEnd::Reason::max_cycles:
      throw_limit(program, tile, options);
    case ElfEnd::Reason::packet:
      throw Error(Category::unsupported, "the program runs x.packet, but a tile alone has no host and no neighbours",
                  options.program, "run it in an executable: tessera exec", end.cycle);
    case ElfEnd::Reason::exit:
      if (end.value != 0)
        throw Error(Category::wrong_result, fmt::format("the program exited with code {}", end.value), options.program,
                    "", end.cycle);
      break;
    case ElfEnd::Reason::tohost:
      if (end.value % 2 == 0)
        throw Error(Category::unsupported,
                    fmt::format("the program asks the host for a service (tohost = 0x{:08x})", end.value),
                    options.program, "end it with an odd value: 1 passes, 2 n + 1 fails test n", end.cycle);
      if (end.value != 1)
        throw Error(Category::wrong_result, fmt::format("the program failed: test {}", end.value >> 1), options.program,
                    "look at the test with --trace FILE", end.cycle);
  }
  context.print("pass: " + figures);
  return 0;
}

void record(Context& context, const Options& options, const TileModel& tile, const ElfEnd& end, double seconds) {
  auto& result = context.result;
  result["program"] = options.program;
  result["model"] = options.model;
  result["context"] = options.context;
  result["instructions"] = tile.retired();
  result["cycles"] = end.cycle;
  if (end.reason == ElfEnd::Reason::tohost)
    result["tohost"] = end.value;
  else
    result["tohost"] = nullptr;
  result["exit_reason"] = reason_name(end.reason);
  if (end.exception)
    result["exception"] = {{"context", end.exception->context},
                           {"cause", end.exception->cause},
                           {"pc", end.exception->pc},
                           {"tval", end.exception->tval},
                           {"cycle", end.exception->cycle}};
  result["wall_seconds"] = seconds;
  result["instructions_per_second"] = seconds > 0 ? static_cast<double>(tile.retired()) / seconds : 0.0;
}

int run_command(Context& context, const Options& options) {
  const Platform platform = load_platform(options.platform);
  const elf::Program program = elf::Program::read(options.program, kSramBase, kElfSramMax);
  const TileConfig config = elf_tile_config(program, platform, options.context_id());
  check_signature(options, program, config);
  Bench bench(options, config, platform, program);
  TileModel& tile = bench.tile();
  const Cycle limit = options.max_cycles != 0 ? options.max_cycles : kNever;
  Progress progress(context.quiet);
  progress.phase("running");
  const auto started = std::chrono::steady_clock::now();
  const bool observed = !options.trace.empty() || !options.wave.empty();
  ElfEnd end;
  try {
    end = run_elf(tile, config, program, platform, options.context_id(), limit, observed, [&](Cycle cycle) {
      Shutdown::check();
      bench.check();
      progress.update(static_cast<double>(cycle), static_cast<double>(options.max_cycles), cycle);
    });
  } catch (const std::exception& failure) {  // what was recorded up to it is what the user needs
    progress.finish();
    const bool signal = dynamic_cast<const Interrupted*>(&failure) != nullptr;
    context.result["exit_reason"] = signal ? "signal" : "error";
    try {
      bench.close(context.result);
    } catch (const Error& error) {
      if (error.what() != std::string(failure.what())) context.warn(error.what());
    }
    throw;
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - started;
  progress.finish();
  record(context, options, tile, end, seconds.count());
  bench.close(context.result);
  write_signature(options, program, tile);
  return verdict(context, options, program, tile, end);
}

}  // namespace

void add_elf(CLI::App& app, Context& context) {
  add_command(app, context, "elf", "Run a bare-metal RV32 program on one tile",
              "tessera elf rv32ui-p-add --model lockstep --signature add.sig", [](CLI::App& sub) -> Body {
                auto options = std::make_shared<Options>();
                sub.add_option("PROGRAM", options->program, "Linked RV32 ELF file; `tohost` ends the run")->required();
                sub.add_option("--model", options->model, "How the tile is modelled")
                    ->capture_default_str()
                    ->check(CLI::IsMember({"tlm", "rtl", "lockstep"}))
                    ->type_name("MODEL");
                sub.add_option("--context", options->context, "Which context runs it; only workers have f registers")
                    ->capture_default_str()
                    ->check(CLI::IsMember({"supervisor", "worker"}))
                    ->type_name("CONTEXT");
                sub.add_option("--signature", options->signature,
                               "Write the words from begin_signature to end_signature")
                    ->type_name("FILE");
                sub.add_option("--max-cycles", options->max_cycles,
                               "End after this many cycles with exit code 6 (no limit without it)")
                    ->check(whole_number(1, kNever))
                    ->type_name("N");
                sub.add_option("--trace", options->trace, "Write a line for each instruction")->type_name("FILE");
                CLI::Option* const wave =
                    sub.add_option("--wave", options->wave, "Waveform, FST or VCD by suffix; a .gtkw view beside it")
                        ->type_name("FILE");
                sub.add_option("--wave-scope", options->wave_scopes, "Only signals below these scopes")
                    ->allow_extra_args(false)
                    ->type_name("PATTERN")
                    ->needs(wave);
                sub.add_option("--wave-from", options->wave_from, "First cycle in the waveform")
                    ->check(whole_number())
                    ->type_name("CYCLE")
                    ->needs(wave);
                sub.add_option("--wave-to", options->wave_to, "Last cycle in the waveform")
                    ->check(whole_number())
                    ->type_name("CYCLE")
                    ->needs(wave);
                sub.add_option("--platform", options->platform, "Platform: latencies and memory size")
                    ->capture_default_str()
                    ->type_name("NAME|FILE");
                return [options](Context& c) { return run_command(c, *options); };
              });
}

}  // namespace tessera::cli
