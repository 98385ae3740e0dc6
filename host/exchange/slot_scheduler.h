// Start times near the bound for traffic that is mostly between pairs of tiles: slots of equal length, filled by an
// open shop. Internal to the scheduler.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "host/exchange/messages.h"
#include "host/exchange/transfers.h"

namespace tessera::exchange {

/// Transfers cut where a port had to leave one for another, and when each starts, in spine time.
struct Slotted {
  Transfers transfers;
  std::vector<std::int64_t> start;
};

/// Schedules transfers, none of them a sweep, so as to end about at cycle `end` if that can be. Multicasts are divided
/// as far as their senders have time for it; what is left of them comes first. `first`: first_times of all ports, from
/// which what was put in order starts as soon as it can. `aligned`: slots are the same for all ports, as if all were as
/// far away as the farthest; then there is a schedule in which the busiest port never pauses. Otherwise each port has
/// slots from when its first word can leave until its last word arrives at `end`: shorter, if it works out.
/// Nothing if there are too many pairs or a sweep.
[[nodiscard]] std::optional<Slotted> schedule_by_slots(const Transfers& transfers, const Delays& delays,
                                                       const std::vector<std::int64_t>& first, std::int64_t end,
                                                       bool aligned);

}  // namespace tessera::exchange
