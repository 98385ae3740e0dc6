// Between protobuf messages of ONNX and tensors. Internal to host/onnx: no other folder includes it.
#pragma once

#include <onnx/onnx_pb.h>

#include <optional>
#include <string>

#include "host/onnx/tensor.h"

namespace tessera::model {

/// Element type of the machine's side; empty for strings, complex, bfloat16 and what is unknown.
[[nodiscard]] std::optional<Type> from_proto_type(int data_type);
[[nodiscard]] int to_proto_type(Type type);
/// "float16", "string", ... as ONNX calls it, for messages.
[[nodiscard]] std::string proto_type_name(int data_type);

/// Contents in any of the ways TensorProto has. Error (usage) naming `where` if counts do not match the dimensions;
/// folder: where external data lie, relative to it and never outside.
[[nodiscard]] Tensor from_proto(const ::onnx::TensorProto& proto, const std::string& where,
                                const std::string& folder = {});
[[nodiscard]] ::onnx::TensorProto to_proto(const Tensor& tensor);

}  // namespace tessera::model
