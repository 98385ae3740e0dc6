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
#include "host/cli/trace_writer.h"
#include "hw/disassembler.h"
#include "hw/error.h"
#include "hw/generated/machine.h"
#include "tlm/tile/tlm_tile.h"

namespace tessera::cli {

namespace {

struct Options {
  std::string program, model = "tlm", context = "supervisor", signature, trace, wave, platform = "c2";
  Cycle max_cycles = 0;
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
  const std::string partial = options.signature + ".partial";
  std::ofstream out(partial, std::ios::binary);
  out << text;
  out.close();
  if (!out || std::rename(partial.c_str(), options.signature.c_str()) != 0) {
    std::remove(partial.c_str());
    throw Error(Category::usage, "cannot write the signature", options.signature, "check the path and free space");
  }
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

std::unique_ptr<TileModel> make_tile(const Options& options, const TileConfig& config) {
  if (options.model == "tlm") return std::make_unique<TlmTile>(config);
  throw Error(Category::unsupported, fmt::format("this build has no {} model of the tile", options.model), "--model",
              "use --model tlm");
}

[[noreturn]] void throw_exception(const elf::Program& program, const TileException& e) {
  const char* text = trap_text(e.cause);
  throw Error(Category::device_exception,
              fmt::format("{} trapped: {} (cause {}, mtval 0x{:08x})", context_name(e.context),
                          text != nullptr ? text : "unknown cause", e.cause, e.tval),
              fmt::format("{}, pc 0x{:08x}, {}", context_name(e.context), e.pc, program.place(e.pc).text(e.pc)),
              "look at the instructions before it with --trace FILE", e.cycle);
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
              "raise --max-cycles, or look where it stands", options.max_cycles);
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
  const auto tile = make_tile(options, config);
  std::unique_ptr<TraceWriter> trace;
  if (!options.trace.empty()) {
    trace = std::make_unique<TraceWriter>(options.trace);
    tile->observe(trace.get());
  }
  const Cycle limit = options.max_cycles != 0 ? options.max_cycles : kNever;
  Progress progress(context.quiet);
  progress.phase("running");
  const auto started = std::chrono::steady_clock::now();
  const ElfEnd end = run_elf(*tile, config, program, platform, options.context_id(), limit, [&](Cycle cycle) {
    progress.update(static_cast<double>(cycle), static_cast<double>(options.max_cycles), cycle);
  });
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - started;
  progress.finish();
  record(context, options, *tile, end, seconds.count());
  if (trace) trace->close();
  write_signature(options, program, *tile);
  return verdict(context, options, program, *tile, end);
}

}  // namespace

void add_elf(CLI::App& app, Context& context) {
  add_command(
      app, context, "elf", "Run a bare-metal RV32 program on one tile",
      "tessera elf rv32ui-p-add --model lockstep --signature add.sig", [](CLI::App& sub) -> Body {
        auto options = std::make_shared<Options>();
        sub.add_option("PROGRAM", options->program, "Linked RV32 ELF file; `tohost` ends the run")->required();
        sub.add_option("--model", options->model, "How the tile is modelled")
            ->check(CLI::IsMember({"tlm", "rtl", "lockstep"}))
            ->type_name("MODEL");
        sub.add_option("--context", options->context, "Which context runs it")
            ->check(CLI::IsMember({"supervisor", "worker"}))
            ->type_name("CONTEXT");
        sub.add_option("--signature", options->signature, "Write the words from begin_signature to end_signature")
            ->type_name("FILE");
        sub.add_option("--max-cycles", options->max_cycles, "End after this many cycles with exit code 6")
            ->check(CLI::PositiveNumber)
            ->type_name("N");
        sub.add_option("--trace", options->trace, "Write a line for each instruction")->type_name("FILE");
        sub.add_option("--platform", options->platform, "Platform: latencies and memory size")->type_name("NAME|FILE");
        return [options](Context& c) { return run_command(c, *options); };
      });
}

}  // namespace tessera::cli
