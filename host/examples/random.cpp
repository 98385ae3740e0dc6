#include "host/examples/random.h"

namespace tessera::examples {

// The state walks by an odd constant; the output mixes it (splitmix64). The name goes in by FNV-1a.
Random::Random(std::uint64_t seed, std::string_view name) : state_(0xCBF29CE484222325ULL) {
  for (const char c : name) state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  state_ ^= seed * 0x9E3779B97F4A7C15ULL;
  next();
}

std::uint64_t Random::next() {
  state_ += 0x9E3779B97F4A7C15ULL;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

}  // namespace tessera::examples
