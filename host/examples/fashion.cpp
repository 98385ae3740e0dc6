// Fashion-MNIST: a small trained convolutional network with test images of the data set.

#include <fmt/format.h>
#include <zlib.h>

#include <memory>

#include "host/examples/network_writer.h"
#include "host/examples/networks.h"
#include "host/onnx/tensor_io.h"
#include "hw/error.h"

namespace tessera::examples {

namespace {

const char* const kFolder = "/usr/share/datasets/fashion-mnist/";

/// The first `count` bytes of a compressed file behind its header of `header` bytes.
std::vector<std::uint8_t> read_gz(const std::string& name, std::size_t header, std::size_t count) {
  const std::string path = kFolder + name;
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  std::vector<std::uint8_t> bytes(header + count);
  const bool whole =
      file && gzread(file.get(), bytes.data(), static_cast<unsigned>(bytes.size())) == static_cast<int>(bytes.size());
  if (!whole)
    throw Error(Category::usage, "the images of Fashion-MNIST cannot be read", path,
                "install Debian's package dataset-fashion-mnist: scripts/setup.sh does");
  return {bytes.begin() + static_cast<std::ptrdiff_t>(header), bytes.end()};
}

Network build_fashion(const Settings& settings) {
  const std::int64_t count = settings.number("images");
  const model::Type type = settings.type();
  Network network;
  model::FileGraph graph =
      model::from_onnx(model::read_file(TESSERA_SOURCE_DIR "/host/examples/fashion/fashion.onnx"), "fashion.onnx");
  if (type == model::Type::f16) model::to_half(graph);
  network.onnx = model::to_onnx(graph);
  const std::vector<std::uint8_t> pixels =
      read_gz("t10k-images-idx3-ubyte.gz", 16, static_cast<std::size_t>(count) * 28 * 28);
  const std::vector<std::uint8_t> classes = read_gz("t10k-labels-idx1-ubyte.gz", 8, static_cast<std::size_t>(count));
  model::Tensor images(type, {count, 1, 28, 28});
  images.name = "images";
  for (std::int64_t i = 0; i < images.elements(); ++i)
    store(images, i, static_cast<float>(pixels[static_cast<std::size_t>(i)]) / 255.0F);
  network.inputs.push_back(std::move(images));
  model::Tensor labels(model::Type::i64, {count});
  for (std::int64_t i = 0; i < count; ++i) labels.set(i, std::int64_t{classes[static_cast<std::size_t>(i)]});
  network.labels = std::move(labels);
  network.least_accuracy = count >= 500 ? 0.85 : 0;  // of few images the share says little
  network.scenario = fmt::format("the first {} test images of Fashion-MNIST", count);
  return network;
}

}  // namespace

Example fashion() {
  return {"fashion",
          "clothing, a small convolutional network, test images of Fashion-MNIST",
          "own, see host/examples/fashion/README.md; data: Xiao et al., Fashion-MNIST (2017)",
          "trained on Fashion-MNIST by scripts/train_fashion.py",
          "pocket",
          {number("images", 1000, 1, 10000, "test images, from the first"), dtype("f32")},
          build_fashion};
}

}  // namespace tessera::examples
