// tessera onnx-test: runs directories of ONNX's backend tests on the reference or on the modelled machine and compares
// with the expected results. Each directory runs in a process of its own, so that nothing one does ends the others.
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <filesystem>

#include "host/cli/commands.h"
#include "host/golden/compare.h"
#include "host/golden/evaluate.h"
#include "host/onnx/test_case.h"
#include "hw/error.h"

namespace tessera::cli {

namespace {

using model::Tensor;
using Json = nlohmann::ordered_json;

struct Options {
  std::vector<std::string> directories;
  std::string device = "golden";
  golden::Tolerance tolerance;
  unsigned time_limit = 300;  ///< seconds of wall time for one directory
};

/// Outputs of the model in its order, in the types it declares.
std::vector<Tensor> outputs_by_reference(const model::Model& model, const std::vector<Tensor>& inputs) {
  const auto values = golden::run(model, inputs);
  std::vector<Tensor> result;
  for (const model::ValueId id : model.outputs)
    result.push_back(widened(values.at(id).value(), model.value(id).declared));
  return result;
}

golden::Comparison run_data_set(const Options& options, const std::string& directory, const std::string& name) {
  const model::DataSet set = model::read_data_set(directory, name);
  model::ImportOptions import;
  import.inputs = set.inputs;
  import.narrow_f64 = false;
  const model::Model model = model::import_model(directory + "/model.onnx", import);
  const std::vector<Tensor> results = outputs_by_reference(model, model::arrange_inputs(model, set.inputs));
  if (results.size() != set.outputs.size())
    throw Error(Category::usage, "the directory has another number of outputs than the model", directory,
                "check the test");
  golden::Comparison all;
  for (std::size_t i = 0; i < results.size(); ++i)
    all.merge(golden::compare(results[i], set.outputs[i], options.tolerance, model.value(model.outputs[i]).name));
  return all;
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

/// The whole of one directory, in this process.
Json run_directory(const Options& options, const std::string& directory) {
  try {
    golden::Comparison all;
    for (const std::string& name : model::data_sets(directory)) all.merge(run_data_set(options, directory, name));
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

/// A directory being run by a child process.
struct Child {
  std::string directory;
  pid_t pid = -1;
  int pipe = -1;
};

[[noreturn]] void run_child(const Options& options, const std::string& directory, int pipe) {
  // The alarm ends a directory that does not come to an end; SIGALRM's default action is enough.
  alarm(options.time_limit);
  const std::string text = run_directory(options, directory).dump();
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t n = write(pipe, text.data() + written, text.size() - written);
    if (n < 0 && errno != EINTR) break;
    if (n > 0) written += static_cast<std::size_t>(n);
  }
  _exit(written == text.size() ? 0 : exit_code(Category::internal));
}

Child start(const Options& options, const std::string& directory) {
  int ends[2];
  if (pipe(ends) != 0) throw Error(Category::internal, "cannot make a pipe", directory, "close other programs");
  const pid_t pid = fork();
  if (pid < 0) throw Error(Category::internal, "cannot start a process", directory, "close other programs");
  if (pid == 0) {
    close(ends[0]);
    run_child(options, directory, ends[1]);
  }
  close(ends[1]);
  return {directory, pid, ends[0]};
}

Json finish(const Options& options, const Child& child) {
  std::string text;
  char buffer[4096];
  for (ssize_t n = 1; n != 0;) {
    n = read(child.pipe, buffer, sizeof buffer);
    if (n < 0 && errno != EINTR) break;
    if (n > 0) text.append(buffer, static_cast<std::size_t>(n));
  }
  close(child.pipe);
  int status = 0;
  while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
    return verdict("fail", fmt::format("not done within {} s", options.time_limit));
  if (WIFSIGNALED(status)) return verdict("fail", fmt::format("ended by signal {}", WTERMSIG(status)));
  const Json entry = Json::parse(text, nullptr, false);
  return entry.is_object() ? entry : verdict("fail", fmt::format("ended with code {}", WEXITSTATUS(status)));
}

std::string name_of_case(const std::string& directory) {
  std::filesystem::path path(directory);
  if (!path.has_filename()) path = path.parent_path();
  return path.filename().string();
}

int run_all(const Options& options, Context& context) {
  std::map<std::string, unsigned> counts = {{"pass", 0}, {"fail", 0}, {"unsupported", 0}};
  std::uint64_t values = 0;
  Json cases = Json::array();
  std::deque<Child> running;
  std::size_t next = 0;
  while (next < options.directories.size() || !running.empty()) {
    while (next < options.directories.size() && running.size() < context.threads)
      running.push_back(start(options, options.directories[next++]));
    const Child child = running.front();
    running.pop_front();
    Json entry = finish(options, child);
    const auto outcome = entry["outcome"].get<std::string>();
    ++counts[outcome];
    values += entry.value("values", std::uint64_t{0});
    context.print(
        fmt::format("{:<12}{}: {}", outcome, name_of_case(child.directory), entry["reason"].get<std::string>()));
    Json record;
    record["name"] = name_of_case(child.directory);
    record["directory"] = child.directory;
    record.update(entry);
    cases.push_back(std::move(record));
  }
  context.print(fmt::format("{} directories on {}: {} pass, {} fail, {} unsupported; {} values compared",
                            options.directories.size(), options.device, counts["pass"], counts["fail"],
                            counts["unsupported"], values));
  context.result["device"] = options.device;
  for (const auto& [outcome, count] : counts) context.result[outcome] = count;
  context.result["values"] = values;
  context.result["cases"] = std::move(cases);
  if (counts["fail"] > 0) return exit_code(Category::wrong_result);
  return counts["pass"] > 0 ? 0 : exit_code(Category::unsupported);
}

}  // namespace

void add_onnx_test(CLI::App& app, Context& context) {
  add_command(
      app, context, "onnx-test", "Run ONNX backend test directories and compare with their expected results",
      "tessera onnx-test /usr/share/libonnx-testdata/data/node/test_relu", [](CLI::App& sub) -> Body {
        auto options = std::make_shared<Options>();
        sub.add_option("DIR", options->directories, "Directories with model.onnx and test_data_set_*/")->required();
        sub.add_option("--device", options->device, "What computes: the reference or the modelled machine")
            ->check(CLI::IsMember({"golden"}))
            ->capture_default_str();
        sub.add_option("--rtol", options->tolerance.rtol, "Relative tolerance")->capture_default_str();
        sub.add_option("--atol", options->tolerance.atol, "Absolute tolerance")->capture_default_str();
        sub.add_option("--time-limit", options->time_limit, "Seconds of wall time for one directory")
            ->check(CLI::Range(1, 86400))
            ->capture_default_str();
        return [options](Context& c) { return run_all(*options, c); };
      });
}

}  // namespace tessera::cli
