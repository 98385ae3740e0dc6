// Addresses of the handlers of threaded code, as run_threaded() tells them; read by what makes operations
// (threaded.cpp).
#pragma once

#include <array>

#include "hw/generated/isa.h"
#include "tlm/tile/tlm_tile.h"

namespace tessera {

/// By instruction. `paired`: as MAIN of a pair; `far`: a jump that leaves its page, or a repeat whose body must be
/// looked at when it is reached; `other`: the variant for another rounding field.
struct TlmTile::Handlers {
  std::array<const void*, isa::kOpCount> plain{}, paired{}, far{}, other{};
  const void* slow = nullptr;
  const void* generic_float = nullptr;
  const void* undecoded = nullptr;
  const void* page_end = nullptr;
  const void* loop_end = nullptr;
  const void* amp_group = nullptr;
};

/// Reads the private table.
class HandlerAccess {
 public:
  using Handlers = TlmTile::Handlers;
  static const Handlers& get() { return TlmTile::handlers(); }
};

}  // namespace tessera
