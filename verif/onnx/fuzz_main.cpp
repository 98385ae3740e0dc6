// onnx_fuzz: fuzzes import for a time or a number of iterations, or writes the model of one iteration to a file.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <limits>

#include "host/onnx/tensor_io.h"
#include "verif/onnx/fuzz.h"

int main(int argc, char** argv) {
  using namespace tessera::model;
  CLI::App app("Gives import damaged models; ends with code 1 if anything but a model or a typed error comes out");
  FuzzOptions options;
  options.iterations = std::numeric_limits<std::uint64_t>::max();
  options.seconds = 60;
  std::string trace, write;
  app.add_option("--seed", options.seed, "Seed")->capture_default_str();
  app.add_option("--iterations", options.iterations, "At most so many models");
  app.add_option("--seconds", options.seconds, "At most so long")->capture_default_str();
  app.add_option("--trace", trace, "File that holds the iteration at hand, for crashes");
  app.add_option("--write", write, "Write the model of iteration --iterations to this file and end");
  CLI11_PARSE(app, argc, argv);
  if (!write.empty()) {
    write_file(write, fuzzed_model(options.seed, options.iterations));
    return 0;
  }
  const FuzzReport report = fuzz_import(options, trace);
  fmt::print("{} models: {} accepted ({} computed), {} refused\n", report.iterations, report.accepted, report.computed,
             report.refused);
  for (const std::string& failure : report.failures) fmt::print("{}\n", failure);
  return report.failures.empty() ? 0 : 1;
}
