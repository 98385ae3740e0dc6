// Test data of TestAmpRows (amp_vertices.c): small whole numbers, so that sums are exact in any order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/codelets/codelet.h"

namespace tessera::testing {

/// The built-in library and the codelets of amp_vertices.c.
[[nodiscard]] CodeletLibrary amp_test_library();

/// f16 bits of a whole number, |value| < 2048.
[[nodiscard]] std::uint16_t f16_of(int value);

struct AmpRows {
  AmpRows(unsigned sets, unsigned rows);
  /// c behind the run: c[r] + sum over sets s of x[offset_s + r] W_s.
  [[nodiscard]] std::vector<float> expected() const;

  unsigned n = 0;
  std::vector<std::uint16_t> weights;  ///< [sets][8][16]
  std::vector<std::uint32_t> offsets;  ///< bytes, each a multiple of a row
  std::vector<std::uint16_t> x;        ///< [n + sets % 3 ..][16]
  std::vector<float> c;                ///< [n][8]

 private:
  std::vector<int> weight_values_, x_values_;
};

}  // namespace tessera::testing
