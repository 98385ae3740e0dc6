#include "host/exchange/slot_scheduler.h"

#include <algorithm>
#include <numeric>

#include "host/exchange/list_scheduler.h"
#include "host/exchange/open_shop.h"

namespace tessera::exchange {

namespace {

constexpr std::uint32_t kShortestSlot = 2;  // what a descriptor of one word costs
constexpr std::size_t kMostPairs = 400000;

/// Transfers order[first, first + count), all between the same ports.
struct Group {
  std::uint32_t first, count;
  std::uint32_t cycles;  ///< of each port
};

class SlotScheduler {
 public:
  SlotScheduler(const Transfers& all, const Delays& delays, const std::vector<std::int64_t>& first, std::int64_t end,
                bool aligned)
      : delays_(delays), tiles_(delays.tiles()), first_(first), end_(end), all_(divide(all)), aligned_(aligned) {}

  std::optional<Slotted> run() {
    find_groups();
    if (pairs_.empty() || pairs_.size() > kMostPairs) return std::nullopt;
    begin_ = aligned_ ? INT64_MIN : INT64_MAX;
    for (const Group& g : pairs_) {
      const std::int64_t first = first_[all_.senders(one_of(g))->tile];
      begin_ = aligned_ ? std::max(begin_, first) : std::min(begin_, first);
    }
    const auto [nearest, farthest] = std::minmax_element(delays_.receive.begin(), delays_.receive.end());
    last_arrival_ = end_ - delays_.base - (aligned_ ? *farthest : *nearest);
    choose_length();
    make_ports();
    place_multicasts();
    std::vector<Job> jobs;
    for (const Group& g : pairs_) {
      const Transfer& t = one_of(g);
      jobs.push_back({all_.senders(t)->tile, tiles_ + all_.receivers(t)->tile, slots(g.cycles)});
    }
    return place(open_shop(jobs, ports_));
  }

 private:
  [[nodiscard]] std::uint32_t slots(std::uint32_t cycles) const { return (cycles + length_ - 1) / length_; }
  [[nodiscard]] std::uint32_t slot(std::int64_t u) const {
    return static_cast<std::uint32_t>(std::max<std::int64_t>(0, u - begin_) / length_);
  }
  [[nodiscard]] const Transfer& one_of(const Group& g) const { return all_.list[order_[g.first]]; }

  /// Multicasts sent to one receiver after another where the sender is done before `end_` all the same.
  Transfers divide(const Transfers& all) const {
    std::vector<std::int64_t> busy(2 * tiles_);
    for (const Transfer& t : all.list)
      each_port(all, t, tiles_, [&](unsigned p, bool, std::uint32_t, std::uint32_t words) { busy[p] += cost(words); });
    Transfers out;
    const auto append = [&](const Transfer& t, std::uint32_t receiver, std::uint32_t receivers) {
      Transfer part = t;
      part.first_port = static_cast<std::uint32_t>(out.ports.size());
      part.receivers = receivers;
      out.ports.insert(out.ports.end(), all.senders(t), all.receivers(t));
      out.ports.insert(out.ports.end(), all.receivers(t) + receiver, all.receivers(t) + receiver + receivers);
      out.list.push_back(part);
    };
    for (const Transfer& t : all.list) {
      const unsigned s = all.senders(t)->tile;
      const std::int64_t more = std::int64_t{cost(t.words())} * (t.receivers - 1);
      if (t.senders > 1 || t.receivers == 1 || first_[s] + busy[s] + more + delays_.base > end_) {
        append(t, 0, t.receivers);
        continue;
      }
      busy[s] += more;
      for (std::uint32_t k = 0; k < t.receivers; ++k) append(t, k, 1);
    }
    return out;
  }

  void find_groups() {
    order_.resize(all_.list.size());
    std::iota(order_.begin(), order_.end(), 0u);
    std::stable_sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) { return compare(a, b) < 0; });
    for (std::uint32_t k = 0; k < order_.size(); ++k) {
      const Transfer& t = all_.list[order_[k]];
      auto& groups = t.senders + t.receivers == 2 ? pairs_ : multicasts_;
      if (k == 0 || compare(order_[k - 1], order_[k]) != 0) groups.push_back({k, 0, 0});
      ++groups.back().count;
      groups.back().cycles += cost(t.words());
    }
  }

  /// Order of transfers by number and tiles of their senders and receivers.
  [[nodiscard]] int compare(std::uint32_t a, std::uint32_t b) const {
    const Transfer &x = all_.list[a], &y = all_.list[b];
    if (x.senders != y.senders) return x.senders < y.senders ? -1 : 1;
    if (x.receivers != y.receivers) return x.receivers < y.receivers ? -1 : 1;
    const Port *p = all_.senders(x), *q = all_.senders(y);
    for (const Port* end = p + x.senders + x.receivers; p != end; ++p, ++q)
      if (p->tile != q->tile) return p->tile < q->tile ? -1 : 1;
    return 0;
  }

  /// Cycles of the busiest port in slots of `length` cycles.
  [[nodiscard]] std::uint64_t busiest(std::uint32_t length) const {
    std::vector<std::uint64_t> load(2 * tiles_);
    for (const std::vector<Group>* groups : {&pairs_, &multicasts_})
      for (const Group& g : *groups)
        each_port(all_, one_of(g), tiles_, [&](unsigned port, bool, std::uint32_t, std::uint32_t) {
          load[port] += std::uint64_t{(g.cycles + length - 1) / length} * length;
        });
    return *std::max_element(load.begin(), load.end());
  }

  /// The longest slots in which the busiest port is done in time, or else those in which it takes least.
  void choose_length() {
    std::uint32_t longest = 0, common = 0;
    for (const Group& g : pairs_) {
      longest = std::max(longest, g.cycles);
      common = std::gcd(common, g.cycles);
    }
    if (!aligned_) {  // so short that differences of distance are some of them
      length_ = std::max(common, kShortestSlot);
      while (length_ % 2 == 0 && length_ > kShortestSlot) length_ /= 2;
      busiest_ = static_cast<std::uint32_t>(busiest(length_));
      return;
    }
    const std::int64_t room = last_arrival_ - begin_;
    std::int64_t least = INT64_MAX;
    for (std::uint32_t parts = 1; parts <= 64 && least > room; ++parts) {
      const std::uint32_t length = std::max({(longest + parts - 1) / parts, common, kShortestSlot});
      const auto load = static_cast<std::int64_t>(busiest(length));
      if (load < least) {
        least = load;
        length_ = length;
        busiest_ = static_cast<std::uint32_t>(load);
      }
      if (length == std::max(common, kShortestSlot)) break;
    }
  }

  /// When ports can work: not before the first word can leave, and so that the last word arrives before `end_`.
  void make_ports() {
    ports_.resize(2 * std::size_t{tiles_});
    for (unsigned p = 0; p < 2 * tiles_; ++p) {
      const std::uint32_t earliest = slot(first_[p] + length_ - 1);
      if (earliest > 0) ports_[p].blocked.emplace_back(0, earliest);
      const bool near = aligned_ || p < tiles_;
      ports_[p].deadline = slot(near ? last_arrival_ : end_ - delays_.base - delays_.receive[p - tiles_]);
      if (aligned_) ports_[p].deadline = std::max(ports_[p].deadline, busiest_ / length_);
    }
  }

  /// Multicasts take the first slots common to their ports, before pairs get what is left.
  void place_multicasts() {
    Transfers whole;
    for (const Group& g : multicasts_) {
      const Transfer& t = one_of(g);
      whole.list.push_back(t);
      Transfer& copy = whole.list.back();
      copy.first_port = static_cast<std::uint32_t>(whole.ports.size());
      copy.n = slots(g.cycles) * length_;
      copy.count1 = copy.count2 = 1;
      whole.ports.insert(whole.ports.end(), all_.senders(t), all_.receivers(t) + t.receivers);
    }
    std::vector<std::int64_t> first = first_;
    for (std::int64_t& u : first) u = begin_ + std::int64_t{slot(u + length_ - 1)} * length_;
    const std::vector<std::int64_t> start = schedule_by_gap(whole, tiles_, first);
    for (std::uint32_t k = 0; k < multicasts_.size(); ++k) {
      const Run run{k, slot(start[k]), slots(multicasts_[k].cycles)};
      multicast_runs_.push_back(run);
      each_port(all_, one_of(multicasts_[k]), tiles_, [&](unsigned port, bool, std::uint32_t, std::uint32_t) {
        ports_[port].blocked.emplace_back(run.slot, run.slot + run.slots);
      });
    }
    for (ShopPort& p : ports_) std::sort(p.blocked.begin(), p.blocked.end());
    std::stable_sort(multicast_runs_.begin(), multicast_runs_.end(),
                     [](const Run& a, const Run& b) { return a.slot < b.slot; });
  }

  /// All pieces in order of slots, each as soon as its ports are free.
  Slotted place(const std::vector<Run>& runs) {
    std::vector<Progress> progress(pairs_.size());
    free_ = first_;
    last_.assign(2 * std::size_t{tiles_}, INT64_MIN / 2);
    auto multicast = multicast_runs_.begin();
    const auto place_multicasts_until = [&](std::uint32_t slot) {
      for (; multicast != multicast_runs_.end() && multicast->slot <= slot; ++multicast) {
        const Group& g = multicasts_[multicast->job];
        for (std::uint32_t k = 0; k < g.count; ++k) {
          const Transfer& t = all_.list[order_[g.first + k]];
          append(t, 0, t.words());
        }
      }
    };
    for (const Run& run : runs) {
      place_multicasts_until(run.slot);
      place_run(pairs_[run.job], run, progress[run.job]);
    }
    place_multicasts_until(UINT32_MAX);
    return std::move(out_);
  }

  /// How far a pair is.
  struct Progress {
    std::uint32_t slots = 0, transfers = 0, words = 0;  ///< words of the next transfer
  };

  void place_run(const Group& pair, const Run& run, Progress& done) {
    done.slots += run.slots;
    const bool last = done.slots == slots(pair.cycles);  // all that is left: cutting may have made it longer
    for (std::uint32_t cycles = run.slots * length_; (cycles > 0 || last) && done.transfers < pair.count;) {
      const Transfer& t = all_.list[order_[pair.first + done.transfers]];
      const std::uint32_t rest = t.words() - done.words, part = last ? rest : std::min(cycles, rest);
      append(t, done.words, part);
      cycles -= std::min(cycles, cost(part));
      done.words += part;
      if (done.words < t.words()) continue;
      ++done.transfers;
      done.words = 0;
    }
  }

  /// Words [first, first + words) of a transfer as soon as its ports are free.
  void append(const Transfer& t, std::uint32_t first, std::uint32_t words) {
    slice(all_, t, first, words, out_.transfers);
    while (out_.start.size() < out_.transfers.list.size()) {
      const Transfer& piece = out_.transfers.list[out_.start.size()];
      std::int64_t u = 0;
      each_port(out_.transfers, piece, tiles_, [&](unsigned p, bool two, std::uint32_t, std::uint32_t) {
        u = std::max({u, free_[p], last_[p] + (two ? 4 : 2)});
      });
      each_port(out_.transfers, piece, tiles_, [&](unsigned p, bool, std::uint32_t, std::uint32_t words) {
        free_[p] = u + words;
        last_[p] = u;
      });
      out_.start.push_back(u);
    }
  }

  const Delays& delays_;
  unsigned tiles_;
  const std::vector<std::int64_t>& first_;
  std::int64_t end_;
  Transfers all_;
  bool aligned_;
  std::vector<std::uint32_t> order_;  ///< transfers, those between the same ports together
  std::vector<Group> pairs_, multicasts_;
  std::int64_t begin_ = 0;         ///< spine time of slot 0
  std::int64_t last_arrival_ = 0;  ///< spine time by which all should be done
  std::uint32_t length_ = 0;       ///< of a slot, in cycles
  std::uint32_t busiest_ = 0;      ///< cycles of the busiest port in such slots
  std::vector<ShopPort> ports_;
  std::vector<Run> multicast_runs_;        ///< in order of slots
  std::vector<std::int64_t> free_, last_;  ///< spine time from which a port is free, at which its last piece started
  Slotted out_;
};

}  // namespace

std::optional<Slotted> schedule_by_slots(const Transfers& transfers, const Delays& delays,
                                         const std::vector<std::int64_t>& first, std::int64_t end, bool aligned) {
  if (std::any_of(transfers.list.begin(), transfers.list.end(), [](const Transfer& t) { return t.sweep; }))
    return std::nullopt;
  return SlotScheduler(transfers, delays, first, end, aligned).run();
}

}  // namespace tessera::exchange
