// Writes a network node by node: names, seeded weights of useful scale, and the layers that several networks share.
// Shapes of results are known as far as the layers here need them. Internal to host/examples.
#pragma once

#include <string>
#include <vector>

#include "host/examples/example.h"
#include "host/examples/random.h"
#include "host/onnx/writer.h"

namespace tessera::examples {

/// A value of the graph.
struct Value {
  std::string name;
  model::Shape shape;
};

struct ConvShape {
  std::int64_t channels = 1, kernel = 1, stride = 1, pad = 0, group = 1;
  bool bias = false;
  /// Second moment of the result over that of the operand: 2 keeps it through a Relu.
  float gain = 2.0F;
};

class NetworkWriter {
 public:
  NetworkWriter(const std::string& name, model::Type type, std::uint64_t seed);

  [[nodiscard]] model::Type type() const { return type_; }
  /// An input of the network's type with values in [low, high).
  Value input(const std::string& name, const model::Shape& shape, float low, float high);
  /// An input with these values.
  Value input(const std::string& name, const model::Tensor& values);
  void output(const Value& value) { output(value, type_); }
  void output(const Value& value, model::Type type);

  /// A tensor of the network's type with values uniform in [low, high), drawn from seed and name.
  Value drawn(const std::string& name, const model::Shape& shape, float low, float high);
  /// Weights with zero mean and second moment gain / fan_in.
  Value weights(const std::string& name, const model::Shape& shape, std::int64_t fan_in, float gain);
  Value scalar(const std::string& name, float value);
  Value integers(const std::string& name, const std::vector<std::int64_t>& values);
  /// An initializer by its tensor's name.
  Value constant(model::Tensor tensor);

  Value node(const std::string& op, const std::string& name, const std::vector<Value>& inputs,
             const model::Shape& shape, const std::map<std::string, model::FileAttribute>& attributes = {});
  /// The same with several results, named NAME_0, NAME_1, ...
  std::vector<Value> nodes(const std::string& op, const std::string& name, const std::vector<Value>& inputs,
                           const std::vector<model::Shape>& shapes,
                           const std::map<std::string, model::FileAttribute>& attributes = {});

  /// [N, C, H, W] -> [N, M, H', W'].
  Value conv(const std::string& name, const Value& x, const ConvShape& shape);
  /// scale: around which gamma is drawn. Mean and variance are those of a layer in mid-training, not of this one.
  Value batch_norm(const std::string& name, const Value& x, float scale = 1.0F);
  Value relu(const std::string& name, const Value& x) { return node("Relu", name, {x}, x.shape); }
  Value max_pool(const std::string& name, const Value& x, std::int64_t kernel, std::int64_t stride, std::int64_t pad);
  /// [N, K] -> [N, M] by Gemm with transposed weights, as exporters write a fully connected layer.
  Value fully_connected(const std::string& name, const Value& x, std::int64_t outputs, float gain = 2.0F);

  /// The network so far. The writer is empty afterwards.
  [[nodiscard]] Network finish();

 private:
  model::FileGraph graph_;
  std::vector<model::Tensor> inputs_;
  model::Type type_;
  std::uint64_t seed_;
};

/// Values of f32 as the type holds them (f32 or f16).
void store(model::Tensor& tensor, std::int64_t index, float value);

}  // namespace tessera::examples
