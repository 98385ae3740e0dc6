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
  void operator()(const Tensor& value) const {
    proto.set_type(::onnx::AttributeProto::TENSOR);
    *proto.mutable_t() = to_proto(value);
  }
};

FileAttribute attribute_of(const ::onnx::AttributeProto& proto, const std::string& where) {
  switch (proto.type()) {
    case ::onnx::AttributeProto::INT:
      return static_cast<std::int64_t>(proto.i());
    case ::onnx::AttributeProto::FLOAT:
      return proto.f();
    case ::onnx::AttributeProto::STRING:
      return proto.s();
    case ::onnx::AttributeProto::INTS:
      return std::vector<std::int64_t>(proto.ints().begin(), proto.ints().end());
    case ::onnx::AttributeProto::FLOATS:
      return std::vector<float>(proto.floats().begin(), proto.floats().end());
    case ::onnx::AttributeProto::STRINGS:
      return std::vector<std::string>(proto.strings().begin(), proto.strings().end());
    case ::onnx::AttributeProto::TENSOR:
      return from_proto(proto.t(), where);
    default:
      throw Error(Category::unsupported, "attribute '" + proto.name() + "' holds a graph or something else", where,
                  "only numbers, texts and tensors can be read");
  }
}

FileValue value_of(const ::onnx::ValueInfoProto& info, const std::string& what) {
  FileValue value;
  value.name = info.name();
  const auto type = from_proto_type(info.type().tensor_type().elem_type());
  if (!type) throw Error(Category::unsupported, "'" + info.name() + "' has no element type that is known", what);
  value.type = *type;
  for (const auto& dim : info.type().tensor_type().shape().dim())
    value.extents.push_back(dim.has_dim_value() ? std::to_string(dim.dim_value()) : dim.dim_param());
  return value;
}

void halve(Tensor& tensor) {
  if (tensor.type != Type::f32) return;
  Tensor half(Type::f16, tensor.shape);
  half.name = tensor.name;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) half.set(i, model::to_half(tensor.at<float>(i)));
  tensor = std::move(half);
}

}  // namespace

FileGraph from_onnx(const std::string& bytes, const std::string& what) {
  ::onnx::ModelProto model;
  if (!model.ParseFromString(bytes) || !model.has_graph())
    throw Error(Category::usage, "not an ONNX model, or cut short", what, "get the file again");
  FileGraph graph;
  graph.name = model.graph().name();
  graph.ir_version = model.ir_version();
  for (const auto& opset : model.opset_import())
    if (opset.domain().empty() || opset.domain() == "ai.onnx") graph.opset = opset.version();
  std::map<std::string, bool> constants;
  for (const auto& tensor : model.graph().initializer()) {
    constants[tensor.name()] = true;
    graph.initializers.push_back(from_proto(tensor, what));
  }
  for (const auto& input : model.graph().input())
    if (constants.count(input.name()) == 0) graph.inputs.push_back(value_of(input, what));
  for (const auto& output : model.graph().output()) graph.outputs.push_back(value_of(output, what));
  for (const auto& proto : model.graph().node()) {
    if (!proto.domain().empty() && proto.domain() != "ai.onnx")
      throw Error(Category::unsupported, "operator " + proto.op_type() + " of domain " + proto.domain(), what);
    FileNode node{proto.op_type(),
                  proto.name(),
                  {proto.input().begin(), proto.input().end()},
                  {proto.output().begin(), proto.output().end()},
                  {}};
    for (const auto& attribute : proto.attribute())
      node.attributes.emplace(attribute.name(), attribute_of(attribute, what + ", node " + proto.name()));
    graph.nodes.push_back(std::move(node));
  }
  return graph;
}

void to_half(FileGraph& graph) {
  for (auto* values : {&graph.inputs, &graph.outputs})
    for (FileValue& value : *values)
      if (value.type == Type::f32) value.type = Type::f16;
  for (Tensor& tensor : graph.initializers) halve(tensor);
  for (FileNode& node : graph.nodes) {
    for (auto& [name, attribute] : node.attributes)
      if (auto* tensor = std::get_if<Tensor>(&attribute)) halve(*tensor);
    const auto to = node.op == "Cast" ? node.attributes.find("to") : node.attributes.end();
    if (to != node.attributes.end() && std::get<std::int64_t>(to->second) == ::onnx::TensorProto::FLOAT)
      to->second = std::int64_t{::onnx::TensorProto::FLOAT16};
  }
}

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
