// Completion, votes, inactive tiles and conflicts of the sync unit.
#include "tlm/sync/sync_unit.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(SyncUnit, CompletesWithLatestArrivalAndAndOfVotes) {
  SyncUnit sync(3);
  sync.arrive(2, {30, Zone::internal, true, 0});
  sync.arrive(0, {70, Zone::internal, true, 5});
  EXPECT_FALSE(sync.complete());
  sync.arrive(1, {50, Zone::internal, false, 9});
  ASSERT_TRUE(sync.complete());
  EXPECT_EQ(sync.complete()->latest, 70u);
  EXPECT_FALSE(sync.complete()->vote);
  EXPECT_EQ(sync.complete()->code, 5u);
  EXPECT_FALSE(sync.conflict());
  sync.release();
  EXPECT_FALSE(sync.complete());
  EXPECT_EQ(sync.arrivals(), 0u);
}

TEST(SyncUnit, InactiveTilesCountAsArrivedAndRootIsLowestActive) {
  SyncUnit sync(3);
  sync.set_active(0, false);
  sync.arrive(1, {10, Zone::host, true, 77});
  sync.arrive(2, {12, Zone::host, true, 78});
  ASSERT_TRUE(sync.complete());
  EXPECT_EQ(sync.complete()->code, 77u);
  EXPECT_THROW(sync.arrive(0, {}), std::logic_error);
}

TEST(SyncUnit, DifferentZonesAtOnceNameBothSets) {
  SyncUnit sync(5);
  sync.arrive(0, {100, Zone::internal, true, 0});
  sync.arrive(3, {40, Zone::internal, true, 0});
  sync.arrive(1, {90, Zone::host, true, 0});
  sync.arrive(4, {95, Zone::host, true, 0});
  ASSERT_TRUE(sync.conflict());
  EXPECT_EQ(sync.conflict()->cycle, 90u);
  ASSERT_EQ(sync.conflict()->sets.size(), 2u);
  EXPECT_EQ(sync.conflict()->sets[0].tiles, (std::vector<unsigned>{0, 3}));
  EXPECT_EQ(sync.conflict()->sets[1].zone, Zone::host);
  EXPECT_EQ(sync.conflict()->sets[1].tiles, (std::vector<unsigned>{1, 4}));
  EXPECT_FALSE(sync.complete());
}

TEST(SyncUnit, TileRangesAreShort) {
  EXPECT_EQ(tile_ranges({0, 1, 2, 5, 7, 8}), "0-2, 5, 7-8");
  EXPECT_EQ(tile_ranges({0, 2, 4}, 2), "0, 2, ... (3 tiles)");
  EXPECT_EQ(tile_ranges({}), "");
}

}  // namespace
}  // namespace tessera
