// Operand values for random programs: words biased towards the corners of f32, f16 pairs and integers.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace tessera::random {

/// A word that, read as f32, two f16 or an integer, is a corner about half the time.
[[nodiscard]] std::uint32_t biased_word(std::mt19937_64& random);

[[nodiscard]] std::vector<std::uint32_t> biased_words(std::mt19937_64& random, std::size_t count);

}  // namespace tessera::random
