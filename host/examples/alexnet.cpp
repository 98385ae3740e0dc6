// AlexNet as published: two groups in the second, fourth and fifth convolution, local response normalisation.

#include "host/examples/network_writer.h"
#include "host/examples/networks.h"

namespace tessera::examples {

namespace {

Value normalised(NetworkWriter& writer, const std::string& name, const Value& x) {
  return writer.node("LRN", name, {x}, x.shape,
                     {{"size", std::int64_t{5}}, {"alpha", 1e-4F}, {"beta", 0.75F}, {"bias", 2.0F}});
}

Network build_alexnet(const Settings& settings) {
  NetworkWriter writer("alexnet", settings.type(), settings.seed());
  const std::int64_t size = settings.number("size"), width = settings.number("width");
  const std::int64_t groups = settings.number("groups"), hidden = settings.number("hidden");
  if (width % (2 * groups) != 0)
    settings.refuse("width is no multiple of twice the groups", "width=96 is the published one, with groups=2");
  const auto conv = [&](int number, const Value& x, const ConvShape& shape) {
    const std::string n = std::to_string(number);
    return writer.relu("relu" + n, writer.conv("conv" + n, x, shape));
  };
  Value x = writer.input("images", {settings.number("batch"), 3, size, size}, -2.0F, 2.0F);
  x = conv(1, x, {width, 11, 4, 0, 1, true});
  x = writer.max_pool("pool1", normalised(writer, "norm1", x), 3, 2, 0);
  x = conv(2, x, {width * 8 / 3 / (2 * groups) * (2 * groups), 5, 1, 2, groups, true});
  x = writer.max_pool("pool2", normalised(writer, "norm2", x), 3, 2, 0);
  x = conv(3, x, {4 * width, 3, 1, 1, 1, true});
  x = conv(4, x, {4 * width, 3, 1, 1, groups, true});
  x = conv(5, x, {width * 8 / 3 / (2 * groups) * (2 * groups), 3, 1, 1, groups, true});
  x = writer.max_pool("pool5", x, 3, 2, 0);
  const std::int64_t features = x.shape.at(1) * x.shape.at(2) * x.shape.at(3);
  x = writer.node("Flatten", "flatten", {x}, {x.shape.at(0), features}, {{"axis", std::int64_t{1}}});
  x = writer.relu("relu6", writer.fully_connected("fc6", x, hidden));
  x = writer.relu("relu7", writer.fully_connected("fc7", x, hidden));
  x = writer.fully_connected("fc8", x, settings.number("classes"), 1.0F);
  x = writer.node("Softmax", "prob", {x}, x.shape, {{"axis", std::int64_t{1}}});
  writer.output(x);
  Network network = writer.finish();
  network.scenario = "images of noise, as bright as normalised photographs";
  return network;
}

}  // namespace

Example alexnet() {
  return {"alexnet",
          "AlexNet image classification, as published: two groups, local response normalisation",
          "Krizhevsky et al., ImageNet Classification with Deep Convolutional Neural Networks (2012)",
          "seeded (He scale)",
          "c2",
          {batch(64), dtype(), number("size", 227, 63, 1024, "rows and columns of an image"),
           number("width", 96, 8, 384, "channels of the first convolution"),
           number("groups", 2, 1, 4, "groups of convolutions 2, 4 and 5"),
           number("hidden", 4096, 1, 16384, "results of the first two fully connected layers"),
           number("classes", 1000, 1, 100000, "results")},
          build_alexnet};
}

}  // namespace tessera::examples
