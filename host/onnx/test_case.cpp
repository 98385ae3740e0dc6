#include "host/onnx/test_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "host/onnx/tensor_io.h"
#include "hw/error.h"

namespace tessera::model {

namespace fs = std::filesystem;

namespace {

/// Of an element type that tensors here have.
bool is_tensor(const Declared& declared) {
  for (unsigned t = 0; t <= static_cast<unsigned>(Type::f64); ++t)
    if (declared.type == name_of(static_cast<Type>(t))) return true;
  return false;
}

/// The k-th file of a kind in a folder; empty if there is none.
std::string find_file(const fs::path& folder, const std::string& kind, std::size_t k) {
  for (const char* suffix : {".pb", ".npy"}) {
    const fs::path file = folder / fmt::format("{}_{}{}", kind, k, suffix);
    if (fs::is_regular_file(file)) return file.string();
  }
  return {};
}

}  // namespace

std::vector<std::string> data_sets(const std::string& directory) {
  std::error_code ignored;
  if (!fs::is_regular_file(fs::path(directory) / "model.onnx", ignored))
    throw Error(Category::usage, "there is no model.onnx in the directory", directory,
                "name directories of ONNX backend tests");
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory))
    if (entry.is_directory() && entry.path().filename().string().rfind("test_data_set_", 0) == 0)
      names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  if (names.empty())
    throw Error(Category::usage, "there is no test_data_set_* in the directory", directory,
                "a test needs expected results");
  return names;
}

std::map<std::string, Tensor> read_inputs(const std::string& folder, const Interface& interface) {
  std::map<std::string, Tensor> result;
  for (std::size_t k = 0;; ++k) {
    const std::string file = find_file(folder, "input", k);
    if (file.empty()) break;
    if (k < interface.inputs.size() && !is_tensor(interface.inputs[k])) continue;
    Tensor tensor = read_tensor(file);
    const bool named = std::any_of(interface.inputs.begin(), interface.inputs.end(),
                                   [&](const Declared& input) { return input.name == tensor.name; });
    if (!named && k >= interface.inputs.size())
      throw Error(Category::usage,
                  fmt::format("the model has {} inputs and none is '{}'", interface.inputs.size(), tensor.name), file,
                  "take the file away");
    const std::string name = named ? tensor.name : interface.inputs[k].name;
    if (!result.emplace(name, std::move(tensor)).second)
      throw Error(Category::usage, fmt::format("input '{}' is given twice", name), file, "take one of the files away");
  }
  return result;
}

DataSet read_data_set(const std::string& directory, const std::string& name) {
  const Interface interface = read_interface((fs::path(directory) / "model.onnx").string());
  const fs::path folder = fs::path(directory) / name;
  DataSet set;
  set.name = name;
  set.inputs = read_inputs(folder.string(), interface);
  for (std::size_t k = 0; k < interface.outputs.size(); ++k) {
    if (!is_tensor(interface.outputs[k])) continue;
    const std::string file = find_file(folder, "output", k);
    if (file.empty())
      throw Error(Category::usage,
                  fmt::format("there is no output_{}.pb for output '{}'", k, interface.outputs[k].name),
                  folder.string(), "a test needs every expected result");
    set.outputs.push_back(read_tensor(file));
  }
  return set;
}

std::vector<Tensor> arrange_inputs(const Model& model, const std::map<std::string, Tensor>& inputs) {
  std::vector<Tensor> result;
  for (const ValueId id : model.inputs) {
    const Value& value = model.value(id);
    const auto given = inputs.find(value.name);
    if (given == inputs.end())
      throw Error(Category::usage, fmt::format("input '{}' is not given", value.name), model.file,
                  fmt::format("--input {}=FILE.pb", value.name));
    if (given->second.type != value.declared || given->second.shape != value.shape)
      throw Error(
          Category::usage,
          fmt::format("input '{}' is given as {}{}, the model takes {}{}", value.name, name_of(given->second.type),
                      to_string(given->second.shape), name_of(value.declared), to_string(value.shape)),
          model.file, "convert the file");
    result.push_back(narrowed(given->second, "input '" + value.name + "'"));
  }
  return result;
}

}  // namespace tessera::model
