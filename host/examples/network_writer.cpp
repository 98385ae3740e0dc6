#include "host/examples/network_writer.h"

#include <cmath>
#include <stdexcept>

namespace tessera::examples {

NetworkWriter::NetworkWriter(const std::string& name, model::Type type, std::uint64_t seed) : type_(type), seed_(seed) {
  graph_.name = name;
}

void store(model::Tensor& tensor, std::int64_t index, float value) {
  if (tensor.type == model::Type::f16)
    tensor.set(index, model::to_half(value));
  else
    tensor.set(index, value);
}

Value NetworkWriter::input(const std::string& name, const model::Shape& shape, float low, float high) {
  model::Tensor values(type_, shape);
  Random random(seed_, graph_.name + "/" + name);
  for (std::int64_t i = 0; i < values.elements(); ++i) store(values, i, random.between(low, high));
  return input(name, values);
}

Value NetworkWriter::input(const std::string& name, const model::Tensor& values) {
  graph_.inputs.push_back({name, values.type, model::extents_of(values.shape)});
  inputs_.push_back(values);
  inputs_.back().name = name;
  return {name, values.shape};
}

void NetworkWriter::output(const Value& value, model::Type type) {
  graph_.outputs.push_back({value.name, type, model::extents_of(value.shape)});
}

Value NetworkWriter::constant(model::Tensor tensor) {
  if (tensor.name.empty()) throw std::logic_error("an initializer without a name");
  Value value{tensor.name, tensor.shape};
  graph_.initializers.push_back(std::move(tensor));
  return value;
}

Value NetworkWriter::drawn(const std::string& name, const model::Shape& shape, float low, float high) {
  model::Tensor tensor(type_, shape);
  tensor.name = name;
  Random random(seed_, graph_.name + "/" + name);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) store(tensor, i, random.between(low, high));
  return constant(std::move(tensor));
}

Value NetworkWriter::weights(const std::string& name, const model::Shape& shape, std::int64_t fan_in, float gain) {
  const float limit = std::sqrt(3.0F * gain / static_cast<float>(fan_in));  // uniform in +-l has second moment l^2 / 3
  return drawn(name, shape, -limit, limit);
}

Value NetworkWriter::scalar(const std::string& name, float value) {
  model::Tensor tensor(type_, {});
  tensor.name = name;
  store(tensor, 0, value);
  return constant(std::move(tensor));
}

Value NetworkWriter::integers(const std::string& name, const std::vector<std::int64_t>& values) {
  model::Tensor tensor(model::Type::i64, {static_cast<std::int64_t>(values.size())}, values);
  tensor.name = name;
  return constant(std::move(tensor));
}

std::vector<Value> NetworkWriter::nodes(const std::string& op, const std::string& name,
                                        const std::vector<Value>& inputs, const std::vector<model::Shape>& shapes,
                                        const std::map<std::string, model::FileAttribute>& attributes) {
  model::FileNode made{op, name, {}, {}, attributes};
  for (const Value& input : inputs) made.inputs.push_back(input.name);
  std::vector<Value> results;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    results.push_back({shapes.size() == 1 ? name + "_out" : name + "_" + std::to_string(i), shapes[i]});
    made.outputs.push_back(results.back().name);
  }
  graph_.nodes.push_back(std::move(made));
  return results;
}

Value NetworkWriter::node(const std::string& op, const std::string& name, const std::vector<Value>& inputs,
                          const model::Shape& shape, const std::map<std::string, model::FileAttribute>& attributes) {
  return nodes(op, name, inputs, {shape}, attributes).front();
}

namespace {

std::int64_t window_count(std::int64_t extent, std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
  if (extent + 2 * pad < kernel) throw std::logic_error("a window larger than its image");
  return (extent + 2 * pad - kernel) / stride + 1;
}

std::map<std::string, model::FileAttribute> window(std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
  using Two = std::vector<std::int64_t>;
  return {{"kernel_shape", Two{kernel, kernel}},
          {"strides", Two{stride, stride}},
          {"pads", std::vector<std::int64_t>{pad, pad, pad, pad}}};
}

}  // namespace

Value NetworkWriter::conv(const std::string& name, const Value& x, const ConvShape& shape) {
  const std::int64_t inputs = x.shape.at(1) / shape.group;
  std::vector<Value> operands = {x, weights(name + ".weight", {shape.channels, inputs, shape.kernel, shape.kernel},
                                            inputs * shape.kernel * shape.kernel, shape.gain)};
  if (shape.bias) operands.push_back(drawn(name + ".bias", {shape.channels}, -0.1F, 0.1F));
  auto attributes = window(shape.kernel, shape.stride, shape.pad);
  attributes["dilations"] = std::vector<std::int64_t>{1, 1};
  attributes["group"] = shape.group;
  return node("Conv", name, operands,
              {x.shape.at(0), shape.channels, window_count(x.shape.at(2), shape.kernel, shape.stride, shape.pad),
               window_count(x.shape.at(3), shape.kernel, shape.stride, shape.pad)},
              attributes);
}

Value NetworkWriter::batch_norm(const std::string& name, const Value& x, float scale) {
  const model::Shape channels = {x.shape.at(1)};
  return node(
      "BatchNormalization", name,
      {x, drawn(name + ".weight", channels, 0.8F * scale, 1.2F * scale), drawn(name + ".bias", channels, -0.1F, 0.1F),
       drawn(name + ".running_mean", channels, -0.1F, 0.1F), drawn(name + ".running_var", channels, 0.75F, 1.25F)},
      x.shape, {{"epsilon", 1e-5F}, {"momentum", 0.9F}});
}

Value NetworkWriter::max_pool(const std::string& name, const Value& x, std::int64_t kernel, std::int64_t stride,
                              std::int64_t pad) {
  return node("MaxPool", name, {x},
              {x.shape.at(0), x.shape.at(1), window_count(x.shape.at(2), kernel, stride, pad),
               window_count(x.shape.at(3), kernel, stride, pad)},
              window(kernel, stride, pad));
}

Value NetworkWriter::fully_connected(const std::string& name, const Value& x, std::int64_t outputs, float gain) {
  const std::int64_t inputs = x.shape.at(1);
  return node(
      "Gemm", name,
      {x, weights(name + ".weight", {outputs, inputs}, inputs, gain), drawn(name + ".bias", {outputs}, -0.1F, 0.1F)},
      {x.shape.at(0), outputs}, {{"transB", std::int64_t{1}}});
}

Network NetworkWriter::finish() {
  Network network;
  network.onnx = model::to_onnx(graph_);
  network.inputs = std::move(inputs_);
  graph_ = {};
  inputs_.clear();
  return network;
}

}  // namespace tessera::examples
