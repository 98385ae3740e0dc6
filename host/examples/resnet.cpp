// ResNet-50 and ResNeXt-50 32x4d: bottleneck residual networks for images, cut or narrowed by parameters.

#include <fmt/format.h>

#include "host/examples/network_writer.h"
#include "host/examples/networks.h"
#include "hw/error.h"

namespace tessera::examples {

namespace {

/// 1x1 to `width`, 3x3 (grouped in ResNeXt; it carries the stride, as torchvision's do), 1x1 to `outputs`, and the way
/// around: the operand itself, or a 1x1 convolution where extents change.
struct Block {
  std::int64_t width = 64, outputs = 256, stride = 1, groups = 1;
};

Value bottleneck(NetworkWriter& writer, const std::string& name, const Value& x, const Block& block) {
  const auto layer = [&](const std::string& number, const Value& from, const ConvShape& shape, float scale = 1.0F) {
    return writer.batch_norm(name + ".bn" + number, writer.conv(name + ".conv" + number, from, shape), scale);
  };
  Value y = writer.relu(name + ".relu1", layer("1", x, {block.width, 1}));
  y = writer.relu(name + ".relu2", layer("2", y, {block.width, 3, block.stride, 1, block.groups}));
  // A small last scale keeps the sums over many blocks in the range of f16, as training starts from.
  y = layer("3", y, {block.outputs, 1}, 0.35F);
  Value around = x;
  if (x.shape.at(1) != block.outputs || block.stride != 1)
    around =
        writer.batch_norm(name + ".downsample.1",
                          writer.conv(name + ".downsample.0", x, {block.outputs, 1, block.stride, 0, 1, false, 1.0F}));
  return writer.relu(name + ".relu3", writer.node("Add", name + ".add", {y, around}, y.shape));
}

Network build_residual(const Settings& settings, const std::string& name, std::int64_t groups,
                       std::int64_t group_width) {
  NetworkWriter writer(name, settings.type(), settings.seed());
  const std::int64_t size = settings.number("size"), width = settings.number("width");
  const std::vector<std::int64_t> blocks = settings.numbers("blocks");
  const auto stages = static_cast<std::size_t>(settings.number("stages"));
  if (blocks.size() < stages)
    settings.refuse(fmt::format("blocks gives {} stages, but stages={}", blocks.size(), stages),
                    "give as many numbers of blocks as stages, or fewer stages");
  Value x = writer.input("images", {settings.number("batch"), 3, size, size}, -2.0F, 2.0F);
  x = writer.relu("relu1", writer.batch_norm("bn1", writer.conv("conv1", x, {width, 7, 2, 3})));
  x = writer.max_pool("maxpool", x, 3, 2, 1);
  for (std::size_t stage = 0; stage < stages; ++stage) {
    const std::int64_t planes = width << stage;
    // ResNeXt: groups * group_width channels where ResNet has `width`.
    const std::int64_t inner = group_width == 0 ? planes : (groups * group_width) << stage;
    for (std::int64_t b = 0; b < blocks[stage]; ++b)
      x = bottleneck(writer, fmt::format("layer{}.{}", stage + 1, b), x,
                     {inner, 4 * planes, b == 0 && stage > 0 ? 2 : 1, groups});
  }
  if (settings.text("head") == "yes") {
    const std::int64_t channels = x.shape.at(1);
    x = writer.node("GlobalAveragePool", "avgpool", {x}, {x.shape.at(0), channels, 1, 1});
    x = writer.node("Flatten", "flatten", {x}, {x.shape.at(0), channels}, {{"axis", std::int64_t{1}}});
    x = writer.fully_connected("fc", x, settings.number("classes"), 1.0F);
  }
  writer.output(x);
  Network network = writer.finish();
  network.scenario = "images of noise, as bright as normalised photographs";
  return network;
}

std::vector<Parameter> residual_parameters() {
  return {batch(64),
          dtype(),
          number("size", 224, 32, 1024, "rows and columns of an image"),
          {Parameter::Kind::numbers, "blocks", "3-4-6-3", "residual blocks of each stage", 1, 64, {}},
          number("stages", 4, 1, 4, "stages that are built"),
          number("width", 64, 4, 256, "channels of the first stage"),
          number("classes", 1000, 1, 100000, "results"),
          choice("head", "yes", {"yes", "no"}, "average pooling and fully connected layer behind the stages")};
}

}  // namespace

Example resnet50() {
  return {"resnet50",
          "ResNet-50 image classification",
          "He et al., Deep Residual Learning for Image Recognition (2015); stride in the 3x3 convolution",
          "seeded (He scale, normalisation statistics of mid-training)",
          "c2",
          residual_parameters(),
          [](const Settings& settings) { return build_residual(settings, "resnet50", 1, 0); }};
}

Example resnext50() {
  std::vector<Parameter> parameters = residual_parameters();
  parameters.push_back(number("groups", 32, 1, 256, "groups of the 3x3 convolutions"));
  parameters.push_back(number("group_width", 4, 1, 256, "channels of a group in the first stage"));
  return {"resnext50",
          "ResNeXt-50 image classification, grouped convolutions (32 groups of 4)",
          "Xie et al., Aggregated Residual Transformations for Deep Neural Networks (2016)",
          "seeded (He scale, normalisation statistics of mid-training)",
          "c2",
          parameters,
          [](const Settings& settings) {
            return build_residual(settings, "resnext50", settings.number("groups"), settings.number("group_width"));
          }};
}

}  // namespace tessera::examples
