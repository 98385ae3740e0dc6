#include "host/profile/spans.h"

#include <algorithm>

namespace tessera::profile {

void SuperstepSpans::event(const MachineEvent& event) {
  using Kind = MachineEvent::Kind;
  Open& open = open_.at(event.ipu);
  switch (event.kind) {
    case Kind::start:
    case Kind::sync_release:
      if (open.any && event.cycle == open.release) break;  // all tiles are released in one cycle
      close(event.ipu, event.cycle);
      open = {true, event.cycle, event.pc, 0, 0};
      break;
    case Kind::exchange_end:
      open.moved = std::max(open.moved, event.cycle + 1);
      break;
    case Kind::packet_done:
      open.moved = std::max(open.moved, event.cycle);
      break;
    case Kind::exit:
      open.computed = std::max(open.computed, event.cycle + 6);  // the slot of the x.exit
      break;
    default:
      break;
  }
}

void SuperstepSpans::close(unsigned ipu, Cycle at) {
  const Open& open = open_[ipu];
  if (!open.any) return;
  const Cycle moved = std::clamp(open.moved, open.release, std::max(at, open.release));
  const Cycle computed = std::clamp(open.computed, moved, std::max(at, moved));
  Span& span = spans_[ipu][open.pc];
  ++span.executions;
  span.moving += moved - open.release;
  span.longest_moving = std::max(span.longest_moving, moved - open.release);
  span.computing += computed - moved;
  span.waiting += std::max(at, computed) - computed;
}

void SuperstepSpans::finish(Cycle cycle) {
  for (unsigned ipu = 0; ipu < open_.size(); ++ipu) {
    close(ipu, cycle);
    open_[ipu].any = false;
  }
}

}  // namespace tessera::profile
