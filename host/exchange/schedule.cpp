// List scheduling of one phase in spine time: u = t_send + S(source) = t_receive - B - R(destination), where all delays
// vanish. Messages are placed one after another, those of the busiest endpoints first, each at the first spine time
// that its sender and all its receivers have free behind their last descriptor.
#include "host/exchange/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "hw/error.h"

namespace tessera::exchange {

namespace {

constexpr std::uint64_t kLongest = 1U << 18;

/// One list (send or receive) of a tile while it is filled.
struct Lane {
  std::int64_t free = 0;        // first start for the next descriptor as far as words on the port go
  std::int64_t last_start = 0;  // of the descriptor before
  bool used = false;
  std::vector<std::uint64_t> words;

  /// First legal start of a descriptor at or behind `first`.
  [[nodiscard]] std::int64_t earliest(std::int64_t first, bool block) const {
    if (!used) return first;
    return std::max({first, free, last_start + (block ? 4 : 2)});
  }
  void take(std::int64_t start, std::uint64_t total) {
    free = start + static_cast<std::int64_t>(total);
    last_start = start;
    used = true;
  }
};

void encode(Lane& lane, const Pattern& p, std::int64_t start, std::uint32_t peer) {
  std::uint64_t word = p.block() ? 1 : 0;
  word |= std::uint64_t{p.base} << 2;
  word |= (static_cast<std::uint64_t>(start) & 0x3FFFF) << 4;
  word |= std::uint64_t{p.words & 0xFFF} << 22;
  word |= std::uint64_t{p.address & 0x3FFFF} << 34;
  word |= std::uint64_t{peer & 0xFFF} << 52;
  lane.words.push_back(word);
  if (!p.block()) return;
  std::uint64_t second = static_cast<std::uint64_t>(p.stride1) & 0x7FFFF;
  second |= std::uint64_t{p.count1 & 0xFFF} << 19;
  second |= (static_cast<std::uint64_t>(p.stride2) & 0x7FFFF) << 31;
  second |= std::uint64_t{p.count2 & 0xFFF} << 50;
  lane.words.push_back(second);
}

std::uint64_t cost(const Pattern& p) { return std::max<std::uint64_t>(p.total(), p.block() ? 4 : 2); }

struct Load {
  std::map<std::uint32_t, std::uint64_t> send, receive;
};

Load loads(const std::vector<Message>& messages) {
  Load load;
  for (const Message& m : messages) {
    load.send[m.source] += cost(m.from);
    for (const Destination& d : m.to) load.receive[d.tile] += cost(d.to);
  }
  return load;
}

}  // namespace

std::uint32_t lower_bound(const std::vector<Message>& messages, const Platform& platform,
                          const ScheduleOptions& options) {
  // The last descriptor of a list need not be followed by another, so it counts its words only.
  std::map<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>> send;  // sum of costs, largest saving
  std::map<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>> receive;
  std::uint64_t bound = 0;
  const auto add = [](std::pair<std::uint64_t, std::uint64_t>& sum, const Pattern& p) {
    sum.first += cost(p);
    sum.second = std::max(sum.second, cost(p) - p.total());
  };
  std::uint64_t smallest_receive = ~std::uint64_t{0};
  for (const Message& m : messages) {
    add(send[m.source], m.from);
    for (const Destination& d : m.to) {
      add(receive[d.tile], d.to);
      smallest_receive = std::min<std::uint64_t>(smallest_receive, platform.receive_delay(d.tile));
      const std::uint64_t alone = options.first_start + platform.exchange_delay(m.source, d.tile) + m.from.total();
      bound = std::max(bound, alone);
    }
  }
  std::uint64_t smallest_send = ~std::uint64_t{0};
  for (const auto& [tile, sum] : send) {
    smallest_send = std::min<std::uint64_t>(smallest_send, platform.send_delay(tile));
  }
  if (smallest_receive == ~std::uint64_t{0}) smallest_receive = 0;
  const std::uint64_t fixed = options.first_start + platform.exchange.base;
  for (const auto& [tile, sum] : send) {
    bound = std::max(bound, fixed + platform.send_delay(tile) + smallest_receive + sum.first - sum.second);
  }
  for (const auto& [tile, sum] : receive) {
    bound = std::max(bound, fixed + smallest_send + platform.receive_delay(tile) + sum.first - sum.second);
  }
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(bound, 0xFFFFFFFF));
}

Schedule schedule(const std::vector<Message>& messages, const Platform& platform, const ScheduleOptions& options) {
  const Load load = loads(messages);
  std::vector<std::uint64_t> weight(messages.size());
  for (std::size_t i = 0; i < messages.size(); ++i) {
    weight[i] = load.send.at(messages[i].source);
    for (const Destination& d : messages[i].to) weight[i] = std::max(weight[i], load.receive.at(d.tile));
  }
  std::vector<std::size_t> order(messages.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return weight[a] > weight[b]; });

  std::map<std::uint32_t, Lane> send;
  std::map<std::uint32_t, Lane> receive;
  Schedule result;
  const auto first = static_cast<std::int64_t>(options.first_start);
  std::int64_t end = 0;
  for (const std::size_t i : order) {
    const Message& m = messages[i];
    const auto send_delay = static_cast<std::int64_t>(platform.send_delay(m.source));
    std::int64_t u = send[m.source].earliest(first, m.from.block()) + send_delay;
    for (const Destination& d : m.to) {
      const auto behind = static_cast<std::int64_t>(platform.exchange.base + platform.receive_delay(d.tile));
      u = std::max(u, receive[d.tile].earliest(first, d.to.block()) - behind);
    }
    const std::uint64_t total = m.from.total();
    const std::int64_t start = u - send_delay;
    send[m.source].take(start, total);
    encode(send[m.source], m.from, start, m.may_be_unheard ? 1 : 0);
    end = std::max(end, start + static_cast<std::int64_t>(total));
    for (const Destination& d : m.to) {
      const std::int64_t at = u + static_cast<std::int64_t>(platform.exchange.base + platform.receive_delay(d.tile));
      receive[d.tile].take(at, total);
      encode(receive[d.tile], d.to, at, m.source);
      end = std::max(end, at + static_cast<std::int64_t>(total));
      result.words_received += total;
    }
    result.words_sent += total;
    if (end >= static_cast<std::int64_t>(kLongest)) {
      throw Error(Category::does_not_fit,
                  fmt::format("an exchange phase of {} cycles or more: a table cannot say its times", kLongest),
                  fmt::format("message from tile {}", m.source), "copy less at once, or spread it over more tiles");
    }
  }
  result.cycles = static_cast<std::uint32_t>(end);
  result.bound = lower_bound(messages, platform, options);
  std::map<std::uint32_t, TileTable> tables;
  for (const auto* lanes : {&send, &receive}) {
    for (const auto& [tile, lane] : *lanes) tables[tile].tile = tile;
  }
  for (auto& [tile, table] : tables) {
    const std::vector<std::uint64_t>& s = send[tile].words;
    const std::vector<std::uint64_t>& r = receive[tile].words;
    if (s.size() > 0xFFFF || r.size() > 0xFFFF) {
      throw Error(
          Category::does_not_fit,
          fmt::format("{} send and {} receive descriptor words in a phase, a table counts 65535", s.size(), r.size()),
          fmt::format("tile {}", tile), "lay the tensors out in longer contiguous runs");
    }
    table.words.push_back(s.size() | r.size() << 16 | static_cast<std::uint64_t>(result.cycles) << 32);
    table.words.insert(table.words.end(), s.begin(), s.end());
    table.words.insert(table.words.end(), r.begin(), r.end());
    result.tables.push_back(std::move(table));
  }
  return result;
}

}  // namespace tessera::exchange
