// Codes of the demonstration `workers`: short programs for a worker, drawn from a seed, different in structure:
// integer, f32 and f16 arithmetic, loops, branches, streams, repeats, subroutines, memory. Each as machine code and as
// the host's own computation; the two share what they mean, not how it is done.
//
// A code maps a pair of words and a block of 36 constants to a pair of words.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::demo {

/// Constants of a worker: 4 keys, 16 words, 8 f32 and 16 f16 that are whole numbers from 1 to 15 (so that f16 sums and
/// products of a few are exact). 8-byte aligned in a tile.
struct WorkerConstants {
  static constexpr unsigned kKeys = 0, kData = 4, kFloats = 20, kHalves = 28, kWords = 36;
  std::array<std::uint32_t, kWords> words{};
};
/// Constants of worker number `number`, drawn from the seed.
[[nodiscard]] WorkerConstants constants_of(std::uint64_t seed, std::uint32_t number);

struct Pair {
  std::uint32_t a = 0, b = 0;
  friend bool operator==(Pair x, Pair y) { return x.a == y.a && x.b == y.b; }
  friend bool operator!=(Pair x, Pair y) { return !(x == y); }
};

/// One step of a code: p, q, r say which shifts, constants and counts.
struct Stage {
  enum class Kind : std::uint8_t {
    shifts,      ///< a ^= a << p; a ^= a >> q; a ^= a << r
    product,     ///< a = a * key[p] + b; b ^= high half of a * key[q]
    rotate,      ///< a = a rotated by p, ^ key[q]; r: a and b change places
    sum,         ///< loop: a += data[k] ^ (a >> p), k = 0 .. q
    branches,    ///< loop with a branch on bit p of data[k], k = 0 .. q
    divide,      ///< quotient and remainder of a by key[p] | 1
    floats,      ///< f32: acc = acc * float + float, q rounds from p on; results are rounded
    order,       ///< f32: smaller, larger and comparison of two
    halves,      ///< f16v4: product, then two of sum, difference, larger, smaller (p, q)
    stream,      ///< x.rpt over two streams of f32v2, summed or maximised (p)
    bits,        ///< reversed, counted, leading zeros
    bytes,       ///< bytes of a in another order (p), + b
    text,        ///< loop over bytes of the data: a = 31 a + byte, q of them from p on
    memory,      ///< through the stack: halves of a and b change places
    subroutine,  ///< called twice: a = 5 a + key[p]; b ^= a >> q
  };
  static constexpr unsigned kKinds = 15;
  Kind kind = Kind::shifts;
  unsigned p = 0, q = 0, r = 0;
};

class Recipe {
 public:
  /// Three to six stages, drawn from the number.
  explicit Recipe(std::uint32_t number);

  /// The function f(state, offset): state = {address of the pair, of the constants, of the result}; for Builder::code.
  [[nodiscard]] std::vector<std::uint32_t> code() const;
  [[nodiscard]] Pair evaluate(Pair x, const WorkerConstants& constants) const;
  [[nodiscard]] const std::vector<Stage>& stages() const { return stages_; }
  /// "shifts, sum, halves"
  [[nodiscard]] std::string text() const;

  static constexpr std::uint32_t kStack = 16;  ///< bytes

 private:
  std::vector<Stage> stages_;
};

/// The first `count` recipes by number of which no two have the same sequence of operations (operands aside).
[[nodiscard]] std::vector<Recipe> different_recipes(std::size_t count);
/// Operations of a code, operands aside; equal for codes that differ in constants alone.
[[nodiscard]] std::vector<unsigned> operations_of(const std::vector<std::uint32_t>& code);

}  // namespace tessera::demo
