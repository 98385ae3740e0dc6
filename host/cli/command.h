// What every command of `tessera` shares: common options, the JSON result, where text goes, how errors end.
//
// Standard output carries results only; everything else goes to standard error. A command fills `result` as it goes,
// so that an error still leaves a JSON file that says how far it got.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <exception>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tessera::cli {

struct Context {
  // Common options of every command.
  std::string json_file;        ///< --json: machine-readable result
  std::uint64_t seed = 1;       ///< --seed: 0 is a seed like any other
  unsigned threads = 1;         ///< --threads: host threads that run tiles; never changes a result
  std::string log = "warning";  ///< --log: error, warning, info, debug
  bool quiet = false;           ///< --quiet: no progress, no informational text

  nlohmann::ordered_json result = nlohmann::ordered_json::object();  ///< written to json_file at the end
  std::vector<std::string> arguments;                                ///< the command line, for the result

  /// Prints a line of the result on standard output.
  void print(const std::string& line) const;
  /// Prints a diagnostic on standard error if `level` is enabled.
  void info(const std::string& line) const;
  void warn(const std::string& line) const;
};

/// For numbers without sign: CLI11 wraps negative ones and clips large ones without a word.
CLI::Validator whole_number(std::uint64_t least = 0, std::uint64_t most = ~std::uint64_t{0});
/// For tolerances: a finite number, not negative.
CLI::Validator tolerance_number();

/// Throws Error(usage) if one of `options` is given and none of `with` is: an option that does nothing is a mistake.
void require_with(const CLI::App& app, const std::vector<std::string>& options, const std::vector<std::string>& with);
/// Throws Error(usage) if one of `options` is given: they do nothing with `what`.
void refuse_with(const CLI::App& app, const std::vector<std::string>& options, const std::string& what);

/// A command's body: returns the exit code; throws tessera::Error for what a user can cause.
using Body = std::function<int(Context&)>;

/// Writes what ended a command into its result (error, exit_code) and returns the exit code. Called again with the same
/// failure it says the same.
int record_failure(Context& context, const std::exception_ptr& failure);

/// Adds a sub-command with the common options; `configure` adds its own options and returns its body.
void add_command(CLI::App& app, Context& context, const std::string& name, const std::string& description,
                 const std::string& example, const std::function<Body(CLI::App&)>& configure);

/// Parses and runs; maps every outcome to the exit codes of docs/interfaces.md and writes the JSON result.
int run(CLI::App& app, Context& context, int argc, char** argv);

}  // namespace tessera::cli
