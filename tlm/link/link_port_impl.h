// State of one end of an IPU-Link: transmitter (queue, kept packets, credits, replay) and receiver (sequence, answers).
// link_transmitter.cpp and link_receiver.cpp hold the two halves, link_port.cpp what the chip calls.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "tlm/link/line_rate.h"
#include "tlm/link/link_faults.h"
#include "tlm/link/link_frame.h"
#include "tlm/link/link_line.h"
#include "tlm/link/link_port.h"
#include "tlm/link/protocol_checker.h"
#include "tlm/system/clock.h"

namespace tessera {

class LinkPort::Impl : public LineEnd {
 public:
  Impl(LinkPort& owner, const Platform& platform);

  // Transmitter.
  void send(Packet packet);
  void transmit();
  /// Acknowledgements, refusals and credits that are here by now; the replay timer.
  void settle(Cycle now);
  void take_answer(tlm::tlm_generic_payload& payload);
  void take_credit(Cycle at);
  [[nodiscard]] unsigned outstanding();
  void settle_stall(Cycle now);

  // Receiver.
  tlm::tlm_sync_enum receive(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  void answer();
  Packet pop();
  [[nodiscard]] Cycle earliest_arrival() const;

  // Line.
  void line_up(Cycle now, unsigned lanes) override;
  void line_down(Cycle now) override;
  void line_failed(const std::string& why) override;
  void peer_reset(Cycle now) override;
  void reset();
  void report_failure();

  [[nodiscard]] Cycle now() const { return clock_.cycle_at(sc_core::sc_time_stamp()); }
  [[nodiscard]] std::string name() const;
  [[nodiscard]] unsigned padding() const { return frame_bytes_ > 8 ? frame_bytes_ - 8 : 0; }

  LinkPort& owner_;
  const TileClock clock_;
  const Platform::Link link_;
  const Platform platform_;
  const unsigned frame_bytes_, queue_places_;
  LinkFaults faults_;
  NonBlockingChecker checker_;
  FramePool pool_;
  std::shared_ptr<LinkLine> line_;
  Impl* peer_ = nullptr;
  unsigned end_ = 0;  // of the line
  LinkCounters counters_;
  bool verify_ = false, reported_ = false;
  sc_core::sc_event transmit_event_, answer_event_, room_event_, announced_event_;

  // Transmitter. Numbers count packets since reset; frames carry them modulo 2^24.
  struct Kept {
    std::shared_ptr<const Packet> packet;
    std::uint64_t number = 0;
    unsigned replays = 0;  // rounds begun because of it
  };
  struct Answer {
    Cycle at = 0;
    std::uint32_t expected = 0, round = 0;
    bool refused = false;
  };
  std::deque<Packet> queue_;
  std::deque<Kept> kept_;
  std::size_t resend_ = 0;  // next of kept_ to be sent again; its size: none
  std::uint64_t next_number_ = 0;
  std::uint32_t round_ = 0;
  std::uint64_t session_ = 0;  // ends when the line goes down: answers of an older one do not come
  std::uint64_t life_ = 0;     // ends with reset
  LineRate rate_;
  LineTime free_;    // the transmitter can begin with a frame
  LineTime busy_;    // sum, cycles
  Cycle begin_ = 0;  // the last frame put on the line has left it
  unsigned credits_;
  std::deque<Cycle> credits_due_;  // in order
  std::deque<Answer> answers_due_;
  Cycle timer_ = kNever;
  unsigned retrains_ = 0;  // without progress
  Cycle stalled_since_ = kNever;

  // Receiver.
  enum class Verdict : std::uint8_t { good, damaged, out_of_order };
  struct Reception {
    Cycle arrival = 0;
    tlm::tlm_generic_payload* payload = nullptr;
    Verdict verdict = Verdict::good;
    unsigned words = 0;
    std::uint64_t life = 0;
  };
  std::deque<Reception> receptions_;
  std::deque<Arrival> arrivals_;
  std::uint32_t expected_ = 0;
  std::uint32_t refused_round_ = ~0u;  // this round of the sender was refused already

 private:
  void wake_at(Cycle cycle, Cycle now);
  void begin_replay(Cycle now);
  void take_progress(Cycle now, std::uint32_t expected);
  bool begin_frame(Cycle now);
  void send_frame(const Kept& kept, Cycle now);
  void put_on_line(const Kept& kept, LineTime end, FrameFate& fate, Cycle now);
  [[nodiscard]] std::uint64_t line_bytes(const Packet& packet) const {
    return frame_bytes_ + 4 * std::uint64_t{packet.lane_words()};
  }
  void clear_transmitter();
};

}  // namespace tessera
