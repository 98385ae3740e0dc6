// platforms, isa and registers as a user calls them: standard output, JSON result, exit codes.
#include <gtest/gtest.h>

#include "host/cli/commands.h"

namespace tessera::cli {
namespace {

struct Outcome {
  int code;
  std::string out;
  std::string err;
  nlohmann::ordered_json result;
};

Outcome call(std::vector<std::string> arguments) {
  CLI::App app("test", "tessera");
  Context context;
  add_hw_commands(app, context);
  arguments.insert(arguments.begin(), "tessera");
  std::vector<char*> argv;
  for (std::string& a : arguments) argv.push_back(a.data());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = run(app, context, static_cast<int>(argv.size()), argv.data());
  std::string out = testing::internal::GetCapturedStdout();
  return {code, out, testing::internal::GetCapturedStderr(), context.result};
}

TEST(HwCommands, Platforms) {
  const Outcome all = call({"platforms"});
  EXPECT_EQ(all.code, 0);
  EXPECT_EQ(all.result["platforms"].size(), 3u);
  EXPECT_NE(all.out.find("dss8440"), std::string::npos);
  const Outcome one = call({"platforms", "c2"});
  EXPECT_EQ(nlohmann::json::parse(one.out)["tiles"], 1216);
  EXPECT_EQ(call({"platforms", "c3"}).code, 2);
  EXPECT_NE(call({"platforms", "c3"}).err.find("did you mean 'c2'"), std::string::npos);
}

TEST(HwCommands, Isa) {
  const Outcome all = call({"isa"});
  EXPECT_EQ(all.code, 0);
  EXPECT_GT(all.result["instructions"].size(), 150u);
  const Outcome decode = call({"isa", "--decode", "0x00b4e38b", "ffffffff"});
  EXPECT_NE(decode.out.find("x.run all,s1,a1,zero"), std::string::npos);
  EXPECT_EQ(decode.result["decoded"][1]["state"], "illegal");
  EXPECT_EQ(call({"isa", "x.run"}).result["instructions"].size(), 1u);
  EXPECT_EQ(call({"isa", "x.amp"}).result["instructions"].size(), 5u);
  EXPECT_EQ(call({"isa", "addx"}).code, 2);
  EXPECT_EQ(call({"isa", "--decode", "123456789"}).code, 2);
  EXPECT_EQ(call({"isa", "--decode", "zz"}).code, 2);
}

TEST(HwCommands, Registers) {
  const Outcome all = call({"registers"});
  EXPECT_EQ(all.code, 0);
  EXPECT_GT(all.result["csrs"].size(), 150u);
  EXPECT_GE(all.result["blocks"].size(), 1u);
  EXPECT_GT(all.result["traps"].size(), 10u);
  EXPECT_FALSE(call({"registers", "trap"}).result.contains("csrs"));
  EXPECT_EQ(call({"registers", "nothing"}).code, 2);
}

}  // namespace
}  // namespace tessera::cli
