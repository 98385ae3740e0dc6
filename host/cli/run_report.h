// What a run leaves behind: the report directory, the JSON result, the printed summary.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "host/cli/session.h"
#include "hw/error.h"

namespace tessera::cli {

/// Figures of a run for the JSON result. Everything below "wall" depends on the host; nothing else does.
void add_run(nlohmann::ordered_json& result, const Machine& machine, const CompiledModel& compiled,
             const DeviceRun& run);

/// Cycles per tile and per step: compute + exchange + sync + idle = total for every tile (throws std::logic_error if
/// not).
[[nodiscard]] nlohmann::ordered_json cycles_json(const profile::CycleProfile& profile,
                                                 const executable::Executable& executable);

/// Writes DIR/report.json and DIR/report.txt, whole or not at all.
void write_report(const std::string& directory, const nlohmann::ordered_json& report);
/// The report of what could not be compiled or run: the result so far, the error and what the compiler knew. Nothing
/// if `directory` is empty.
void write_failed_report(const Context& context, const std::string& directory, const Error& error,
                         const nlohmann::ordered_json& compiler = {});

}  // namespace tessera::cli
