// Threaded operations made from decoded instructions (threaded.cpp); the handlers live in tlm_fast.cpp.
#pragma once

#include "tlm/tile/code_cache.h"

namespace tessera {

/// The operation for word `index` of a page, which stands at `pc`.
[[nodiscard]] FastOp threaded_op(const Decoded& in, unsigned index, Address pc);
/// Stands for a doubleword that must be decoded when it is reached.
[[nodiscard]] FastOp undecoded_op();
/// Stands behind the last word of a page.
[[nodiscard]] FastOp page_end_op();
/// True for what never goes on to the next word as threaded code: jumps, and everything left to the slow path.
[[nodiscard]] bool leaves_straight_line(const Decoded& in);

/// True for what traps inside an active x.rpt.
[[nodiscard]] bool transfers_control(const Decoded& in);

}  // namespace tessera
