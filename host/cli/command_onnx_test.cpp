// tessera onnx-test: runs directories of ONNX's backend tests on the reference or on the modelled machine and compares
// with the expected results. Each data set runs in a process of its own, so that nothing one does ends the others.
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <map>
#include <memory>

#include "host/cli/commands.h"
#include "host/cli/session.h"
#include "host/golden/compare.h"
#include "host/golden/evaluate.h"
#include "host/onnx/test_case.h"
#include "hw/error.h"
#include "hw/read_file.h"
#include "verif/cosim/shutdown.h"

namespace tessera::cli {

namespace {

using model::Tensor;
using Json = nlohmann::ordered_json;

/// A directory of a test and what it is called in messages.
struct Case {
  std::string directory, name;
};

struct Options {
  std::vector<std::string> directories;  ///< as given: of one test, or of many in folders below
  std::string device = "golden";
  golden::Tolerance tolerance;
  unsigned time_limit = 300;  ///< seconds of wall time for one data set
};

std::vector<Tensor> outputs_by_reference(const model::Model& model, const std::vector<Tensor>& inputs) {
  const auto values = golden::run(model, inputs);
  std::vector<Tensor> result;
  for (const model::ValueId id : model.outputs)
    result.push_back(widened(values.at(id).value(), model.value(id).declared));
  return result;
}

/// On the smallest platform that it fits: c2 takes long to build, and most tests are small.
CompiledModel compile_somewhere(const model::Model& model, Platform& platform, std::string& name, Progress& progress) {
  try {
    name = "pocket";
    platform = load_platform(name);
    return compile_model(model, platform, {}, progress);
  } catch (const Error& error) {
    if (error.category() != Category::does_not_fit) throw;
    name = "c2";
    platform = load_platform(name);
    return compile_model(model, platform, {}, progress);
  }
}

std::vector<Tensor> outputs_by_machine(const Options& options, const Context& context, const model::Model& model,
                                       const std::vector<Tensor>& inputs) {
  Progress progress(true);
  Platform platform;
  MachineOptions machine_options;
  const CompiledModel compiled = compile_somewhere(model, platform, machine_options.platform, progress);
  machine_options.ipus = 1;
  if (options.device == "rtl") machine_options.rtl = "all";
  if (options.device == "lockstep") machine_options.lockstep = "all";
  Machine machine(context, machine_options, platform, compiled.executable, progress);
  return run_compiled(machine, compiled, inputs, progress).outputs;
}

/// Outputs of the model in its order, in the types it declares.
std::vector<Tensor> outputs_of(const Options& options, const Context& context, const model::Model& model,
                               const std::vector<Tensor>& inputs) {
  return options.device == "golden" ? outputs_by_reference(model, inputs)
                                    : outputs_by_machine(options, context, model, inputs);
}

golden::Comparison run_data_set(const Options& options, const Context& context, const std::string& directory,
                                const std::string& name) {
  const model::DataSet set = model::read_data_set(directory, name);
  model::ImportOptions import;
  import.inputs = set.inputs;
  import.narrow_f64 = false;
  const model::Model model = model::import_model(directory + "/model.onnx", import);
  const std::vector<Tensor> inputs = model::arrange_inputs(model, set.inputs);
  const std::vector<Tensor> results = outputs_of(options, context, model, inputs);
  if (results.size() != set.outputs.size())
    throw Error(Category::usage, "the directory has another number of outputs than the model", directory,
                "check the test");
  golden::Comparison all;
  for (std::size_t i = 0; i < results.size(); ++i)
    all.merge(golden::compare(results[i], set.outputs[i], options.tolerance, model.value(model.outputs[i]).name));
  return all;
}

/// A figure of an entry; JSON has no infinity and says null.
double number(const Json& entry, const char* name) {
  const auto found = entry.find(name);
  if (found == entry.end()) return 0.0;
  return found->is_number() ? found->get<double>() : HUGE_VAL;
}

std::string one_line(std::string text) {
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos;) {
    std::size_t end = at;
    while (end < text.size() && (text[end] == '\n' || text[end] == ' ')) ++end;
    text.replace(at, end - at, " ");
  }
  return text;
}

Json verdict(const std::string& outcome, const std::string& reason) {
  Json entry;
  entry["outcome"] = outcome;
  entry["reason"] = one_line(reason);
  return entry;
}

/// One data set of a directory, in this process.
Json run_here(const Options& options, const Context& context, const std::string& directory, const std::string& name) {
  try {
    const golden::Comparison all = run_data_set(options, context, directory, name);
    Json entry = verdict(all.passes() ? "pass" : "fail", all.text());
    entry["values"] = all.values;
    entry["max_abs"] = all.max_abs;
    entry["max_rel"] = all.max_rel;
    entry["max_ulp"] = all.max_ulp;
    return entry;
  } catch (const Error& error) {
    if (error.category() == Category::unsupported) return verdict("unsupported", error.message());
    Json entry = verdict("fail", error.message() + (error.where().empty() ? "" : " at " + error.where()));
    entry["exit_code"] = exit_code(error.category());
    return entry;
  } catch (const std::exception& error) {
    Json entry = verdict("fail", std::string("internal error: ") + error.what());
    entry["exit_code"] = exit_code(Category::internal);
    return entry;
  }
}

/// One data set being run by a child process: a failure of any kind stays there, and SystemC elaborates once a process.
struct Child {
  pid_t pid = -1;
  int pipe = -1;

  /// Its status when it has ended; it is no more then.
  int wait() {
    close(pipe);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    pid = -1;
    return status;
  }
};

[[noreturn]] void run_child(const Options& options, const Context& context, const std::string& directory,
                            const std::string& name, int pipe) {
  for (const int signal : {SIGINT, SIGTERM, SIGQUIT, SIGHUP}) std::signal(signal, SIG_DFL);  // the parent answers them
  // The alarm ends a run that does not come to an end; SIGALRM's default action is enough.
  alarm(options.time_limit);
  const std::string text = run_here(options, context, directory, name).dump();
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t n = write(pipe, text.data() + written, text.size() - written);
    if (n < 0 && errno != EINTR) break;
    if (n > 0) written += static_cast<std::size_t>(n);
  }
  _exit(written == text.size() ? 0 : exit_code(Category::internal));
}

Child start(const Options& options, const Context& context, const std::string& directory, const std::string& name) {
  int ends[2];
  if (pipe(ends) != 0) throw Error(Category::internal, "cannot make a pipe", directory, "close other programs");
  const pid_t pid = fork();
  if (pid < 0) throw Error(Category::internal, "cannot start a process", directory, "close other programs");
  if (pid == 0) {
    close(ends[0]);
    run_child(options, context, directory, name, ends[1]);
  }
  close(ends[1]);
  return {pid, ends[0]};
}

/// Waits for the child's end; throws Interrupted if the user does not want to.
Json finish(const Options& options, Child& child) {
  std::string text;
  char buffer[4096];
  for (;;) {
    pollfd ready{child.pipe, POLLIN, 0};
    Shutdown::check();
    constexpr int kLookMs = 50;
    if (poll(&ready, 1, kLookMs) <= 0) continue;
    const ssize_t n = read(child.pipe, buffer, sizeof buffer);
    if (n == 0 || (n < 0 && errno != EINTR)) break;
    if (n > 0) text.append(buffer, static_cast<std::size_t>(n));
  }
  const int status = child.wait();
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
    return verdict("fail", fmt::format("not done within {} s", options.time_limit));
  if (WIFSIGNALED(status)) return verdict("fail", fmt::format("ended by signal {}", WTERMSIG(status)));
  const Json entry = Json::parse(text, nullptr, false);
  return entry.is_object() ? entry : verdict("fail", fmt::format("ended with code {}", WEXITSTATUS(status)));
}

/// A directory is as good as its worst data set.
void merge(Json& whole, const Json& part) {
  static const std::map<std::string, int> kRank = {{"pass", 0}, {"unsupported", 1}, {"fail", 2}};
  if (whole.is_null()) {
    whole = part;
    return;
  }
  const std::uint64_t values = whole.value("values", std::uint64_t{0}) + part.value("values", std::uint64_t{0});
  const std::uint64_t ulp = std::max(whole.value("max_ulp", std::uint64_t{0}), part.value("max_ulp", std::uint64_t{0}));
  const double abs = std::max(number(whole, "max_abs"), number(part, "max_abs"));
  const double rel = std::max(number(whole, "max_rel"), number(part, "max_rel"));
  if (kRank.at(part["outcome"]) > kRank.at(whole["outcome"])) whole = part;
  if (whole["outcome"] == "pass")
    whole["reason"] = fmt::format("{} values in all data sets, largest error {:.3g} absolute, {:.3g} relative, {} ulp",
                                  values, abs, rel, ulp);
  whole["values"] = values;
  whole["max_abs"] = abs;
  whole["max_rel"] = rel;
  whole["max_ulp"] = ulp;
}

std::string name_of_case(const std::string& directory) {
  std::filesystem::path path(directory);
  if (!path.has_filename()) path = path.parent_path();
  return path.filename().string();
}

/// The directories given, and for those that hold no model all below them that do, by name.
std::vector<Case> cases_of(const Options& options) {
  namespace fs = std::filesystem;
  std::vector<Case> cases;
  for (const std::string& given : options.directories) {
    std::vector<Case> below;
    std::error_code failed;
    if (!fs::exists(fs::path(given) / "model.onnx", failed)) {
      fs::recursive_directory_iterator at(given, fs::directory_options::skip_permission_denied, failed);
      for (; !failed && at != fs::recursive_directory_iterator(); at.increment(failed)) {
        if (at->path().filename() != "model.onnx") continue;
        const fs::path folder = at->path().parent_path();
        below.push_back({folder.string(), folder.lexically_relative(given).string()});
      }
    }
    std::sort(below.begin(), below.end(), [](const Case& a, const Case& b) { return a.name < b.name; });
    if (below.empty()) below.push_back({given, name_of_case(given)});  // whose error, if any, comes later
    cases.insert(cases.end(), below.begin(), below.end());
  }
  return cases;
}

/// A data set to run, or what is wrong with a directory.
struct Job {
  std::size_t place = 0;  ///< among the cases
  std::string data_set;
  Json broken;
  bool last = false;  ///< of its case
  Child child;
};

std::vector<Job> jobs_of(const std::vector<Case>& cases) {
  std::vector<Job> jobs;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    try {
      for (const std::string& name : model::data_sets(cases[i].directory)) jobs.push_back({i, name, {}, false, {}});
    } catch (const Error& error) {
      Json entry = verdict("fail", error.message());
      entry["exit_code"] = exit_code(error.category());
      jobs.push_back({i, "", entry, false, {}});
    }
    jobs.back().last = true;
  }
  return jobs;
}

/// Those that still run when the command ends go with it.
struct EndChildren {
  std::vector<Job>& jobs;
  ~EndChildren() {
    for (Job& job : jobs) {
      if (job.child.pid <= 0) continue;
      kill(job.child.pid, SIGKILL);
      (void)job.child.wait();
    }
  }
};

int run_all(const Options& options, Context& context) {
  for (const std::string& directory : options.directories) require_directory(directory, "directory of tests");
  std::map<std::string, unsigned> counts = {{"pass", 0}, {"fail", 0}, {"unsupported", 0}};
  std::uint64_t values = 0;
  Json entry;
  Json& records = context.result["cases"] = Json::array();  // an end by a signal keeps what there is
  const std::vector<Case> cases = cases_of(options);
  std::vector<Job> jobs = jobs_of(cases);
  const EndChildren end{jobs};
  std::size_t started = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    for (; started < jobs.size() && started < i + context.threads; ++started) {
      Job& job = jobs[started];
      if (job.broken.is_null()) job.child = start(options, context, cases[job.place].directory, job.data_set);
    }
    merge(entry, jobs[i].broken.is_null() ? finish(options, jobs[i].child) : jobs[i].broken);
    if (!jobs[i].last) continue;
    const Case& done = cases[jobs[i].place];
    const auto outcome = entry["outcome"].get<std::string>();
    ++counts[outcome];
    values += entry.value("values", std::uint64_t{0});
    context.print(fmt::format("{:<12}{}: {}", outcome, done.name, entry["reason"].get<std::string>()));
    Json record;
    record["name"] = done.name;
    record["directory"] = done.directory;
    record.update(entry);
    records.push_back(std::move(record));
    entry = Json();
  }
  context.print(fmt::format("{} directories on {}: {} pass, {} fail, {} unsupported; {} values compared", cases.size(),
                            options.device, counts["pass"], counts["fail"], counts["unsupported"], values));
  context.result["device"] = options.device;
  for (const auto& [outcome, count] : counts) context.result[outcome] = count;
  context.result["values"] = values;
  if (counts["fail"] > 0) return exit_code(Category::wrong_result);
  return counts["pass"] > 0 ? 0 : exit_code(Category::unsupported);
}

}  // namespace

void add_onnx_test(CLI::App& app, Context& context) {
  add_command(app, context, "onnx-test", "Run ONNX backend test directories and compare with their expected results",
              "tessera onnx-test /usr/share/libonnx-testdata/data/node/test_relu", [](CLI::App& sub) -> Body {
                auto options = std::make_shared<Options>();
                sub.add_option("DIR", options->directories,
                               "Directories with model.onnx and test_data_set_*/, or with such\nin folders below")
                    ->required();
                sub.add_option("--device", options->device, "What computes: the reference or the modelled machine")
                    ->check(CLI::IsMember({"golden", "tlm", "rtl", "lockstep"}))
                    ->capture_default_str();
                sub.add_option("--rtol", options->tolerance.rtol, "Relative tolerance")
                    ->check(tolerance_number())
                    ->capture_default_str();
                sub.add_option("--atol", options->tolerance.atol, "Absolute tolerance")
                    ->check(tolerance_number())
                    ->capture_default_str();
                sub.add_option("--time-limit", options->time_limit, "Seconds of wall time for one data set")
                    ->check(CLI::Range(1, 86400))
                    ->capture_default_str();
                return [options](Context& c) { return run_all(*options, c); };
              });
}

}  // namespace tessera::cli
