// The steps of import, on protobuf. Internal to host/onnx.
#pragma once

#include <map>
#include <set>

#include "host/onnx/import.h"
#include "host/onnx/proto.h"

namespace tessera::model {

struct Bound {
  std::vector<SymbolicAxis> symbolic;    ///< `input` counts the inputs that stay
  std::vector<std::string> specialised;  ///< inputs that became constants
};

/// Why nodes are refused, collected over the steps: one error names them all. Knows the types of all values by the
/// operators' schemas, without looking at shapes.
class Refusals {
 public:
  explicit Refusals(const ::onnx::ModelProto& proto);

  void add(int position, const std::string& reason) { reasons_[position].push_back(reason); }
  [[nodiscard]] bool any() const { return !reasons_.empty(); }
  [[nodiscard]] bool has(int position) const { return reasons_.count(position) != 0; }
  /// "node 'n' (Op, opset 13, f32 x f32 -> f32) at position 3".
  [[nodiscard]] std::string describe(int position) const;
  /// Type of a value as far as it is known, "?" if not.
  [[nodiscard]] std::string type(const std::string& value) const;
  [[noreturn]] void fail(const std::string& file) const;

 private:
  void learn_types();
  void learn_types(const ::onnx::NodeProto& node);
  [[nodiscard]] std::string type_list(const google::protobuf::RepeatedPtrField<std::string>& names) const;

  const ::onnx::ModelProto& proto_;
  std::map<std::string, std::string> types_;
  std::map<int, std::vector<std::string>> reasons_;
};

/// Notes every node whose operator or types the machine does not have (scan.cpp).
void scan(const ::onnx::ModelProto& proto, const ImportOptions& options, Refusals& refusals);

/// Gives every input its extents, and turns inputs whose value decides a shape into initializers (bind.cpp).
Bound bind_inputs(::onnx::ModelProto& proto, const std::string& file, const ImportOptions& options,
                  const Refusals& refusals);

/// The operator graph of a model whose input shapes are known (translate.cpp). Takes the initializers out of `proto`.
/// Nodes already refused, and what depends on them, are left out; if any was or is refused, ends in refusals.fail().
[[nodiscard]] Model translate(::onnx::ModelProto& proto, const std::string& file, const Bound& bound,
                              Refusals& refusals);

/// Opset of the default domain; 0 if the model does not say.
[[nodiscard]] std::int64_t opset_of(const ::onnx::ModelProto& proto);
/// Whether input `index` of this node decides shapes, so that its value must be known at compile time.
[[nodiscard]] bool is_shape_operand(const ::onnx::NodeProto& node, int index);
[[nodiscard]] bool default_domain(const std::string& domain);
/// The operator of a node; `Scatter` is the old name of ScatterElements.
[[nodiscard]] std::optional<Op> find_op(const ::onnx::NodeProto& node);

}  // namespace tessera::model
