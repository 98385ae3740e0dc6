// See amp_rows.h.
#include "verif/codelets/amp_rows.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "host/codelets/user_codelets.h"

namespace tessera::testing {

CodeletLibrary amp_test_library() {
  const auto folder = std::filesystem::temp_directory_path() / ("tessera-amp-" + std::to_string(getpid()));
  setenv("TESSERA_CACHE", folder.c_str(), 1);
  CodeletLibrary library = CodeletLibrary::builtin();
  library.add(compile_user_codelets(TESSERA_AMP_VERTICES), TESSERA_AMP_VERTICES);
  std::filesystem::remove_all(folder);
  return library;
}

std::uint16_t f16_of(int value) {
  if (value == 0) return 0;
  const unsigned magnitude = value < 0 ? -value : value;
  unsigned exponent = 0;
  while (magnitude >> (exponent + 1) != 0) ++exponent;
  const unsigned mantissa = (magnitude << (10 - exponent)) & 1023;
  return static_cast<std::uint16_t>((value < 0 ? 0x8000U : 0U) | (exponent + 15) << 10 | mantissa);
}

AmpRows::AmpRows(unsigned sets, unsigned rows) : n(rows) {
  std::uint32_t state = 1000 * sets + rows;
  const auto next = [&] {
    state = state * 1664525 + 1013904223;
    return static_cast<int>(state >> 24) % 15 - 7;
  };
  for (unsigned i = 0; i < 128 * sets; ++i) weight_values_.push_back(next());
  for (unsigned i = 0; i < 16 * (n + 2); ++i) x_values_.push_back(next());
  for (const int v : weight_values_) weights.push_back(f16_of(v));
  for (const int v : x_values_) x.push_back(f16_of(v));
  for (unsigned s = 0; s < sets; ++s) offsets.push_back(32 * (s % 3));
  for (unsigned i = 0; i < 8 * n; ++i) c.push_back(static_cast<float>(next()));
}

std::vector<float> AmpRows::expected() const {
  std::vector<float> result = c;
  for (std::size_t s = 0; s < offsets.size(); ++s) {
    for (unsigned r = 0; r < n; ++r) {
      for (unsigned e = 0; e < 8; ++e) {
        for (unsigned k = 0; k < 16; ++k) {
          result[8 * r + e] +=
              static_cast<float>(weight_values_[128 * s + 16 * e + k] * x_values_[offsets[s] / 2 + 16 * r + k]);
        }
      }
    }
  }
  return result;
}

}  // namespace tessera::testing
