// The part of run and exec that is the same: a compiled model with its inputs goes onto the machine; results are
// compared, printed and written; waves and reports are closed and readable on every way a run can end.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "host/cli/session.h"
#include "host/golden/compare.h"

namespace tessera::cli {

struct ResultOptions {
  std::string labels;    ///< --labels: class of each row
  std::string out;       ///< --out: directory for the outputs
  std::string report;    ///< --report: directory
  std::string expected;  ///< --expected: directory with output_0.pb, ...
  golden::Tolerance tolerance{1e-4, 1e-5, 0};

  void add_to(CLI::App& app);
  /// Throws Error(usage) for files to compare with that are not there: before anything long begins.
  void check() const;
};

struct FlowRequest {
  std::string title;           ///< file that is run, for the summary
  std::string what = "model";  ///< and what it is
  MachineOptions machine;
  ResultOptions results;
  std::optional<model::Tensor> labels;  ///< class of each row, if results.labels names no file
  /// Compares the outputs with a reference; empty if none was asked for.
  std::function<golden::Comparison(const DeviceRun&)> check;
  /// Looks at the machine's memory when the program has ended; may be empty.
  std::function<void(const engine::Engine&, Machine&)> inspect;
  /// Prints and adds to the result what is known of such a run beyond the usual; returns what is wrong with its
  /// results, or nothing. May be empty.
  std::function<std::string(Machine&, const DeviceRun&)> conclude;
  /// What to do about wrong results.
  std::string advice = "--lockstep all tells whether the machine is at fault; --rtol and --atol say what is accepted";
};

/// Runs to the end and returns 0, or throws: Error(wrong_result) if a reference or expected file differs, and whatever
/// ended the run.
int run_on_machine(Context& context, const FlowRequest& request, const Platform& platform,
                   const CompiledModel& compiled, const std::vector<model::Tensor>& inputs, Progress& progress);

}  // namespace tessera::cli
