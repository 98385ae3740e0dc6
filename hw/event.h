// Machine events for profiles: what happened when, at no cost to the machine (no instruction, no memory, no cycle).
#pragma once

#include <cstdint>

#include "hw/types.h"

namespace tessera {

struct MachineEvent {
  enum class Kind : std::uint8_t {
    sync_arrive,     ///< the tile raises its line; a0 = zone
    sync_release,    ///< release Z; a0 = zone
    exchange_begin,  ///< first cycle with a word on a port of the tile (X if there is none); a0 = table
    exchange_end,    ///< last such cycle (L); a0 = table
    run,             ///< a worker's first issue; pc = its entry, a0 = first argument
    exit,            ///< issue cycle of a worker's x.exit; pc of it, a0 = exit code
    start,           ///< the supervisor was started: its first issue is at or after this cycle; pc = entry
    packet_done,     ///< the tile's packet window is complete; a0 = words received
  };
  Cycle cycle = 0;
  std::uint16_t ipu = 0, tile = 0;
  ContextId context = 0;
  Kind kind = Kind::sync_arrive;
  Address pc = 0;  ///< of the context; 0 where it has no meaning
  std::uint32_t a0 = 0;
};

/// Receives events. Of one IPU in order of their cycles, in a cycle by tile; between IPUs in an order that does not
/// depend on host threads.
class EventObserver {
 public:
  virtual ~EventObserver() = default;
  virtual void event(const MachineEvent& event) = 0;
};

}  // namespace tessera
