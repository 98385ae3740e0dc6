// The operator graph of a model: typed values and nodes in topological order, every shape known, opset 17 semantics.
// What import makes, golden evaluates and nn lowers. Holds no protobuf type and knows no device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "host/onnx/attributes.h"
#include "host/onnx/op.h"

namespace tessera::model {

/// Index into Model::values.
using ValueId = std::uint32_t;
/// An optional input that is not given.
inline constexpr ValueId kAbsent = ~ValueId{0};

struct Value {
  std::string name;
  Type type = Type::f32;      ///< as the machine holds it
  Type declared = Type::f32;  ///< as the model declares it: i64 or f64 where narrowed
  Shape shape;
  std::optional<Tensor> constant;
};

struct Node {
  Op op = Op::Identity;
  std::string name;  ///< of the model; operator and position if it has none there
  std::vector<ValueId> inputs, outputs;
  Attributes attributes;
  std::uint32_t position = 0;  ///< in the file's node list, after conversion
};

/// A dimension of an input that the file leaves open.
struct SymbolicAxis {
  std::uint32_t input = 0;  ///< index into Model::inputs
  std::uint32_t axis = 0;
  std::string symbol;  ///< may be empty
};

struct Model {
  std::string name;
  std::string file;         ///< for messages
  std::int64_t opset = 17;  ///< of the file, before conversion
  std::vector<Value> values;
  std::vector<Node> nodes;      ///< in topological order
  std::vector<ValueId> inputs;  ///< without those whose value is compiled in
  std::vector<ValueId> outputs;
  std::vector<ValueId> specialised;  ///< graph inputs whose given value became a constant, since shapes depend on it
  std::vector<SymbolicAxis> symbolic;
  std::vector<std::string> warnings;
  /// 64-bit types are gone from values and attributes; infer() gives i32 and f32 for them. Not so while import folds.
  bool narrow = false;

  [[nodiscard]] const Value& value(ValueId id) const { return values.at(id); }
};

/// Types and shapes of a node's outputs from those of its inputs and its attributes. Error (usage) naming the node if
/// they do not fit.
[[nodiscard]] std::vector<std::pair<Type, Shape>> infer(const Model& model, const Node& node);

/// The same model with other extents on axis 0 of every input whose axis 0 is symbolic; shapes inferred anew.
[[nodiscard]] Model with_batch(const Model& model, std::int64_t extent);

/// begin, step and count on each axis of the input.
struct SliceRange {
  std::int64_t begin = 0, step = 1, count = 0;
};
[[nodiscard]] std::vector<SliceRange> resolve(const SliceAttributes& slice, const Shape& input);

/// Attributes as text: equal text, equal attributes.
[[nodiscard]] std::string attributes_text(const Attributes& attributes);

/// Text of the whole model, values by name and constants by contents: equal text, equal model.
[[nodiscard]] std::string to_text(const Model& model);

}  // namespace tessera::model
