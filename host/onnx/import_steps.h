// The steps of import, on protobuf. Internal to host/onnx.
#pragma once

#include "host/onnx/import.h"
#include "host/onnx/proto.h"

namespace tessera::model {

struct Bound {
  std::vector<SymbolicAxis> symbolic;    ///< `input` counts the inputs that stay
  std::vector<std::string> specialised;  ///< inputs that became constants
};

/// Gives every input its extents, and turns inputs whose value decides a shape into initializers (bind.cpp).
Bound bind_inputs(::onnx::ModelProto& proto, const std::string& file, const ImportOptions& options);

/// Throws the one error that lists all nodes the machine cannot run (scan.cpp).
void refuse_unsupported(const ::onnx::ModelProto& proto, const std::string& file, const ImportOptions& options);
/// The error for nodes found later, from their lines.
[[noreturn]] void throw_unsupported(const std::vector<std::string>& lines, const std::string& file);
/// "node 'n' (Op, opset 13, f32 x f32 -> f32) at position 3".
[[nodiscard]] std::string describe_node(const ::onnx::ModelProto& proto, int position);

/// The operator graph of a model at opset 17 whose input shapes are known (translate.cpp).
[[nodiscard]] Model translate(const ::onnx::ModelProto& proto, const std::string& file, const Bound& bound);

/// Opset of the default domain; 0 if the model does not say.
[[nodiscard]] std::int64_t opset_of(const ::onnx::ModelProto& proto);
/// Whether input `index` of this operator decides shapes, so that its value must be known at compile time.
[[nodiscard]] bool is_shape_operand(const std::string& op, int index);
[[nodiscard]] bool default_domain(const std::string& domain);

}  // namespace tessera::model
