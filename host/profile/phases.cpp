#include "host/profile/phases.h"

#include <algorithm>

namespace tessera::profile {

PhaseCheck::PhaseCheck(const executable::Executable& executable) : executable_(executable) {
  for (const executable::Instance& instance : executable.instances) {
    if (instance.ipu >= open_.size()) open_.resize(instance.ipu + 1);
    open_[instance.ipu].program = instance.program;
    open_[instance.ipu].ipu = instance.ipu;
  }
}

void PhaseCheck::event(const MachineEvent& event) {
  using Kind = MachineEvent::Kind;
  if (event.ipu >= open_.size() || open_[event.ipu].program == kNone) return;
  Open& open = open_[event.ipu];
  if (event.kind == Kind::sync_release && event.cycle != open.release) {  // all tiles are released in one cycle
    close(open);
    open.release = event.cycle;
  }
  if (event.kind != Kind::exchange_end) return;
  const executable::TileTable* table =
      executable::find_table(executable_.programs.at(open.program), event.tile, event.a0);
  if (table == nullptr) return;
  open.phase = table->phase;
  open.last_word = std::max(open.last_word, event.cycle);
}

void PhaseCheck::close(Open& open) {
  if (open.phase != kNone) {
    const Cycle predicted = executable_.programs.at(open.program).phases.at(open.phase).cycles;
    const Cycle measured = open.last_word - open.release + 1;
    ++compared_;
    if (predicted != measured)
      differences_.push_back({open.program, open.ipu, open.phase, open.release, predicted, measured});
  }
  open.phase = kNone;
  open.last_word = 0;
}

void PhaseCheck::finish() {
  for (Open& open : open_) close(open);
}

}  // namespace tessera::profile
