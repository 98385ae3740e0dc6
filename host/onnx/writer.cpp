#include "host/onnx/writer.h"

#include <fmt/format.h>
#include <onnx/checker.h>
#include <onnx/defs/schema.h>
#include <onnx/shape_inference/implementation.h>

#include "host/onnx/proto.h"
#include "hw/error.h"

namespace tessera::model {

namespace {

void declare(::onnx::ValueInfoProto& info, const FileValue& value) {
  info.set_name(value.name);
  auto& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(to_proto_type(value.type));
  tensor.mutable_shape();
  for (const std::string& extent : value.extents) {
    auto& dim = *tensor.mutable_shape()->add_dim();
    if (!extent.empty() && extent.find_first_not_of("0123456789") == std::string::npos)
      dim.set_dim_value(std::stoll(extent));
    else
      dim.set_dim_param(extent);
  }
}

struct AttributeWriter {
  ::onnx::AttributeProto& proto;
  void operator()(std::int64_t value) const {
    proto.set_type(::onnx::AttributeProto::INT);
    proto.set_i(value);
  }
  void operator()(float value) const {
    proto.set_type(::onnx::AttributeProto::FLOAT);
    proto.set_f(value);
  }
  void operator()(const std::string& value) const {
    proto.set_type(::onnx::AttributeProto::STRING);
    proto.set_s(value);
  }
  void operator()(const std::vector<std::int64_t>& values) const {
    proto.set_type(::onnx::AttributeProto::INTS);
    for (const std::int64_t value : values) proto.add_ints(value);
  }
  void operator()(const std::vector<float>& values) const {
    proto.set_type(::onnx::AttributeProto::FLOATS);
    for (const float value : values) proto.add_floats(value);
  }
  void operator()(const std::vector<std::string>& values) const {
    proto.set_type(::onnx::AttributeProto::STRINGS);
    for (const std::string& value : values) proto.add_strings(value);
  }
};

}  // namespace

std::vector<std::string> extents_of(const Shape& shape) {
  std::vector<std::string> texts;
  for (const std::int64_t extent : shape) texts.push_back(std::to_string(extent));
  return texts;
}

std::string to_onnx(const FileGraph& graph) {
  ::onnx::ModelProto model;
  model.set_ir_version(graph.ir_version);
  model.set_producer_name("tessera");
  model.add_opset_import()->set_version(graph.opset);
  auto& proto = *model.mutable_graph();
  proto.set_name(graph.name);
  for (const FileValue& input : graph.inputs) declare(*proto.add_input(), input);
  for (const FileValue& output : graph.outputs) declare(*proto.add_output(), output);
  for (const Tensor& tensor : graph.initializers) *proto.add_initializer() = to_proto(tensor);
  for (const FileNode& node : graph.nodes) {
    auto& made = *proto.add_node();
    made.set_op_type(node.op);
    made.set_name(node.name);
    for (const std::string& input : node.inputs) made.add_input(input);
    for (const std::string& output : node.outputs) made.add_output(output);
    for (const auto& [name, value] : node.attributes) {
      auto& attribute = *made.add_attribute();
      attribute.set_name(name);
      std::visit(AttributeWriter{attribute}, value);
    }
  }
  std::string bytes;
  if (model.ByteSizeLong() >= (std::size_t{1} << 31) || !model.SerializeToString(&bytes))
    throw Error(Category::does_not_fit,
                fmt::format("the model takes {} bytes; a file of ONNX holds less than 2 GiB", model.ByteSizeLong()),
                graph.name, "use f16, fewer layers or smaller ones");
  return bytes;
}

FileContents contents_of(const std::string& bytes, const std::string& what) {
  ::onnx::ModelProto proto;
  if (!proto.ParseFromString(bytes)) throw Error(Category::usage, "not a ModelProto", what);
  FileContents contents;
  for (const auto& tensor : proto.graph().initializer()) {
    std::int64_t elements = 1;
    for (const std::int64_t extent : tensor.dims()) elements *= extent;
    if (tensor.data_type() == ::onnx::TensorProto::FLOAT || tensor.data_type() == ::onnx::TensorProto::FLOAT16)
      contents.parameters += elements;
  }
  for (const auto& node : proto.graph().node()) ++contents.operators[node.op_type()];
  return contents;
}

void verify_onnx(const std::string& bytes, const std::string& what) {
  ::onnx::ModelProto proto;
  if (!proto.ParseFromString(bytes)) throw Error(Category::usage, "not a ModelProto", what);
  try {
    ::onnx::checker::check_model(proto);
    ::onnx::shape_inference::InferShapes(proto, ::onnx::OpSchemaRegistry::Instance(),
                                         ::onnx::ShapeInferenceOptions(true, 1, true));
  } catch (const std::exception& error) {
    throw Error(Category::usage, error.what(), what);
  }
}

}  // namespace tessera::model
