// The record by which the firmware routine tessera_amp (firmware/boot/amp.S) runs one AMP vertex.
#pragma once

#include <array>
#include <cstdint>

#include "hw/types.h"

namespace tessera {

/// Bytes of a set of weights, loaded by one x.amp.ldw.
inline constexpr std::uint32_t kAmpSetBytes = 256;

/// A list is records one behind the other and a word 0.
using AmpRecord = std::array<std::uint32_t, 6>;
inline constexpr std::uint32_t kAmpRecordWeights = 2;  ///< word that says where the sets stand; the next: their offsets

/// weights, offsets: where the vertex's sets and their words stand; sets: how many, at least 1.
[[nodiscard]] constexpr AmpRecord amp_record(Address fn, Address state, Address weights, Address offsets,
                                             std::uint32_t sets) {
  constexpr std::uint32_t kUnrolled = 16;      // sets a pass of the loop
  constexpr std::uint32_t kSetCodeBytes = 12;  // three instructions
  const std::uint32_t skipped = (0U - sets) % kUnrolled;
  return {fn, state, weights, offsets - 4 * skipped, sets + skipped, kSetCodeBytes * skipped};
}

}  // namespace tessera
