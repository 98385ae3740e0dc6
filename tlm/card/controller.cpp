// See controller.h.
#include "tlm/card/controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "hw/error.h"
#include "hw/generated/machine.h"
#include "tlm/system/clock.h"

namespace tessera {

namespace {

/// How far the processor runs ahead in its own memory; no result depends on it.
constexpr Cycle kQuantum = 1 << 14;

TileConfig tile_config(const Platform& platform, unsigned card) {
  TileConfig config;
  config.tile = card;
  config.sram_bytes = platform.card.ram_bytes;
  return config;
}

FirmwareImage image_of(std::vector<std::uint8_t> bytes, const Platform& platform) {
  const bool own = bytes.empty();
  if (own) bytes = FirmwareImage::embedded();
  return FirmwareImage::parse(std::move(bytes), own ? "the firmware of this build" : "the firmware of the cards",
                              platform.card.ram_bytes);
}

}  // namespace

CardController::CardController(const sc_core::sc_module_name& name, const Platform& platform, unsigned card,
                               std::vector<CardTarget*> targets, std::vector<std::uint8_t> firmware)
    : sc_module(name),
      bus("bus"),
      platform_(platform),
      card_(card),
      image_(image_of(std::move(firmware), platform)),
      checker_("checker"),
      peripherals_("peripherals", platform, card, std::move(targets)) {
  bus.bind(checker_.in);
  checker_.out.bind(peripherals_.bus);
  SC_HAS_PROCESS(CardController);
  SC_THREAD(process);
  SC_THREAD(injector);
}

sc_core::sc_time CardController::time_of(Cycle cycle) const {
  return TileClock(platform_.card.controller_hz).time_of(cycle);
}
Cycle CardController::cycle_at(const sc_core::sc_time& time) const {
  return TileClock(platform_.card.controller_hz).cycle_at(time);
}

void CardController::wait_until(const sc_core::sc_time& at) {
  const sc_core::sc_time now = sc_core::sc_time_stamp();
  if (at > now) wait(at - now, reset_);
}

void CardController::start() {
  tile_ = std::make_unique<TlmTile>(tile_config(platform_, card_));
  tile_->attach_peripherals(reg::card::kBase, reg::card::kSize);
  tile_->write_memory(kSramBase, image_.bytes.data(), image_.bytes.size());
  cycle_ = cycle_at(sc_core::sc_time_stamp());
  tile_->start(image_.entry, cycle_);
}

void CardController::process() {
  for (;;) {
    peripherals_.reset(cause_);
    reset_request_ = false;
    if (!no_ready_) {
      start();
      run();
    }
    while (!reset_request_) wait(reset_);
  }
}

void CardController::run() {
  while (!reset_request_) {
    plant();
    const TileStop stop = tile_->run(next_limit(), nullptr, nullptr);
    cycle_ = stop.cycle;
    switch (stop.kind) {
      case TileStop::Kind::limit:
        wait_until(time_of(cycle_));
        if (!reset_request_ && watchdog_acts()) return;
        break;
      case TileStop::Kind::mmio:
        if (!access()) return;
        break;
      default:  // a trap before there is a handler, or the wrong instruction for a processor alone
        wait_until(time_of(cycle_));
        if (!reset_request_) peripherals_.processor_stopped(reg::card::Failure::stopped);
        return;
    }
  }
}

Cycle CardController::next_limit() const {
  Cycle limit = cycle_ + kQuantum;
  const auto bound = [&](const sc_core::sc_time& at) { limit = std::min(limit, std::max(cycle_ + 1, cycle_at(at))); };
  if (peripherals_.watchdog()) bound(*peripherals_.watchdog());
  for (const Plant& p : plants_)
    if (p.times != 0) bound(p.at);
  return limit;
}

bool CardController::watchdog_acts() {
  if (!peripherals_.watchdog() || sc_core::sc_time_stamp() < *peripherals_.watchdog()) return false;
  if (peripherals_.restarts() != 0) {
    peripherals_.processor_stopped(reg::card::Failure::watchdog);
    return true;
  }
  cause_ = ResetCause::watchdog;
  reset_request_ = true;
  return true;
}

bool CardController::access() {
  const TlmTile::MmioAccess& mmio = tile_->mmio();
  std::uint32_t value = mmio.value;
  const sc_core::sc_time now = sc_core::sc_time_stamp(), at = time_of(cycle_);
  sc_core::sc_time delay = at > now ? at - now : sc_core::SC_ZERO_TIME;
  pcie::Request request(pcie::Tlp::Kind::memory, mmio.write, mmio.address - reg::card::kBase,
                        reinterpret_cast<std::uint8_t*>(&value), mmio.bytes);
  bus->b_transport(request.payload, delay);
  if (reset_request_) return false;
  if (!request.payload.is_response_ok()) {
    tile_->fail_mmio();
    return true;
  }
  const Cycle done = cycle_at(sc_core::sc_time_stamp() + delay);
  tile_->finish_mmio(value, done);
  cycle_ = std::max(cycle_ + 1, done);
  return true;
}

void CardController::plant() {
  for (Plant& p : plants_) {
    if (p.times == 0 || time_of(cycle_) < p.at) continue;
    const Address pc = tile_->context(0).pc;
    if (pc - kSramBase >= platform_.card.ram_bytes) continue;
    tile_->write_memory(pc, reinterpret_cast<const std::uint8_t*>(&p.word), 4);
    // Once each time that the firmware is loaded.
    --p.times;
    p.at = time_of(cycle_) + sc_core::sc_time(2.0 * platform_.card.watchdog_us, sc_core::SC_US);
    if (p.times != 0) wake_for(p);
  }
}

void CardController::wake_for(const Plant& plant) {
  if (!plant.wakes) return;
  timed_.push_back({plant.at, [this] { peripherals_.wake(); }});
  injected_.notify(sc_core::SC_ZERO_TIME);
}

void CardController::reset_card() {
  cause_ = ResetCause::host;
  reset_request_ = true;
  peripherals_.abort(true);
  reset_.notify(sc_core::SC_ZERO_TIME);
}

void CardController::injector() {
  for (;;) {
    std::optional<sc_core::sc_time> first;
    for (std::size_t i = 0; i < timed_.size();) {
      if (timed_[i].at <= sc_core::sc_time_stamp()) {
        const std::function<void()> act = std::move(timed_[i].act);
        timed_.erase(timed_.begin() + static_cast<std::ptrdiff_t>(i));
        act();
        continue;
      }
      if (!first || timed_[i].at < *first) first = timed_[i].at;
      ++i;
    }
    if (first)
      wait(*first - sc_core::sc_time_stamp(), injected_);
    else
      wait(injected_);
  }
}

std::string CardController::describe() const {
  return fmt::format("card {}: {}, processor at 0x{:08x}", card_, reg::card::text(peripherals_.state()),
                     tile_ ? tile_->context(0).pc : 0);
}

}  // namespace tessera
