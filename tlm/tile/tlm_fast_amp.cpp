// The group of tlm_fast_amp.h. Addresses of all twelve accesses are made and checked first.
#include "tlm/tile/tlm_fast_amp.h"

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

/// Not a doubleword of the SRAM: misaligned bits come out on top.
bool outside(std::uint32_t offset, std::uint32_t doublewords) { return (offset >> 3 | offset << 29) >= doublewords; }

}  // namespace

TESSERA_VECTOR bool run_amp_group(const AmpGroup& g, const FastOp* o) {
  std::uint32_t at[4][3], s[3] = {g.stream[0] - kSramBase, g.stream[1] - kSramBase, g.stream[2] - kSramBase};
  bool bad = false;
#pragma GCC unroll 4
  for (unsigned k = 0; k < 4; ++k) {
    const auto steps = static_cast<unsigned>(o[2 * k].imm);
#pragma GCC unroll 3
    for (unsigned i = 0; i < 3; ++i) {
      at[k][i] = s[i];
      bad |= outside(s[i], g.doublewords);
      s[i] += (*g.steps)[i][steps >> 2 * i & 3];
    }
  }
  if (__builtin_expect(bad, 0)) return false;
  if (__builtin_expect(
          (g.lines[at[0][2] >> 6] | g.lines[at[1][2] >> 6] | g.lines[at[2][2] >> 6] | g.lines[at[3][2] >> 6]) != 0, 0))
    return false;
#pragma GCC unroll 3
  for (unsigned i = 0; i < 3; ++i) g.stream[i] = s[i] + kSramBase;

  __m256 a = vector::load(g.sums->a);
  std::uint64_t in[4];
#pragma GCC unroll 4
  for (unsigned k = 0; k < 4; ++k) {
    const FastOp &move = o[2 * k], &amp = o[2 * k + 1];
    const std::uint64_t first = get(g.memory + at[k][0]), second = get(g.memory + at[k][1]);
    put(g.memory + at[k][2], get(g.f + move.rs2));
    put(g.f + move.rd, first);
    put(g.f + move.rs1, second);
    const std::uint64_t x = get(g.f + amp.rs1);
    in[k] = get(g.f + amp.rs3);
    put(g.f + amp.rd, get(&g.sums->b[2 * k]));
    a = vector::step(a, vector::activations(x, x), g.weights->half[k]);
  }
  // Written whole, so that the next group loads it whole.
  vector::store(g.sums->b, vector::canonical(a));
  vector::store(g.sums->a,
                _mm256_castsi256_ps(_mm256_set_epi64x(static_cast<long long>(in[3]), static_cast<long long>(in[2]),
                                                      static_cast<long long>(in[1]), static_cast<long long>(in[0]))));
  return true;
}

#else

bool run_amp_group(const AmpGroup&, const FastOp*) { throw std::logic_error("no host vectors"); }

#endif

}  // namespace tessera
