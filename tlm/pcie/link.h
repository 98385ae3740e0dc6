// Time on the link of a card: who may send when. Plain rules, and the gate that makes them independent of the order in
// which SystemC calls processes.
//
// A direction carries one packet at a time. Whoever has a packet ready takes the first stretch of time, from then on,
// that nobody has taken and that is long enough; what one sender had ready before is sent before. So senders that keep
// a bounded number of packets on the way share the link evenly. See docs/machine/pcie.md.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <systemc>
#include <vector>

namespace tessera::pcie {

/// Header, sequence number, CRC and framing of a packet, in bytes.
inline constexpr unsigned kTlpOverhead = 24;

struct LinkTiming {
  std::uint64_t bytes_per_cycle = 20;  ///< each way
  std::uint64_t clock_hz = 1'600'000'000;
  sc_core::sc_time latency;  ///< root port to endpoint, one way
  unsigned max_payload = 256;

  /// Time that `bytes` take, rounded up to a picosecond.
  [[nodiscard]] std::uint64_t picoseconds(std::uint64_t bytes) const;
};

/// Picoseconds of a SystemC time.
[[nodiscard]] std::uint64_t picoseconds_of(const sc_core::sc_time& time);
[[nodiscard]] sc_core::sc_time time_of(std::uint64_t picoseconds);

/// One direction of a link. Times in picoseconds since power-on.
class LinkDirection {
 public:
  LinkDirection(const LinkTiming& timing, unsigned senders);

  /// Sends `payload` bytes in `packets` packets, ready at `ready`; back to back unless others stand in the way. `now`:
  /// nothing will be offered that was ready before. Returns when the last has been sent.
  std::uint64_t send(std::uint64_t now, std::uint64_t ready, unsigned sender, std::uint64_t payload,
                     std::uint64_t packets);

  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t packets() const { return packets_; }

 private:
  struct Span {
    std::uint64_t from = 0, to = 0;
  };
  struct Sent {
    std::uint64_t ready = 0, end = 0;
  };
  /// First time from `from` on at which `length` fits.
  [[nodiscard]] std::uint64_t first_fit(std::uint64_t from, std::uint64_t length) const;
  void take(std::uint64_t from, std::uint64_t to);
  void forget(std::uint64_t now);

  LinkTiming timing_;
  std::deque<Span> taken_;               // in order, disjoint
  std::vector<std::deque<Sent>> order_;  // per sender, by ready
  std::vector<std::uint64_t> settled_;   // per sender: end of all that was ready by now
  std::uint64_t bytes_ = 0, packets_ = 0;
};

/// Lets SystemC threads that come at the same time go on one by one, in order of a number that they bring; each a
/// picosecond after it came, when all have come.
class Gate {
 public:
  /// Between construction and destruction the thread has the gate for itself and must not wait.
  class Pass {
   public:
    Pass(Gate& gate, unsigned order);
    ~Pass();
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;
    /// When the thread came.
    [[nodiscard]] const sc_core::sc_time& came() const { return ticket_.came; }

   private:
    friend class Gate;
    struct Ticket {
      sc_core::sc_time came;
      unsigned order = 0;
      std::uint64_t number = 0;
    };
    Gate& gate_;
    Ticket ticket_;
  };

 private:
  using Ticket = Pass::Ticket;
  std::list<const Ticket*> waiting_;  // in the order in which they go on
  std::uint64_t next_number_ = 0;
  sc_core::sc_event moved_;
};

}  // namespace tessera::pcie
