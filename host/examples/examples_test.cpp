// Examples are valid ONNX of the published size, the same every time, and refuse what they do not have.

#include <gtest/gtest.h>

#include <cmath>

#include "host/examples/example.h"
#include "host/examples/random.h"
#include "host/onnx/import.h"
#include "host/onnx/writer.h"
#include "hw/error.h"

namespace tessera::examples {
namespace {

Network built(const std::string& name, std::uint64_t seed = 1) { return build(choose(name, seed)); }

/// A small variant of every example.
const std::vector<std::string> kSmall = {"example:digits",
                                         "example:lstm?hidden=16,steps=3,batch=2",
                                         "example:lstm?hidden=8,steps=3,layers=2,direction=bidirectional,dtype=f32",
                                         "example:resnet50?size=32,width=8,classes=10",
                                         "example:resnet50?size=32,width=8,stages=2,head=no,dtype=f32",
                                         "example:resnext50?size=32,width=8,groups=4,group_width=2,classes=10",
                                         "example:groupconv?channels=16,group_sizes=1-2-4-8-16,size=7",
                                         "example:groupconv?channels=8,group_sizes=1-4-8,size=7,equal=macs",
                                         "example:alexnet?size=67,width=24,hidden=32,classes=10",
                                         "example:bert?layers=2,sequence=8,hidden=16,heads=2,intermediate=32",
                                         "example:bert?layers=1,sequence=8,hidden=16,heads=2,intermediate=32,"
                                         "embeddings=yes,mask=yes,vocabulary=50,dtype=f32"};

TEST(Examples, AreValidOnnxWithInputsThatFit) {
  for (const std::string& name : kSmall) {
    SCOPED_TRACE(name);
    const Network network = built(name);
    EXPECT_NO_THROW(model::verify_onnx(network.onnx, name));
    const model::Interface interface = model::read_interface_bytes(network.onnx, name);
    ASSERT_EQ(interface.inputs.size(), network.inputs.size());
    for (std::size_t i = 0; i < network.inputs.size(); ++i) {
      const model::Tensor& given = network.inputs[i];
      EXPECT_EQ(interface.inputs[i].name, given.name);
      EXPECT_EQ(interface.inputs[i].type, model::name_of(given.type));
      ASSERT_EQ(interface.inputs[i].extents.size(), given.shape.size());
      for (std::size_t axis = 0; axis < given.shape.size(); ++axis) {
        const std::string& extent = interface.inputs[i].extents[axis];
        EXPECT_TRUE(extent == "N" || extent == std::to_string(given.shape[axis])) << extent;
      }
    }
  }
}

TEST(Examples, DependOnNameParametersAndSeedAlone) {
  for (const std::string& name : kSmall) {
    SCOPED_TRACE(name);
    EXPECT_EQ(built(name).onnx, built(name).onnx);
    EXPECT_EQ(built(name).inputs, built(name).inputs);
    if (name == "example:digits") continue;  // trained
    EXPECT_NE(built(name, 0).onnx, built(name, 1).onnx);
  }
}

std::int64_t parameters_of(const std::string& name) { return model::contents_of(built(name).onnx, name).parameters; }

// Counts as published for these networks (batch normalisation's running statistics are counted apart there).
TEST(Examples, HaveTheParametersOfThePublishedNetworks) {
  const auto statistics = [](std::int64_t width_sum) { return 2 * width_sum; };
  // Channels of all normalisations: 26,560 in ResNet-50, 34,112 in ResNeXt-50 with its doubled inner widths.
  EXPECT_EQ(parameters_of("example:resnet50"), 25557032 + statistics(26560));
  EXPECT_EQ(parameters_of("example:resnext50"), 25028904 + statistics(34112));
  EXPECT_EQ(parameters_of("example:alexnet"), 60965224);
  EXPECT_EQ(parameters_of("example:lstm?hidden=512"), 4 * 512 * (512 + 512) + 8 * 512);
}

TEST(Examples, SequenceOfARandomIsFixed) {
  Random random(1, "x");
  const std::uint64_t first = random.next();
  EXPECT_EQ(Random(1, "x").next(), first);
  EXPECT_NE(Random(2, "x").next(), first);
  EXPECT_NE(Random(1, "y").next(), first);
  double sum = 0, squares = 0;
  constexpr int kCount = 100000;
  for (int i = 0; i < kCount; ++i) {
    const double value = random.signed_unit();
    ASSERT_GE(value, -1.0);
    ASSERT_LT(value, 1.0);
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / kCount, 0.0, 0.01);
  EXPECT_NEAR(squares / kCount, 1.0 / 3.0, 0.01);
}

std::string refusal(const std::string& name) {
  try {
    (void)built(name);
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), Category::usage);
    return error.what();
  }
  return "accepted";
}

TEST(Examples, RefuseWhatTheyDoNotHave) {
  EXPECT_NE(refusal("example:resnet5").find("nearest is example:resnet50"), std::string::npos);
  EXPECT_NE(refusal("example:resnet50?layers=3").find("no parameter 'layers'"), std::string::npos);
  EXPECT_NE(refusal("example:resnet50?size=abc").find("'abc' is no value of parameter size"), std::string::npos);
  EXPECT_NE(refusal("example:resnet50?size=16").find("32 to 1024"), std::string::npos);
  EXPECT_NE(refusal("example:resnet50?dtype=f64").find("f16 or f32"), std::string::npos);
  EXPECT_NE(refusal("example:resnet50?blocks=3--6").find("is no value of parameter blocks"), std::string::npos);
  EXPECT_NE(refusal("example:resnet50?batch").find("is not key=value"), std::string::npos);
  EXPECT_NE(refusal("example:resnet50?blocks=3-4").find("blocks gives 2 stages"), std::string::npos);
  EXPECT_NE(refusal("example:bert?hidden=100,heads=12").find("no multiple of heads"), std::string::npos);
  EXPECT_NE(refusal("example:groupconv?channels=12,group_sizes=8").find("no multiple of a group size of 8"),
            std::string::npos);
  EXPECT_NE(refusal("example:digits?batch=1").find("takes no parameters"), std::string::npos);
}

TEST(Examples, HalvesAreRoundedToNearestEven) {
  EXPECT_EQ(model::to_half(0.0F), 0x0000);
  EXPECT_EQ(model::to_half(-0.0F), 0x8000);
  EXPECT_EQ(model::to_half(1.0F), 0x3C00);
  EXPECT_EQ(model::to_half(1.0F + 0x1p-11F), 0x3C00);             // tie, down to even
  EXPECT_EQ(model::to_half(1.0F + 3 * 0x1p-11F), 0x3C02);         // tie, up to even
  EXPECT_EQ(model::to_half(1.0F + 0x1p-11F + 0x1p-20F), 0x3C01);  // just above a tie
  EXPECT_EQ(model::to_half(65504.0F), 0x7BFF);
  EXPECT_EQ(model::to_half(65519.9F), 0x7BFF);
  EXPECT_EQ(model::to_half(65520.0F), 0x7C00);
  EXPECT_EQ(model::to_half(0x1p-24F), 0x0001);
  EXPECT_EQ(model::to_half(0x1p-25F), 0x0000);
  EXPECT_EQ(model::to_half(0x1.8p-25F), 0x0001);
  EXPECT_EQ(model::to_half(std::nanf("")), 0x7E00);
  for (unsigned bits = 0; bits < 0x7C00; ++bits)
    ASSERT_EQ(model::to_half(model::from_half(static_cast<std::uint16_t>(bits))), bits);
}

}  // namespace
}  // namespace tessera::examples
