// The transmitting half of a link port: what is sent when, what is kept, what is sent again. The rules in words:
// docs/machine/links.md.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "tlm/link/link_port_impl.h"

namespace tessera {

void LinkPort::Impl::wake_at(Cycle cycle, Cycle now) {
  if (cycle == kNever) return;
  transmit_event_.notify(cycle <= now ? sc_core::SC_ZERO_TIME : clock_.time_of(cycle) - sc_core::sc_time_stamp());
}

void LinkPort::Impl::send(Packet packet) {
  if (queue_.size() >= queue_places_) throw std::logic_error("link port: no room for a packet");
  if (packet.payload.empty() || packet.payload.size() != packet.words)
    throw std::logic_error("link port: not a packet with payload");
  queue_.push_back(std::move(packet));
  if (line_->state(end_) == LinkState::failed) report_failure();
  if (line_->up()) wake_at(free_.cycle, now());
}

unsigned LinkPort::Impl::outstanding() {
  settle(now());
  return static_cast<unsigned>(queue_.size() + kept_.size());
}

void LinkPort::Impl::transmit() {
  const Cycle cycle = now();
  settle(cycle);
  if (!line_->up()) return;
  // The next frame is chosen in the cycle in which the last one ends, also if it ends within that cycle.
  while (free_.cycle <= cycle && begin_frame(cycle)) {
  }
  const bool more = resend_ < kept_.size() || !queue_.empty();
  Cycle next = timer_;
  if (more && free_.cycle > cycle) {
    next = std::min(next, free_.cycle);
  } else if (more) {  // a credit or an acknowledgement is missing
    if (!credits_due_.empty()) next = std::min(next, credits_due_.front());
    if (!answers_due_.empty()) next = std::min(next, answers_due_.front().at);
  }
  wake_at(next, cycle);
}

bool LinkPort::Impl::begin_frame(Cycle now) {
  if (resend_ < kept_.size()) {
    ++counters_.replays;
    send_frame(kept_[resend_++], now);
    return true;
  }
  if (queue_.empty() || kept_.size() >= link_.replay_packets) return false;
  if (credits_ == 0) {
    if (stalled_since_ == kNever) stalled_since_ = now;
    return false;
  }
  settle_stall(now);
  stalled_since_ = kNever;
  --credits_;
  const bool was_full = queue_.size() >= queue_places_;
  kept_.push_back({std::make_shared<const Packet>(std::move(queue_.front())), next_number_++, 0});
  queue_.pop_front();
  resend_ = kept_.size();
  if (was_full) room_event_.notify(sc_core::SC_ZERO_TIME);
  ++counters_.packets_sent;
  counters_.words_sent += kept_.back().packet->lane_words();
  send_frame(kept_.back(), now);
  return true;
}

void LinkPort::Impl::settle_stall(Cycle now) {
  if (stalled_since_ == kNever) return;
  counters_.stalled_cycles += now - stalled_since_;
  stalled_since_ = now;
}

void LinkPort::Impl::send_frame(const Kept& kept, Cycle now) {
  const LineTime start = free_.cycle < now ? LineTime{now, 0} : free_;
  const std::uint64_t bytes = line_bytes(*kept.packet);
  const unsigned frame_bytes = 8 + padding() + 4 * kept.packet->lane_words();
  FrameFate fate;
  if (faults_.any_frame()) fate = faults_.frame(start.cycle, 8 * std::uint64_t{frame_bytes});
  for (unsigned copies = fate.doubled ? 2 : 1; copies > 0; --copies) {
    const LineTime end = rate_.after(copies == 1 && fate.doubled ? free_ : start, bytes);
    busy_ = rate_.after(busy_, bytes);
    free_ = end;
    if (!fate.lost) put_on_line(kept, end, fate, now);
  }
  if (timer_ == kNever) timer_ = free_.up() + link_.replay_timeout;
}

void LinkPort::Impl::put_on_line(const Kept& kept, LineTime end, FrameFate& fate, Cycle now) {
  const Packet& packet = *kept.packet;
  tlm::tlm_generic_payload& payload = pool_.get();
  LinkFrame& frame = *payload.get_extension<LinkFrame>();
  frame.packet = kept.packet;
  frame.sequence = (static_cast<std::uint32_t>(kept.number) & kSequenceMask) | round_ << 24;
  frame.sent = end.cycle;
  frame.arrival = end.up() + link_.latency;
  frame.session = session_;
  frame.bytes.clear();
  if (!fate.flips.empty() || verify_) {
    frame.bytes = encode_frame(frame.sequence, packet, padding());
    for (const std::uint32_t bit : fate.flips) frame.bytes[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
  }
  const auto bytes = static_cast<unsigned>(4 * packet.payload.size());
  payload.set_command(tlm::TLM_WRITE_COMMAND);
  payload.set_address(packet.remote);
  payload.set_data_ptr(const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(packet.payload.data())));
  payload.set_data_length(bytes);
  payload.set_streaming_width(bytes);
  payload.set_byte_enable_ptr(nullptr);
  payload.set_dmi_allowed(false);
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  // A second copy follows the first one: it begins where that ends.
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  if (begin_ > now) delay = clock_.time_of(begin_) - sc_core::sc_time_stamp();
  begin_ = end.cycle;
  checker_.forward(payload, phase, delay);
  const tlm::tlm_sync_enum status = owner_.to_peer->nb_transport_fw(payload, phase, delay);
  checker_.forward_done(payload, phase, delay, status);
}

void LinkPort::Impl::take_answer(tlm::tlm_generic_payload& payload) {
  const LinkFrame& frame = *payload.get_extension<LinkFrame>();
  const Cycle at = frame.arrival + link_.latency;
  if (frame.session != session_) return;
  if (faults_.loses_ack(at)) return;
  answers_due_.push_back({at, frame.expected, frame.sequence >> 24, frame.refused});
  const bool blocked = !queue_.empty() && kept_.size() >= link_.replay_packets;
  if (frame.refused || blocked) wake_at(at, now());
}

void LinkPort::Impl::take_credit(Cycle at) {
  at = faults_.credit(at);
  if (at == kNever) return;
  // Behind those that are held, since a stall that ends lets all go at once.
  credits_due_.insert(std::upper_bound(credits_due_.begin(), credits_due_.end(), at), at);
  if (credits_ == 0 && !queue_.empty()) wake_at(at, now());
}

void LinkPort::Impl::take_progress(Cycle now, std::uint32_t expected) {
  bool progress = false;
  while (!kept_.empty() &&
         ((expected - static_cast<std::uint32_t>(kept_.front().number)) & kSequenceMask) - 1 < kSequenceMask / 2) {
    kept_.pop_front();
    if (resend_ > 0) --resend_;
    progress = true;
  }
  if (!progress) return;
  retrains_ = 0;
  timer_ = kept_.empty() ? kNever : now + link_.replay_timeout;
}

void LinkPort::Impl::settle(Cycle now) {
  while (!credits_due_.empty() && credits_due_.front() <= now) {
    credits_due_.pop_front();
    ++credits_;
  }
  while (!answers_due_.empty() && answers_due_.front().at <= now) {
    const Answer answer = answers_due_.front();
    answers_due_.pop_front();
    take_progress(answer.at, answer.expected);
    if (answer.refused && answer.round == (round_ & 0xff) && !kept_.empty()) begin_replay(now);
  }
  if (timer_ <= now) {
    ++counters_.timeouts;
    begin_replay(now);
  }
}

void LinkPort::Impl::begin_replay(Cycle now) {
  timer_ = kNever;
  if (!line_->up()) return;  // all is sent again anyway when it is
  if (kept_.front().replays < link_.max_replays) {
    ++kept_.front().replays;
    ++round_;
    resend_ = 0;
    wake_at(std::max(now, free_.cycle), now);
    return;
  }
  if (retrains_ < link_.max_trainings) {
    ++retrains_;
    return line_->retrain();
  }
  line_->give_up(fmt::format("{} trainings did not bring a packet across", retrains_));
}

void LinkPort::Impl::clear_transmitter() {
  queue_.clear();
  kept_.clear();
  resend_ = 0;
  next_number_ = 0;
  credits_due_.clear();
  answers_due_.clear();
  timer_ = stalled_since_ = kNever;
  retrains_ = 0;
  ++session_;
  // Places of packets that the other end still holds come back as credits when it hands them on.
  credits_ = link_.credits - static_cast<unsigned>(std::min<std::size_t>(link_.credits, peer_->arrivals_.size()));
  room_event_.notify(sc_core::SC_ZERO_TIME);
}

}  // namespace tessera
