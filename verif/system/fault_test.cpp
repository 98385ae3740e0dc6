// Planted faults, through the command as users meet it: each ends with its own exit code, names the place in the user's
// terms, and leaves waveform, report and JSON readable. Executables are damaged tile by tile (damaged.h).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

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

  /// The n-th linear descriptor of a list, with its address.
  std::pair<Address, ExchangeDescriptor> first_descriptor(unsigned tile, const std::string& phase, bool receive) {
    const executable::TileTable& table = digits.table(tile, phase);
    const ExchangeHeader header = ExchangeHeader::unpack(digits.descriptor(tile, table.begin));
    const Address at = table.begin + 8 + (receive ? 8 * static_cast<Address>(header.sends) : 0);
    EXPECT_GT(receive ? header.receives : header.sends, 0U);
    return {at, ExchangeDescriptor::unpack(digits.descriptor(tile, at))};
  }

  Address sync_of(const std::string& step) {
    const executable::Step& s = digits.step(step);
    return digits.find(s, 0xffffffff, sync(0, 0, kZoneInternal));
  }
};

TEST_P(Fault, AReceiverThatListensOneCycleLate) {
  auto [at, descriptor] = first_descriptor(6, "images -> fc1", true);
  ++descriptor.start;
  digits.set_descriptor(6, at, descriptor.pack());
  const FaultRun run = exec(6);
  expect_well_reported(run, 5);
  EXPECT_THAT(run.outcome.err, HasSubstr("exchange underrun"));
  EXPECT_THAT(run.outcome.err, HasSubstr("tile 6 supervisor"));
  EXPECT_THAT(run.outcome.err, HasSubstr("exchange: images -> fc1 a"));
  EXPECT_THAT(run.outcome.err, HasSubstr("main/batch/fc1/fc1 a"));
  EXPECT_THAT(run.outcome.err, ContainsRegex("receive descriptor 0.*words from tile [0-9]+"));
  EXPECT_GT(run.json.at("error").at("cycle").get<std::uint64_t>(), 0U);
}

TEST_P(Fault, ASenderThatStartsOneCycleLate) {
  auto [at, descriptor] = first_descriptor(2, "relu1 -> fc2", false);
  ++descriptor.start;
  digits.set_descriptor(2, at, descriptor.pack());
  const FaultRun run = exec(2);
  expect_well_reported(run, 5);
  EXPECT_THAT(run.outcome.err, HasSubstr("exchange underrun"));
  EXPECT_THAT(run.outcome.err, HasSubstr("exchange: relu1 -> fc2 a"));
  EXPECT_THAT(run.outcome.err, HasSubstr("words from tile 2"));
}

TEST_P(Fault, ListeningToASilentTile) {
  // Tile 3 has no table for the phase: it takes no part in the exchange, the others still listen to it.
  const Address table = digits.table(3, "images -> fc1").begin;
  Address slot = digits.region("steps").begin;
  while (digits.word(3, slot) != table) slot += 4;
  digits.set_word(3, slot, 0);
  const FaultRun run = exec(3);
  expect_well_reported(run, 5);
  EXPECT_THAT(run.outcome.err, HasSubstr("exchange underrun"));
  EXPECT_THAT(run.outcome.err, HasSubstr("words from tile 3"));
  EXPECT_THAT(run.outcome.err, HasSubstr("exchange: images -> fc1 a"));
  EXPECT_THAT(run.outcome.err,
              ContainsRegex("tile 3 sends [0-9]+ times in this phase: [0-9]+ words from cycle [0-9]+"));
}

TEST_P(Fault, TilesInDifferentZones) {
  digits.set_word(7, sync_of("fc2 a"), sync(0, 0, kZoneHost));
  const FaultRun run = exec(7);
  expect_well_reported(run, 5);
  EXPECT_THAT(run.outcome.err, HasSubstr("different zones"));
  EXPECT_THAT(run.outcome.err, ContainsRegex("tile 7: .*sync host"));
  EXPECT_THAT(run.outcome.err, ContainsRegex("tiles 0-6, 8-15: .*sync internal"));
  EXPECT_THAT(run.outcome.err, HasSubstr("main/batch/fc2/fc2 a"));
}

TEST_P(Fault, ATileThatNeverSyncs) {
  const Address at = sync_of("fc1 a");
  digits.set_word(5, at, i(isa::Op::jal, 0, 0, 0));
  const FaultRun run = exec(5, {"--max-cycles", "25000"});
  expect_well_reported(run, 6);
  EXPECT_THAT(run.outcome.err, HasSubstr("25000 cycles"));
  EXPECT_THAT(run.outcome.err, ContainsRegex("tile 5: running.*0x000400"));
  EXPECT_THAT(run.outcome.err, ContainsRegex("tiles 0-4, 6-15: waits in x.sync internal"));
  EXPECT_THAT(run.outcome.err, HasSubstr("main/batch/fc1/fc1 a"));
}

TEST_P(Fault, ATrapInACodelet) {
  const executable::Symbol& codelet = digits.symbol("Relu_f32");
  digits.set_word(9, codelet.address + 8, 0);
  const FaultRun run = exec(9);
  expect_well_reported(run, 5);
  EXPECT_THAT(run.outcome.err, HasSubstr("illegal instruction"));
  EXPECT_THAT(run.outcome.err, ContainsRegex("tile 9 worker [1-6]"));
  EXPECT_THAT(run.outcome.err, ContainsRegex("Relu_f32\\+0x8, .*unary.c:[0-9]+"));
  EXPECT_THAT(run.outcome.err, HasSubstr("relu1 (Relu_f32) in compute set relu1"));
  EXPECT_THAT(run.outcome.err, ContainsRegex("> 0x[0-9a-f]{5}: 00000000  \\.word 0x00000000")) << "code around the pc";
  EXPECT_THAT(run.outcome.err, ContainsRegex(" sp=[0-9a-f]{8}")) << "registers";
  const std::string dump = read_file(directory + "/report/dump.txt");
  EXPECT_THAT(dump, ContainsRegex("IPU 0 tiles 0-(8, 10-)?15: (waits in x.sync internal|running)"));
  EXPECT_THAT(dump, ContainsRegex("IPU 0 tile 9 worker [1-6]: excepted, pc 0x[0-9a-f]{5} .Relu_f32.*cause 2"));
  EXPECT_THAT(dump, ContainsRegex("stack at 0x[0-9a-f]{5}: [0-9a-f]{8}"));
}

INSTANTIATE_TEST_SUITE_P(On, Fault,
                         ::testing::Values(Modelled{"tlm", {}}, Modelled{"rtl", {"--rtl", "all"}},
                                           Modelled{"lockstep", {"--lockstep", "all"}}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Unheard, WordsThatNobodyTakesAreTold) {
  // A tile sends one word more than anybody listens to, behind its last message.
  const std::string directory = scratch_directory();
  DamagedDigits digits{directory};
  unsigned tile = 0;
  Address at = 0;
  ExchangeDescriptor send;
  for (;; ++tile) {
    ASSERT_LT(tile, 16U) << "no tile has one linear send";
    const executable::TileTable& table = digits.table(tile, "images -> fc1");
    const ExchangeHeader header = ExchangeHeader::unpack(digits.descriptor(tile, table.begin));
    if (header.sends == 0) continue;
    at = table.begin + 8 * static_cast<Address>(header.sends);
    send = ExchangeDescriptor::unpack(digits.descriptor(tile, at));
    const bool two_words_before =
        header.sends > 1 && ExchangeDescriptor::unpack(digits.descriptor(tile, at - 8)).kind == kKindBlock;
    if (send.kind == kKindLinear && !two_words_before) break;
  }
  ++send.words;
  digits.set_descriptor(tile, at, send.pack());
  const FaultRun run =
      run_with_files(directory, {"exec", digits.write(), "--inputs", digits_inputs(), "--wave-to", "100"});
  EXPECT_EQ(run.outcome.exit_code, 0) << run.outcome.err;
  EXPECT_THAT(run.outcome.err,
              ContainsRegex("IPU 0 tile " + std::to_string(tile) + " sent [0-9]+ words that nobody heard"));
  EXPECT_THAT(run.outcome.err, HasSubstr("exchange: images -> fc1 a"));
  EXPECT_THAT(run.outcome.err, ContainsRegex("send descriptor [0-9]+ \\(table \\+ [0-9]+\\): [0-9]+ words"));
  EXPECT_GT(run.json.at("exchange").at("unheard").size(), 0U);
}

TEST(Race, IsAWrongProgramAndBothPlacesAreNamed) {
  // In place of saving two registers that nobody wants back, workers of tile 9 read a byte of the code behind their
  // return address and write it back as it was: nothing changes, but all of them touch it.
  const std::string directory = scratch_directory();
  DamagedDigits digits{directory};
  const Address codelet = digits.symbol("Relu_f32").address;
  digits.set_word(9, codelet + 4, encode(isa::Op::lbu, {15, 0, 1}));
  digits.set_word(9, codelet + 12, encode(isa::Op::sb, {15, 0, 1}));
  std::vector<std::string> arguments{"exec", digits.write(), "--inputs", digits_inputs()};
  EXPECT_EQ(tessera(arguments).exit_code, 0) << "unseen without --check";
  for (const char* more : {"--check", "--wave-scope", "ipu0.tile9.*"}) arguments.emplace_back(more);
  const FaultRun run = run_with_files(directory, arguments);
  expect_well_reported(run, 1);
  EXPECT_THAT(run.outcome.err, ContainsRegex("race on byte 0x[0-9a-f]+ of IPU 0 tile 9"));
  EXPECT_THAT(run.outcome.err, ContainsRegex("worker [1-6] (reads|executes) it at pc"));
  EXPECT_THAT(run.outcome.err, ContainsRegex("worker [1-6] writes it at pc 0x[0-9a-f]+ \\(Relu_f32\\+0xc, .*unary.c"));
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
