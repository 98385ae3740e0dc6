// RtlTileModel, fourth part: state of the contexts as it stands, read through the debug pins of tile_core, and waves.
#pragma once

#include "verif/cosim/rtl_tile_model.h"

namespace tessera {

template <class Model, bool traced>
std::uint32_t RtlTileModel<Model, traced>::debug(unsigned kind, ContextId context, unsigned select) const {
  model_.dbg_en_i = 1;
  model_.dbg_kind_i = kind;
  model_.dbg_ctx_i = context;
  model_.dbg_sel_i = select;
  model_.eval();  // no edge: nothing but the debug port changes
  const std::uint32_t value = model_.dbg_data_o;
  model_.dbg_en_i = 0;
  return value;
}

template <class Model, bool traced>
std::uint32_t RtlTileModel<Model, traced>::supervisor_csr(unsigned number) const {
  return debug(2, 0, number);
}

/// The first of the contexts that are excepted now: the debug port may have let one go on.
template <class Model, bool traced>
std::optional<TileException> RtlTileModel<Model, traced>::exception() const {
  std::optional<TileException> first;
  for (unsigned c = 0; c < exceptions_.size(); ++c) {
    const auto& e = exceptions_[c];
    if (!e || (model_.excepted_o >> c & 1) == 0) continue;
    if (!first || e->cycle < first->cycle) first = e;
  }
  return first;
}

template <class Model, bool traced>
ContextState RtlTileModel<Model, traced>::context(ContextId context) const {
  using Run = ContextState::Run;
  ContextState state;
  const std::uint32_t status = debug(3, context, 1);  // supervisor state in bits 2:0, workers not idle in 9:4
  const std::uint32_t excepted = model_.excepted_o;
  if ((excepted >> context & 1) != 0) {
    state.run = Run::excepted;
  } else if ((model_.halted_o >> context & 1) != 0) {
    state.run = Run::halted;
  } else if (context == 0) {
    const unsigned supervisor = status & 7;
    state.run = supervisor == 0 ? Run::idle : supervisor == 1 ? Run::running : Run::waiting;
  } else {
    state.run = (status >> (3 + context) & 1) != 0 ? Run::running : Run::idle;
  }
  state.pc = debug(3, context, 0);
  // A supervisor that waits stands at the instruction that waits; released, behind it; about to start, at its entry.
  if (context == 0 && release_ != kNoTime) state.pc += 4;
  for (const Start& start : starts_)
    if (start.context == context) state.pc = start.pc;
  for (unsigned i = 0; i < 32; ++i) {
    state.x[i] = debug(0, context, i);
    if (context != 0) state.f[i] = debug(1, context, i);
  }
  state.fcsr = context == 0 ? 0 : debug(2, context, csr::fcsr);
  state.mcause = debug(2, context, csr::mcause);
  state.mepc = debug(2, context, csr::mepc);
  state.mtval = debug(2, context, csr::mtval);
  return state;
}

// ---- waves ----

template <class Model, bool traced>
void RtlTileModel<Model, traced>::attach_wave(RtlWave& wave) {
  if constexpr (NamesSignals<Model>::value) {
    if (wave.selective()) {
      wave.open(NamesSignals<Model>::of(model_));
      wave_ = &wave;
      return;
    }
  }
  if constexpr (traced) {
    model_.trace(&wave.file(), 99);
    wave.open();
    wave_ = &wave;
  } else {
    throw std::logic_error("this model of the tile has no tracing: " + wave.path());
  }
}

template <class Model, bool traced>
void RtlTileModel<Model, traced>::dump(bool clock_high) {
  if constexpr (traced)
    if (wave_ != nullptr && now_ >= 0 && wave_->wanted(cycle())) wave_->dump(cycle(), clock_high);
}

}  // namespace tessera
