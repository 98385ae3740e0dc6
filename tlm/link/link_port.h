// One end of an IPU-Link: transmitter and receiver of one IPU, joined to the other end by TLM-2.0 sockets.
//
// A packet of a lane (tlm/link/packet.h) becomes a frame with sequence number and CRC; the transmitter sends it when
// the peer has a buffer for it (credits), keeps it until it is acknowledged, and sends it again if it is refused or not
// answered. The receiver hands packets on whole, once, in order. Times are exact: docs/machine/links.md. What a chip
// does with packets (lanes, routing, forwarding) is tlm/system's.
//
// A frame is one transaction of the TLM-2.0 base protocol, approximately timed: BEGIN_REQ when its first byte leaves,
// END_REQ (the return value) when its last one has left, BEGIN_RESP with the answer, completed by its return value.
// Credits, training and loss of signal go by join().
//
// All calls are made from SystemC processes at the current time. Cycles are of the tile clock (tlm/system/clock.h's
// rule: cycle c stands at c / clock).
#pragma once

#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <systemc>
#include <tlm>
#include <vector>

#include "hw/injection.h"
#include "hw/platform.h"
#include "hw/types.h"
#include "tlm/link/packet.h"

namespace tessera {

enum class LinkState : std::uint8_t { absent = 0, down = 1, training = 2, up = 3, failed = 4 };

struct LinkCounters {
  std::uint64_t packets_sent = 0, words_sent = 0;          ///< first transmissions; words with headers
  std::uint64_t packets_received = 0, words_received = 0;  ///< handed on
  std::uint64_t crc_errors = 0;                            ///< frames with a wrong CRC at the receiver
  std::uint64_t sequence_errors = 0;                       ///< frames out of order or doubled, dropped
  std::uint64_t replays = 0;                               ///< frames sent again
  std::uint64_t timeouts = 0;                              ///< replay timer ran out
  std::uint64_t trainings = 0;                             ///< successful ones
  std::uint64_t busy_cycles = 0;                           ///< the transmitter was sending
  std::uint64_t stalled_cycles = 0;                        ///< it had a packet and no credit
};

class LinkPort : public sc_core::sc_module {
 public:
  LinkPort(const sc_core::sc_module_name& name, const Platform& platform, unsigned ipu, unsigned port);
  ~LinkPort() override;
  /// Makes two ports the ends of one link, sockets included; before the simulation starts.
  static void join(LinkPort& a, LinkPort& b);

  tlm_utils::simple_initiator_socket<LinkPort> to_peer;  ///< non-blocking, approximately timed
  tlm_utils::simple_target_socket<LinkPort> from_peer;

  // The chip's side, sending. Packets wait in a queue of `packet.buffer_packets` places.
  [[nodiscard]] bool room() const;
  /// Takes a packet at the current time; room() must be true.
  void send(Packet packet);
  /// Notified when room() becomes true, at its time.
  [[nodiscard]] sc_core::sc_event& room_made();

  // The chip's side, receiving. A packet is announced when the peer begins to send it, at least `link.latency` cycles
  // before its time, so that a chip can run ahead; it holds a buffer of the receiver until pop().
  struct Arrival {
    Cycle cycle = 0;  ///< in which it is whole at the receiver; never before now
    Packet packet;
  };
  /// The oldest that was announced and not popped; nullptr if there is none. Stays until pop(), which is called at
  /// arrival.cycle or later.
  [[nodiscard]] const Arrival* front() const;
  /// The packet has left its buffer: the place goes back to the sender as a credit.
  Packet pop();
  /// Notified when front() becomes non-null, at the time of the announcement.
  [[nodiscard]] sc_core::sc_event& announced();
  /// Nothing can be announced before this cycle: lower bound now + latency unless front() says otherwise.
  [[nodiscard]] Cycle earliest_arrival() const;

  // Control, for chip registers and the card controller.
  void train();    ///< from down or failed; both ends have to train
  void disable();  ///< down; what is kept stays kept and is sent after the next training
  /// Everything forgotten: sequence numbers, credits, what waits, counters; state down. Faults stay. The other end is
  /// down too and drops what it had for this one, which it reports by `failed`; packets that it was to take stay with
  /// it.
  void reset();
  [[nodiscard]] LinkState state() const;
  [[nodiscard]] unsigned lanes_up() const;
  [[nodiscard]] const LinkCounters& counters() const;
  /// Packets taken by send() and not yet known to be at the other end.
  [[nodiscard]] unsigned outstanding() const;
  /// One line for reports: state, what waits, credits.
  [[nodiscard]] std::string describe() const;

  /// Transactions of its frames that are not completed.
  [[nodiscard]] std::size_t open_transactions() const;
  /// All frames become bytes and their CRCs are computed, not only those that errors hit: same result, for tests.
  void verify_every_frame(bool on);
  /// Adds a fault (docs/machine/links.md lists the kinds); `seed` is for random ones that name none. Throws
  /// Error(usage) for what it does not know.
  void inject(const Injection& injection, std::uint64_t seed = 0);

  /// Called when the link is given up while packets wait for it, or when a packet comes to it then: the reason in one
  /// sentence. Once, if it gives true; else there was nobody to be told, and the next packet asks again.
  std::function<bool(LinkPort&, const std::string&)> failed;
  /// A packet waits for room(): asks as above if the link was given up.
  void blocked();
  /// Headers of the packets that outstanding() counts, the oldest first.
  [[nodiscard]] std::vector<Packet> waiting() const;

  /// Called by reset(): what front() showed is gone.
  std::function<void(LinkPort&)> forgotten;

  [[nodiscard]] unsigned ipu() const { return ipu_; }
  [[nodiscard]] unsigned port() const { return port_; }

 private:
  class Impl;
  tlm::tlm_sync_enum from_line(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  tlm::tlm_sync_enum answered(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  void transmit();
  void answer();

  unsigned ipu_, port_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera
