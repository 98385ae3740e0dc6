// Bringing IPUs back: by what an IPU itself offers, then by its card's controller, then by a reset of the whole card
// from the bridge above it. See driver.h.
#include <algorithm>

#include "host/driver/driver_impl.h"

namespace tessera::driver {

namespace {

constexpr std::uint64_t kResetPulseNs = 1'000'000;  // least time that PCI Express wants
constexpr std::uint64_t kAnswerLimitNs = 100'000'000;
constexpr std::uint32_t kIdentity = std::uint32_t{pcie::kDeviceIpu} << 16 | pcie::kVendor;

}  // namespace

unsigned Driver::Impl::on_card(const Device& d) const {
  unsigned before = 0;
  for (const Device& other : devices) before += &other < &d && other.info.card == d.info.card ? 1 : 0;
  return before;
}

void Driver::Impl::take_back(Device& d) {
  restore(d);
  check_alive(d);
  CardController& card = cards.at(d.info.card);
  boot(card);
  if (const auto now = holder(d); now && !now->mine) write(d, chip::kOwner, 0);
  d.claimed = false;
  write(d, chip::kOwner, 0);
  claim(d);
  if (!card.present()) return stop(d);
  try {
    stop(d);
  } catch (const Error& error) {
    if (error.category() != Category::no_progress) throw;
    card.reset_ipu(on_card(d));
    stop(d);
  }
}

void Driver::Impl::train_links(unsigned card) {
  for (Device& d : devices) {
    if (d.info.card != card) continue;
    for (const unsigned port : ports(d)) {
      const LinkInfo end = link(d, port);
      Device& peer = at(end.peer_ipu);
      if (end.state == LinkInfo::State::up || peer.info.card == card) continue;
      // The firmware here has asked for it; that of the other card has to do so too. A link that does not come up is
      // one that links() shows as down: no reason to give up the card.
      cards.at(peer.info.card).call(reg::card::Command::link_train, {on_card(peer), end.peer_port});
    }
  }
}

void Driver::Impl::reset_card(unsigned card) {
  const PciAddress top{0, static_cast<std::uint8_t>(card), 0};
  const std::vector<PciBridge> bridges = bridges_below(t, top);
  if (bridges.empty())
    throw Error(Category::device_exception, "its card cannot be reset: there is no bridge above it", "", "");
  struct Held {
    Device* device;
    std::optional<Claim> claim;
  };
  std::vector<Held> held;
  for (Device& d : devices) {
    if (d.info.card != card) continue;
    held.push_back({&d, std::nullopt});
    try {
      held.back().claim = holder(d);
    } catch (const Error&) {  // it does not tell: all that is known is what this driver holds
      if (d.claimed) held.back().claim = Claim{tag, client, true};
    }
  }
  const std::uint32_t control = t.config_read(top, pcie::kBridgeControl, 2);
  t.config_write(top, pcie::kBridgeControl, 2, control | pcie::kBridgeReset);
  t.elapse(kResetPulseNs);
  t.config_write(top, pcie::kBridgeControl, 2, control & ~std::uint32_t{pcie::kBridgeReset});
  for (const PciBridge& bridge : bridges) driver::restore(t, bridge);
  const std::uint64_t limit = t.now_ns() + kAnswerLimitNs;
  for (const Held& h : held) {
    while (t.config_read(h.device->function.at, pcie::kVendorId, 4) != kIdentity) {
      if (t.now_ns() >= limit)
        throw Error(Category::device_exception, "its card does not answer after a reset", name(*h.device), "");
      t.elapse(kResetPulseNs);
    }
    restore(*h.device);
    h.device->pending = 0;
    h.device->in_host_sync = false;
    forget_buffers(*h.device);
  }
  boot(cards.at(card));
  for (const Held& h : held) {
    identify(*h.device);
    if (h.claim) write_owner(*h.device, h.claim->tag, h.claim->client);
  }
  train_links(card);
}

void Driver::recover(unsigned ipu) {
  Device& d = impl_->at(ipu);
  const auto failed = [&](const std::string& why) {
    return Error(Category::device_exception, "the IPU could not be recovered: " + why, impl_->name(d),
                 "power its card off and on; if that does not help, the card is defective");
  };
  const std::uint32_t id = impl_->t.config_read(d.function.at, pcie::kVendorId, 4);
  if (id != kIdentity && id != 0xffffffff) throw failed(fmt::format("another device answers, identity 0x{:08x}", id));
  std::string why = "it does not answer on PCI Express, its link is down";
  try {
    if (id == kIdentity) {
      impl_->take_back(d);
      return set_up(ipu);
    }
  } catch (const Error& error) {
    why = error.message();
  }
  try {
    impl_->reset_card(d.info.card);
    impl_->take_back(d);
    set_up(ipu);
  } catch (const Error& error) {
    throw failed(fmt::format("{}; then: {}", why, error.message()));
  }
}

}  // namespace tessera::driver
