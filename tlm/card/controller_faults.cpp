// Faults of a card controller that a user asks for; see docs/machine/card.md for what each is.
#include <fmt/format.h>

#include <functional>

#include "hw/error.h"
#include "tlm/card/controller.h"
#include "tlm/system/clock.h"

namespace tessera {

namespace {

/// Words that a fault puts over the next instruction.
constexpr std::uint32_t kSpin = 0x0000006f;     // a jump to itself
constexpr std::uint32_t kIllegal = 0x00000000;  // no instruction

sc_core::sc_time us(std::uint64_t count) { return sc_core::sc_time(static_cast<double>(count), sc_core::SC_US); }

/// `at` in cycles of the tile clock, or `at_us`; not before now.
sc_core::sc_time injection_time(const Injection& injection, const Platform& platform) {
  sc_core::sc_time at = TileClock(platform.clock_hz).time_of(injection.value("at", 0));
  if (injection.values.count("at_us") != 0) at = us(injection.value("at_us", 0));
  return std::max(at, sc_core::sc_time_stamp());
}

}  // namespace

void CardController::inject(const Injection& injection) {
  const std::string& kind = injection.kind;
  const sc_core::sc_time at = injection_time(injection, platform_);
  const auto count = [&](unsigned otherwise) { return static_cast<unsigned>(injection.value("times", otherwise)); };
  const auto ipu = [&] {
    const std::uint64_t index = injection.value("ipu", 0);
    if (index >= platform_.ipus_per_card)
      throw Error(Category::usage, fmt::format("a card of this platform has no IPU {}", index), injection.text,
                  fmt::format("ipu counts on the card: 0..{}", platform_.ipus_per_card - 1));
    return static_cast<unsigned>(index);
  };
  const auto later = [&](std::function<void()> act) {
    timed_.push_back({at, std::move(act)});
    injected_.notify(sc_core::SC_ZERO_TIME);
  };
  if (kind == "hang" || kind == "crash") {
    check_injection_keys(injection, {}, {"at", "at_us", "times", "wake"});
    plants_.push_back({at, kind == "hang" ? kSpin : kIllegal, count(1), injection.value("wake", 1) != 0});
    wake_for(plants_.back());
  } else if (kind == "no_ready") {
    check_injection_keys(injection, {}, {});
    no_ready_ = true;
  } else if (kind == "slow") {
    check_injection_keys(injection, {"us"}, {"at", "at_us"});
    later([this, by = us(injection.value("us", 0))] { peripherals_.slow_down(by); });
  } else if (kind == "bad_response") {
    check_injection_keys(injection, {}, {"at", "at_us", "times"});
    later([this, times = count(1)] { peripherals_.spoil_answers(times); });
  } else if (kind == "over_temperature") {
    check_injection_keys(injection, {"mc"}, {"at", "at_us", "ipu"});
    later([this, i = ipu(), mc = static_cast<std::uint32_t>(injection.value("mc", 0))] {
      peripherals_.stick_sensor(i, mc);
    });
  } else if (kind == "pll_no_lock") {
    check_injection_keys(injection, {}, {"ipu", "times"});
    peripherals_.break_pll(ipu(), count(~0u));
  } else {
    throw Error(Category::usage, fmt::format("a card controller has no fault '{}'", kind), injection.text,
                "hang, crash, no_ready, slow, bad_response, over_temperature, pll_no_lock");
  }
}

}  // namespace tessera
