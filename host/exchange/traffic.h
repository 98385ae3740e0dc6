// Traffic patterns for tests and benchmarks of the exchange scheduler. Sources lie in the low half of a tile's memory,
// destinations in the high half.
#pragma once

#include <algorithm>
#include <random>

#include "host/exchange/checker.h"
#include "host/exchange/messages.h"
#include "host/exchange/schedule.h"

namespace tessera::exchange::traffic {

inline constexpr std::uint32_t kIn = 32768;  ///< first destination word

inline Place place(unsigned tile, std::uint32_t address) { return {static_cast<std::uint16_t>(tile), 0, address}; }

/// Every tile sends `words` to the tile `distance` further.
inline Messages shift(unsigned tiles, unsigned distance, std::uint32_t words) {
  Messages m;
  for (unsigned t = 0; t < tiles; ++t) m.add(place(t, 0), place((t + distance) % tiles, kIn), words);
  return m;
}

/// `count` messages of 1..most words between random tiles.
inline Messages random(unsigned tiles, unsigned count, std::uint32_t most, unsigned seed) {
  std::mt19937 rng(seed);
  std::vector<std::uint32_t> next(tiles, kIn);
  Messages m;
  for (unsigned i = 0; i < count; ++i) {
    const unsigned s = rng() % tiles, d = rng() % tiles;
    const std::uint32_t words = 1 + rng() % most;
    if (next[d] + words > 65536) continue;
    m.add(place(s, rng() % (kIn - words)), place(d, next[d]), words);
    next[d] += words + 1;
  }
  return m;
}

/// A matrix of `rows` rows whose senders hold `a` positions of one row, while its receivers take `b` positions of all
/// rows, one of `parts` parts of each: sums of products on their way to where they are needed. All receivers get
/// equally much in pieces of unequal length, `unit` words a position, and must not pause. `tiles`: how many there are.
inline Messages recut(unsigned rows, unsigned a, unsigned parts, unsigned b, std::uint32_t unit, unsigned* tiles) {
  const unsigned positions = 2 * a * b, sender_columns = positions / a, receiver_columns = positions / b;
  *tiles = std::max(rows * sender_columns, parts * receiver_columns);
  Messages m;
  for (unsigned r = 0; r < rows; ++r)
    for (unsigned c = 0; c < parts; ++c)
      for (unsigned p = 0, next; p < positions; p = next) {
        next = std::min((p / a + 1) * a, (p / b + 1) * b);
        m.add(place(r * sender_columns + p / a, (c * a + p % a) * unit),
              place(c * receiver_columns + p / b, kIn + (r * b + p % b) * unit), (next - p) * unit);
      }
  return m;
}

/// Random traffic in which one tile receives from all others.
inline Messages hot_receiver(unsigned tiles, std::uint32_t words, unsigned seed) {
  Messages m;
  for (unsigned s = 1; s < tiles; ++s) m.add(place(s, 0), place(0, kIn + (s - 1) * words), words);
  std::mt19937 rng(seed);
  std::vector<std::uint32_t> next(tiles, kIn);
  for (unsigned i = 0; i < 4 * tiles; ++i) {
    const unsigned s = rng() % tiles, d = 1 + rng() % (tiles - 1);
    m.add(place(s, 100 + rng() % 1000), place(d, next[d]), 1 + rng() % 64);
    next[d] += 65;
  }
  return m;
}

/// A matrix of `rows` x `columns` words, rows spread over tiles, to its transpose spread the same way.
inline Messages transpose(unsigned tiles, unsigned rows, unsigned columns) {
  Messages m;
  const auto owner = [&](unsigned index, unsigned all) {
    return static_cast<unsigned>(std::uint64_t{index} * tiles / all);
  };
  std::vector<unsigned> first_row(tiles, ~0u), first_column(tiles, ~0u);
  for (unsigned r = rows; r-- > 0;) first_row[owner(r, rows)] = r;
  for (unsigned c = columns; c-- > 0;) first_column[owner(c, columns)] = c;
  for (unsigned r = 0; r < rows; ++r)
    for (unsigned c = 0; c < columns; ++c) {
      const unsigned s = owner(r, rows), d = owner(c, columns);
      m.add(place(s, (r - first_row[s]) * columns + c), place(d, kIn + (c - first_column[d]) * rows + r), 1);
    }
  return m;
}

/// Every tile sends a word to every other one.
inline Messages all_to_all(unsigned tiles, std::uint32_t words) {
  Messages m;
  m.reserve(std::size_t{tiles} * tiles, 2 * std::size_t{tiles} * tiles);
  for (unsigned s = 0; s < tiles; ++s)
    for (unsigned d = 0; d < tiles; ++d)
      if (s != d) m.add(place(s, d * (words + 1)), place(d, kIn + s * (words + 1)), words);
  return m;
}

/// Tiles as a grid, `columns` wide, around: everybody sends `words` to its four neighbours.
inline Messages halo(unsigned tiles, unsigned columns, std::uint32_t words) {
  Messages m;
  const unsigned steps[] = {1, tiles - 1, columns, tiles - columns};
  for (unsigned t = 0; t < tiles; ++t)
    for (unsigned k = 0; k < 4; ++k) m.add(place(t, 0), place((t + steps[k]) % tiles, kIn + k * (words + 1)), words);
  return m;
}

/// Every tile multicasts `count` times to `fan` random tiles.
inline Messages multicast(unsigned tiles, unsigned count, unsigned fan, std::uint32_t words, unsigned seed) {
  std::mt19937 rng(seed);
  std::vector<std::uint32_t> next(tiles, kIn);
  Messages m;
  for (unsigned s = 0; s < tiles; ++s)
    for (unsigned k = 0; k < count; ++k) {
      std::vector<Place> to;
      std::vector<bool> used(tiles);
      for (unsigned n = 0; n < fan; ++n) {
        const unsigned d = rng() % tiles;
        if (used[d] || next[d] + words > 65536) continue;
        used[d] = true;
        to.push_back(place(d, next[d]));
        next[d] += words + 1;
      }
      m.add(place(s, k * words), to, words);
    }
  return m;
}

/// Every tile's words to all tiles.
inline Messages all_gather(unsigned tiles, std::uint32_t words) {
  Messages m;
  for (unsigned s = 0; s < tiles; ++s) {
    std::vector<Place> all;
    for (unsigned d = 0; d < tiles; ++d) all.push_back(place(d, kIn + s * words));
    m.add(place(s, 0), all, words);
  }
  return m;
}

inline CheckReport prove(const Messages& m, const Delays& delays, const Schedule& s, unsigned earliest) {
  std::vector<const TileTables*> phases;
  for (const Phase& p : s.phases) phases.push_back(&p.tables);
  CheckOptions options;
  options.earliest = earliest;
  return check(m, delays, phases, options);
}

}  // namespace tessera::exchange::traffic
