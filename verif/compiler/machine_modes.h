// Machines of TLM, RTL or lockstep tiles, each in a process of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tlm/system/system.h"

namespace tessera::testing {

[[nodiscard]] TileFactory tiles_of(TileMode mode);

/// What f returns in a child process; a failure of the child is a failure of the test.
[[nodiscard]] std::vector<std::uint8_t> run_in_process(const std::function<std::vector<std::uint8_t>()>& f);

}  // namespace tessera::testing
