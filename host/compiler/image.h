// The memory of a tile below the data: where regions stand, the linked codelets and which tiles hold which, the holes.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "host/codelets/linker.h"
#include "host/compiler/allocate.h"
#include "host/compiler/control.h"
#include "host/compiler/ir.h"

namespace tessera::compiler {

/// Boundaries of the memory plan, multiples of 64 bytes.
struct Plan {
  Address start = 0, control = 0, code = 0, steps = 0, lists = 0, exchange = 0, stacks = 0, data = 0;
};

[[nodiscard]] constexpr Address align_region(Address address) { return (address + 63) / 64 * 64; }

struct CodeImage {
  LinkedImage image;
  std::vector<std::vector<std::size_t>> blobs;   ///< of each tile, ascending
  std::vector<std::uint8_t> tile_class;          ///< 0..15: tiles of equal code
  std::vector<std::vector<AddressRange>> holes;  ///< free ranges of the code region, by tile
  std::uint32_t worker_stack = 0;                ///< bytes, multiple of 16

  [[nodiscard]] FirmwareEntries firmware() const;
};

/// Present blobs, classes and holes of every tile. `present`: by tile, indices of image.blobs; made whole where blobs
/// share a word. worker_stack is left 0.
[[nodiscard]] CodeImage place_code(LinkedImage image, std::vector<std::set<std::size_t>> present);

/// Bytes of a worker's stack, from the deepest chain of calls of any codelet in the image.
[[nodiscard]] std::uint32_t worker_stack_bytes(std::uint32_t deepest);

/// Links firmware and used codelets at `base`.
[[nodiscard]] CodeImage link_code(const Ir& ir, const CodeletLibrary& library, Address base);

}  // namespace tessera::compiler
