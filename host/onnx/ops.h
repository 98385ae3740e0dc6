// The operators: for each, what types it takes, how a node of any opset becomes the node of opset 17 with canonical
// attributes, and what types and shapes its results have. One function a family, one family a file (ops_*.cpp).
// Nothing of protobuf here. Internal to host/onnx.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "host/onnx/model.h"

namespace tessera::model {

/// A set of element types, one bit each.
using Types = std::uint32_t;
[[nodiscard]] constexpr Types bit(Type type) { return 1U << static_cast<unsigned>(type); }
inline constexpr Types kReal = bit(Type::f16) | bit(Type::f32) | bit(Type::f64);
inline constexpr Types kInteger =
    bit(Type::i8) | bit(Type::u8) | bit(Type::i16) | bit(Type::u16) | bit(Type::i32) | bit(Type::u32) | bit(Type::i64);
inline constexpr Types kNumber = kReal | kInteger;
inline constexpr Types kBool = bit(Type::boolean);
inline constexpr Types kAny = kNumber | kBool;
inline constexpr Types kIndex = bit(Type::i32) | bit(Type::i64);

/// Bytes of one constant that import computes; what is larger is refused.
inline constexpr std::int64_t kMostFoldedBytes = std::int64_t{1} << 28;

using Inferred = std::vector<std::pair<Type, Shape>>;

/// What inference of one node sees. Shapes that do not fit: misfit().
class Inference {
 public:
  Inference(const Model& model, const Node& node) : model_(model), node_(node) {}

  [[nodiscard]] const Node& node() const { return node_; }
  [[nodiscard]] bool has(std::size_t i) const { return i < node_.inputs.size() && node_.inputs[i] != kAbsent; }
  /// Operand i; misfit if the node does not have it.
  [[nodiscard]] const Value& in(std::size_t i) const;
  [[nodiscard]] Type type(std::size_t i = 0) const { return in(i).type; }
  [[nodiscard]] const Shape& shape(std::size_t i = 0) const { return in(i).shape; }
  [[nodiscard]] std::size_t rank(std::size_t i = 0) const { return in(i).shape.size(); }
  template <typename T>
  [[nodiscard]] const T& attributes() const {
    return std::get<T>(node_.attributes);
  }
  /// Operands a and b (where given) must have one type; operand i one of `types`, or exactly this shape.
  void same_type(std::size_t a, std::size_t b) const;
  void expect_type(std::size_t i, Types types) const;
  void expect_shape(std::size_t i, const Shape& shape) const;
  /// The shape all operands broadcast to; they must have one type.
  [[nodiscard]] Shape broadcast_all() const;

 private:
  const Model& model_;
  const Node& node_;
};

[[noreturn]] void misfit(const std::string& message);
/// a * b and a + b; misfit if they leave 64 bits.
[[nodiscard]] std::int64_t product(std::int64_t a, std::int64_t b);
[[nodiscard]] std::int64_t sum(std::int64_t a, std::int64_t b);

/// An attribute as the file gives it; monostate: of a kind that no operator here takes (graphs, sparse tensors).
using RawAttribute = std::variant<std::monostate, std::int64_t, float, std::string, Extents, std::vector<float>,
                                  std::vector<std::string>, Tensor>;

/// Why a node is refused (Category::unsupported, collected over all nodes).
struct Refusal {
  std::string reason;
};

/// Where translation puts what one node needs beside itself.
class NodeSink {
 public:
  virtual ~NodeSink() = default;
  virtual ValueId add_constant(const std::string& name, Tensor tensor) = 0;
  /// A node with one output of that name.
  virtual ValueId add(Node node, const std::string& output) = 0;
};

/// What translation of one node sees and changes: at first node.inputs are those of the file, its attributes none.
/// Mistakes of the file end in fail() (usage), what is not supported in refuse().
class Reading {
 public:
  Reading(const Model& model, Node& node, std::int64_t opset, std::vector<std::string> outputs,
          std::map<std::string, RawAttribute> attributes, NodeSink& sink)
      : node(node),
        opset(opset),
        model_(model),
        outputs_(std::move(outputs)),
        attributes_(std::move(attributes)),
        sink_(sink) {}

  Node& node;
  const std::int64_t opset;
  /// Set by operators whose result is known at import: it takes the place of the node.
  std::optional<Tensor> result;

  [[noreturn]] void fail(const std::string& what) const;
  [[noreturn]] void refuse(const std::string& why) const { throw Refusal{why}; }

  [[nodiscard]] bool has(std::size_t i) const { return i < node.inputs.size() && node.inputs[i] != kAbsent; }
  /// Operand i; fail() if the node does not have it.
  [[nodiscard]] const Value& in(std::size_t i) const;
  [[nodiscard]] const Shape& shape(std::size_t i = 0) const { return in(i).shape; }
  [[nodiscard]] std::int64_t rank(std::size_t i = 0) const { return static_cast<std::int64_t>(in(i).shape.size()); }
  [[nodiscard]] Type type(std::size_t i = 0) const { return in(i).type; }
  /// Names of the outputs; empty where not wanted. `drop_output` makes one so.
  [[nodiscard]] const std::vector<std::string>& outputs() const { return outputs_; }
  void drop_outputs_from(std::size_t i);

  [[nodiscard]] bool given(const std::string& name) const { return attributes_.count(name) != 0; }
  [[nodiscard]] std::int64_t integer(const std::string& name, std::int64_t standard) const;
  [[nodiscard]] bool flag(const std::string& name, bool standard = false) const {
    return integer(name, standard ? 1 : 0) != 0;
  }
  [[nodiscard]] float real(const std::string& name, float standard) const;
  [[nodiscard]] std::string text(const std::string& name, const std::string& standard) const;
  [[nodiscard]] std::optional<Extents> integers(const std::string& name) const;
  [[nodiscard]] std::vector<float> reals(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> texts(const std::string& name) const;
  [[nodiscard]] const Tensor* tensor(const std::string& name) const;

  /// -rank .. rank-1 to 0 .. rank-1; `last` is the highest allowed after that.
  [[nodiscard]] std::int64_t axis(std::int64_t axis, std::int64_t rank, std::int64_t last) const;
  [[nodiscard]] std::int64_t axis(std::int64_t a) const { return axis(a, rank(), rank() - 1); }
  /// Sorted and normalised; none twice.
  [[nodiscard]] Extents axes(const Extents& given, std::int64_t rank) const;

  /// The constant behind an operand that decides shapes (at most 64 Ki elements); empty if the node does not have it.
  [[nodiscard]] std::optional<Extents> operand(std::size_t i) const;
  /// The same from operand i or, in older opsets, an attribute.
  [[nodiscard]] std::optional<Extents> operand_or_attribute(std::size_t i, const std::string& name) const;
  /// Keeps the first operands only.
  void keep_inputs(std::size_t count) { node.inputs.resize(std::min(count, node.inputs.size())); }

  /// A node before this one, named after it.
  [[nodiscard]] ValueId before(Op op, std::vector<ValueId> inputs, Attributes attributes, const std::string& suffix);
  [[nodiscard]] ValueId constant(Tensor tensor, const std::string& suffix);

 private:
  [[nodiscard]] std::string helper_name(const std::string& suffix);
  template <typename T>
  const T* get(const std::string& name, const char* kind) const;

  const Model& model_;
  std::vector<std::string> outputs_;
  std::map<std::string, RawAttribute> attributes_;
  NodeSink& sink_;
  unsigned helpers_ = 0;
};

struct Operator {
  Op op;
  Types types;  ///< that operand 0 may have
  void (*translate)(Reading& reading);
  Inferred (*infer)(const Inference& inference);
  std::uint32_t shape_operands = 0;  ///< bit i: operand i decides shapes, so its value must be known at compile time
};

[[nodiscard]] std::vector<Operator> elementwise_operators();
[[nodiscard]] std::vector<Operator> shape_operators();
[[nodiscard]] std::vector<Operator> constant_operators();
[[nodiscard]] std::vector<Operator> reduction_operators();
[[nodiscard]] std::vector<Operator> index_operators();
[[nodiscard]] std::vector<Operator> matrix_operators();
[[nodiscard]] std::vector<Operator> spatial_operators();
[[nodiscard]] std::vector<Operator> normalisation_operators();
[[nodiscard]] std::vector<Operator> recurrent_operators();

[[nodiscard]] const Operator& operator_of(Op op);

// For operators without attributes, and those whose result is like operand 0.
void translate_nothing(Reading& reading);
[[nodiscard]] Inferred infer_same(const Inference& inference);

}  // namespace tessera::model
