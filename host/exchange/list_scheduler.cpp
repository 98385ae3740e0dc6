#include "host/exchange/list_scheduler.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace tessera::exchange {

namespace {

std::vector<std::uint64_t> port_loads(const Transfers& all, unsigned tiles) {
  std::vector<std::uint64_t> load(2 * tiles);
  for (const Transfer& t : all.list)
    each_port(all, t, tiles,
              [&](unsigned port, bool, std::uint32_t, std::uint32_t words) { load[port] += cost(words); });
  return load;
}

/// One row of bits a tile.
class BitMatrix {
 public:
  BitMatrix(unsigned rows, unsigned columns) : width_((columns + 63) / 64), bits_(std::size_t{rows} * width_) {}
  [[nodiscard]] unsigned width() const { return width_; }
  [[nodiscard]] const std::uint64_t* row(unsigned r) const { return &bits_[std::size_t{r} * width_]; }
  void set(unsigned r, unsigned c) { bits_[std::size_t{r} * width_ + c / 64] |= std::uint64_t{1} << (c % 64); }
  void clear(unsigned r, unsigned c) { bits_[std::size_t{r} * width_ + c / 64] &= ~(std::uint64_t{1} << (c % 64)); }

 private:
  unsigned width_;
  std::vector<std::uint64_t> bits_;
};

class TimeDriven {
 public:
  TimeDriven(const Transfers& transfers, unsigned tiles, const std::vector<std::int64_t>& first)
      : all_(transfers),
        tiles_(tiles),
        load_(port_loads(transfers, tiles_)),
        pending_(2 * tiles_, tiles_),
        free_(2, tiles_),
        urgent_(2 * kClasses, tiles_),
        class_of_(2 * tiles_, 0),
        start_(transfers.list.size(), -1),
        many_(tiles_),
        stamp_(2 * tiles_, -1) {
    for (const std::int64_t time : first) ports_.push_back({time - 4, time});
    sort_transfers();
    for (unsigned p = 0; p < 2 * tiles_; ++p)
      if (load_[p] > 0) events_[ports_[p].end].push_back(p);
  }

  std::vector<std::int64_t> run() {
    std::vector<unsigned> freed;
    while (!events_.empty()) {
      const std::int64_t now = events_.begin()->first;
      freed.swap(events_.begin()->second);
      events_.erase(events_.begin());
      step(now, freed);
      freed.clear();
    }
    return std::move(start_);
  }

 private:
  struct Busy {
    std::int64_t start, end;  ///< last descriptor
    [[nodiscard]] std::int64_t ready(bool two) const { return std::max(end, start + (two ? 4 : 2)); }
  };
  static constexpr unsigned kClasses = 7;  ///< within 2, 8, 32, .. cycles of the most loaded port, and the rest

  /// Transfers of one (sender, receiver), longest first; `next` is the first that is not placed.
  struct Pair {
    unsigned receiver;
    std::uint32_t next, end;  ///< in by_pair_
  };

  void sort_transfers() {
    std::vector<std::uint32_t> single;
    for (std::uint32_t i = 0; i < all_.list.size(); ++i) {
      const Transfer& t = all_.list[i];
      if (t.senders == 1 && t.receivers == 1)
        single.push_back(i);
      else
        many_[all_.senders(t)->tile].push_back(i);
      two_words_ |= all_.senders(t)->two_words || all_.receivers(t)->two_words;
    }
    const auto key = [&](std::uint32_t i) {
      const Transfer& t = all_.list[i];
      return std::make_tuple(all_.senders(t)->tile, all_.receivers(t)->tile, ~t.words(), i);
    };
    std::sort(single.begin(), single.end(), [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
    by_pair_ = std::move(single);
    first_pair_.assign(tiles_ + 1, 0);
    for (std::uint32_t k = 0; k < by_pair_.size(); ++k) {
      const Transfer& t = all_.list[by_pair_[k]];
      const unsigned s = all_.senders(t)->tile, d = all_.receivers(t)->tile;
      if (first_pair_[s + 1] == 0 || pairs_.back().receiver != d) {
        pairs_.push_back({d, k, k});
        pending_.set(s, d);
        pending_.set(tiles_ + d, s);
      }
      ++pairs_.back().end;
      first_pair_[s + 1] = static_cast<std::uint32_t>(pairs_.size());
    }
    for (unsigned s = 0; s < tiles_; ++s) first_pair_[s + 1] = std::max(first_pair_[s + 1], first_pair_[s]);
    for (auto& list : many_)
      std::stable_sort(list.begin(), list.end(), [&](std::uint32_t a, std::uint32_t b) {
        return std::uint64_t{all_.list[a].words()} * all_.list[a].receivers >
               std::uint64_t{all_.list[b].words()} * all_.list[b].receivers;
      });
  }

  Pair& pair(unsigned s, unsigned d) {
    const auto begin = pairs_.begin() + first_pair_[s], end = pairs_.begin() + first_pair_[s + 1];
    return *std::lower_bound(begin, end, d, [](const Pair& p, unsigned receiver) { return p.receiver < receiver; });
  }

  [[nodiscard]] bool is_free(unsigned port, std::int64_t now) const { return ports_[port].ready(false) <= now; }

  void step(std::int64_t now, std::vector<unsigned>& freed) {
    grade();
    std::vector<unsigned>& order = order_;
    order.clear();
    for (const unsigned p : freed) {
      if (!is_free(p, now) || stamp_[p] == now) continue;
      stamp_[p] = now;
      free_.set(p >= tiles_, p % tiles_);
      order.push_back(p);
    }
    std::sort(order.begin(), order.end(),
              [&](unsigned a, unsigned b) { return load_[a] != load_[b] ? load_[a] > load_[b] : a < b; });
    for (const unsigned p : order)
      if (is_free(p, now)) p < tiles_ ? serve_sender(p, now) : serve_receiver(p, now);
  }

  void serve_sender(unsigned s, std::int64_t now) {
    const auto [position, time] = best_of_many(s);
    if (time >= 0 && time <= now) return place_of_many(s, position, now);
    if (match(s, now)) return;
    if (time >= 0) place_of_many(s, position, time);
  }

  void serve_receiver(unsigned port, std::int64_t now) { match(port, now); }

  /// Sorts all ports into classes by how much less than the most loaded one they still have to do.
  void grade() {
    if (placed_ < tiles_ / 8) return;
    placed_ = 0;
    const std::uint64_t most = *std::max_element(load_.begin(), load_.end());
    for (unsigned p = 0; p < 2 * tiles_; ++p) {
      unsigned c = 0;
      for (std::uint64_t slack = 2; c + 1 < kClasses && most - load_[p] > slack; slack *= 4) ++c;
      if (c == class_of_[p] && graded_) continue;
      const unsigned side = p >= tiles_ ? kClasses : 0;
      urgent_.clear(side + class_of_[p], p % tiles_);
      urgent_.set(side + c, p % tiles_);
      class_of_[p] = c;
    }
    graded_ = true;
  }

  /// Places a transfer between `port` and a free partner of the most urgent class; false if there is none.
  bool match(unsigned port, std::int64_t now) {
    const bool sender = port < tiles_;
    const std::uint64_t* pending = pending_.row(port);
    const std::uint64_t* free = free_.row(sender ? 1 : 0);
    for (unsigned c = 0; c < kClasses; ++c) {
      const std::uint64_t* urgent = urgent_.row((sender ? kClasses : 0) + c);
      if (sender ? match_upwards(port, now, pending, free, urgent)
                 : match_downwards(port - tiles_, now, pending, free, urgent))
        return true;
    }
    return false;
  }

  /// Receivers from tile s up, around: neighbours then ask for different partners.
  bool match_upwards(unsigned s, std::int64_t now, const std::uint64_t* pending, const std::uint64_t* free,
                     const std::uint64_t* urgent) {
    const unsigned width = pending_.width(), first = s / 64;
    const std::uint64_t upper = ~std::uint64_t{0} << (s % 64);
    for (unsigned k = 0; k <= width; ++k) {
      const unsigned w = (first + k) % width;
      std::uint64_t bits = pending[w] & free[w] & urgent[w];
      if (k == 0) bits &= upper;
      if (k == width) bits &= ~upper;
      for (; bits != 0; bits &= bits - 1)
        if (try_pair(s, w * 64 + static_cast<unsigned>(__builtin_ctzll(bits)), now)) return true;
    }
    return false;
  }

  /// Senders from tile d down, around.
  bool match_downwards(unsigned d, std::int64_t now, const std::uint64_t* pending, const std::uint64_t* free,
                       const std::uint64_t* urgent) {
    const unsigned width = pending_.width(), first = d / 64;
    const std::uint64_t lower = ~std::uint64_t{0} >> (63 - d % 64);
    for (unsigned k = 0; k <= width; ++k) {
      const unsigned w = (first + width - k % width) % width;
      std::uint64_t bits = pending[w] & free[w] & urgent[w];
      if (k == 0) bits &= lower;
      if (k == width) bits &= ~lower;
      while (bits != 0) {
        const unsigned bit = 63 - static_cast<unsigned>(__builtin_clzll(bits));
        if (try_pair(w * 64 + bit, d, now)) return true;
        bits &= ~(std::uint64_t{1} << bit);
      }
    }
    return false;
  }

  /// Places the next transfer from s to d, unless a descriptor of two words still needs distance.
  bool try_pair(unsigned s, unsigned d, std::int64_t now) {
    Pair& candidates = pair(s, d);
    const std::uint32_t id = by_pair_[candidates.next];
    const Transfer& t = all_.list[id];
    if (two_words_ && (ports_[s].ready(all_.senders(t)->two_words) > now ||
                       ports_[tiles_ + d].ready(all_.receivers(t)->two_words) > now))
      return false;
    if (++candidates.next == candidates.end) {
      pending_.clear(s, d);
      pending_.clear(tiles_ + d, s);
    }
    place(id, now);
    return true;
  }

  /// The transfer with several ports of sender s that can start first, of the next few: (position, time) or (0, -1).
  std::pair<std::size_t, std::int64_t> best_of_many(unsigned s) const {
    constexpr std::size_t kLook = 32;
    std::pair<std::size_t, std::int64_t> best{0, -1};
    for (std::size_t i = 0; i < many_[s].size() && i < kLook; ++i) {
      std::int64_t time = 0;
      each_port(all_, all_.list[many_[s][i]], tiles_,
                [&](unsigned port, bool two, std::uint32_t offset, std::uint32_t) {
                  time = std::max(time, ports_[port].ready(two) - offset);
                });
      if (best.second < 0 || time < best.second) best = {i, time};
    }
    return best;
  }

  void place_of_many(unsigned s, std::size_t position, std::int64_t time) {
    const std::uint32_t id = many_[s][position];
    many_[s].erase(many_[s].begin() + static_cast<std::ptrdiff_t>(position));
    place(id, time);
  }

  void place(std::uint32_t id, std::int64_t time) {
    start_[id] = time;
    ++placed_;
    each_port(all_, all_.list[id], tiles_, [&](unsigned port, bool, std::uint32_t offset, std::uint32_t words) {
      Busy& busy = ports_[port];
      busy.start = time + offset;
      busy.end = busy.start + words;
      load_[port] -= cost(words);
      free_.clear(port >= tiles_, port % tiles_);
      if (load_[port] == 0) return;
      events_[busy.ready(false)].push_back(port);
      if (two_words_ && busy.ready(true) != busy.ready(false)) events_[busy.ready(true)].push_back(port);
    });
  }

  const Transfers& all_;
  unsigned tiles_;
  std::vector<std::uint64_t> load_;
  std::vector<Busy> ports_;
  BitMatrix pending_;  ///< row s: receivers it has something for; row tiles + d: senders that have something for it
  BitMatrix free_;     ///< row 0 senders, row 1 receivers
  BitMatrix urgent_;   ///< row side * kClasses + class: ports of that class
  std::vector<unsigned> class_of_;
  unsigned placed_ = ~0u;  ///< since the last grading
  std::vector<std::int64_t> start_;
  std::vector<std::vector<std::uint32_t>> many_;
  std::vector<std::int64_t> stamp_;
  std::vector<std::uint32_t> by_pair_;
  std::vector<Pair> pairs_;
  std::vector<std::uint32_t> first_pair_;
  std::map<std::int64_t, std::vector<unsigned>> events_;
  std::vector<unsigned> order_;
  bool two_words_ = false;
  bool graded_ = false;
};

/// What a port does so far, in order of time.
class Timeline {
 public:
  explicit Timeline(std::int64_t first) : first_(first) {}

  /// First time >= u at which a descriptor of `words` cycles fits.
  [[nodiscard]] std::int64_t fit(std::int64_t u, std::uint32_t words, bool two) const {
    u = std::max(u, first_);
    auto next =
        std::upper_bound(busy_.begin(), busy_.end(), u, [](std::int64_t t, const Busy& b) { return t < b.start; });
    while (true) {
      if (next != busy_.begin()) {
        const Busy& before = *(next - 1);
        u = std::max({u, before.end, before.start + (two ? 4 : 2)});
      }
      if (next == busy_.end() || next->start >= std::max<std::int64_t>(u + words, u + (next->two ? 4 : 2))) return u;
      u = std::max(u, next->start);
      ++next;
    }
  }

  void add(std::int64_t start, std::uint32_t words, bool two) {
    const auto at =
        std::upper_bound(busy_.begin(), busy_.end(), start, [](std::int64_t t, const Busy& b) { return t < b.start; });
    busy_.insert(at, {start, start + words, two});
  }

 private:
  struct Busy {
    std::int64_t start, end;
    bool two;
  };
  std::int64_t first_;
  std::vector<Busy> busy_;
};

}  // namespace

std::vector<std::int64_t> first_times(const Delays& delays, unsigned earliest, bool aligned) {
  std::vector<std::int64_t> first;
  for (const unsigned s : delays.send) first.push_back(std::int64_t{earliest} + s);
  for (const unsigned r : delays.receive)
    first.push_back(std::max<std::int64_t>(0, std::int64_t{earliest} - delays.base - r));
  if (aligned) first.assign(first.size(), *std::max_element(first.begin(), first.end()));
  return first;
}

std::vector<std::int64_t> schedule_by_time(const Transfers& transfers, unsigned tiles,
                                           const std::vector<std::int64_t>& first) {
  return TimeDriven(transfers, tiles, first).run();
}

std::vector<std::int64_t> schedule_by_gap(const Transfers& transfers, unsigned tiles,
                                          const std::vector<std::int64_t>& first) {
  const std::vector<std::uint64_t> load = port_loads(transfers, tiles);
  std::vector<Timeline> lines;
  for (const std::int64_t time : first) lines.emplace_back(time);

  std::vector<std::uint64_t> key(transfers.list.size());
  for (std::size_t i = 0; i < key.size(); ++i)
    each_port(transfers, transfers.list[i], tiles,
              [&](unsigned port, bool, std::uint32_t, std::uint32_t) { key[i] = std::max(key[i], load[port]); });
  std::vector<std::uint32_t> order(transfers.list.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const Transfer &x = transfers.list[a], &y = transfers.list[b];
    if (key[a] != key[b]) return key[a] > key[b];
    return std::uint64_t{x.words()} * x.receivers > std::uint64_t{y.words()} * y.receivers;
  });

  std::vector<std::int64_t> start(transfers.list.size());
  for (const std::uint32_t id : order) {
    const Transfer& t = transfers.list[id];
    std::int64_t u = 0;
    for (bool moved = true; moved;) {
      moved = false;
      each_port(transfers, t, tiles, [&](unsigned port, bool two, std::uint32_t offset, std::uint32_t words) {
        const std::int64_t fits = lines[port].fit(u + offset, words, two) - offset;
        moved |= fits != u;
        u = fits;
      });
    }
    start[id] = u;
    each_port(transfers, t, tiles, [&](unsigned port, bool two, std::uint32_t offset, std::uint32_t words) {
      lines[port].add(u + offset, words, two);
    });
  }
  return start;
}

}  // namespace tessera::exchange
