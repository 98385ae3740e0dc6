// Runs one bare-metal program on one tile that stands alone: every sync zone completes with the tile's own vote, the
// tile may exchange with itself, and there is no host (docs/machine/tile.md, "End of a run").
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "host/elf/program.h"
#include "hw/platform.h"
#include "tlm/tile/tile_model.h"

namespace tessera::cli {

/// How a run ended.
struct ElfEnd {
  enum class Reason : std::uint8_t { tohost, exit, exception, max_cycles, packet };
  Reason reason = Reason::exit;
  Cycle cycle = 0;          ///< issue cycle of the store, trap or exit; the limit
  std::uint32_t value = 0;  ///< tohost's value, or the exit code
  std::optional<TileException> exception;
};

/// The name used in results: "tohost", "exit", "exception", "max-cycles", "packet".
[[nodiscard]] const char* reason_name(ElfEnd::Reason reason);

/// Tile settings for a program: memory of the platform or, if that is too small, as much as the program needs (64 KiB
/// steps); mhartid of `context` reads 0; tohost watched.
[[nodiscard]] TileConfig elf_tile_config(const elf::Program& program, const Platform& platform, ContextId context);

/// Loads the program into the tile, starts `context` at cycle 0 and runs to the end or to `max_cycles`. `between` is
/// called with the cycle reached, at least every second or so; `observed` says that a trace or waveform slows the run.
[[nodiscard]] ElfEnd run_elf(TileModel& tile, const TileConfig& config, const elf::Program& program,
                             const Platform& platform, ContextId context, Cycle max_cycles, bool observed,
                             const std::function<void(Cycle)>& between);

}  // namespace tessera::cli
