// Packets between IPUs on tiles in every mode: TLM, RTL, lockstep and mixed give the same bytes in the same cycles.
#include "verif/cosim/lockstep_tile.h"
#include "verif/cosim/rtl_tile.h"
#include "verif/system/packet_bench.h"

namespace tessera {
namespace {

using namespace testing;

inline SystemConfig any_mode_system(const Platform& platform) {
  SystemConfig config = tlm_system(platform);
  config.factory = [](const TileConfig& tile, TileMode mode) -> std::unique_ptr<TileModel> {
    if (mode == TileMode::rtl) return make_rtl_tile(tile);
    auto tlm = std::make_unique<TlmTile>(tile);
    if (mode == TileMode::tlm) return tlm;
    return std::make_unique<LockstepTile>(tile, std::move(tlm), make_rtl_tile(tile));
  };
  return config;
}

constexpr unsigned kTiles = 3;

std::uint64_t times(unsigned seed, const std::vector<TileMode>& ipu0, const std::vector<TileMode>& ipu1,
                    unsigned threads) {
  SystemConfig config = any_mode_system(linked_platform(kTiles));
  config.modes = {ipu0, ipu1};
  config.threads = threads;
  const PacketProgram program = random_program(seed, 2, kTiles, 3);
  PacketRun run(program, config);
  run.finish();
  EXPECT_GT(check_words(run), 10u);
  return hash_times(run.log);
}

TEST(PacketModes, RandomPacketsAreTheSameInEveryMode) {
  const std::vector<TileMode> tlm(kTiles, TileMode::tlm), rtl(kTiles, TileMode::rtl), both(kTiles, TileMode::lockstep);
  const std::vector<TileMode> mixed{TileMode::rtl, TileMode::tlm, TileMode::lockstep};
  for (unsigned seed = 1; seed <= 4; ++seed) {
    const auto run = [&](const std::vector<TileMode>& a, const std::vector<TileMode>& b, unsigned threads) {
      return in_child([&] { return times(seed, a, b, threads); });
    };
    const std::uint64_t plain = run(tlm, tlm, 1);
    EXPECT_NE(plain, 0u);
    EXPECT_EQ(run(rtl, rtl, 1), plain) << seed;
    EXPECT_EQ(run(both, both, 1), plain) << seed;
    EXPECT_EQ(run(mixed, tlm, 2), plain) << seed;
    EXPECT_EQ(run(rtl, mixed, 1), plain) << seed;
  }
}

/// A write beyond the expected: the trap, told at the next release, is the same in every mode.
std::uint64_t stray(TileMode mode) {
  SystemConfig config = any_mode_system(linked_platform(kTiles));
  config.modes = {std::vector<TileMode>(kTiles, TileMode::tlm), std::vector<TileMode>(kTiles, mode)};
  PacketProgram program(2, 2, kTiles);
  program.tables[0][0][2].writes = {{3, kSource, 1, 1, kTarget}};
  program.expect_all();
  program.tables[0][1][1].expected = 2;
  PacketRun run(program, config);
  const driver::Event event = run.driver.wait();
  EXPECT_EQ(event.kind, driver::Event::Kind::exception);
  EXPECT_EQ(event.exception.cause, 30u);
  EXPECT_EQ(event.exception.value, kTarget + 8);
  EXPECT_EQ(event.ipu, 1u);
  return event.exception.cycle * 4096 + event.exception.tile;
}
TEST(PacketModes, AStrayTrapsAlikeInEveryMode) {
  const std::uint64_t tlm = in_child([] { return stray(TileMode::tlm); });
  EXPECT_NE(tlm, 0u);
  EXPECT_EQ(in_child([] { return stray(TileMode::rtl); }), tlm);
  EXPECT_EQ(in_child([] { return stray(TileMode::lockstep); }), tlm);
}

/// IPU 1 syncs on a group in which it is not, whatever number it has there.
std::uint64_t not_in_group(Zone zone, TileMode mode) {
  SystemConfig config = any_mode_system(linked_platform(kTiles));
  config.modes = {std::vector<TileMode>(kTiles, TileMode::tlm), std::vector<TileMode>(kTiles, mode)};
  PacketProgram program(1, 2, kTiles);
  program.zones = {zone};
  const bool first = zone == Zone::group1;
  PacketRun run(program, config, {{true, true}, {!first, first, 1, 1}});
  const driver::Event event = run.driver.wait();
  EXPECT_EQ(event.kind, driver::Event::Kind::exception);
  EXPECT_EQ(event.ipu, 1u);
  EXPECT_EQ(event.exception.kind, driver::ExceptionInfo::Kind::trap);
  EXPECT_EQ(event.exception.cause, 25u);
  EXPECT_EQ(event.exception.value, 0u);
  EXPECT_EQ(event.exception.tile, 0u);
  return event.exception.cycle * 4096 + event.exception.pc % 4096;
}
TEST(PacketModes, ASyncOfAGroupInWhichTheIpuIsNotTrapsAlikeInEveryMode) {
  for (const Zone zone : {Zone::group1, Zone::group2}) {
    const std::uint64_t tlm = in_child([&] { return not_in_group(zone, TileMode::tlm); });
    EXPECT_NE(tlm, 0u);
    EXPECT_EQ(in_child([&] { return not_in_group(zone, TileMode::rtl); }), tlm);
    EXPECT_EQ(in_child([&] { return not_in_group(zone, TileMode::lockstep); }), tlm);
  }
}

/// Tiles write to the other IPU and read from the host in one table: answers come long after the words of others. With
/// `bad`, a descriptor behind the read ends one tile's sending, and its answer comes to nobody.
std::uint64_t late_answers(const std::vector<TileMode>& ipu0, const std::vector<TileMode>& ipu1, bool bad) {
  SystemConfig config = any_mode_system(linked_platform(kTiles));
  config.modes = {ipu0, ipu1};
  constexpr Address kAnswer = kTarget + 0x800;
  const auto words = [](unsigned round, unsigned t) { return round == 0 ? 40 + t : 3; };
  PacketProgram program(2, 2, kTiles);
  for (unsigned round = 0; round < 2; ++round)
    for (unsigned ipu = 0; ipu < 2; ++ipu)
      for (unsigned t = 0; t < kTiles; ++t) {
        PacketTable& table = program.tables[round][ipu][t];
        table.writes = {{20 + 7 * t, kSource, 1 - ipu, (t + 1) % kTiles, kTarget + 0x400 * round}};
        table.descriptors = {
            PacketDescriptor{kPacketRead, 0, 0, words(round, t), (kAnswer + 0x400 * round - kSramBase) / 4}.pack(),
            PacketRemote{64 * t, 0, 0, kRemoteHost}.pack()};
      }
  program.expect_all();
  if (bad) {
    auto& descriptors = program.tables[0][1][2].descriptors;
    descriptors.insert(descriptors.end(), {0, 0});
  }
  PacketRun run(program, config);
  if (bad) {
    const driver::Event event = run.driver.wait();
    EXPECT_EQ(event.kind, driver::Event::Kind::exception);
    EXPECT_EQ(event.ipu, 1u);
    EXPECT_EQ(event.exception.cause, 29u);
    EXPECT_EQ(event.exception.tile, 2u);
    run.driver.wait(10'000);  // what is under way comes
    EXPECT_EQ(run.memory(1, 2, kAnswer, 1)[0], 0u);
    return event.exception.cycle;
  }
  run.finish();
  EXPECT_EQ(check_words(run), 2 * (20 + 27 + 34u));
  for (unsigned ipu = 0; ipu < 2; ++ipu)
    for (unsigned t = 0; t < kTiles; ++t) {
      const std::vector<std::uint32_t> got = run.memory(ipu, t, kAnswer, words(0, t));
      for (unsigned n = 0; n < 4 * got.size(); ++n)
        EXPECT_EQ(got[n / 4] >> (n % 4 * 8) & 0xff, host_byte(ipu, 64 * t + n));
    }
  return hash_times(run.log);
}
TEST(PacketModes, LateAnswersOfTheHostAreTheSameInEveryMode) {
  const std::vector<TileMode> tlm(kTiles, TileMode::tlm), rtl(kTiles, TileMode::rtl), both(kTiles, TileMode::lockstep);
  for (const bool bad : {false, true}) {
    const std::uint64_t plain = in_child([&] { return late_answers(tlm, tlm, bad); });
    EXPECT_NE(plain, 0u);
    EXPECT_EQ(in_child([&] { return late_answers(both, both, bad); }), plain) << bad;
    EXPECT_EQ(in_child([&] { return late_answers(tlm, both, bad); }), plain) << bad;
    EXPECT_EQ(in_child([&] { return late_answers(both, rtl, bad); }), plain) << bad;
  }
}

}  // namespace
}  // namespace tessera
