// Lockstep and waveforms with the RTL tile itself: a planted wrong bit is found where it happens, and one dump shows
// TLM and RTL of the same tile on the same cycles.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "hw/error.h"
#include "tlm/tile/assembler.h"
#include "tlm/tile/tlm_tile.h"
#include "verif/cosim/lockstep_tile.h"
#include "verif/cosim/rtl_tile.h"
#include "verif/cosim/wave.h"
#include "verif/cosim/wave_tile.h"

namespace tessera {
namespace {

using namespace tessera::testing;  // NOLINT: the assembler
using ::testing::HasSubstr;
using Code = std::vector<std::uint32_t>;
constexpr Address kWorkerCode = kSramBase + 0x1000;

void write(TileModel& tile, Address at, const Code& words) {
  tile.write_memory(at, reinterpret_cast<const std::uint8_t*>(words.data()), 4 * words.size());
}

/// Six workers count and add; the supervisor waits for them and ends with an ecall.
void load_counting(TileModel& tile, std::int32_t rounds) {
  Code supervisor;
  load_constant(supervisor, 5, kWorkerCode);
  supervisor.insert(supervisor.end(), {r(Op::x_run, 7, 5), tessera::testing::sync(0, 0, 0), r(Op::ecall, 0)});
  write(tile, kSramBase, supervisor);
  Code worker{i(Op::addi, 10, 0, rounds)};
  load_constant(worker, 12, 0x7000);
  const std::size_t loop = worker.size();
  worker.insert(worker.end(), {r(Op::add, 11, 11, 12), i(Op::addi, 10, 10, -1), r(Op::fcvt_s_w, 1, 11),
                               r(Op::fadd_s, 2, 2, 1) | 7u << 12});
  worker.push_back(s(Op::bne, 10, 0, -static_cast<std::int32_t>(4 * (worker.size() - loop))));
  worker.push_back(r(Op::x_exit, 0, 0));
  write(tile, kWorkerCode, worker);
}

TEST(LockstepRtl, EqualSidesAgree) {
  const TileConfig config;
  LockstepTile tile(config, std::make_unique<TlmTile>(config), make_rtl_tile(config));
  load_counting(tile, 200);
  tile.start(kSramBase, 0);
  EXPECT_EQ(tile.run(kNever, nullptr, nullptr).kind, TileStop::Kind::exception);
  EXPECT_EQ(tile.compared().instructions, tile.retired());
  EXPECT_GT(tile.compared().instructions, 6000u);
}

/// A worker is let go on while a division of the supervisor is under way in its slot: it issues after its end.
TEST(LockstepRtl, AnExceptedWorkerIsResumedInASlotThatTheSupervisorUses) {
  Code supervisor;
  load_constant(supervisor, 5, kWorkerCode);
  // From slot 0; the worker takes that, so the next is slot 1; the delay leads back to 0, where nobody is any more.
  supervisor.insert(supervisor.end(), {r(Op::x_run, 1, 5), i(Op::addi, 6, 0, 59), r(Op::x_delay, 0, 6),
                                       r(Op::div, 7, 6, 5), r(Op::rem, 8, 6, 5), nop(), r(Op::x_sync, 0, 0, 4)});
  for (Cycle offset = 0; offset < 90; ++offset) {
    const TileConfig config;
    LockstepTile tile(config, std::make_unique<TlmTile>(config), make_rtl_tile(config));
    write(tile, kSramBase, supervisor);
    write(tile, kWorkerCode, {0, nop(), r(Op::x_exit, 0, 0)});
    tile.debug_attach(true);
    tile.start(kSramBase, 0);
    ASSERT_EQ(tile.run(60, nullptr, nullptr).kind, TileStop::Kind::limit);
    ASSERT_EQ(tile.context(1).run, ContextState::Run::excepted);
    tile.debug_write(1, DebugSpace::pc, 0, kWorkerCode + 4);
    tile.debug_resume(2, 70 + offset);
    ASSERT_EQ(tile.run(10'000, nullptr, nullptr).kind, TileStop::Kind::sync) << offset;
    EXPECT_FALSE(tile.exception());
    EXPECT_EQ(tile.compared().instructions, tile.retired());
  }
}

TEST(LockstepRtl, TheLostCarryOfAFaultyAdderIsFoundAtItsInstruction) {
  const TileConfig config;
  LockstepTile tile(config, std::make_unique<TlmTile>(config), make_faulty_rtl_tile(config));
  load_counting(tile, 200);
  tile.start(kSramBase, 0);
  try {
    tile.run(kNever, nullptr, nullptr);
    FAIL() << "the planted fault was not found";
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), Category::lockstep_mismatch);
    // The first sum that carries into bit 16 is 200 + (-1), in the second instruction of the loop.
    EXPECT_THAT(error.what(), HasSubstr("x register value: TLM 0xc7, RTL 0xffff00c7"));
    EXPECT_THAT(error.what(), HasSubstr("addi a0,a0,-1"));
    EXPECT_THAT(error.what(), HasSubstr("*   a0 000000c7 | ffff00c7"));
  }
}

/// Changes of the signals of a dump by name, from fst2vcd's text.
std::map<std::string, std::map<std::uint64_t, std::uint64_t>> read_fst(const std::string& fst) {
  const std::string vcd = fst + ".vcd";
  EXPECT_EQ(std::system(("fst2vcd -f " + fst + " -o " + vcd + " > /dev/null 2>&1").c_str()), 0);
  std::ifstream file(vcd);
  std::map<std::string, std::vector<std::string>> names;
  std::map<std::string, std::map<std::uint64_t, std::uint64_t>> changes;
  std::string scope, line;
  std::uint64_t time = 0;
  while (std::getline(file, line)) {
    std::istringstream in(line);
    std::string word, kind, bits, id, name;
    in >> word;
    if (word == "$scope") {
      in >> kind >> name;
      scope += name + ".";
    } else if (word == "$upscope") {
      scope.erase(scope.rfind('.', scope.size() - 2) + 1);
    } else if (word == "$var") {
      in >> kind >> bits >> id >> name;
      names[id].push_back(scope + name);
    } else if (word[0] == '#') {
      time = std::stoull(word.substr(1));
    } else if (word[0] == 'b' || word[0] == '0' || word[0] == '1') {
      const std::string value = word[0] == 'b' ? word.substr(1) : word.substr(0, 1);
      if (word[0] == 'b') {
        in >> id;
      } else {
        id = word.substr(1);
      }
      if (value.find_first_not_of("01") != std::string::npos || value.size() > 64) continue;
      for (const std::string& n : names[id]) changes[n][time] = std::stoull(value, nullptr, 2);
    }
  }
  return changes;
}

std::uint64_t at(const std::map<std::uint64_t, std::uint64_t>& changes, std::uint64_t time) {
  auto after = changes.upper_bound(time);
  return after == changes.begin() ? 0 : std::prev(after)->second;
}

TEST(LockstepRtl, OneDumpShowsBothSidesOnTheSameCycles) {
  const TileConfig config;
  WaveOptions options;
  options.file = (std::filesystem::path(::testing::TempDir()) / "tessera_lockstep_rtl.fst").string();
  WaveFile wave(options);
  {
    auto rtl = make_traced_rtl_tile(config);
    rtl->attach_wave(wave.add_rtl({}));
    auto both = std::make_unique<LockstepTile>(config, std::make_unique<TlmTile>(config), std::move(rtl));
    WaveTile tile(config, std::move(both), wave.add_tlm({}));
    load_counting(tile, 5);
    tile.start(kSramBase, 0);
    EXPECT_EQ(tile.run(kNever, nullptr, nullptr).kind, TileStop::Kind::exception);
    const WaveSummary summary = wave.close();
    EXPECT_TRUE(summary.lost.empty());
  }
  const auto dump = read_fst(options.file);
  const auto signal = [&](const std::string& name) {
    const auto found = dump.find(name);
    EXPECT_NE(found, dump.end()) << name;
    return found == dump.end() ? std::map<std::uint64_t, std::uint64_t>{} : found->second;
  };
  const std::string core = "ipu0.tile0.rtl.tile_core.";
  const auto valid = signal(core + "ret_valid_o"), cycle = signal(core + "ret_cycle_o"), pc = signal(core + "ret_pc_o"),
             context = signal(core + "ret_ctx_o");
  // Each retirement of RTL stands in the dump a few cycles after its issue cycle, in which TLM shows the same pc.
  std::uint64_t compared = 0;
  for (const auto& [time, issue] : cycle) {
    if (at(valid, time + 624) == 0) continue;
    const std::uint64_t c = at(context, time + 624), now = time / 625;
    EXPECT_LE(issue, now);
    if (at(pc, time + 624) == 0) continue;
    const std::string name = c == 0 ? "supervisor" : "worker" + std::to_string(c);
    const auto tlm_pc = signal("ipu0.tile0.tlm." + name + ".pc");
    if (now - issue > 8) continue;  // an instruction that waited
    EXPECT_EQ(at(tlm_pc, 625 * issue), at(pc, time + 624)) << "cycle " << issue;
    ++compared;
  }
  std::printf("waves: %llu retirements of RTL found in the TLM signals\n", static_cast<unsigned long long>(compared));
  EXPECT_GT(compared, 100u);
}

/// A selection is dumped by code of its own: to the bit and the half cycle what a dump of everything shows of it.
TEST(LockstepRtl, AScopeAloneIsWhatADumpOfEverythingShowsOfIt) {
  const auto dump = [](const std::string& name, std::vector<std::string> scopes) {
    const TileConfig config;
    WaveOptions options;
    options.file = (std::filesystem::path(::testing::TempDir()) / ("tessera_" + name + ".fst")).string();
    options.scopes = std::move(scopes);
    options.from = 20;
    WaveFile wave(options);
    auto tile = make_traced_rtl_tile(config);
    tile->attach_wave(wave.add_rtl({}));
    load_counting(*tile, 5);
    tile->start(kSramBase, 0);
    EXPECT_EQ(tile->run(kNever, nullptr, nullptr).kind, TileStop::Kind::exception);
    EXPECT_GT(wave.close().changes, 100u);
    return read_fst(options.file);
  };
  const auto everything = dump("everything", {});
  for (const std::string scope : {"tile_core.u_fetch", "tile_core.u_write", "tile_core.u_lanes", "tile_core"}) {
    const std::string prefix = "ipu0.tile0.rtl." + scope + ".";
    std::map<std::string, std::map<std::uint64_t, std::uint64_t>> expected;
    for (const auto& [name, changes] : everything)
      if (name.rfind(prefix, 0) == 0) expected[name] = changes;
    const auto selected = dump("selected", {"ipu0.tile0.rtl." + scope});
    std::uint64_t compared = 0, different = 0;
    EXPECT_EQ(selected.size(), expected.size()) << scope;
    for (const auto& [name, changes] : expected) {
      const auto found = selected.find(name);
      ++compared;
      if (found != selected.end() && found->second == changes) continue;
      if (different++ < 5) ADD_FAILURE() << name << (found == selected.end() ? " is missing" : " differs");
    }
    std::printf("waves of %s alone: %llu signals compared, %llu different\n", scope.c_str(),
                static_cast<unsigned long long>(compared), static_cast<unsigned long long>(different));
    EXPECT_GT(compared, 50u);
  }
}

}  // namespace
}  // namespace tessera
