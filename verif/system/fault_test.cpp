// Planted faults, through the command as users meet it: each ends with its own exit code, names the place in the user's
// terms, and leaves waveform, report and JSON readable. Executables are damaged tile by tile (damaged.h).

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "hw/generated/machine.h"
#include "tlm/tile/assembler.h"
#include "verif/system/damaged.h"
#include "verif/system/fault_support.h"

namespace tessera::test {
namespace {

using tessera::testing::encode;
using tessera::testing::i;
using tessera::testing::nop;
using tessera::testing::sync;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr unsigned kZoneInternal = 1, kZoneHost = 4;

/// How the tiles are modelled: arguments of exec.
struct Modelled {
  const char* name;
  std::vector<std::string> arguments;
};

void PrintTo(const Modelled& modelled, std::ostream* out) { *out << modelled.name; }

class Fault : public ::testing::TestWithParam<Modelled> {
 protected:
  const std::string directory = scratch_directory();
  DamagedDigits digits{directory};

  /// Runs the damaged executable. Pin-level tiles are slow to trace: only `traced` is, where there are any.
  FaultRun exec(unsigned traced, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"exec", digits.write(), "--inputs", digits_inputs()};
    arguments.insert(arguments.end(), GetParam().arguments.begin(), GetParam().arguments.end());
    arguments.insert(arguments.end(), more.begin(), more.end());
    if (!GetParam().arguments.empty())
      for (const char* part : {"--wave-scope", "ipu0.tile"}) arguments.emplace_back(part);
    if (!GetParam().arguments.empty()) arguments.back() += std::to_string(traced) + ".*";
    return run_with_files(directory, arguments);
  }

  using Kind = executable::Step::Kind;

  /// The sync that a step begins with, and another instruction in its place on one tile.
  Address replace_sync(const executable::Step& step, unsigned tile, std::uint32_t instruction) {
    const Address at = digits.find(step, 0xffffffff, sync(0, 0, kZoneInternal));
    digits.set_word(tile, at, instruction);
    return at;
  }
};

TEST_P(Fault, AReceiverThatListensOneCycleLate) {
  // It takes the last words that their sender sends, so that nothing follows them.
  Transfer late = digits.transfer("receives the last words of a tile", [&](const Transfer& t) {
    const auto is_end = [&](const Transfer& send) {
      return !send.receive && send.last && send.table != t.table && send.step.begin == t.step.begin &&
             send.tile == t.peer() && send.end() + digits.delay(send.tile, t.tile) == t.end();
    };
    const std::vector<Transfer>& all = digits.transfers();
    return t.receive && t.last && t.descriptor.kind != kKindSweep && std::any_of(all.begin(), all.end(), is_end);
  });
  ++late.descriptor.start;
  digits.set_descriptor(late.tile, late.at, late.descriptor.pack());
  const FaultRun run = exec(late.tile);
  expect_well_reported(run, 5);
  EXPECT_THAT(run.outcome.err, HasSubstr("exchange underrun"));
  EXPECT_THAT(run.outcome.err, HasSubstr(fmt::format("tile {} supervisor", late.tile)));
  EXPECT_THAT(run.outcome.err, HasSubstr("exchange: " + late.phase + "\n"));
  EXPECT_THAT(run.outcome.err, HasSubstr("program: " + late.step.path + " (" + late.step.name + ")\n"));
  EXPECT_THAT(run.outcome.err, HasSubstr(fmt::format("receive descriptor {} (table + {}): {} words from tile {}, "
                                                     "first in cycle {} of the phase",
                                                     late.number, late.at - late.table, late.descriptor.words,
                                                     late.peer(), late.descriptor.start)));
  EXPECT_GT(run.json.at("error").at("cycle").get<std::uint64_t>(), 0U);
}

TEST_P(Fault, ASenderThatStartsOneCycleLate) {
  const executable::Step step = digits.steps(Kind::exchange).back();
  Transfer late = digits.transfer("a last send that has to be heard", [&](const Transfer& t) {
    return !t.receive && t.last && t.step.begin == step.begin && (t.descriptor.peer & 1) == 0;
  });
  ++late.descriptor.start;
  digits.set_descriptor(late.tile, late.at, late.descriptor.pack());
  const FaultRun run = exec(late.tile);
  expect_well_reported(run, 5);
  EXPECT_THAT(run.outcome.err, HasSubstr("exchange underrun"));
  EXPECT_THAT(run.outcome.err, HasSubstr("exchange: " + late.phase + "\n"));
  EXPECT_THAT(run.outcome.err, HasSubstr(fmt::format("words from tile {},", late.tile)));
}

TEST_P(Fault, ListeningToASilentTile) {
  // One tile has no table for the phase: it takes no part in the exchange, others still listen to it.
  const std::vector<Transfer>& all = digits.transfers();
  const Transfer heard = digits.transfer("another tile listens to it", [&](const Transfer& t) {
    const auto listens = [&](const Transfer& r) { return r.receive && r.peer() == t.tile && r.tile != t.tile; };
    const auto in_step = [&](const Transfer& o) { return o.step.begin == t.step.begin; };
    return !t.receive && std::any_of(all.begin(), all.end(), [&](const auto& o) { return in_step(o) && listens(o); }) &&
           std::none_of(all.begin(), all.end(),
                        [&](const auto& o) { return in_step(o) && o.descriptor.kind == kKindSweep; });
  });
  const auto sends = std::count_if(all.begin(), all.end(), [&](const Transfer& t) {
    return !t.receive && t.tile == heard.tile && t.step.begin == heard.step.begin;
  });
  Transfer first;  // the fault that comes first, by cycle, then tile
  for (const Transfer& t : all)
    if (t.receive && t.peer() == heard.tile && t.tile != heard.tile && t.step.begin == heard.step.begin)
      if (first.words == 0 || std::tie(t.descriptor.start, t.tile) < std::tie(first.descriptor.start, first.tile))
        first = t;
  Address slot = digits.region("steps").begin;
  while (digits.word(heard.tile, slot) != heard.table) slot += 4;
  digits.set_word(heard.tile, slot, 0);
  const FaultRun run = exec(first.tile);
  expect_well_reported(run, 5);
  EXPECT_THAT(run.outcome.err, HasSubstr("exchange underrun"));
  EXPECT_THAT(run.outcome.err, HasSubstr(fmt::format("tile {} supervisor", first.tile)));
  EXPECT_THAT(run.outcome.err, HasSubstr(fmt::format("words from tile {},", heard.tile)));
  EXPECT_THAT(run.outcome.err, HasSubstr("exchange: " + heard.phase + "\n"));
  EXPECT_THAT(run.outcome.err,
              HasSubstr(fmt::format("tile {} sends {} times in this phase: {} words from cycle {}", heard.tile, sends,
                                    heard.descriptor.words, heard.descriptor.start)));
}

TEST_P(Fault, TilesInDifferentZones) {
  const executable::Step step = digits.steps(Kind::exchange).back();
  replace_sync(step, 7, sync(0, 0, kZoneHost));
  const FaultRun run = exec(7);
  expect_well_reported(run, 5);
  EXPECT_THAT(run.outcome.err, HasSubstr("different zones"));
  EXPECT_THAT(run.outcome.err, ContainsRegex("tile 7: .*sync host"));
  EXPECT_THAT(run.outcome.err, ContainsRegex("tiles 0-6, 8-15: .*sync internal"));
  EXPECT_THAT(run.outcome.err, HasSubstr(step.path + " (" + step.name));
}

TEST_P(Fault, ATileThatNeverSyncs) {
  const executable::Step step = digits.steps(Kind::exchange).front();
  const Address at = replace_sync(step, 5, i(isa::Op::jal, 0, 0, 0));
  const FaultRun run = exec(5, {"--max-cycles", "25000"});
  expect_well_reported(run, 6);
  EXPECT_THAT(run.outcome.err, HasSubstr("25000 cycles"));
  EXPECT_THAT(run.outcome.err, ContainsRegex(fmt::format("tile 5: running.*0x{:08x}", at)));
  EXPECT_THAT(run.outcome.err, ContainsRegex("tiles 0-4, 6-15: waits in x.sync internal"));
  EXPECT_THAT(run.outcome.err, HasSubstr(step.path + ": " + step.name + ")"));
}

/// True for instructions that may go elsewhere than to the next.
bool jumps(std::uint32_t instruction) {
  const std::uint32_t opcode = instruction & 0x7f;
  return opcode == 0x63 || opcode == 0x67 || opcode == 0x6f;
}

TEST_P(Fault, ATrapInACodelet) {
  const Vertices victims = digits.first_vertices(9);
  const std::string& codelet = victims.codelet.name;
  Address at = victims.codelet.address;
  while (at < victims.codelet.address + 8 && !jumps(digits.word(9, at))) at += 4;
  digits.set_word(9, at, 0);
  const std::string place = fmt::format("{}+0x{:x}", codelet, at - victims.codelet.address);
  const std::string source = executable::find_source(digits.program(), at);
  EXPECT_THAT(source, ContainsRegex("[a-z_]+.c:[0-9]+$"));
  const FaultRun run = exec(9);
  expect_well_reported(run, 5);
  EXPECT_THAT(run.outcome.err, HasSubstr("illegal instruction"));
  const std::string who = "tile 9 worker ";
  const std::size_t found = run.outcome.err.find(who);
  ASSERT_NE(found, std::string::npos) << run.outcome.err;
  const unsigned worker = static_cast<unsigned>(run.outcome.err.at(found + who.size()) - '0');
  ASSERT_THAT(worker, ::testing::AllOf(::testing::Ge(1U), ::testing::Le(6U)));
  EXPECT_THAT(run.outcome.err, HasSubstr(place + ", " + source));
  unsigned named = 0;
  for (const executable::VertexRecord& record : victims.records) {
    if ((record.workers >> (worker - 1) & 1U) == 0) continue;
    const std::string& vertex = digits.program().vertex_names.at(record.name).vertex;
    EXPECT_THAT(run.outcome.err,
                HasSubstr(fmt::format(": {} ({}) in compute set {}\n", vertex, codelet, victims.step.name)));
    ++named;
  }
  EXPECT_GT(named, 0U) << "worker " << worker << " has no such vertex";
  EXPECT_THAT(run.outcome.err, HasSubstr("program: " + victims.step.path + " (" + victims.step.name + ")\n"));
  EXPECT_THAT(run.outcome.err, ContainsRegex("> 0x[0-9a-f]{5}: 00000000  \\.word 0x00000000")) << "code around the pc";
  EXPECT_THAT(run.outcome.err, ContainsRegex(" sp=[0-9a-f]{8}")) << "registers";
  const std::string dump = read_file(directory + "/report/dump.txt");
  EXPECT_THAT(dump, ContainsRegex("IPU 0 tiles 0-(8, 10-)?15: (waits in x.sync internal|running)"));
  EXPECT_THAT(dump, ContainsRegex("IPU 0 tile 9 worker [1-6]: excepted, pc 0x[0-9a-f]{5} ." + codelet + ".*cause 2"));
  EXPECT_THAT(dump, ContainsRegex("stack at 0x[0-9a-f]{5}: [0-9a-f]{8}"));
}

INSTANTIATE_TEST_SUITE_P(On, Fault,
                         ::testing::Values(Modelled{"tlm", {}}, Modelled{"rtl", {"--rtl", "all"}},
                                           Modelled{"lockstep", {"--lockstep", "all"}}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Unheard, WordsThatNobodyTakesAreTold) {
  // A tile sends more than anybody listens to, behind its last message: a word, or one piece more of a block.
  const std::string directory = scratch_directory();
  DamagedDigits digits{directory};
  const auto more = [](const Transfer& t) { return t.descriptor.kind == kKindLinear ? 1 : t.descriptor.words; };
  Transfer send;
  for (const Transfer& t : digits.transfers())
    if (!t.receive && t.last && (send.words == 0 || more(t) < more(send))) send = t;
  ASSERT_GT(send.words, 0U);
  if (send.descriptor.kind == kKindLinear) {
    ++send.descriptor.words;
    digits.set_descriptor(send.tile, send.at, send.descriptor.pack());
  } else {
    auto block = ExchangeBlock::unpack(digits.descriptor(send.tile, send.at + 8));
    if (block.count1 == 1) std::swap(block.count1, block.count2), std::swap(block.stride1, block.stride2);
    ASSERT_EQ(block.count2, 1U) << "no last message is one word or one row of pieces";
    ++block.count1;
    digits.set_descriptor(send.tile, send.at + 8, block.pack());
  }
  const FaultRun run =
      run_with_files(directory, {"exec", digits.write(), "--inputs", digits_inputs(), "--wave-to", "100"});
  EXPECT_EQ(run.outcome.exit_code, 0) << run.outcome.err;
  EXPECT_THAT(run.outcome.err,
              ContainsRegex("IPU 0 tile " + std::to_string(send.tile) + " sent [0-9]+ words that nobody heard"));
  EXPECT_THAT(run.outcome.err, HasSubstr("exchange: " + send.phase + "\n"));
  EXPECT_THAT(run.outcome.err, HasSubstr(fmt::format("send descriptor {} (table + {}): {} words", send.number,
                                                     send.at - send.table, send.descriptor.words)));
  EXPECT_GT(run.json.at("exchange").at("unheard").size(), 0U);
}

TEST(Race, IsAWrongProgramAndBothPlacesAreNamed) {
  // Before their vertices, workers of tile 9 read a byte of the code behind their return address and write it back as
  // it was: nothing changes, but all of them touch it. They do so in a codelet of the test's own, amid unused memory.
  const std::string directory = scratch_directory();
  DamagedDigits digits{directory};
  const Vertices victims = digits.first_vertices(9);
  ASSERT_GT(victims.records.size(), 1U);
  executable::Program& program = digits.program();
  const executable::Region& data = digits.region("data");
  const Address planted = data.begin + (data.end - data.begin) / 128 * 64;
  digits.set_word(9, planted, encode(isa::Op::lbu, {15, 0, 1}));
  digits.set_word(9, planted + 4, encode(isa::Op::sb, {15, 0, 1}));
  digits.set_word(9, planted + 8,
                  i(isa::Op::jal, 0, 0, static_cast<std::int32_t>(victims.codelet.address - (planted + 8))));
  program.symbols.push_back({"Planted", planted, 12});
  const auto file = static_cast<std::uint32_t>(program.files.size());
  program.files.emplace_back("planted.c");
  for (std::uint32_t k = 0; k < 4; ++k) program.lines.push_back({planted + 4 * k, file, k < 3 ? 7 + k : 0});
  for (const executable::VertexRecord& record : victims.records) {
    ASSERT_EQ(digits.word(9, record.record), victims.codelet.address);
    digits.set_word(9, record.record, planted);
  }
  std::vector<std::string> arguments{"exec", digits.write(), "--inputs", digits_inputs()};
  EXPECT_EQ(tessera(arguments).exit_code, 0) << "unseen without --check";
  for (const char* more : {"--check", "--wave-scope", "ipu0.tile9.*"}) arguments.emplace_back(more);
  const FaultRun run = run_with_files(directory, arguments);
  expect_well_reported(run, 1);
  EXPECT_THAT(run.outcome.err, ContainsRegex("race on byte 0x[0-9a-f]+ of IPU 0 tile 9"));
  EXPECT_THAT(run.outcome.err, ContainsRegex("worker [1-6] (reads|executes) it at pc"));
  EXPECT_THAT(
      run.outcome.err,
      ContainsRegex(fmt::format("worker [1-6] writes it at pc 0x{:05x} \\(Planted\\+0x4, planted.c:8", planted + 4)));
  EXPECT_EQ(run.json.at("races").size(), 1U);
}

TEST(FaultyAdder, LockstepFindsItAndNamesThePlace) {
  for (const std::string suffix : {"fst", "vcd"}) {
    const std::string directory = scratch_directory();
    const FaultRun run = run_with_files(
        directory, {"run", digits_model(), "--inputs", digits_inputs(), "--platform", "pocket", "--lockstep", "0"}, {},
        suffix, true);
    expect_well_reported(run, 7);
    const std::string& err = run.outcome.err;
    EXPECT_THAT(err, HasSubstr("tile 0"));
    EXPECT_THAT(err, ContainsRegex("worker [1-6]|supervisor"));
    EXPECT_THAT(err, ContainsRegex("first difference: [a-z ]+: TLM 0x[0-9a-f]+, RTL 0x[0-9a-f]+"));
    EXPECT_THAT(err, ContainsRegex("at: [A-Za-z_0-9]+\\+0x[0-9a-f]+"));
    EXPECT_THAT(err, ContainsRegex("TLM: .* [0-9a-f]{8}: [0-9a-f]{8}  [a-z]"));
    expect_no_leftovers(directory);
  }
}

TEST(FaultyAdder, WithoutLockstepTheReferenceFindsIt) {
  const std::string directory = scratch_directory();
  const FaultRun run = run_with_files(directory,
                                      {"run", digits_model(), "--inputs", digits_inputs(), "--platform", "pocket",
                                       "--rtl", "0", "--check", "--max-cycles", "1000000"},
                                      {}, "fst", true);
  EXPECT_NE(run.outcome.exit_code, 0);
  EXPECT_NE(run.outcome.exit_code, 8) << run.outcome.err;
}

}  // namespace
}  // namespace tessera::test
