// RtlTileModel, fifth part: the debug port (docs/machine/debug.md): commands wait for the edge before the cycle in
// which they act, writes go one with each edge. When the tile is quiescent a write has an edge of its own, in which the
// number of the cycle stands still.
#pragma once

#include "verif/cosim/rtl_tile_model.h"

namespace tessera {

/// The command of a cycle, new if there is none.
template <class Model, bool traced>
typename RtlTileModel<Model, traced>::Command& RtlTileModel<Model, traced>::command(Cycle at) {
  if (time(at) <= now_) throw std::logic_error("debug command in a cycle that is over");
  auto place = std::find_if(commands_.begin(), commands_.end(), [&](const Command& c) { return c.at >= time(at); });
  if (place == commands_.end() || place->at != time(at)) place = commands_.insert(place, Command{time(at), 0, 0});
  return *place;
}

template <class Model, bool traced>
void RtlTileModel<Model, traced>::debug_halt(std::uint8_t contexts, Cycle at) {
  command(at).halt |= contexts & 0x7f;
}

template <class Model, bool traced>
void RtlTileModel<Model, traced>::debug_resume(std::uint8_t contexts, Cycle at) {
  for (std::size_t k = 0; k < writes_.size(); ++k)
    if ((contexts >> writes_[k].context & 1) != 0 && now_ + static_cast<Time>(k) + 1 > time(at))
      throw std::logic_error("debug: a context is resumed before a write of its state is done");
  Command& c = command(at);
  c.halt &= static_cast<std::uint8_t>(~contexts);  // given before: the resume undoes it
  c.resume |= contexts & 0x7f;
}

template <class Model, bool traced>
void RtlTileModel<Model, traced>::drive_debug(Time next) {
  model_.dbg_halt_i = model_.dbg_resume_i = 0;
  model_.dbg_we_i = 0;
  debug_pins_ = false;
  if (!commands_.empty() && commands_.front().at == next) {
    model_.dbg_halt_i = commands_.front().halt;
    model_.dbg_resume_i = commands_.front().resume;
    commands_.pop_front();
    debug_pins_ = true;
  }
  if (writes_.empty()) return;
  drive_write(writes_.front());
  writes_.pop_front();
  debug_pins_ = true;
}

template <class Model, bool traced>
void RtlTileModel<Model, traced>::drive_write(const Write& write) {
  model_.dbg_we_i = 1;
  model_.dbg_kind_i = write.kind;
  model_.dbg_ctx_i = write.context;
  model_.dbg_sel_i = write.select;
  model_.dbg_wdata_i = write.value;
}

/// Kind and number on the pins.
template <class Model, bool traced>
std::pair<unsigned, unsigned> RtlTileModel<Model, traced>::debug_place(ContextId context, DebugSpace space,
                                                                       unsigned number) {
  const auto below = [&](unsigned limit) {
    if (context > 6 || number >= limit) throw std::logic_error("debug: no such context or number");
    return number;
  };
  switch (space) {
    case DebugSpace::x:
      return {0, below(32)};
    case DebugSpace::f:
      return {1, below(32)};
    case DebugSpace::csr:
      return {2, below(4096)};
    case DebugSpace::pc:
      return {3, below(1)};
    case DebugSpace::amp:
      return {4, below(context == 0 ? 64 : 16)};
    case DebugSpace::stream:
      return {2, csr::xs0 + below(6)};
  }
  throw std::logic_error("debug: no such space");
}

template <class Model, bool traced>
std::uint32_t RtlTileModel<Model, traced>::debug_read(ContextId context, DebugSpace space, unsigned number) const {
  const auto [kind, select] = debug_place(context, space, number);
  return debug(kind, context, select);
}

template <class Model, bool traced>
void RtlTileModel<Model, traced>::debug_write(ContextId context, DebugSpace space, unsigned number,
                                              std::uint32_t value) {
  const auto [kind, select] = debug_place(context, space, number);
  if (kind == 4) throw std::logic_error("debug: AMP state cannot be written");
  const std::uint32_t status = debug(3, context, 1);
  const bool idle = context == 0 ? (status & 7) == 0 : (status >> (3 + context) & 1) == 0;
  if (!idle && ((model_.halted_o | model_.excepted_o) >> context & 1) == 0)
    throw std::logic_error("debug: a write to a context that runs");
  const Write write{kind, context, select, value};
  if (!model_.quiescent_o || !writes_.empty()) {
    writes_.push_back(write);
    return;
  }
  settle();  // the clock is low
  drive_write(write);
  model_.packet_rx_valid_i = 0;
  model_.state_clk_i = 1;
  model_.clk_i = 1;
  model_.eval();
  model_.dbg_we_i = 0;
  settle();
}

}  // namespace tessera
