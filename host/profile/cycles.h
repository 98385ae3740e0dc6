// Where each tile's cycles went: compute + exchange + sync + idle = total, for every tile and superstep.
//
// Definitions, between one release Z and the next release Z' of a tile:
//   exchange  first to last cycle with a word on a port of the tile
//   compute   from the release (after an exchange: from the end of it) to 6 cycles after the last worker's x.exit, if
//             any worker ran
//   sync      from the tile's arrival to Z'
//   idle      the rest: supervisor instructions, waits for the first word
// The start of a program counts as a release. What comes after the last release counts as a superstep that ends at the
// end of the run. Fed by machine events; the machine spends no instruction, memory or cycle on it.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "hw/event.h"
#include "hw/types.h"

namespace tessera::profile {

struct CycleSums {
  std::uint64_t compute = 0, exchange = 0, sync = 0, idle = 0;  ///< cycles
  [[nodiscard]] std::uint64_t total() const { return compute + exchange + sync + idle; }
  CycleSums& operator+=(const CycleSums& other);
};

/// Sums of a superstep over all its executions.
struct StepSums {
  std::uint64_t executions = 0;  ///< releases counted on the tile that saw most
  std::uint64_t cycles = 0;      ///< release to release, summed over executions
  CycleSums tiles;               ///< summed over tiles
};

class CycleProfile : public EventObserver {
 public:
  /// tiles per IPU.
  CycleProfile(unsigned ipus, unsigned tiles);

  void event(const MachineEvent& event) override;
  /// Closes the last superstep of every tile at `cycle` (>= every event). Call once.
  void finish(Cycle cycle);

  /// Per tile, from its first event's superstep to the end. Index ipu * tiles + tile.
  [[nodiscard]] const std::vector<CycleSums>& tiles() const { return sums_; }
  /// Per pc at which tile 0 of an IPU was released (the step's key, executable pc -> step): sums over executions.
  [[nodiscard]] const std::map<Address, StepSums>& steps() const { return steps_; }
  [[nodiscard]] std::uint64_t supersteps() const { return supersteps_; }
  /// Cycle in which the supervisors were started; total() of every tile = finish cycle - this.
  [[nodiscard]] Cycle start() const { return start_; }
  /// Last arrival at a sync: of a program that ended, the cycle in which it did.
  [[nodiscard]] Cycle last_arrival() const { return last_arrival_; }

 private:
  struct Open {  // the superstep a tile is in
    bool any = false;
    Cycle release = 0;
    Address pc = 0;
    bool exchanged = false;
    Cycle exchange_begin = 0, exchange_end = 0;
    bool ran = false;
    Cycle last_exit = 0;
    bool arrived = false;
    Cycle arrival = 0;
  };
  void close(std::size_t index, Cycle at);

  unsigned tiles_per_ipu_;
  std::vector<Open> open_;
  std::vector<CycleSums> sums_;
  std::map<Address, StepSums> steps_;
  std::uint64_t supersteps_ = 0;
  Cycle start_ = 0, last_arrival_ = 0;
  bool started_ = false;
};

}  // namespace tessera::profile
