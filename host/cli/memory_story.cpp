#include "host/cli/memory_story.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>

#include "host/cli/progress.h"
#include "host/compiler/measure.h"
#include "host/nn/lower.h"
#include "host/onnx/work.h"
#include "hw/error.h"
#include "verif/cosim/shutdown.h"

namespace tessera::cli {

namespace {

struct Story {
  std::string title;
  std::uint64_t weights = 0, weight_bytes = 0;          // tensor arithmetic
  std::uint64_t activations = 0, activation_bytes = 0;  // of every node
  std::uint64_t product_results = 0;                    // of nodes that multiply
  /// Weights where they are used, or in one copy and sent there before each use.
  struct Way {
    bool least = false;  // planned for least memory, since the fastest plans do not fit
    compiler::MemoryMeasure measured;
  } resident, once;
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

/// One way of one variant. What it takes of the host's memory is given back before the next.
compiler::MemoryMeasure measure_way(const model::Model& model, const Platform& platform, bool weights_once, bool frugal,
                                    const std::string& what, Progress& progress, bool& least) {
  const auto phase = [&](const std::string& pass) {
    Shutdown::check();
    progress.phase(what + pass);
    progress.update(0, 0, 0);
  };
  const auto poll = [] { Shutdown::check(); };
  phase("lowering");
  nn::Options options;
  options.weights_once = weights_once;
  options.frugal = frugal;
  options.oversized = true;
  options.tiles = platform.tiles;
  options.sram_bytes = platform.sram_bytes;
  options.poll = poll;
  compiler::MemoryMeasure result;
  {
    const nn::Lowered lowered = nn::lower(model, options);
    least = lowered.least_memory;
    result = compiler::measure_memory(lowered.graph, platform, CodeletLibrary::builtin(), phase, poll);
  }
  malloc_trim(0);
  return result;
}

/// As compile does: what does not fit is planned once more for least memory.
Story measure(const Context& context, const std::string& name, const std::string& title, const InputOptions& inputs,
              const Platform& platform, Progress& progress) {
  Story story;
  story.title = title;
  const LoadedModel loaded = load_model(context, name, inputs);
  count_tensors(loaded.model, story);
  for (const bool once : {false, true}) {
    const std::string what = title + (once ? ", weights once: " : ", weights resident: ");
    Story::Way& way = once ? story.once : story.resident;
    way.measured = measure_way(loaded.model, platform, once, false, what, progress, way.least);
    if (way.measured.missing() == 0 || way.least) continue;
    bool least = false;
    const compiler::MemoryMeasure again =
        measure_way(loaded.model, platform, once, true, what + "again, ", progress, least);
    if (again.missing() >= way.measured.missing()) continue;
    way.measured = again;
    way.least = least;
  }
  return story;
}

[[noreturn]] void no_choice(const std::string& option, const std::string& model, const std::string& advice) {
  throw Error(Category::usage, option + " cannot be chosen for this model", model, advice);
}

/// Examples by type and batch where they have such parameters and the user has not set them; else the model as it is.
std::vector<std::pair<std::string, std::string>> variants(const Context& context, const MemoryStoryOptions& options) {
  std::vector<std::pair<std::string, std::string>> result = {{options.model, ""}};
  if (!examples::is_example(options.model)) {
    if (options.types_given) no_choice("--dtype", options.model, "leave it out: a file says what types it has");
    if (options.batches_given)
      no_choice("--batch", options.model,
                "leave it out; if the file leaves its batch open, --shape INPUT=32,... sets it for one table");
    return {{options.model, "as given"}};
  }
  const examples::Chosen chosen = examples::choose(options.model, context.seed);
  const auto vary = [&](const std::string& parameter, const std::string& label, const std::vector<std::string>& values,
                        bool asked) {
    const auto& all = chosen.example->parameters;
    const bool has = std::any_of(all.begin(), all.end(), [&](const auto& p) { return p.name == parameter; });
    const bool given = options.model.find("?" + parameter + "=") != std::string::npos ||
                       options.model.find("," + parameter + "=") != std::string::npos;
    if (asked && !has)
      no_choice("--" + parameter, options.model,
                "leave it out: this example has no parameter '" + parameter + "' (tessera examples lists them)");
    if (asked && given)
      no_choice("--" + parameter, options.model, "its name sets " + parameter + " already: leave one of the two out");
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
  vary("dtype", "", options.types, options.types_given);
  vary("batch", "batch ", batches, options.batches_given);
  for (auto& [name, title] : result)
    if (title.empty()) title = "as given";
  return result;
}

nlohmann::ordered_json to_json(const compiler::DataMemory& memory) {
  return {{"all_tiles", memory.all_tiles}, {"fullest", memory.fullest}, {"tile", memory.tile}};
}

nlohmann::ordered_json to_json(const Story::Way& way) {
  const compiler::MemoryMeasure& m = way.measured;
  return {{"planned_for_least_memory", way.least},
          {"constants_once", m.constants_once},
          {"constants", m.constants},
          {"kept", m.kept},
          {"variables", m.variables},
          {"live", m.live},
          {"peak", m.peak},
          {"without_sharing", to_json(m.none)},
          {"in_place", to_json(m.in_place_alone)},
          {"with_reuse", to_json(m.reused)},
          {"with_reuse_and_in_place", to_json(m.in_place)},
          {"places_taken_over", m.turnovers},
          {"program_bytes", m.program_bytes},
          {"missing", m.missing()}};
}

nlohmann::ordered_json to_json(const Story& story) {
  return {{"title", story.title},
          {"weights", story.weights},
          {"weight_bytes", story.weight_bytes},
          {"activations", story.activations},
          {"activation_bytes", story.activation_bytes},
          {"product_results", story.product_results},
          {"tiles", story.resident.measured.tiles},
          {"sram_bytes", story.resident.measured.sram_bytes},
          {"weights_resident", to_json(story.resident)},
          {"weights_once", to_json(story.once)}};
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

class Table {
 public:
  Table(const Context& context, const std::vector<Story>& stories) : context_(context), stories_(stories) {}

  void print() const {
    row("", [](const Story& s) { return s.title; });
    context_.print("By the model's tensors alone (arithmetic)");
    row("  weights", [](const Story& s) { return millions(s.weights); });
    row("    bytes", [](const Story& s) { return mega(s.weight_bytes); });
    row("  activations: results of all nodes", [](const Story& s) { return millions(s.activations); });
    row("    bytes", [](const Story& s) { return mega(s.activation_bytes); });
    row("    of it results of products", [](const Story& s) { return millions(s.product_results); });
    context_.print("Weights resident on every tile that uses them, by the compiler's liveness and allocation");
    way(&Story::resident);
    context_.print("Weights in one copy over all tiles, sent to their users before each use, likewise");
    way(&Story::once);
    notes(&Story::resident, "weights resident");
    notes(&Story::once, "weights once");
  }

 private:
  using Measure = compiler::MemoryMeasure;

  void row(const std::string& name, const std::function<std::string(const Story&)>& cell) const {
    std::string line = fmt::format("{:<46}", name);
    for (const Story& story : stories_) line += fmt::format(" {:>15}", cell(story));
    context_.print(line);
  }

  void way(Story::Way Story::*way) const {
    const auto figure = [&](const std::string& name, std::uint64_t Measure::*member) {
      row(name, [&](const Story& s) { return mega((s.*way).measured.*member); });
    };
    const auto total = [&](const std::string& name, compiler::DataMemory Measure::*member) {
      row(name, [&](const Story& s) { return mega(((s.*way).measured.*member).all_tiles); });
    };
    const auto shrinks = [&](const std::string& name, compiler::DataMemory Measure::*member) {
      row(name, [&](const Story& s) {
        return fmt::format("{:.2f} times", factor((s.*way).measured, (s.*way).measured.*member));
      });
    };
    figure("  constants (weights, tables) with all copies", &Measure::constants);
    figure("  variables (activations, operands, sums)", &Measure::variables);
    total("  all data, nothing shared", &Measure::none);
    total("  in place, without reuse", &Measure::in_place_alone);
    total("  with reuse, not in place", &Measure::reused);
    total("  with reuse and in place: the peak", &Measure::in_place);
    figure("    live at once at most", &Measure::live);
    shrinks("  variables shrink in place alone", &Measure::in_place_alone);
    shrinks("    by reuse alone", &Measure::reused);
    shrinks("    by both", &Measure::in_place);
    row("  fullest tile: data and program",
        [&](const Story& s) { return kibi((s.*way).measured.in_place.fullest + (s.*way).measured.program_bytes); });
    row("    fits (without tables and lists)",
        [&](const Story& s) { return std::string((s.*way).measured.missing() == 0 ? "yes" : "no"); });
  }

  void notes(Story::Way Story::*way, const std::string& name) const {
    for (const Story& story : stories_) {
      const Story::Way& w = story.*way;
      const Measure& m = w.measured;
      context_.print(fmt::format("{}, {}: most is live in {}", story.title, name, m.peak));
      if (m.missing() != 0)
        context_.print(
            fmt::format("  {} bytes too many on tile {}, of {}", m.missing(), m.in_place.tile, m.sram_bytes));
      if (w.least) context_.print("  planned for least memory, since the fastest plans do not fit");
    }
  }

  const Context& context_;
  const std::vector<Story>& stories_;
};

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
    Shutdown::check();
    stories.push_back(measure(context, name, title, options.inputs, platform, progress));
    json.push_back(to_json(stories.back()));
  }
  progress.finish();
  context.print(fmt::format("memory      {} on platform {}: {} tiles of {}", options.model, platform.name,
                            stories.front().resident.measured.tiles,
                            kibi(stories.front().resident.measured.sram_bytes)));
  Table(context, stories).print();
  if (options.model.rfind("example:resnet50", 0) == 0) print_public_figures(context);
}

}  // namespace tessera::cli
