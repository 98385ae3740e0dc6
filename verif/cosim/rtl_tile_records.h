// RtlTileModel, third part: what stands on the retire ports of tile_core becomes RetireRecords, events and exceptions.
//
// A record is made when it appears in stage W. If its value comes later (divider and transcendental lanes, x.amp.ldw)
// it waits in a queue, and so do the records behind it: observers see them in the order of issue cycles. An x.sync and
// what an engine did are reported when they end, with the cycle of their issue.
#pragma once

#include "verif/cosim/rtl_tile_model.h"

namespace tessera {

template <class Model, bool traced>
void RtlTileModel<Model, traced>::collect() {
  if (model_.done_valid_o) finish_lane();
  if (model_.ldw_valid_o) collect_weights();
  if (model_.ret_valid_o && !(tohost_ && model_.ret_cycle_o > tohost_->cycle)) collect_main();
  if (model_.aux_valid_o && !(tohost_ && model_.aux_cycle_o > tohost_->cycle)) collect_aux();
  if (!records_.empty()) flush_records();
}

template <class Model, bool traced>
void RtlTileModel<Model, traced>::collect_events(Cycle cycle, ContextId context) {
  using Kind = MachineEvent::Kind;
  if (model_.ret_run_o != 0) {
    for (unsigned w = 1; w < 7; ++w)
      if (model_.ret_run_o == 7 || model_.ret_run_o == w)
        emit(Kind::run, cycle + 6 + (w - 1 + 6 - cycle % 6) % 6, static_cast<ContextId>(w), model_.ret_run_pc_o,
             model_.ret_run_a0_o);
    return;
  }
  const std::uint32_t word = model_.ret_word_o;
  if ((word & 0x7f) != 0x0b) return;  // custom-0: the control instructions
  const isa::Op op = isa::decode(word);
  if (op == isa::Op::x_exit) emit(Kind::exit, cycle, context, model_.ret_pc_o, model_.ret_value_o);
  if (op != isa::Op::x_exchange) return;
  const std::uint32_t table = debug(0, context, word >> 15 & 31);  // rs1, unchanged while the supervisor waited
  if (table == 0) return;
  const bool words = first_word_ != kNever;
  emit(Kind::exchange_begin, words ? first_word_ : cycle, context, model_.ret_pc_o, table);
  emit(Kind::exchange_end, words ? last_word_ : cycle, context, model_.ret_pc_o, table);
}

template <class Model, bool traced>
void RtlTileModel<Model, traced>::collect_main() {
  const Cycle cycle = model_.ret_cycle_o;
  const auto context = static_cast<ContextId>(model_.ret_ctx_o);
  last_issue_ = std::max(last_issue_, cycle);
  if (!model_.ret_trap_o) ++retired_;
  if (model_.ret_excepted_o)
    note_exception(cycle, context, model_.ret_cause_o, model_.ret_pc_o & ~3u, model_.ret_tval_o, model_.ret_word_o);
  if (events_ != nullptr && !model_.ret_trap_o) collect_events(cycle, context);
  if (observer_ == nullptr) return;
  Pending& pending = records_.push_back({});
  pending.waits = model_.ret_pending_o;
  RetireRecord& r = pending.record;
  r.cycle = cycle;
  r.context = context;
  r.paired = model_.ret_paired_o;
  r.trap = model_.ret_trap_o;
  r.pc = model_.ret_pc_o;
  r.word = model_.ret_word_o;
  r.next_pc = model_.ret_next_pc_o;
  if (r.trap) {
    r.cause = model_.ret_cause_o;
    r.tval = model_.ret_tval_o;
    return;
  }
  r.xrd = model_.ret_xrd_o;
  if (r.xrd != 0) r.xval = model_.ret_value_o;
  if (model_.ret_fwe_o) {
    const std::uint8_t registers = model_.ret_fpair_o ? 2 : 1;
    r.fwrite[0] = {registers, static_cast<std::uint8_t>(model_.ret_frd_o), model_.ret_fbits_o};
  }
  if (model_.ret_fwe2_o) r.fwrite[1] = {2, static_cast<std::uint8_t>(model_.ret_frd2_o), model_.ret_fbits2_o};
  r.fflags = model_.ret_fflags_o;
  if (model_.ret_load_o) {
    r.mem_read = true;
    r.read_addr[0] = model_.ret_addr_o;
    if (model_.ret_load2_o) r.read_addr[1] = model_.ret_addr2_o;
  }
  if (model_.ret_store_o) {
    r.mem_write = true;
    r.write_addr = model_.ret_store_addr_o;
    r.write_mask = model_.ret_mask_o;
    r.write_data = model_.ret_wdata_o;
  }
  if (model_.ret_streams_o != 0) {
    r.streams = model_.ret_streams_o;
    r.stream_addr = {model_.ret_stream0_o, model_.ret_stream1_o, model_.ret_stream2_o};
  }
  if (model_.ret_csr_o != 0) {
    r.csr = model_.ret_csr_o;
    r.csr_value = model_.ret_csr_value_o;
  }
  if (model_.ret_run_o != 0)
    r.run = {model_.ret_run_o,       model_.ret_run_pc_o,     model_.ret_run_a0_o, model_.ret_run_a1_o,
             model_.ret_run_stack_o, model_.ret_run_stride_o, model_.ret_run_ra_o};
  if (pending.waits && isa::decode(r.word) == isa::Op::x_amp_ldw) {
    pending.weights = true;
    if (weights_done_) take_weights(pending);
  }
}

template <class Model, bool traced>
void RtlTileModel<Model, traced>::collect_aux() {
  const auto context = static_cast<ContextId>(model_.aux_ctx_o);
  last_issue_ = std::max<Cycle>(last_issue_, model_.aux_cycle_o);
  if (!model_.aux_trap_o) ++retired_;
  if (model_.aux_excepted_o)
    note_exception(model_.aux_cycle_o, context, model_.aux_cause_o, model_.aux_pc_o, model_.aux_tval_o,
                   model_.aux_word_o);
  if (observer_ == nullptr) return;
  Pending& pending = records_.push_back({});
  pending.waits = model_.aux_pending_o;
  RetireRecord& r = pending.record;
  r.cycle = model_.aux_cycle_o;
  r.context = context;
  r.paired = model_.aux_paired_o;
  r.trap = model_.aux_trap_o;
  r.pc = model_.aux_pc_o;
  r.word = model_.aux_word_o;
  r.next_pc = model_.aux_next_pc_o;
  if (r.trap) {
    r.cause = model_.aux_cause_o;
    r.tval = model_.aux_tval_o;
    return;
  }
  const auto rd = static_cast<std::uint8_t>(model_.aux_frd_o);
  const auto bits = [this](unsigned k) {
    return static_cast<std::uint64_t>(model_.aux_bits_o[2 * k + 1]) << 32 | model_.aux_bits_o[2 * k];
  };
  const unsigned count = model_.aux_count_o;
  if (count != 0) r.fwrite[0] = {static_cast<std::uint8_t>(count == 1 ? 1 : 2), rd, bits(0)};
  if (count == 4) r.fwrite[1] = {2, static_cast<std::uint8_t>(rd + 2), bits(1)};
  r.fflags = model_.aux_fflags_o;
  if (model_.aux_drew_o) {
    r.drew = true;
    for (unsigned k = 0; k < 4; ++k) r.rng[k] = model_.aux_rng_o[k];
  }
  if (model_.aux_amp_o) {
    r.amp = 16;
    for (unsigned k = 0; k < 16; ++k) r.amp_words[k] = model_.aux_amp_state_o[k];
  }
}

/// A row of weights has been read; the last one completes the record of the x.amp.ldw, which may stand before or
/// behind.
template <class Model, bool traced>
void RtlTileModel<Model, traced>::collect_weights() {
  const unsigned row = model_.ldw_row_o;
  if (row == 0) weights_done_ = false;
  for (unsigned k = 0; k < 4; ++k) weights_[4 * row + k] = model_.ldw_data_o[k];
  if (row != 15) return;
  weights_done_ = true;
  for (std::size_t k = 0; k < records_.size(); ++k)
    if (records_[k].weights && records_[k].waits) take_weights(records_[k]);
}

template <class Model, bool traced>
void RtlTileModel<Model, traced>::take_weights(Pending& pending) {
  pending.record.amp = 64;
  pending.record.amp_words = weights_;
  pending.waits = false;
  weights_done_ = false;
}

/// A lane has its result: the waiting record of its slot gets it.
template <class Model, bool traced>
void RtlTileModel<Model, traced>::finish_lane() {
  for (std::size_t k = 0; k < records_.size(); ++k) {
    Pending& pending = records_[k];
    RetireRecord& r = pending.record;
    if (!pending.waits || pending.weights || r.cycle % 6 != model_.done_slot_o) continue;
    pending.waits = false;
    if (r.fwrite[0].valid != 0) {
      r.fwrite[0].bits = model_.done_value_o;
      r.fflags = model_.done_fflags_o;
    } else if (r.xrd != 0) {
      r.xval = model_.done_value_o;
    }
    return;
  }
}

template <class Model, bool traced>
void RtlTileModel<Model, traced>::flush_records() {
  while (!records_.empty() && !records_.front().waits) {
    if (observer_ != nullptr) observer_->retired(records_.front().record);
    records_.pop_front();
  }
}

template <class Model, bool traced>
void RtlTileModel<Model, traced>::note_exception(Cycle cycle, ContextId context, std::uint32_t cause, Address pc,
                                                 std::uint32_t tval, std::uint32_t word) {
  const bool exchange = cause >= trap::exchange_underrun && cause <= trap::exchange_bad;
  if (exchange && isa::decode(word) == isa::Op::x_exchange) {
    // The cycle of the fault: its low word is in xfaultcyc, and it lies before the trap.
    const std::uint32_t low = debug(2, 0, csr::xfaultcyc);
    cycle -= static_cast<std::uint32_t>(static_cast<std::uint32_t>(cycle) - low);
  }
  exceptions_.at(context) = TileException{cycle, context, cause, pc, tval};
}

template <class Model, bool traced>
void RtlTileModel<Model, traced>::emit(MachineEvent::Kind kind, Cycle cycle, ContextId context, Address pc,
                                       std::uint32_t a0) {
  MachineEvent event;
  event.cycle = cycle;
  event.ipu = static_cast<std::uint16_t>(config_.ipu);
  event.tile = static_cast<std::uint16_t>(config_.tile);
  event.context = context;
  event.kind = kind;
  event.pc = pc;
  event.a0 = a0;
  queued_events_.push_back(event);
}

template <class Model, bool traced>
void RtlTileModel<Model, traced>::flush_events() {
  if (queued_events_.empty()) return;
  std::stable_sort(queued_events_.begin(), queued_events_.end(), [](const MachineEvent& a, const MachineEvent& b) {
    return a.cycle != b.cycle ? a.cycle < b.cycle : a.context < b.context;
  });
  if (events_ != nullptr)
    for (const MachineEvent& event : queued_events_) events_->event(event);
  queued_events_.clear();
}

}  // namespace tessera
