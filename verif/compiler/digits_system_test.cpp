// The digits network on the modelled machine: every value is the bit that the same codelets give on the host.
#include <gtest/gtest.h>

#include "host/nn/graph_interpreter.h"
#include "host/nn/lower.h"
#include "host/onnx/import.h"
#include "host/onnx/tensor_io.h"
#include "verif/compiler/graph_machine.h"

namespace tessera {
namespace {

const std::string kDigits = TESSERA_SOURCE_DIR "/host/examples/digits/";

nn::Lowered digits(std::int64_t rows, unsigned tiles) {
  model::ImportOptions import;
  import.shapes["images"] = {rows, 64};
  nn::Options options;
  options.tiles = tiles;
  return nn::lower(model::import_model(kDigits + "digits.onnx", import), options);
}

/// Runs the lowered model where `engine` has connect_input and connect_output under whatever names.
model::Tensor on_host(const nn::Lowered& lowered, const model::Tensor& images) {
  nn::GraphInterpreter interpreter(lowered.graph);
  model::Tensor result(lowered.outputs[0].type, lowered.outputs[0].shape);
  interpreter.connect_input(lowered.inputs[0].stream, [&](std::uint64_t step, std::uint8_t* bytes) {
    nn::fill_step(lowered.inputs[0], images, step, bytes);
  });
  interpreter.connect_output(lowered.outputs[0].stream, [&](std::uint64_t step, const std::uint8_t* bytes) {
    nn::drain_step(lowered.outputs[0], result, step, bytes);
  });
  interpreter.run();
  return result;
}

TEST(DigitsSystem, MachineAndHostGiveTheSameBits) {
  const model::Tensor images = model::read_tensor(kDigits + "input_0.pb");
  const nn::Lowered lowered = digits(599, 16);
  const model::Tensor expect = on_host(lowered, images);
  testing::GraphMachine m(lowered.graph);
  model::Tensor result(lowered.outputs[0].type, lowered.outputs[0].shape);
  m.engine().connect(lowered.inputs[0].stream, engine::Source([&](std::uint64_t step, std::uint8_t* bytes) {
                       nn::fill_step(lowered.inputs[0], images, step, bytes);
                     }));
  m.engine().connect(lowered.outputs[0].stream, engine::Sink([&](std::uint64_t step, const std::uint8_t* bytes) {
                       nn::drain_step(lowered.outputs[0], result, step, bytes);
                     }));
  m.engine().run("main");
  std::size_t compared = 0;
  for (std::int64_t i = 0; i < 5990; ++i, ++compared) ASSERT_EQ(result.at<float>(i), expect.at<float>(i)) << i;
  EXPECT_EQ(compared, 5990U);
  // Every phase of every round takes the predicted cycles, in order.
  std::vector<Cycle> predicted;
  for (std::uint32_t round = 0; round < lowered.steps; ++round) {
    for (const auto& phase : m.executable().programs[0].phases) predicted.push_back(phase.cycles);
  }
  EXPECT_EQ(m.clock().phases(), predicted);
}

TEST(DigitsSystem, CompilesForAllTilesOfC2) {
  const nn::Lowered lowered = digits(599, 1216);
  const Platform c2 = load_platform("c2");
  const auto first = compiler::compile(lowered.graph, c2, CodeletLibrary::builtin());
  EXPECT_EQ(first.executable.programs[0].tiles, 1216U);
  EXPECT_EQ(executable::write(first.executable),
            executable::write(compiler::compile(lowered.graph, c2, CodeletLibrary::builtin()).executable));
}

}  // namespace
}  // namespace tessera
