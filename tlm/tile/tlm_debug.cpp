// The debug port of the TLM tile (docs/machine/debug.md): commands that act in a cycle, the flags that keep a context
// from issuing, and access to its state. The event loop asks halts() before each issue; exact interleave makes that the
// order of the machine.
#include <algorithm>
#include <stdexcept>

#include "hw/generated/machine.h"
#include "tlm/tile/tlm_tile.h"

namespace tessera {

namespace {

constexpr unsigned kEbreakm = 15, kCause = 6, kStep = 2;  // bits of xdcsr
constexpr std::uint32_t kBroken = 1, kRequest = 3, kStepped = 4;

}  // namespace

void TlmTile::debug_attach(bool attached) {
  attached_ = attached;
  update_debugging();
}

void TlmTile::update_debugging() {
  debugging_ = attached_ || !commands_.empty();
  for (const DebugFlags& d : debug_)
    debugging_ = debugging_ || d.request || d.stepped || d.broken || d.step || d.ebreakm;
}

void TlmTile::debug_halt(std::uint8_t contexts, Cycle at) { command({at, contexts, DebugCommand::Kind::halt}); }

void TlmTile::debug_resume(std::uint8_t contexts, Cycle at) {
  for (const DebugCommand& c : commands_)
    if (c.kind == DebugCommand::Kind::write && (c.contexts & contexts) != 0 && c.at > at)
      throw std::logic_error("a context is resumed before a debug write of its state is done");
  command({at, contexts, DebugCommand::Kind::resume});
}

void TlmTile::command(const DebugCommand& command) {
  if (command.at < done_before_) throw std::logic_error("a debug command for a cycle that has passed");
  const auto later = [](const DebugCommand& a, const DebugCommand& b) { return a.at < b.at; };
  commands_.insert(std::upper_bound(commands_.begin(), commands_.end(), command, later), command);
  debugging_ = true;
}

void TlmTile::act(const DebugCommand& command) {
  done_before_ = std::max(done_before_, command.at);
  for (TileContext& c : contexts_) {
    if ((command.contexts >> c.id & 1) == 0) continue;
    switch (command.kind) {
      case DebugCommand::Kind::halt:
        debug_[c.id].request = true;
        break;
      case DebugCommand::Kind::resume:
        resume(c, command.at);
        break;
      case DebugCommand::Kind::write:
        write_state(c, command.space, command.number, command.value);
    }
  }
}

bool TlmTile::live() const {
  for (const TileContext& c : contexts_)
    if (!c.supervisor() && c.run == Run::running) return true;
  return supervisor_candidate() != kNever || mode_ == Mode::exchange || mode_ == Mode::packet;
}

void TlmTile::resume(TileContext& c, Cycle at) {
  DebugFlags& d = debug_[c.id];
  d.request = false;
  if (at > d.stepped_at) d.stepped = false;
  if (at >= d.broken_at + 6) d.broken = false;
  const bool excepted = c.run == Run::excepted && c.vacant_from <= at;
  if (c.run != Run::halted && !excepted) return;
  c.run = Run::running;
  c.next = excepted ? at : std::max(c.next, at);
  if (c.supervisor()) {
    mode_ = Mode::issue;
    return;
  }
  c.next += (c.slot() + 6 - c.next % 6) % 6;
  // An operation of the supervisor may be under way in the slot that was vacant.
  if (excepted && slots_end_ > c.next && slots_end_ % 6 == c.slot()) c.next = slots_end_;
}

bool TlmTile::halts(TileContext& c, Cycle n) {
  const DebugFlags& d = debug_[c.id];
  if (!d.request && !(d.stepped && n > d.stepped_at) && !(d.broken && n >= d.broken_at + 6)) return false;
  c.run = Run::halted;
  c.next = n;
  done_before_ = std::max(done_before_, n + 1);
  return true;
}

bool TlmTile::breaks(TileContext& c, Cycle t) {
  DebugFlags& d = debug_[c.id];
  if (!d.ebreakm) return false;
  d.broken = true;
  d.broken_at = t;
  c.next = t + 6;
  return true;
}

void TlmTile::issued(const TileContext& c, Cycle t) {
  DebugFlags& d = debug_[c.id];
  if (!d.step) return;
  d.stepped = true;
  d.stepped_at = t;
}

std::uint32_t TlmTile::debug_read(ContextId context, DebugSpace space, unsigned number) const {
  const TileContext& c = contexts_.at(context);
  switch (space) {
    case DebugSpace::x:
      if (number > 31) break;
      return c.x[number];
    case DebugSpace::f:
      if (number > 31) break;
      return c.supervisor() ? 0 : c.f[number];
    case DebugSpace::csr: {
      if (number == csr::xdcsr) {
        const DebugFlags& d = debug_[context];
        const std::uint32_t cause = d.broken ? kBroken : d.request ? kRequest : d.stepped ? kStepped : 0;
        return (d.ebreakm ? 1u << kEbreakm : 0) | cause << kCause | (d.step ? 1u << kStep : 0);
      }
      std::uint32_t value = 0;
      (void)read_csr(c, number, stands_, value);  // the rule of FS is the instructions' alone
      return value;
    }
    case DebugSpace::pc:
      if (number != 0) break;
      return c.pc;
    case DebugSpace::amp:
      if (c.supervisor()) return weights_.at(number);
      return number < 8 ? c.sums.a[number] : c.sums.b.at(number - 8);
    case DebugSpace::stream:
      return number < 3 ? c.stream[number] : c.stride.at(number - 3);
  }
  throw std::out_of_range("the debug space has no such number");
}

void TlmTile::debug_write(ContextId context, DebugSpace space, unsigned number, std::uint32_t value) {
  TileContext& c = contexts_.at(context);
  if (c.run != Run::halted && c.run != Run::idle && c.run != Run::excepted)
    throw std::logic_error("a debug write to a context that is not halted");
  if (space == DebugSpace::amp) throw std::logic_error("AMP state cannot be written by the debug port");
  (void)debug_read(context, space, number);  // refuses what is not there
  if (!live()) return write_state(c, space, number, value);
  // The port takes one write a cycle, and beside what runs that can be told.
  const Cycle at = std::max(done_before_, next_write_);
  next_write_ = at + 1;
  command({at, static_cast<std::uint8_t>(1u << context), DebugCommand::Kind::write, space, number, value});
}

void TlmTile::write_state(TileContext& c, DebugSpace space, unsigned number, std::uint32_t value) {
  switch (space) {
    case DebugSpace::x:
      if (number != 0) c.x[number] = value;
      break;
    case DebugSpace::f:
      if (!c.supervisor()) c.f[number] = value;
      break;
    case DebugSpace::csr:
      write_debug_csr(c, number, value);
      break;
    case DebugSpace::pc:
      c.pc = value;
      c.looping = false;
      break;
    case DebugSpace::stream:
      if (!c.supervisor()) (number < 3 ? c.stream[number] : c.stride[number - 3]) = value;
      break;
    case DebugSpace::amp:
      break;
  }
}

void TlmTile::write_debug_csr(TileContext& c, unsigned number, std::uint32_t value) {
  if (number == csr::xdcsr) {
    debug_[c.id].ebreakm = (value >> kEbreakm & 1) != 0;
    debug_[c.id].step = (value >> kStep & 1) != 0;
    update_debugging();
    return;
  }
  if (csr_access(number, c.supervisor()) != CsrAccess::rw || number == csr::mcycle || number == csr::mcycleh) return;
  write_csr(c, number, stands_, value);
  // No instruction retires here, so no increment is to be suppressed.
  if (number == csr::minstret || number == csr::minstreth) ++c.instret_offset;
}

}  // namespace tessera
