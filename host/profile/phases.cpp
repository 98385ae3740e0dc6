#include "host/profile/phases.h"

#include <algorithm>

namespace tessera::profile {

PhaseCheck::PhaseCheck(const executable::Program& program, unsigned ipu) : program_(program), ipu_(ipu) {}

void PhaseCheck::event(const MachineEvent& event) {
  using Kind = MachineEvent::Kind;
  if (event.ipu != ipu_) return;
  if (event.kind == Kind::sync_release && event.cycle != release_) {  // all tiles are released in one cycle
    close();
    release_ = event.cycle;
  }
  if (event.kind != Kind::exchange_end) return;
  const executable::TileTable* table = executable::find_table(program_, event.tile, event.a0);
  if (table == nullptr) return;
  phase_ = table->phase;
  last_word_ = std::max(last_word_, event.cycle);
}

void PhaseCheck::close() {
  if (phase_ != kNone) {
    const Cycle predicted = program_.phases.at(phase_).cycles, measured = last_word_ - release_ + 1;
    ++compared_;
    if (predicted != measured) differences_.push_back({phase_, release_, predicted, measured});
  }
  phase_ = kNone;
  last_word_ = 0;
}

void PhaseCheck::finish() { close(); }

}  // namespace tessera::profile
