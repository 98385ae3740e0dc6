// Start times for transfers, in spine time. Internal to the scheduler; two algorithms, the shorter result is taken.
#pragma once

#include <cstdint>
#include <vector>

#include "host/exchange/transfers.h"

namespace tessera::exchange {

/// What a port costs: a descriptor of w words takes max(w, 2) cycles.
inline std::uint32_t cost(std::uint32_t words) { return words < 2 ? 2 : words; }

/// First spine time of each port: senders 0..tiles-1, then receivers. `aligned`: all as the latest one, so that regular
/// traffic between equal tiles stays in step.
[[nodiscard]] std::vector<std::int64_t> first_times(const Delays& delays, unsigned earliest, bool aligned);

/// Time-driven list scheduling: whenever a port becomes free it is matched with a free partner, of those with most
/// remaining load, that has something for it. Transfers with several receivers or senders are placed at the first time
/// at which all of their ports are free. Near the bound for traffic between pairs; about 1 us a transfer.
[[nodiscard]] std::vector<std::int64_t> schedule_by_time(const Transfers& transfers, unsigned tiles,
                                                         const std::vector<std::int64_t>& first);

/// Transfers in order of the load of their busiest port, each at the first gap common to its ports. Fills the gaps that
/// multicasts leave.
[[nodiscard]] std::vector<std::int64_t> schedule_by_gap(const Transfers& transfers, unsigned tiles,
                                                        const std::vector<std::int64_t>& first);

}  // namespace tessera::exchange
