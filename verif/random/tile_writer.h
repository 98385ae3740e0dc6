// Writes the recipe of one tile: alone, playing with words that come from nowhere, or as one of a network.
#pragma once

#include <array>
#include <random>
#include <vector>

#include "verif/random/generator.h"

namespace tessera::random {

/// A superstep that all tiles of a network take: sync, then a phase whose tables fit together.
struct Superstep {
  Zone zone = Zone::internal;
  bool packets = false;                ///< packets instead of timed words
  std::vector<TableRecipe> tables;     ///< per tile
  std::vector<std::uint32_t> xsource;  ///< per tile
  std::vector<unsigned> gap;           ///< per tile: instructions between release and x.exchange or x.packet
  std::vector<bool> late;              ///< per tile: x.packet waits for a worker
};

class TileWriter {
 public:
  explicit TileWriter(const ProgramOptions& options);
  [[nodiscard]] Recipe write();
  [[nodiscard]] Recipe write_for_network(const std::vector<Superstep>& steps, unsigned tile,
                                         const std::array<std::uint32_t, 3>& xbase);

 private:
  unsigned pick(unsigned n) { return static_cast<unsigned>(random_() % n); }
  void begin(unsigned handlers);
  std::vector<Node>& prologue(const std::array<std::uint32_t, 3>& xbase);
  Writer writer(unsigned context);
  void worker(unsigned w);
  TableRecipe table();
  void descriptors(std::vector<std::vector<std::uint64_t>>& out, bool receive);
  Node delay();
  Node start(unsigned worker, unsigned target, unsigned skew = 0);
  Node weights();
  std::vector<Node> action(Writer& w);
  std::vector<Node> local_action(Writer& w);

  ProgramOptions options_;
  std::mt19937_64 random_;
  Recipe recipe_;
  bool handlers_ = true;
  unsigned edge_owner_ = 7;
  bool edge_receives_ = false;  ///< which list of a table may reach the end of the SRAM
  unsigned shared_ = 1;         ///< the worker program that any worker may run
};

}  // namespace tessera::random
