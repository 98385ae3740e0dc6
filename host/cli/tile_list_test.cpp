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

TEST(TileSpread, HasSoManyAtEvenDistances) {
  for (const unsigned tiles : {1U, 2U, 16U, 63U, 64U, 65U, 100U, 1216U, 4095U}) {
    for (const unsigned count : {1U, 7U, 64U, 1216U, 5000U}) {
      std::vector<unsigned> members;
      for (unsigned t = 0; t < tiles; ++t)
        if (in_spread(t, tiles, count)) members.push_back(t);
      const unsigned expected = std::min(tiles, count);
      ASSERT_EQ(members.size(), expected) << count << " of " << tiles;
      EXPECT_EQ(members.front(), 0U);
      for (std::size_t k = 1; k < members.size(); ++k) {
        const unsigned distance = members[k] - members[k - 1];
        EXPECT_TRUE(distance == tiles / expected || distance == (tiles + expected - 1) / expected)
            << count << " of " << tiles << ": " << members[k - 1] << " and " << members[k];
      }
    }
  }
}

}  // namespace
}  // namespace tessera::cli
