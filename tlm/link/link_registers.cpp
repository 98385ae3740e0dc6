// See link_registers.h.
#include "tlm/link/link_registers.h"

#include <algorithm>

#include "hw/generated/registers.h"

namespace tessera {

using namespace reg::chip;

namespace {

constexpr std::uint32_t kStride = 64;  // of a port

std::uint32_t field(const reg::Field& f, std::uint64_t value) { return static_cast<std::uint32_t>(f.set(0, value)); }

std::uint32_t low(std::uint64_t value, std::uint32_t& latched) {
  latched = static_cast<std::uint32_t>(value >> 32);
  return static_cast<std::uint32_t>(value);
}

}  // namespace

LinkRegisters::LinkRegisters(const sc_core::sc_module_name& name) : sc_module(name) {
  SC_HAS_PROCESS(LinkRegisters);
  SC_METHOD(act);
  sensitive << event_;
  dont_initialize();
}

void LinkRegisters::add(LinkPort& port, const Topology::Port& peer) { entries_.push_back({&port, peer}); }

bool LinkRegisters::covers(std::uint32_t offset) {
  return offset >= kLinkStatus && offset < kLinkStatus + kStride * Topology::kMaxPorts;
}

std::uint32_t LinkRegisters::read(std::uint32_t offset, std::uint32_t& latched) const {
  const std::uint32_t number = (offset - kLinkStatus) / kStride;
  if (number >= entries_.size()) return 0;
  const auto& [port, peer] = entries_[number];
  const LinkCounters& counters = port->counters();
  switch (offset - number * kStride) {
    case kLinkStatus:
      return field(kLinkStatusState, static_cast<unsigned>(port->state())) | field(kLinkStatusLanes, port->lanes_up());
    case kLinkPeer:
      return field(kLinkPeerIpu, peer.ipu) | field(kLinkPeerPort, peer.port) |
             field(kLinkPeerUse, static_cast<unsigned>(peer.use));
    case kLinkOutstanding:
      return port->outstanding();
    case kLinkPacketsSent:
      return static_cast<std::uint32_t>(counters.packets_sent);
    case kLinkPacketsReceived:
      return static_cast<std::uint32_t>(counters.packets_received);
    case kLinkWordsSentLow:
      return low(counters.words_sent, latched);
    case kLinkWordsReceivedLow:
      return low(counters.words_received, latched);
    case kLinkWordsSentHigh:
    case kLinkWordsReceivedHigh:
      return latched;
    case kLinkCrcErrors:
      return static_cast<std::uint32_t>(counters.crc_errors);
    case kLinkSequenceErrors:
      return static_cast<std::uint32_t>(counters.sequence_errors);
    case kLinkReplays:
      return static_cast<std::uint32_t>(counters.replays);
    case kLinkTrainings:
      return field(kLinkTrainingsTrainings, counters.trainings & 0xffff) |
             field(kLinkTrainingsTimeouts, counters.timeouts & 0xffff);
    case kLinkBusyCycles:
      return static_cast<std::uint32_t>(counters.busy_cycles);
    case kLinkStalledCycles:
      return static_cast<std::uint32_t>(counters.stalled_cycles);
    default:
      return 0;
  }
}

void LinkRegisters::write(std::uint32_t offset, std::uint32_t value, const sc_core::sc_time& delay) {
  const std::uint32_t number = (offset - kLinkStatus) / kStride;
  if (number >= entries_.size() || offset - number * kStride != kLinkControl) return;
  const Command command{sc_core::sc_time_stamp() + delay, number, value};
  commands_.insert(std::upper_bound(commands_.begin(), commands_.end(), command,
                                    [](const Command& a, const Command& b) { return a.at < b.at; }),
                   command);
  event_.notify(delay);
}

void LinkRegisters::act() {
  while (!commands_.empty() && commands_.front().at <= sc_core::sc_time_stamp()) {
    const Command command = commands_.front();
    commands_.pop_front();
    LinkPort& port = *entries_[command.port].port;
    if ((command.value & kLinkControlReset.mask()) != 0) port.reset();
    if ((command.value & kLinkControlDisable.mask()) != 0) port.disable();
    if ((command.value & kLinkControlTrain.mask()) != 0) port.train();
  }
  if (!commands_.empty()) event_.notify(commands_.front().at - sc_core::sc_time_stamp());
}

}  // namespace tessera
