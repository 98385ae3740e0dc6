// One program on four machines at once: all TLM, all RTL, all lockstep, and mixed. Same data, same cycles.
#include <gtest/gtest.h>

#include <map>

#include "verif/cosim/lockstep_tile.h"
#include "verif/cosim/rtl_tile.h"
#include "verif/system/bench.h"

namespace tessera {
namespace {

using namespace testing;
using driver::Driver;
using driver::Event;
using driver::LoadRecord;

constexpr unsigned kTiles = 4, kMachines = 4;
constexpr Address kReadTable = kSramBase + 0x1400, kWriteTable = kSramBase + 0x1500, kIn = kSramBase + 0x2000,
                  kOut = kSramBase + 0x3000, kGathered = kSramBase + 0x3800;
constexpr unsigned kWords = 40, kReadBuffer = 0, kWriteBuffer = 1;

/// Arrivals and releases of each IPU, in order of tiles and time.
class Log : public EventObserver {
 public:
  void event(const MachineEvent& e) override {
    if (e.kind == MachineEvent::Kind::sync_arrive) arrive[e.ipu][e.tile].push_back(e.cycle);
    if (e.kind == MachineEvent::Kind::sync_release) release[e.ipu][e.tile].push_back(e.cycle);
  }
  std::map<unsigned, std::map<unsigned, std::vector<Cycle>>> arrive, release;
};

std::vector<std::uint32_t> packet_table(unsigned kind, Address local, unsigned buffer, std::uint64_t offset) {
  const std::uint64_t all[] = {PacketHeader{1, 0}.pack(),
                               PacketDescriptor{kind, 0, 0, kWords, (local - kSramBase) / 4}.pack(),
                               PacketRemote{offset, 0, buffer, kRemoteHost}.pack()};
  std::vector<std::uint32_t> out;
  for (std::uint64_t w : all) out.push_back(static_cast<std::uint32_t>(w)), out.push_back(w >> 32);
  return out;
}

/// Pull input; pass it round the ring and gather one word of each tile; push what came.
std::vector<std::uint32_t> program() {
  std::vector<std::uint32_t> code;
  load_constant(code, 10, kReadTable);
  load_constant(code, 11, kWriteTable);
  load_constant(code, 12, kTable);
  sync_step(code, Zone::host, 1);
  code.push_back(r(Op::x_packet, 0, 10));
  sync_step(code, Zone::internal);
  code.push_back(r(Op::x_exchange, 0, 12));
  sync_step(code, Zone::host, 2);
  code.push_back(r(Op::x_packet, 0, 11));
  sync_step(code, Zone::host, 3);
  spin(code);
  return code;
}

std::vector<LoadRecord> image(const Platform& p) {
  std::vector<LoadRecord> records{all_tiles(kCode, program())};
  for (unsigned t = 0; t < kTiles; ++t) {
    const unsigned before = (t + kTiles - 1) % kTiles;
    records.push_back(one_tile(t, kReadTable, packet_table(kPacketRead, kIn, kReadBuffer, 4 * kWords * t)));
    records.push_back(one_tile(t, kWriteTable, packet_table(kPacketWrite, kOut, kWriteBuffer, 4 * kWords * t)));
    // Ring: all words, sent in spine time 40 by everybody; then tile 0's first words as a sweep over two tiles.
    const std::uint64_t sweep[2] = {
        ExchangeDescriptor{kKindSweep, 0, 200 + p.exchange.base + p.receive_delay(t), 3, (kGathered - kSramBase) / 4, 0}
            .pack(),
        ExchangeSweep{2, 1, 0, 4}.pack()};
    std::vector<LoadRecord> tables =
        table(t,
              {linear(40 - p.send_delay(t) + 8, kWords, kIn, 0),
               t < 2 ? linear(200 + 3 * t - p.send_delay(t), 3, kIn, 0) : linear(230, 1, kIn, 1)},
              {linear(40 + 8 - p.send_delay(before) + p.exchange_delay(before, t), kWords, kOut, before), sweep[0],
               sweep[1]});
    for (auto& record : tables)
      if (record.address == kTable) records.push_back(record);
  }
  return records;
}

struct Outcome {
  std::vector<std::uint32_t> words;
  std::vector<std::uint8_t> output;
};

TEST(Mixed, SameDataAndCyclesInEveryMode) {
  const Platform p = small_platform(kTiles, 1, kMachines);
  SystemConfig config = tlm_system(p);
  Log log;
  config.events = &log;
  config.threads = 2;
  config.modes = {std::vector<TileMode>(kTiles, TileMode::tlm),
                  std::vector<TileMode>(kTiles, TileMode::rtl),
                  std::vector<TileMode>(kTiles, TileMode::lockstep),
                  {TileMode::rtl, TileMode::tlm, TileMode::lockstep, TileMode::rtl}};
  config.factory = [](const TileConfig& tile, TileMode mode) -> std::unique_ptr<TileModel> {
    if (mode == TileMode::rtl) return make_rtl_tile(tile);
    auto tlm = std::make_unique<TlmTile>(tile);
    if (mode == TileMode::tlm) return tlm;
    return std::make_unique<LockstepTile>(tile, std::move(tlm), make_rtl_tile(tile));
  };
  Machine m(config);
  Driver d(m.transport);
  ASSERT_EQ(d.ipus(), kMachines);
  std::vector<Outcome> outcomes(kMachines);
  std::vector<std::uint8_t*> in(kMachines), out(kMachines);
  for (unsigned ipu = 0; ipu < kMachines; ++ipu) {
    d.load(ipu, image(p));
    in[ipu] = d.attach_buffer(ipu, kReadBuffer, 4 * kWords * kTiles, true, false);
    out[ipu] = d.attach_buffer(ipu, kWriteBuffer, 4 * kWords * kTiles, false, true);
    for (unsigned i = 0; i < 4 * kWords * kTiles; ++i) in[ipu][i] = static_cast<std::uint8_t>(i * 31 + 5);
    d.start(ipu, kCode);
  }
  for (unsigned served = 0; served < 2 * kMachines;) {
    const Event event = d.wait();
    ASSERT_EQ(event.kind, Event::Kind::host_sync) << event.exception.detail << " cause " << event.exception.cause
                                                  << " IPU " << event.ipu << " tile " << event.exception.tile;
    if (event.code == 3) continue;
    ++served;
    d.acknowledge(event.ipu);
  }
  while (log.arrive[3][kTiles - 1].size() < 4 || log.arrive[2][0].size() < 4 || log.arrive[1][0].size() < 4)
    ASSERT_EQ(d.wait().kind, Event::Kind::host_sync);
  for (unsigned ipu = 0; ipu < kMachines; ++ipu) {
    for (unsigned t = 0; t < kTiles; ++t) {
      std::vector<std::uint32_t> words(kWords + 8);
      d.read_tile(ipu, t, kOut, words.data(), kWords);
      d.read_tile(ipu, t, kGathered, words.data() + kWords, 8);
      outcomes[ipu].words.insert(outcomes[ipu].words.end(), words.begin(), words.end());
    }
    outcomes[ipu].output.assign(out[ipu], out[ipu] + 4 * kWords * kTiles);
  }
  // What came is what the tile before had, and everybody's output is the input turned by one tile.
  const std::size_t part = std::size_t{4} * kWords;
  for (unsigned t = 0; t < kTiles; ++t)
    EXPECT_EQ(std::memcmp(out[0] + part * ((t + 1) % kTiles), in[0] + part * t, part), 0) << t;
  unsigned compared = 0;
  for (unsigned ipu = 1; ipu < kMachines; ++ipu) {
    EXPECT_EQ(outcomes[ipu].words, outcomes[0].words) << "machine " << ipu;
    EXPECT_EQ(outcomes[ipu].output, outcomes[0].output) << "machine " << ipu;
    for (unsigned t = 0; t < kTiles; ++t) {
      ASSERT_EQ(log.release[ipu][t].size(), 3u);
      ASSERT_EQ(log.arrive[ipu][t].size(), 4u);
      for (unsigned i = 0; i < 3; ++i, ++compared)
        EXPECT_EQ(log.arrive[ipu][t][i + 1] - log.release[ipu][t][i], log.arrive[0][t][i + 1] - log.release[0][t][i])
            << "machine " << ipu << " tile " << t << " superstep " << i;
    }
  }
  EXPECT_EQ(compared, 36u);
}

}  // namespace
}  // namespace tessera
