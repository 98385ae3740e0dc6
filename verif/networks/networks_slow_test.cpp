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
