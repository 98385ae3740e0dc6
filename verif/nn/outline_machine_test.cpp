// A network of equal blocks on the modelled machine (TLM, pocket), its blocks as one function and by themselves: the
// same bytes. The function's constants differ from call to call; nothing of them is copied.
#include <gtest/gtest.h>

#include <algorithm>

#include "verif/compiler/machine_modes.h"
#include "verif/nn/cases.h"
#include "verif/nn/device_run.h"

namespace tessera::verif_nn {
namespace {

constexpr int kBlocks = 4;

/// x + relu(x W + b) V, block after block.
Case blocks(model::Type type, std::int64_t rows, std::int64_t width, std::int64_t inner) {
  Maker maker("blocks", type, 8);
  (void)maker.input("x0", {rows, width}, 1.0);
  for (int i = 0; i < kBlocks; ++i) {
    const std::string n = std::to_string(i), next = "x" + std::to_string(i + 1);
    (void)maker.weight("w" + n, {width, inner}, 0.2);
    (void)maker.weight("b" + n, {inner}, 0.5);
    (void)maker.weight("v" + n, {inner, width}, 0.2);
    maker.node("MatMul", {"x" + n, "w" + n}, {"p" + n});
    maker.node("Add", {"p" + n, "b" + n}, {"q" + n});
    maker.node("Relu", {"q" + n}, {"r" + n});
    maker.node("MatMul", {"r" + n, "v" + n}, {"s" + n});
    maker.node("Add", {"x" + n, "s" + n}, {next});
  }
  maker.output("x" + std::to_string(kBlocks), exact::Array({rows, width}));
  return maker.finish();
}

std::size_t calls_of(const graph::Program& program, std::size_t& arguments) {
  if (const auto* call = std::get_if<graph::Program::Call>(&program.node())) {
    arguments += call->arguments.size();
    return 1;
  }
  std::size_t count = 0;
  if (const auto* sequence = std::get_if<graph::Program::Sequence>(&program.node()))
    for (const graph::Program& step : sequence->steps) count += calls_of(step, arguments);
  return count;
}

TEST(OutlineMachine, AFunctionGivesTheBytesOfItsBlocks) {
  for (const model::Type type : {model::Type::f16, model::Type::f32}) {
    const Case c = blocks(type, 24, 32, 64);
    const model::Model model = model_of(c);
    std::size_t arguments = 0;
    const nn::Lowered lowered = nn::lower(model, {});
    EXPECT_EQ(calls_of(lowered.graph.entries().front().program, arguments), static_cast<std::size_t>(kBlocks));
    EXPECT_GE(arguments, std::size_t{3} * kBlocks);  // W, b and V at least
    const auto bytes = [&](bool outline) {
      return testing::run_in_process([&] {
        const std::vector<model::Tensor> values = DeviceRun(model, c.inputs, false, outline).results;
        return values.at(0).data;
      });
    };
    const std::vector<std::uint8_t> called = bytes(true);
    EXPECT_EQ(called.size(), 24 * 32 * (type == model::Type::f16 ? 2U : 4U));
    EXPECT_GT(std::count_if(called.begin(), called.end(), [](std::uint8_t b) { return b != 0; }), 24 * 32);
    EXPECT_EQ(called, bytes(false));
  }
}

}  // namespace
}  // namespace tessera::verif_nn
