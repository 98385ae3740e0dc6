// Runs part of a benchmark in a process of its own: SystemC elaborates once a process, and peak memory is a process's.
#pragma once

#include <functional>
#include <string>

namespace tessera::bench {

/// What `task` returned in a child process; the text may be of any length. Empty if the child died, {"error": what} in
/// JSON if the task threw. Throws Error(internal) if there can be no child.
[[nodiscard]] std::string run_apart(const std::function<std::string()>& task);

}  // namespace tessera::bench
