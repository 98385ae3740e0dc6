#include "host/cli/memory_story.h"

#include <fmt/format.h>

#include <algorithm>

#include "host/cli/progress.h"
#include "host/compiler/measure.h"
#include "host/nn/lower.h"
#include "host/onnx/work.h"
#include "hw/error.h"
#include "verif/cosim/shutdown.h"

namespace tessera::cli {

namespace {

constexpr std::uint32_t kLargestPlan = 64U << 20;  // bytes of a tile that plans are made for before giving up

struct Story {
  std::string title;
  std::uint64_t weights = 0, weight_bytes = 0;          // tensor arithmetic
  std::uint64_t activations = 0, activation_bytes = 0;  // of every node
  std::uint64_t product_results = 0;                    // of nodes that multiply
  std::uint32_t planned_bytes = 0;                      // SRAM of a tile that the lowering planned for
  compiler::MemoryMeasure measured;
};

/// Elements and bytes by the model alone, whatever computes it.
void count_tensors(const model::Model& model, Story& story) {
  for (const model::Value& value : model.values) {
    if (!value.constant) continue;
    story.weights += static_cast<std::uint64_t>(model::element_count(value.shape));
    story.weight_bytes += value.constant->data.size();
  }
  for (const model::Node& node : model.nodes)
    for (const model::ValueId id : node.outputs) {
      if (id == model::kAbsent || model.value(id).constant) continue;
      const model::Value& value = model.value(id);
      const auto elements = static_cast<std::uint64_t>(model::element_count(value.shape));
      story.activations += elements;
      story.activation_bytes += elements * model::size_of(value.type);
      if (model::multiply_accumulates(model, node) != 0) story.product_results += elements;
    }
}

/// Plans for the platform's tiles; if none fits, for larger ones.
nn::Lowered lower_for_measure(const model::Model& model, const Platform& platform, std::uint32_t& planned) {
  nn::Options options;
  options.tiles = platform.tiles;
  for (options.sram_bytes = platform.sram_bytes;; options.sram_bytes *= 4) {
    planned = options.sram_bytes;
    try {
      return nn::lower(model, options);
    } catch (const Error& error) {
      if (error.category() != Category::does_not_fit || options.sram_bytes >= kLargestPlan) throw;
    }
  }
}

Story measure(const Context& context, const std::string& name, const std::string& title, const InputOptions& inputs,
              const Platform& platform) {
  Story story;
  story.title = title;
  const LoadedModel loaded = load_model(context, name, inputs);
  count_tensors(loaded.model, story);
  const nn::Lowered lowered = lower_for_measure(loaded.model, platform, story.planned_bytes);
  story.measured = compiler::measure_memory(lowered.graph, platform, CodeletLibrary::builtin());
  return story;
}

/// Examples by type and batch where they have such parameters and the user has not set them; else the model as it is.
std::vector<std::pair<std::string, std::string>> variants(const Context& context, const MemoryStoryOptions& options) {
  std::vector<std::pair<std::string, std::string>> result = {{options.model, ""}};
  if (!examples::is_example(options.model)) return {{options.model, "as given"}};
  const examples::Chosen chosen = examples::choose(options.model, context.seed);
  const auto vary = [&](const std::string& parameter, const std::string& label,
                        const std::vector<std::string>& values) {
    const auto& all = chosen.example->parameters;
    const bool has = std::any_of(all.begin(), all.end(), [&](const auto& p) { return p.name == parameter; });
    const bool given = options.model.find("?" + parameter + "=") != std::string::npos ||
                       options.model.find("," + parameter + "=") != std::string::npos;
    if (!has || given || values.empty()) return;
    std::vector<std::pair<std::string, std::string>> more;
    for (const auto& [name, title] : result)
      for (const std::string& value : values)
        more.emplace_back(name + (name.find('?') == std::string::npos ? "?" : ",") + parameter + "=" + value,
                          title + (title.empty() ? "" : ", ") + label + value);
    result = std::move(more);
  };
  std::vector<std::string> batches;
  for (const std::int64_t batch : options.batches) batches.push_back(std::to_string(batch));
  vary("dtype", "", options.types);
  vary("batch", "batch ", batches);
  for (auto& [name, title] : result)
    if (title.empty()) title = "as given";
  return result;
}

nlohmann::ordered_json to_json(const compiler::DataMemory& memory) {
  return {{"all_tiles", memory.all_tiles}, {"fullest", memory.fullest}, {"tile", memory.tile}};
}

nlohmann::ordered_json to_json(const Story& story) {
  const compiler::MemoryMeasure& m = story.measured;
  return {{"title", story.title},
          {"weights", story.weights},
          {"weight_bytes", story.weight_bytes},
          {"activations", story.activations},
          {"activation_bytes", story.activation_bytes},
          {"product_results", story.product_results},
          {"planned_for_tile_bytes", story.planned_bytes},
          {"tiles", m.tiles},
          {"sram_bytes", m.sram_bytes},
          {"constants_once", m.constants_once},
          {"constants", m.constants},
          {"kept", m.kept},
          {"variables", m.variables},
          {"live", m.live},
          {"peak", m.peak},
          {"without_reuse", to_json(m.none)},
          {"with_reuse", to_json(m.reused)},
          {"with_reuse_and_in_place", to_json(m.in_place)},
          {"program_bytes", m.program_bytes},
          {"missing", m.missing()}};
}

std::string mega(std::uint64_t bytes) { return fmt::format("{:.1f} MB", 1e-6 * static_cast<double>(bytes)); }
std::string millions(std::uint64_t count) { return fmt::format("{:.2f} M", 1e-6 * static_cast<double>(count)); }
std::string kibi(std::uint64_t bytes) { return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024); }

/// What the variables' memory shrinks by: what is neither constant nor kept, over what is left of it.
double factor(const compiler::MemoryMeasure& m, const compiler::DataMemory& memory) {
  const std::uint64_t always = m.constants + m.kept;
  return memory.all_tiles > always ? static_cast<double>(m.variables) / static_cast<double>(memory.all_tiles - always)
                                   : 0.0;
}

void print_table(const Context& context, const std::vector<Story>& stories) {
  const auto row = [&](const std::string& name, const std::function<std::string(const Story&)>& cell) {
    std::string line = fmt::format("{:<44}", name);
    for (const Story& story : stories) line += fmt::format(" {:>15}", cell(story));
    context.print(line);
  };
  using Figure = std::string (*)(std::uint64_t);
  const auto plain = [&](const std::string& name, Figure text, std::uint64_t Story::*member) {
    row(name, [&](const Story& s) { return text(s.*member); });
  };
  const auto measured = [&](const std::string& name, std::uint64_t compiler::MemoryMeasure::*member) {
    row(name, [&](const Story& s) { return mega(s.measured.*member); });
  };
  row("", [](const Story& s) { return s.title; });
  context.print("By the model's tensors alone (arithmetic)");
  plain("  weights", millions, &Story::weights);
  plain("    bytes", mega, &Story::weight_bytes);
  plain("  activations: results of all nodes", millions, &Story::activations);
  plain("    bytes", mega, &Story::activation_bytes);
  plain("    of it results of products", millions, &Story::product_results);
  context.print("By the compiler's liveness and allocation, all tiles together");
  measured("  constants (weights, tables), one copy", &compiler::MemoryMeasure::constants_once);
  measured("  constants as they lie on the tiles", &compiler::MemoryMeasure::constants);
  measured("  variables, each with memory of its own", &compiler::MemoryMeasure::variables);
  measured("  live at once at most, constants included", &compiler::MemoryMeasure::live);
  row("  total without reuse", [](const Story& s) { return mega(s.measured.none.all_tiles); });
  row("  total with reuse", [](const Story& s) { return mega(s.measured.reused.all_tiles); });
  row("  total with reuse and in place", [](const Story& s) { return mega(s.measured.in_place.all_tiles); });
  row("    less memory for variables by reuse",
      [](const Story& s) { return fmt::format("{:.2f} times", factor(s.measured, s.measured.reused)); });
  row("    by reuse and in place",
      [](const Story& s) { return fmt::format("{:.2f} times", factor(s.measured, s.measured.in_place)); });
  context.print("The fullest tile: data and program, without exchange tables and run lists");
  row("  needs", [](const Story& s) { return kibi(s.measured.in_place.fullest + s.measured.program_bytes); });
  row("  has", [](const Story& s) { return kibi(s.measured.sram_bytes); });
  row("  fits",
      [](const Story& s) { return s.measured.missing() == 0 ? "yes" : "no, " + kibi(s.measured.missing()) + " less"; });
  for (const Story& story : stories)
    if (story.planned_bytes > story.measured.sram_bytes)
      context.print(fmt::format("{}: no plan fits tiles of {}; this is the plan for {}", story.title,
                                kibi(story.measured.sram_bytes), kibi(story.planned_bytes)));
  for (const Story& story : stories)
    context.print(fmt::format("{}: most is live in {}", story.title, story.measured.peak));
}

void print_public_figures(const Context& context) {
  context.print("Public figures for ResNet-50, for comparison:");
  context.print("  26 M weights; 16 M activations an image (168 MB f32)");
  context.print("  over 2 GB at batch 32 on wide vector machines; 7.5 GB measured on a GPU");
  context.print("  reuse and in-place: 2 to 3 times less memory");
}

}  // namespace

void tell_memory(Context& context, const MemoryStoryOptions& options) {
  const Platform platform = load_platform(options.platform);
  Progress progress(context.quiet);
  std::vector<Story> stories;
  auto& json = context.result["memory_story"] = nlohmann::ordered_json::array();
  for (const auto& [name, title] : variants(context, options)) {
    progress.phase("measuring " + title);
    Shutdown::check();
    stories.push_back(measure(context, name, title, options.inputs, platform));
    json.push_back(to_json(stories.back()));
  }
  progress.finish();
  context.print(fmt::format("memory      {} on platform {}: {} tiles of {}", options.model, platform.name,
                            stories.front().measured.tiles, kibi(stories.front().measured.sram_bytes)));
  print_table(context, stories);
  if (options.model.rfind("example:resnet50", 0) == 0) print_public_figures(context);
}

}  // namespace tessera::cli
