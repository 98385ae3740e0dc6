#include "host/cli/tile_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hw/error.h"

namespace tessera::cli {
namespace {

std::string text(const std::vector<TileRef>& list) {
  std::string out;
  for (const TileRef t : list) out += std::to_string(t.ipu) + ":" + std::to_string(t.tile) + " ";
  return out;
}

TEST(TileList, ReadsEveryForm) {
  EXPECT_EQ(text(parse_tile_list("0", 2, 16)), "0:0 ");
  EXPECT_EQ(text(parse_tile_list("0,7,4-6", 2, 16)), "0:0 0:4 0:5 0:6 0:7 ");
  EXPECT_EQ(text(parse_tile_list("1:5,1:14-15,0:3", 2, 16)), "0:3 1:5 1:14 1:15 ");
  EXPECT_EQ(parse_tile_list("all", 2, 16).size(), 32U);
  EXPECT_EQ(text(parse_tile_list("3,3,2-4", 1, 16)), "0:2 0:3 0:4 ");
}

TEST(TileList, RefusesWhatItCannotRead) {
  for (const char* bad :
       {"", ",", "0,", "x", "16", "2:0", "5-3", "1:", "-", "0-", "0-16", "0x1", "1:2:3", "99999999999", " 1"}) {
    try {
      parse_tile_list(bad, 2, 16);
      ADD_FAILURE() << "accepted '" << bad << "'";
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), Category::usage) << bad;
      EXPECT_THAT(error.what(), testing::HasSubstr("tile list")) << bad;
    }
  }
}

std::vector<unsigned> spread(unsigned tiles, unsigned count, unsigned ipu = 0) {
  std::vector<unsigned> members;
  for (unsigned t = 0; t < tiles; ++t)
    if (in_spread(t, tiles, count, ipu)) members.push_back(t);
  return members;
}

TEST(TileSpread, HasOneOfEachPart) {
  for (const unsigned tiles : {1U, 2U, 16U, 63U, 64U, 65U, 100U, 1216U, 4095U}) {
    for (const unsigned count : {1U, 7U, 64U, 1216U, 5000U}) {
      for (const unsigned ipu : {0U, 1U, 15U}) {
        const std::vector<unsigned> members = spread(tiles, count, ipu);
        const unsigned expected = std::min(tiles, count);
        ASSERT_EQ(members.size(), expected) << count << " of " << tiles;
        for (unsigned k = 0; k < expected; ++k)
          EXPECT_EQ(std::uint64_t{members[k]} * expected / tiles, k) << count << " of " << tiles << ", IPU " << ipu;
        if (ipu > 0) continue;
        EXPECT_EQ(members.front(), 0U);
        EXPECT_EQ(members.back(), count == 1 ? 0 : tiles - 1);
      }
    }
  }
}

TEST(TileSpread, SeesEveryColumnOfEveryLayout) {
  // Of 1216 = 64 * 19 tiles laid out in rows of n, 64 at an even distance of 19 stand in one column of 19.
  const std::vector<unsigned> members = spread(1216, 64);
  for (const unsigned n : {2U, 3U, 4U, 5U, 6U, 7U, 8U, 9U, 10U, 11U, 12U, 13U, 14U, 15U, 16U, 17U, 19U, 32U}) {
    std::vector<unsigned> columns(n);
    for (const unsigned t : members) ++columns[t % n];
    EXPECT_GT(*std::min_element(columns.begin(), columns.end()), 0U) << "a column of " << n;
    // .. and none has more than four times its share.
    EXPECT_LE(*std::max_element(columns.begin(), columns.end()), 4 * (64 / n)) << "a column of " << n;
  }
}

TEST(TileSpread, ManyIpusSeeAllTiles) {
  std::vector<unsigned> seen(1216);
  for (unsigned ipu = 0; ipu < 19; ++ipu)
    for (const unsigned t : spread(1216, 64, ipu)) ++seen[t];
  EXPECT_EQ(seen, std::vector<unsigned>(1216, 1));
}

}  // namespace
}  // namespace tessera::cli
