// tessera: the command. Only this folder joins host software and simulator.

#include <cstdlib>
#include <systemc>

#include "host/cli/command.h"
#include "host/cli/commands.h"

namespace tessera::cli {

void add_all_commands(CLI::App& app, Context& context) {
  add_run_command(app, context);
  add_compile_command(app, context);
  add_exec_command(app, context);
  add_graph_command(app, context);
  add_profile_command(app, context);
  add_examples_command(app, context);
  add_devices_command(app, context);
  add_elf(app, context);
  add_onnx_test(app, context);
  add_demo_command(app, context);
  add_bench_command(app, context);
  add_hw_commands(app, context);
}

}  // namespace tessera::cli

// SystemC prints its banner before sc_main is called; standard error is for diagnostics of the run.
[[maybe_unused]] static const int banner_off = setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 0);

int sc_main(int argc, char** argv) {
  CLI::App app("Tessera: virtual platform and RTL co-verification testbench for an IPU-class machine", "tessera");
  app.set_version_flag("--version", std::string("0.1.0"));
  tessera::cli::Context context;
  tessera::cli::add_all_commands(app, context);
  return tessera::cli::run(app, context, argc, argv);
}
