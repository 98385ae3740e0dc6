// Runs a program as a user would and captures what it did: for tests of commands, exit codes and messages.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::test {

struct Outcome {
  int exit_code = -1;      ///< of a program that exited; 128+n if signal n ended it
  bool signalled = false;  ///< a signal ended it
  bool timed_out = false;  ///< the limit passed and it was killed
  std::string out, err;
};

struct CommandOptions {
  std::string directory;                 ///< working directory; empty: the test's own
  std::vector<std::string> environment;  ///< additional NAME=value
  std::chrono::seconds limit{240};       ///< then SIGKILL
  std::optional<int> signal;             ///< sent once `signal_when` appears on standard error or after signal_after
  std::string signal_when;
  std::chrono::milliseconds signal_after{500};
  std::optional<std::uint64_t> file_limit;  ///< bytes that a file may grow to: writes beyond fail as on a full disk
  std::string stdout_path;                  ///< standard output goes to this file instead (e.g. /dev/full)
};

/// Runs arguments[0] with the rest as arguments.
Outcome run_command(const std::vector<std::string>& arguments, const CommandOptions& options = {});

/// Runs the built `tessera` with these arguments.
Outcome tessera(const std::vector<std::string>& arguments, const CommandOptions& options = {});

/// The same build but for the RTL, whose adder has a wrong bit.
Outcome tessera_faulty(const std::vector<std::string>& arguments, const CommandOptions& options = {});

/// Path of the repository's file, and of a fresh directory of this test below the build folder (emptied).
std::string source_path(const std::string& relative);
std::string built_path(const std::string& relative);  ///< below the build folder
std::string scratch_directory();
std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& text);

}  // namespace tessera::test
