// Exchange steps as scheduled tables, and host steps as packet tables.
#pragma once

#include <vector>

#include "host/compiler/allocate.h"
#include "host/compiler/ir.h"
#include "host/exchange/schedule.h"
#include "hw/platform.h"

namespace tessera::compiler {

/// Words of a step as messages: words that several tiles need from the same place are sent once.
[[nodiscard]] exchange::Messages make_messages(const ExchangeStep& step, const Allocation& allocation);

/// Schedules a step and proves the schedule with the independent checker. Throws Error (does_not_fit, internal).
[[nodiscard]] exchange::Schedule schedule_step(const ExchangeStep& step, const Allocation& allocation,
                                               const Platform& platform);

/// All steps, several at a time on threads; the result does not depend on how many. An error is that of the first step
/// that has one. `poll` is called before each.
[[nodiscard]] std::vector<exchange::Schedule> schedule_steps(const std::vector<ExchangeStep>& steps,
                                                             const Allocation& allocation, const Platform& platform,
                                                             const std::function<void()>& poll = {});

/// Packet table of a host step by tile; empty where a tile has nothing to move.
[[nodiscard]] std::vector<std::vector<std::uint64_t>> packet_tables(const Ir& ir, const HostStep& step,
                                                                    const Allocation& allocation);

}  // namespace tessera::compiler
