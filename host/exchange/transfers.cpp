// Messages to transfers: sort by endpoints and address, join what touches, then fold equal pieces at equal distances
// into blocks of one and two levels.
#include "host/exchange/transfers.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace tessera::exchange {

namespace {

constexpr std::uint32_t kMaxRun = 4096;    // words of one run of a descriptor
constexpr std::uint32_t kMaxCount = 4095;  // 12 bits
constexpr std::uint32_t kMinFold = 3;      // pieces that make a block: two words of table against one each
constexpr std::uint32_t kMinSweep = 4;
constexpr int kMaxStep = 2048;  // 12 bits, signed

auto endpoint(const Place& p) { return std::make_tuple(p.tile, p.base); }

/// Order of messages: same senders and receivers together, in order of the first sender's address.
class MessageOrder {
 public:
  explicit MessageOrder(const Messages& m) : list_(m.list()), places_(m.places()) {}

  [[nodiscard]] int compare_ends(std::uint32_t a, std::uint32_t b) const {
    const auto &x = list_[a], &y = list_[b];
    if (x.sources != y.sources) return x.sources < y.sources ? -1 : 1;
    if (x.destinations != y.destinations) return x.destinations < y.destinations ? -1 : 1;
    const Place *p = &places_[x.first_source], *q = &places_[y.first_source];
    for (std::uint32_t i = 0; i < x.sources + x.destinations; ++i)
      if (endpoint(p[i]) != endpoint(q[i])) return endpoint(p[i]) < endpoint(q[i]) ? -1 : 1;
    return 0;
  }
  bool operator()(std::uint32_t a, std::uint32_t b) const {
    const int ends = compare_ends(a, b);
    if (ends != 0) return ends < 0;
    const std::uint32_t x = places_[list_[a].first_source].address, y = places_[list_[b].first_source].address;
    return x != y ? x < y : a < b;
  }

 private:
  const std::vector<Messages::Message>& list_;
  const std::vector<Place>& places_;
};

/// Distance of b's ports from a's if it fits a descriptor's stride and both have the same ends.
bool same_shape(const Transfer& a, const Transfer& b) {
  return a.senders == b.senders && a.receivers == b.receivers && a.selected == b.selected && a.n == b.n &&
         a.count1 == b.count1 && a.count2 == b.count2;
}

bool same_ends(const Transfers& t, const Transfer& a, const Transfer& b) {
  const Port *p = t.senders(a), *q = t.senders(b);
  for (std::uint32_t i = 0; i < a.senders + a.receivers; ++i)
    if (p[i].tile != q[i].tile || p[i].base != q[i].base || p[i].stride1 != q[i].stride1) return false;
  return true;
}

std::int64_t distance(const Transfers& t, const Transfer& a, const Transfer& b, std::uint32_t port) {
  return static_cast<std::int64_t>(t.senders(b)[port].address) - t.senders(a)[port].address;
}

/// True if the step a -> b equals the step b -> c at every port.
bool equal_steps(const Transfers& t, const Transfer& a, const Transfer& b, const Transfer& c) {
  for (std::uint32_t i = 0; i < a.senders + a.receivers; ++i)
    if (distance(t, a, b, i) != distance(t, b, c, i)) return false;
  return true;
}

/// Folds runs of equal transfers at equal distances into one with count1 (level 1) or count2 (level 2).
std::vector<Transfer> fold(Transfers& t, int level) {
  std::vector<Transfer> out;
  for (std::size_t i = 0; i < t.list.size();) {
    const Transfer& first = t.list[i];
    std::size_t end = i + 1;
    const auto fits = [&](const Transfer& x) { return same_shape(first, x) && same_ends(t, first, x); };
    if (end < t.list.size() && (level == 1 || first.count1 > 1) && fits(t.list[end])) {
      ++end;
      while (end < t.list.size() && end - i < kMaxCount && fits(t.list[end]) &&
             equal_steps(t, t.list[end - 2], t.list[end - 1], t.list[end]))
        ++end;
    }
    const std::size_t pieces = end - i;
    if (pieces < (level == 1 ? kMinFold : 2u)) {
      // Only the first piece is done with: the second may begin a longer run.
      out.push_back(first);
      ++i;
      continue;
    }
    Transfer folded = first;
    for (std::uint32_t p = 0; p < first.senders + first.receivers; ++p) {
      Port& port = t.ports[first.first_port + p];
      const auto stride = static_cast<std::int32_t>(distance(t, first, t.list[i + 1], p));
      (level == 1 ? port.stride1 : port.stride2) = stride;
    }
    (level == 1 ? folded.count1 : folded.count2) = static_cast<std::uint32_t>(pieces);
    out.push_back(folded);
    i = end;
  }
  return out;
}

/// Messages in order, contiguous ones joined.
Transfers join(const Messages& messages) {
  const auto& list = messages.list();
  const auto& places = messages.places();
  std::vector<std::uint32_t> order(list.size());
  std::iota(order.begin(), order.end(), 0u);
  const MessageOrder before(messages);
  if (!std::is_sorted(order.begin(), order.end(), before)) std::sort(order.begin(), order.end(), before);

  Transfers t;
  t.list.reserve(list.size());
  t.ports.reserve(places.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto& m = list[order[i]];
    if (i > 0 && before.compare_ends(order[i - 1], order[i]) == 0) {
      Transfer& last = t.list.back();
      bool touches = true;
      for (std::uint32_t p = 0; p < m.sources + m.destinations && touches; ++p)
        touches = t.ports[last.first_port + p].address + last.n == places[m.first_source + p].address;
      if (touches) {
        last.n += m.words;
        continue;
      }
    }
    Transfer transfer;
    transfer.first_port = static_cast<std::uint32_t>(t.ports.size());
    transfer.senders = m.sources;
    transfer.receivers = m.destinations;
    transfer.selected = m.sources > 1;
    transfer.n = m.words;
    for (std::uint32_t p = 0; p < m.sources + m.destinations; ++p) {
      const Place& place = places[m.first_source + p];
      t.ports.push_back({place.tile, place.base, false, place.address, 0, 0});
    }
    t.list.push_back(transfer);
  }
  return t;
}

/// Finds sweeps among one-word transfers: same receivers, senders at equal distances, addresses at equal distances.
void find_sweeps(Transfers& t) {
  std::vector<std::uint32_t> singles;
  std::vector<Transfer> rest;
  for (std::uint32_t i = 0; i < t.list.size(); ++i) {
    if (t.list[i].words() == 1 && t.list[i].senders == 1)
      singles.push_back(i);
    else
      rest.push_back(t.list[i]);
  }
  const auto key_less = [&](std::uint32_t a, std::uint32_t b) {
    const Transfer &x = t.list[a], &y = t.list[b];
    if (x.receivers != y.receivers) return x.receivers < y.receivers;
    for (std::uint32_t p = 0; p < x.receivers; ++p) {
      const Port &r = t.receivers(x)[p], &s = t.receivers(y)[p];
      if (r.tile != s.tile || r.base != s.base) return std::tie(r.tile, r.base) < std::tie(s.tile, s.base);
    }
    return std::tie(t.senders(x)->tile, a) < std::tie(t.senders(y)->tile, b);
  };
  std::sort(singles.begin(), singles.end(), key_less);
  const auto same_receivers = [&](const Transfer& x, const Transfer& y) {
    if (x.receivers != y.receivers) return false;
    for (std::uint32_t p = 0; p < x.receivers; ++p)
      if (t.receivers(x)[p].tile != t.receivers(y)[p].tile || t.receivers(x)[p].base != t.receivers(y)[p].base)
        return false;
    return true;
  };
  const auto steps_equal = [&](const Transfer& a, const Transfer& b, const Transfer& c) {
    if (t.senders(b)->tile - t.senders(a)->tile != t.senders(c)->tile - t.senders(b)->tile) return false;
    for (std::uint32_t p = 1; p <= a.receivers; ++p)
      if (distance(t, a, b, p) != distance(t, b, c, p)) return false;
    return true;
  };
  for (std::size_t i = 0; i < singles.size();) {
    const Transfer first = t.list[singles[i]];
    std::size_t end = i + 1;
    if (end < singles.size() && same_receivers(first, t.list[singles[end]]) &&
        t.senders(t.list[singles[end]])->tile != t.senders(first)->tile &&
        t.senders(t.list[singles[end]])->tile - t.senders(first)->tile < kMaxStep) {
      ++end;
      while (end < singles.size() && end - i < kMaxCount && same_receivers(first, t.list[singles[end]]) &&
             steps_equal(t.list[singles[end - 2]], t.list[singles[end - 1]], t.list[singles[end]]))
        ++end;
    }
    if (end - i < kMinSweep) {
      rest.push_back(first);
      ++i;
      continue;
    }
    const Transfer second = t.list[singles[i + 1]];
    Transfer sweep = first;
    sweep.sweep = true;
    sweep.senders = static_cast<std::uint32_t>(end - i);
    sweep.source_step = t.senders(second)->tile - t.senders(first)->tile;
    sweep.first_port = static_cast<std::uint32_t>(t.ports.size());
    for (std::size_t k = i; k < end; ++k) t.ports.push_back(Port(*t.senders(t.list[singles[k]])));
    for (std::uint32_t p = 0; p < first.receivers; ++p) {
      Port port = t.receivers(first)[p];
      port.stride1 = static_cast<std::int32_t>(distance(t, first, second, p + 1));
      port.two_words = true;
      t.ports.push_back(port);
    }
    rest.push_back(sweep);
    i = end;
  }
  t.list = std::move(rest);
}

/// Appends a piece of `whole` that starts at indices (j0, i0, w0) of the three loops.
void append_piece(const Transfers& from, const Transfer& whole, std::uint32_t w0, std::uint32_t n, std::uint32_t i0,
                  std::uint32_t count1, std::uint32_t j0, std::uint32_t count2, Transfers& to) {
  Transfer piece = whole;
  piece.first_port = static_cast<std::uint32_t>(to.ports.size());
  piece.n = n;
  piece.count1 = count1;
  piece.count2 = count2;
  for (std::uint32_t p = 0; p < whole.senders + whole.receivers; ++p) {
    Port port = from.senders(whole)[p];
    port.address += w0 + i0 * static_cast<std::uint32_t>(port.stride1) + j0 * static_cast<std::uint32_t>(port.stride2);
    to.ports.push_back(port);
  }
  for (std::uint32_t p = 0; p < whole.senders + whole.receivers; ++p) {
    Port& port = to.ports[piece.first_port + p];
    const Walk walk = walk_of(piece, port);
    port.two_words = walk.count1 * walk.count2 > 1;
  }
  to.list.push_back(piece);
}

}  // namespace

Walk walk_of(const Transfer& t, const Port& port) {
  Walk w{t.n, t.count1, t.count2, port.stride1, port.stride2};
  if (w.count1 == 1) {
    w.count1 = w.count2;
    w.stride1 = w.stride2;
    w.count2 = 1;
    w.stride2 = 0;
  }
  if (w.count1 > 1 && w.stride1 == static_cast<std::int32_t>(w.n) && w.n * w.count1 <= kMaxRun) {
    w.n *= w.count1;
    w.count1 = w.count2;
    w.stride1 = w.stride2;
    w.count2 = 1;
    if (w.count1 > 1 && w.stride1 == static_cast<std::int32_t>(w.n) && w.n * w.count1 <= kMaxRun) {
      w.n *= w.count1;
      w.count1 = 1;
    }
  } else if (w.count2 > 1 && w.stride2 == w.stride1 * static_cast<std::int32_t>(w.count1) &&
             w.count1 * w.count2 <= kMaxCount) {
    w.count1 *= w.count2;
    w.count2 = 1;
  }
  if (w.count2 == 1) w.stride2 = 0;
  if (w.count1 == 1) w.stride1 = 0;
  return w;
}

Transfers gather(const Messages& messages, bool sweeps) {
  Transfers t = join(messages);
  if (sweeps) find_sweeps(t);
  const auto is_sweep = [](const Transfer& x) { return x.sweep; };
  if (std::none_of(t.list.begin(), t.list.end(), is_sweep)) {
    t.list = fold(t, 1);
    t.list = fold(t, 2);
  } else {
    std::vector<Transfer> kept;
    std::copy_if(t.list.begin(), t.list.end(), std::back_inserter(kept), is_sweep);
    t.list.erase(std::remove_if(t.list.begin(), t.list.end(), is_sweep), t.list.end());
    t.list = fold(t, 1);
    t.list = fold(t, 2);
    t.list.insert(t.list.end(), kept.begin(), kept.end());
  }
  return t;
}

Transfers regroup(const Transfers& transfers, std::uint32_t group) {
  Transfers out;
  for (const Transfer& t : transfers.list) {
    const std::uint32_t step = t.senders == 1 ? group : t.receivers;
    for (std::uint32_t k = 0; k < t.receivers; k += step) {
      Transfer part = t;
      part.first_port = static_cast<std::uint32_t>(out.ports.size());
      part.receivers = std::min(step, t.receivers - k);
      const Port *senders = transfers.senders(t), *receivers = transfers.receivers(t) + k;
      out.ports.insert(out.ports.end(), senders, senders + t.senders);
      out.ports.insert(out.ports.end(), receivers, receivers + part.receivers);
      out.list.push_back(part);
    }
  }
  return out;
}

Transfers cut_sweeps(const Transfers& transfers, std::uint32_t senders) {
  Transfers out;
  for (const Transfer& t : transfers.list) {
    const std::uint32_t step = t.sweep ? senders : t.senders;
    for (std::uint32_t k = 0; k < t.senders; k += step) {
      Transfer part = t;
      part.first_port = static_cast<std::uint32_t>(out.ports.size());
      part.senders = std::min(step, t.senders - k);
      out.ports.insert(out.ports.end(), transfers.senders(t) + k, transfers.senders(t) + k + part.senders);
      for (std::uint32_t r = 0; r < t.receivers; ++r) {
        out.ports.push_back(transfers.receivers(t)[r]);
        out.ports.back().address += k * static_cast<std::uint32_t>(t.sweep ? out.ports.back().stride1 : 0);
      }
      out.list.push_back(part);
    }
  }
  return out;
}

void slice(const Transfers& from, const Transfer& t, std::uint32_t first, std::uint32_t words, Transfers& to) {
  const std::uint32_t row = t.n * t.count1;
  for (std::uint32_t at = first, end = first + words; at < end;) {
    const std::uint32_t left = end - at, j = at / row, i = at % row / t.n, w = at % t.n;
    if (w != 0 || left < t.n) {  // a part of a run
      const std::uint32_t n = std::min(left, t.n - w);
      append_piece(from, t, w, n, i, 1, j, 1, to);
      at += n;
    } else if (i != 0 || left < row) {  // whole runs
      const std::uint32_t runs = std::min(left / t.n, t.count1 - i);
      append_piece(from, t, 0, t.n, i, runs, j, 1, to);
      at += runs * t.n;
    } else {  // whole rows
      append_piece(from, t, 0, t.n, 0, t.count1, j, left / row, to);
      at += left / row * row;
    }
  }
}

Transfers cut(const Transfers& transfers, std::uint32_t grain) {
  Transfers out;
  out.list.reserve(transfers.list.size());
  out.ports.reserve(transfers.ports.size());
  for (const Transfer& t : transfers.list) {
    if (t.sweep) {
      Transfer copy = t;
      copy.first_port = static_cast<std::uint32_t>(out.ports.size());
      out.ports.insert(out.ports.end(), transfers.senders(t), transfers.receivers(t) + t.receivers);
      out.list.push_back(copy);
      continue;
    }
    const std::uint32_t row = t.n * t.count1;
    if (t.n > grain) {  // cut inside a run
      for (std::uint32_t j = 0; j < t.count2; ++j)
        for (std::uint32_t i = 0; i < t.count1; ++i)
          for (std::uint32_t w = 0; w < t.n; w += grain)
            append_piece(transfers, t, w, std::min(grain, t.n - w), i, 1, j, 1, out);
    } else if (row > grain) {  // whole runs
      const std::uint32_t runs = grain / t.n;
      for (std::uint32_t j = 0; j < t.count2; ++j)
        for (std::uint32_t i = 0; i < t.count1; i += runs)
          append_piece(transfers, t, 0, t.n, i, std::min(runs, t.count1 - i), j, 1, out);
    } else {  // whole rows
      const std::uint32_t rows = grain / row;
      for (std::uint32_t j = 0; j < t.count2; j += rows)
        append_piece(transfers, t, 0, t.n, 0, t.count1, j, std::min(rows, t.count2 - j), out);
    }
  }
  return out;
}

}  // namespace tessera::exchange
