// One step of the accumulating matrix product (docs/machine/tile.md), from f32 operations of soft.h.
#include "tlm/float/amp.h"

#include <stdexcept>
#include <utility>

#include "tlm/float/half.h"
#include "tlm/float/soft.h"

namespace tessera::fp {
namespace {

using isa::Op;

std::uint32_t plus(std::uint32_t a, std::uint32_t b) { return add(a, b, Round::rne).bits; }

/// Exact: 11-bit significands and exponents -24..15 leave room in an f32.
std::uint32_t product(std::uint16_t a, std::uint16_t b) { return mul(half_to_f32(a), half_to_f32(b), Round::rne).bits; }

/// Four activations against the weights of engine e that belong to phase p, added to its sum: four roundings.
std::uint32_t engine(const AmpWeights& weights, unsigned e, unsigned p, std::uint64_t activations, std::uint32_t sum) {
  std::array<std::uint32_t, 4> products{};
  for (unsigned i = 0; i < 4; ++i) {
    const std::uint32_t word = weights[8 * e + 2 * p + i / 2];
    products[i] =
        product(static_cast<std::uint16_t>(activations >> 16 * i), static_cast<std::uint16_t>(word >> 16 * (i & 1)));
  }
  return plus(sum, plus(plus(products[0], products[1]), plus(products[2], products[3])));
}

}  // namespace

std::uint64_t amp_step(Op op, unsigned p, const AmpWeights& weights, AmpSums& sums, std::uint64_t rs1,
                       std::uint64_t rs2, std::uint64_t rs3) {
  if (p > last_phase(op)) throw std::logic_error("amp_step: no such phase");
  std::uint64_t out = 0;
  if (op == Op::x_amp_f32) {
    out = std::exchange(sums.b[p], static_cast<std::uint32_t>(rs3));
  } else {
    out = std::exchange(sums.b[2 * p], static_cast<std::uint32_t>(rs3));
    out |= std::uint64_t{std::exchange(sums.b[2 * p + 1], static_cast<std::uint32_t>(rs3 >> 32))} << 32;
  }
  for (unsigned e = 0; e < 8; ++e) {
    switch (op) {
      case Op::x_amp_f16:
        sums.a[e] = engine(weights, e, p, rs1, sums.a[e]);
        break;
      case Op::x_amp_g:
        sums.a[e] = engine(weights, e, p, e < 4 ? rs1 : rs2, sums.a[e]);
        break;
      case Op::x_amp_f32:
        sums.a[e] = fma(static_cast<std::uint32_t>(rs1), weights[8 * e + p], sums.a[e], Round::rne).bits;
        break;
      case Op::x_amp_io:
        break;
      default:
        throw std::logic_error("amp_step: not a step of the matrix product");
    }
  }
  if (p == last_phase(op)) std::swap(sums.a, sums.b);
  return out;
}

}  // namespace tessera::fp
