#include "host/profile/cycles.h"

#include <algorithm>
#include <stdexcept>

namespace tessera::profile {

CycleSums& CycleSums::operator+=(const CycleSums& other) {
  compute += other.compute;
  exchange += other.exchange;
  sync += other.sync;
  idle += other.idle;
  return *this;
}

CycleProfile::CycleProfile(unsigned ipus, unsigned tiles)
    : tiles_per_ipu_(tiles),
      open_(static_cast<std::size_t>(ipus) * tiles),
      sums_(static_cast<std::size_t>(ipus) * tiles) {}

void CycleProfile::event(const MachineEvent& event) {
  const std::size_t index = static_cast<std::size_t>(event.ipu) * tiles_per_ipu_ + event.tile;
  Open& open = open_.at(index);
  using Kind = MachineEvent::Kind;
  switch (event.kind) {
    case Kind::start:
      start_ = started_ ? std::min(start_, event.cycle) : event.cycle;
      started_ = true;
      [[fallthrough]];
    case Kind::sync_release:
      close(index, event.cycle);
      open = Open();
      open.any = true;
      open.release = event.cycle;
      open.pc = event.pc;
      if (event.tile == 0 && event.ipu == 0) ++supersteps_;
      break;
    case Kind::sync_arrive:
      open.arrived = true;
      open.arrival = event.cycle;
      last_arrival_ = std::max(last_arrival_, event.cycle);
      break;
    case Kind::exchange_begin:
      open.exchanged = true;
      open.exchange_begin = event.cycle;
      break;
    case Kind::exchange_end:
      open.exchange_end = event.cycle;
      break;
    case Kind::run:
      open.ran = true;
      open.last_exit = std::max(open.last_exit, event.cycle);
      break;
    case Kind::exit:
      open.last_exit = std::max(open.last_exit, event.cycle);
      break;
    case Kind::packet_done:
      break;
  }
}

void CycleProfile::close(std::size_t index, Cycle at) {
  const Open& open = open_[index];
  if (!open.any) return;
  if (at < open.release) throw std::logic_error("profile: events of a tile run backwards");
  const Cycle end = open.arrived ? std::min(open.arrival, at) : at;
  CycleSums sums;
  sums.sync = at - end;
  Cycle begin = open.release;
  if (open.exchanged && open.exchange_end >= open.exchange_begin) {
    sums.exchange = std::min(open.exchange_end + 1, end) - std::min(open.exchange_begin, end);
    begin = std::min(std::max(begin, open.exchange_end + 1), end);
  }
  if (open.ran) sums.compute = std::max(std::min(open.last_exit + 6, end), begin) - begin;
  sums.idle = (at - open.release) - sums.sync - sums.exchange - sums.compute;
  sums_[index] += sums;
  StepSums& step = steps_[open.pc];
  step.tiles += sums;
  if (index % tiles_per_ipu_ == 0) {
    step.executions += 1;
    step.cycles += at - open.release;
  }
}

void CycleProfile::finish(Cycle cycle) {
  for (std::size_t index = 0; index < open_.size(); ++index) {
    close(index, cycle);
    open_[index].any = false;
  }
}

}  // namespace tessera::profile
