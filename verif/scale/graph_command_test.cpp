// tessera graph: counts of a model at its own grain and at a fine one, pictures that are the same bytes each time, what
// goes wrong and with which exit code; and AlexNet, forward and backward at full size, from an ONNX file to a picture
// in 4K: at least the published counts, within 4 GiB.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "host/onnx/test_models.h"
#include "verif/support/run_command.h"

namespace tessera::test {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

const std::string kDigits = source_path("host/examples/digits/digits.onnx");

std::vector<std::string> digits(std::vector<std::string> more) {
  std::vector<std::string> all = {"graph", kDigits, "--shape", "images=599,64", "--platform", "pocket"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST(GraphCommand, LosesNeitherAModelNorAnOlderPicture) {
  const std::string directory = scratch_directory(), model = directory + "/m.png", picture = directory + "/p.png";
  std::filesystem::copy_file(kDigits, model);
  const std::string bytes = read_file(model);
  const Outcome itself = tessera({"graph", model, "--shape", "images=599,64", "--picture", model});
  EXPECT_EQ(itself.exit_code, 2) << itself.err;
  EXPECT_EQ(read_file(model), bytes);
  const Outcome both = tessera(digits({"--picture", picture, "--json", picture}));
  EXPECT_EQ(both.exit_code, 2) << both.err;
  ASSERT_EQ(tessera(digits({"--picture", picture, "--count-only"})).exit_code, 0);
  const std::string drawn = read_file(picture);
  EXPECT_GT(drawn.size(), 10000U);
  EXPECT_EQ(tessera({"graph", directory + "/missing.onnx", "--picture", picture}).exit_code, 2);
  EXPECT_EQ(tessera({"graph", kDigits, "--picture", picture}).exit_code, 2) << "an open dimension";
  EXPECT_EQ(read_file(picture), drawn);
  EXPECT_FALSE(std::filesystem::exists(picture + ".partial"));
}

TEST(GraphCommand, CountsAndDrawsTheDigits) {
  const std::string directory = scratch_directory();
  for (const std::vector<std::string>& grain : std::vector<std::vector<std::string>>{{}, {"--grain", "full"}}) {
    for (const char* suffix : {".png", ".svg"}) {
      std::vector<std::string> pictures;
      Json counts;
      for (const char* name : {"a", "b"}) {
        const std::string file = directory + "/" + name + suffix;
        std::vector<std::string> more = {"--picture", file, "--size", "800x450", "--json", directory + "/g.json"};
        more.insert(more.end(), grain.begin(), grain.end());
        const Outcome run = tessera(digits(more));
        ASSERT_EQ(run.exit_code, 0) << run.err;
        pictures.push_back(read_file(file));
        counts = Json::parse(read_file(directory + "/g.json"));
        EXPECT_THAT(run.out, HasSubstr("layer       fc1"));
      }
      EXPECT_GT(pictures[0].size(), 10000U);
      EXPECT_EQ(pictures[0], pictures[1]);
      EXPECT_EQ(counts.at("picture").at("edges"), counts.at("edges"));
      EXPECT_EQ(counts.at("picture").at("vertices"), counts.at("vertices"));
      std::uint64_t vertices = 0, edges = 0;
      for (const Json& layer : counts.at("layers")) {
        vertices += layer.at("vertices").get<std::uint64_t>();
        edges += layer.at("edges").get<std::uint64_t>();
      }
      EXPECT_EQ(counts.at("vertices"), vertices);
      EXPECT_EQ(counts.at("edges"), edges);
      if (grain.empty()) {
        EXPECT_GT(counts.at("memory").at("largest_tile").at("peak"), 0);
      }
    }
  }
}

TEST(GraphCommand, WrongUseIsTold) {
  const auto fails = [](const std::vector<std::string>& more, const std::string& says) {
    const Outcome run = tessera(digits(more));
    EXPECT_EQ(run.exit_code, 2) << run.err;
    EXPECT_THAT(run.err, HasSubstr(says));
  };
  fails({"--picture", "a.jpg"}, ".png or .svg");
  fails({"--picture", "/nowhere/a.png"}, "/nowhere/a.png");
  fails({"--picture", scratch_directory() + "/a.png", "--size", "99999x10", "--grain", "full"}, "16384");
  fails({"--picture", "a.png", "--size", "wide"}, "3840x2160");
  fails({"--grain", "0"}, "no grain");
  fails({"--grain", "fine"}, "no grain");
  fails({"--inference"}, "--grain");
}

/// AlexNet for two groups, 227 x 227; weights are zero, since nothing is computed.
std::string alexnet() {
  model::TestGraph g;
  std::string last = "image";
  g.inputs = {{last, model::Type::f32, {"1", "3", "227", "227"}}};
  const auto node = [&](const std::string& op, const std::string& name, std::vector<std::string> operands,
                        std::map<std::string, model::TestAttribute> attributes = {}) {
    operands.insert(operands.begin(), last);
    last = name;
    g.nodes.push_back({op, operands, {name}, std::move(attributes), name, ""});
  };
  const auto weights = [&](const std::string& name, const model::Shape& shape) {
    g.initializers.emplace_back(name, model::Tensor(model::Type::f32, shape));
    return name;
  };
  const auto conv = [&](int n, std::int64_t in, std::int64_t out, std::int64_t k, std::int64_t stride, std::int64_t pad,
                        std::int64_t group) {
    const std::string name = "conv" + std::to_string(n);
    node("Conv", name, {weights(name + ".w", {out, in / group, k, k}), weights(name + ".b", {out})},
         {{"strides", std::vector<std::int64_t>{stride, stride}},
          {"pads", std::vector<std::int64_t>{pad, pad, pad, pad}},
          {"group", group}});
    node("Relu", "relu" + std::to_string(n), {});
  };
  const auto norm_and_pool = [&](int n, bool norm) {
    if (norm) node("LRN", "norm" + std::to_string(n), {}, {{"size", std::int64_t{5}}});
    node("MaxPool", "pool" + std::to_string(n), {},
         {{"kernel_shape", std::vector<std::int64_t>{3, 3}}, {"strides", std::vector<std::int64_t>{2, 2}}});
  };
  const auto gemm = [&](int n, std::int64_t in, std::int64_t out) {
    const std::string name = "fc" + std::to_string(n);
    node("Gemm", name, {weights(name + ".w", {out, in}), weights(name + ".b", {out})}, {{"transB", std::int64_t{1}}});
  };
  conv(1, 3, 96, 11, 4, 0, 1);
  norm_and_pool(1, true);
  conv(2, 96, 256, 5, 1, 2, 2);
  norm_and_pool(2, true);
  conv(3, 256, 384, 3, 1, 1, 1);
  conv(4, 384, 384, 3, 1, 1, 2);
  conv(5, 384, 256, 3, 1, 1, 2);
  norm_and_pool(5, false);
  node("Flatten", "flat", {});
  gemm(6, 9216, 4096);
  node("Relu", "relu6", {});
  gemm(7, 4096, 4096);
  node("Relu", "relu7", {});
  gemm(8, 4096, 1000);
  node("Softmax", "probabilities", {});
  g.outputs = {{last, model::Type::f32, {"1", "1000"}}};
  return model::to_bytes(g);
}

TEST(GraphCommand, AlexNetIsBuiltCountedAndDrawnAtFullSize) {
  const std::string directory = scratch_directory();
  write_file(directory + "/alexnet.onnx", alexnet());
  const Outcome run = tessera({"graph", directory + "/alexnet.onnx", "--grain", "full", "--picture",
                               directory + "/alexnet.png", "--json", directory + "/alexnet.json"});
  std::filesystem::remove(directory + "/alexnet.onnx");  // a quarter of a gigabyte
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json result = Json::parse(read_file(directory + "/alexnet.json"));
  EXPECT_GE(result.at("vertices"), 18700000);
  EXPECT_GE(result.at("edges"), 115800000);
  EXPECT_EQ(result.at("picture").at("edges"), result.at("edges"));
  EXPECT_EQ(result.at("picture").at("vertices"), result.at("vertices"));
  EXPECT_LT(result.at("host_bytes"), std::uint64_t{4} << 30);
  std::cout << run.out.substr(run.out.rfind("picture")) << std::flush;
  EXPECT_EQ(read_file(directory + "/alexnet.png").substr(1, 3), "PNG");
}

}  // namespace
}  // namespace tessera::test
