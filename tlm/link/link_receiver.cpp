// The receiving half of a link port: frames are judged when they are announced, answered when they are whole.
#include <stdexcept>

#include "tlm/link/link_port_impl.h"

namespace tessera {

tlm::tlm_sync_enum LinkPort::Impl::receive(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                           sc_core::sc_time& delay) {
  if (phase != tlm::BEGIN_REQ) throw std::logic_error("link port: a frame does not begin with BEGIN_REQ");
  LinkFrame& frame = *payload.get_extension<LinkFrame>();
  const Packet* packet = frame.packet.get();
  std::uint32_t sequence = frame.sequence;
  std::optional<FrameContent> content;
  Reception reception{frame.arrival, &payload, Verdict::good, 0, life_};
  if (!frame.bytes.empty()) {
    content = decode_frame(frame.bytes, padding());
    if (content) {
      sequence = content->sequence;
      packet = &content->packet;
    } else {
      reception.verdict = Verdict::damaged;
    }
  }
  const bool repeated =
      reception.verdict == Verdict::good && ((expected_ - sequence) & kSequenceMask) - 1 < kSequenceMask / 2;
  if (reception.verdict == Verdict::good && (sequence & kSequenceMask) != expected_)
    reception.verdict = Verdict::out_of_order;
  frame.refused = false;
  if (reception.verdict == Verdict::good) {
    const bool first = arrivals_.empty();
    arrivals_.push_back(content ? Arrival{frame.arrival, std::move(content->packet)} : Arrival{frame.arrival, *packet});
    reception.words = arrivals_.back().packet.lane_words();
    expected_ = (expected_ + 1) & kSequenceMask;
    refused_round_ = ~0u;
    if (first) announced_event_.notify(sc_core::SC_ZERO_TIME);
  } else if (!repeated && refused_round_ != frame.sequence >> 24) {
    // Go back: once for each round of the sender, since what follows a gap was sent before it could know.
    refused_round_ = frame.sequence >> 24;
    frame.refused = true;
  }
  frame.expected = expected_;
  payload.acquire();
  receptions_.push_back(reception);
  if (receptions_.size() == 1) answer_event_.notify(clock_.time_of(frame.arrival) - sc_core::sc_time_stamp());
  phase = tlm::END_REQ;
  const sc_core::sc_time sent = clock_.time_of(frame.sent);
  if (sent > sc_core::sc_time_stamp() + delay) delay = sent - sc_core::sc_time_stamp();
  return tlm::TLM_UPDATED;
}

void LinkPort::Impl::answer() {
  const Cycle cycle = now();
  while (!receptions_.empty() && receptions_.front().arrival <= cycle) {
    const Reception reception = receptions_.front();
    receptions_.pop_front();
    if (reception.life == life_) {
      counters_.crc_errors += reception.verdict == Verdict::damaged;
      counters_.sequence_errors += reception.verdict == Verdict::out_of_order;
      if (reception.verdict == Verdict::good) {
        ++counters_.packets_received;
        counters_.words_received += reception.words;
      }
    }
    tlm::tlm_generic_payload& payload = *reception.payload;
    payload.set_response_status(reception.verdict == Verdict::good ? tlm::TLM_OK_RESPONSE
                                                                   : tlm::TLM_GENERIC_ERROR_RESPONSE);
    tlm::tlm_phase phase = tlm::BEGIN_RESP;
    sc_core::sc_time delay = clock_.time_of(cycle + link_.latency) - sc_core::sc_time_stamp();
    if (owner_.from_peer->nb_transport_bw(payload, phase, delay) != tlm::TLM_COMPLETED)
      throw std::logic_error("link port: an answer was not taken");
    payload.release();
  }
  if (!receptions_.empty())
    answer_event_.notify(clock_.time_of(receptions_.front().arrival) - sc_core::sc_time_stamp());
}

Packet LinkPort::Impl::pop() {
  const Cycle cycle = now();
  if (arrivals_.empty() || arrivals_.front().cycle > cycle) throw std::logic_error("link port: nothing has arrived");
  Packet packet = std::move(arrivals_.front().packet);
  arrivals_.pop_front();
  peer_->take_credit(cycle + link_.latency);
  return packet;
}

Cycle LinkPort::Impl::earliest_arrival() const {
  // The peer's line has to be free, and the smallest packet takes its time.
  LineTime start{now(), 0};
  if (peer_->free_.cycle >= start.cycle && peer_->line_->up()) start = peer_->free_;
  return peer_->rate_.after(start, frame_bytes_ + 4 * (kPacketHeaderWords + 1)).up() + link_.latency;
}

}  // namespace tessera
