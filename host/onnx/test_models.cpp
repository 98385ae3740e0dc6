#include "host/onnx/test_models.h"

#include "host/onnx/proto.h"

namespace tessera::model {

namespace {

void declare(::onnx::ValueInfoProto& info, const std::string& name, Type type,
             const std::vector<std::string>& extents) {
  info.set_name(name);
  auto& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(to_proto_type(type));
  tensor.mutable_shape();
  for (const std::string& extent : extents) {
    auto& dim = *tensor.mutable_shape()->add_dim();
    if (!extent.empty() && extent.find_first_not_of("0123456789") == std::string::npos)
      dim.set_dim_value(std::stoll(extent));
    else
      dim.set_dim_param(extent);
  }
}

void set_attribute(::onnx::AttributeProto& proto, const std::string& name, const TestAttribute& value) {
  proto.set_name(name);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    proto.set_type(::onnx::AttributeProto::INT);
    proto.set_i(*integer);
  } else if (const auto* real = std::get_if<float>(&value)) {
    proto.set_type(::onnx::AttributeProto::FLOAT);
    proto.set_f(*real);
  } else if (const auto* text = std::get_if<TestText>(&value)) {
    proto.set_type(::onnx::AttributeProto::STRING);
    proto.set_s(text->value);
  } else if (const auto* texts = std::get_if<TestTexts>(&value)) {
    proto.set_type(::onnx::AttributeProto::STRINGS);
    for (const std::string& one : texts->values) proto.add_strings(one);
  } else {
    proto.set_type(::onnx::AttributeProto::INTS);
    for (const std::int64_t i : std::get<std::vector<std::int64_t>>(value)) proto.add_ints(i);
  }
}

}  // namespace

std::string to_bytes(const TestGraph& graph) {
  ::onnx::ModelProto model;
  model.set_ir_version(graph.ir_version);
  model.add_opset_import()->set_version(graph.opset);
  auto& proto = *model.mutable_graph();
  proto.set_name("test");
  for (const TestValue& input : graph.inputs) declare(*proto.add_input(), input.name, input.type, input.extents);
  for (const TestValue& output : graph.outputs) declare(*proto.add_output(), output.name, output.type, output.extents);
  for (const auto& [name, tensor] : graph.initializers) {
    *proto.add_initializer() = to_proto(tensor);
    proto.mutable_initializer(proto.initializer_size() - 1)->set_name(name);
    if (!graph.initializers_are_inputs) continue;
    std::vector<std::string> extents;
    for (const std::int64_t extent : tensor.shape) extents.push_back(std::to_string(extent));
    declare(*proto.add_input(), name, tensor.type, extents);
  }
  for (const TestNode& node : graph.nodes) {
    auto& made = *proto.add_node();
    made.set_op_type(node.op);
    made.set_name(node.name);
    made.set_domain(node.domain);
    if (!node.domain.empty()) {
      auto& opset = *model.add_opset_import();
      opset.set_domain(node.domain);
      opset.set_version(1);
    }
    for (const std::string& input : node.inputs) made.add_input(input);
    for (const std::string& output : node.outputs) made.add_output(output);
    for (const auto& [name, value] : node.attributes) set_attribute(*made.add_attribute(), name, value);
  }
  std::string bytes;
  model.SerializeToString(&bytes);
  return bytes;
}

}  // namespace tessera::model
