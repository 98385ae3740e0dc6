// Workers get vertices longest first, each to the worker with the least work; neighbours of a family stay together, so
// that a worker's share of a family is one array or moving record.
#include "host/compiler/lists.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>

#include "host/codelets/amp_record.h"
#include "hw/generated/machine.h"

namespace tessera::compiler {

namespace {

constexpr std::uint64_t kMaxCount = 65535;
constexpr std::uint32_t kMaxStride = 32767;
/// A moving record pays 4 slots a word and call; it is taken where states would take much memory.
constexpr std::uint64_t kMovingFrom = 16;

using Resolved = std::vector<std::uint32_t>;

/// A worker's share of one family.
struct Share {
  const Calls* calls = nullptr;
  std::uint64_t first = 0, count = 0;  ///< within calls
};

class ListMaker {
 public:
  ListMaker(std::uint32_t tile, Address base, const Allocation& allocation, const CodeAddresses& code,
            const std::vector<std::uint32_t>& window)
      : tile_(tile), base_(base), allocation_(allocation), code_(code), window_(window) {}

  TileList run(const std::vector<const Calls*>& calls) {
    std::vector<const Calls*> plain;
    std::vector<const Calls*> amp;
    for (const Calls* c : calls) (c->codelet->amp ? amp : plain).push_back(c);
    if (!plain.empty()) {
      distribute(plain);
      result_.list = base_;
      result_.words.assign(kWorkers, 0);
      for (unsigned w = 0; w < kWorkers; ++w) worker(w);
      place_states();
    }
    if (!amp.empty()) amp_list(amp);
    return std::move(result_);
  }

 private:
  void distribute(const std::vector<const Calls*>& calls) {
    std::vector<const Calls*> order = calls;
    std::stable_sort(order.begin(), order.end(), [](const Calls* a, const Calls* b) { return a->cycles > b->cycles; });
    std::array<std::uint64_t, kWorkers> load{};
    for (const Calls* c : order) {
      if (c->codelet->multi) {
        for (unsigned w = 0; w < kWorkers; ++w) {
          shares_[w].push_back({c, 0, c->count});
          load[w] += c->count * c->cycles / kWorkers;
        }
        continue;
      }
      const std::array<std::uint64_t, kWorkers> counts = split(*c, load);
      std::uint64_t first = 0;
      for (unsigned w = 0; w < kWorkers; ++w) {
        if (counts[w] == 0) continue;
        shares_[w].push_back({c, first, counts[w]});
        load[w] += counts[w] * c->cycles;
        first += counts[w];
      }
    }
    result_.slowest = *std::max_element(load.begin(), load.end());
    result_.total = std::accumulate(load.begin(), load.end(), std::uint64_t{0});
  }

  /// How many vertices of equal cost each worker takes so that loads become as equal as they can.
  static std::array<std::uint64_t, kWorkers> split(const Calls& c, const std::array<std::uint64_t, kWorkers>& load) {
    std::array<std::uint64_t, kWorkers> counts{};
    std::array<std::uint64_t, kWorkers> now = load;
    const std::uint64_t cost = std::max<std::uint64_t>(c.cycles, 1);
    std::uint64_t left = c.count;
    // Large families: the even part at once, the rest one by one.
    if (left > 64 * kWorkers) {
      const std::uint64_t high = *std::max_element(load.begin(), load.end());
      for (unsigned w = 0; w < kWorkers; ++w) {
        const std::uint64_t n = std::min(left, (high - load[w]) / cost);
        counts[w] += n;
        now[w] += n * cost;
        left -= n;
      }
      for (unsigned w = 0; w < kWorkers; ++w) {
        const std::uint64_t n = left / (kWorkers - w);
        counts[w] += n;
        now[w] += n * cost;
        left -= n;
      }
      return counts;
    }
    for (; left > 0; --left) {
      const auto w = static_cast<std::size_t>(std::min_element(now.begin(), now.end()) - now.begin());
      ++counts[w];
      now[w] += cost;
    }
    return counts;
  }

  Resolved state_of(const Calls& c, std::uint64_t member) const {
    const std::size_t words = c.codelet->state_bytes / 4;
    Resolved state(words);
    for (std::size_t i = 0; i < words; ++i) {
      const StateWord& w = c.states[member * words + i];
      state[i] = w.value + (w.variable == kNone ? 0 : allocation_.base(w.variable, tile_));
    }
    return state;
  }

  [[nodiscard]] bool moves(const Calls& c, std::uint64_t member, std::size_t word) const {
    const std::uint32_t v = c.states[member * (c.codelet->state_bytes / 4) + word].variable;
    return v != kNone && std::binary_search(window_.begin(), window_.end(), v);
  }

  void append_state(const Calls& c, std::uint64_t member) {
    const Resolved state = state_of(c, member);
    for (std::size_t i = 0; i < state.size(); ++i) {
      if (moves(c, member, i)) result_.in_window.push_back(here());
      result_.words.push_back(state[i]);
    }
  }

  /// Increments from state to state if all are the same; empty if they differ.
  Resolved increments(const Share& s) const {
    const Resolved first = state_of(*s.calls, s.first);
    Resolved last = first;
    Resolved steps;
    for (std::uint64_t i = 1; i < s.count; ++i) {
      const Resolved now = state_of(*s.calls, s.first + i);
      Resolved step(now.size());
      for (std::size_t k = 0; k < now.size(); ++k) step[k] = now[k] - last[k];
      if (i == 1) steps = step;
      if (step != steps) return {};
      last = now;
    }
    while (!steps.empty() && steps.back() == 0) steps.pop_back();
    return steps;
  }

  Address here() const { return base_ + 4 * static_cast<Address>(result_.words.size()); }

  void worker(unsigned w) {
    if (shares_[w].empty()) return;
    result_.words[w] = here();
    for (const Share& share : shares_[w]) {
      for (std::uint64_t done = 0; done < share.count; done += kMaxCount) {
        record(w, {share.calls, share.first + done, std::min(share.count - done, kMaxCount)});
      }
    }
    result_.words.push_back(0);  // fn 0: end of the list
  }

  void record(unsigned w, const Share& share) {
    const Calls& c = *share.calls;
    const std::uint32_t bytes = c.codelet->state_bytes;
    executable::VertexRecord record;
    record.tile = tile_;
    record.workers = static_cast<std::uint8_t>(1U << w);
    record.record = here();
    record.count = static_cast<std::uint32_t>(share.count);
    record.stride = share.count > 1 ? bytes : 0;
    record.name = c.name;
    record.first = c.first + share.first;
    Resolved steps;
    if (share.count >= kMovingFrom && !c.codelet->multi) steps = increments(share);
    const bool moving = !steps.empty() && steps.size() + bytes / 4 < share.count * bytes / 4;
    if (!moving && bytes > kMaxStride) {
      for (std::uint64_t i = 0; share.count > 1 && i < share.count; ++i) this->record(w, {&c, share.first + i, 1});
      if (share.count > 1) return;
    }
    result_.words.push_back(code_.at(c.codelet->name));
    pending_.push_back({result_.words.size(), result_.records.size(), share, moving});
    result_.words.push_back(0);  // state, placed behind all records
    const std::uint32_t stride = moving ? kDispatchMoving | static_cast<std::uint32_t>(steps.size()) : bytes;
    result_.words.push_back(static_cast<std::uint32_t>(share.count) | stride << 16);
    if (moving) {
      record.stride = 0;
      result_.words.insert(result_.words.end(), steps.begin(), steps.end());
    }
    result_.records.push_back(record);
  }

  /// States behind the records; the six workers of a multi-vertex share theirs.
  void place_states() {
    std::map<const Calls*, Address> shared;
    for (const Pending& p : pending_) {
      const Calls& c = *p.share.calls;
      Address at = here();
      const auto known = shared.find(&c);
      if (c.codelet->multi && known != shared.end() && p.share.count == c.count) {
        at = known->second;
      } else {
        if (c.codelet->multi && p.share.count == c.count) shared[&c] = at;
        const std::uint64_t states = p.moving ? 1 : p.share.count;
        for (std::uint64_t i = 0; i < states; ++i) {
          append_state(c, p.share.first + i);
        }
      }
      result_.words[p.word] = at;
      result_.records[p.record].state = at;
    }
  }

  /// States of the AMP vertices, then their records.
  void amp_list(const std::vector<const Calls*>& calls) {
    std::vector<AmpRecord> records;
    std::vector<std::array<bool, 2>> moved;  // weights, offsets
    std::vector<executable::VertexRecord> named;
    for (const Calls* c : calls) {
      for (std::uint64_t i = 0; i < c->count; ++i) {
        const Address at = here();
        const Resolved state = state_of(*c, i);
        append_state(*c, i);
        moved.push_back({moves(*c, i, 0), moves(*c, i, 1)});
        records.push_back(amp_record(code_.at(c->codelet->name), at, state[0], state[1], state[2]));
        constexpr std::uint8_t kAll = (1U << kWorkers) - 1;
        named.push_back({tile_, kAll, 0, at, 0, 1, c->name, c->first + i});
      }
      result_.slowest += c->count * c->cycles;
      result_.total += c->count * c->cycles * kWorkers;
    }
    result_.amp = here();
    for (std::size_t i = 0; i < records.size(); ++i) {
      named[i].record = here();
      result_.records.push_back(named[i]);
      for (std::size_t k = 0; k < 2; ++k)
        if (moved[i][k]) result_.in_window.push_back(here() + 4 * (kAmpRecordWeights + static_cast<Address>(k)));
      result_.words.insert(result_.words.end(), records[i].begin(), records[i].end());
    }
    result_.words.push_back(0);  // fn 0: end of the list
  }

  struct Pending {
    std::size_t word = 0, record = 0;
    Share share;
    bool moving = false;
  };

  std::uint32_t tile_;
  Address base_;
  const Allocation& allocation_;
  const CodeAddresses& code_;
  const std::vector<std::uint32_t>& window_;
  TileList result_;
  std::array<std::vector<Share>, kWorkers> shares_;
  std::vector<Pending> pending_;
};

}  // namespace

TileList make_list(const std::vector<const Calls*>& calls, std::uint32_t tile, Address base,
                   const Allocation& allocation, const CodeAddresses& code, const std::vector<std::uint32_t>& window) {
  return ListMaker(tile, base, allocation, code, window).run(calls);
}

}  // namespace tessera::compiler
