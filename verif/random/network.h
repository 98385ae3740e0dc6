// Random programs for several tiles that sync together and exchange words in every superstep, on tiles of any kind.
//
// The traffic of a phase is drawn first: messages with a sender, listeners and a time; then each tile's tables are
// written from it, linear, block and sweep, as early as the rules allow or later. Some phases are spoilt: a word that
// nobody sends, a start that is too early, a bad descriptor. Some supersteps move packets to and from host buffers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tlm/exchange/fabric.h"
#include "tlm/system/ipu.h"
#include "verif/random/tile_writer.h"

namespace tessera::random {

struct Network {
  std::uint64_t seed = 0;
  FabricTiming timing;
  std::vector<Recipe> tiles;
  std::vector<Superstep> steps;
  unsigned several = 0, itself = 0, nobody = 0;  ///< words heard by several tiles, by their sender, by nobody
  bool spoilt = false;                           ///< some phase ends with a fault
};

[[nodiscard]] Network network(const ProgramOptions& options, unsigned tiles);

/// How a run ended and what it left; equal for tiles of any kind.
struct NetworkRun {
  Ipu::Outcome outcome = Ipu::Outcome::running;
  std::vector<Cycle> releases;
  std::vector<bool> votes;
  unsigned failed_tile = 0;
  std::optional<TileException> exception;
  std::vector<std::array<ContextState, 7>> states;  ///< per tile, if no exception ended it
  std::vector<std::vector<std::uint8_t>> memory;
  std::string text;        ///< who stood where, if they did not all arrive
  std::vector<Word> host;  ///< what was written to the host, in order of addresses
  std::uint64_t words = 0, packets = 0, retired = 0;
};

/// Runs the tiles that `factory` makes until their last sync, or until one is excepted. Throws what they throw.
[[nodiscard]] NetworkRun run_network(const Network& network, const std::vector<Program>& programs,
                                     const TileFactory& factory, const std::vector<TileMode>& modes);

/// First difference of two runs.
[[nodiscard]] std::optional<std::string> difference(const NetworkRun& a, const NetworkRun& b);

}  // namespace tessera::random
