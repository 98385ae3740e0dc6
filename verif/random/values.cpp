// Which corners: zeros, subnormals, the ends of each range, infinities, NaNs of both kinds, ties of the conversions
// between f32, f16 and integers.
#include "verif/random/values.h"

namespace tessera::random {
namespace {

constexpr std::uint32_t kSingles[] = {
    0x00000000, 0x00000001, 0x00000002, 0x007fffff, 0x00800000, 0x00800001, 0x3f800000, 0x3f800001, 0x3f7fffff,
    0x40000000, 0x3f000000, 0x7f7fffff, 0x7f7fffff, 0x7f000000, 0x7f800000, 0x7fc00000, 0x7fc12345, 0x7f800001,
    0x7fbfffff,
    // To f16: 65504, 65519.996, 65520, the smallest normal, the smallest subnormal, half of it, below and above, ties.
    0x477fe000, 0x477fefff, 0x477ff000, 0x38800000, 0x33800000, 0x33000000, 0x33000001, 0x32ffffff, 0x3f801000,
    0x3f803000, 0x3f801001, 0x387fe000, 0x387ff000,
    // To integers: ties, 2^31, below it, 2^32 and below it.
    0x40200000, 0x3fc00000, 0x4f000000, 0x4effffff, 0x4f800000, 0x4f7fffff, 0x4b7fffff,
    // Transcendentals: ln 2, overflow and underflow of exp, small arguments.
    0x3f317218, 0x42b17218, 0x42b17217, 0x42cff1b5, 0x39800000, 0x41100000};
constexpr std::uint16_t kHalves[] = {0x0000, 0x0001, 0x0002, 0x03ff, 0x0400, 0x0401, 0x3c00, 0x3c01, 0x3bff, 0x4000,
                                     0x3800, 0x7bff, 0x7c00, 0x7e00, 0x7e55, 0x7c01, 0x7dff, 0x5bff, 0x0200, 0x1400};
constexpr std::uint32_t kIntegers[] = {0,          1,  2,  0xffffffff, 0x7fffffff, 0x80000000, 0x80000001,
                                       0x00010000, 31, 32, 0x01020300, 0x80818283, 0x03020100};

template <typename T, std::size_t N>
T one_of(const T (&list)[N], std::uint64_t v) {
  return list[v % N];
}

std::uint32_t half(std::mt19937_64& random) {
  const std::uint64_t v = random();
  const auto sign = static_cast<std::uint32_t>(v >> 63) << 15;
  if (v % 3 == 0) return sign | one_of(kHalves, v >> 8);
  if (v % 3 == 1) return sign | ((8u + (v >> 8) % 14) << 10 | (v >> 16 & 0x3ff));  // near one
  return static_cast<std::uint32_t>(v >> 20 & 0xffff);
}

}  // namespace

std::uint32_t biased_word(std::mt19937_64& random) {
  const std::uint64_t v = random();
  const auto sign = static_cast<std::uint32_t>(v >> 63) << 31;
  switch (v % 16) {
    case 0:
    case 1:
    case 2:
      return sign | one_of(kSingles, v >> 8);
    case 3:
    case 4:
    case 5:  // near one
      return sign | (112u + (v >> 8) % 32) << 23 | (v >> 24 & 0x7fffff);
    case 6:  // any subnormal
      return sign | (v >> 24 & 0x7fffff);
    case 7:  // low bits clear: exact results and ties
      return sign | (120u + (v >> 8) % 16) << 23 | (v >> 24 & 0x7ff000);
    case 8:
    case 11:
      return one_of(kIntegers, v >> 8);
    case 9:
      return static_cast<std::uint32_t>(v >> 8) & (sign | 0xff);
    case 10:
      return static_cast<std::uint32_t>(v >> 24);
    default: {
      const std::uint32_t low = half(random);
      return half(random) << 16 | low;
    }
  }
}

std::vector<std::uint32_t> biased_words(std::mt19937_64& random, std::size_t count) {
  std::vector<std::uint32_t> words(count);
  for (std::uint32_t& word : words) word = biased_word(random);
  return words;
}

}  // namespace tessera::random
