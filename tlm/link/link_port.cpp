// What a chip calls of a link port, and what its line tells it; the halves are link_transmitter.cpp and
// link_receiver.cpp.
#include "tlm/link/link_port.h"

#include <fmt/format.h>

#include <algorithm>

#include "hw/error.h"
#include "hw/topology.h"
#include "tlm/link/link_port_impl.h"

namespace tessera {

LinkPort::Impl::Impl(LinkPort& owner, const Platform& platform)
    : owner_(owner),
      clock_(platform.clock_hz),
      link_(platform.link),
      platform_(platform),
      frame_bytes_(platform.link.frame_bytes),
      queue_places_(platform.packet.buffer_packets),
      checker_(owner.name()),
      rate_(platform, platform.link.lanes),
      credits_(platform.link.credits) {}

std::string LinkPort::Impl::name() const {
  return fmt::format("IPU-Link {} to {}", Topology::name(owner_.ipu_, owner_.port_),
                     Topology::name(peer_->owner_.ipu_, peer_->owner_.port_));
}

void LinkPort::Impl::line_up(Cycle now, unsigned lanes) {
  ++counters_.trainings;
  reported_ = false;
  rate_ = LineRate(platform_, lanes);
  free_ = {std::max(now, free_.up()), 0};  // a frame that was under way when the line went down may still be
  busy_.part = 0;                          // of another rate
  for (Kept& kept : kept_) kept.replays = 0;
  resend_ = 0;
  ++round_;
  timer_ = kNever;
  transmit_event_.notify(sc_core::SC_ZERO_TIME);
}

void LinkPort::Impl::line_down(Cycle now) {
  // What has left arrives; answers on their way are lost with the line. Credits are told again by the next training.
  settle(now);
  settle_stall(now);
  stalled_since_ = kNever;
  answers_due_.clear();
  timer_ = kNever;
  ++session_;
}

void LinkPort::Impl::line_failed(const std::string&) {
  reported_ = false;
  if (!queue_.empty() || !kept_.empty()) report_failure();
}

void LinkPort::Impl::report_failure() {
  if (reported_ || !owner_.failed) return;
  const std::size_t waiting = queue_.size() + kept_.size();
  reported_ = owner_.failed(owner_, fmt::format("{} was given up: {}; {} {} for it", name(), line_->why(), waiting,
                                                waiting == 1 ? "packet waits" : "packets wait"));
}

void LinkPort::Impl::peer_reset(Cycle) {
  const std::size_t lost = queue_.size() + kept_.size();
  clear_transmitter();
  expected_ = 0;
  refused_round_ = ~0u;
  reported_ = false;
  if (lost != 0 && owner_.failed)
    owner_.failed(owner_, fmt::format("{}: the other end was reset while {} packets waited for it", name(), lost));
}

void LinkPort::Impl::reset() {
  ++life_;
  arrivals_.clear();
  expected_ = 0;
  refused_round_ = ~0u;
  reported_ = false;
  line_->reset(end_);
  clear_transmitter();
  counters_ = {};
  busy_ = {};
}

LinkPort::LinkPort(const sc_core::sc_module_name& name, const Platform& platform, unsigned ipu, unsigned port)
    : sc_module(name),
      to_peer("to_peer"),
      from_peer("from_peer"),
      ipu_(ipu),
      port_(port),
      impl_(std::make_unique<Impl>(*this, platform)) {
  const LineRate slowest(platform, 1);
  const Cycle largest =
      slowest.after({0, 0}, platform.link.frame_bytes + 4 * (kPacketHeaderWords + kPacketMaxWords)).up();
  const Cycle answer = 2 * Cycle{platform.link.latency} + largest;
  if (platform.link.replay_timeout < answer)
    throw Error(
        Category::usage,
        fmt::format("link: replay_timeout of {} cycles is over before the {} in which the largest packet can be "
                    "answered with one lane",
                    platform.link.replay_timeout, answer),
        fmt::format("platform {}, /link/replay_timeout", platform.name), fmt::format("make it {} or more", answer));
  SC_HAS_PROCESS(LinkPort);
  to_peer.register_nb_transport_bw(this, &LinkPort::answered);
  from_peer.register_nb_transport_fw(this, &LinkPort::from_line);
  SC_METHOD(transmit);
  sensitive << impl_->transmit_event_;
  dont_initialize();
  SC_METHOD(answer);
  sensitive << impl_->answer_event_;
  dont_initialize();
}

LinkPort::~LinkPort() = default;

void LinkPort::join(LinkPort& a, LinkPort& b) {
  a.to_peer.bind(b.from_peer);
  b.to_peer.bind(a.from_peer);
  std::string name = std::string(a.name()) + "_line";  // many ports of one name may be joined in one place
  std::replace(name.begin(), name.end(), '.', '_');
  const auto line = std::make_shared<LinkLine>(name.c_str(), a.impl_->platform_, *a.impl_, *b.impl_);
  a.impl_->line_ = b.impl_->line_ = line;
  a.impl_->peer_ = b.impl_.get();
  b.impl_->peer_ = a.impl_.get();
  b.impl_->end_ = 1;
}

tlm::tlm_sync_enum LinkPort::from_line(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                       sc_core::sc_time& delay) {
  return impl_->receive(payload, phase, delay);
}

tlm::tlm_sync_enum LinkPort::answered(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                      sc_core::sc_time& delay) {
  impl_->checker_.backward(payload, phase, delay);
  impl_->take_answer(payload);
  impl_->checker_.backward_done(payload, phase, delay, tlm::TLM_COMPLETED);
  payload.release();
  return tlm::TLM_COMPLETED;
}

void LinkPort::transmit() { impl_->transmit(); }
void LinkPort::answer() { impl_->answer(); }

bool LinkPort::room() const { return impl_->queue_.size() < impl_->queue_places_; }
void LinkPort::send(Packet packet) { impl_->send(std::move(packet)); }
sc_core::sc_event& LinkPort::room_made() { return impl_->room_event_; }
const LinkPort::Arrival* LinkPort::front() const {
  return impl_->arrivals_.empty() ? nullptr : &impl_->arrivals_.front();
}
Packet LinkPort::pop() { return impl_->pop(); }
sc_core::sc_event& LinkPort::announced() { return impl_->announced_event_; }
Cycle LinkPort::earliest_arrival() const { return impl_->earliest_arrival(); }

void LinkPort::train() { impl_->line_->train(impl_->end_); }
void LinkPort::disable() { impl_->line_->disable(); }
void LinkPort::reset() {
  impl_->reset();
  if (forgotten) forgotten(*this);
}
LinkState LinkPort::state() const { return impl_->line_->state(impl_->end_); }
unsigned LinkPort::lanes_up() const { return impl_->line_->lanes(); }

const LinkCounters& LinkPort::counters() const {
  const Cycle cycle = impl_->now();
  impl_->settle(cycle);
  impl_->settle_stall(cycle);
  impl_->counters_.busy_cycles = impl_->busy_.cycle;
  return impl_->counters_;
}

unsigned LinkPort::outstanding() const { return impl_->outstanding(); }
void LinkPort::blocked() {
  if (state() == LinkState::failed) impl_->report_failure();
}

std::vector<Packet> LinkPort::waiting() const {
  impl_->settle(impl_->now());
  std::vector<Packet> headers;
  for (const Impl::Kept& kept : impl_->kept_) headers.push_back(kept.packet->header_only());
  for (const Packet& packet : impl_->queue_) headers.push_back(packet.header_only());
  return headers;
}

std::string LinkPort::describe() const {
  static const char* const kStates[] = {"absent", "down", "training", "up", "failed"};
  impl_->settle(impl_->now());
  return fmt::format("{}: {}, {} of {} lanes, {} packets wait, {} not acknowledged, {} of {} credits, {} not taken",
                     impl_->name(), kStates[static_cast<unsigned>(state())], lanes_up(), impl_->link_.lanes,
                     impl_->queue_.size(), impl_->kept_.size(), impl_->credits_, impl_->link_.credits,
                     impl_->arrivals_.size());
}

std::size_t LinkPort::open_transactions() const { return impl_->pool_.in_use(); }

void LinkPort::verify_every_frame(bool on) { impl_->verify_ = on; }

void LinkPort::inject(const Injection& injection, std::uint64_t seed) {
  if (injection.kind == "clear") impl_->line_->heal();
  for (const LinkFaults::LineFault& fault : impl_->faults_.add(injection, ipu_, port_, impl_->now(), seed))
    if (fault.lanes == 0)
      impl_->line_->break_medium(fault.from, fault.until);
    else
      impl_->line_->lose_lanes(fault.from, fault.until, fault.lanes);
}

}  // namespace tessera
