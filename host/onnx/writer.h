// Models as ONNX files: what a program builds (examples, later trained weights) becomes the bytes of a model file.
// Says nothing of what an operator means; verify_onnx() asks libonnx.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "host/onnx/tensor.h"

namespace tessera::model {

using FileAttribute = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, std::vector<float>,
                                   std::vector<std::string>, Tensor>;

struct FileNode {
  std::string op;
  std::string name;
  std::vector<std::string> inputs, outputs;  ///< an empty input is one that is not given
  std::map<std::string, FileAttribute> attributes;
};

/// An input or output of the graph.
struct FileValue {
  std::string name;
  Type type = Type::f32;
  std::vector<std::string> extents;  ///< numbers, or symbols
};

struct FileGraph {
  std::string name;
  std::int64_t opset = 17;
  std::int64_t ir_version = 8;
  std::vector<FileValue> inputs, outputs;
  std::vector<Tensor> initializers;  ///< by their names
  std::vector<FileNode> nodes;       ///< in topological order
};

/// Extents as texts.
[[nodiscard]] std::vector<std::string> extents_of(const Shape& shape);

/// The file's bytes; equal graphs give equal bytes. Error (does_not_fit) beyond the 2 GiB of a protobuf message.
[[nodiscard]] std::string to_onnx(const FileGraph& graph);

/// A file as a graph, to be changed and written again. Error (usage) for what is no model, Error (unsupported) for
/// nodes that hold graphs, other domains and types without a counterpart; `what` is for messages.
[[nodiscard]] FileGraph from_onnx(const std::string& bytes, const std::string& what);

/// Every f32 of the graph becomes f16, rounded to nearest even: weights, inputs, outputs, casts.
void to_half(FileGraph& graph);

/// What a model file holds: values of its weights, and its nodes by operator.
struct FileContents {
  std::int64_t parameters = 0;
  std::map<std::string, std::int64_t> operators;
};
[[nodiscard]] FileContents contents_of(const std::string& bytes, const std::string& what);

/// Asks libonnx's checker and its strict shape inference; Error (usage) with their words if they refuse.
void verify_onnx(const std::string& bytes, const std::string& what);

}  // namespace tessera::model
