// Small ONNX models made in tests, without protobuf in sight.
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "host/onnx/tensor.h"

namespace tessera::model {

/// Attributes of strings, in types of their own so that lists of numbers stay lists of numbers.
struct TestText {
  std::string value;
};
struct TestTexts {
  std::vector<std::string> values;
};
using TestAttribute = std::variant<std::int64_t, float, std::vector<std::int64_t>, TestText, TestTexts>;

struct TestNode {
  std::string op;
  std::vector<std::string> inputs, outputs;
  std::map<std::string, TestAttribute> attributes;
  std::string name;
  std::string domain;
};

struct TestValue {
  std::string name;
  Type type = Type::f32;
  std::vector<std::string> extents;  ///< numbers, or symbols
};

struct TestGraph {
  std::int64_t opset = 17;
  std::vector<TestValue> inputs, outputs;
  std::vector<std::pair<std::string, Tensor>> initializers;
  std::vector<TestNode> nodes;
  bool initializers_are_inputs = false;  ///< as before IR version 4
  std::int64_t ir_version = 8;
};

[[nodiscard]] std::string to_bytes(const TestGraph& graph);

}  // namespace tessera::model
