#include "host/profile/cycles.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace tessera::profile {

CycleSums& CycleSums::operator+=(const CycleSums& other) {
  compute += other.compute;
  exchange += other.exchange;
  sync += other.sync;
  idle += other.idle;
  return *this;
}

namespace {
constexpr unsigned kNobody = ~0U;
}

CycleProfile::CycleProfile(unsigned ipus, unsigned tiles, std::vector<unsigned> programs)
    : tiles_per_ipu_(tiles),
      programs_(std::move(programs)),
      open_(static_cast<std::size_t>(ipus) * tiles),
      sums_(static_cast<std::size_t>(ipus) * tiles),
      starts_(ipus, kNever) {
  programs_.resize(ipus, 0);
  const unsigned most = programs_.empty() ? 0 : *std::max_element(programs_.begin(), programs_.end());
  steps_.resize(most + 1);
  counts_.resize(most + 1, kNobody);
}

void CycleProfile::event(const MachineEvent& event) {
  const std::size_t index = static_cast<std::size_t>(event.ipu) * tiles_per_ipu_ + event.tile;
  Open& open = open_.at(index);
  using Kind = MachineEvent::Kind;
  switch (event.kind) {
    case Kind::start:
      start_ = started_ ? std::min(start_, event.cycle) : event.cycle;
      started_ = true;
      starts_.at(event.ipu) = std::min(starts_.at(event.ipu), event.cycle);
      [[fallthrough]];
    case Kind::sync_release:
      close(index, event.cycle);
      open = Open();
      open.any = true;
      open.release = event.cycle;
      open.pc = event.pc;
      if (event.tile == 0) {
        unsigned& counted = counts_[programs_[event.ipu]];
        counted = std::min(counted, unsigned{event.ipu});
        if (*std::min_element(counts_.begin(), counts_.end()) == event.ipu) ++supersteps_;
      }
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
  const unsigned program = programs_[index / tiles_per_ipu_];
  StepSums& step = steps_[program][open.pc];
  step.tiles += sums;
  if (index == std::size_t{counts_[program]} * tiles_per_ipu_) {
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
