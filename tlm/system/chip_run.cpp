// How a program runs on a chip: supersteps, syncs and their times, every way in which a run ends. See chip.h.
#include <fmt/format.h>

#include <algorithm>

#include "hw/generated/registers.h"
#include "tlm/system/chip.h"

namespace tessera {

namespace {
constexpr unsigned kHostSync = 0, kException = 1, kStopped = 3;  // causes of interrupts
}

void Chip::apply_settings() {
  for (unsigned t = 0; t < config_.ipu.tiles; ++t)
    ipu_.set_active(t, (shadow(reg::chip::kActive + 4 * (t / 32)) >> (t % 32) & 1) != 0);
  const std::uint32_t groups = shadow(reg::chip::kGroups);
  const bool group1 = reg::chip::kGroupsGs1.get(groups) != 0, group2 = reg::chip::kGroupsGs2.get(groups) != 0;
  for (unsigned t = 0; t < config_.ipu.tiles; ++t) ipu_.tile(t).set_groups(group1, group2);
}

void Chip::run_program() {
  boot_request_ = false;
  if (state_ != State::held) return;  // running or stopped chips are reset first
  apply_settings();
  if (ipu_.sync().active_tiles() == 0) return raise(kStopped);
  state_ = State::running;
  if (started) started();
  const Cycle asked = (Cycle{shadow(reg::chip::kBootCycleHigh)} << 32) | shadow(reg::chip::kBootCycleLow);
  const Cycle start = std::max(now(), asked);
  cycle_limit_ = config_.max_cycles == 0 || config_.max_cycles > kNever - start ? kNever : start + config_.max_cycles;
  expect_sync(start);
  ipu_.boot(shadow(reg::chip::kBootPc), start);
  Cycle ahead = 0;
  while (!reset_request_) {
    if (now() >= ahead) ahead = now() + config_.quantum;
    const Cycle limit = std::min({ahead, cycle_limit_, idle_limit_});
    const Ipu::Outcome outcome = ipu_.advance(limit, now() + ipu_.lanes().lookahead());
    pass_packets();
    if (!answer(outcome, limit)) return;
    if (fault_) return stop_with_outside_fault();
  }
}

bool Chip::answer(Ipu::Outcome outcome, Cycle limit) {
  switch (outcome) {
    case Ipu::Outcome::running:
      wait_for_packets(std::min(ipu_.tiles_running() ? limit : kNever, ipu_.wanted()));
      if (!reset_request_) check_cycle_limit();
      return true;
    case Ipu::Outcome::arrived:
      return finish_sync();
    case Ipu::Outcome::exception:
      stop_with_exception();
      return false;
    case Ipu::Outcome::conflict:
      stop_with_conflict();
      return false;
    case Ipu::Outcome::stuck:
      // Tiles that wait for packets may yet get some: answers of the host, or of other IPUs.
      if (ipu_.tiles_in_packet() && (crossbar_.own() != 0 || pcie_failure_ || config_.platform.ipus() > 1)) {
        wait_for_packets(kNever);
        return true;
      }
      stop_without_progress("no tile can go on, and some wait for ever");
      return false;
    case Ipu::Outcome::stopped:
      state_ = State::stopped;
      raise(kStopped);
      return false;
  }
  return false;
}

void Chip::expect_sync(Cycle from) {
  idle_limit_ =
      config_.max_idle_cycles == 0 || config_.max_idle_cycles > kNever - from ? kNever : from + config_.max_idle_cycles;
}

void Chip::check_cycle_limit() {
  if (now() >= idle_limit_) {
    throw Error(
        Category::no_progress,
        fmt::format("no sync was completed within {} cycles: some tile does not arrive", config_.max_idle_cycles),
        "\n" + describe(), "look where the tiles stand; --max-idle-cycles if a superstep takes that long", now());
  }
  if (now() < cycle_limit_) return;
  throw Error(Category::no_progress, fmt::format("the limit of {} cycles is reached", config_.max_cycles),
              "\n" + describe(), "raise the limit, or look where the tiles stand", now());
}

bool Chip::finish_sync() {
  SyncResult arrived = *ipu_.arrival();
  const Cycle ahead = ipu_.lanes().lookahead();
  if (arrived.zone == Zone::internal) {
    const Cycle z = arrived.latest + config_.platform.sync.internal;
    // Words that come outside a window trap at the release: those that can be there by then have to be known.
    if (!settle_packets(ports_.empty() ? arrived.latest : std::max(arrived.latest, z - std::min(z, ahead)), false))
      return false;
    ipu_.release(z, arrived.vote);
    expect_sync(z);
    return true;
  }
  // Packets of the window are where they go before anybody learns of the sync: the interrupt cannot pass them.
  if (!settle_packets(arrived.latest, true)) return false;
  arrived.latest = std::max(arrived.latest, crossbar_.last_served());
  if (!settle_packets(arrived.latest, true)) return false;
  if (const auto stray = arrived.zone == Zone::host ? ipu_.stray(arrived.latest) : std::nullopt) {
    stop_with_stray(*stray, arrived.latest);
    return false;
  }
  state_ = State::group_sync;
  const std::shared_ptr<Meeting> meeting = network_.arrive(config_.ipu.ipu, arrived);
  const auto wait_while = [&](const bool& done) {
    while (!done && !over()) {
      wait(network_.changed() | command_ | outside_);
      if (state_ == State::host_wait && loader_request_) walk_list();
    }
    if (fault_ && !reset_request_) stop_with_outside_fault();
    return !over();
  };
  if (!wait_while(meeting->complete)) return false;
  if (arrived.zone == Zone::host) {
    if (meeting->root == config_.ipu.ipu) {
      if (!host_sync(*meeting)) return false;
    } else {
      state_ = State::host_wait;  // all of the group have arrived: the host may look at tiles here too
    }
    if (!wait_while(meeting->released)) return false;
  }
  state_ = State::running;
  if (!ports_.empty() && !settle_packets(meeting->z - std::min(meeting->z, ahead), false)) return false;
  ipu_.release(meeting->z, meeting->result);
  expect_sync(meeting->z);
  return true;
}

bool Chip::host_sync(Meeting& meeting) {
  wait_until(meeting.latest);
  if (reset_request_) return false;
  state_ = State::host_sync;
  acknowledged_ = false;
  sync_code_ = ipu_.arrival()->code;
  sync_vote_ = meeting.vote;
  raise(kHostSync);
  while (!acknowledged_) {
    wait(command_ | outside_);
    if (reset_request_) return false;
    if (fault_) {
      stop_with_outside_fault();
      return false;
    }
    if (loader_request_) walk_list();
  }
  ++host_syncs_;
  interrupt_status_ &= ~(1u << kHostSync);
  network_.release_host(meeting, now(), acknowledge_vote_);
  return true;
}

void Chip::stop_with_exception() {
  const Ipu::FirstException& first = *ipu_.exception();
  while (now() < first.exception.cycle && !over()) wait_for_packets(first.exception.cycle);
  if (fault_) return stop_with_outside_fault();
  using namespace reg::chip;
  std::uint64_t cause = kExceptionCauseCause.set(0, first.exception.cause);
  cause = kExceptionCauseContext.set(cause, first.exception.context);
  cause = kExceptionCauseTile.set(cause, first.tile);
  cause = kExceptionCauseValid.set(cause, 1);
  exception_ = {static_cast<std::uint32_t>(cause), first.exception.pc, first.exception.tval, first.exception.cycle,
                ipu_.culprit(first)};
  state_ = State::stopped;
  raise(kException);
}

void Chip::stop_with_fault(ChipFault fault, unsigned tile, Cycle cycle) {
  using namespace reg::chip;
  std::uint64_t cause = kExceptionCauseCause.set(0, fault);
  cause = kExceptionCauseChipFault.set(cause, 1);
  cause = kExceptionCauseTile.set(cause, tile);
  cause = kExceptionCauseValid.set(cause, 1);
  exception_ = {static_cast<std::uint32_t>(cause), ipu_.tile(tile).context(0).pc, 0, cycle, std::nullopt};
  state_ = State::stopped;
  raise(kException);
}

void Chip::stop_with_conflict() {
  const ZoneConflict& conflict = *ipu_.conflict();
  wait_until(conflict.cycle);
  // The tile that made it a conflict: the first to arrive in another zone than the earliest.
  unsigned tile = conflict.sets.front().tiles.front();
  for (const auto& set : conflict.sets)
    for (unsigned t : set.tiles)
      if (ipu_.sync().arrival(t)->cycle == conflict.cycle) tile = t;
  stop_with_fault(zones_differ, tile, conflict.cycle);
}

void Chip::stop_with_outside_fault() {
  const Fault fault = *fault_;
  network_.leave(config_.ipu.ipu);
  stop_with_fault(static_cast<ChipFault>(fault.number), fault.tile, fault.cycle);
  exception_.value = fault.value;
  exception_.packet = fault.packet;
  if (fault.number == link_failed)
    throw Error(Category::device_exception, fault.text, "", "retrain the link, or route around it", fault.cycle);
}

void Chip::stop_with_stray(const Ipu::Stray& stray, Cycle cycle) {
  using namespace reg::chip;
  std::uint64_t cause = kExceptionCauseCause.set(0, 30);
  cause = kExceptionCauseTile.set(cause, stray.tile);
  cause = kExceptionCauseValid.set(cause, 1);
  exception_ = {static_cast<std::uint32_t>(cause), ipu_.tile(stray.tile).context(0).pc, stray.address, cycle,
                stray.packet};
  state_ = State::stopped;
  raise(kException);
}

void Chip::stop_without_progress(const std::string& what) {
  Cycle last = now();
  unsigned culprit = 0;
  for (unsigned t = ipu_.tiles(); t-- > 0;) {
    if (const auto& arrival = ipu_.sync().arrival(t)) last = std::max(last, arrival->cycle);
    if (ipu_.active(t) && ipu_.status(t) != TileStatus::sync) culprit = t;
  }
  wait_until(last);
  if (reset_request_) return;
  stop_with_fault(no_progress, culprit, last);
  throw Error(Category::no_progress, "deadlock: " + what, "\n" + describe(),
              "every active tile has to reach the same sync; see which tile does not, and why", last);
}

}  // namespace tessera
