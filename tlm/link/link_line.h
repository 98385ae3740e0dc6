// The line between two ports: training, lanes, and whether the medium is whole. Both ends see its state change in the
// same cycle. Sequence numbers, credits and packets are the ports' (link_port.cpp).
//
// An attempt to train lasts `link.training` cycles from when both ends want it and succeeds if the medium was whole all
// the time and at least one lane is left. After `link.max_trainings` attempts without success the line is given up.
#pragma once

#include <array>
#include <string>
#include <systemc>
#include <vector>

#include "hw/platform.h"
#include "hw/types.h"
#include "tlm/link/link_port.h"
#include "tlm/system/clock.h"

namespace tessera {

/// What a line tells its ends.
class LineEnd {
 public:
  virtual ~LineEnd() = default;
  virtual void line_up(Cycle now, unsigned lanes) = 0;
  virtual void line_down(Cycle now) = 0;
  virtual void line_failed(const std::string& why) = 0;
  /// The other end was reset.
  virtual void peer_reset(Cycle now) = 0;
};

class LinkLine : public sc_core::sc_module {
 public:
  LinkLine(const sc_core::sc_module_name& name, const Platform& platform, LineEnd& first, LineEnd& second);

  [[nodiscard]] LinkState state(unsigned end) const;
  [[nodiscard]] bool up() const { return state_ == LinkState::up; }
  [[nodiscard]] unsigned lanes() const { return lanes_; }
  [[nodiscard]] const std::string& why() const { return why_; }

  void train(unsigned end);
  void disable();
  /// An end that is up cannot get a packet across: train again.
  void retrain();
  void give_up(const std::string& why);
  void reset(unsigned end);

  /// The medium is broken in [from, until).
  void break_medium(Cycle from, Cycle until);
  /// So many lanes are dead in [from, until).
  void lose_lanes(Cycle from, Cycle until, unsigned count);
  void heal();

 private:
  struct Damage {
    Cycle from = 0, until = 0;
    unsigned lanes = 0;  // all of them: the medium is broken
    bool seen = false;   // the line has gone down for it
  };
  void step();
  void go_down(Cycle now, LinkState state);
  void start_attempt(Cycle now);
  void end_attempt(Cycle now);
  void wake_at(Cycle cycle, Cycle now);
  [[nodiscard]] Cycle now() const { return clock_.cycle_at(sc_core::sc_time_stamp()); }
  void add(const Damage& damage);

  TileClock clock_;
  unsigned all_lanes_, max_trainings_;
  Cycle training_;
  std::array<LineEnd*, 2> ends_;
  std::array<bool, 2> wants_{};
  LinkState state_ = LinkState::down;
  unsigned lanes_ = 0, attempts_ = 0;
  Cycle attempt_start_ = 0, attempt_end_ = kNever;
  std::vector<Damage> damage_;
  std::string why_;
  sc_core::sc_event event_;
};

}  // namespace tessera
