#include "host/exchange/checker.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::exchange {

namespace {

constexpr std::uint32_t kSram = 0x40000;  // first byte of a tile's SRAM
constexpr std::size_t kMostProblems = 20;

/// One word on a port.
struct WordEvent {
  std::int64_t t;
  std::uint32_t word;    ///< word offset from the SRAM start
  std::uint16_t peer;    ///< receive: source tile
  bool unheard_allowed;  ///< send
};

/// What a message wants at a destination word.
struct Wanted {
  std::uint32_t word;
  std::uint32_t source_word;
  std::uint16_t source;
  bool written;
};

/// Words of a tile's SRAM; what a wrong table names beyond is a problem of its own.
class WordSet {
 public:
  void add(std::uint32_t word) {
    if (word >= kMostWords) return;
    if (bits_.size() <= word / 64) bits_.resize(word / 64 + 1);
    bits_[word / 64] |= std::uint64_t{1} << (word % 64);
  }
  [[nodiscard]] bool has(std::uint32_t word) const {
    return word / 64 < bits_.size() && (bits_[word / 64] >> (word % 64) & 1) != 0;
  }

 private:
  static constexpr std::uint32_t kMostWords = 1u << 18;  // an address field reaches no further
  std::vector<std::uint64_t> bits_;
};

std::int64_t field(std::uint64_t bits, unsigned low, unsigned width) {
  return static_cast<std::int64_t>(bits >> low & ((std::uint64_t{1} << width) - 1));
}
std::int64_t signed_field(std::uint64_t bits, unsigned low, unsigned width) {
  const std::int64_t value = field(bits, low, width);
  return value >> (width - 1) ? value - (std::int64_t{1} << width) : value;
}

class Checker {
 public:
  Checker(const Messages& messages, const Delays& delays, const CheckOptions& options)
      : delays_(delays), options_(options), tiles_(delays.tiles()), wanted_(tiles_), received_(tiles_) {
    if (options_.setup.empty()) options_.setup.resize(tiles_);
    expand(messages);
  }

  void phase(const TileTables& tables) {
    std::vector<std::vector<WordEvent>> sends(tiles_), receives(tiles_);
    for (unsigned tile = 0; tile < tiles_ && tile < tables.size(); ++tile)
      if (!tables[tile].empty()) decode(tile, tables[tile], sends[tile], receives[tile]);
    std::vector<std::vector<bool>> heard(tiles_);
    for (unsigned tile = 0; tile < tiles_; ++tile) heard[tile].resize(sends[tile].size());
    std::int64_t end = 0;
    for (unsigned tile = 0; tile < tiles_; ++tile) {
      replay(tile, sends, receives[tile], heard);
      if (!receives[tile].empty()) end = std::max(end, receives[tile].back().t + 1);
    }
    report_.cycles += static_cast<unsigned>(end);
    for (unsigned tile = 0; tile < tiles_; ++tile) {
      for (const WordEvent& e : receives[tile]) received_[tile].add(e.word);
      for (std::size_t i = 0; i < sends[tile].size(); ++i) {
        const WordEvent& e = sends[tile][i];
        if (received_[tile].has(e.word))
          problem("tile {}: word {} is sent at t={}, but received in this or an earlier phase", tile, e.word, e.t);
        if (!heard[tile][i] && !e.unheard_allowed)
          problem("tile {}: the word sent at t={} is heard by nobody", tile, e.t);
      }
    }
  }

  CheckReport finish() {
    for (unsigned tile = 0; tile < tiles_; ++tile)
      for (const Wanted& w : wanted_[tile])
        if (!w.written) problem("tile {}: word {} is never written (from tile {})", tile, w.word, w.source);
    return std::move(report_);
  }

 private:
  template <typename... Args>
  void problem(fmt::format_string<Args...> format, Args&&... args) {
    if (report_.problems.size() < kMostProblems)
      report_.problems.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  /// Word offset of a place's first word, after the CSR base is added.
  std::uint32_t word_of(unsigned tile, unsigned base, std::int64_t address) const {
    const std::uint32_t start = base == 0 ? kSram : options_.setup[tile].xbase[base - 1];
    return (start + 4 * static_cast<std::uint32_t>(address) - kSram) / 4;
  }

  void expand(const Messages& messages) {
    for (const auto& m : messages.list()) {
      const Place* sources = &messages.places()[m.first_source];
      for (std::uint32_t k = 0; k < m.destinations; ++k) {
        const Place& d = messages.places()[m.first_destination + k];
        const Place* s = sources;
        if (m.sources > 1) {
          s = std::find_if(sources, sources + m.sources,
                           [&](const Place& p) { return p.tile == options_.setup[d.tile].xsource; });
          if (s == sources + m.sources) {
            problem("tile {}: xsource {} is no candidate", d.tile, options_.setup[d.tile].xsource);
            continue;
          }
        }
        for (std::uint32_t w = 0; w < m.words; ++w)
          wanted_[d.tile].push_back(
              {word_of(d.tile, d.base, d.address + w), word_of(s->tile, s->base, s->address + w), s->tile, false});
      }
    }
    for (unsigned tile = 0; tile < tiles_; ++tile) {
      auto& list = wanted_[tile];
      std::sort(list.begin(), list.end(), [](const Wanted& a, const Wanted& b) { return a.word < b.word; });
      for (std::size_t i = 1; i < list.size(); ++i)
        if (list[i].word == list[i - 1].word) problem("tile {}: two messages write word {}", tile, list[i].word);
    }
  }

  void decode(unsigned tile, const std::vector<std::uint64_t>& table, std::vector<WordEvent>& sends,
              std::vector<WordEvent>& receives) {
    const auto send_words = static_cast<std::size_t>(field(table[0], 0, 16));
    const auto receive_words = static_cast<std::size_t>(field(table[0], 16, 16));
    if (table[0] >> 50 != 0) problem("tile {}: header has bits set above 49", tile);
    if (1 + send_words + receive_words != table.size()) {
      problem("tile {}: table has {} words, header says {}", tile, table.size(), 1 + send_words + receive_words);
      return;
    }
    decode_list(tile, &table[1], send_words, false, sends);
    decode_list(tile, &table[1] + send_words, receive_words, true, receives);
    for (const auto* list : {&sends, &receives})
      if (!list->empty() && list->back().t >= field(table[0], 32, 18))
        problem("tile {}: a word at t={}, but the header's phase length is {}", tile, list->back().t,
                field(table[0], 32, 18));
  }

  void decode_list(unsigned tile, const std::uint64_t* words, std::size_t count, bool receive,
                   std::vector<WordEvent>& out) {
    std::int64_t last_start = 0, last_end = 0;
    bool first = true;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t w = words[i];
      const std::int64_t kind = field(w, 0, 2), t = field(w, 4, 18), n = field(w, 22, 12) ? field(w, 22, 12) : 4096;
      const bool two = kind != 0;
      if (kind == 3 || (kind == 2 && !receive) || (two && i + 1 >= count)) {
        problem("tile {}: bad descriptor {:#x} in its {} list", tile, w, receive ? "receive" : "send");
        return;
      }
      if (first ? t < options_.earliest : t < last_start + (two ? 4 : 2) || t < last_end)
        problem("tile {}: {} at t={} starts too early", tile, receive ? "receive" : "send", t);
      const std::uint64_t second = two ? words[++i] : 0;
      ++report_.descriptors;
      const std::size_t before = out.size();
      emit(tile, w, second, n, t, receive, out);
      last_start = t;
      last_end = t + static_cast<std::int64_t>(out.size() - before);
      first = false;
      if (last_end > 262144) problem("tile {}: a descriptor ends at t={}, beyond 2^18", tile, last_end);
    }
  }

  void emit(unsigned tile, std::uint64_t w, std::uint64_t second, std::int64_t n, std::int64_t t, bool receive,
            std::vector<WordEvent>& out) {
    const std::int64_t kind = field(w, 0, 2), address = field(w, 34, 18), peer = field(w, 52, 12);
    const auto base = static_cast<unsigned>(field(w, 2, 2));
    const std::int64_t first_source = peer == 0xFFF ? options_.setup[tile].xsource : peer;
    if (!receive && peer > 1) problem("tile {}: a send descriptor with peer {}", tile, peer);
    const auto word = [&](std::int64_t offset, std::int64_t source) {
      const std::uint32_t at = word_of(tile, base, address + offset);
      if (at >= options_.sram_bytes / 4) problem("tile {}: word {} at t={} is outside the SRAM", tile, at, t);
      out.push_back({t++, at, static_cast<std::uint16_t>(source), !receive && (peer & 1)});
    };
    if (kind == 0) {
      for (std::int64_t k = 0; k < n; ++k) word(k, first_source);
    } else if (kind == 1) {
      for (std::int64_t j = 0; j < field(second, 50, 12); ++j)
        for (std::int64_t i = 0; i < field(second, 19, 12); ++i)
          for (std::int64_t k = 0; k < n; ++k)
            word(i * signed_field(second, 0, 19) + j * signed_field(second, 31, 19) + k, first_source);
    } else {
      std::int64_t source = first_source;
      const std::int64_t wrap = field(second, 24, 12);
      for (std::int64_t i = 0; i < field(second, 0, 12); ++i) {
        for (std::int64_t k = 0; k < n; ++k) word(i * signed_field(second, 36, 19) + k, source);
        source += signed_field(second, 12, 12);
        if (wrap != 0 && source >= wrap) source -= wrap;
        if (wrap != 0 && source < 0) source += wrap;
      }
    }
  }

  /// Every listening cycle of one tile: who sent what then, and is it what the message wants here?
  void replay(unsigned tile, const std::vector<std::vector<WordEvent>>& sends, const std::vector<WordEvent>& receives,
              std::vector<std::vector<bool>>& heard) {
    // What follows in a descriptor follows in the sender's list and among the wanted words as a rule.
    std::size_t next_sent = 0, next_wanted = 0;
    for (const WordEvent& e : receives) {
      if (e.peer >= tiles_) {
        problem("tile {}: listens to tile {} at t={}", tile, e.peer, e.t);
        continue;
      }
      const std::int64_t sent = e.t - delays_.base - delays_.receive[tile] - delays_.send[e.peer];
      const auto& list = sends[e.peer];
      auto it = list.begin() + static_cast<std::ptrdiff_t>(std::min(next_sent, list.size()));
      if (it == list.end() || it->t != sent)
        it = std::lower_bound(list.begin(), list.end(), sent,
                              [](const WordEvent& s, std::int64_t t) { return s.t < t; });
      if (it == list.end() || it->t != sent) {
        problem("tile {}: listens to tile {} at t={}, which is silent at t={}", tile, e.peer, e.t, sent);
        continue;
      }
      heard[e.peer][static_cast<std::size_t>(it - list.begin())] = true;
      next_sent = static_cast<std::size_t>(it - list.begin()) + 1;
      auto& wanted = wanted_[tile];
      auto want = wanted.begin() + static_cast<std::ptrdiff_t>(std::min(next_wanted, wanted.size()));
      if (want == wanted.end() || want->word != e.word)
        want = std::lower_bound(wanted.begin(), wanted.end(), e.word,
                                [](const Wanted& w, std::uint32_t word) { return w.word < word; });
      next_wanted = static_cast<std::size_t>(want - wanted.begin()) + 1;
      if (want == wanted.end() || want->word != e.word) {
        problem("tile {}: word {} is written at t={}, but no message wants that", tile, e.word, e.t);
      } else if (want->written) {
        problem("tile {}: word {} is written again at t={}", tile, e.word, e.t);
      } else if (want->source != e.peer || want->source_word != it->word) {
        problem("tile {}: word {} comes from tile {} word {}, its message says tile {} word {}", tile, e.word, e.peer,
                it->word, want->source, want->source_word);
      } else {
        want->written = true;
        ++report_.words;
      }
    }
  }

  const Delays& delays_;
  CheckOptions options_;
  unsigned tiles_;
  std::vector<std::vector<Wanted>> wanted_;
  std::vector<WordSet> received_;
  CheckReport report_;
};

}  // namespace

CheckReport check(const Messages& messages, const Delays& delays, const std::vector<const TileTables*>& phases,
                  const CheckOptions& options) {
  Checker checker(messages, delays, options);
  for (const TileTables* tables : phases) checker.phase(*tables);
  return checker.finish();
}

}  // namespace tessera::exchange
