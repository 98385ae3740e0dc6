// Faults in files, options, limits and in what surrounds a run: damaged executables, models that cannot be compiled,
// cycle limits, signals, wrong results, full disks. Each has its exit code, a message that says where, and whole files.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "host/onnx/test_models.h"
#include "tlm/tile/assembler.h"
#include "verif/system/damaged.h"
#include "verif/system/fault_support.h"

namespace tessera::test {
namespace {

namespace fs = std::filesystem;
using model::TestGraph;
using model::Type;
using tessera::testing::i;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> run_digits(std::vector<std::string> more = {}) {
  std::vector<std::string> arguments{"run", digits_model(), "--inputs", digits_inputs(), "--platform", "pocket"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

/// Exit code and message, on standard error and in the JSON.
Json expect_error(const std::string& directory, std::vector<std::string> arguments, int exit_code,
                  const CommandOptions& options = {}) {
  const std::string json = directory + "/error.json";
  fs::remove(json);
  arguments.insert(arguments.end(), {"--json", json});
  const Outcome outcome = tessera(arguments, options);
  EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
  EXPECT_FALSE(outcome.signalled);
  if (!fs::exists(json)) {
    ADD_FAILURE() << "no JSON result: " << outcome.err;
    return {};
  }
  Json result = Json::parse(read_file(json));
  EXPECT_EQ(result.at("exit_code"), exit_code);
  EXPECT_NE(result.at("error").at("message"), "");
  result["stderr"] = outcome.err;
  return result;
}

// ---- executables ----------------------------------------------------------------------------------------------------

struct Section {
  std::string name;
  std::size_t offset = 0, size = 0;
};

std::vector<Section> sections(const std::string& bytes) {
  static const char* const kNames[] = {"platform", "programs", "instances", "streams", "host steps", "report"};
  std::vector<Section> found;
  for (std::size_t id = 0; id < 6; ++id) {
    Section s{kNames[id], 0, 0};
    std::memcpy(&s.offset, bytes.data() + 32 + 24 * id + 8, 8);
    std::memcpy(&s.size, bytes.data() + 32 + 24 * id + 16, 8);
    found.push_back(s);
  }
  return found;
}

TEST(DamagedExecutable, CutShortAnywhereNamesFileAndSection) {
  const std::string directory = scratch_directory(), cut = directory + "/cut.tsx";
  const std::string bytes = read_file(DamagedDigits(directory).compiled());
  const auto refused = [&](std::size_t length, const std::string& where) {
    write_file(cut, bytes.substr(0, length));
    const Json result = expect_error(directory, {"exec", cut, "--inputs", digits_inputs()}, 2);
    EXPECT_THAT(result.at("stderr").get<std::string>(), HasSubstr(cut)) << length;
    EXPECT_THAT(result.at("error").at("where").get<std::string>(), HasSubstr(where)) << length;
  };
  for (const std::size_t length : {0, 7, 31}) refused(length, "header");
  for (const std::size_t length : {32, 100, 175}) refused(length, "section table");
  for (const Section& s : sections(bytes)) {
    refused(s.offset, "section " + s.name);
    refused(s.offset + s.size / 2, "section " + s.name);
    refused(s.offset + s.size - 1, "section " + s.name);
  }
}

TEST(DamagedExecutable, AChangedByteNamesTheSection) {
  const std::string directory = scratch_directory(), changed = directory + "/changed.tsx";
  const std::string bytes = read_file(DamagedDigits(directory).compiled());
  const auto refused = [&](std::size_t at, const std::string& where) {
    std::string copy = bytes;
    copy[at] = static_cast<char>(copy[at] ^ 0x10);
    write_file(changed, copy);
    const Json result = expect_error(directory, {"exec", changed, "--inputs", digits_inputs()}, 2);
    EXPECT_THAT(result.at("error").at("where").get<std::string>(), HasSubstr(changed)) << at;
    EXPECT_THAT(result.at("error").at("where").get<std::string>(), HasSubstr(where)) << at;
  };
  for (const std::size_t at : {0, 9, 13}) refused(at, "header");
  refused(17, "contents");
  refused(25, "contents");
  refused(36, "section platform");
  for (const Section& s : sections(bytes)) {
    refused(s.offset, "section " + s.name);
    refused(s.offset + s.size - 1, "section " + s.name);
  }
  write_file(changed, bytes + "x");
  const Json result = expect_error(directory, {"exec", changed, "--inputs", digits_inputs()}, 2);
  EXPECT_THAT(result.at("error").at("where").get<std::string>(), HasSubstr("end"));
}

TEST(DamagedExecutable, AnotherMachineIsRefusedWithBothNames) {
  const std::string directory = scratch_directory();
  const std::string file = DamagedDigits(directory).compiled();
  const Json result = expect_error(directory, {"exec", file, "--inputs", digits_inputs(), "--platform", "c2"}, 2);
  EXPECT_THAT(result.at("error").at("message").get<std::string>(), ContainsRegex("pocket.*c2"));
  const Json model = expect_error(directory, {"exec", digits_model(), "--inputs", digits_inputs()}, 2);
  EXPECT_THAT(model.at("error").at("message").get<std::string>(), HasSubstr("magic"));
}

// ---- models ---------------------------------------------------------------------------------------------------------

/// Runs and compiles a model that is refused; texts[i] have to be in the message.
void expect_refused(const TestGraph& graph, const std::vector<std::string>& texts) {
  const std::string directory = scratch_directory(), file = directory + "/m.onnx";
  write_file(file, model::to_bytes(graph));
  for (const std::string command : {"run", "compile"}) {
    std::vector<std::string> arguments{command, file, "--platform", "pocket"};
    if (command == "run") arguments.emplace_back("--synthetic");
    if (command == "compile") arguments.insert(arguments.end(), {"-o", directory + "/m.tsx"});
    const std::string err = expect_error(directory, arguments, 3).at("stderr");
    for (const std::string& text : texts) EXPECT_THAT(err, HasSubstr(text));
    EXPECT_THAT(err, Not(HasSubstr("'fine'")));
  }
  EXPECT_FALSE(fs::exists(directory + "/m.tsx"));
}

TEST(BadModel, UnsupportedOperatorsAreAllListed) {
  // Their results have shapes that depend on values, or values that depend on chance; the last is nobody's.
  TestGraph graph;
  graph.inputs = {{"x", Type::f32, {"1", "1", "4", "4"}}};
  graph.outputs = {{"y", Type::i64, {"4", "n"}}, {"v", Type::f32, {"1", "1", "4", "4"}}, {"w", Type::f32, {"1"}}};
  graph.nodes = {{"Relu", {"x"}, {"z"}, {}, "fine", ""},
                 {"NonZero", {"z"}, {"y"}, {}, "found", ""},
                 {"RandomNormalLike", {"z"}, {"v"}, {}, "noise", ""},
                 {"Fancy", {"z"}, {"w"}, {}, "own", "com.example"}};
  expect_refused(graph, {"in 3 nodes", "'found' (NonZero", "'noise' (RandomNormalLike", "'own' (Fancy"});
}

TEST(BadModel, WhatOnlyTheReferenceComputesIsAllListed) {
  TestGraph graph;
  graph.inputs = {{"x", Type::u8, {"4"}}, {"k", Type::i32, {"2"}}, {"u", Type::u8, {"2"}}};
  graph.outputs = {{"y", Type::u8, {"4"}}, {"v", Type::u8, {"4"}}};
  graph.nodes = {{"ScatterElements", {"x", "k", "u"}, {"z"}, {}, "fine", ""},
                 {"ScatterElements", {"z", "k", "u"}, {"y"}, {{"reduction", model::TestText{"add"}}}, "sums", ""},
                 {"ScatterElements", {"z", "k", "u"}, {"v"}, {{"reduction", model::TestText{"mul"}}}, "products", ""}};
  expect_refused(graph, {"the machine does not run", "'sums' (ScatterElements)", "'products' (ScatterElements)"});
}

TEST(BadModel, FilesThatAreNoModel) {
  const std::string directory = scratch_directory(), file = directory + "/m.onnx";
  const std::string bytes = read_file(digits_model());
  for (const std::size_t length : {std::size_t{0}, std::size_t{1}, bytes.size() / 2, bytes.size() - 1}) {
    write_file(file, bytes.substr(0, length));
    const Json result = expect_error(directory, {"run", file, "--inputs", digits_inputs(), "--platform", "pocket"}, 2);
    EXPECT_THAT(result.at("stderr").get<std::string>(), HasSubstr(file)) << length;
  }
  expect_error(directory, {"run", directory + "/none.onnx", "--inputs", digits_inputs()}, 2);
  expect_error(directory, {"run", directory, "--inputs", digits_inputs()}, 2);
}

TEST(TooBig, WeightsBeyondTheMachineNameNeedAndHave) {
  const std::string directory = scratch_directory(), file = directory + "/big.onnx";
  TestGraph graph;
  graph.inputs = {{"x", Type::f32, {"4", "1024"}}};
  graph.outputs = {{"y", Type::f32, {"4", "2048"}}};
  graph.initializers = {{"weights", model::Tensor(Type::f32, {1024, 2048})}};
  graph.nodes = {{"MatMul", {"x", "weights"}, {"y"}, {}, "wide", ""}};
  write_file(file, model::to_bytes(graph));
  const std::string report = directory + "/report";
  const Json result =
      expect_error(directory, {"run", file, "--synthetic", "--platform", "pocket", "--report", report}, 4);
  const std::string err = result.at("stderr");
  EXPECT_THAT(err, HasSubstr("wide"));
  EXPECT_THAT(err, HasSubstr("262144"));
  EXPECT_THAT(err, ContainsRegex("[0-9]+ bytes"));
  EXPECT_NE(result.at("error").at("advice"), "");
  const Json written = Json::parse(read_file(report + "/report.json"));
  EXPECT_EQ(written.at("exit_code"), 4);
  EXPECT_EQ(written.at("error").at("message"), result.at("error").at("message"));
  EXPECT_TRUE(fs::exists(report + "/report.txt"));
}

TEST(TooBig, ATileWithLittleMemoryNamesTheLargestVariables) {
  const std::string directory = scratch_directory(), platform = directory + "/tiny.json";
  // Many elementwise nodes that all stay alive: no plan can make it fit, the allocator has to say so.
  TestGraph graph;
  graph.inputs = {{"x", Type::f32, {"16", "8192"}}};
  graph.outputs = {{"y", Type::f32, {"16", "8192"}}};
  std::string last = "x";
  for (int k = 0; k < 6; ++k) {
    const std::string name = "kept" + std::to_string(k);
    graph.nodes.push_back({k % 2 == 0 ? "Sigmoid" : "Tanh", {last}, {name}, {}, "make_" + name, ""});
    last = name;
  }
  for (int k = 0; k < 6; ++k) {
    const std::string name = k == 5 ? "y" : "sum" + std::to_string(k);
    graph.nodes.push_back({"Add", {last, "kept" + std::to_string(k)}, {name}, {}, "add_" + name, ""});
    last = name;
  }
  write_file(directory + "/m.onnx", model::to_bytes(graph));
  Json pocket = Json::parse(read_file(source_path("hw/platforms/pocket.json")));
  pocket["sram_bytes"] = 65536;
  pocket["name"] = "tiny";
  write_file(platform, pocket.dump());
  const std::string report = directory + "/report";
  const Json result = expect_error(
      directory, {"run", directory + "/m.onnx", "--synthetic", "--platform", platform, "--report", report}, 4);
  const std::string err = result.at("stderr");
  EXPECT_THAT(err, ContainsRegex("tile [0-9]+ needs [0-9]+ bytes, it has 65536 \\([0-9]+ too many\\)"));
  EXPECT_THAT(err, ContainsRegex("largest variables: [a-z_0-9]+ [0-9]+"));
  EXPECT_NE(result.at("error").at("advice"), "");
  EXPECT_EQ(Json::parse(read_file(report + "/report.json")).at("exit_code"), 4);
}

// ---- limits and results ---------------------------------------------------------------------------------------------

TEST(Limits, CycleLimitEndsTheRunWithAllItsFiles) {
  const std::string directory = scratch_directory();
  const FaultRun run = run_with_files(directory, run_digits({"--max-cycles", "20000"}));
  expect_well_reported(run, 6);
  EXPECT_THAT(run.outcome.err, HasSubstr("limit of 20000 cycles"));
  EXPECT_THAT(run.outcome.err, HasSubstr("main/batch"));
  const auto ran = run.json.at("error").at("cycle").get<std::uint64_t>() -
                   run.json.at("unfinished").at("start_cycle").get<std::uint64_t>();
  EXPECT_GE(ran, 20000U);
  EXPECT_LT(ran, 30000U);
  EXPECT_EQ(run.report.at("unfinished").at("tiles").size(), run.json.at("unfinished").at("tiles").size());
  expect_no_leftovers(directory);
}

TEST(Limits, TilesThatWaitForeverEndTheRunWithoutACycleLimit) {
  const std::string directory = scratch_directory();
  DamagedDigits digits(directory);
  const executable::Step step = digits.steps(executable::Step::Kind::exchange).front();
  digits.set_word(5, step.begin, i(isa::Op::jal, 0, 0, 0));
  const FaultRun run =
      run_with_files(directory, {"exec", digits.write(), "--inputs", digits_inputs(), "--max-idle-cycles", "2000000"});
  expect_well_reported(run, 6);
  EXPECT_THAT(run.outcome.err, HasSubstr("2000000 cycles"));
  EXPECT_THAT(run.outcome.err, HasSubstr("no sync"));
  EXPECT_THAT(run.outcome.err, ContainsRegex("tile 5: running"));
  EXPECT_THAT(run.outcome.err, ContainsRegex("tiles 0-4, 6-15: waits in x.sync internal"));
}

TEST(Limits, LongComputationIsNoDeadlock) {
  const std::string directory = scratch_directory();
  const Outcome outcome = tessera(run_digits({"--max-idle-cycles", "100000"}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

TEST(WrongResult, OneChangedValueIsFoundAndReported) {
  const std::string directory = scratch_directory(), out = directory + "/out";
  ASSERT_EQ(tessera(run_digits({"--out", out})).exit_code, 0);
  EXPECT_EQ(tessera(run_digits({"--expected", out})).exit_code, 0);
  std::string bytes = read_file(out + "/output_0.pb");
  bytes[bytes.size() - 401] = static_cast<char>(bytes[bytes.size() - 401] ^ 0x40);
  bytes[bytes.size() - 402] = static_cast<char>(bytes[bytes.size() - 402] ^ 0x40);
  write_file(out + "/output_0.pb", bytes);
  const FaultRun run = run_with_files(directory, run_digits({"--expected", out, "--wave-to", "superstep=2"}));
  expect_well_reported(run, 1);
  EXPECT_THAT(run.outcome.err, HasSubstr("differ"));
  EXPECT_GE(run.json.at("expected").at("wrong"), 1);
  EXPECT_LE(run.json.at("expected").at("wrong"), 2);
  EXPECT_TRUE(run.report.contains("cycle_profile"));
  EXPECT_FALSE(run.report.contains("unfinished"));
}

// ---- usage ----------------------------------------------------------------------------------------------------------

TEST(Usage, EveryMistakeIsInTheJsonToo) {
  const std::string directory = scratch_directory();
  const std::vector<std::vector<std::string>> mistakes = {
      {"run"},
      {"run", digits_model(), "--platfrom", "pocket"},
      {"run", digits_model(), "--platform", "pocket"},
      {"run", digits_model(), "--inputs", directory + "/none"},
      {"run", digits_model(), "--inputs", digits_inputs(), "--max-cycles", "-1"},
      {"run", digits_model(), "--inputs", digits_inputs(), "--threads", "0"},
      {"exec", directory + "/none.tsx"},
      {"compile", digits_model()},
      {"nothing"},
  };
  for (const auto& mistake : mistakes) expect_error(directory, mistake, 2);
}

// ---- signals --------------------------------------------------------------------------------------------------------

class Signals : public ::testing::TestWithParam<int> {};

TEST_P(Signals, ALongRunEndsInOrder) {
  const std::string directory = scratch_directory();
  CommandOptions options;
  options.signal = GetParam();
  options.signal_after = std::chrono::milliseconds(700);
  options.limit = std::chrono::seconds(60);
  const FaultRun run = run_with_files(
      directory, run_digits({"--rtl", "all", "--wave-scope", "tile0", "--wave-scope", "tile9"}), options);
  expect_well_reported(run, 128 + GetParam());
  EXPECT_FALSE(run.outcome.signalled) << "it ends by itself, in order";
  EXPECT_EQ(run.json.at("error").at("signal"), GetParam());
  EXPECT_THAT(run.outcome.err, HasSubstr("ended in cycle"));
  EXPECT_GT(run.json.at("unfinished").at("cycle"), 0);
  expect_no_leftovers(directory);
}

TEST_P(Signals, AnEndlessProgramSaysWhereItStood) {
  const std::string directory = scratch_directory();
  DamagedDigits digits(directory);
  const executable::Step step = digits.steps(executable::Step::Kind::exchange).front();
  digits.set_word(5, step.begin, i(isa::Op::jal, 0, 0, 0));
  CommandOptions options;
  options.signal = GetParam();
  options.signal_after = std::chrono::milliseconds(700);
  options.limit = std::chrono::seconds(60);
  const FaultRun run = run_with_files(
      directory, {"exec", digits.write(), "--inputs", digits_inputs(), "--wave-to", "superstep=2"}, options, "vcd");
  expect_well_reported(run, 128 + GetParam());
  EXPECT_THAT(run.outcome.err, ContainsRegex("tile 5: running.*" + step.name));
  EXPECT_THAT(run.outcome.err, ContainsRegex("tiles 0-4, 6-15: waits in x.sync internal"));
}

INSTANTIATE_TEST_SUITE_P(Each, Signals, ::testing::Values(SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGXCPU, SIGABRT),
                         [](const auto& info) { return std::string("SIG") + sigabbrev_np(info.param); });

// ---- full disks -----------------------------------------------------------------------------------------------------

TEST(FullDisk, WhatCannotBeWrittenIsAnErrorAndLeavesNothingHalf) {
  const std::string directory = scratch_directory();
  const auto refused = [&](const std::vector<std::string>& more, std::uint64_t bytes, const std::string& file) {
    CommandOptions options;
    options.file_limit = bytes;
    const Outcome outcome = tessera(run_digits(more), options);
    EXPECT_EQ(outcome.exit_code, 2) << file << ": " << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(file));
    EXPECT_FALSE(fs::exists(file)) << file;
    expect_no_leftovers(directory);
  };
  refused({"--json", directory + "/r.json"}, 500, directory + "/r.json");
  refused({"--out", directory + "/out"}, 10000, directory + "/out/output_0.pb");
  refused({"--report", directory + "/report"}, 1000, directory + "/report/report.json");
  for (const std::string& file : {directory + "/w.fst", directory + "/w.vcd"}) {
    const std::vector<std::string> traced = {"--lockstep", "1",           "--wave-scope", "tile1",
                                             "--wave-to",  "superstep=2", "--wave",       file};
    ASSERT_EQ(tessera(run_digits(traced)).exit_code, 0);
    const std::uint64_t whole = fs::file_size(file);
    ASSERT_GT(whole, 4000U);
    fs::remove(file);
    for (const std::uint64_t bytes : {std::uint64_t{1000}, whole / 2}) refused(traced, bytes, file);  // start, middle
  }
  CommandOptions options;
  options.file_limit = 50000;
  const std::string tsx = directory + "/d.tsx";
  const Outcome outcome =
      tessera({"compile", digits_model(), "--shape", "images=599,64", "--platform", "pocket", "-o", tsx}, options);
  EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr(tsx));
  EXPECT_FALSE(fs::exists(tsx));
  expect_no_leftovers(directory);
}

TEST(FullDisk, PlacesThatCannotBeMade) {
  const std::string directory = scratch_directory(), blocker = directory + "/file";
  write_file(blocker, "x");
  expect_error(directory, run_digits({"--out", blocker + "/out"}), 2);
  expect_error(directory, run_digits({"--report", blocker + "/report"}), 2);
  expect_error(directory, run_digits({"--wave", blocker + "/w.fst"}), 2);
  EXPECT_EQ(tessera(run_digits({"--json", "/dev/full"})).exit_code, 2);
  CommandOptions full;
  full.stdout_path = "/dev/full";
  const Outcome outcome = tessera(run_digits({"--json", directory + "/r.json"}), full);
  EXPECT_EQ(outcome.exit_code, 2);
  const Json result = Json::parse(read_file(directory + "/r.json"));
  EXPECT_EQ(result.at("exit_code"), 2);
  EXPECT_THAT(result.at("error").at("message").get<std::string>(), HasSubstr("standard output"));
}

TEST(FullDisk, AFailedRunKeepsItsOwnCodeWhenItsReportCannotBeWritten) {
  const std::string directory = scratch_directory();
  CommandOptions options;
  options.file_limit = 2000;  // of the report, the JSON is smaller
  const Outcome outcome =
      tessera(run_digits({"--max-cycles", "20000", "--report", directory + "/report"}), options);
  EXPECT_EQ(outcome.exit_code, 6) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("warning: cannot write the file"));
  expect_no_leftovers(directory);
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(FullDisk, WhatCannotBeWrittenIsToldOnceAndBeforeTheWork) {
  const std::string directory = scratch_directory(), file = directory + "/file", tsx = directory + "/d.tsx";
  write_file(file, "x");
  const std::string program = built_path("verif/conformance/programs/c_float.elf");
  const std::vector<std::vector<std::string>> commands = {
      run_digits({"--json", file + "/r.json"}),
      run_digits({"--report", file + "/report"}),
      run_digits({"--out", file + "/out"}),
      run_digits({"--dump-passes", file + "/passes"}),
      run_digits({"--wave", file + "/w.fst"}),
      run_digits({"--wave", directory + "/w.txt"}),
      {"compile", digits_model(), "--shape", "images=1,64", "--platform", "pocket", "-o", file + "/d.tsx"},
      {"compile", digits_model(), "--shape", "images=1,64", "-o", tsx, "--report", file + "/report"},
      {"elf", program, "--context", "worker", "--trace", file + "/t"},
      {"elf", program, "--context", "worker", "--signature", file + "/s"},
      {"examples", "digits", "--save", file + "/d.onnx"},
      {"examples", "digits", "--inputs", file + "/inputs"},
      {"graph", digits_model(), "--shape", "images=1,64", "--picture", file + "/p.png"},
      {"demo", "workers", "--platform", "pocket", "-o", file + "/w.tsx"}};
  for (const auto& command : commands) {
    const Outcome outcome = tessera(command);
    const std::string& place = command.back().rfind(directory, 0) == 0 ? command.back() : file;
    EXPECT_EQ(outcome.exit_code, 2) << command[0] << " " << command.back();
    EXPECT_EQ(outcome.out, "") << command[0] << " " << command.back();
    EXPECT_EQ(count(outcome.err, place), 1U) << outcome.err;
  }
  EXPECT_FALSE(fs::exists(tsx));
  // A file that was there stays as it was.
  EXPECT_EQ(read_file(file), "x");
}

TEST(FullDisk, StandardOutputAndTracesTellOfAFullDisk) {
  const std::string directory = scratch_directory();
  CommandOptions full;
  full.stdout_path = "/dev/full";
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"--help"}, {"--version"}, {"run", "--help"}, {"isa"}, {"platforms"}, {"examples"}, {"registers"}}) {
    const Outcome outcome = tessera(command, full);
    EXPECT_EQ(outcome.exit_code, 2) << command[0];
    EXPECT_THAT(outcome.err, HasSubstr("cannot write to standard output"));
  }
  const std::vector<std::string> elf = {"elf", built_path("verif/conformance/programs/c_float.elf"), "--context", "worker"};
  const auto refused = [&](const std::string& option, const std::string& file, std::optional<std::uint64_t> limit) {
    CommandOptions options;
    options.file_limit = limit;
    std::vector<std::string> arguments = elf;
    arguments.insert(arguments.end(), {option, file});
    const Outcome outcome = tessera(arguments, options);
    EXPECT_EQ(outcome.exit_code, 2) << option << " " << file << ": " << outcome.err;
    EXPECT_EQ(count(outcome.err, file), 1U) << outcome.err;
    expect_no_leftovers(directory);
  };
  refused("--trace", "/dev/full", std::nullopt);
  refused("--json", "/dev/full", std::nullopt);
  refused("--trace", directory + "/t.trace", 5000);
  EXPECT_FALSE(fs::exists(directory + "/t.trace"));
}

// ---- two at a time --------------------------------------------------------------------------------------------------

TEST(SameFile, RunsOfOneNameDoNotMix) {
  const std::string directory = scratch_directory(), wave = directory + "/w.vcd", json = directory + "/r.json";
  // Different runs, so that parts of one in the files of the other would show.
  const std::string script =
      "for n in 1 2 3; do for scope in tile1 tile2.tlm.sync; do $0 \"$@\" --wave-scope $scope & done; wait; done";
  std::vector<std::string> command = {"bash", "-c", script, built_path("bin/tessera")};
  const std::vector<std::string> run =
      run_digits({"--wave", wave, "--wave-to", "superstep=2", "--json", json, "--report", directory + "/report"});
  command.insert(command.end(), run.begin(), run.end());
  const Outcome outcome = run_command(command);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, Not(HasSubstr("tessera:")));
  const std::string text = read_file(wave), view = read_file(directory + "/w.gtkw");
  EXPECT_THAT(text, HasSubstr("$enddefinitions"));
  const bool first = text.find("tile1") != std::string::npos;
  EXPECT_NE(first, text.find("tile2") != std::string::npos) << "signals of one run";
  EXPECT_EQ(first, view.find("tile1") != std::string::npos) << "and the view of that run";
  EXPECT_EQ(Json::parse(read_file(json)).at("exit_code"), 0);
  EXPECT_EQ(Json::parse(read_file(directory + "/report/report.json")).at("exit_code"), 0);
  expect_no_leftovers(directory);
}

// ---- signals to commands that run no machine ------------------------------------------------------------------------

TEST(Interrupted, ExamplesLeaveNoFiles) {
  const std::string directory = scratch_directory();
  for (const int signal : {SIGINT, SIGTERM}) {
    CommandOptions options;
    options.signal = signal;
    options.signal_after = std::chrono::milliseconds(50);
    const Outcome outcome = tessera({"examples", "bert", "--save", directory + "/bert.onnx"}, options);
    EXPECT_EQ(outcome.exit_code, 128 + signal) << outcome.err;
    EXPECT_FALSE(outcome.signalled) << "it ends by itself, in order";
    EXPECT_FALSE(fs::exists(directory + "/bert.onnx"));
    expect_no_leftovers(directory);
  }
}

TEST(FewOpenFiles, WavesOfManyTilesSayWhatToDo) {
  const std::string directory = scratch_directory();
  std::vector<std::string> command = {"bash", "-c", "ulimit -n 24; exec $0 \"$@\"", built_path("bin/tessera")};
  const std::vector<std::string> run = run_digits({"--wave", directory + "/w.fst"});
  command.insert(command.end(), run.begin(), run.end());
  const Outcome outcome = run_command(command);
  EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("ulimit -n"));
  expect_no_leftovers(directory);
}

}  // namespace
}  // namespace tessera::test
