// f32 operands where a transcendental function or its way of computing changes, for tests on host and RTL. No results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace tessera::fp {

/// Formats' ends, 64 places in each binade (all borders of tables), overflow and underflow of exp and sigmoid,
/// arguments from which results are constant; the neighbours of each; all of them with both signs.
inline std::vector<std::uint32_t> transcendental_corners() {
  std::vector<std::uint32_t> out = {0,          1,          2,          0x7fffff,   0x800000,
                                    0x7f7fffff, 0x7f800000, 0x7f800001, 0x7fc00000, 0x7fffffff};
  for (std::uint32_t exponent = 0; exponent < 256; ++exponent) {
    for (std::uint32_t part = 0; part < 64; ++part) out.push_back(exponent << 23 | part << 17);
  }
  for (const double x : {88.72283, 87.33654, 103.27893, 103.97208, 9.010913, 16.635532, 17.328680, 0.6931472, 1.4375}) {
    const auto narrow = static_cast<float>(x);
    std::uint32_t bits;
    std::memcpy(&bits, &narrow, sizeof bits);
    out.push_back(bits);
  }
  const std::size_t middle = out.size();
  for (std::size_t k = 0; k < middle; ++k) {
    for (const std::uint32_t step : {1u, 2u, 0xffffffffu}) out.push_back((out[k] + step) & 0x7fffffff);
  }
  const std::size_t positive = out.size();
  for (std::size_t k = 0; k < positive; ++k) out.push_back(out[k] | 0x80000000);
  return out;
}

}  // namespace tessera::fp
