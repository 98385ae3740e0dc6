// Injected faults of one port: which of its frames are hit, which acknowledgements and credits on their way to it are
// lost or held. Random ones come from a counter-based generator: the same seed gives the same faults on every host and
// however the run is cut. Kinds and keys: docs/machine/links.md.
#pragma once

#include <cstdint>
#include <vector>

#include "hw/injection.h"
#include "hw/types.h"

namespace tessera {

/// Numbers that depend on key and count alone.
class CounterRandom {
 public:
  explicit CounterRandom(std::uint64_t key = 0) : key_(key) {}
  std::uint64_t next();
  /// 0 .. limit - 1, limit > 0.
  std::uint64_t below(std::uint64_t limit);
  /// True with probability rate / 10^12.
  bool chance(std::uint64_t rate_e12);

 private:
  std::uint64_t key_, count_ = 0;
};

/// Distances between errors of independent bits with equal probability, in integers: the binary digits of a geometric
/// number are independent, digit k is 1 with probability q^(2^k) / (1 + q^(2^k)).
class ErrorDistance {
 public:
  explicit ErrorDistance(std::uint64_t rate_e12);
  /// Good bits before the next bad one.
  std::uint64_t draw(CounterRandom& random) const;

 private:
  std::vector<std::uint64_t> digit_;  // probability x 2^64
};

struct FrameFate {
  std::vector<std::uint32_t> flips;  ///< bits of the frame
  bool lost = false, doubled = false;
};

class LinkFaults {
 public:
  /// What concerns the line as a whole; the port hands it on.
  struct LineFault {
    Cycle from = 0, until = kNever;
    unsigned lanes = 0;  ///< 0: all
  };

  /// `now`: for faults without `at`, `seed`: for those without one. Gives the line's part, if it is one. Throws
  /// Error(usage).
  std::vector<LineFault> add(const Injection& injection, unsigned ipu, unsigned port, Cycle now,
                             std::uint64_t seed = 0);
  void clear() { *this = {}; }

  [[nodiscard]] bool any_frame() const { return !frames_.empty(); }
  /// The frame of so many bits that begins in `cycle`.
  [[nodiscard]] FrameFate frame(Cycle cycle, std::uint64_t bits);
  /// An acknowledgement that would be here in `cycle` is lost.
  [[nodiscard]] bool loses_ack(Cycle cycle);
  /// The cycle in which a credit that would be here in `cycle` is here.
  [[nodiscard]] Cycle credit(Cycle cycle) const;

 private:
  enum class Kind : std::uint8_t { bits, lose, duplicate, lose_ack };
  struct Fault {
    Kind kind = Kind::bits;
    Cycle from = 0, until = kNever;
    std::uint64_t rate = 0;               // 0: by count
    std::uint64_t left = 0;               // frames still to be hit
    std::uint64_t bits = 1;               // flipped in each
    std::vector<ErrorDistance> distance;  // of bit errors at a rate: one
    std::uint64_t gap = 0;                // good bits up to the next error
    CounterRandom random;
    [[nodiscard]] bool hits(Cycle cycle);
  };
  static void flip(Fault& fault, Cycle cycle, std::uint64_t bits, std::vector<std::uint32_t>& flips);

  std::vector<Fault> frames_, acks_;
  struct Stall {
    Cycle from = 0, until = 0;
  };
  std::vector<Stall> stalls_;
  std::uint64_t added_ = 0;
};

}  // namespace tessera
