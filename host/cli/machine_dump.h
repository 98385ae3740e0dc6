// What a debugger would look at first when a run has failed: registers, code around the pc and stack of the tiles that
// matter, as text. Read through debug access: nothing of the machine changes.
#pragma once

#include <string>

#include "host/cli/machine.h"

namespace tessera::cli {

/// Code around the pc of a context and its registers, for the message of an exception; a few lines.
[[nodiscard]] std::string context_dump(Machine& machine, TileRef tile, ContextId context);

/// Every IPU: where its tiles stand; all contexts of the tile with the first exception, or, without one, of the first
/// tile of each group of tiles that stand alike (at most 16 an IPU).
[[nodiscard]] std::string machine_dump(Machine& machine);

}  // namespace tessera::cli
