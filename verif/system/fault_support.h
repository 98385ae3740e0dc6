// What the tests of faults look at: the files that a run left behind, and one command line for all of them.
#pragma once

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "verif/support/run_command.h"

namespace tessera::test {

using Json = nlohmann::json;

/// A run of `tessera` with every file that it can leave: waveform, report, JSON result.
struct FaultRun {
  Outcome outcome;
  Json json;         ///< --json; null if it is not there
  Json report;       ///< report.json; null if it is not there
  std::string wave;  ///< as VCD text; empty if it is not there or cannot be read
};

inline std::string digits_model() { return source_path("host/examples/digits/digits.onnx"); }
inline std::string digits_inputs() { return source_path("host/examples/digits"); }

/// The text of a waveform, FST through fst2vcd; fails the test if it cannot be read.
std::string wave_text(const std::string& path);
/// Last time in a VCD text, ps.
std::uint64_t last_time(const std::string& vcd);

/// Runs with --wave <directory>/run.<suffix> --report <directory>/report --json <directory>/result.json; reads them.
FaultRun run_with_files(const std::string& directory, std::vector<std::string> arguments,
                        const CommandOptions& options = {}, const std::string& suffix = "fst", bool faulty = false);

/// Exit code in the process and in the JSON, an error message there and in the report, a waveform that reaches the
/// fault.
void expect_well_reported(const FaultRun& run, int exit_code);

/// Nothing unfinished is left in the directory.
void expect_no_leftovers(const std::string& directory);

}  // namespace tessera::test
