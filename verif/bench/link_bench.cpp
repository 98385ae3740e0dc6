#include "verif/bench/link_bench.h"

#include <fmt/format.h>

#include <stdexcept>

#include "tlm/link/link_port.h"
#include "tlm/system/clock.h"
#include "verif/bench/apart.h"

namespace tessera::bench {

namespace {

/// Sends as fast as there is room, takes each packet in the cycle in which it arrives. Payloads are moved on, as a chip
/// that forwards them would.
class Traffic : public sc_core::sc_module {
 public:
  Traffic(const sc_core::sc_module_name& name, const Platform& platform, unsigned words)
      : sc_module(name), clock_(platform.clock_hz), words_(words), a_("a", platform, 0, 0), b_("b", platform, 1, 0) {
    LinkPort::join(a_, b_);
    SC_HAS_PROCESS(Traffic);
    SC_METHOD(send);
    sensitive << a_.room_made() << start_;
    dont_initialize();
    SC_METHOD(take);
    sensitive << b_.announced() << whole_;
    dont_initialize();
  }
  void train() {
    a_.train();
    b_.train();
  }
  void run(unsigned packets) {
    left_ = packets;
    start_.notify(sc_core::SC_ZERO_TIME);
    sc_core::sc_start();
    if (taken_ != sent_ || sent_ == 0) throw std::runtime_error("the link benchmark lost packets");
  }

 private:
  void send() {
    for (; left_ > 0 && a_.room(); --left_) {
      Packet packet;
      packet.words = words_;
      packet.remote = 4 * sent_++;
      packet.payload.resize(words_);
      a_.send(std::move(packet));
    }
  }
  void take() {
    const Cycle now = clock_.cycle_at(sc_core::sc_time_stamp());
    while (b_.front() != nullptr && b_.front()->cycle <= now) {
      if (b_.pop().remote != 4 * taken_++) throw std::runtime_error("the link benchmark met a packet out of order");
    }
    if (b_.front() != nullptr) whole_.notify(clock_.time_of(b_.front()->cycle) - sc_core::sc_time_stamp());
  }

  TileClock clock_;
  unsigned words_, left_ = 0;
  std::uint64_t sent_ = 0, taken_ = 0;
  LinkPort a_, b_;
  sc_core::sc_event start_, whole_;
};

nlohmann::json measure(const Effort& effort, unsigned packets) {
  const Platform platform = load_platform("c2");
  Traffic large("large", platform, 256), small("small", platform, 8);
  nlohmann::json rounds = nlohmann::json::array();
  large.train();
  small.train();
  sc_core::sc_start();
  for (unsigned round = 0; round < effort.rounds; ++round) {
    const Seconds l = timed([&] { large.run(packets); }), s = timed([&] { small.run(packets); });
    rounds.push_back({l.cpu, l.wall, s.cpu, s.wall});
  }
  return rounds;
}

/// In a process of its own, since SystemC elaborates once in each.
nlohmann::json measure_apart(const Effort& effort, unsigned packets) {
  const std::string text = run_apart([&] { return measure(effort, packets).dump(); });
  nlohmann::json rounds = nlohmann::json::parse(text, nullptr, false);
  if (!rounds.is_array()) throw std::runtime_error("the link benchmark failed: " + text);
  return rounds;
}

}  // namespace

Report run_link_bench(const Effort& effort) {
  const unsigned packets = effort.quick ? 1000 : 300000;
  Figure large{"packets of 256 words", "M/s", "at least 1", "over one link, as fast as it carries them", {}, {}};
  Figure small{"packets of 8 words", "M/s", "", "the same", {}, {}};
  for (const auto& round : measure_apart(effort, packets)) {
    large.add_rate(1e-6 * packets, {round[0], round[1]});
    small.add_rate(1e-6 * packets, {round[2], round[3]});
  }
  Report report;
  report.name = "link";
  report.figures = {large, small};
  report.notes = {fmt::format("{} packets a round; sender, link and receiver in SystemC, in one process", packets)};
  return report;
}

}  // namespace tessera::bench
