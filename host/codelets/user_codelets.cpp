// Runs the codelet compiler on a user's source, with a cache of its results (user_codelets.h).
#include "host/codelets/user_codelets.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "host/codelets/embedded.h"
#include "hw/error.h"

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

/// Runs the compiler with its output going to `log`; returns its exit status, 127 if it could not be started.
int run(const std::vector<std::string>& arguments, const fs::path& log) {
  std::vector<char*> argv;
  for (const auto& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return 127;
  int status = 0;
  if (waitpid(child, &status, 0) != child) return 127;
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

 private:
  fs::path path_;
};

/// The codelet compiler with the library's flags over one source.
class Compiler {
 public:
  Compiler(std::string source, const Scratch& scratch) : source_(std::move(source)), log_(scratch.path() / "log") {
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
    const int status = run(arguments, log_);
    if (status == 127)
      throw Error(Category::usage, fmt::format("The codelet compiler {} cannot be started.", kCompiler), source_,
                  "install gcc-riscv64-unknown-elf (scripts/setup.sh); the built-in codelets do not need it");
    if (status != 0)
      throw Error(Category::usage, "The codelet source does not compile:\n" + read_text(log_), source_,
                  "see firmware/include/tessera/vertex.h for what a codelet may contain");
    return read_text(log_);
  }

 private:
  std::string source_;
  fs::path log_;
  std::vector<std::string> flags_;
};

std::vector<std::uint8_t> load(const fs::path& from) {
  const std::string text = read_text(from);
  return {text.begin(), text.end()};
}

/// Puts a file into the cache; by rename, so that another process never reads half of it. A cache that cannot be
/// written is no error.
void keep(const fs::path& result, const fs::path& cached) {
  std::error_code failed;
  fs::create_directories(cached.parent_path(), failed);
  const fs::path partial = fmt::format("{}.{}", cached.string(), getpid());
  if (!failed) fs::copy_file(result, partial, fs::copy_options::overwrite_existing, failed);
  if (!failed) fs::rename(partial, cached, failed);
}

}  // namespace

std::vector<std::uint8_t> compile_user_codelets(const std::string& path) {
  if (!fs::is_regular_file(path))
    throw Error(Category::usage, "The codelet source cannot be read.", path, "give the path of a C file");
  const Scratch scratch;
  const Compiler compiler(path, scratch);
  // The preprocessed text names the result: it holds every header, found as the compiler finds them.
  const fs::path preprocessed = scratch.path() / "source.i";
  compiler({"-E", "-P"}, {"-o", preprocessed.string()});
  std::uint64_t key = 0xcbf29ce484222325ull;
  for (const auto& text : {path, read_text(preprocessed), codelet_compiler_flags(), compiler({"-dumpfullversion"}, {})})
    key = hash(std::string(1, '\0'), hash(text, key));
  const fs::path cached = cache_folder() / fmt::format("{:016x}.o", key);
  std::error_code ignored;
  if (fs::is_regular_file(cached, ignored)) return load(cached);
  const fs::path result = scratch.path() / "codelets.o";
  // -r with libgcc: helpers of the compiler become part of the object, nothing else is linked.
  compiler({"-r", "-Wl,--unique"}, {"-lgcc", "-o", result.string()});
  keep(result, cached);
  return load(result);
}

}  // namespace tessera
