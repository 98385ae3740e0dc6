// IPU-Links as the chip registers of their ports tell. See driver.h.
#include <algorithm>

#include "host/driver/driver_impl.h"

namespace tessera::driver {

namespace {

/// Simulated time in which links shall be empty; trainings take some ten microseconds.
constexpr std::uint64_t kDrainLimitNs = 5'000'000;

std::uint32_t port_offset(unsigned port) { return port * chip::kLinkStatusStride; }

}  // namespace

const char* to_string(LinkInfo::State state) {
  static constexpr const char* kNames[] = {"absent", "down", "training", "up", "failed"};
  const auto i = static_cast<unsigned>(state);
  return i < std::size(kNames) ? kNames[i] : "in no known state";
}

const char* to_string(LinkInfo::Use use) {
  static constexpr const char* kNames[] = {"direct", "crossed", "rail", "other"};
  return kNames[static_cast<unsigned>(use) & 3];
}

std::string link_text(unsigned ipu, const LinkInfo& link) {
  std::string text =
      fmt::format("link {}.{} to {}.{} ({}): {}, {} lanes; sent {} packets, {} words; received {}, {}", ipu, link.port,
                  link.peer_ipu, link.peer_port, to_string(link.use), to_string(link.state), link.lanes,
                  link.packets_sent, link.words_sent, link.packets_received, link.words_received);
  const auto add = [&](const char* what, std::uint64_t count) {
    if (count != 0) text += fmt::format("; {} {}", count, what);
  };
  add("packets wait or are not acknowledged", link.outstanding);
  add("CRC errors", link.crc_errors);
  add("sequence errors", link.sequence_errors);
  add("frames sent again", link.replays);
  add("time-outs", link.timeouts);
  add("cycles without credit", link.stalled_cycles);
  return text + fmt::format("; trained {} times", link.trainings);
}

LinkInfo::State Driver::Impl::state(const Device& d, unsigned port) {
  return static_cast<LinkInfo::State>(chip::kLinkStatusState.get(read(d, chip::kLinkStatus + port_offset(port))));
}

LinkInfo Driver::Impl::link(const Device& d, unsigned port) {
  const std::uint32_t at = port_offset(port);
  LinkInfo link;
  link.port = port;
  const std::uint32_t status = read(d, chip::kLinkStatus + at);
  link.state = static_cast<LinkInfo::State>(chip::kLinkStatusState.get(status));
  link.lanes = static_cast<unsigned>(chip::kLinkStatusLanes.get(status));
  if (link.state == LinkInfo::State::absent) return link;
  const std::uint32_t peer = read(d, chip::kLinkPeer + at);
  link.peer_ipu = static_cast<unsigned>(chip::kLinkPeerIpu.get(peer));
  link.peer_port = static_cast<unsigned>(chip::kLinkPeerPort.get(peer));
  link.use = static_cast<LinkInfo::Use>(chip::kLinkPeerUse.get(peer));
  link.outstanding = read(d, chip::kLinkOutstanding + at);
  link.packets_sent = read(d, chip::kLinkPacketsSent + at);
  link.packets_received = read(d, chip::kLinkPacketsReceived + at);
  link.words_sent = read_wide(d, chip::kLinkWordsSentLow + at);
  link.words_received = read_wide(d, chip::kLinkWordsReceivedLow + at);
  link.crc_errors = read(d, chip::kLinkCrcErrors + at);
  link.sequence_errors = read(d, chip::kLinkSequenceErrors + at);
  link.replays = read(d, chip::kLinkReplays + at);
  const std::uint32_t trainings = read(d, chip::kLinkTrainings + at);
  link.trainings = static_cast<std::uint32_t>(chip::kLinkTrainingsTrainings.get(trainings));
  link.timeouts = static_cast<std::uint32_t>(chip::kLinkTrainingsTimeouts.get(trainings));
  link.busy_cycles = read(d, chip::kLinkBusyCycles + at);
  link.stalled_cycles = read(d, chip::kLinkStalledCycles + at);
  return link;
}

const std::vector<unsigned>& Driver::Impl::ports(Device& d) {
  if (!d.ports) {  // which there are does not change
    d.ports.emplace();
    for (unsigned port = 0; port < chip::kLinkStatusCount; ++port)
      if (chip::kLinkStatusState.get(read(d, chip::kLinkStatus + port_offset(port))) != 0) d.ports->push_back(port);
  }
  return *d.ports;
}

void Driver::Impl::add_links(Device& d, Counters& counters) {
  for (const unsigned port : ports(d)) {
    counters.link_packets += read(d, chip::kLinkPacketsSent + port_offset(port));
    counters.link_words += read_wide(d, chip::kLinkWordsSentLow + port_offset(port));
  }
}

Driver::Impl::Traffic Driver::Impl::traffic() {
  Traffic sum;
  for (Device& d : devices) {
    if (!d.claimed) continue;
    for (const unsigned port : ports(d)) {
      const std::uint32_t waiting = read(d, chip::kLinkOutstanding + port_offset(port));
      if (sum.waiting == 0) sum.ipu = number(d), sum.port = port;
      sum.waiting += waiting;
      sum.sent += read(d, chip::kLinkPacketsSent + port_offset(port));
    }
  }
  return sum;
}

/// A link that was given up keeps its packets: both ends forget them and train anew. false: it is not given up.
bool Driver::Impl::revive(Device& d, unsigned port) {
  if (state(d, port) != LinkInfo::State::failed) return false;
  const LinkInfo info = link(d, port);
  Device& peer = at(info.peer_ipu);
  using namespace chip;
  for (const reg::Field& what : {kLinkControlReset, kLinkControlTrain}) {
    const auto value = static_cast<std::uint32_t>(what.mask());
    write(d, kLinkControl + port_offset(port), value);
    if (peer.claimed) write(peer, kLinkControl + port_offset(info.peer_port), value);
  }
  return true;
}

void Driver::Impl::drain_links() {
  if (std::none_of(devices.begin(), devices.end(), [](const Device& d) { return d.claimed && d.cut_short; })) return;
  const std::uint64_t begin = t.now_ns();
  for (Device& d : devices)
    if (d.claimed)
      for (const unsigned port : ports(d)) revive(d, port);
  // A packet that moves from link to link may be missed twice, but not without being counted in between.
  std::uint64_t sent = ~std::uint64_t{0};
  for (;;) {
    const Traffic now = traffic();
    if (now.waiting == 0 && now.sent == sent) break;
    sent = now.sent;
    if (now.waiting != 0 && !revive(devices[now.ipu], now.port) && t.now_ns() - begin > kDrainLimitNs)
      throw Error(
          Category::no_progress,
          "packets of an earlier program stay on a link: " + link_text(now.ipu, link(devices[now.ipu], now.port)),
          name(devices[now.ipu]), "train the link, or reset it at both ends");
    t.elapse(1000);
  }
  // Programs may need links that train yet.
  for (Device& d : devices) {
    if (!d.claimed) continue;
    for (const unsigned port : ports(d))
      while (state(d, port) == LinkInfo::State::training && t.now_ns() - begin < kDrainLimitNs) t.elapse(1000);
    d.cut_short = false;
  }
}

std::vector<LinkInfo> Driver::links(unsigned ipu) {
  Device& d = impl_->at(ipu);
  std::vector<LinkInfo> all;
  for (const unsigned port : impl_->ports(d)) all.push_back(impl_->link(d, port));
  return all;
}

}  // namespace tessera::driver
