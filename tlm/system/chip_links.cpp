// Links of a chip, and the process that moves packets between lanes, links and hosts at their time, whatever the chip's
// program does: an IPU forwards for others also when it is held or has stopped. See chip.h, tlm/link/crossbar.h.
#include <fmt/format.h>

#include <algorithm>

#include "tlm/system/chip.h"

namespace tessera {

/// A link's end as the crossbar sees it, and its events.
class Chip::LinkEnd : public sc_core::sc_module, public CrossbarLink {
 public:
  LinkEnd(const sc_core::sc_module_name& name, Chip& chip, LinkPort& port) : sc_module(name), chip_(chip), port_(port) {
    SC_HAS_PROCESS(LinkEnd);
    SC_METHOD(announced);
    sensitive << port.announced();
    dont_initialize();
    SC_METHOD(room_made);
    sensitive << port.room_made();
    dont_initialize();
  }
  [[nodiscard]] bool room() const override { return port_.room(); }
  void blocked() override { port_.blocked(); }
  void send(Packet packet) override { port_.send(std::move(packet)); }
  [[nodiscard]] const Packet* front(Cycle& whole) const override {
    const LinkPort::Arrival* arrival = port_.front();
    if (arrival == nullptr) return nullptr;
    whole = arrival->cycle;
    return &arrival->packet;
  }
  Packet pop() override { return port_.pop(); }

 private:
  void announced() {
    chip_.crossbar_.announced(port_.port(), chip_.now());
    chip_.route_at(chip_.crossbar_.next_event());
  }
  void room_made() {
    chip_.crossbar_.room_made(port_.port(), chip_.now());
    chip_.route_at(chip_.crossbar_.next_event());
  }

  Chip& chip_;
  LinkPort& port_;
};

Chip::~Chip() = default;

void Chip::make_links() {
  crossbar_.host = this;
  crossbar_.active = [this](unsigned tile) { return in_program() && ipu_.active(tile); };
  crossbar_.refuse = [this](const PacketRefusal& refusal) { refuse(refusal); };
  if (config_.topology == nullptr) return;
  const unsigned ipu = config_.ipu.ipu;
  for (unsigned port = 0; port < config_.topology->ports(ipu).size(); ++port) {
    ports_.push_back(std::make_unique<LinkPort>(fmt::format("link{}", port).c_str(), config_.platform, ipu, port));
    ends_.push_back(std::make_unique<LinkEnd>(fmt::format("end{}", port).c_str(), *this, *ports_.back()));
    crossbar_.links.push_back(ends_.back().get());
    link_registers_.add(*ports_.back(), config_.topology->ports(ipu)[port]);
    ports_.back()->forgotten = [this](LinkPort& link) { crossbar_.link_reset(link.port()); };
    ports_.back()->failed = [this](LinkPort& link, const std::string& reason) {
      return link_down(link.port(), reason);
    };
  }
}

void Chip::route_at(Cycle cycle) {
  if (cycle == kNever) return;
  const sc_core::sc_time at = clock_.time_of(cycle), now = sc_core::sc_time_stamp();
  route_event_.notify(at > now ? at - now : sc_core::SC_ZERO_TIME);
}

void Chip::route() {
  if (config_.train_links)
    for (auto& port : ports_) port->train();
  for (;;) {
    wait(route_event_);
    const Cycle cycle = now();
    // Things of links may happen between two cycles: they count from the next.
    if (clock_.time_of(cycle) > sc_core::sc_time_stamp()) {
      route_at(cycle);
      continue;
    }
    try {
      crossbar_.run(cycle);
    } catch (...) {
      failed(std::current_exception());
    }
    // Tiles and lanes can see nothing of it for a lane's latency.
    if (crossbar_.take_changed())
      outside_.notify(clock_.time_of(cycle + ipu_.lanes().lookahead()) - sc_core::sc_time_stamp());
    // A sync waits for the last of them, not a latency longer.
    if (draining_ && crossbar_.own() == 0) outside_.notify(sc_core::SC_ZERO_TIME);
    route_at(crossbar_.next_event());
  }
}

void Chip::pass_packets() {
  crossbar_.collect();
  route_at(crossbar_.next_event());
}

void Chip::wait_for_packets(Cycle cycle) {
  if (over()) return;
  if (cycle == kNever) return wait(outside_ | command_);
  const sc_core::sc_time at = clock_.time_of(cycle), now = sc_core::sc_time_stamp();
  if (at > now) wait(at - now, outside_ | command_);
}

bool Chip::settle_packets(Cycle cycle, bool drain) {
  draining_ = drain;
  for (;;) {
    ipu_.run_lanes(now() + ipu_.lanes().lookahead());
    pass_packets();
    if (reset_request_) return false;
    if (fault_) {
      stop_with_outside_fault();
      return false;
    }
    const bool done = now() >= cycle;
    if (done && (!drain || (ipu_.lanes().waiting() == 0 && crossbar_.own() == 0))) return true;
    wait_for_packets(std::min(done ? kNever : cycle, ipu_.lanes().next_event()));
  }
}

bool Chip::note(const Fault& fault) {
  if (!in_program()) return false;
  if (fault_) return true;
  fault_ = fault;
  outside_.notify(sc_core::SC_ZERO_TIME);
  return true;
}

void Chip::refuse(const PacketRefusal& refusal) {
  if (state_ == State::stopped || reset_request_) return;
  Fault fault;
  fault.number = refusal.why == PacketRefusal::Why::host_access ? host_access : no_destination;
  fault.cycle = refusal.cycle;
  fault.tile = refusal.packet.tile;
  fault.value = static_cast<std::uint32_t>(refusal.packet.remote);
  fault.packet = refusal.packet;
  fault.text = refusal.text();
  if (fault.number == host_access && pcie_failure_)
    return fail_on_pcie(fault, refusal.packet.kind == Packet::Kind::read_request);
  report(refusal.packet.ipu, fault);
}

void Chip::fail_on_pcie(Fault fault, bool read) {
  fault.number = pcie_error;
  fault.value = static_cast<std::uint32_t>(DmaEngine::error_of(pcie_failure_->what));
  // A tile that waits for words is told when the answer, or its time-out, is there.
  const sc_core::sc_time at = pcie_failure_->at;
  if (!read || at <= sc_core::sc_time_stamp()) {
    pcie_failure_.reset();
    report(config_.ipu.ipu, fault);
    return;
  }
  fault.cycle = std::max(fault.cycle, clock_.cycle_at(at));
  sc_core::sc_spawn([this, fault, at, resets = resets_] {
    sc_core::wait(at - sc_core::sc_time_stamp());
    if (resets == resets_) report(config_.ipu.ipu, fault);
  });
}

bool Chip::link_down(unsigned port, const std::string& reason) {
  Fault fault;
  fault.number = link_failed;
  fault.cycle = now();
  fault.value = config_.ipu.ipu << 8 | port;
  fault.text = reason;
  std::vector<Packet> waiting = ports_[port]->waiting();
  const std::vector<Packet> before = crossbar_.waiting_for(port);
  waiting.insert(waiting.end(), before.begin(), before.end());
  constexpr std::size_t kTold = 12;
  for (std::size_t i = 0; i < std::min(waiting.size(), kTold); ++i)
    fault.text += "\n  waits for it: packet of " + way_of(waiting[i]);
  if (waiting.size() > kTold) fault.text += fmt::format("\n  and {} more", waiting.size() - kTold);
  // An IPU that only forwards has no program to stop, or one that does not mind.
  std::vector<unsigned> concerned{config_.ipu.ipu};
  for (const Packet& packet : waiting) concerned.push_back(packet.ipu);
  return std::any_of(concerned.begin(), concerned.end(), [&](unsigned ipu) { return report(ipu, fault); });
}

}  // namespace tessera
