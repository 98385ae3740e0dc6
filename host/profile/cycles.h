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
  std::uint64_t executions = 0;  ///< releases of tile 0 of the first IPU that runs the program
  std::uint64_t cycles = 0;      ///< release to release, summed over executions
  CycleSums tiles;               ///< summed over tiles
};

class CycleProfile : public EventObserver {
 public:
  /// tiles per IPU. `programs`: number of the program of each IPU; empty: all run number 0. IPUs without a program
  /// have any number and no events.
  CycleProfile(unsigned ipus, unsigned tiles, std::vector<unsigned> programs = {});

  void event(const MachineEvent& event) override;
  /// Closes the last superstep of every tile at `cycle` (>= every event). Call once.
  void finish(Cycle cycle);

  /// Per tile, from its first event's superstep to the end. Index ipu * tiles + tile.
  [[nodiscard]] const std::vector<CycleSums>& tiles() const { return sums_; }
  /// Steps of a program by the pc at which its tiles were released (the step's key, executable pc -> step): sums over
  /// executions and over all IPUs that run it.
  [[nodiscard]] const std::map<Address, StepSums>& steps(unsigned program = 0) const { return steps_.at(program); }
  [[nodiscard]] unsigned ipus() const { return static_cast<unsigned>(starts_.size()); }
  [[nodiscard]] unsigned programs() const { return static_cast<unsigned>(steps_.size()); }
  /// Of the lowest IPU that ran.
  [[nodiscard]] std::uint64_t supersteps() const { return supersteps_; }
  /// Cycle in which the first supervisors were started.
  [[nodiscard]] Cycle start() const { return start_; }
  /// The same for one IPU; total() of each of its tiles = finish cycle - this. kNever if it was not started.
  [[nodiscard]] Cycle start_of(unsigned ipu) const { return starts_.at(ipu); }
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
  std::vector<unsigned> programs_;  // by IPU
  std::vector<unsigned> counts_;    // by program: the first IPU that ran it, whose executions are counted
  std::vector<Open> open_;
  std::vector<CycleSums> sums_;
  std::vector<std::map<Address, StepSums>> steps_;  // by program
  std::vector<Cycle> starts_;                       // by IPU
  std::uint64_t supersteps_ = 0;
  Cycle start_ = 0, last_arrival_ = 0;
  bool started_ = false;
};

}  // namespace tessera::profile
