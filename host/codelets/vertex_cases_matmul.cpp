// Matrix products: chains of fused multiply-adds.
#include <algorithm>

#include "host/codelets/vertex_case_tools.h"

namespace tessera::cases {
namespace {

Bindings generate_matmul(const CodeletInfo& c, std::uint32_t size, std::mt19937& random) {
  Bindings b = zero_values(c);
  const std::uint32_t columns = std::max<std::uint32_t>(1, size);
  const bool transposed = c.name.find("NT") != std::string::npos;
  const std::uint32_t m = 1 + below(9, random), n = 1 + below(9, random), k = columns, gap = below(3, random);
  b["m"] = number(m), b["n"] = number(n), b["k"] = number(k), b["lda"] = number(k + gap);
  b["ldb"] = number((transposed ? k : n) + gap), b["ldc"] = number(n + gap);
  fill_data(c, b, random, true, [&](const std::string& f) {
    return f == "a" ? m * (k + gap) : f == "b" ? (transposed ? n * (k + gap) : k * (n + gap)) : m * (n + gap);
  });
  return b;
}

/// Modulo 2^32.
void check_integers(const Bindings& before, const Bindings& after, Check& check) {
  const std::size_t lda = value(before, "lda"), ldb = value(before, "ldb"), ldc = value(before, "ldc");
  for (std::size_t m = 0; m < value(before, "m"); ++m)
    for (std::size_t n = 0; n < value(before, "n"); ++n) {
      std::uint64_t sum = 0;
      for (std::size_t k = 0; k < value(before, "k"); ++k)
        sum += std::uint64_t{at<std::uint32_t>(before, "a", m * lda + k)} * at<std::uint32_t>(before, "b", k * ldb + n);
      check("c", m * ldc + n, at<std::uint32_t>(after, "c", m * ldc + n), static_cast<std::uint32_t>(sum));
    }
}

void check_matmul(const CodeletInfo& c, const Bindings& before, const Bindings& after, Check& check) {
  if (c.name == "MatMul_i32") return check_integers(before, after, check);
  const bool transposed = c.name.find("NT") != std::string::npos;
  const std::size_t lda = value(before, "lda"), ldb = value(before, "ldb"), ldc = value(before, "ldc");
  for (std::size_t m = 0; m < value(before, "m"); ++m)
    for (std::size_t n = 0; n < value(before, "n"); ++n) {
      float sum = 0;
      if (c.name.find("Accumulate") != std::string::npos) sum = at<float>(before, "c", m * ldc + n);
      if (c.field("bias") != nullptr) sum = at<float>(before, "bias", n);
      for (std::size_t k = 0; k < value(before, "k"); ++k)
        sum = std::fma(at<float>(before, "a", m * lda + k),
                       at<float>(before, "b", transposed ? n * ldb + k : k * ldb + n), sum);
      check("c", m * ldc + n, at<float>(after, "c", m * ldc + n), sum);
    }
}

}  // namespace

std::vector<Family> matmul_cases() { return {{{"MatMul"}, generate_matmul, check_matmul}}; }

}  // namespace tessera::cases
