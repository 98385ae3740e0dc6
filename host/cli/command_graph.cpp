// tessera graph: how large a model's graph is, as it is lowered or at a chosen fine grain, and its picture.

#include <fmt/format.h>
#include <sys/resource.h>

#include <charconv>
#include <chrono>

#include "host/cli/commands.h"
#include "host/cli/model_inputs.h"
#include "host/cli/session.h"
#include "host/scale/expand.h"
#include "host/scale/natural.h"
#include "host/scale/picture.h"
#include "hw/error.h"
#include "verif/cosim/shutdown.h"

namespace tessera::cli {

namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

struct GraphOptions {
  std::string model, platform = "c2", grain, picture;
  std::string size = "3840x2160";
  bool inference = false, count_only = false;
  InputOptions inputs;
};

std::int64_t grain_of(const std::string& text) {
  if (text == "full") return 1;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > 1 << 20)
    throw Error(Category::usage, "'" + text + "' is no grain", "--grain",
                "give full, or how many vectors of 16 a vertex takes: 1 to 1048576");
  return value;
}

scale::PictureOptions picture_options(const GraphOptions& options) {
  scale::PictureOptions result;
  const std::size_t cross = options.size.find('x');
  const auto number = [&](const std::string& text, unsigned& to) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
    return !text.empty() && error == std::errc() && end == text.data() + text.size();
  };
  if (cross == std::string::npos || !number(options.size.substr(0, cross), result.width) ||
      !number(options.size.substr(cross + 1), result.height))
    throw Error(Category::usage, "'" + options.size + "' is no size of a picture", "--size", "write it as 3840x2160");
  result.title = options.model;
  return result;
}

void paint(Context& context, const GraphOptions& options, const scale::Scene& scene) {
  if (options.picture.empty()) return;
  const scale::Picture picture = scale::draw(scene, scale::format_of(options.picture), picture_options(options));
  scale::write_picture(picture, options.picture);
  context.print(fmt::format("picture     {} ({} bytes): {} vertices, {} edges on {} lines", options.picture,
                            picture.bytes.size(), picture.vertices, picture.edges, picture.lines));
  context.result["picture"] = {{"file", options.picture},
                               {"bytes", picture.bytes.size()},
                               {"vertices", picture.vertices},
                               {"edges", picture.edges},
                               {"lines", picture.lines}};
}

void fine_graph(Context& context, const GraphOptions& options, const model::Model& model, unsigned tiles) {
  scale::Grain grain;
  grain.vectors = grain_of(options.grain);
  grain.training = !options.inference;
  const scale::Structure structure = scale::expand(model, grain, tiles);
  std::map<std::uint32_t, std::map<scale::Role, scale::Counts>> layers;
  scale::Counts all;
  for (const scale::Family& family : structure.families) {
    Shutdown::check();
    const scale::Counts counts = scale::enumerate(family);
    const scale::Cluster& cluster = structure.clusters[family.cluster];
    layers[cluster.layer][cluster.role] += counts;
    all += counts;
  }
  context.print(fmt::format("graph       {}: {} at grain {}", options.model,
                            grain.training ? "forward, gradients and updates" : "forward", options.grain));
  context.print(fmt::format("vertices    {}", all.vertices));
  context.print(fmt::format("edges       {}", all.edges));
  context.print(fmt::format("families    {} of {} tensors in {} clusters", structure.families.size(),
                            structure.tensors.size(), structure.clusters.size()));
  context.result["grain"] = options.grain;
  context.result["training"] = grain.training;
  context.result["vertices"] = all.vertices;
  context.result["edges"] = all.edges;
  context.result["families"] = structure.families.size();
  context.result["tensors"] = structure.tensors.size();
  Json list = Json::array();
  for (const auto& [layer, roles] : layers) {
    for (const auto& [role, counts] : roles) {
      context.print(fmt::format("layer       {} {}: {} vertices, {} edges", structure.layers[layer],
                                scale::name_of(role), counts.vertices, counts.edges));
      list.push_back({{"layer", structure.layers[layer]},
                      {"role", scale::name_of(role)},
                      {"vertices", counts.vertices},
                      {"edges", counts.edges}});
    }
  }
  context.result["layers"] = std::move(list);
  paint(context, options, scale::make_scene(structure));
}

void report_memory(Context& context, const Json& report) {
  if (!report.contains("memory")) return;
  context.result["memory"] = report["memory"];
  const Json& memory = report["memory"];
  std::uint64_t tables = 0;
  for (const auto& [name, bytes] : memory.at("categories").items()) tables += bytes.get<std::uint64_t>();
  const Json& largest = memory.at("largest_tile");
  context.print(fmt::format(
      "memory      {} bytes of data on the fullest tile at its peak ({} if nothing were reused), "
      "{} of code and tables, {} in all",
      largest.at("peak").dump(), largest.at("sum_of_variables").dump(), tables, memory.at("sram_bytes").dump()));
}

void natural_graph(Context& context, const GraphOptions& options, const model::Model& model, const Platform& platform,
                   Progress& progress) {
  nn::Options lowering;
  lowering.tiles = platform.tiles;
  lowering.sram_bytes = platform.sram_bytes;
  progress.phase("lowering");
  const nn::Lowered lowered = nn::lower(model, lowering);
  std::vector<std::string> names;
  for (const model::Node& node : model.nodes) names.push_back(node.name);
  const scale::NaturalCounts counts = scale::count(lowered.graph, names);
  context.print(fmt::format("graph       {} for {} tiles of {}", options.model, platform.tiles, platform.name));
  context.print(fmt::format("vertices    {}", counts.counts.vertices));
  context.print(fmt::format("edges       {}", counts.counts.edges));
  context.print(fmt::format("sets        {} compute sets, {} families", counts.compute_sets, counts.families));
  context.print(fmt::format("variables   {} and {} constants of {} bytes, {} tensors connected", counts.variables,
                            counts.constants, counts.bytes, counts.tensors));
  context.result["platform"] = platform.name;
  context.result["vertices"] = counts.counts.vertices;
  context.result["edges"] = counts.counts.edges;
  context.result["compute_sets"] = counts.compute_sets;
  context.result["families"] = counts.families;
  context.result["variables"] = counts.variables;
  context.result["constants"] = counts.constants;
  context.result["tensors"] = counts.tensors;
  context.result["bytes"] = counts.bytes;
  Json list = Json::array();
  for (const scale::LayerCounts& layer : counts.layers) {
    context.print(fmt::format("layer       {}: {} vertices, {} edges, {} compute sets, {} bytes", layer.layer,
                              layer.counts.vertices, layer.counts.edges, layer.compute_sets, layer.bytes));
    list.push_back({{"layer", layer.layer},
                    {"vertices", layer.counts.vertices},
                    {"edges", layer.counts.edges},
                    {"compute_sets", layer.compute_sets},
                    {"families", layer.families},
                    {"bytes", layer.bytes}});
  }
  context.result["layers"] = std::move(list);
  paint(context, options, scale::make_scene(lowered.graph, names));
  if (options.count_only) return;
  report_memory(context, compile_model(model, platform, {}, progress).report);
}

int run_graph(Context& context, const GraphOptions& options) {
  const Clock::time_point start = Clock::now();
  if (!options.picture.empty()) {  // before the work, not behind it
    (void)scale::format_of(options.picture);
    (void)picture_options(options);
    scale::check_picture(options.picture);
  }
  if (!options.grain.empty()) (void)grain_of(options.grain);
  if (options.inference && options.grain.empty())
    throw Error(Category::usage, "--inference without --grain", "", "the natural grain is that of inference");
  Progress progress(context.quiet);
  const Platform platform = load_platform(options.platform);
  const LoadedModel loaded = load_model(context, options.model, options.inputs);
  if (options.grain.empty()) {
    natural_graph(context, options, loaded.model, platform, progress);
  } else {
    fine_graph(context, options, loaded.model, platform.tiles);
  }
  progress.finish();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  context.print(fmt::format("host        {:.1f} s, {} MiB", seconds, usage.ru_maxrss / 1024));
  context.result["seconds"] = seconds;
  context.result["host_bytes"] = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  return 0;
}

}  // namespace

void add_graph_command(CLI::App& app, Context& context) {
  add_command(
      app, context, "graph", "Count a model's graph and draw it",
      "tessera graph example:digits --platform pocket --picture digits.png", [](CLI::App& sub) -> Body {
        auto options = std::make_shared<GraphOptions>();
        sub.add_option("MODEL", options->model, "ONNX file, or example:NAME")->required();
        sub.add_option("--platform", options->platform, "c2, pocket, dss8440 or a platform file")
            ->capture_default_str();
        CLI::Option* const grain =
            sub.add_option("--grain", options->grain,
                       "Build the fine structure of training instead of the own lowering: full, or how many "
                       "vectors of 16 elements a vertex takes")
            ->type_name("full|N");
        sub.add_flag("--inference", options->inference, "With --grain: forward alone");
        sub.add_flag("--count-only", options->count_only, "Without --grain: do not compile for the memory")
            ->excludes(grain);
        CLI::Option* const picture =
            sub.add_option("--picture", options->picture, "Draw it: .png or .svg")->type_name("FILE");
        sub.add_option("--size", options->size, "Pixels of the picture")
            ->capture_default_str()
            ->type_name("WxH")
            ->needs(picture);
        options->inputs.add_to(sub);
        return [options](Context& c) { return run_graph(c, *options); };
      });
}

}  // namespace tessera::cli
