// The stencil on the host: the same fused multiply-adds in the same order. With the processor's FMA where it has one,
// which gives the bits of std::fma.
#include <cmath>

#include "host/demo/seeded.h"
#include "host/demo/stencil.h"

namespace tessera::demo {

namespace {

/// A row from the rows above, at and below it, each with a point more at either end (index 0 is column -1).
[[gnu::always_inline]] inline void row_of(const float* above, const float* at, const float* below, float* out,
                                          std::uint32_t width) {
  const auto& w = Stencil::kWeights;
  for (std::uint32_t c = 0; c < width; ++c) {
    float sum = 0;
    for (unsigned j = 0; j < 3; ++j) sum = std::fma(w[j], above[c + j], sum);
    for (unsigned j = 0; j < 3; ++j) sum = std::fma(w[3 + j], at[c + j], sum);
    for (unsigned j = 0; j < 3; ++j) sum = std::fma(w[6 + j], below[c + j], sum);
    out[c] = sum;
  }
}

void plain_row(const float* above, const float* at, const float* below, float* out, std::uint32_t width) {
  row_of(above, at, below, out, width);
}

#ifdef __x86_64__
[[gnu::target("fma")]] void fused_row(const float* above, const float* at, const float* below, float* out,
                                      std::uint32_t width) {
  row_of(above, at, below, out, width);
}
#endif

using Row = void (*)(const float*, const float*, const float*, float*, std::uint32_t);

Row best_row() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("fma")) return fused_row;
#endif
  return plain_row;
}

}  // namespace

std::vector<float> Stencil::reference() const {
  // Rows with a clamped point at either end; the rows above and below the field are clamped by index.
  const std::uint32_t height = options_.height, width = options_.width;
  const std::size_t pitch = std::size_t{width} + 2;
  std::vector<float> from(pitch * height), to(pitch * height);
  const std::uint32_t seed = seed_of(options_.seed, 0);
  for (std::uint32_t r = 0; r < height; ++r)
    for (std::uint32_t c = 0; c < width; ++c) from[pitch * r + 1 + c] = seeded_value(seed, r * width + c);
  const Row row = best_row();
  for (std::uint32_t s = 0; s < options_.steps; ++s) {
    for (std::uint32_t r = 0; r < height; ++r) {
      from[pitch * r] = from[pitch * r + 1];
      from[pitch * r + width + 1] = from[pitch * r + width];
    }
    for (std::uint32_t r = 0; r < height; ++r) {
      const float* at = &from[pitch * r];
      row(r == 0 ? at : at - pitch, at, r + 1 == height ? at : at + pitch, &to[pitch * r + 1], width);
    }
    from.swap(to);
  }
  std::vector<float> result;
  result.reserve(std::size_t{height} * width);
  for (std::uint32_t r = 0; r < height; ++r)
    result.insert(result.end(), &from[pitch * r + 1], &from[pitch * r + 1] + width);
  return result;
}

}  // namespace tessera::demo
