// What a run of a model did for its cycles: multiply-accumulates by the model's definition over the peak of the matrix
// engines, memory of the fullest tile by category, cycles of each node, latency of a recurrence.
#pragma once

#include "host/cli/model_inputs.h"
#include "host/cli/session.h"

namespace tessera::cli {

/// Adds memory of the fullest tile by category to the result, and prints it if wanted.
void report_memory(Context& context, const CompiledModel& compiled, bool print);

struct NetworkReportOptions {
  bool nodes = false;  ///< print the figures, and a line for each node that multiplies
};

/// Adds the figures to the result, and prints them for examples and with --nodes ("work", "memory", "node_work",
/// "latency"). Returns what is wrong with the results as far as the example demands something of them, or nothing.
[[nodiscard]] std::string report_network(Context& context, const LoadedModel& loaded,
                                         const NetworkReportOptions& options, const CompiledModel& compiled,
                                         const Machine& machine, const DeviceRun& run);

}  // namespace tessera::cli
