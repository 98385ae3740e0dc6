// Every codelet's host build against plain host arithmetic, over random vertices of small and odd sizes.
#include "host/codelets/reference.h"

#include <gtest/gtest.h>

#include "host/codelets/vertex_cases.h"

namespace tessera {
namespace {

TEST(Reference, HostAndTileLibrariesHoldTheSameCodelets) {
  const auto& tile = CodeletLibrary::builtin().codelets();
  const auto& host = reference_codelets();
  ASSERT_EQ(tile.size(), host.size());
  ASSERT_GT(tile.size(), 100u);
  for (std::size_t i = 0; i < tile.size(); ++i) {
    ASSERT_EQ(tile[i].name, host[i].info.name);
    EXPECT_EQ(tile[i].multi, host[i].info.multi) << tile[i].name;
    ASSERT_EQ(tile[i].fields.size(), host[i].info.fields.size()) << tile[i].name;
    for (std::size_t f = 0; f < tile[i].fields.size(); ++f) {
      EXPECT_EQ(tile[i].fields[f].name, host[i].info.fields[f].name) << tile[i].name;
      EXPECT_EQ(tile[i].fields[f].kind, host[i].info.fields[f].kind) << tile[i].name;
      EXPECT_EQ(tile[i].fields[f].type, host[i].info.fields[f].type) << tile[i].name;
    }
  }
}

TEST(Reference, EveryCodeletComputesWhatItsNameSays) {
  std::mt19937 random(1);
  long compared = 0;
  for (const auto& codelet : reference_codelets()) {
    long of_codelet = 0;
    for (std::uint32_t round = 0; round < 40; ++round) {
      const Bindings before = random_vertex(codelet.info, 1 + round % 19, random);
      Bindings after = before;
      run_reference(codelet.info.name, after);
      std::string difference;
      const int count = check_vertex(codelet.info, before, after, difference);
      ASSERT_TRUE(difference.empty()) << codelet.info.name << ": " << difference;
      for (const auto& field : codelet.info.fields)
        ASSERT_TRUE(field.writes() || before.at(field.name).bytes == after.at(field.name).bytes) << codelet.info.name;
      of_codelet += count;
    }
    ASSERT_GT(of_codelet, 0) << codelet.info.name;
    compared += of_codelet;
  }
  RecordProperty("compared", static_cast<int>(compared));
  EXPECT_GT(compared, 40000);
}

}  // namespace
}  // namespace tessera
