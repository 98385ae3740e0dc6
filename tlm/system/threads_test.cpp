// The tiles of an IPU on one and on several host threads: same stops, cycles, events, memories, races, errors and
// exceptions. Work is large enough for threads to be used, uneven over the tiles, and small in between.
#include <gtest/gtest.h>

#include <cstring>
#include <mutex>
#include <sstream>
#include <stdexcept>

#include "tlm/system/ipu.h"
#include "tlm/tile/assembler.h"
#include "tlm/tile/code_cache.h"
#include "tlm/tile/tlm_tile.h"

namespace tessera {
namespace {

using namespace testing;

constexpr unsigned kTiles = 152, kSteps = 6;
constexpr Address kWorker = kSramBase + 0x800, kTurns = kSramBase + 0xf00, kTable = kSramBase + 0x1000,
                  kOut = kSramBase + 0x2000, kIn = kSramBase + 0x2400;

/// Runs all workers, syncs, exchanges, and again; tile 17 leaves with an illegal instruction at the end.
std::vector<std::uint32_t> supervisor() {
  std::vector<std::uint32_t> code;
  load_constant(code, 5, 1);
  load_constant(code, 7, kTable);
  load_constant(code, 8, kWorker);
  load_constant(code, 9, kTurns);
  code.push_back(i(Op::lw, 9, 9, 0));
  for (unsigned step = 0; step < kSteps; ++step) {
    if (step % 2 == 0) code.push_back(encode(Op::x_run, {7, 8, 9, 0}));
    code.push_back(sync(6, 5, static_cast<unsigned>(Zone::internal)));
    code.push_back(r(Op::x_exchange, 0, 7));
  }
  load_constant(code, 10, 17 * 100);
  code.push_back(s(Op::bne, 9, 10, 8));
  code.push_back(0);
  code.push_back(sync(6, 5, static_cast<unsigned>(Zone::internal)));
  return code;
}

/// a0 rounds of adding the worker's number to the word that goes out. Worker 1 writes it while the others may still
/// read it: a race, which threaded code decides by its own order, whatever the host's threads.
std::vector<std::uint32_t> worker() {
  std::vector<std::uint32_t> code;
  load_constant(code, 7, kOut);
  code.push_back(i(Op::lw, 6, 7, 0));
  code.push_back(encode(Op::add, {6, 6, 4}));
  code.push_back(i(Op::addi, 10, 10, -1));
  code.push_back(s(Op::bne, 10, 0, -8));
  code.push_back(s(Op::bne, 4, 0, 8));
  code.push_back(s(Op::sw, 7, 6, 0));
  code.push_back(r(Op::x_exit, 0, 4));
  return code;
}

std::uint64_t linear(Cycle t, unsigned words, Address address, unsigned peer) {
  return (t << 4) | (std::uint64_t{words} << 22) | (std::uint64_t{(address - kSramBase) / 4} << 34) |
         (std::uint64_t{peer} << 52);
}

class Log : public EventObserver {
 public:
  void event(const MachineEvent& e) override {
    text << e.cycle << ' ' << e.tile << ' ' << int{e.context} << ' ' << static_cast<int>(e.kind) << ' ' << e.pc << ' '
         << e.a0 << '\n';
    ++count;
  }
  std::ostringstream text;
  std::size_t count = 0;
};

struct Seen {
  std::string events, trace;  // trace: one line a superstep
  std::vector<std::uint8_t> memory;
  std::vector<std::string> races;
  std::size_t event_count = 0;
};

struct Settings {
  bool events = true, races = false;
};

Seen run(unsigned threads, const Settings& settings) {
  Seen seen;
  TilePool pool(threads);
  const auto code = std::make_shared<CodeCache>();
  std::mutex races_mutex;
  IpuConfig config;
  config.tiles = kTiles;
  config.sram_bytes = 65536;
  config.fabric = {20, std::vector<Cycle>(kTiles, 2), std::vector<Cycle>(kTiles, 4)};
  Ipu ipu(
      config,
      [&](const TileConfig& c, TileMode) {
        auto tile = std::make_unique<TlmTile>(c, code);
        if (settings.races)
          tile->watch_races([&](const TileRace& race) {
            const std::lock_guard<std::mutex> lock(races_mutex);
            std::ostringstream text;
            text << race.tile << ' ' << race.cycle << ' ' << race.address << ' ' << race.first.pc << ' '
                 << race.second.pc;
            seen.races.push_back(text.str());
          });
        return tile;
      },
      pool);
  Log log;
  if (settings.events) ipu.hooks.events = &log;
  const auto put = [&](unsigned t, Address at, const void* bytes, std::size_t count) {
    ipu.tile(t).write_memory(at, static_cast<const std::uint8_t*>(bytes), count);
  };
  const auto supervisor_code = supervisor(), worker_code = worker();
  for (unsigned t = 0; t < kTiles; ++t) {
    const std::uint32_t turns = settings.races ? 20 : t * 100 + (t == 0 ? 1 : 0);
    const unsigned source = (t + 1) % kTiles;
    const std::uint64_t table[] = {1 | 1 << 16, linear(30, 8, kOut, 0), linear(56, 8, kIn, source)};
    put(t, kSramBase, supervisor_code.data(), 4 * supervisor_code.size());
    put(t, kWorker, worker_code.data(), 4 * worker_code.size());
    put(t, kTable, table, sizeof table);
    put(t, kTurns, &turns, 4);
  }
  std::ostringstream trace;
  ipu.boot(kSramBase, 0);
  Ipu::Outcome outcome;
  while ((outcome = ipu.advance(kNever - 1)) == Ipu::Outcome::arrived) {
    trace << ipu.arrival()->latest << ' ' << ipu.retired() << ' ' << ipu.fabric().counters().words_received << '\n';
    ipu.release(ipu.arrival()->latest + 64, true);
  }
  trace << static_cast<int>(outcome);
  if (ipu.exception())
    trace << ' ' << ipu.exception()->tile << ' ' << ipu.exception()->exception.cycle << ' '
          << ipu.exception()->exception.pc;
  trace << '\n' << ipu.describe({});
  for (unsigned t = 0; t < kTiles; ++t) {
    std::vector<std::uint8_t> bytes(65536);
    ipu.tile(t).read_memory(kSramBase, bytes.data(), bytes.size());
    seen.memory.insert(seen.memory.end(), bytes.begin(), bytes.end());
  }
  seen.trace = trace.str();
  seen.events = log.text.str();
  seen.event_count = log.count;
  std::sort(seen.races.begin(), seen.races.end());
  return seen;
}

TEST(Threads, EverythingIsTheSameForAnyNumber) {
  const Seen one = run(1, {});
  ASSERT_GT(one.event_count, kTiles * (1 + kSteps * 4 + 3 * 6 * 2) - 200U);
  ASSERT_NE(one.trace.find("\n2 17 "), std::string::npos) << "ends with the exception of tile 17:\n" << one.trace;
  for (unsigned threads : {1u, 2u, 4u, 8u}) {
    const Seen other = run(threads, {});
    EXPECT_EQ(other.trace, one.trace) << threads;
    EXPECT_EQ(other.events, one.events) << threads;
    EXPECT_EQ(other.memory, one.memory) << threads;
    const Seen quiet = run(threads, {false, false});
    EXPECT_EQ(quiet.trace, one.trace) << threads << ", without events";
    EXPECT_EQ(quiet.memory, one.memory) << threads << ", without events";
    EXPECT_EQ(quiet.event_count, 0U);
  }
}

TEST(Threads, RacesAreTheSameForAnyNumber) {
  const Seen one = run(1, {true, true});
  for (unsigned threads : {2u, 4u}) {
    const Seen other = run(threads, {true, true});
    EXPECT_EQ(other.races, one.races) << threads;
    EXPECT_EQ(other.events, one.events) << threads;
  }
  EXPECT_EQ(one.races.size(), kTiles) << "worker 1 writes what the others read";
}

TEST(Threads, AllTasksRunAndTheFirstErrorComesOut) {
  for (unsigned threads : {1u, 2u, 8u}) {
    TilePool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (std::size_t grain : {1u, 7u, 1000u}) {
      std::vector<int> ran(500);
      const TilePool::Failure failure = pool.try_run(100, 500, grain, [&](std::size_t i) {
        ++ran[i];
        if (i % 90 == 0) throw std::runtime_error(std::to_string(i));
      });
      ASSERT_TRUE(failure.error);
      EXPECT_EQ(failure.task, 180U);
      EXPECT_EQ(std::count(ran.begin(), ran.end(), 1), 400);
    }
  }
}

}  // namespace
}  // namespace tessera
