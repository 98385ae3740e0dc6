// Shrunken variants of every network on a pocket machine, tile 1 in RTL and tile 2 in lockstep: results are those of
// the reference, cycles those of TLM tiles alone.
#include "verif/networks/network_command.h"

namespace tessera::test {
namespace {

struct Shrunken {
  const char* name;     ///< of the test
  const char* example;  ///< with parameters
  bool multiplies;      ///< work of nodes is counted
};
std::ostream& operator<<(std::ostream& out, const Shrunken& s) { return out << s.example; }

class Networks : public testing::TestWithParam<Shrunken> {};

TEST_P(Networks, PassOnAllKindsOfTiles) {
  const std::string example = GetParam().example;
  const nlohmann::json plain = run_network(example, {"--platform", "pocket"});
  const nlohmann::json mixed = run_network(example, {"--platform", "pocket", "--rtl", "1", "--lockstep", "2"});
  ASSERT_FALSE(plain.is_null() || mixed.is_null());
  EXPECT_EQ(plain.at("cycles"), mixed.at("cycles"));
  EXPECT_EQ(plain.at("check"), mixed.at("check"));
  EXPECT_EQ(mixed.at("tiles").at("rtl"), 1);
  EXPECT_EQ(mixed.at("tiles").at("lockstep"), 1);
  EXPECT_GT(mixed.at("lockstep").at("instructions").get<std::uint64_t>(), 0U);
  if (GetParam().multiplies) {
    EXPECT_GT(plain.at("work").at("multiply_accumulates").get<std::uint64_t>(), 0U);
    EXPECT_GT(plain.at("work").at("utilisation").get<double>(), 0.0);
    EXPECT_LE(plain.at("work").at("utilisation").get<double>(), 1.0);
    EXPECT_LE(plain.at("work").at("cycles_in_nodes").get<std::uint64_t>(), plain.at("cycles").get<std::uint64_t>());
  }
}

std::string name_of(const testing::TestParamInfo<Shrunken>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(
    , Networks,
    testing::Values(Shrunken{"Digits", "digits", true}, Shrunken{"Lstm", "lstm?hidden=32,batch=2,steps=3", true},
                    Shrunken{"LstmBothWays", "lstm?hidden=16,steps=3,layers=2,direction=bidirectional,dtype=f32", true},
                    Shrunken{"BertFromTokens",
                             "bert?layers=1,sequence=8,hidden=32,heads=2,intermediate=64,embeddings=yes,mask=yes,"
                             "vocabulary=50,dtype=f32",
                             true},
                    Shrunken{"Wavenet",
                             "wavenet?tiles=4,residual=16,skip=16,classes=64,stacks=2,layers=3,samples=24,block=8",
                             false},
                    Shrunken{"WavenetChannels",
                             "wavenet?channels=3,tiles=4,residual=16,skip=16,classes=64,stacks=1,layers=2,samples=8,"
                             "block=4,draw=greedy",
                             false}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Convolutions, Networks,
    testing::Values(Shrunken{"Fashion", "fashion?images=8", true},
                    Shrunken{"FashionHalf", "fashion?images=8,dtype=f16", true},
                    Shrunken{"Resnet", "resnet50?size=32,width=8,blocks=1-1-1-1,classes=10", true},
                    Shrunken{"ResnetSingle", "resnet50?size=32,width=8,stages=2,blocks=1-1,classes=10,dtype=f32", true},
                    Shrunken{"Resnext", "resnext50?size=32,width=8,blocks=1-1-1-1,groups=4,group_width=4,classes=10",
                             true},
                    Shrunken{"GroupConv", "groupconv?channels=16,group_sizes=1-2-4-8-16,size=7", true},
                    Shrunken{"GroupConvEqualWork", "groupconv?channels=16,group_sizes=4-8-16,size=7,equal=macs", true},
                    Shrunken{"Alexnet", "alexnet?size=67,width=12,hidden=32,classes=10", true},
                    Shrunken{"Bert", "bert?layers=2,sequence=8,hidden=32,heads=2,intermediate=64", true}),
    name_of);

TEST(NetworksByName, AreListedToldAndSaved) {
  const Outcome list = tessera::test::tessera({"examples"});
  EXPECT_EQ(list.exit_code, 0);
  for (const char* name :
       {"digits", "fashion", "wakeword", "lstm", "resnet50", "resnext50", "groupconv", "alexnet", "bert", "wavenet"})
    EXPECT_THAT(list.out, testing::HasSubstr(name));
  const std::string folder = scratch_directory();
  const Outcome saved = tessera::test::tessera({"examples", "lstm?hidden=16,steps=3,dtype=f32", "--save",
                                                folder + "/lstm.onnx", "--inputs", folder + "/inputs"});
  EXPECT_EQ(saved.exit_code, 0) << saved.err;
  const Outcome run = tessera::test::tessera({"run", folder + "/lstm.onnx", "--inputs", folder + "/inputs",
                                              "--platform", "pocket", "--check", "--nodes", "--quiet"});
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  EXPECT_THAT(run.out, testing::HasSubstr("multiply-accumulates"));
  const Outcome told = tessera::test::tessera({"examples", "lstm?hidden=512,steps=25"});
  EXPECT_EQ(told.exit_code, 0);
  EXPECT_THAT(told.out, testing::HasSubstr("1 LSTM"));
  // 25 steps of 4 gates of 512 units from 512 inputs and 512 states.
  EXPECT_THAT(told.out, testing::HasSubstr(std::to_string(25 * 4 * 512 * 1024) + " multiply-accumulates"));
}

TEST(NetworksByName, UnknownOnesAreRefused) {
  const Outcome wrong = tessera::test::tessera({"run", "example:resnet5", "--check"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, testing::HasSubstr("nearest is example:resnet50"));
  const Outcome program = tessera::test::tessera({"compile", "example:wavenet", "-o", scratch_directory() + "/x.tsx"});
  EXPECT_EQ(program.exit_code, 2);
  EXPECT_THAT(program.err, testing::HasSubstr("no ONNX model"));
}

TEST(NetworksByName, WakeWordTellsWhatIsMissing) {
  const std::string empty = scratch_directory();
  CommandOptions options;
  options.environment = {"TESSERA_DATA=" + empty};
  const Outcome outcome = tessera::test::tessera({"run", "example:wakeword", "--check"}, options);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, testing::HasSubstr("scripts/fetch_wakeword.sh"));
}

TEST(NetworksByName, OutputsOfAProgramAreCompared) {
  const std::string file = scratch_directory() + "/result.json";
  const Outcome outcome = tessera::test::tessera(
      {"run", "example:wavenet?tiles=4,residual=16,skip=16,classes=64,stacks=1,layers=2,samples=8,block=4",
       "--platform", "pocket", "--check-outputs", "--json", file, "--quiet"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  const nlohmann::json result = nlohmann::json::parse(read_file(file));
  EXPECT_EQ(result.at("check").at("values"), 16);  // eight samples and their probabilities
}

TEST(NetworksByName, LatencyIsMeasuredAgainstTheBound) {
  const nlohmann::json met = run_network("lstm?hidden=32,steps=4,bound=1000", {"--platform", "pocket"});
  ASSERT_FALSE(met.is_null());
  EXPECT_TRUE(met.at("latency").at("met").get<bool>());
  const double cycles = met.at("latency").at("cycles").get<double>();
  EXPECT_GT(cycles, 0);
  EXPECT_LT(cycles, met.at("cycles").get<double>());
  const double before = met.at("latency").at("cycles_before_steps").get<double>();
  EXPECT_GT(before, 0);
  EXPECT_NEAR(met.at("latency").at("cycles_per_step").get<double>(), (cycles - before) / 4, 1);
  const nlohmann::json missed = run_network("lstm?hidden=32,steps=4,bound=1", {"--platform", "pocket"});
  ASSERT_FALSE(missed.is_null());
  EXPECT_FALSE(missed.at("latency").at("met").get<bool>());
}

}  // namespace
}  // namespace tessera::test
