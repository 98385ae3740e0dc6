#include "verif/nn/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "host/onnx/import.h"

namespace tessera::verif_nn {

using exact::Array;
using model::Tensor;
using model::Type;

namespace {

double rounded(Type type, double x) {
  return type == Type::f16 ? model::from_half(model::to_half(x)) : static_cast<float>(x);
}

Tensor tensor_of(Type type, const Array& array) {
  Tensor result(type, array.shape);
  for (std::int64_t i = 0; i < result.elements(); ++i) {
    if (type == Type::f16)
      result.set(i, model::to_half(array[i]));
    else
      result.set(i, static_cast<float>(array[i]));
  }
  return result;
}

std::vector<std::string> extents_of(const std::vector<std::int64_t>& shape) {
  std::vector<std::string> result;
  for (const std::int64_t extent : shape) result.push_back(std::to_string(extent));
  return result;
}

}  // namespace

Maker::Maker(std::string name, Type type, double roundings) : state_(0x9E3779B97F4A7C15U) {
  for (const char c : name) state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  case_.name = name + (type == Type::f16 ? "_f16" : "_f32");
  case_.type = type;
  case_.roundings = roundings;
}

Array Maker::draw(std::vector<std::int64_t> shape, double scale) {
  Array result(std::move(shape));
  for (double& value : result.v) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    value = rounded(case_.type, scale * (static_cast<double>(state_ >> 40) * 0x1p-23 - 1.0));
  }
  return result;
}

Array Maker::input(const std::string& name, std::vector<std::int64_t> shape, double scale) {
  Array result = draw(std::move(shape), scale);
  case_.graph.inputs.push_back({name, case_.type, extents_of(result.shape)});
  case_.inputs.push_back(tensor_of(case_.type, result));
  case_.inputs.back().name = name;
  return result;
}

Array Maker::weight(const std::string& name, std::vector<std::int64_t> shape, double scale) {
  Array result = draw(std::move(shape), scale);
  constant(name, tensor_of(case_.type, result));
  return result;
}

Array Maker::values(const std::string& name, const Array& array) {
  Array result = array;
  for (double& value : result.v) value = rounded(case_.type, value);
  constant(name, tensor_of(case_.type, result));
  return result;
}

void Maker::constant(const std::string& name, const Tensor& tensor) {
  case_.graph.initializers.emplace_back(name, tensor);
}

void Maker::node(const std::string& op, std::vector<std::string> inputs, std::vector<std::string> outputs,
                 std::map<std::string, model::TestAttribute> attributes) {
  model::TestNode node;
  node.op = op;
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  node.attributes = std::move(attributes);
  node.name = fmt::format("{}_{}", op, case_.graph.nodes.size());
  case_.graph.nodes.push_back(std::move(node));
}

void Maker::output(const std::string& name, Array expected) {
  case_.graph.outputs.push_back({name, case_.type, extents_of(expected.shape)});
  case_.expected.push_back({name, std::move(expected)});
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const Type type : {Type::f32, Type::f16}) {
    convolution_cases(type, cases);
    recurrence_cases(type, cases);
    attention_cases(type, cases);
  }
  return cases;
}

model::Model model_of(const Case& c) { return model::import_bytes(model::to_bytes(c.graph), c.name); }

std::string compare(const Case& c, const std::vector<Tensor>& results, std::uint64_t& values) {
  if (results.size() != c.expected.size()) return "another number of outputs";
  for (std::size_t k = 0; k < results.size(); ++k) {
    const Array& want = c.expected[k].values;
    const Tensor& found = results[k];
    if (found.type != c.type || found.shape != want.shape) return c.expected[k].name + " has another type or shape";
    double largest = 0.0;
    for (const double value : want.v) largest = std::max(largest, std::fabs(value));
    const double allowed = c.roundings * (c.type == Type::f16 ? 0x1p-11 : 0x1p-23) * largest;
    for (std::int64_t i = 0; i < want.size(); ++i) {
      ++values;
      const double error = std::fabs(found.real(i) - want[i]);
      if (error <= allowed) continue;
      return fmt::format("{} at {}: {} instead of {}, allowed {:.3g}", c.expected[k].name, i, found.real(i), want[i],
                         allowed);
    }
  }
  return {};
}

}  // namespace tessera::verif_nn
