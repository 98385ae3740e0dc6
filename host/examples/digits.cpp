// The digits network of host/examples/digits: a real trained network with real images.

#include "host/examples/networks.h"
#include "host/onnx/tensor_io.h"

namespace tessera::examples {

Example digits() {
  return {"digits",
          "handwritten digits, 64-32-10 fully connected, 599 held-out images",
          "own, see host/examples/digits/README.md",
          "trained on the UCI digits by scripts/train_digits.py",
          "pocket",
          {},
          [](const Settings&) {
            const std::string folder = TESSERA_SOURCE_DIR "/host/examples/digits/";
            Network network;
            network.onnx = model::read_file(folder + "digits.onnx");
            network.inputs.push_back(model::read_tensor(folder + "input_0.pb"));
            network.inputs.back().name = "images";
            network.labels = model::read_tensor(folder + "labels.pb");
            network.least_accuracy = 0.95;
            network.scenario = "599 held-out images of the UCI digits";
            return network;
          }};
}

}  // namespace tessera::examples
