// The promise of docs/determinism.md on the command: outputs, cycles, JSON, reports and traces are the same bytes for
// any number of host threads, with tracing and without, run after run.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "verif/support/run_command.h"

namespace tessera::test {
namespace {

using Json = nlohmann::json;

const std::string kDigits = source_path("host/examples/digits");

/// A JSON file without the fields that may differ, as docs/determinism.md lists them.
std::string without_free_fields(const std::string& text) {
  Json json = Json::parse(text);
  EXPECT_EQ(json.erase("threads"), 1U);
  for (const char* field : {"arguments", "wall", "wave"}) json.erase(field);  // a waveform's own bytes are compared
  return json.dump();
}

struct Files {
  std::string outputs, json, report, text;
};

class Determinism : public ::testing::Test {
 protected:
  void SetUp() override {
    const Outcome compiled = tessera({"compile", kDigits + "/digits.onnx", "--shape", "images=599,64", "--platform",
                                      "c2", "-o", file("digits.tsx")});
    ASSERT_EQ(compiled.exit_code, 0) << compiled.err;
  }
  std::string file(const std::string& name) const { return directory_ + "/" + name; }

  Files run(const std::string& name, const std::vector<std::string>& more) const {
    std::vector<std::string> arguments = {
        "exec",  file("digits.tsx"), "--inputs", kDigits,   "--json", file(name) + ".json",
        "--out", file(name),         "--report", file(name)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = tessera(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << name << ": " << outcome.err;
    Files run;
    run.outputs = read_file(file(name) + "/output_0.pb");
    run.json = without_free_fields(read_file(file(name) + ".json"));
    run.report = without_free_fields(read_file(file(name) + "/report.json"));
    run.text = read_file(file(name) + "/report.txt");
    const std::size_t threads = run.text.find("threads "), end = run.text.find('\n', threads);
    EXPECT_NE(threads, std::string::npos) << run.text;
    run.text.erase(threads, end - threads);
    return run;
  }

  static void expect_same(const Files& a, const Files& b, const std::string& name) {
    EXPECT_EQ(a.outputs, b.outputs) << name;
    EXPECT_EQ(a.json, b.json) << name;
    EXPECT_EQ(a.report, b.report) << name;
    EXPECT_EQ(a.text, b.text) << name;
  }

 private:
  std::string directory_ = scratch_directory();
};

TEST_F(Determinism, WholeChipOnAnyNumberOfThreadsAndRunAfterRun) {
  const Files first = run("first", {"--threads", "1"});
  EXPECT_GT(first.outputs.size(), 599U * 10 * 4);
  EXPECT_GT(first.report.size(), 1216U * 20);
  const Json json = Json::parse(first.json);
  EXPECT_GT(json.at("cycles"), 1000);
  EXPECT_GT(json.at("instructions"), 1000000);
  for (const char* again : {"second", "third"}) expect_same(run(again, {"--threads", "1"}), first, again);
  for (const char* threads : {"2", "4", "8"})
    expect_same(run(std::string("threads") + threads, {"--threads", threads}), first, threads);
}

TEST_F(Determinism, TracesAreTheSameBytesAndChangeNothing) {
  const Files plain = run("plain", {"--threads", "2"});
  std::string trace;
  for (const char* threads : {"1", "2", "8"}) {
    const std::string name = std::string("wave") + threads, wave = file(name) + ".vcd";
    const Files traced = run(name, {"--threads", threads, "--wave", wave, "--wave-scope", "ipu0.tile3", "--wave-scope",
                                    "tile7", "--wave-to", "superstep=4"});
    const std::string bytes = read_file(wave);
    EXPECT_GT(bytes.size(), 2000U);
    if (trace.empty()) trace = bytes;
    EXPECT_EQ(bytes, trace) << threads;
    expect_same(traced, plain, name);
  }
}

}  // namespace
}  // namespace tessera::test
