// tessera profile: what a run's report says of cycles and memory, how two reports differ, and the memory of a model as
// the compiler sees it.

#include <fmt/format.h>

#include "host/cli/commands.h"
#include "host/cli/memory_story.h"
#include "host/profile/report_view.h"
#include "hw/error.h"

namespace tessera::cli {

namespace {

struct ProfileOptions {
  std::string report, other;
  std::size_t top = 12;
  bool memory = false;
  MemoryStoryOptions story;
};

int run_profile(Context& context, ProfileOptions options) {
  if (options.memory) {
    if (!options.other.empty())
      throw Error(Category::usage, "--memory and --diff do not go together", "--diff",
                  "--diff takes the reports of two runs");
    options.story.model = options.report;
    tell_memory(context, options.story);
    return 0;
  }
  const nlohmann::ordered_json view = profile::view(profile::read_report(options.report));
  std::vector<std::string> lines;
  if (options.other.empty()) {
    context.result["profile"] = view;
    lines = profile::text(view, options.top);
  } else {
    const nlohmann::ordered_json difference =
        profile::difference(view, profile::view(profile::read_report(options.other)));
    context.result["difference"] = difference;
    lines = profile::difference_text(difference, options.top);
  }
  for (const std::string& line : lines) context.print(line);
  return 0;
}

}  // namespace

void add_profile_command(CLI::App& app, Context& context) {
  add_command(app, context, "profile", "Cycles and memory of a run by its report; memory of a model by the compiler",
              "tessera profile build/report --diff build/other-report", [](CLI::App& sub) -> Body {
                auto options = std::make_shared<ProfileOptions>();
                sub.add_option("REPORT", options->report,
                               "Directory of tessera run --report, or its report.json; with --memory a model")
                    ->required();
                sub.add_option("--diff", options->other, "What changed from REPORT to OTHER")->type_name("OTHER");
                sub.add_option("--top", options->top, "Rows of each table; 0: all")
                    ->check(CLI::Range(std::size_t{0}, std::size_t{1} << 20))
                    ->capture_default_str()
                    ->type_name("N");
                sub.add_flag("--memory", options->memory,
                             "Memory of the model REPORT (a file or example:NAME) with and without reuse and in-place; "
                             "nothing is run");
                options->story.types = {"f16", "f32"};
                options->story.batches = {1, 32};
                sub.add_option("--dtype", options->story.types,
                               "With --memory: types of an example that has the choice")
                    ->delimiter(',')
                    ->check(CLI::IsMember({"f16", "f32"}))
                    ->type_name("TYPE,...");
                sub.add_option("--batch", options->story.batches, "With --memory: batches of an example that has one")
                    ->delimiter(',')
                    ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20))
                    ->type_name("N,...");
                sub.add_option("--platform", options->story.platform, "With --memory: c2, pocket, dss8440 or a file")
                    ->capture_default_str();
                options->story.inputs.add_to(sub);
                return [options, &sub](Context& c) {
                  require_with(sub, {"--dtype", "--batch", "--platform", "--shape", "--input", "--inputs"},
                               {"--memory"});
                  if (options->memory) refuse_with(sub, {"--top"}, "--memory");
                  options->story.types_given = sub.count("--dtype") != 0;
                  options->story.batches_given = sub.count("--batch") != 0;
                  return run_profile(c, *options);
                };
              });
}

}  // namespace tessera::cli
