#include "host/cli/command.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>

#include "hw/error.h"
#include "hw/whole_file.h"
#include "verif/cosim/shutdown.h"

namespace tessera::cli {

namespace {

std::map<const CLI::App*, Body>& bodies() {
  static std::map<const CLI::App*, Body> table;
  return table;
}

/// Edit distance, for "did you mean" (two rows, O(len a x len b)).
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

std::string nearest(const std::string& given, const std::vector<std::string>& valid) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(3, given.size() / 2);
  for (const std::string& name : valid) {
    const std::size_t d = distance(given, name);
    if (d < best_distance || (d == best_distance && best.empty())) {
      best = name;
      best_distance = d;
    }
  }
  return best;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(sub->get_name());
  return names;
}

/// Usage errors name the nearest valid option or command.
int usage_error(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  const CLI::App* sub = app.get_subcommands().empty() ? nullptr : app.get_subcommands().front();
  const std::vector<std::string> commands = command_names(app);
  const bool unknown_command = sub == nullptr && argc > 1 && argv[1][0] != '-' &&
                               std::find(commands.begin(), commands.end(), argv[1]) == commands.end();
  std::cerr << "tessera: " << (unknown_command ? "there is no command '" + std::string(argv[1]) + "'" : error.what())
            << "\n";
  if (unknown_command) {
    const std::string guess = nearest(argv[1], commands);
    if (!guess.empty()) std::cerr << "  did you mean: tessera " << guess << "\n";
  }
  const std::vector<std::string> valid = option_names(sub == nullptr ? app : *sub);
  for (int i = 1; i < argc; ++i) {
    std::string given = argv[i];
    given = given.substr(0, given.find('='));
    if (given.rfind("--", 0) != 0 || given.size() < 3) continue;
    if (std::find(valid.begin(), valid.end(), given) != valid.end()) continue;
    const std::string guess = nearest(given, valid);
    if (!guess.empty()) std::cerr << "  " << given << ": did you mean " << guess << "?\n";
  }
  std::cerr << "  try: tessera " << (sub == nullptr ? "" : sub->get_name() + " ") << "--help\n";
  return exit_code(Category::usage);
}

/// Whole or not at all: the result is written beside its place and moved there.
void write_result(const Context& context) {
  if (context.json_file.empty()) return;
  const std::string text = context.result.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  if (!write_whole_file(context.json_file, text))
    throw Error(Category::usage, "cannot write the JSON result", context.json_file,
                "check that its folder exists, that it is no directory, and its free space");
}

/// An option that was given as an empty string (--wave "$UNSET"); null if there is none.
const CLI::Option* without_value(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options())
    if (option->get_items_expected_max() > 0 && option->count() > 0)
      for (const std::string& value : option->results())
        if (value.empty()) return option;
  return nullptr;
}

/// Whether two names mean one file; never for devices and pipes, to which many may write.
bool same_file(const std::string& a, const std::string& b) {
  if (written_in_place(a) || written_in_place(b)) return false;
  std::error_code error;
  if (std::filesystem::equivalent(a, b, error) && !error) return true;
  const auto first = std::filesystem::weakly_canonical(a, error);
  return !error && first == std::filesystem::weakly_canonical(b, error) && !error;
}

bool named(const CLI::Option& option, const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return option.check_name(name); });
}

/// Options that name what a command writes: files, and directories of files.
std::vector<std::string> output_files() {
  return {"--json", "--signature", "--trace", "--wave", "--output", "--picture", "--save"};
}
std::vector<std::string> output_directories(const CLI::App& app) {
  std::vector<std::string> names = {"--out", "--report", "--dump-passes"};
  if (app.get_name() == "examples") names.emplace_back("--inputs");
  return names;
}

/// Refuses what cannot be written before the work begins, not behind it.
void check_outputs(Context& context, const CLI::App& app) {
  const auto refuse = [&](const CLI::Option& option, const std::string& text, const std::string& place) {
    if (option.check_name("--json")) context.json_file.clear();  // it is told once
    throw Error(Category::usage, "cannot write the " + text + " of " + option.get_name(), place,
                "name one that can be made and written");
  };
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& place : option->results()) {
      if (named(*option, output_files()) && !may_write_file(place)) refuse(*option, "file", place);
      if (named(*option, output_directories(app)) && !may_write_into(place)) refuse(*option, "directory", place);
    }
  }
}

/// An option whose file would be written over what another argument names: its name and the file, else empty.
std::pair<std::string, std::string> overwritten(const CLI::App& app) {
  const std::vector<std::string> outputs = output_files();
  const std::vector<std::string> inputs = {"--input", "--platform", "--labels", "--explain", "--diff"};
  for (const CLI::Option* out : app.get_options([&](const CLI::Option* o) { return named(*o, outputs); }))
    for (const std::string& file : out->results())
      for (const CLI::Option* other : app.get_options()) {
        if (other == out || !(other->get_positional() || named(*other, outputs) || named(*other, inputs))) continue;
        for (const std::string& value : other->results())
          if (same_file(file, value) || same_file(file, value.substr(value.find('=') + 1)) ||
              same_file(file, value + "/report.json"))  // of a report's directory
            return {out->get_name(), file};
      }
  return {};
}

void record_error(Context& context, const Error& error) {
  auto& entry = context.result["error"];
  entry["message"] = error.message();
  entry["where"] = error.where();
  entry["advice"] = error.advice();
  if (error.cycle()) entry["cycle"] = *error.cycle();
}

/// Text for standard error and the exit code; fills the result's error.
std::pair<std::string, int> explain(Context& context, const std::exception_ptr& failure) {
  const auto of_error = [&](const Error& error) {
    record_error(context, error);
    return std::pair(std::string(error.what()), exit_code(error.category()));
  };
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    return of_error(error);
  } catch (const Interrupted& interrupted) {
    context.result["error"]["message"] = interrupted.what();
    context.result["error"]["signal"] = interrupted.signal();
    return {std::string(interrupted.what()) + " (" + std::to_string(interrupted.signal()) + ")",
            interrupted.exit_code()};
  } catch (const std::bad_alloc&) {
    return of_error(Error(Category::internal, "out of host memory", "", "use a smaller platform or a larger host"));
  } catch (const std::exception& error) {
    const std::string message = std::string("internal error: ") + error.what();
    context.result["error"]["message"] = message;
    return {message + "\n  this is a fault of Tessera, not of your input: please report it with the command line",
            exit_code(Category::internal)};
  }
}

int guarded(Context& context, const Body& body) {
  try {
    return body(context);
  } catch (const std::exception&) {
    const auto [text, code] = explain(context, std::current_exception());
    std::cerr << "tessera: " << text << "\n";
    return code;
  }
}

/// --json of a command line that could not be parsed.
std::string json_option(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string given = argv[i];
    if (given == "--json" && i + 1 < argc) return argv[i + 1];
    if (given.rfind("--json=", 0) == 0) return given.substr(7);
  }
  return {};
}

}  // namespace

void Context::print(const std::string& line) const { std::cout << line << "\n"; }

void Context::info(const std::string& line) const {
  if (!quiet && (log == "info" || log == "debug")) std::cerr << line << "\n";
}

void Context::warn(const std::string& line) const {
  if (log != "error") std::cerr << "tessera: warning: " << line << "\n";
}

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
  return CLI::Validator(
      [least, most](std::string& text) -> std::string {
        std::uint64_t value = 0;
        const char* end = text.data() + text.size();
        const auto [at, error] = std::from_chars(text.data(), end, value);
        if (error == std::errc() && at == end && value >= least && value <= most) return {};
        return "'" + text + "' is no whole number from " + std::to_string(least) + " to " + std::to_string(most);
      },
      "");
}

CLI::Validator tolerance_number() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        char* end = nullptr;
        const double value = std::strtod(text.c_str(), &end);
        if (end != text.c_str() && *end == '\0' && std::isfinite(value) && value >= 0) return {};
        return "'" + text + "' is no finite number of at least 0";
      },
      "");
}

void require_with(const CLI::App& app, const std::vector<std::string>& options, const std::vector<std::string>& with) {
  const auto given = [&](const std::string& name) { return app.count(name) != 0; };
  if (std::any_of(with.begin(), with.end(), given)) return;
  const auto idle = std::find_if(options.begin(), options.end(), given);
  if (idle == options.end()) return;
  std::string names;
  for (const std::string& name : with) names += (names.empty() ? "" : " or ") + name;
  throw Error(Category::usage, *idle + " has no effect without " + names, *idle, "add that, or leave it out");
}

void refuse_with(const CLI::App& app, const std::vector<std::string>& options, const std::string& what) {
  for (const std::string& name : options)
    if (app.count(name) != 0)
      throw Error(Category::usage, name + " has no effect with " + what, name, "leave one of them out");
}

void add_command(CLI::App& app, Context& context, const std::string& name, const std::string& description,
                 const std::string& example, const std::function<Body(CLI::App&)>& configure) {
  CLI::App* sub = app.add_subcommand(name, description);
  sub->footer("Example:\n  " + example);
  bodies()[sub] = configure(*sub);
  sub->add_option("--json", context.json_file, "Write the machine-readable result to this file")->type_name("FILE");
  sub->add_option("--seed", context.seed, "Seed of everything random; 0 is a seed like any other")
      ->check(whole_number())
      ->type_name("N");
  sub->add_option("--threads", context.threads, "Host threads that run tiles; results never depend on it")
      ->check(CLI::Range(1, 256))
      ->type_name("N");
  sub->add_option("--log", context.log, "Diagnostics on standard error")
      ->check(CLI::IsMember({"error", "warning", "info", "debug"}))
      ->type_name("LEVEL");
  sub->add_flag("--quiet", context.quiet, "No progress and no informational text");
}

int record_failure(Context& context, const std::exception_ptr& failure) {
  const int code = explain(context, failure).second;
  context.result["exit_code"] = code;
  return code;
}

namespace {

void begin_result(Context& context, const CLI::App& app, const std::string& command) {
  context.result["command"] = command;
  context.result["arguments"] = context.arguments;
  context.result["version"] = app.version();
  context.result["seed"] = context.seed;
  context.result["threads"] = context.threads;
}

int end_result(Context& context, int code) {
  context.result["exit_code"] = code;
  const int written = guarded(context, [](Context& c) {
    write_result(c);
    return 0;
  });
  return code != 0 ? code : written;
}

/// A command line that could not be understood: told, and in the JSON if that much could be read.
int parse_failure(const CLI::App& app, Context& context, const CLI::ParseError& error, int argc, char** argv) {
  const int code = usage_error(app, error, argc, argv);
  context.json_file = json_option(argc, argv);
  begin_result(context, app, argc > 1 ? argv[1] : "");
  record_error(context, Error(Category::usage, error.what(), "", "--help shows the options"));
  return end_result(context, code);
}

/// What stands in the buffer of standard output has to go out, or the command has failed.
void flush_output() {
  std::cout.flush();
  if (!std::cout)
    throw Error(Category::usage, "cannot write to standard output", "",
                "check its free space, and that what reads it still does");
}

/// A body with all that goes around it.
int whole_command(Context& context, const CLI::App& command) {
  check_outputs(context, command);
  const int code = bodies().at(&command)(context);
  if (code == 0) {
    Shutdown::check();  // a request that came behind the last look
    flush_output();
  }
  return code;
}

}  // namespace

int run(CLI::App& app, Context& context, int argc, char** argv) {
  context.arguments.assign(argv, argv + argc);
  Shutdown::install();
  std::signal(SIGXFSZ, SIG_IGN);  // a limit of file sizes is a full disk
  std::signal(SIGPIPE, SIG_IGN);  // a reader that goes away is an error of writing, not the end of reports and waves
  app.require_subcommand(1);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return guarded(context, [&](Context&) {  // --help, --version
      const int code = app.exit(success);
      flush_output();
      return code;
    });
  } catch (const CLI::ParseError& error) {
    return parse_failure(app, context, error, argc, argv);
  }
  const CLI::App* sub = app.get_subcommands().front();
  if (const CLI::Option* option = without_value(*sub))
    return parse_failure(app, context, CLI::ValidationError(option->get_name(), "is given an empty value"), argc, argv);
  if (const auto [option, file] = overwritten(*sub); !option.empty()) {
    std::cerr << "tessera: " << option << " would be written over another file of this command\n  at: " << file
              << "\n  try: give it a name of its own\n";
    return exit_code(Category::usage);
  }
  begin_result(context, app, sub->get_name());
  return end_result(context, guarded(context, [sub](Context& c) { return whole_command(c, *sub); }));
}

}  // namespace tessera::cli
