// VERTEX_AMP on one tile: results of the tile and of the host's build against plain arithmetic, and the cycles of the
// firmware's loop over sets, on the TLM.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "host/codelets/cost.h"
#include "host/codelets/user_codelets.h"
#include "hw/generated/machine.h"
#include "tlm/tile/tlm_tile.h"
#include "verif/codelets/amp_rows.h"
#include "verif/codelets/tile_program.h"

namespace tessera::testing {
namespace {

const CodeletLibrary& library() {
  static const CodeletLibrary all = amp_test_library();
  return all;
}

Cycle run(TileProgram& program, TlmTile& tile) { return program.run(tile); }

TlmTile make_tile() {
  TileConfig config;
  config.sram_bytes = 262144;
  return TlmTile(config);
}

/// Bindings of TestAmpRows for `sets` sets and n rows of activations behind each offset.
Bindings bindings_of(const AmpRows& rows) {
  Bindings b;
  const auto put = [](Binding& to, const auto& values) {
    to.bytes.resize(values.size() * sizeof(values[0]));
    std::memcpy(to.bytes.data(), values.data(), to.bytes.size());
    to.count = static_cast<std::uint32_t>(values.size());
  };
  put(b["weights"], rows.weights);
  put(b["offsets"], rows.offsets);
  put(b["x"], rows.x);
  put(b["c"], rows.c);
  b["n"].value = rows.n;
  return b;
}

TEST(AmpVertex, TileHostBuildAndPlainArithmeticAgree) {
  unsigned compared = 0;
  for (const unsigned sets : {1u, 2u, 15u, 16u, 17u, 33u}) {
    const AmpRows rows(sets, 5 + sets % 9);
    const std::vector<float> expect = rows.expected();
    Bindings host = bindings_of(rows);
    run_reference("TestAmpRows", host);
    ASSERT_EQ(0, std::memcmp(host.at("c").bytes.data(), expect.data(), 4 * expect.size())) << sets;
    TileProgram program({"TestAmpRows"}, library());
    const auto vertex = program.place(library().at("TestAmpRows"), bindings_of(rows));
    program.amp("TestAmpRows", vertex.state);
    TlmTile tile = make_tile();
    run(program, tile);
    std::vector<float> got(expect.size());
    tile.read_memory(vertex.data.at("c"), reinterpret_cast<std::uint8_t*>(got.data()), 4 * got.size());
    EXPECT_EQ(got, expect) << sets;
    compared += static_cast<unsigned>(got.size());
  }
  EXPECT_EQ(compared, 8u * (6 + 7 + 11 + 12 + 13 + 11));
}

Cycle cycles_of(const std::vector<unsigned>& vertices) {
  TileProgram program({"TestAmpNothing"}, library());
  for (const unsigned sets : vertices) {
    Bindings b;
    b["weights"].bytes.resize(256 * sets);
    b["offsets"].bytes.resize(4 * sets);
    b["offsets"].count = sets;
    b["unused"].value = 0;
    program.amp("TestAmpNothing", program.place(library().at("TestAmpNothing"), b).state);
  }
  TlmTile tile = make_tile();
  return run(program, tile);
}

TEST(AmpLoop, ASetTakesThirtyCyclesBesideItsWorkers) {
  // Workers: return and x.exit, 12 cycles from the first issue of worker 1 until its slot is free.
  const Cycle one = cycles_of({1});
  for (unsigned sets = 2; sets <= 50; ++sets) {
    EXPECT_EQ(cycles_of({sets}), one + 42 * (sets - 1) + 18 * ((sets - 1) / 16)) << sets;
  }
}

TEST(AmpLoop, ARecordTakesEightyFourCyclesMore) {
  // 18 of the loop's end, fn and its test 12, 54 to the first set.
  const Cycle two = cycles_of({2});
  EXPECT_EQ(cycles_of({1, 1}), two + 18 + 12 + 54);
  EXPECT_EQ(cycles_of({1, 1, 1}), two + 42 + 2 * (18 + 12 + 54));
}

TEST(AmpLoop, CostsCountSets) {
  const CodeletInfo& codelet = library().at("TestAmpNothing");
  EXPECT_TRUE(codelet.amp);
  EXPECT_TRUE(codelet.multi);
  const std::uint32_t one[] = {0, 0, 1, 0};
  const std::uint32_t many[] = {0, 0, 21, 0};
  const auto slots = [&](const std::uint32_t* state) {
    return estimate_slots(codelet, reinterpret_cast<const std::uint8_t*>(state));
  };
  EXPECT_EQ(slots(many), 21 * slots(one));
}

}  // namespace
}  // namespace tessera::testing
