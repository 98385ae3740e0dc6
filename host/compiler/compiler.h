// From a graph to an executable: one program for one IPU. The same graph, platform and library give the same bytes.
//
// Passes, in order: validate, lower (programs to supersteps, staging, re-layout), liveness, control (machine code of
// the supervisors), code (codelets at one address), allocate, lists (vertex state and run lists), exchange (schedule
// and check of every phase), emit. Never talks to a simulator.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "host/codelets/codelet.h"
#include "host/executable/executable.h"
#include "host/graph/graph.h"
#include "hw/platform.h"

namespace tessera::compiler {

struct Options {
  std::string name = "program";  ///< of the model, for the executable
  unsigned ipu = 0;              ///< IPU that the one instance runs on
  // For comparisons of memory only.
  bool reuse = true;     ///< variables that are not live together share memory
  bool in_place = true;  ///< variables take the place of what dies in the compute set that makes them
  /// Called behind each pass with what it made, for dumps.
  std::function<void(const std::string& pass, const nlohmann::ordered_json& contents)> dump;
  /// Takes the report as soon as memory is known, also of what then turns out not to fit.
  std::function<void(const nlohmann::ordered_json& report)> report;
  /// Called before each pass: its name, its number from 0, number of passes.
  std::function<void(const std::string& pass, unsigned number, unsigned passes)> progress;
  /// Called often within long passes, also from several threads at once; what it throws ends the compilation.
  std::function<void()> poll;
};

struct PassTime {
  std::string name;
  double seconds = 0;  ///< wall time; never part of the executable
};

struct CompileReport {
  std::vector<PassTime> passes;
  nlohmann::ordered_json json;  ///< memory by tile and category, peak, phases, vertices, re-layout; deterministic
};

struct Compiled {
  executable::Executable executable;
  CompileReport report;
};

/// Throws Error: usage (the graph is wrong), unsupported, does_not_fit (memory; the report so far is in the advice).
[[nodiscard]] Compiled compile(const graph::Graph& graph, const Platform& platform, const CodeletLibrary& library,
                               const Options& options = {});

}  // namespace tessera::compiler
