// tessera examples: the networks that this build knows by name, what each is, and its files for other programs.

#include <fmt/format.h>

#include "host/cli/commands.h"
#include "host/cli/model_inputs.h"
#include "host/onnx/tensor_io.h"
#include "host/onnx/work.h"
#include "host/onnx/writer.h"
#include "hw/error.h"
#include "hw/whole_file.h"
#include "verif/cosim/shutdown.h"

namespace tessera::cli {

namespace {

struct ExamplesOptions {
  std::string name, save, inputs;
};

nlohmann::ordered_json to_json(const examples::Example& example) {
  nlohmann::ordered_json json;
  json["name"] = example.name;
  json["what"] = example.what;
  json["topology"] = example.topology;
  json["weights"] = example.weights;
  json["platform"] = example.platform;
  auto& parameters = json["parameters"] = nlohmann::ordered_json::array();
  for (const examples::Parameter& parameter : example.parameters)
    parameters.push_back({{"name", parameter.name}, {"value", parameter.value}, {"what", parameter.what}});
  return json;
}

void list(Context& context) {
  auto& json = context.result["examples"] = nlohmann::ordered_json::array();
  for (const examples::Example& example : examples::all()) {
    json.push_back(to_json(example));
    context.print(fmt::format("{:<11} {}", example.name, example.what));
    context.print(fmt::format("            topology  {}", example.topology));
    context.print(fmt::format("            weights   {}; platform {}", example.weights, example.platform));
    std::string parameters;
    for (const examples::Parameter& parameter : example.parameters)
      parameters += fmt::format("{}{}={}", parameters.empty() ? "" : ",", parameter.name, parameter.value);
    if (!parameters.empty()) context.print(fmt::format("            ?{}", parameters));
  }
  context.print(
      "run one:    tessera run example:NAME --check, or example:NAME?key=value,...; tessera examples NAME tells "
      "more");
}

void tell(Context& context, const examples::Chosen& chosen, const examples::Network& network) {
  const examples::Example& example = *chosen.example;
  context.print(fmt::format("example     {}: {}", example.name, example.what));
  context.print(fmt::format("topology    {}", example.topology));
  context.print(fmt::format("weights     {}", example.weights));
  context.print(fmt::format("platform    {} if no other is chosen", example.platform));
  for (const examples::Parameter& parameter : example.parameters)
    context.print(fmt::format("parameter   {:<13} {:<21} {}", parameter.name, chosen.settings.text(parameter.name),
                              parameter.what));
  auto& json = context.result["example"] = to_json(example);
  json["settings"] = chosen.settings.all();
  if (example.build == nullptr) {
    context.print("program     of the graph library, no ONNX model: tessera run example:" + example.name);
    return;
  }
  const model::FileContents contents = model::contents_of(network.onnx, example.name);
  std::string operators;
  std::int64_t nodes = 0;
  for (const auto& [op, count] : contents.operators) {
    operators += fmt::format("{}{} {}", operators.empty() ? "" : ", ", count, op);
    nodes += count;
  }
  context.print(fmt::format("model       {} bytes of ONNX, {} values of weights, {} nodes: {}", network.onnx.size(),
                            contents.parameters, nodes, operators));
  for (const model::Tensor& tensor : network.inputs)
    context.print(fmt::format("input       {} {} {}: {}", tensor.name, model::name_of(tensor.type),
                              model::to_string(tensor.shape), network.scenario));
  json["bytes"] = network.onnx.size();
  json["values_of_weights"] = contents.parameters;
  json["operators"] = contents.operators;
  try {
    model::ImportOptions options;
    for (const model::Tensor& tensor : network.inputs) options.inputs[tensor.name] = tensor;
    const std::uint64_t work = model::multiply_accumulates(model::import_bytes(network.onnx, example.name, options));
    json["multiply_accumulates"] = work;
    context.print(fmt::format("work        {} multiply-accumulates", work));
  } catch (const Error& error) {
    if (error.category() != Category::unsupported) throw;
    context.warn(error.message());
  }
}

int run_examples(Context& context, const ExamplesOptions& options) {
  if (options.name.empty()) {
    if (!options.save.empty() || !options.inputs.empty())
      throw Error(Category::usage, "--save and --inputs need the name of an example", "",
                  "tessera examples lists them");
    list(context);
    return 0;
  }
  const examples::Chosen chosen = examples::choose(options.name, context.seed);
  const bool program = chosen.example->build == nullptr && options.save.empty() && options.inputs.empty();
  const examples::Network network = program ? examples::Network{} : examples::build(chosen);
  Shutdown::check();
  if (options.save.empty() && options.inputs.empty()) tell(context, chosen, network);
  if (!options.save.empty()) {
    model::write_file(options.save, network.onnx);
    context.result["model"] = options.save;
    context.print(fmt::format("model       {} ({} bytes)", options.save, network.onnx.size()));
  }
  if (options.inputs.empty()) return 0;
  model::make_directory(options.inputs);
  const DirectoryLock together(options.inputs);
  for (std::size_t i = 0; i < network.inputs.size(); ++i)
    model::write_tensor(fmt::format("{}/input_{}.pb", options.inputs, i), network.inputs[i]);
  if (network.labels) model::write_tensor(options.inputs + "/labels.pb", *network.labels);
  context.result["inputs"] = options.inputs;
  context.print(
      fmt::format("inputs      {}/input_0.pb{}", options.inputs,
                  network.inputs.size() > 1 ? fmt::format(" .. input_{}.pb", network.inputs.size() - 1) : ""));
  return 0;
}

}  // namespace

void add_examples_command(CLI::App& app, Context& context) {
  add_command(
      app, context, "examples", "List the networks known by name, tell of one, or write its files",
      "tessera examples \"lstm?hidden=512,steps=25\" --save lstm.onnx --inputs lstm_inputs", [](CLI::App& sub) -> Body {
        auto options = std::make_shared<ExamplesOptions>();
        sub.add_option("NAME", options->name, "An example, with parameters: NAME?key=value,...");
        sub.add_option("--save", options->save, "Write the model")->type_name("FILE.onnx");
        sub.add_option("--inputs", options->inputs, "Write its inputs as DIR/input_0.pb, ...")->type_name("DIR");
        return [options](Context& c) { return run_examples(c, *options); };
      });
}

}  // namespace tessera::cli
