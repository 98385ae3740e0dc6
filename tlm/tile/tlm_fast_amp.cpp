// The group of tlm_fast_amp.h. Streams move by the same bytes in each round, so the lowest and the highest address of
// all rounds are known before the first, and no access needs a look at its own.
#include "tlm/tile/tlm_fast_amp.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "hw/generated/machine.h"
#include "tlm/float/amp_vector.h"

namespace tessera {

#if TESSERA_FLOAT_SSE

namespace vector = fp::fast::vector;

namespace {

std::uint64_t get(const void* from) {
  std::uint64_t v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
void put(void* to, std::uint64_t v) { std::memcpy(to, &v, sizeof v); }

/// One stream over the rounds.
struct Path {
  std::uint32_t at;                    ///< offset of the next access
  std::array<std::uint32_t, 4> after;  ///< from the first access of a round to the one behind access k
};

Path path_of(const AmpGroup& g, const FastOp* o, unsigned stream) {
  Path path{g.stream[stream] - kSramBase, {}};
  std::uint32_t sum = 0;
  for (unsigned k = 0; k < 4; ++k) {
    sum += (*g.steps)[stream][static_cast<unsigned>(o[2 * k].imm) >> 2 * stream & 3];
    path.after[k] = sum;
  }
  return path;
}

/// Whether all accesses of `rounds` rounds are aligned doublewords of the SRAM. Steps are multiples of 8.
bool inside(const Path& path, std::uint32_t rounds, std::uint32_t size) {
  std::int64_t low = 0, high = 0;
  for (unsigned k = 0; k < 3; ++k) {
    low = std::min<std::int64_t>(low, static_cast<std::int32_t>(path.after[k]));
    high = std::max<std::int64_t>(high, static_cast<std::int32_t>(path.after[k]));
  }
  const std::int64_t all = (std::int64_t{rounds} - 1) * static_cast<std::int32_t>(path.after[3]);
  low += std::min<std::int64_t>(all, 0) + path.at;
  high += std::max<std::int64_t>(all, 0) + path.at;
  return path.at % 8 == 0 && low >= 0 && high < size;
}

}  // namespace

TESSERA_VECTOR std::uint32_t run_amp_group(const AmpGroup& g, const FastOp* o, std::uint32_t rounds) {
  Path path[3] = {path_of(g, o, 0), path_of(g, o, 1), path_of(g, o, 2)};
  const auto all_inside = [&](std::uint32_t n) {
    return inside(path[0], n, g.size) && inside(path[1], n, g.size) && inside(path[2], n, g.size);
  };
  if (!all_inside(rounds)) {
    if (rounds == 1 || !all_inside(1)) return 0;
    rounds = 1;
  }
  __m256 a = vector::load(g.sums->a);
  std::uint32_t done = 0;
  for (; done < rounds; ++done) {
    const std::uint32_t line = path[2].at;
    if (__builtin_expect((g.lines[line >> 6] | g.lines[(line + path[2].after[0]) >> 6] |
                          g.lines[(line + path[2].after[1]) >> 6] | g.lines[(line + path[2].after[2]) >> 6]) != 0,
                         0))
      break;
    const std::uint8_t* const first = g.memory + path[0].at;
    const std::uint8_t* const second = g.memory + path[1].at;
    std::uint8_t* const third = g.memory + path[2].at;
    std::uint64_t in[4];
#pragma GCC unroll 4
    for (unsigned k = 0; k < 4; ++k) {
      const FastOp &move = o[2 * k], &amp = o[2 * k + 1];
      const auto by = [&](unsigned i) {
        return k == 0 ? 0 : static_cast<std::ptrdiff_t>(static_cast<std::int32_t>(path[i].after[k - 1]));
      };
      const std::uint64_t from0 = get(first + by(0)), from1 = get(second + by(1));
      put(third + by(2), get(g.f + move.rs2));
      put(g.f + move.rd, from0);
      put(g.f + move.rs1, from1);
      const std::uint64_t x = get(g.f + amp.rs1);
      in[k] = get(g.f + amp.rs3);
      put(g.f + amp.rd, get(&g.sums->b[2 * k]));
      a = vector::step(a, vector::activations(x, x), g.weights->half[k]);
    }
    // Set A was filled here and is B from now on; what came in is A.
    vector::store(g.sums->b, vector::canonical(a));
    a = _mm256_castsi256_ps(_mm256_set_epi64x(static_cast<long long>(in[3]), static_cast<long long>(in[2]),
                                              static_cast<long long>(in[1]), static_cast<long long>(in[0])));
    for (Path& p : path) p.at += p.after[3];
  }
  vector::store(g.sums->a, a);
  for (unsigned i = 0; i < 3; ++i) g.stream[i] = path[i].at + kSramBase;
  return done;
}

#else

std::uint32_t run_amp_group(const AmpGroup&, const FastOp*, std::uint32_t) {
  throw std::logic_error("no host vectors");
}

#endif

}  // namespace tessera
