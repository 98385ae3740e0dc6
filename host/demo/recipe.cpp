// What recipes mean, in host arithmetic. Exact on every host: integers; f32 sums and products, each rounded once to
// nearest (no contraction, docs/architecture.md); f16 of whole numbers up to 2048, computed as integers.
#include "host/demo/recipe.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>

#include "host/demo/seeded.h"
#include "hw/generated/isa.h"

namespace tessera::demo {

namespace {

using Kind = Stage::Kind;

/// A sequence of random words.
class Draw {
 public:
  explicit Draw(std::uint32_t seed) : state_(seed) {}
  std::uint32_t word() { return mix(state_ += 0x9E3779B9U); }
  unsigned below(unsigned n) { return word() % n; }

 private:
  std::uint32_t state_;
};

std::uint32_t bits_of(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, 4);
  return bits;
}
float float_of(std::uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, 4);
  return value;
}

/// binary16 of a whole number from -2048 to 2048.
std::uint32_t half_of(int value) {
  if (value == 0) return 0;
  const std::uint32_t sign = value < 0 ? 0x8000U : 0;
  const auto magnitude = static_cast<std::uint32_t>(value < 0 ? -value : value);
  unsigned exponent = 0;
  while (magnitude >> (exponent + 1) != 0) ++exponent;
  return sign | (exponent + 15) << 10 | ((magnitude << (11 - exponent) >> 1) & 0x3FFU);
}
/// The whole number from 1 to 15 that a binary16 holds.
int whole_of(std::uint32_t half) {
  const unsigned exponent = (half >> 10) - 15;
  return static_cast<int>((0x400U | (half & 0x3FFU)) >> (10 - exponent));
}

std::uint32_t rotated(std::uint32_t a, unsigned p) { return a << p | a >> (32 - p); }

unsigned ones(std::uint32_t x) {
  unsigned n = 0;
  for (; x != 0; x &= x - 1) ++n;
  return n;
}
unsigned leading_zeros(std::uint32_t x) {
  unsigned n = 0;
  while (n < 32 && (x >> (31 - n) & 1) == 0) ++n;
  return n;
}
std::uint32_t reversed(std::uint32_t x) {
  std::uint32_t y = 0;
  for (unsigned i = 0; i < 32; ++i) y |= (x >> i & 1) << (31 - i);
  return y;
}

/// One run of a recipe.
struct Run {
  Pair v;
  const WorkerConstants& c;
  std::uint32_t key(unsigned i) const { return c.words[WorkerConstants::kKeys + i]; }
  std::uint32_t data(unsigned i) const { return c.words[WorkerConstants::kData + i]; }
  float number(unsigned i) const { return float_of(c.words[WorkerConstants::kFloats + i]); }

  void integers(const Stage& s);
  void loops(const Stage& s);
  void floats(const Stage& s);
  void halves(const Stage& s);
  void stream(const Stage& s);
  void stage(const Stage& s);
};

void Run::integers(const Stage& s) {
  switch (s.kind) {
    case Kind::shifts:
      v.a ^= v.a << s.p;
      v.a ^= v.a >> s.q;
      v.a ^= v.a << s.r;
      break;
    case Kind::product:
      v.a = v.a * key(s.p) + v.b;
      v.b ^= static_cast<std::uint32_t>(std::uint64_t{v.a} * key(s.q) >> 32);
      break;
    case Kind::rotate:
      v.a = rotated(v.a, s.p) ^ key(s.q);
      if (s.r != 0) std::swap(v.a, v.b);
      break;
    case Kind::divide: {
      const std::uint32_t by = key(s.p) | 1;
      const Pair old = v;
      v.a = old.a % by + old.b;
      v.b = old.b ^ old.a / by;
      break;
    }
    case Kind::bits:
      v.b ^= leading_zeros(v.a) << s.p;
      v.a = reversed(v.a) + ones(v.b);
      break;
    case Kind::bytes: {
      std::uint32_t shuffled = 0;
      for (unsigned i = 0; i < 4; ++i) shuffled |= (v.a >> (8 * (s.p >> (2 * i) & 3)) & 0xFF) << (8 * i);
      v.a = shuffled + v.b;
      break;
    }
    case Kind::memory: {
      const Pair old = v;
      v.a = (old.b & 0xFFFF) | old.a << 16;
      v.b = old.b >> 16 | (old.a & 0xFFFF0000U);
      break;
    }
    default:
      for (unsigned i = 0; i < 2; ++i) {
        v.a = 5 * v.a + key(s.p);
        v.b ^= v.a >> s.q;
      }
  }
}

void Run::loops(const Stage& s) {
  for (unsigned k = 0; k <= s.q; ++k) {
    if (s.kind == Kind::sum) {
      v.a += data(k) ^ v.a >> s.p;
    } else if (s.kind == Kind::text) {
      v.a = 31 * v.a + (data((s.p + k) / 4) >> (8 * ((s.p + k) % 4)) & 0xFF);
    } else if ((data(k) >> s.p & 1) != 0) {
      v.a -= data(k);
    } else {
      v.b ^= data(k);
      v.a += v.b;
    }
  }
}

void Run::floats(const Stage& s) {
  if (s.kind == Kind::order) {
    const float x = number(s.p), y = number(s.q);
    v.a ^= bits_of(std::min(x, y));
    v.b += bits_of(std::max(x, y));
    v.a += static_cast<std::uint32_t>(x < y) << s.r;
    return;
  }
  float acc = static_cast<float>(v.a & 0xFFF);
  for (unsigned k = 0; k <= s.q; ++k) {
    acc = acc * number((s.p + k) % 8);
    acc = acc + number((s.p + k + 3) % 8);
  }
  v.a ^= bits_of(acc);
}

void Run::halves(const Stage& s) {
  std::uint32_t packed[2] = {0, 0};
  for (unsigned lane = 0; lane < 4; ++lane) {
    int in[4];
    for (unsigned k = 0; k < 4; ++k)
      in[k] = whole_of(c.words[WorkerConstants::kHalves + 2 * k + lane / 2] >> (16 * (lane % 2)) & 0xFFFF);
    int x = in[0] * in[1];
    unsigned k = 2;
    for (const unsigned op : {s.p, s.q}) {
      x = op == 0 ? x + in[k] : op == 1 ? x - in[k] : op == 2 ? std::max(x, in[k]) : std::min(x, in[k]);
      ++k;
    }
    packed[lane / 2] |= half_of(x) << (16 * (lane % 2));
  }
  v.a ^= packed[0];
  v.b += packed[1];
}

void Run::stream(const Stage& s) {
  float acc[2] = {0, 0};
  for (unsigned round = 0; round < 2; ++round)
    for (const unsigned first : {2 * round, 4 + 2 * round})
      for (unsigned lane = 0; lane < 2; ++lane) {
        const float x = number(first + lane);
        acc[lane] = s.p != 0 && first >= 4 ? std::max(acc[lane], x) : acc[lane] + x;
      }
  v.a ^= bits_of(acc[0]);
  v.b += bits_of(acc[1]);
}

void Run::stage(const Stage& s) {
  switch (s.kind) {
    case Kind::sum:
    case Kind::branches:
    case Kind::text:
      return loops(s);
    case Kind::floats:
    case Kind::order:
      return floats(s);
    case Kind::halves:
      return halves(s);
    case Kind::stream:
      return stream(s);
    default:
      return integers(s);
  }
}

constexpr const char* kNames[Stage::kKinds] = {"shifts", "product", "rotate", "sum",    "branches",
                                               "divide", "floats",  "order",  "halves", "stream",
                                               "bits",   "bytes",   "text",   "memory", "subroutine"};

Stage draw_stage(Draw& draw) {
  Stage s;
  s.kind = static_cast<Kind>(draw.below(Stage::kKinds));
  switch (s.kind) {
    case Kind::shifts:
      s.p = 1 + draw.below(15), s.q = 1 + draw.below(15), s.r = 1 + draw.below(15);
      break;
    case Kind::rotate:
      s.p = 1 + draw.below(31), s.q = draw.below(4), s.r = draw.below(2);
      break;
    case Kind::sum:
    case Kind::branches:
      s.p = 1 + draw.below(30), s.q = 3 + draw.below(13);
      break;
    case Kind::floats:
      s.p = draw.below(8), s.q = 1 + draw.below(7);
      break;
    case Kind::order:
      s.p = draw.below(8), s.q = draw.below(8), s.r = draw.below(31);
      break;
    case Kind::stream:
      s.p = draw.below(2);
      break;
    case Kind::bits:
      s.p = draw.below(27);
      break;
    case Kind::bytes:
      s.p = draw.below(256);
      break;
    case Kind::text:
      s.p = draw.below(16), s.q = 7 + draw.below(40);
      break;
    case Kind::subroutine:
      s.p = draw.below(4), s.q = 1 + draw.below(31);
      break;
    default:  // product, divide, halves, memory
      s.p = draw.below(4), s.q = draw.below(4);
  }
  return s;
}

}  // namespace

WorkerConstants constants_of(std::uint64_t seed, std::uint32_t number) {
  Draw draw(mix(number ^ mix(static_cast<std::uint32_t>(seed) + 0x5bd1e995U * static_cast<std::uint32_t>(seed >> 32))));
  WorkerConstants c;
  const auto small = [&] { return 1 + static_cast<int>(draw.below(15)); };
  for (unsigned i = 0; i < WorkerConstants::kFloats; ++i) c.words[i] = draw.word();
  for (unsigned i = WorkerConstants::kFloats; i < WorkerConstants::kHalves; ++i)
    c.words[i] = bits_of(static_cast<float>(small()));
  for (unsigned i = WorkerConstants::kHalves; i < WorkerConstants::kWords; ++i) {
    const std::uint32_t low = half_of(small());
    c.words[i] = low | half_of(small()) << 16;
  }
  return c;
}

Recipe::Recipe(std::uint32_t number) {
  Draw draw(mix(number + 1));
  const unsigned count = 3 + draw.below(4);
  for (unsigned i = 0; i < count; ++i) stages_.push_back(draw_stage(draw));
}

Pair Recipe::evaluate(Pair x, const WorkerConstants& constants) const {
  Run run{x, constants};
  run.v.a ^= run.key(0);
  run.v.b += run.key(1);
  for (const Stage& s : stages_) run.stage(s);
  for (const std::uint32_t word : constants.words) {  // so every bit of the constants counts
    run.v.a = (run.v.a ^ word) * 0x01000193U;
    run.v.a ^= run.v.a >> 15;
    run.v.b += run.v.a;
  }
  return run.v;
}

std::string Recipe::text() const {
  std::string text;
  for (const Stage& s : stages_)
    text += (text.empty() ? "" : ", ") + std::string(kNames[static_cast<unsigned>(s.kind)]);
  return text;
}

std::vector<unsigned> operations_of(const std::vector<std::uint32_t>& code) {
  std::vector<unsigned> operations;
  for (const std::uint32_t word : code) operations.push_back(static_cast<unsigned>(isa::decode_word(word, true)));
  return operations;
}

std::vector<Recipe> different_recipes(std::size_t count) {
  std::vector<Recipe> recipes;
  std::set<std::vector<unsigned>> known;
  for (std::uint32_t number = 0; recipes.size() < count; ++number) {
    Recipe recipe(number);
    if (known.insert(operations_of(recipe.code())).second) recipes.push_back(std::move(recipe));
  }
  return recipes;
}

}  // namespace tessera::demo
