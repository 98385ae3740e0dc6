// See link.h.
#include "tlm/pcie/link.h"

#include <algorithm>

namespace tessera::pcie {

namespace {
std::uint64_t unit() { return sc_core::sc_time(1, sc_core::SC_PS).value(); }
}  // namespace

std::uint64_t picoseconds_of(const sc_core::sc_time& time) { return time.value() / unit(); }
sc_core::sc_time time_of(std::uint64_t picoseconds) { return sc_core::sc_time::from_value(picoseconds * unit()); }

std::uint64_t LinkTiming::picoseconds(std::uint64_t bytes) const {
  const auto per_second = static_cast<unsigned __int128>(clock_hz) * bytes_per_cycle;
  const auto ps = static_cast<unsigned __int128>(bytes) * 1'000'000'000'000u;
  return static_cast<std::uint64_t>((ps + per_second - 1) / per_second);
}

LinkDirection::LinkDirection(const LinkTiming& timing, unsigned senders)
    : timing_(timing), order_(senders), settled_(senders) {}

std::uint64_t LinkDirection::first_fit(std::uint64_t from, std::uint64_t length) const {
  auto span =
      std::lower_bound(taken_.begin(), taken_.end(), from, [](const Span& s, std::uint64_t at) { return s.to <= at; });
  for (; span != taken_.end() && span->from < from + length; ++span) from = std::max(from, span->to);
  return from;
}

void LinkDirection::take(std::uint64_t from, std::uint64_t to) {
  auto at = std::lower_bound(taken_.begin(), taken_.end(), from,
                             [](const Span& s, std::uint64_t begin) { return s.from < begin; });
  const bool joins_before = at != taken_.begin() && std::prev(at)->to == from;
  const bool joins_after = at != taken_.end() && at->from == to;
  if (joins_before && joins_after) {
    std::prev(at)->to = at->to;
    taken_.erase(at);
  } else if (joins_before) {
    std::prev(at)->to = to;
  } else if (joins_after) {
    at->from = from;
  } else {
    taken_.insert(at, {from, to});
  }
}

void LinkDirection::forget(std::uint64_t now) {
  while (!taken_.empty() && taken_.front().to <= now) taken_.pop_front();
  for (std::size_t s = 0; s < order_.size(); ++s)
    while (!order_[s].empty() && order_[s].front().ready <= now) {
      settled_[s] = std::max(settled_[s], order_[s].front().end);
      order_[s].pop_front();
    }
}

std::uint64_t LinkDirection::send(std::uint64_t now, std::uint64_t ready, unsigned sender, std::uint64_t payload,
                                  std::uint64_t packets) {
  forget(now);
  std::uint64_t start = std::max(ready, settled_[sender]);
  for (const Sent& sent : order_[sender])
    if (sent.ready <= ready) start = std::max(start, sent.end);
  const std::uint64_t all = payload + packets * kTlpOverhead;
  bytes_ += all;
  packets_ += packets;
  const std::uint64_t length = timing_.picoseconds(all);
  std::uint64_t end = 0;
  if (first_fit(start, length) == start) {
    end = start + length;
    take(start, end);
  } else {
    // Others stand in the way: packet by packet, the data spread evenly.
    end = start;
    for (std::uint64_t left = payload, p = 0; p < packets; ++p) {
      const std::uint64_t piece = left / (packets - p);
      const std::uint64_t time = timing_.picoseconds(piece + kTlpOverhead);
      const std::uint64_t from = first_fit(end, time);
      end = from + time;
      take(from, end);
      left -= piece;
    }
  }
  auto& order = order_[sender];
  order.insert(
      std::upper_bound(order.begin(), order.end(), ready, [](std::uint64_t at, const Sent& s) { return at < s.ready; }),
      {ready, end});
  return end;
}

Gate::Pass::Pass(Gate& gate, unsigned order)
    : gate_(gate), ticket_{sc_core::sc_time_stamp(), order, gate.next_number_++} {
  const auto before = [](const Ticket* a, const Ticket* b) {
    if (a->came != b->came) return a->came < b->came;
    return a->order != b->order ? a->order < b->order : a->number < b->number;
  };
  gate_.waiting_.insert(std::upper_bound(gate_.waiting_.begin(), gate_.waiting_.end(), &ticket_, before), &ticket_);
  sc_core::wait(sc_core::sc_time(1, sc_core::SC_PS));
  while (gate_.waiting_.front() != &ticket_) sc_core::wait(gate_.moved_);
}

Gate::Pass::~Pass() {
  gate_.waiting_.remove(&ticket_);
  if (!gate_.waiting_.empty()) gate_.moved_.notify(sc_core::SC_ZERO_TIME);
}

}  // namespace tessera::pcie
