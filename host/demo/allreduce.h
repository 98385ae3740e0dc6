// All-reduce: the sum of one f32 vector an IPU, on all IPUs, in one defined order of additions. As a plan (who holds
// what, what goes over which links), a program for Builder, and the host's own sum for comparison.
//
// A vector is spread over tiles of its IPU; the tiles of the same number on all IPUs work on the same piece. Two ways:
//   ring    for long vectors. A piece is P chunks. In P - 1 steps chunks go round the ring of IPUs, each IPU adding its
//   own;
//           in P - 1 more the sums go round. Half of the tiles go one way, half the other.
//   direct  for short ones. Chunk q of every IPU goes to IPU q, which adds them by number of the IPU and sends the sum
//   to all.
// A chunk is summed on one IPU at a time and then copied, so all IPUs have the same bits.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "host/demo/builder.h"
#include "host/demo/link_load.h"
#include "hw/platform.h"
#include "hw/topology.h"

namespace tessera::demo {

/// The words of a tensor of one instance, row-major: Memory::tensor.
using Reader = std::function<std::vector<std::uint32_t>(const std::string& tensor, std::size_t instance)>;

struct AllReduceOptions {
  std::uint64_t bytes = 1024;  ///< of a replica's vector, a multiple of 4
  std::uint64_t seed = 1;
  enum class Way : std::uint8_t { automatic, ring, direct } way = Way::automatic;
};

/// What a comparison of every word on every IPU found.
struct Comparison {
  std::uint64_t compared = 0, wrong = 0;
  std::string first;  ///< the first difference, in words
};

class AllReduce {
 public:
  /// Throws Error(usage) for one IPU, sizes that are no multiple of 4 or too large to count, topologies that do not
  /// join the IPUs; Error(does_not_fit) if a tile cannot hold its piece.
  AllReduce(const Platform& platform, const AllReduceOptions& options);

  [[nodiscard]] executable::Executable build();
  /// Compares every word of the result on every IPU with the host's sum.
  [[nodiscard]] Comparison check(const Reader& read) const;
  /// Element g of the sum, by the host, in the order of the machine.
  [[nodiscard]] float expected(std::uint64_t g) const;

  [[nodiscard]] bool ring() const { return ring_way_; }
  [[nodiscard]] unsigned ipus() const { return static_cast<unsigned>(ring_.order.size()); }
  [[nodiscard]] const Ring& order() const { return ring_; }
  [[nodiscard]] unsigned tiles_used() const { return static_cast<unsigned>(tiles_.size()); }
  [[nodiscard]] std::uint32_t chunk_words() const { return chunk_; }
  [[nodiscard]] std::uint64_t words() const { return words_; }
  /// The link group with the most payload, and the cycles that takes at full rate: no all-reduce of this way is faster.
  [[nodiscard]] LinkLoad::Busiest bound() const;
  /// What choose() reckoned, cycles.
  [[nodiscard]] double estimate() const { return estimate_; }

 private:
  struct Choice {
    bool ring = true;
    unsigned tiles = 1;
    double cycles = 0;
  };
  [[nodiscard]] Choice best_ring() const;
  [[nodiscard]] Choice best_direct() const;
  [[nodiscard]] std::uint32_t chunk_of(unsigned tiles, bool ring) const;
  [[nodiscard]] std::vector<unsigned> tiles_in_lane_order() const;
  [[nodiscard]] bool clockwise(unsigned k) const;
  [[nodiscard]] unsigned next(unsigned ipu, bool clockwise) const;
  void build_ring(Builder& builder);
  void build_direct(Builder& builder);
  void fill(Builder& builder);
  [[nodiscard]] TileRef tile(unsigned ipu, unsigned k) const {
    return {static_cast<std::uint16_t>(ipu), static_cast<std::uint16_t>(tiles_[k])};
  }

  Platform platform_;
  Topology topology_;
  AllReduceOptions options_;
  Ring ring_;
  std::vector<unsigned> position_;  // of each IPU in the ring
  std::uint64_t words_ = 0;
  bool ring_way_ = true;
  std::vector<unsigned> tiles_;  // that hold pieces, in order of the pieces
  std::uint32_t chunk_ = 0;      // words of a chunk
  std::uint32_t pitch_ = 0;      // words from chunk to chunk in a tile
  Address data_ = 0, buffer_ = 0;
  double estimate_ = 0;
};

}  // namespace tessera::demo
