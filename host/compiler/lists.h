// Run lists and vertex state of a tile: which worker runs which vertices, as few records as the
// vertices' regularity allows.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "host/compiler/allocate.h"
#include "host/compiler/ir.h"
#include "host/executable/executable.h"

namespace tessera::compiler {

struct TileList {
  std::vector<std::uint32_t> words;  ///< lists, records, states; to stand at the given address
  Address list = 0, amp = 0;         ///< run list, list of AMP records; 0: none
  std::vector<executable::VertexRecord> records;
  std::vector<Address> in_window;        ///< words that point into the function's window
  std::uint64_t slowest = 0, total = 0;  ///< estimated cycles: the busiest worker, all six together
};

/// Addresses of codelets by name.
using CodeAddresses = std::map<std::string, Address>;

/// The list of one compute step on one tile. `calls` are all of that tile; `base` is where the words will stand (4-byte
/// aligned). `window`: variables that the list reads in the first block of its function's window, ascending.
[[nodiscard]] TileList make_list(const std::vector<const Calls*>& calls, std::uint32_t tile, Address base,
                                 const Allocation& allocation, const CodeAddresses& code,
                                 const std::vector<std::uint32_t>& window = {});

}  // namespace tessera::compiler
