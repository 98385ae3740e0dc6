// The problem of tutorials 5 and 6: y = A x for a matrix of small integers, so that every order of summing gives the
// same bits.
#pragma once

#include <cstdint>
#include <vector>

constexpr std::uint64_t kRows = 64, kColumns = 1536;

inline std::vector<float> matrix_values() {
  std::vector<float> a(kRows * kColumns);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(static_cast<int>(i * 7 % 11) - 5);
  return a;
}

inline std::vector<float> vector_values() {
  std::vector<float> x(kColumns);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(static_cast<int>(i % 5) - 2);
  return x;
}

inline std::vector<float> expected_product() {
  const std::vector<float> a = matrix_values(), x = vector_values();
  std::vector<float> y(kRows, 0.0F);
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t c = 0; c < kColumns; ++c) y[r] += a[r * kColumns + c] * x[c];
  }
  return y;
}
