// The preemptive open shop in slots: which pairs of ports work together in which slot. Internal to the scheduler; knows
// nothing of words and cycles.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace tessera::exchange {

/// Work between two ports of different sides, in slots. A pair of ports has at most one job.
struct Job {
  unsigned sender, receiver;  ///< ports
  std::uint32_t slots;
};

struct ShopPort {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> blocked;  ///< slots [first, second) without it, in order
  std::uint32_t deadline = 0;                                    ///< should be done before this slot
};

/// A job works in slots [slot, slot + slots).
struct Run {
  std::uint32_t job, slot, slots;
};

/// Runs in order of slots that do all jobs; in no slot has a port more than one job. If no port has more slots to work
/// than there are before one deadline common to all, and none is blocked, all deadlines are met (Koenig: a bipartite
/// multigraph has an edge colouring with as many colours as its largest degree; found slot by slot, after Gonzalez and
/// Sahni, "Open Shop Scheduling to Minimize Finish Time", 1976). Otherwise ports that can wait give way to those that
/// cannot, and some may be late. A job goes on from slot to slot unless a port that may not pause needs its partner.
/// Time: ports x slots at which something changes, and a search through the jobs for each preemption.
[[nodiscard]] std::vector<Run> open_shop(const std::vector<Job>& jobs, const std::vector<ShopPort>& ports);

}  // namespace tessera::exchange
