// Races between vertices of one compute set, planted on one tile of a large machine: found where they are looked for,
// with both places in the program's terms, and never claimed to have been looked for elsewhere. What the exchange moves
// cannot race: x.exchange waits for all workers, and the supervisor for its end.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "hw/encode.h"
#include "verif/system/damaged.h"
#include "verif/system/fault_support.h"

namespace tessera::test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

// A tile of the c2 among the 64 that a check looks at, and one that is not (host/cli/tile_list_test.cpp).
constexpr unsigned kSeen = 30, kUnseen = 31;

/// Records of a tile's first compute set of two workers.
std::pair<executable::VertexRecord, executable::VertexRecord> two_workers(const Vertices& vertices) {
  const executable::VertexRecord first = vertices.records.front();
  const auto other = std::find_if(vertices.records.begin(), vertices.records.end(),
                                  [&first](const auto& r) { return r.workers != first.workers; });
  if (other == vertices.records.end()) throw std::runtime_error("one worker does it all");
  return {first, *other};
}

/// Before their vertices two workers touch a byte of unused memory: one writes it, the other writes or reads it.
void plant_race(DamagedDigits& digits, unsigned tile, isa::Op second) {
  const Vertices victims = digits.first_vertices(tile);
  const auto [first, other] = two_workers(victims);
  executable::Program& program = digits.program();
  const executable::Region& data = digits.region("data");
  Address at = data.begin + (data.end - data.begin) / 128 * 64;
  const Address byte = at + 64;
  constexpr std::uint32_t kA4 = 14, kA5 = 15;
  for (const auto& [record, op] : {std::pair{first, isa::Op::sb}, {other, second}}) {
    const Address begin = at;
    ASSERT_EQ(digits.word(tile, record.record), victims.codelet.address);
    digits.set_word(tile, record.record, begin);
    digits.set_word(tile, at, isa::encode(isa::Op::auipc, {kA5, 0}));
    digits.set_word(tile, at + 4, isa::encode(op, {kA4, byte - begin, kA5}));
    digits.set_word(tile, at + 8, isa::encode(isa::Op::jal, {0, victims.codelet.address - (at + 8)}));
    at += 12;
    program.symbols.push_back({victims.codelet.name, begin, 12});
  }
}

struct RaceRun {
  Outcome outcome;
  Json json;
};

RaceRun check_races(const std::string& directory, const DamagedDigits& digits,
                    const std::vector<std::string>& options) {
  std::vector<std::string> arguments{
      "exec", digits.write(), "--inputs", digits_inputs(), "--json", directory + "/result.json", "--check"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  RaceRun run{tessera(arguments), {}};
  run.json = Json::parse(read_file(directory + "/result.json"));
  return run;
}

/// The tile, the byte, both workers with their pcs, the vertices and the step.
void expect_found(const RaceRun& run, unsigned tile, const DamagedDigits& digits, const std::string& second) {
  const Vertices victims = digits.first_vertices(tile);
  EXPECT_EQ(run.outcome.exit_code, 1) << run.outcome.err;
  EXPECT_THAT(run.outcome.err, ContainsRegex(fmt::format("race on byte 0x[0-9a-f]+ of IPU 0 tile {}: worker [1-6] "
                                                         "(writes|reads) it at pc 0x[0-9a-f]+ \\({}\\+.*, worker "
                                                         "[1-6] ({}) it at pc 0x[0-9a-f]+ \\({}\\+",
                                                         tile, victims.codelet.name, second, victims.codelet.name)));
  EXPECT_THAT(run.outcome.err, HasSubstr("and nothing orders the two"));
  const executable::VertexName& name = digits.program().vertex_names.at(victims.records.front().name);
  EXPECT_THAT(run.outcome.err,
              HasSubstr(fmt::format("vertex: {} ({}) in compute set {}", name.vertex, name.codelet, name.compute_set)));
  EXPECT_THAT(run.outcome.err, HasSubstr(fmt::format("program: {} ({})", victims.step.path, victims.step.name)));
  ASSERT_EQ(run.json.at("races").size(), 1U);
  EXPECT_THAT(run.json.at("races").at(0).get<std::string>(), HasSubstr(fmt::format("tile {}:", tile)));
}

const Json kSample = {{"tiles", 64}, {"of", 1216}}, kAll = {{"tiles", 1216}, {"of", 1216}};

TEST(SampledRaces, AreFoundInATileOfTheSampleWithVerticesAndStep) {
  const std::string directory = scratch_directory();
  const DamagedDigits sound(directory, "c2");
  const RaceRun clean = check_races(directory, sound, {"--race-tiles", "64"});
  EXPECT_EQ(clean.outcome.exit_code, 0) << clean.outcome.err;
  EXPECT_TRUE(clean.json.at("races").empty());
  for (const isa::Op second : {isa::Op::sb, isa::Op::lbu}) {
    DamagedDigits digits = sound;
    plant_race(digits, kSeen, second);
    const RaceRun run = check_races(directory, digits, {"--race-tiles", "64"});
    expect_found(run, kSeen, digits, second == isa::Op::sb ? "writes" : "reads|writes");
    EXPECT_EQ(run.json.at("race_check"), kSample);
  }
}

TEST(SampledRaces, AreNotFoundElsewhereAndTheRunSaysWhereItLooked) {
  const std::string directory = scratch_directory();
  DamagedDigits digits(directory, "c2");
  plant_race(digits, kUnseen, isa::Op::lbu);
  const RaceRun sampled = check_races(directory, digits, {"--race-tiles", "64"});
  EXPECT_EQ(sampled.outcome.exit_code, 0) << sampled.outcome.err;
  EXPECT_THAT(sampled.outcome.out, HasSubstr("races       looked for in 64 of the 1216 tiles of an IPU"));
  EXPECT_EQ(sampled.json.at("race_check"), kSample);
  EXPECT_TRUE(sampled.json.at("races").empty());
  const RaceRun all = check_races(directory, digits, {});
  expect_found(all, kUnseen, digits, "reads|writes");
  EXPECT_THAT(all.outcome.out, Not(HasSubstr("looked for in")));
  EXPECT_EQ(all.json.at("race_check"), kAll);
}

}  // namespace
}  // namespace tessera::test
