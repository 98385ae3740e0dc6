// The RTL tile against the exact interleave of the TLM tile: random programs, every record with its cycle, all stops,
// all state, all memory. The programs are those that the fast mode of the TLM is tested with.
#include <gtest/gtest.h>

#include <cstring>
#include <sstream>

#include "hw/generated/isa.h"
#include "tlm/tile/random_programs.h"
#include "tlm/tile/tlm_tile.h"
#include "verif/cosim/rtl_tile.h"

namespace tessera {
namespace {

using namespace tessera::testing;  // NOLINT: programs

struct Recorder : RetireObserver {
  std::vector<RetireRecord> records;
  void retired(const RetireRecord& record) override { records.push_back(record); }
  void exchanged(const ExchangeWord&) override {}
};

std::string text(const RetireRecord& r) {
  std::ostringstream out;
  out << std::dec << "cycle " << r.cycle << " context " << int{r.context} << (r.paired ? " paired" : "") << std::hex
      << " pc " << r.pc << " word " << r.word << " (" << isa::info(isa::decode(r.word)).name << ") next " << r.next_pc
      << (r.trap ? " TRAP " : " ") << r.cause << "/" << r.tval << " x" << std::dec << int{r.xrd} << "=" << std::hex
      << r.xval << " f" << int{r.fwrite[0].valid} << ":" << std::dec << int{r.fwrite[0].reg} << "=" << std::hex
      << r.fwrite[0].bits << " flags " << int{r.fflags} << " rd " << r.mem_read << " " << r.read_addr[0] << " wr "
      << r.mem_write << " " << r.write_addr << "/" << int{r.write_mask} << "=" << r.write_data << " csr " << r.csr
      << "=" << r.csr_value << " run " << r.run[0] << " " << r.run[1] << " " << r.run[2] << " " << r.run[3] << " "
      << r.run[4] << " " << r.run[5] << " " << r.run[6];
  return out.str();
}

/// The last records of the context of record k before it.
std::string before(const std::vector<RetireRecord>& records, std::size_t k) {
  std::string out;
  for (std::size_t i = k, left = 4; i-- > 0 && left > 0;)
    if (records[i].context == records[k].context) out = "\n   " + text(records[i]) + out, --left;
  return out;
}

std::vector<TileStop> run(TileModel& tile) {
  std::vector<TileStop> stops;
  tile.start(kSramBase, 5);
  for (;;) {
    const TileStop stop = tile.run(200000, nullptr, nullptr);
    stops.push_back(stop);
    if (stop.kind != TileStop::Kind::sync) return stops;
    tile.release(stop.cycle + 64, (stop.value & 1) != 0);
  }
}

void expect_same(const TileModel& a, const TileModel& b) {
  for (ContextId c = 0; c < 7; ++c) {
    const ContextState x = a.context(c), y = b.context(c);
    ASSERT_EQ(x.run, y.run) << "context " << int{c};
    ASSERT_EQ(x.pc, y.pc) << "context " << int{c};
    ASSERT_EQ(x.x, y.x) << "context " << int{c};
    ASSERT_EQ(x.f, y.f) << "context " << int{c};
    ASSERT_EQ(x.fcsr, y.fcsr) << "context " << int{c};
    ASSERT_EQ(x.mcause, y.mcause) << "context " << int{c};
    ASSERT_EQ(x.mepc, y.mepc) << "context " << int{c};
    ASSERT_EQ(x.mtval, y.mtval) << "context " << int{c};
  }
  std::vector<std::uint8_t> m(kRandomBytes), n(kRandomBytes);
  a.read_memory(kSramBase, m.data(), kRandomBytes);
  b.read_memory(kSramBase, n.data(), kRandomBytes);
  ASSERT_EQ(std::memcmp(m.data(), n.data(), kRandomBytes), 0);
  ASSERT_EQ(a.retired(), b.retired());
  ASSERT_EQ(a.exception().has_value(), b.exception().has_value());
  if (!a.exception()) return;
  ASSERT_EQ(a.exception()->cycle, b.exception()->cycle);
  ASSERT_EQ(a.exception()->context, b.exception()->context);
  ASSERT_EQ(a.exception()->cause, b.exception()->cause);
}

/// Seeds first..first+count; returns how many records were compared.
std::uint64_t compare(unsigned first, unsigned count, std::uint64_t& traps, std::uint64_t& pairs) {
  TileConfig config;
  config.sram_bytes = kRandomBytes;
  std::uint64_t compared = 0;
  for (unsigned seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    TlmTile reference(config);
    const auto rtl = make_rtl_tile(config);
    Recorder expected, seen;
    for (TileModel* tile : {static_cast<TileModel*>(&reference), static_cast<TileModel*>(rtl.get())})
      load_random_programs(*tile, seed);
    reference.observe(&expected);
    rtl->observe(&seen);
    const auto stops = run(reference), rtl_stops = run(*rtl);
    for (std::size_t k = 0; k < std::min(expected.records.size(), seen.records.size()); ++k) {
      EXPECT_EQ(expected.records[k], seen.records[k])
          << "record " << k << "\n tlm " << text(expected.records[k]) << "\n rtl " << text(seen.records[k])
          << "\n before " << before(seen.records, k);
      if (!(expected.records[k] == seen.records[k])) return compared;
      ++compared;
      traps += seen.records[k].trap;
      pairs += seen.records[k].paired;
    }
    EXPECT_EQ(expected.records.size(), seen.records.size());
    EXPECT_EQ(stops.size(), rtl_stops.size());
    for (std::size_t k = 0; k < std::min(stops.size(), rtl_stops.size()); ++k) {
      EXPECT_EQ(stops[k].kind, rtl_stops[k].kind);
      EXPECT_EQ(stops[k].cycle, rtl_stops[k].cycle);
      // Of an x.sync the contract names the vote and the code.
      const std::uint32_t named = stops[k].kind == TileStop::Kind::sync ? 0xffff'ff01u : ~0u;
      EXPECT_EQ(stops[k].value & named, rtl_stops[k].value);
    }
    expect_same(reference, *rtl);
    if (::testing::Test::HasFailure()) return compared;
  }
  return compared;
}

TEST(RtlRandom, EveryRecordIsThatOfTheExactInterleave) {
  std::uint64_t traps = 0, pairs = 0;
  const std::uint64_t compared = compare(0, 1000, traps, pairs);
  EXPECT_GT(compared, 300'000u);
  EXPECT_GT(pairs, 3000u);
  EXPECT_GT(traps, 1000u);
  RecordProperty("records", std::to_string(compared));
}

}  // namespace
}  // namespace tessera
