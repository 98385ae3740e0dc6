// Machines of TLM, RTL or lockstep tiles, each in a process of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tlm/system/system.h"
#include "verif/compiler/graph_machine.h"

namespace tessera::testing {

[[nodiscard]] TileFactory tiles_of(TileMode mode);

/// What f returns in a child process; a failure of the child is a failure of the test.
[[nodiscard]] std::vector<std::uint8_t> run_in_process(const std::function<std::vector<std::uint8_t>()>& f);

/// Bytes of these exposed tensors one behind the other, then the cycle counter (8 bytes): what runs of all kinds of
/// tiles are compared by.
[[nodiscard]] inline std::vector<std::uint8_t> tensors_and_cycles(GraphMachine& m,
                                                                  std::initializer_list<const char*> names) {
  std::vector<std::uint8_t> results;
  for (const char* name : names) {
    const auto bytes = m.engine().read_tensor(name);
    results.insert(results.end(), bytes.begin(), bytes.end());
  }
  const std::uint64_t cycles = m.driver().counters(0).cycles;
  const auto* at = reinterpret_cast<const std::uint8_t*>(&cycles);
  results.insert(results.end(), at, at + 8);
  return results;
}

}  // namespace tessera::testing
