// The chip's process and its commands; see chip.h.
#include "tlm/system/chip.h"

#include "hw/generated/registers.h"

namespace tessera {

namespace {
constexpr unsigned kMailbox = 4, kDmaDone = 5, kDmaError = 6;  // causes of interrupts
}

Chip::Chip(const sc_core::sc_module_name& name, const ChipConfig& config, const TileFactory& factory, TilePool& pool,
           SyncNetwork& network, pcie::Endpoint& endpoint)
    : sc_module(name),
      config_(config),
      clock_(config.platform.clock_hz),
      ipu_(config.ipu, factory, pool, config.hooks),
      network_(network),
      endpoint_(endpoint),
      dma_("dma", endpoint, *this, [this](bool ok) { raise(ok ? kDmaDone : kDmaError); }),
      crossbar_(config.ipu.ipu, ipu_.lanes(), config.topology),
      link_registers_("link_registers"),
      shadow_(reg::chip::kSize / 4),
      writable_(reg::chip::kSize / 4) {
  for (const reg::Register& r : reg::chip::kRegisters)
    for (std::uint32_t i = 0; i < r.count; ++i)
      writable_[(r.offset + i * r.stride) / 4] = static_cast<std::uint32_t>(r.writable);
  power_on_registers();
  endpoint_.attach(*this);
  make_links();
  SC_HAS_PROCESS(Chip);
  SC_THREAD(process);
  SC_THREAD(route);
}

void Chip::power_on_registers() {
  for (const reg::Register& r : reg::chip::kRegisters)
    for (std::uint32_t i = 0; i < r.count; ++i)
      shadow_[(r.offset + i * r.stride) / 4] = static_cast<std::uint32_t>(r.reset);
  for (unsigned t = 0; t < config_.ipu.tiles; ++t) shadow(reg::chip::kActive + 4 * (t / 32)) |= 1u << (t % 32);
  shadow(reg::chip::kIpu) = config_.ipu.ipu;
}

void Chip::function_reset() {
  power_on_registers();
  join_groups();
  dma_.reset();
  interrupt_status_ = 0;
  loader_busy_ = false;
  power_on_request_ = reset_request_ = true;
  command_.notify(sc_core::SC_ZERO_TIME);
}

void Chip::attach_card(CardPort& card, unsigned index) {
  state_.card = &card;
  state_.index = index;
  lines_ = {};
}

void Chip::set_lines(const Lines& lines) {
  const bool stops = (lines.reset || !lines.clock) && !lines_.reset && lines_.clock;
  const bool off = lines_.clock && !lines.clock;
  lines_ = lines;
  for (unsigned port = 0; off && port < ports_.size(); ++port) ports_[port]->reset();
  if (!stops) return;
  reset_request_ = true;
  command_.notify(sc_core::SC_ZERO_TIME);
}

void Chip::mailbox_interrupt() { raise(kMailbox); }

void Chip::controller_died(std::uint32_t status) {
  Fault fault;
  fault.number = card_controller;
  fault.cycle = now();
  fault.value = status;
  note(fault);
}

Chip::StateTold& Chip::StateTold::operator=(State next) {
  const bool was = state_ == State::running, is = next == State::running;
  state_ = next;
  if (was != is && card != nullptr) card->activity(index, is);
  return *this;
}

void Chip::wait_until(Cycle cycle) {
  const sc_core::sc_time at = clock_.time_of(cycle);
  // A reset ends what the chip was about to do.
  while (at > sc_core::sc_time_stamp() && !reset_request_) wait(at - sc_core::sc_time_stamp(), command_);
}

void Chip::process() {
  for (;;) {
    // An error ends the run of the program, not the chip: registers and memory can still be read.
    try {
      while (!command_pending()) wait(command_);
      if (reset_request_)
        reset();
      else if (loader_request_)
        walk_list();
      else
        run_program(), ipu_.flush_events();
    } catch (const sc_core::sc_unwind_exception&) {
      throw;
    } catch (...) {
      state_ = State::stopped;
      ipu_.flush_events();
      failed(std::current_exception());
    }
  }
}

void Chip::reset() {
  reset_request_ = loader_request_ = boot_request_ = acknowledged_ = false;
  network_.leave(config_.ipu.ipu);
  ipu_.reset();
  crossbar_.reset();
  fault_.reset();
  state_ = State::held;
  route_at(crossbar_.next_event());
  interrupt_status_ = 0;
  loader_error_ = false;
  exception_ = {};
  pcie_failure_.reset();
  ++resets_;
  if (power_on_request_) {
    power_on_request_ = false;
    refused_ = host_syncs_ = 0;
    words_before_ = ipu_.fabric().counters();
    packets_before_ = ipu_.packets();
  }
  for (std::uint32_t i = 0; i < reg::chip::kBufferBytesCount; ++i)
    shadow(reg::chip::kBufferBytes + i * reg::chip::kBufferBytesStride) = 0;
}

void Chip::raise(unsigned cause) {
  if (reset_request_) return;  // what it tells of is gone
  const bool rises = (interrupt_status_ >> cause & 1) == 0;
  interrupt_status_ |= 1u << cause;
  if (rises) endpoint_.raise(cause, sc_core::SC_ZERO_TIME);
}

}  // namespace tessera
