// See link_faults.h.
#include "tlm/link/link_faults.h"

#include <fmt/format.h>

#include <algorithm>

#include "hw/error.h"

namespace tessera {

namespace {

constexpr std::uint64_t kCertain = 1'000'000'000'000;  // rate_e12 of 1

std::uint64_t mix(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

/// rate / 10^12 x 2^64, for rates below 1.
std::uint64_t fraction(std::uint64_t rate_e12) {
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(rate_e12) << 64) / kCertain);
}

Cycle end_of(Cycle from, std::uint64_t length) { return length > kNever - from ? kNever : from + length; }

}  // namespace

std::uint64_t CounterRandom::next() { return mix(mix(key_ + 0x9E3779B97F4A7C15u * ++count_) ^ key_); }

std::uint64_t CounterRandom::below(std::uint64_t limit) {
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(next()) * limit >> 64);
}

bool CounterRandom::chance(std::uint64_t rate_e12) { return rate_e12 >= kCertain || next() < fraction(rate_e12); }

ErrorDistance::ErrorDistance(std::uint64_t rate_e12) {
  if (rate_e12 >= kCertain) return;
  using Wide = unsigned __int128;
  // q^(2^k) x 2^64; it is below 1 since the rate is at least 1.
  for (std::uint64_t q = ~fraction(rate_e12) + 1; q != 0 && digit_.size() < 63;
       q = static_cast<std::uint64_t>(Wide{q} * q >> 64))
    digit_.push_back(static_cast<std::uint64_t>((Wide{q} << 64) / ((Wide{1} << 64) + q)));
}

std::uint64_t ErrorDistance::draw(CounterRandom& random) const {
  std::uint64_t distance = 0;
  for (std::size_t k = 0; k < digit_.size(); ++k)
    if (random.next() < digit_[k]) distance |= std::uint64_t{1} << k;
  return distance;
}

std::vector<LinkFaults::LineFault> LinkFaults::add(const Injection& injection, unsigned ipu, unsigned port, Cycle now,
                                                   std::uint64_t seed) {
  const auto refuse = [&](const std::string& what, const std::string& advice) {
    throw Error(Category::usage, fmt::format("fault '{}': {}", injection.text, what),
                fmt::format("link {}.{}", ipu, port), advice);
  };
  const std::string& kind = injection.kind;
  const Cycle from = injection.value("at", now), until = end_of(from, injection.value("for", kNever));
  if (injection.value("for", 1) == 0) refuse("lasts no time", "give `for` of 1 or more cycles");
  if (kind == "clear") {
    check_injection_keys(injection, {}, {});
    clear();
    return {};
  }
  if (kind == "down") {
    check_injection_keys(injection, {}, {"at", "for"});
    return {{from, until, 0}};
  }
  if (kind == "lanes") {
    check_injection_keys(injection, {}, {"at", "for", "count"});
    const std::uint64_t count = injection.value("count", 1);
    if (count == 0 || count > 64) refuse("count is 1 to 64 lanes", "leave `count` out for one lane");
    return {{from, until, static_cast<unsigned>(count)}};
  }
  if (kind == "stall_credits") {
    check_injection_keys(injection, {"for"}, {"at"});
    stalls_.push_back({from, until});
    return {};
  }
  Fault fault;
  if (kind == "bit_errors") {
    fault.kind = Kind::bits;
  } else if (kind == "lose") {
    fault.kind = Kind::lose;
  } else if (kind == "double") {
    fault.kind = Kind::duplicate;
  } else if (kind == "lose_ack") {
    fault.kind = Kind::lose_ack;
  } else {
    refuse("links have no such fault",
           "kinds: bit_errors, lose, double, lose_ack, stall_credits, down, lanes, clear (docs/machine/links.md)");
  }
  fault.from = from;
  fault.until = until;
  fault.random =
      CounterRandom(mix(mix(injection.value("seed", seed)) + (std::uint64_t{ipu} << 40 | port << 16 | added_++)));
  if (injection.values.count("rate_e12") != 0) {
    check_injection_keys(injection, {"rate_e12"}, {"at", "for", "seed"});
    fault.rate = injection.value("rate_e12", 0);
    if (fault.rate == 0 || fault.rate > kCertain)
      refuse("rate_e12 is 1 to 10^12",
             "it is the probability of an error x 10^12: of a bit, a frame, an acknowledgement");
    if (fault.kind == Kind::bits) {
      fault.distance.emplace_back(fault.rate);
      fault.gap = fault.distance[0].draw(fault.random);
    }
  } else {
    std::vector<std::string> keys{"at", "for", "count", "seed"};
    if (fault.kind == Kind::bits) keys.emplace_back("bits");
    check_injection_keys(injection, {}, keys);
    fault.left = injection.value("count", 1);
    fault.bits = injection.value("bits", 1);
    if (fault.left == 0 || fault.bits == 0) refuse("hits nothing", "count and bits are 1 or more");
  }
  (fault.kind == Kind::lose_ack ? acks_ : frames_).push_back(std::move(fault));
  return {};
}

bool LinkFaults::Fault::hits(Cycle cycle) {
  if (cycle < from || cycle >= until) return false;
  if (rate != 0) return random.chance(rate);
  if (left == 0) return false;
  --left;
  return true;
}

void LinkFaults::flip(Fault& fault, Cycle cycle, std::uint64_t bits, std::vector<std::uint32_t>& flips) {
  if (fault.rate == 0) {
    if (!fault.hits(cycle)) return;
    const std::uint64_t wanted = std::min(fault.bits, bits);
    std::vector<std::uint32_t> chosen;
    while (chosen.size() < wanted) {
      const auto bit = static_cast<std::uint32_t>(fault.random.below(bits));
      if (std::find(chosen.begin(), chosen.end(), bit) == chosen.end()) chosen.push_back(bit);
    }
    flips.insert(flips.end(), chosen.begin(), chosen.end());
    return;
  }
  if (cycle < fault.from || cycle >= fault.until) return;
  std::uint64_t at = 0;
  while (fault.gap < bits - at) {
    at += fault.gap;
    flips.push_back(static_cast<std::uint32_t>(at++));
    fault.gap = fault.distance[0].draw(fault.random);
  }
  fault.gap -= bits - at;
}

FrameFate LinkFaults::frame(Cycle cycle, std::uint64_t bits) {
  FrameFate fate;
  for (Fault& fault : frames_) {
    switch (fault.kind) {
      case Kind::bits:
        flip(fault, cycle, bits, fate.flips);
        break;
      case Kind::lose:
        fate.lost |= fault.hits(cycle);
        break;
      case Kind::duplicate:
        fate.doubled |= fault.hits(cycle);
        break;
      case Kind::lose_ack:
        break;
    }
  }
  return fate;
}

bool LinkFaults::loses_ack(Cycle cycle) {
  bool lost = false;
  for (Fault& fault : acks_) lost |= fault.hits(cycle);
  return lost;
}

Cycle LinkFaults::credit(Cycle cycle) const {
  // A credit that one stall lets go may run into the next.
  for (bool moved = true; moved;) {
    moved = false;
    for (const Stall& stall : stalls_)
      if (cycle >= stall.from && cycle < stall.until) cycle = stall.until, moved = true;
  }
  return cycle;
}

}  // namespace tessera
