// What users do wrong with a model, as the command answers it: everything that is unsupported at once (exit code 3),
// shapes and types that do not fit (2), a model that does not fit into the tiles (4), with a report all the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "host/onnx/test_models.h"
#include "verif/support/run_command.h"

namespace tessera::test {
namespace {

using Json = nlohmann::json;
using model::TestGraph;
using model::Type;
using testing::HasSubstr;

/// Writes the model and runs it on inputs that are drawn.
Outcome run_graph(const TestGraph& graph, std::vector<std::string> more = {}) {
  const std::string file = scratch_directory() + "/model.onnx";
  write_file(file, model::to_bytes(graph));
  std::vector<std::string> arguments = {"run", file, "--synthetic", "--platform", "pocket", "--quiet"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return tessera(arguments);
}

TEST(ModelErrors, AllThatIsUnsupportedIsToldAtOnce) {
  const Outcome outcome =
      run_graph({17,
                 {{"x", Type::f32, {"1", "1", "4", "4"}}, {"u", Type::u64, {"2"}}},
                 {{"y", Type::f32, {"1", "1"}}, {"v", Type::u64, {"2"}}},
                 {},
                 {{"Det", {"x"}, {"y"}, {}, "volume", ""}, {"Add", {"u", "u"}, {"v"}, {}, "words", ""}}});
  EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
  for (const char* says : {"2 nodes", "'volume' (Det", "'words' (Add", "type u64"})
    EXPECT_THAT(outcome.err, HasSubstr(says));
  EXPECT_EQ(outcome.out, "");
}

TEST(ModelErrors, ShapesThatDoNotFitNameTheNode) {
  const Outcome outcome = run_graph({17,
                                     {{"a", Type::f32, {"2", "3"}}, {"b", Type::f32, {"4", "5"}}},
                                     {{"y", Type::f32, {"2", "5"}}},
                                     {},
                                     {{"MatMul", {"a", "b"}, {"y"}, {}, "product", ""}}});
  EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("product"));
}

TEST(ModelErrors, InputsThatNothingMakesNameTheNode) {
  model::TestGraph graph{17,
                         {{"a", Type::f32, {"2"}}},
                         {{"y", Type::f32, {"2"}}},
                         {},
                         {{"Add", {"a", "b"}, {"y"}, {}, "sum", ""}}};
  Outcome outcome = run_graph(graph);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("input 'b' of node 'sum' (Add) is computed by no node"));
  graph.nodes.push_back({"Relu", {"a"}, {"b"}, {}, "late", ""});
  outcome = run_graph(graph);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("input 'b' of node 'sum' (Add) is computed behind it"));
  graph.nodes = {{"Add", {"a", "c"}, {"y"}, {}, "", ""}};
  EXPECT_THAT(run_graph(graph).err, HasSubstr("input 'c' of node number 0 (Add)"));
}

TEST(ModelErrors, TypesThatDoNotFitNameTheNode) {
  const Outcome outcome = run_graph({17,
                                     {{"a", Type::f32, {"2"}}, {"b", Type::i32, {"2"}}},
                                     {{"y", Type::f32, {"2"}}},
                                     {},
                                     {{"Add", {"a", "b"}, {"y"}, {}, "sum", ""}}});
  EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("sum"));
}

TEST(ModelErrors, AnInputFileOfAnotherShapeNamesTheInput) {
  const std::string digits = source_path("host/examples/digits");
  const Outcome outcome = tessera({"run", "example:lstm?hidden=16,steps=2,dtype=f32", "--platform", "pocket", "--input",
                                   "x=" + digits + "/input_0.pb", "--quiet"});
  EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("x"));
}

TEST(ModelErrors, WhatDoesNotFitIsToldByTileCategoryAndVariableWithAReport) {
  const std::string directory = scratch_directory() + "/report";
  // 64 MiB for 16 tiles of 256 KiB.
  const Outcome outcome = run_graph({17,
                                     {{"long", Type::f32, {"8388608"}}},
                                     {{"y", Type::f32, {"8388608"}}},
                                     {},
                                     {{"Relu", {"long"}, {"y"}, {}, "clip", ""}}},
                                    {"--report", directory});
  EXPECT_EQ(outcome.exit_code, 4) << outcome.err;
  for (const char* says : {"out of memory: tile", "needs", "it has 262144", "too many", "bytes by category", "code",
                           "exchange", "largest variables", "long", "most is live in", "try"})
    EXPECT_THAT(outcome.err, HasSubstr(says));
  const Json report = Json::parse(read_file(directory + "/report.json"));
  EXPECT_EQ(report.at("exit_code"), 4);
  EXPECT_THAT(report.at("error").at("message").get<std::string>(), HasSubstr("out of memory"));
  EXPECT_EQ(report.at("compiler").at("memory").at("tiles").size(), 16U);
  // And the report can be read.
  const Outcome profile = tessera({"profile", directory});
  EXPECT_EQ(profile.exit_code, 0) << profile.err;
  for (const char* says : {"error       out of memory", "is the fullest", "too many", "steps that hold most"})
    EXPECT_THAT(profile.out, HasSubstr(says));
}

}  // namespace
}  // namespace tessera::test
