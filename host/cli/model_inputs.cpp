#include "host/cli/model_inputs.h"

#include <fmt/format.h>

#include <charconv>
#include <set>

#include "host/onnx/tensor_io.h"
#include "host/onnx/test_case.h"
#include "hw/error.h"
#include "hw/read_file.h"

namespace tessera::cli {

void InputOptions::add_files_to(CLI::App& app) {
  app.add_option("--input", inputs, "Tensor of an input: TensorProto (.pb) or NumPy (.npy)")
      ->allow_extra_args(false)
      ->type_name("NAME=FILE");
  app.add_option("--inputs", directory, "Directory with a file for each input: input_0.pb, input_1.pb, ...")
      ->type_name("DIR");
}

void InputOptions::add_to(CLI::App& app) {
  add_files_to(app);
  app.add_option("--shape", shapes, "Shape of an input that the model leaves open")
      ->allow_extra_args(false)
      ->type_name("NAME=1,3,224,224");
}

namespace {

std::pair<std::string, std::string> split(const std::string& text, const std::string& option) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    throw Error(Category::usage, option + " '" + text + "' is not NAME=VALUE", "",
                "name the input of the model: " + option + " x=...");
  return {text.substr(0, equals), text.substr(equals + 1)};
}

void check_name(const std::string& name, const model::Interface& interface) {
  std::string names;
  for (const model::Declared& input : interface.inputs) {
    if (input.name == name) return;
    names += (names.empty() ? "" : ", ") + input.name;
  }
  throw Error(Category::usage, "the model has no input '" + name + "'", "", "its inputs are: " + names);
}

[[noreturn]] void twice(const std::string& option, const std::string& name) {
  throw Error(Category::usage, option + " is given twice for input '" + name + "'", option, "leave one of them out");
}

}  // namespace

std::map<std::string, model::Tensor> read_inputs(const InputOptions& options, const model::Interface& interface) {
  std::map<std::string, model::Tensor> tensors;
  if (!options.directory.empty()) {
    require_directory(options.directory, "directory of --inputs");
    tensors = model::read_inputs(options.directory, interface);
  }
  std::set<std::string> named;
  for (const std::string& text : options.inputs) {
    const auto [name, file] = split(text, "--input");
    check_name(name, interface);
    if (!named.insert(name).second) twice("--input", name);
    tensors[name] = model::read_tensor(file);
  }
  if (!options.directory.empty() && tensors.empty())
    throw Error(Category::usage, "--inputs holds no file for any input of the model", options.directory,
                "files are input_0.pb, input_1.pb, ... in the order of the model's inputs");
  return tensors;
}

std::map<std::string, model::Shape> parse_shapes(const InputOptions& options, const model::Interface& interface) {
  std::map<std::string, model::Shape> shapes;
  for (const std::string& text : options.shapes) {
    const auto [name, extents] = split(text, "--shape");
    check_name(name, interface);
    if (shapes.count(name) != 0) twice("--shape", name);
    model::Shape& shape = shapes[name];
    const char* at = extents.data();
    const char* end = at + extents.size();
    for (;;) {
      std::int64_t extent = 0;
      const auto [next, error] = std::from_chars(at, end, extent);
      if (error != std::errc() || extent < 0 || (next != end && *next != ','))
        throw Error(Category::usage, "--shape '" + text + "' is no list of extents", "",
                    "write it as " + name + "=1,3,224,224");
      shape.push_back(extent);
      if (next == end) break;
      at = next + 1;
    }
  }
  return shapes;
}

namespace {

/// xorshift64*: values for inputs that nobody gave; f32 in [-1, 1), integers 0..9, bool.
model::Tensor synthetic_tensor(const model::Value& value, std::uint64_t seed) {
  model::Tensor tensor(value.type, value.shape);
  std::uint64_t state = seed * 0x9E3779B97F4A7C15ULL + 0x2545F4914F6CDD1DULL;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    const std::uint32_t draw = static_cast<std::uint32_t>((state * 0x2545F4914F6CDD1DULL) >> 40);  // 24 bits
    if (value.type == model::Type::f32) {
      tensor.set(i, static_cast<float>(draw) / 8388608.0F - 1.0F);
    } else if (value.type == model::Type::boolean) {
      tensor.set(i, static_cast<std::uint8_t>(draw & 1));
    } else {
      const std::uint64_t integer = draw % 10;
      std::memcpy(tensor.data.data() + static_cast<std::size_t>(i) * model::size_of(value.type), &integer,
                  model::size_of(value.type));
    }
  }
  return tensor;
}

}  // namespace

std::vector<model::Tensor> arrange(const model::Model& model, const std::map<std::string, model::Tensor>& given,
                                   bool synthetic, std::uint64_t seed) {
  std::vector<model::Tensor> tensors;
  bool drawn = false;
  for (const model::ValueId id : model.inputs) {
    const model::Value& value = model.value(id);
    if (const auto found = given.find(value.name); found != given.end()) {
      tensors.push_back(model::narrowed(found->second, "input '" + value.name + "'"));
      if (tensors.back().type != value.type || tensors.back().shape != value.shape)
        throw Error(Category::usage,
                    fmt::format("input '{}' is {} {}, but the model takes {} {}", value.name,
                                model::name_of(found->second.type), model::to_string(found->second.shape),
                                model::name_of(value.declared), model::to_string(value.shape)),
                    value.name, "give a tensor of that type and shape");
    } else if (synthetic) {
      tensors.push_back(synthetic_tensor(value, seed + tensors.size()));
      drawn = true;
    } else {
      throw Error(Category::usage, "no tensor was given for input '" + value.name + "'", "",
                  "give --input " + value.name + "=FILE.pb or --inputs DIR, or --synthetic for values from the seed");
    }
  }
  if (synthetic && !drawn)
    throw Error(Category::usage, "--synthetic has no effect: every input has its values", "--synthetic",
                "leave it out, or the files of the inputs that are to be drawn");
  return tensors;
}

std::string default_platform(const std::string& model) {
  return examples::is_example(model) ? examples::choose(model, 0).example->platform : "c2";
}

LoadedModel load_model(const Context& context, const std::string& file, const InputOptions& options) {
  LoadedModel loaded;
  if (examples::is_example(file)) loaded.example = examples::build(examples::choose(file, context.seed));
  const std::string bytes = loaded.example ? std::move(loaded.example->onnx) : model::read_file(file);
  const model::Interface interface = model::read_interface_bytes(bytes, file);
  loaded.given = read_inputs(options, interface);
  model::ImportOptions import;
  import.shapes = parse_shapes(options, interface);
  if (loaded.example) {
    for (model::Tensor& tensor : loaded.example->inputs)
      if (import.shapes.count(tensor.name) != 0 || !loaded.given.emplace(tensor.name, std::move(tensor)).second)
        loaded.replaced = true;
    loaded.example->inputs.clear();
  }
  import.inputs = loaded.given;
  loaded.model = model::import_bytes(bytes, file, import);
  for (const std::string& warning : loaded.model.warnings) context.warn(warning);
  return loaded;
}

}  // namespace tessera::cli
