// The independent proof of an exchange schedule: reads the tables as the machine would and compares what arrives where
// with the messages. Shares no code with the scheduler.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/exchange/schedule.h"

namespace tessera::exchange {

/// Nothing if the tables carry exactly the messages: descriptors well formed and in time (spacing, first start, order),
/// one word per sender and receiver in a cycle, every destination word written once from the right source word, every
/// listening cycle with a word, no word sent from where one is received, and the phase ends as the schedule says.
/// Otherwise a sentence that names tile, descriptor and cycle.
[[nodiscard]] std::optional<std::string> check(const Schedule& schedule, const std::vector<Message>& messages,
                                               const Platform& platform, const ScheduleOptions& options = {});

}  // namespace tessera::exchange
