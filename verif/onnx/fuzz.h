// Damaged ONNX models, made from good ones by seeded mutations of their bytes and of their structure, given to import
// (and, where that accepts them and they are small, to the reference). What may come out is a model or a typed Error.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::model {

struct FuzzOptions {
  std::uint64_t seed = 1;
  std::uint64_t iterations = 1000;
  double seconds = 0;  ///< stop after so much wall time even if iterations are left; 0: do not
};

struct FuzzReport {
  std::uint64_t iterations = 0, accepted = 0, computed = 0, refused = 0;
  /// What came out that must not, each with the iteration that makes it again.
  std::vector<std::string> failures;
};

/// The damaged model of one iteration; depends on seed, iteration and the installed test models alone.
[[nodiscard]] std::string fuzzed_model(std::uint64_t seed, std::uint64_t iteration);

/// Runs until done or five failures. A crash or a hang of one iteration (over a minute) ends the process; `trace_file`,
/// if not empty, then holds the iteration. Memory of the process is limited to 4 GiB meanwhile.
[[nodiscard]] FuzzReport fuzz_import(const FuzzOptions& options, const std::string& trace_file = {});

}  // namespace tessera::model
