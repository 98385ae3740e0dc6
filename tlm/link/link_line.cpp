// See link_line.h.
#include "tlm/link/link_line.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera {

LinkLine::LinkLine(const sc_core::sc_module_name& name, const Platform& platform, LineEnd& first, LineEnd& second)
    : sc_module(name),
      clock_(platform.clock_hz),
      all_lanes_(platform.link.lanes),
      max_trainings_(platform.link.max_trainings),
      training_(platform.link.training),
      ends_{&first, &second} {
  SC_HAS_PROCESS(LinkLine);
  SC_METHOD(step);
  sensitive << event_;
  dont_initialize();
}

LinkState LinkLine::state(unsigned end) const {
  return state_ == LinkState::down && wants_[end] ? LinkState::training : state_;
}

void LinkLine::wake_at(Cycle cycle, Cycle now) {
  if (cycle == kNever) return;
  event_.notify(cycle <= now ? sc_core::SC_ZERO_TIME : clock_.time_of(cycle) - sc_core::sc_time_stamp());
}

void LinkLine::train(unsigned end) {
  if (state_ == LinkState::up || state_ == LinkState::training) return;
  if (state_ == LinkState::failed) state_ = LinkState::down, wants_ = {};
  wants_[end] = true;
  if (!wants_[0] || !wants_[1]) return;
  attempts_ = 0;
  start_attempt(now());
}

void LinkLine::disable() {
  wants_ = {};
  if (state_ != LinkState::failed) go_down(now(), LinkState::down);
}

void LinkLine::retrain() {
  if (!up()) return;
  go_down(now(), LinkState::training);
  attempts_ = 0;
  start_attempt(now());
}

void LinkLine::reset(unsigned end) {
  wants_[end] = false;
  if (state_ != LinkState::down) {
    wants_ = {};
    go_down(now(), LinkState::down);
  }
  ends_[1 - end]->peer_reset(now());
}

void LinkLine::go_down(Cycle now, LinkState state) {
  const bool was_up = up();
  state_ = state;
  lanes_ = 0;
  attempt_end_ = kNever;
  if (!was_up) return;
  for (LineEnd* end : ends_) end->line_down(now);
}

void LinkLine::start_attempt(Cycle now) {
  state_ = LinkState::training;
  attempt_start_ = now;
  attempt_end_ = now + training_;
  wake_at(attempt_end_, now);
}

void LinkLine::end_attempt(Cycle now) {
  unsigned dead = 0;
  for (const Damage& damage : damage_)
    if (damage.from < now && damage.until > attempt_start_) dead += std::min(damage.lanes, all_lanes_);
  if (dead < all_lanes_) {
    attempt_end_ = kNever;
    state_ = LinkState::up;
    lanes_ = all_lanes_ - dead;
    for (LineEnd* end : ends_) end->line_up(now, lanes_);
    return;
  }
  if (++attempts_ < max_trainings_) return start_attempt(now);
  give_up(fmt::format("{} attempts to train it had no success", attempts_));
}

void LinkLine::give_up(const std::string& why) {
  const Cycle cycle = now();
  why_ = why;
  wants_ = {};
  go_down(cycle, LinkState::failed);
  for (LineEnd* end : ends_) end->line_failed(why);
}

void LinkLine::add(const Damage& damage) {
  damage_.push_back(damage);
  wake_at(damage.from, now());
}

void LinkLine::break_medium(Cycle from, Cycle until) { add({from, until, all_lanes_}); }

void LinkLine::lose_lanes(Cycle from, Cycle until, unsigned count) { add({from, until, count}); }

void LinkLine::heal() { damage_.clear(); }

void LinkLine::step() {
  const Cycle cycle = now();
  // An attempt that ends in the cycle in which something breaks was still good.
  if (state_ == LinkState::training && attempt_end_ <= cycle) end_attempt(cycle);
  Cycle next = attempt_end_;
  for (Damage& damage : damage_) {
    if (damage.from > cycle) {
      next = std::min(next, damage.from);
    } else if (!damage.seen) {
      damage.seen = true;
      if (damage.until > cycle) retrain();
      next = std::min(next, attempt_end_);
    }
  }
  wake_at(next, cycle);
}

}  // namespace tessera
