// Files of the build that are carried inside the program, so that it works from anywhere.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tessera {

/// The relocatable object of all codelets and firmware (build/lib/tessera/codelets.o).
[[nodiscard]] std::vector<std::uint8_t> embedded_codelets();
/// The headers tessera/vertex.h, machine.h and xtile.h by name, for user codelets.
[[nodiscard]] std::map<std::string, std::string> embedded_headers();
/// Flags of the codelet compiler, separated by spaces.
[[nodiscard]] std::string codelet_compiler_flags();

}  // namespace tessera
