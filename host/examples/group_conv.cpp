// Convolutions of one shape with groups of different sizes, side by side with the plain one.

#include <fmt/format.h>

#include "host/examples/network_writer.h"
#include "host/examples/networks.h"

namespace tessera::examples {

namespace {

Network build_group_conv(const Settings& settings) {
  NetworkWriter writer("groupconv", settings.type(), settings.seed());
  const std::int64_t channels = settings.number("channels"), size = settings.number("size");
  const std::int64_t kernel = settings.number("kernel"), batch = settings.number("batch");
  const bool equal_work = settings.text("equal") == "macs";
  std::vector<std::int64_t> sizes = settings.numbers("group_sizes");
  const auto branch = [&](const std::string& name, const Value& x, std::int64_t groups) {
    const Value y = writer.conv(name, x, {x.shape.at(1), kernel, 1, kernel / 2, groups, false, 1.0F});
    writer.output(y);
  };
  Value x;
  if (!equal_work) x = writer.input("x", {batch, channels, size, size}, -1.0F, 1.0F);
  for (const std::int64_t group_size : sizes) {
    if (channels % group_size != 0)
      settings.refuse(fmt::format("{} channels are no multiple of a group size of {}", channels, group_size),
                      "choose group sizes that divide the channels");
    // Equal work: channels x group size is the same for all.
    const std::int64_t width = equal_work ? channels * channels / group_size : channels;
    if (equal_work) x = writer.input(fmt::format("x_{}", group_size), {batch, width, size, size}, -1.0F, 1.0F);
    branch(group_size == channels ? "plain" : fmt::format("groups_of_{}", group_size), x, width / group_size);
  }
  Network network = writer.finish();
  network.per_node = true;
  network.scenario = "one image of noise for each convolution";
  return network;
}

}  // namespace

Example group_conv() {
  return {"groupconv",
          "grouped convolutions of every group size beside the plain one: multiply-accumulates a cycle of each",
          "a 3x3 layer of ResNet's third stage with the group sizes of ResNeXt and depthwise networks",
          "seeded (He scale)",
          "c2",
          {batch(64),
           dtype(),
           number("channels", 128, 1, 1024, "channels in and out of the plain convolution"),
           {Parameter::Kind::numbers,
            "group_sizes",
            "1-2-4-8-16-32-64-128",
            "channels of a group; as many as there are channels: plain",
            1,
            1024,
            {}},
           number("size", 28, 1, 512, "rows and columns"),
           number("kernel", 3, 1, 7, "rows and columns of the kernel"),
           choice("equal", "shape", {"shape", "macs"},
                  "what all have in common: the shape, or the work (more channels for smaller groups)")},
          build_group_conv};
}

}  // namespace tessera::examples
