// Chooses among ways to schedule, cuts what is too long into phases, and writes tables.
#include "host/exchange/schedule.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>

#include "host/exchange/list_scheduler.h"
#include "host/exchange/slot_scheduler.h"
#include "host/exchange/transfers.h"
#include "hw/error.h"
#include "hw/generated/machine.h"
#include "hw/platform.h"

namespace tessera::exchange {

namespace {

/// Descriptor lists of one tile while they are built.
struct Entry {
  std::int64_t start;  ///< t
  const Transfer* transfer;
  const Port* port;
  std::uint32_t words;
  std::uint16_t peer;  ///< receive: source tile or kPeerFromCsr; send: 0
};

void check(const Messages& messages, const Delays& delays) {
  const unsigned tiles = delays.tiles();
  if (delays.receive.size() != tiles || tiles == 0) throw std::logic_error("exchange: delays of different sizes");
  for (const auto& m : messages.list())
    for (std::uint32_t p = 0; p < m.sources + m.destinations; ++p) {
      const Place& place = messages.places()[m.first_source + p];
      if (place.tile >= tiles || place.base > 3 || std::uint64_t{place.address} + m.words > (1u << 18))
        throw std::logic_error("exchange: a message's tile or address cannot be encoded");
    }
}

/// End of the last listening cycle if transfer i starts at start[i].
std::int64_t length(const Transfers& t, const std::vector<std::int64_t>& start, const Delays& delays) {
  std::int64_t end = 0;
  for (std::size_t i = 0; i < t.list.size(); ++i)
    for (std::uint32_t k = 0; k < t.list[i].receivers; ++k)
      end = std::max(end, start[i] + t.list[i].words() + delays.base + delays.receive[t.receivers(t.list[i])[k].tile]);
  return end;
}

/// Lower bound of a phase: every port needs its load after the first word can be there.
/// `t` gives the ports, `list` the transfers; senders_only: receivers may be relieved by sweeps.
unsigned lower_bound(const Transfers& t, const std::vector<Transfer>& list, const Delays& delays, unsigned earliest,
                     bool senders_only = false) {
  const unsigned tiles = delays.tiles();
  std::vector<std::uint64_t> load(2 * tiles);
  std::vector<unsigned> nearest(2 * tiles, ~0u);  // smallest delay on the other side, after the farthest listener
  std::vector<bool> single(2 * tiles);  // has a descriptor of one word: if last, it ends before its share does
  for (const Transfer& x : list) {
    unsigned farthest = 0, closest = ~0u;
    for (std::uint32_t k = 0; k < x.receivers; ++k)
      farthest = std::max(farthest, delays.receive[t.receivers(x)[k].tile]);
    for (std::uint32_t i = 0; i < x.senders; ++i) {
      const unsigned s = t.senders(x)[i].tile;
      load[s] += cost(x.send_words());
      single[s] = single[s] || x.send_words() == 1;
      nearest[s] = std::min(nearest[s], farthest);
      closest = std::min(closest, delays.send[s]);
    }
    for (std::uint32_t k = 0; k < x.receivers; ++k) {
      const unsigned d = tiles + t.receivers(x)[k].tile;
      load[d] += cost(x.words());
      single[d] = single[d] || x.words() == 1;
      nearest[d] = std::min(nearest[d], closest);
    }
  }
  std::uint64_t bound = 0;
  for (unsigned p = 0; p < (senders_only ? tiles : 2 * tiles); ++p)
    if (load[p] > 0)
      bound = std::max(bound, load[p] - (single[p] ? 1 : 0) + earliest + delays.base + nearest[p] +
                                  (p < tiles ? delays.send[p] : delays.receive[p - tiles]));
  return static_cast<unsigned>(bound);
}

struct Attempt {
  std::shared_ptr<const Transfers> transfers;
  std::vector<std::int64_t> start;
  std::int64_t cycles = 0;
};

/// Tries whole transfers first, then slots and ever smaller pieces; keeps the shortest.
class Search {
 public:
  Search(const Delays& delays, const Options& options)
      : delays_(delays),
        options_(options),
        natural_(first_times(delays, options.earliest, false)),
        aligned_(first_times(delays, options.earliest, true)) {}

  void explore(const Transfers& whole) {
    explore_pieces(whole);
    explore_sweeps(whole);
  }

  /// True if what there is comes near `bound`.
  [[nodiscard]] bool good(std::uint64_t bound) const {
    return best_ && static_cast<std::uint64_t>(best_->cycles) * 1000 <= bound * options_.good_permille;
  }

  Attempt take() { return std::move(*best_); }

 private:
  static constexpr std::uint32_t kMaxGrain = 4096, kMinGrain = 16;
  static constexpr std::uint64_t kGapSearchPorts = 1000000;  // its time grows faster than linearly

  void explore_pieces(const Transfers& whole) {
    const std::uint64_t bound = lower_bound(whole, whole.list, delays_, options_.earliest);
    std::uint32_t widest = 0;
    for (const Transfer& t : whole.list)
      if (t.senders == 1) widest = std::max(widest, t.receivers);
    for (const std::uint32_t grain : {kMaxGrain, kMaxGrain / 64}) {  // long pieces make small tables
      try_pieces(whole, bound, grain);
      // Multicasts to many receivers wait for each other: smaller groups, as long as no sender becomes the bottleneck.
      for (std::uint32_t group = 8; group >= 1 && !good(bound); group /= 2) {
        if (group >= widest) continue;
        const Transfers grouped = regroup(whole, group);
        if (lower_bound(grouped, grouped.list, delays_, options_.earliest) >= static_cast<std::uint64_t>(best_->cycles))
          break;
        try_pieces(grouped, bound, grain);
      }
    }
  }

  /// Sweeps over the same senders start one after another, each a little later; parts of them can go round.
  void explore_sweeps(const Transfers& whole) {
    const std::uint64_t bound = lower_bound(whole, whole.list, delays_, options_.earliest);
    std::uint32_t longest = 0;
    for (const Transfer& t : whole.list)
      if (t.sweep) longest = std::max(longest, t.senders);
    for (std::uint32_t parts = 2; parts <= 32 && longest / parts >= 8 && !good(bound); parts *= 2) {
      const auto pieces = std::make_shared<const Transfers>(cut_sweeps(whole, (longest + parts - 1) / parts));
      consider(pieces, schedule_by_time(*pieces, delays_.tiles(), aligned_));
      consider(pieces, schedule_by_gap(*pieces, delays_.tiles(), aligned_));
    }
  }

  /// Tries pieces of at most `coarsest` words, then of a quarter or a sixteenth of that.
  void try_pieces(const Transfers& whole, std::uint64_t bound, std::uint32_t coarsest) {
    std::uint32_t longest = 0;
    std::uint64_t ports = 0;
    bool many = false;
    for (const Transfer& t : whole.list) {
      if (!t.sweep) longest = std::max(longest, t.words());
      ports += t.senders + t.receivers;
      many |= t.senders + t.receivers > 2;
    }
    for (std::uint32_t grain = coarsest; grain >= std::max(coarsest / 16, kMinGrain) && !good(bound); grain /= 4) {
      if (grain < kMaxGrain && grain >= longest) continue;
      const auto pieces = std::make_shared<const Transfers>(cut(whole, grain));
      consider(pieces, schedule_by_time(*pieces, delays_.tiles(), natural_));
      if (!good(bound)) consider(pieces, schedule_by_time(*pieces, delays_.tiles(), aligned_));
      if (grain == kMaxGrain) try_slots(*pieces, bound);  // cuts less than ever smaller pieces do
      if (many && !good(bound) && ports * (kMaxGrain / grain) < kGapSearchPorts)
        consider(pieces, schedule_by_gap(*pieces, delays_.tiles(), natural_));
    }
  }

  /// Slots use up what `bound` and the tolerated distance from it allow: the more room, the fewer transfers are cut.
  void try_slots(const Transfers& pieces, std::uint64_t bound) {
    for (const std::uint64_t permille : {std::uint64_t{options_.good_permille}, std::uint64_t{1000}})
      for (const bool aligned : {true, false}) {
        if (good(bound)) return;
        const auto end = static_cast<std::int64_t>(bound * permille / 1000);
        std::optional<Slotted> slotted = schedule_by_slots(pieces, delays_, natural_, end, aligned);
        if (!slotted) return;
        consider(std::make_shared<const Transfers>(std::move(slotted->transfers)), std::move(slotted->start));
      }
  }

  void consider(const std::shared_ptr<const Transfers>& transfers, std::vector<std::int64_t> start) {
    const std::int64_t cycles = length(*transfers, start, delays_);
    if (!best_ || cycles < best_->cycles) best_ = Attempt{transfers, std::move(start), cycles};
  }

  const Delays& delays_;
  const Options& options_;
  std::vector<std::int64_t> natural_, aligned_;
  std::optional<Attempt> best_;
};

/// Adds descriptors in order of time, joining what continues the one before.
class ListWriter {
 public:
  explicit ListWriter(bool receive) : receive_(receive) {}

  void add(const Entry& e) {
    Walk walk{e.words, 1, 1, 0, 0};
    const bool sweep = e.transfer->sweep && receive_;
    if (!e.transfer->sweep) walk = walk_of(*e.transfer, *e.port);
    if (sweep || !joins(e, walk)) {
      flush();
      entry_ = e;
      walk_ = walk;
      end_ = e.start;
    }
    end_ += e.words;
    if (sweep) write_sweep();
  }

  std::vector<std::uint64_t> take() {
    flush();
    return std::move(words_);
  }

 private:
  /// Extends the open descriptor by `walk` if that continues it in time, place and peer.
  bool joins(const Entry& e, const Walk& walk) {
    if (!entry_ || e.start != end_ || e.peer != entry_->peer || e.port->base != entry_->port->base) return false;
    const std::uint32_t address = entry_->port->address;
    if (walk.count1 * walk.count2 == 1 && walk_.count1 * walk_.count2 == 1) {
      if (address + walk_.n != e.port->address || walk_.n + walk.n > kExchangeMaxWords) return false;
      walk_.n += walk.n;
      return true;
    }
    if (walk.count2 == 1 && walk_.count2 == 1 && walk.count1 > 1 && walk_.count1 > 1 && walk.n == walk_.n &&
        walk.stride1 == walk_.stride1 && walk_.count1 + walk.count1 < 4096 &&
        address + walk_.count1 * static_cast<std::uint32_t>(walk_.stride1) == e.port->address) {
      walk_.count1 += walk.count1;
      return true;
    }
    return false;
  }

  [[nodiscard]] ExchangeDescriptor first_word(std::uint32_t kind, std::uint32_t n) const {
    ExchangeDescriptor d;
    d.kind = kind;
    d.base = entry_->port->base;
    d.start = static_cast<std::uint64_t>(entry_->start);
    d.words = n == kExchangeMaxWords ? 0 : n;
    d.address = entry_->port->address;
    d.peer = entry_->peer;
    return d;
  }

  void push(const ExchangeDescriptor& d) {
    if (!d.fits()) throw std::logic_error("exchange: a descriptor does not fit its fields");
    words_.push_back(d.pack());
  }

  void write_sweep() {
    ExchangeSweep s;
    s.count = entry_->transfer->senders;
    s.step = entry_->transfer->source_step;
    s.stride = entry_->port->stride1;
    push(first_word(kKindSweep, entry_->transfer->n));
    if (!s.fits()) throw std::logic_error("exchange: a sweep does not fit its fields");
    words_.push_back(s.pack());
    entry_.reset();
  }

  void flush() {
    if (!entry_) return;
    if (walk_.count1 * walk_.count2 == 1) {
      push(first_word(kKindLinear, walk_.n));
    } else {
      ExchangeBlock b;
      b.stride1 = walk_.stride1;
      b.count1 = walk_.count1;
      b.stride2 = walk_.stride2;
      b.count2 = walk_.count2;
      push(first_word(kKindBlock, walk_.n));
      if (!b.fits()) throw std::logic_error("exchange: a block does not fit its fields");
      words_.push_back(b.pack());
    }
    entry_.reset();
  }

  bool receive_;
  std::optional<Entry> entry_;
  Walk walk_{};
  std::int64_t end_ = 0;
  std::vector<std::uint64_t> words_;
};

std::vector<std::uint64_t> write_list(std::vector<Entry>& entries, bool receive, unsigned tile) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.start < b.start; });
  ListWriter writer(receive);
  for (const Entry& e : entries) writer.add(e);
  std::vector<std::uint64_t> words = writer.take();
  if (words.size() > 0xFFFF)
    throw Error(Category::does_not_fit,
                "an exchange phase needs " + std::to_string(words.size()) + " table words on one tile, 65535 fit",
                "tile " + std::to_string(tile), "use larger pieces or spread the tensor over more tiles");
  return words;
}

/// Tables of the transfers `ids`, times shifted by -shift.
Phase write_phase(const Attempt& a, const std::vector<std::uint32_t>& ids, std::int64_t shift, const Delays& delays,
                  const Options& options) {
  const unsigned tiles = delays.tiles();
  std::vector<std::vector<Entry>> sends(tiles), receives(tiles);
  Phase phase;
  phase.tables.resize(tiles);
  phase.last_word.resize(tiles);
  std::vector<Transfer> part;
  std::int64_t cycles = 0;
  for (const std::uint32_t id : ids) {
    const Transfer& t = a.transfers->list[id];
    const std::int64_t u = a.start[id] - shift;
    const Port *sender = a.transfers->senders(t), *receiver = a.transfers->receivers(t);
    for (std::uint32_t k = 0; k < t.senders; ++k) {
      const unsigned s = sender[k].tile;
      const std::uint16_t unheard = t.selected ? 1 : 0;
      sends[s].push_back({u + t.send_offset(k) - delays.send[s], &t, &sender[k], t.send_words(), unheard});
      phase.last_word[s] =
          std::max(phase.last_word[s], static_cast<unsigned>(sends[s].back().start + t.send_words() - 1));
    }
    const auto peer = static_cast<std::uint16_t>(t.selected ? kPeerFromCsr : sender->tile);
    for (std::uint32_t k = 0; k < t.receivers; ++k) {
      const unsigned d = receiver[k].tile;
      const std::int64_t start = u + delays.base + delays.receive[d];
      receives[d].push_back({start, &t, &receiver[k], t.words(), peer});
      phase.last_word[d] = std::max(phase.last_word[d], static_cast<unsigned>(start + t.words() - 1));
      cycles = std::max(cycles, start + t.words());
      phase.words += t.words();
    }
    part.push_back(t);
  }
  phase.bound = std::min(lower_bound(*a.transfers, part, delays, options.earliest), static_cast<unsigned>(cycles));
  phase.cycles = static_cast<unsigned>(cycles);
  for (unsigned tile = 0; tile < tiles; ++tile) {
    if (sends[tile].empty() && receives[tile].empty()) continue;
    const std::vector<std::uint64_t> send = write_list(sends[tile], false, tile);
    const std::vector<std::uint64_t> receive = write_list(receives[tile], true, tile);
    ExchangeHeader header;
    header.sends = send.size();
    header.receives = receive.size();
    header.length = std::min(phase.cycles, kExchangeMaxLength - 1);
    auto& table = phase.tables[tile];
    table.push_back(header.pack());
    table.insert(table.end(), send.begin(), send.end());
    table.insert(table.end(), receive.begin(), receive.end());
  }
  return phase;
}

}  // namespace

Delays delays_of(const Platform& platform) {
  Delays d;
  d.base = platform.exchange.base;
  for (unsigned t = 0; t < platform.tiles; ++t) {
    d.send.push_back(platform.send_delay(t));
    d.receive.push_back(platform.receive_delay(t));
  }
  return d;
}

std::uint64_t Schedule::table_bytes() const {
  std::uint64_t words = 0;
  for (const Phase& p : phases)
    for (const auto& table : p.tables) words += table.size();
  return 8 * words;
}

Schedule schedule(const Messages& messages, const Delays& delays, const Options& options) {
  check(messages, delays);
  Schedule result;
  if (messages.list().empty()) return result;
  Search search(delays, options);
  const Transfers plain = gather(messages, false);
  search.explore(plain);
  if (!search.good(lower_bound(plain, plain.list, delays, options.earliest, true))) {
    const Transfers with_sweeps = gather(messages, true);
    if (std::any_of(with_sweeps.list.begin(), with_sweeps.list.end(), [](const Transfer& t) { return t.sweep; }))
      search.explore(with_sweeps);
  }
  const Attempt best = search.take();

  // Cut by time: what does not end before the limit waits for the next phase, its times relative to one another kept.
  const std::int64_t limit = std::min(options.max_cycles, kExchangeMaxLength);
  std::vector<std::uint32_t> left(best.transfers->list.size());
  for (std::uint32_t i = 0; i < left.size(); ++i) left[i] = i;
  std::int64_t shift = 0;
  const std::int64_t first_of_all =
      std::int64_t{options.earliest} + *std::max_element(delays.send.begin(), delays.send.end());
  while (!left.empty()) {
    std::vector<std::uint32_t> now, later;
    std::int64_t next = INT64_MAX;
    for (const std::uint32_t id : left) {
      const Transfer& t = best.transfers->list[id];
      std::int64_t end = 0;
      for (std::uint32_t k = 0; k < t.receivers; ++k)
        end = std::max<std::int64_t>(end, delays.receive[best.transfers->receivers(t)[k].tile]);
      end += best.start[id] - shift + t.words() + delays.base;
      if (end < limit) {
        now.push_back(id);
      } else {
        later.push_back(id);
        next = std::min(next, best.start[id]);
      }
    }
    if (now.empty()) throw std::logic_error("exchange: a transfer is longer than a phase may be");
    result.phases.push_back(write_phase(best, now, shift, delays, options));
    left = std::move(later);
    shift = next - first_of_all;
  }
  return result;
}

}  // namespace tessera::exchange
