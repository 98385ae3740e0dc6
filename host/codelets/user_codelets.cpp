// Runs the codelet compiler on a user's source, with a cache of its results (user_codelets.h).
#include "host/codelets/user_codelets.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <thread>

#include "host/codelets/embedded.h"
#include "hw/error.h"
#include "hw/read_file.h"
#include "hw/whole_file.h"

extern char** environ;

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr char kCompiler[] = "riscv64-unknown-elf-gcc";

std::string read_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// FNV-1a over 64 bits: names cache files; a collision would need sources made for it.
std::uint64_t hash(const std::string& text, std::uint64_t seed) {
  for (const char c : text) seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return seed;
}

fs::path cache_folder() {
  const auto from = [](const char* name) -> fs::path {
    const char* value = std::getenv(name);
    return value == nullptr ? fs::path{} : fs::path{value};
  };
  if (auto p = from("TESSERA_CACHE"); !p.empty()) return p;
  if (auto p = from("XDG_CACHE_HOME"); !p.empty()) return p / "tessera";
  if (auto p = from("HOME"); !p.empty()) return p / ".cache" / "tessera";
  return fs::temp_directory_path() / "tessera-cache";
}

/// While alive, signals that end a process wait if nothing else is arranged for them: what is being made goes first, and
/// then the process, by that signal. The compiler is ended, so nobody waits long.
class SignalsWait {
 public:
  SignalsWait() {
    sigemptyset(&held_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
      struct sigaction now {};
      if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) sigaddset(&held_, signal);
    }
    pthread_sigmask(SIG_BLOCK, &held_, &before_);
  }
  ~SignalsWait() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;

  [[nodiscard]] const sigset_t& before() const { return before_; }
  /// Whether one waits: the rest is for nothing.
  [[nodiscard]] bool one_waits() const {
    sigset_t waiting;
    sigpending(&waiting);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT})
      if (sigismember(&held_, signal) != 0 && sigismember(&waiting, signal) != 0) return true;
    return false;
  }

 private:
  sigset_t held_{}, before_{};
};

/// Waits for the child; ends it if a signal asks for the end of this process.
int wait_for(pid_t child, const SignalsWait& signals) {
  for (;;) {
    int status = 0;
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) {
      // What it started may take a moment longer to go, and must not write into a folder that is being removed.
      for (int k = 0; k < 500 && kill(-child, 0) == 0; ++k) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      return status;
    }
    if (ended < 0 && errno != EINTR) return -1;
    if (signals.one_waits()) kill(-child, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

/// Runs the compiler with its output going to `log`; returns its exit status, 127 if it could not be started, 126 if a
/// signal ended it.
int run(const std::vector<std::string>& arguments, const fs::path& log, const SignalsWait& signals) {
  std::vector<char*> argv;
  for (const auto& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  // Its temporary files lie beside the log and go with the folder.
  std::string temporary = "TMPDIR=" + log.parent_path().string();
  std::vector<char*> variables{temporary.data()};
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (std::strncmp(*variable, "TMPDIR=", 7) != 0) variables.push_back(*variable);
  variables.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);  // the compiler with all that it starts
  posix_spawnattr_setsigmask(&attributes, &signals.before());
  pid_t child = 0;
  const int failed = posix_spawnp(&child, argv[0], &actions, &attributes, argv.data(), variables.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return 127;
  const int status = wait_for(child, signals);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}

/// A folder of its own for one compilation, removed with it.
class Scratch {
 public:
  Scratch() {
    std::string name = (fs::temp_directory_path() / "tessera-codelet-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
      throw Error(Category::usage, "No temporary folder can be made.", name, "set TMPDIR to a writable folder");
    path_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }
  [[nodiscard]] const SignalsWait& signals() const { return signals_; }

 private:
  SignalsWait signals_;  // let go behind the folder
  fs::path path_;
};

/// The codelet compiler with the library's flags over one source.
class Compiler {
 public:
  Compiler(std::string source, const Scratch& scratch)
      : source_(std::move(source)), log_(scratch.path() / "log"), signals_(scratch.signals()) {
    const fs::path include = scratch.path() / "include";
    fs::create_directories(include / "tessera");
    for (const auto& [name, text] : embedded_headers()) std::ofstream(include / "tessera" / name) << text;
    std::istringstream flags(codelet_compiler_flags());
    flags_.assign(std::istream_iterator<std::string>(flags), {});
    flags_.push_back("-I" + include.string());
    flags_.push_back("-ffile-prefix-map=" + include.string() + "=firmware/include");
  }

  /// Runs it with `before` the source and `after` it; throws Error (usage) with its text. Returns its text.
  std::string operator()(const std::vector<std::string>& before, const std::vector<std::string>& after) const {
    std::vector<std::string> arguments{kCompiler};
    arguments.insert(arguments.end(), flags_.begin(), flags_.end());
    arguments.insert(arguments.end(), before.begin(), before.end());
    arguments.push_back(source_);
    arguments.insert(arguments.end(), after.begin(), after.end());
    const int status = run(arguments, log_, signals_);
    if (status == 127)
      throw Error(Category::usage, fmt::format("The codelet compiler {} cannot be started.", kCompiler), source_,
                  "install gcc-riscv64-unknown-elf (scripts/setup.sh); the built-in codelets do not need it");
    if (status == 126)
      throw Error(Category::usage, fmt::format("The codelet compiler {} was ended by a signal.", kCompiler), source_,
                  "run it again");
    if (status != 0)
      throw Error(Category::usage, "The codelet source does not compile:\n" + read_text(log_), source_,
                  "see firmware/include/tessera/vertex.h for what a codelet may contain");
    return read_text(log_);
  }

 private:
  std::string source_;
  fs::path log_;
  const SignalsWait& signals_;
  std::vector<std::string> flags_;
};

/// What stands behind an object in the cache: that it is all there and the one of that key.
std::string seal(const std::string& object, std::uint64_t key) {
  return fmt::format("\ntessera codelets {:016x} {:016x} {:016x}\n", key, object.size(), hash(object, key));
}

/// The object kept under `key`; nothing if there is none, or it was cut, changed or is another's: then it is made anew.
std::optional<std::string> load(const fs::path& cached, std::uint64_t key) {
  std::error_code ignored;
  if (!fs::is_regular_file(cached, ignored)) return std::nullopt;
  std::string text = read_text(cached);
  const std::size_t length = seal({}, key).size();
  if (text.size() < length) return std::nullopt;
  std::string object = text.substr(0, text.size() - length);
  if (text.compare(object.size(), length, seal(object, key)) != 0) return std::nullopt;
  return object;
}

/// Puts an object into the cache, whole or not at all. A cache that cannot be written is no error.
void keep(const std::string& object, const fs::path& cached, std::uint64_t key) {
  std::error_code ignored;
  fs::create_directories(cached.parent_path(), ignored);
  (void)!write_whole_file(cached.string(), object + seal(object, key));
}

}  // namespace

std::vector<std::uint8_t> compile_user_codelets(const std::string& path) {
  require_file(path, "codelet source");
  const Scratch scratch;
  const Compiler compiler(path, scratch);
  // The preprocessed text names the result: it holds every header, found as the compiler finds them.
  const fs::path preprocessed = scratch.path() / "source.i";
  compiler({"-E", "-P"}, {"-o", preprocessed.string()});
  std::uint64_t key = 0xcbf29ce484222325ull;
  for (const auto& text : {path, read_text(preprocessed), codelet_compiler_flags(), compiler({"-dumpfullversion"}, {})})
    key = hash(std::string(1, '\0'), hash(text, key));
  const fs::path cached = cache_folder() / fmt::format("{:016x}.o", key);
  const auto bytes = [](const std::string& text) { return std::vector<std::uint8_t>(text.begin(), text.end()); };
  if (const auto kept = load(cached, key)) return bytes(*kept);
  const fs::path result = scratch.path() / "codelets.o";
  // -r with libgcc: helpers of the compiler become part of the object, nothing else is linked.
  compiler({"-r", "-Wl,--unique"}, {"-lgcc", "-o", result.string()});
  const std::string object = read_text(result);
  keep(object, cached, key);
  return bytes(object);
}

}  // namespace tessera
