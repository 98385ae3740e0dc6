// One-layer LSTM of the inference shapes of DeepBench, under a bound on its latency.

#include "host/examples/network_writer.h"
#include "host/examples/networks.h"

namespace tessera::examples {

namespace {

Network build_lstm(const Settings& settings) {
  NetworkWriter writer("lstm", settings.type(), settings.seed());
  const std::int64_t hidden = settings.number("hidden"), batch = settings.number("batch");
  const std::int64_t steps = settings.number("steps");
  const std::int64_t inputs = settings.number("inputs") == 0 ? hidden : settings.number("inputs");
  const std::int64_t ways = settings.text("direction") == "bidirectional" ? 2 : 1;
  Value x = writer.input("x", {steps, batch, inputs}, -1.0F, 1.0F);
  for (std::int64_t layer = 0; layer < settings.number("layers"); ++layer) {
    const std::string name = "lstm" + std::to_string(layer);
    const std::int64_t width = x.shape.back();
    // Second moment 1/3 of 1/hidden: uniform in +-1/sqrt(hidden), as frameworks begin.
    const Value w = writer.weights(name + ".W", {ways, 4 * hidden, width}, hidden, 1.0F / 3.0F);
    const Value r = writer.weights(name + ".R", {ways, 4 * hidden, hidden}, hidden, 1.0F / 3.0F);
    const Value b = writer.drawn(name + ".B", {ways, 8 * hidden}, -0.05F, 0.05F);
    const std::vector<Value> results = writer.nodes(
        "LSTM", name, {x, w, r, b}, {{steps, ways, batch, hidden}, {ways, batch, hidden}, {ways, batch, hidden}},
        {{"hidden_size", hidden}, {"direction", settings.text("direction")}});
    if (layer + 1 == settings.number("layers")) {
      for (const Value& result : results) writer.output(result);
      break;
    }
    // [steps, ways, batch, hidden] -> [steps, batch, ways * hidden]
    const Value turned = writer.node("Transpose", name + ".Transpose", {results[0]}, {steps, batch, ways, hidden},
                                     {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}});
    const model::Shape shape = {steps, batch, ways * hidden};
    x = writer.node("Reshape", name + ".Reshape", {turned, writer.integers(name + ".shape", shape)}, shape);
  }
  Network network = writer.finish();
  network.latency = LatencyBound{steps, settings.number("bound")};
  network.scenario = "a sequence of noise";
  return network;
}

}  // namespace

Example lstm() {
  return {"lstm",
          "one-layer LSTM, inference shapes of DeepBench, under a latency bound",
          "Baidu Research, DeepBench: inference server shapes (hidden, steps): 512, 25; 1024, 25; 1536, 50; 256, 150; "
          "each with batch 1, 2, 4",
          "seeded (uniform in +-1/sqrt(hidden))",
          "c2",
          {number("hidden", 1536, 1, 8192, "features of the state"), number("batch", 1, 1, 64, "sequences at once"),
           number("steps", 50, 1, 4096, "steps of the sequence"), number("layers", 1, 1, 16, "layers"),
           number("inputs", 0, 0, 8192, "features of a step's input; 0: as hidden"), dtype(),
           choice("direction", "forward", {"forward", "reverse", "bidirectional"}, "direction of the recurrence"),
           number("bound", 1000, 1, 1000000000, "microseconds that all steps may take")},
          build_lstm};
}

}  // namespace tessera::examples
