// The compiler at the size of a network: twelve layers on 1216 tiles. Schedules near their bounds (each one is proved
// by the checker as it is made), the same bytes twice, executables that hold constants once.
#include <gtest/gtest.h>

#include <algorithm>

#include "host/compiler/compiler.h"
#include "host/executable/container.h"
#include "verif/codelets/amp_rows.h"
#include "verif/compiler/layers_graph.h"

namespace tessera {
namespace {

constexpr unsigned kTiles = 1216, kLayers = 12;

TEST(CompilerLayers, TwelveLayersOnAllTiles) {
  const CodeletLibrary library = testing::amp_test_library();
  const Platform platform = load_platform("c2");
  const compiler::Compiled c = compiler::compile(testing::layers_graph(kTiles, kLayers), platform, library);
  const executable::Program& program = c.executable.programs.at(0);

  std::uint64_t cycles = 0;
  std::uint64_t bound = 0;
  for (const executable::Phase& p : program.phases) {
    cycles += p.cycles;
    bound += p.bound;
  }
  EXPECT_GE(program.phases.size(), 2U * kLayers);
  EXPECT_LE(cycles * 100, bound * 105) << "all phases together, " << cycles << " of " << bound;

  const auto bytes = executable::write(c.executable);
  std::uint64_t constants = 0;
  std::uint64_t placed = 0;
  for (const executable::Constant& k : program.constants) {
    constants += 4 * k.words.size();
    for (const executable::ConstantPiece& p : k.pieces) placed += std::uint64_t{4} * p.words;
  }
  EXPECT_LE(bytes.size(), constants + constants / 2 + std::uint64_t{65536} * kTiles);
  EXPECT_GT(placed, 2 * constants);

  const auto& memory = c.report.json["memory"];
  for (const auto& tile : memory["tiles"]) {
    EXPECT_LE(tile["live_bound"].get<std::uint64_t>(), tile["sum_of_variables"].get<std::uint64_t>());
    EXPECT_LE(tile["exchange"].get<std::uint64_t>(), 4096U * kLayers) << "tile " << tile["tile"];
  }
  EXPECT_EQ(bytes,
            executable::write(compiler::compile(testing::layers_graph(kTiles, kLayers), platform, library).executable));
}

}  // namespace
}  // namespace tessera
