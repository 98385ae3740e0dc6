// The supervisor program of a Builder: one pattern for each kind of step, those of the compiler's control programs,
// with group syncs and packet phases beside them. s0 holds the vertices' offset, s1 dispatch, s2..s11 the counters of
// loops.
#include <fmt/format.h>

#include "host/demo/program.h"
#include "hw/generated/machine.h"

namespace tessera::demo {

namespace {

using compiler::Reg;
using compiler::Slot;

constexpr char kPath[] = "main";

}  // namespace

ControlWriter::ControlWriter(const Builder& builder, Address base) : b_(builder), as_(base) { result_.base = base; }

compiler::Control ControlWriter::run(Address boot) {
  result_.entries.push_back({"main", as_.pc()});
  as_.jump_to(boot);
  result_.dispatch_entry = as_.pc();
  const Assembler::Label again = as_.label();
  as_.bind(again);
  as_.li(compiler::s0, 0);
  add_step(executable::Step::Kind::prologue, result_.base, "start");
  for (const Step& step : b_.steps_) generate(step);
  const Address begin = as_.pc();
  as_.li(compiler::t0, executable::kFinishedCode << 8);
  as_.x_sync(compiler::zero, compiler::t0, Zone::host);
  as_.jal(compiler::zero, again);  // the host's acknowledge starts the program again
  add_step(executable::Step::Kind::finish, begin, "finish");
  result_.words = as_.finish();
  return std::move(result_);
}

void ControlWriter::add_step(executable::Step::Kind kind, Address begin, const std::string& name, std::uint32_t phase) {
  if (begin != as_.pc()) result_.steps.push_back({begin, as_.pc(), kind, kPath, name, 0, phase});
}

/// Loads a word of the step table; lui and add reach beyond the first 1024.
void ControlWriter::load_slot(Reg rd, Slot::Kind kind, std::uint32_t index, std::uint32_t phase) {
  const auto offset = static_cast<std::int32_t>(4 * result_.slots.size()) - compiler::kStepTableBias;
  result_.slots.push_back({kind, index, {}, phase});
  if (offset <= 2047) {
    as_.lw(rd, offset, compiler::gp);
    return;
  }
  const std::int32_t low = static_cast<std::int32_t>(static_cast<std::uint32_t>(offset) << 20) >> 20;
  as_.lui(rd, static_cast<std::uint32_t>(offset - low) >> 12);
  as_.add(rd, rd, compiler::gp);
  as_.lw(rd, low, rd);
}

void ControlWriter::compute(const Step& step) {
  const Address begin = as_.pc();
  if (busy_) as_.x_sync(compiler::zero, compiler::zero, Zone::local);
  load_slot(compiler::a1, Slot::Kind::list, computes_++);
  const Assembler::Label skip = as_.label();
  as_.beq(compiler::a1, compiler::zero, skip);
  as_.x_run_all(compiler::s1, compiler::a1, compiler::s0);
  as_.bind(skip);
  busy_ = true;
  add_step(executable::Step::Kind::compute, begin, step.name);
}

void ControlWriter::exchange(const Step& step) {
  for (std::uint32_t p = 0; p < step.phases; ++p) {
    const Address begin = as_.pc();
    load_slot(compiler::a0, Slot::Kind::exchange, exchanges_, p);
    as_.x_sync(compiler::zero, compiler::zero, Zone::internal);
    as_.x_exchange(compiler::a0);
    add_step(executable::Step::Kind::exchange, begin, step.name, phases_++);
  }
  ++exchanges_;
  busy_ = false;
}

void ControlWriter::packets(const Step& step) {
  const Address begin = as_.pc();
  load_slot(compiler::a0, Slot::Kind::packets, packets_++);
  as_.x_sync(compiler::zero, compiler::zero, Zone::group1);
  as_.x_packet(compiler::a0);
  busy_ = false;
  add_step(executable::Step::Kind::exchange, begin, step.name);
}

void ControlWriter::end_repeat() {
  const Loop loop = loops_.back();
  loops_.pop_back();
  const Address begin = as_.pc();
  as_.addi(loop.counter, loop.counter, -1);
  if (as_.pc() - as_.address(loop.head) < 4000) {
    as_.bne(loop.counter, compiler::zero, loop.head);
  } else {
    const Assembler::Label out = as_.label();
    as_.beq(loop.counter, compiler::zero, out);
    as_.jal(compiler::zero, loop.head);
    as_.bind(out);
  }
  add_step(executable::Step::Kind::control, begin, fmt::format("repeat {}", loop.count));
}

void ControlWriter::generate(const Step& step) {
  const Address begin = as_.pc();
  switch (step.kind) {
    case Step::Kind::compute:
      return compute(step);
    case Step::Kind::exchange:
      return exchange(step);
    case Step::Kind::packets:
      return packets(step);
    case Step::Kind::sync:
      as_.x_sync(compiler::zero, compiler::zero, b_.ipus_ == 1 ? Zone::internal : step.zone);
      busy_ = false;
      break;
    case Step::Kind::repeat: {
      const auto counter = static_cast<Reg>(compiler::s2 + loops_.size());
      as_.li(counter, step.value);
      const Assembler::Label head = as_.label();
      as_.bind(head);
      loops_.push_back({head, counter, step.value});
      busy_ = true;  // by the end of the round before
      break;
    }
    case Step::Kind::end:
      return end_repeat();
    case Step::Kind::set_offset:
      as_.li(compiler::s0, step.value);
      break;
    case Step::Kind::add_offset:
      as_.li(compiler::t0, static_cast<std::uint32_t>(step.distance));
      as_.add(compiler::s0, compiler::s0, compiler::t0);
      break;
    case Step::Kind::set_xbase:
      load_slot(compiler::t0, Slot::Kind::value, values_++);
      as_.csrw(csr::xbase1 + step.value - 1, compiler::t0);
      break;
    case Step::Kind::add_xbase:
      as_.csrr(compiler::t0, csr::xbase1 + step.value - 1);
      as_.li(compiler::t1, static_cast<std::uint32_t>(step.distance));
      as_.add(compiler::t0, compiler::t0, compiler::t1);
      as_.csrw(csr::xbase1 + step.value - 1, compiler::t0);
      break;
    case Step::Kind::supervisor:
      step.emit(as_);
      break;
  }
  add_step(executable::Step::Kind::control, begin, step.name);
}

}  // namespace tessera::demo
