// Traffic: times and shapes of messages, then tables.
#include "verif/random/network.h"

#include <algorithm>

#include "hw/generated/machine.h"
#include "verif/random/image.h"

namespace tessera::random {
namespace {

class Traffic {
 public:
  Traffic(std::mt19937_64& random, Network& network, const std::array<std::uint32_t, 3>& xbase)
      : random_(random), network_(network), xbase_(xbase), tiles_(static_cast<unsigned>(network.timing.tiles())) {}

  Superstep step(unsigned number, bool spoil) {
    Superstep step;
    step.late.assign(tiles_, false);
    if (pick(5) == 0) return packets(std::move(step), number, spoil);
    step.zone = pick(8) == 0 ? Zone::group1 : pick(8) == 0 ? Zone::host : Zone::internal;
    step.tables.resize(tiles_);
    send_.assign(tiles_, {});
    receive_.assign(tiles_, {});
    odd_ = number % 2 != 0;
    const bool spread = pick(2) != 0;
    for (unsigned t = 0; t < tiles_; ++t) {
      step.gap.push_back(pick(3) == 0 ? 0 : pick(20));
      step.xsource.push_back(pick(tiles_));
      send_[t].earliest = receive_[t].earliest = 12 + 6 * step.gap[t];
    }
    for (unsigned n = 2 + pick(10); n-- > 0;) {
      if (pick(4) == 0) {
        sweep(step, spread);
      } else {
        message(step, spread);
      }
    }
    if (spoil) spoil_one(step);
    for (TableRecipe& table : step.tables) table.length = 4096;
    return step;
  }

 private:
  struct List {
    Cycle earliest = 0;  ///< of a start, by x.exchange and by the descriptor before
    Cycle start = 0;
    bool any = false;
    /// Earliest start of a descriptor with one or two words.
    [[nodiscard]] Cycle from(bool two) const { return any ? std::max(earliest, start + (two ? 4 : 2)) : earliest; }
    void take(Cycle at, Cycle words) {
      any = true;
      start = at;
      earliest = at + words;
    }
  };
  struct Shape {
    bool block = false;
    unsigned n = 1, count1 = 1, count2 = 1;
    [[nodiscard]] unsigned words() const { return n * count1 * count2; }
  };

  unsigned pick(unsigned n) { return static_cast<unsigned>(random_() % n); }
  int between(int low, int high) { return low + static_cast<int>(pick(static_cast<unsigned>(high - low + 1))); }

  Shape shape(unsigned words) {
    Shape s;
    s.n = words;
    if (pick(3) != 0) return s;
    s.block = true;
    for (const unsigned f : {2u, 3u}) {
      if (s.n % f == 0 && pick(2) != 0) s.count1 = f, s.n /= f;
      if (s.n % f == 0 && pick(3) == 0) s.count2 = f, s.n /= f;
    }
    return s;
  }

  /// Words in the supervisor's 4 KiB: what a phase sends and receives stands in halves that change places.
  std::uint64_t place(ExchangeDescriptor& d, bool receive) {
    const std::uint64_t word = (receive != odd_ ? 0x280 : 0x80) + pick(0x80);
    const Address byte = data_of(0) + 4 * static_cast<Address>(word);
    d.base = pick(3) == 0 ? 1 + pick(3) : 0;
    const Address base = d.base == 0 ? kSramBase : xbase_[d.base - 1];
    d.address = (byte - base) / 4;
    return word;
  }

  void put(TableRecipe& table, bool receive, const Shape& s, Cycle t, unsigned peer) {
    ExchangeDescriptor d;
    d.kind = s.block ? 1 : 0;
    d.start = t;
    d.words = s.n;
    d.peer = peer;
    place(d, receive);
    std::vector<std::uint64_t> words{d.pack()};
    if (s.block) {
      ExchangeBlock b;
      b.stride1 = between(-4, static_cast<int>(s.n) + 4);
      b.count1 = s.count1;
      b.stride2 = between(-20, 40);
      b.count2 = s.count2;
      words.push_back(b.pack());
    }
    (receive ? table.receives : table.sends).push_back(std::move(words));
  }

  /// One sender, any number of listeners.
  void message(Superstep& step, bool spread) {
    const unsigned from = pick(tiles_);
    const unsigned words = pick(3) == 0 ? 1 : pick(3) == 0 ? 2 : 1 + pick(24);
    const Shape out = shape(words);
    std::vector<unsigned> to;
    for (unsigned t = 0; t < tiles_; ++t) {
      if (pick(3) == 0) to.push_back(t);
    }
    if (to.empty() && pick(4) != 0) to.push_back(pick(tiles_));
    std::vector<Shape> in;
    Cycle start = send_[from].from(out.block);
    for (const unsigned t : to) {
      in.push_back(shape(words));
      const Cycle delay = network_.timing.delay(from, t), needs = receive_[t].from(in.back().block);
      start = std::max(start, needs > delay ? needs - delay : 0);
    }
    if (spread) start += pick(12);
    put(step.tables[from], false, out, start, to.empty() && pick(4) != 0 ? 1 : pick(2));
    send_[from].take(start, words);
    for (std::size_t k = 0; k < to.size(); ++k) {
      const unsigned t = to[k];
      const Cycle at = start + network_.timing.delay(from, t);
      put(step.tables[t], true, in[k], at, step.xsource[t] == from && pick(2) != 0 ? 0xfff : from);
      receive_[t].take(at, words);
      if (t == from) network_.itself += words;
    }
    if (to.size() > 1) network_.several += words;
    if (to.empty()) network_.nobody += words;
  }

  /// One listener that turns from sender to sender.
  void sweep(Superstep& step, bool spread) {
    const unsigned to = pick(tiles_), words = 1 + pick(6);
    ExchangeSweep w;
    w.count = 1 + pick(4);
    const bool wraps = pick(2) != 0;
    w.wrap = wraps ? tiles_ : 0;
    w.step = between(-1, 1);
    w.stride = between(-8, static_cast<int>(words) + 8);
    unsigned first = pick(tiles_);
    if (!wraps) {
      w.count = std::min<std::uint64_t>(w.count, tiles_);
      if (w.step > 0) first = 0;
      if (w.step < 0) first = tiles_ - 1;
    }
    std::vector<unsigned> sources;
    int source = static_cast<int>(first);
    for (unsigned k = 0; k < w.count; ++k) {
      sources.push_back(static_cast<unsigned>(source));
      source += static_cast<int>(w.step);
      if (w.wrap != 0) source = (source + static_cast<int>(tiles_)) % static_cast<int>(tiles_);
    }
    // The same sender twice must keep its own distances: tried at the earliest time for all of them, later if need be.
    Cycle at = receive_[to].from(true) + (spread ? pick(12) : 0);
    for (unsigned tries = 0; tries < 64; ++tries) {
      std::vector<List> send = send_;
      bool fits = true;
      for (unsigned k = 0; k < sources.size() && fits; ++k) {
        const unsigned s = sources[k];
        const Cycle heard = at + k * words, delay = network_.timing.delay(s, to);
        fits = heard >= delay + send[s].from(false);
        if (fits) send[s].take(heard - delay, words);
      }
      if (!fits) {
        at += 8;
        continue;
      }
      for (unsigned k = 0; k < sources.size(); ++k) {
        Shape plain;
        plain.n = words;
        put(step.tables[sources[k]], false, plain, at + k * words - network_.timing.delay(sources[k], to), 0);
      }
      send_ = send;
      ExchangeDescriptor d;
      d.kind = 2;
      d.start = at;
      d.words = words;
      d.peer = first;
      place(d, true);
      step.tables[to].receives.push_back({d.pack(), w.pack()});
      receive_[to].take(at, words * sources.size());
      return;
    }
  }

  /// Reads from and writes to the host: writes leave one half of the supervisor's data, answers come into the other.
  Superstep packets(Superstep step, unsigned number, bool spoil) {
    step.packets = true;
    step.zone = pick(2) != 0 ? Zone::host : Zone::group1;
    odd_ = number % 2 != 0;
    for (unsigned t = 0; t < tiles_; ++t) {
      step.gap.push_back(pick(6));
      step.xsource.push_back(pick(tiles_));
      step.late[t] = pick(4) == 0;
      TableRecipe& table = step.tables.emplace_back();
      PacketHeader header;
      header.descriptors = pick(4);
      table.packets.push_back(header.pack());
      const bool broken = spoil && pick(3) == 0;
      for (unsigned n = 0; n < header.descriptors; ++n) {
        // Not in a table that breaks: what becomes of answers that come behind a fault is not decided.
        const bool read = !broken && pick(2) != 0;
        const unsigned words = pick(4) == 0 ? 1 : pick(6) == 0 ? 257 + pick(100) : 1 + pick(60);
        ExchangeDescriptor place_of;
        place(place_of, read);
        if (words > 128) {  // all of a half
          place_of.base = 0;
          place_of.address = (data_of(0) - kSramBase) / 4 + (read != odd_ ? 0x280 : 0x80);
        }
        PacketDescriptor d;
        d.kind = read ? 2 : 1;
        d.local_base = place_of.base;
        d.remote_base = pick(3) == 0 ? 1 + pick(3) : 0;
        d.words = words;
        d.local = place_of.address;
        PacketRemote remote;
        remote.kind = 2;
        remote.ipu = pick(2);
        remote.offset = 4 * pick(0x800);
        if (broken && pick(3) == 0) {
          network_.spoilt = true;
          switch (pick(4)) {
            case 0:
              d.kind = pick(2) != 0 ? 3 : 0;
              break;
            case 1:
              d.words = 0;
              break;
            case 2:
              remote.offset += 2;
              break;
            default:
              d.local_base = 0;
              d.local = Program::kSramBytes / 4 - pick(8);
          }
        }
        table.packets.push_back(d.pack());
        table.packets.push_back(remote.pack());
      }
    }
    return step;
  }

  /// Takes away, moves or breaks one descriptor.
  void spoil_one(Superstep& step) {
    TableRecipe& table = step.tables[pick(tiles_)];
    const bool receive = pick(2) != 0;
    auto& list = receive ? table.receives : table.sends;
    if (list.empty()) return;
    network_.spoilt = true;
    const std::size_t n = pick(static_cast<unsigned>(list.size()));
    auto d = ExchangeDescriptor::unpack(list[n][0]);
    switch (pick(7)) {
      case 0:
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(n));
        return;
      case 1:
        d.start -= std::min<std::uint64_t>(d.start, 1 + pick(30));
        break;
      case 2:
        d.start += 1 + pick(6);
        break;
      case 3:
        d.kind = 3;
        break;
      case 4:
        d.base = 0;
        d.address = pick(2) == 0 ? 0x3fff0 : Program::kSramBytes / 4 - pick(8);
        break;
      case 5:
        if (receive) d.peer = tiles_ + pick(3);
        break;
      default:
        if (list.back().size() > 1) list.back().pop_back();
        return;
    }
    list[n][0] = d.pack();
  }

  std::mt19937_64& random_;
  Network& network_;
  const std::array<std::uint32_t, 3>& xbase_;
  unsigned tiles_;
  bool odd_ = false;
  std::vector<List> send_, receive_;
};

}  // namespace

Network network(const ProgramOptions& options, unsigned tiles) {
  std::mt19937_64 random(options.seed * 0x9e3779b97f4a7c15u + 3);
  const auto pick = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  Network network;
  network.seed = options.seed;
  network.timing.base = 8 + pick(20);
  for (unsigned t = 0; t < tiles; ++t) {
    network.timing.send.push_back(pick(6));
    network.timing.receive.push_back(pick(6));
  }
  std::array<std::uint32_t, 3> xbase{};
  for (auto& base : xbase) base = data_of(0) + 4 * pick(64);
  Traffic traffic(random, network, xbase);
  const unsigned steps = 2 + pick(kTableCount - 1);
  const bool spoil = pick(3) == 0;
  for (unsigned n = 0; n < steps; ++n) network.steps.push_back(traffic.step(n, spoil && pick(2) == 0));
  for (unsigned t = 0; t < tiles; ++t) {
    ProgramOptions o = options;
    o.seed = options.seed * 64 + t;
    network.tiles.push_back(TileWriter(o).write_for_network(network.steps, t, xbase));
  }
  return network;
}

}  // namespace tessera::random
