// The commands, one function each in command_<name>.cpp; main adds them in the order users meet them.
#pragma once

#include "host/cli/command.h"

namespace tessera::cli {

/// Adds every command of this build.
void add_all_commands(CLI::App& app, Context& context);

void add_run_command(CLI::App& app, Context& context);
void add_compile_command(CLI::App& app, Context& context);
void add_exec_command(CLI::App& app, Context& context);
void add_devices_command(CLI::App& app, Context& context);
void add_graph_command(CLI::App& app, Context& context);
/// profile: reports of runs, memory of models.
void add_profile_command(CLI::App& app, Context& context);
void add_elf(CLI::App& app, Context& context);
/// examples: networks by name.
void add_examples_command(CLI::App& app, Context& context);
void add_onnx_test(CLI::App& app, Context& context);
void add_demo_command(CLI::App& app, Context& context);
void add_bench_command(CLI::App& app, Context& context);
/// platforms, isa, registers.
void add_hw_commands(CLI::App& app, Context& context);

}  // namespace tessera::cli
