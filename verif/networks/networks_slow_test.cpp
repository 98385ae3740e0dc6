// Whole networks on one IPU of 1216 tiles, one command each.
#include "verif/networks/network_command.h"

namespace tessera::test {
namespace {

nlohmann::json run_whole(const std::string& example) {
  return run_network(example, {"--threads", "2"}, std::chrono::seconds(1700));
}

TEST(WholeNetworks, Fashion) {
  const nlohmann::json result = run_whole("fashion");
  ASSERT_FALSE(result.is_null());
  EXPECT_EQ(result.at("accuracy").at("rows"), 1000);
  EXPECT_GE(result.at("accuracy").at("share").get<double>(), 0.85);
}
TEST(WholeNetworks, LstmOfDeepBench) {
  for (const char* shape : {"hidden=512,steps=25", "hidden=1024,steps=25,batch=2", "hidden=1536,steps=50,batch=4"})
    EXPECT_FALSE(run_whole(std::string("lstm?") + shape).is_null());
}
TEST(WholeNetworks, Resnet50) { EXPECT_FALSE(run_whole("resnet50").is_null()); }
TEST(WholeNetworks, Resnext50) { EXPECT_FALSE(run_whole("resnext50").is_null()); }
TEST(WholeNetworks, GroupConv) { EXPECT_FALSE(run_whole("groupconv").is_null()); }
TEST(WholeNetworks, Alexnet) { EXPECT_FALSE(run_whole("alexnet").is_null()); }
TEST(WholeNetworks, Bert) { EXPECT_FALSE(run_whole("bert").is_null()); }

/// The default table: both types, one image and 32, weights resident and in one copy.
TEST(WholeNetworks, MemoryOfResnet50) {
  const std::string file = scratch_directory() + "/memory.json";
  CommandOptions command;
  command.limit = std::chrono::seconds(1700);
  const Outcome outcome = tessera({"profile", "--memory", "example:resnet50", "--json", file}, command);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const nlohmann::json stories = nlohmann::json::parse(read_file(file)).at("memory_story");
  ASSERT_EQ(stories.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    const nlohmann::json& story = stories[i];
    const bool whole_batch = i % 2 == 1;  // 32 images
    EXPECT_EQ(story.at("activations"), stories[0].at("activations").get<std::uint64_t>() * (whole_batch ? 32 : 1));
    EXPECT_EQ(story.at("weight_bytes"), stories[0].at("weight_bytes").get<std::uint64_t>() * (i / 2 + 1));
    const auto peak = [&](const char* way) {
      return story.at(way).at("with_reuse_and_in_place").at("all_tiles").get<std::uint64_t>();
    };
    for (const char* way : {"weights_resident", "weights_once"}) {
      EXPECT_EQ(story.at(way).at("missing").get<std::uint64_t>() > 0, whole_batch) << story.at("title") << way;
      EXPECT_EQ(story.at(way).at("planned_for_least_memory").get<bool>(), whole_batch) << story.at("title") << way;
    }
    EXPECT_LT(peak("weights_once"), peak("weights_resident")) << story.at("title");
    // A copy of every product's weights on every tile would be several times as much.
    EXPECT_LT(peak("weights_resident"), std::uint64_t{1100} << 20) << story.at("title");
  }
}

TEST(WholeNetworks, WavenetInRealTime) {
  const nlohmann::json result = run_whole("wavenet");
  ASSERT_FALSE(result.is_null());
  EXPECT_TRUE(result.at("sound").at("real_time").get<bool>());
}

/// The whole and its parts. Without the models the example says what to do.
TEST(WholeNetworks, WakeWord) {
  const Outcome there = run_command({source_path("scripts/fetch_wakeword.sh")});
  if (there.exit_code != 0) {
    const Outcome outcome = tessera({"run", "example:wakeword", "--check"});
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_NE(outcome.err.find("fetch_wakeword.sh"), std::string::npos) << outcome.err;
    return;
  }
  EXPECT_FALSE(run_whole("wakeword").is_null());
  for (const char* part : {"melspectrogram", "embedding", "classifier"})
    EXPECT_FALSE(run_whole(std::string("wakeword?part=") + part).is_null()) << part;
}

}  // namespace
}  // namespace tessera::test
