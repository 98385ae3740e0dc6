#include "verif/support/run_command.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace tessera::test {

namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void become(const std::vector<std::string>& arguments, const CommandOptions& options, int out, int err) {
  if (!options.directory.empty() && chdir(options.directory.c_str()) != 0) _exit(126);
  const int null = open("/dev/null", O_RDONLY);
  dup2(null, 0);
  if (!options.stdout_path.empty()) out = open(options.stdout_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  dup2(out, 1);
  dup2(err, 2);
  if (options.file_limit) {
    const rlimit limit{*options.file_limit, *options.file_limit};
    setrlimit(RLIMIT_FSIZE, &limit);
    std::signal(SIGXFSZ, SIG_IGN);
  }
  for (int fd = 3; fd < 256; ++fd) close(fd);
  std::vector<std::string> environment = options.environment;
  for (std::string& entry : environment) putenv(entry.data());
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  _exit(127);
}

/// Appends what is there; false at end of file.
bool drain(int fd, std::string& text) {
  std::array<char, 65536> buffer;
  const ssize_t n = read(fd, buffer.data(), buffer.size());
  if (n > 0) text.append(buffer.data(), static_cast<std::size_t>(n));
  return n > 0 || (n < 0 && errno == EINTR);
}

bool signal_due(const CommandOptions& options, const Outcome& outcome, Clock::time_point start) {
  if (!options.signal) return false;
  if (!options.signal_when.empty()) return outcome.err.find(options.signal_when) != std::string::npos;
  return Clock::now() - start > options.signal_after;
}

void collect(pid_t child, int out, int err, const CommandOptions& options, Outcome& outcome) {
  const Clock::time_point start = Clock::now();
  bool sent = false;
  std::array<pollfd, 2> fds{{{out, POLLIN, 0}, {err, POLLIN, 0}}};
  while (fds[0].fd >= 0 || fds[1].fd >= 0) {
    poll(fds.data(), fds.size(), 20);
    for (std::size_t i = 0; i < fds.size(); ++i)
      if (fds[i].fd >= 0 && fds[i].revents != 0 && !drain(fds[i].fd, i == 0 ? outcome.out : outcome.err))
        fds[i].fd = -1;
    if (!sent && signal_due(options, outcome, start)) {
      kill(child, *options.signal);
      sent = true;
    }
    if (!outcome.timed_out && Clock::now() - start > options.limit) {
      outcome.timed_out = true;
      kill(child, SIGKILL);
    }
  }
}

}  // namespace

Outcome run_command(const std::vector<std::string>& arguments, const CommandOptions& options) {
  std::array<int, 2> out{}, err{};
  if (pipe(out.data()) != 0 || pipe(err.data()) != 0) throw std::runtime_error("pipe failed");
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) become(arguments, options, out[1], err[1]);
  close(out[1]);
  close(err[1]);
  Outcome outcome;
  collect(child, out[0], err[0], options, outcome);
  close(out[0]);
  close(err[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  outcome.signalled = WIFSIGNALED(status);
  outcome.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return outcome;
}

namespace {

Outcome run_built(const char* command, const std::vector<std::string>& arguments, const CommandOptions& options) {
  std::vector<std::string> all{command};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return run_command(all, options);
}

}  // namespace

Outcome tessera(const std::vector<std::string>& arguments, const CommandOptions& options) {
  return run_built(TESSERA_COMMAND, arguments, options);
}

Outcome tessera_faulty(const std::vector<std::string>& arguments, const CommandOptions& options) {
  return run_built(TESSERA_FAULTY_COMMAND, arguments, options);
}

std::string source_path(const std::string& relative) { return std::string(TESSERA_SOURCE_DIR) + "/" + relative; }

std::string built_path(const std::string& relative) { return std::string(TESSERA_BUILD_DIR) + "/" + relative; }

std::string scratch_directory() {
  const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
  std::string name = std::string(test->test_suite_name()) + "." + test->name();
  for (char& c : name)
    if (c == '/') c = '_';
  const std::filesystem::path path = std::filesystem::path(TESSERA_SCRATCH_DIR) / name;
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path);
  return path.string();
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (!out) throw std::runtime_error("cannot write " + path);
}

}  // namespace tessera::test
