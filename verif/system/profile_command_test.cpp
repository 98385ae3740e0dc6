// tessera profile as users call it: figures of a report add up and are those of the run, differences of two reports,
// memory of a model; wrong arguments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "verif/support/run_command.h"

namespace tessera::test {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

// Blocks that repeat, so that nodes share a function; products of the matrix engines.
const char* const kResnet = "example:resnet50?size=32,width=16,stages=1,blocks=4,classes=10";

std::uint64_t sum(const Json& rows, const char* key) {
  std::uint64_t total = 0;
  for (const Json& row : rows) total += row.at(key).get<std::uint64_t>();
  return total;
}

class Profile : public testing::Test {
 protected:
  std::string report_of(const std::string& model, const std::string& name) {
    const std::string directory = scratch_ + "/" + name;
    const Outcome outcome = tessera({"run", model, "--platform", "pocket", "--quiet", "--report", directory});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return directory;
  }

  Json profile_json(std::vector<std::string> arguments, std::string* out = nullptr) {
    const std::string file = scratch_ + "/profile.json";
    arguments.insert(arguments.begin(), "profile");
    arguments.insert(arguments.end(), {"--json", file});
    const Outcome outcome = tessera(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    if (out != nullptr) *out = outcome.out;
    return Json::parse(read_file(file));
  }

  const std::string scratch_ = scratch_directory();  // emptied once
};

TEST_F(Profile, CyclesAndNodesAddUp) {
  const std::string directory = report_of(kResnet, "report");
  std::string out;
  const Json profile = profile_json({directory, "--top", "0"}, &out).at("profile");
  const Json& kinds = profile.at("kinds");
  EXPECT_EQ(kinds.at("compute").get<std::uint64_t>() + kinds.at("exchange").get<std::uint64_t>() +
                kinds.at("sync").get<std::uint64_t>() + kinds.at("idle").get<std::uint64_t>(),
            kinds.at("total").get<std::uint64_t>());
  const auto cycles = profile.at("cycles").get<std::uint64_t>();
  EXPECT_EQ(kinds.at("total"), cycles * kinds.at("tiles").get<std::uint64_t>());
  EXPECT_EQ(sum(profile.at("steps"), "cycles"), cycles);
  // Rounded node by node.
  const std::uint64_t in_nodes = sum(profile.at("nodes"), "cycles");
  EXPECT_LE(in_nodes, cycles + profile.at("nodes").size());
  EXPECT_GT(in_nodes, cycles / 2);
  for (const char* says : {"= total", "Costliest steps", "Nodes of the model", "1x1 convolution", "3x3 convolution",
                           "is the fullest", "live at once", "steps that hold most"})
    EXPECT_THAT(out, HasSubstr(says));
}

TEST_F(Profile, MatrixEnginesAreMeasuredNodeByNode) {
  const Json profile = profile_json({report_of(kResnet, "report")}).at("profile");
  std::size_t with_amp = 0, shared = 0, along = 0;
  for (const Json& node : profile.at("nodes")) {
    along += node.contains("computed_with") ? 1 : 0;
    if (node.value("calls", 1U) > 1) ++shared;
    if (!node.contains("amp")) continue;
    ++with_amp;
    const Json& amp = node.at("amp");
    EXPECT_GT(amp.at("utilisation").get<double>(), 0) << node;
    EXPECT_LE(amp.at("utilisation").get<double>(), 1) << node;
    EXPECT_GE(amp.at("active_tiles").get<double>(), 1) << node;
    EXPECT_LE(amp.at("active_tiles").get<double>(), 16) << node;
    EXPECT_LE(amp.at("cycles").get<double>(), node.at("cycles").get<double>()) << node;
    EXPECT_DOUBLE_EQ(amp.at("useful_steps").get<double>(), node.at("multiply_accumulates").get<double>() / 32) << node;
  }
  EXPECT_GT(with_amp, 10U);
  EXPECT_GT(shared, 0U);
  EXPECT_GT(along, 0U);
}

TEST_F(Profile, ReportsAreCompared) {
  const std::string first = report_of(kResnet, "first");
  const std::string second = report_of("example:resnet50?size=32,width=16,stages=1,blocks=3,classes=10", "second");
  std::string out;
  const Json same = profile_json({first, "--diff", first}, &out).at("difference");
  EXPECT_TRUE(same.at("steps").empty());
  EXPECT_THAT(out, HasSubstr("no step, node or category differs"));
  const Json other = profile_json({first + "/report.json", "--diff", second}, &out).at("difference");
  ASSERT_FALSE(other.at("steps").empty());
  ASSERT_FALSE(other.at("nodes").empty());
  EXPECT_EQ(other.at("nodes").at(0).at("change"), other.at("nodes").at(0).at("after").get<std::int64_t>() -
                                                      other.at("nodes").at(0).at("before").get<std::int64_t>());
  EXPECT_THAT(out, HasSubstr("cycles by node"));
}

TEST_F(Profile, MemoryOfAModelWithAndWithoutReuse) {
  std::string out;
  const Json result = profile_json({"--memory", kResnet, "--platform", "pocket", "--batch", "1,64"}, &out);
  const Json& stories = result.at("memory_story");
  ASSERT_EQ(stories.size(), 4U);  // f16 and f32, batch 1 and 64
  for (const Json& story : stories) {
    for (const char* kind : {"weights_resident", "weights_once"}) {
      const Json& way = story.at(kind);
      const auto total = [&](const char* key) { return way.at(key).at("all_tiles").get<std::uint64_t>(); };
      EXPECT_GE(total("without_sharing"), total("in_place")) << way;
      EXPECT_GT(total("in_place"), total("with_reuse")) << way;
      EXPECT_GE(total("with_reuse"), total("with_reuse_and_in_place")) << way;
      EXPECT_GE(way.at("constants").get<std::uint64_t>(), way.at("constants_once").get<std::uint64_t>()) << way;
    }
    EXPECT_GT(story.at("weights_resident").at("constants"), story.at("weights_once").at("constants")) << story;
  }
  EXPECT_EQ(2 * stories[0].at("weight_bytes").get<std::uint64_t>(), stories[2].at("weight_bytes"));
  EXPECT_EQ(64 * stories[0].at("activations").get<std::uint64_t>(), stories[1].at("activations"));
  EXPECT_EQ(stories[0].at("weights_resident").at("missing"), 0U);
  EXPECT_EQ(stories[0].at("weights_once").at("missing"), 0U);
  EXPECT_GT(stories[3].at("weights_resident").at("missing").get<std::uint64_t>(), 0U) << "too much for 16 tiles";
  for (const char* says : {"f16, batch 1", "f32, batch 64", "in place", "26 M weights", "bytes too many on tile"})
    EXPECT_THAT(out, HasSubstr(says));
}

TEST_F(Profile, WrongArgumentsAreUsageErrors) {
  const std::string& directory = scratch_;
  write_file(directory + "/other.json", "{\"cycles\": 3}");
  write_file(
      directory + "/sums.json",
      "{\"cycle_profile\": {\"tiles\": [{\"tile\": 0, \"compute\": 1, \"exchange\": 1, \"sync\": 1, \"idle\": 1, "
      "\"total\": 5}], \"all_tiles\": {}, \"steps\": []}}");
  const struct {
    std::vector<std::string> arguments;
    std::string says;
  } cases[] = {{{"profile"}, "REPORT"},
               {{"profile", directory + "/none"}, "cannot read the report"},
               {{"profile", directory + "/other.json"}, "no report of a run"},
               {{"profile", directory + "/sums.json"}, "add up to 4"},
               {{"profile", directory, "--batch", "2"}, "--batch has no effect without --memory"},
               {{"profile", "--memory", "example:resnet5"}, "nearest"},
               {{"profile", "--memory", kResnet, "--diff", directory}, "do not go together"}};
  for (const auto& c : cases) {
    const Outcome outcome = tessera(c.arguments);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(c.says));
    EXPECT_EQ(outcome.out, "");
  }
}

}  // namespace
}  // namespace tessera::test
