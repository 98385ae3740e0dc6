#include "host/onnx/import.h"

#include <fmt/format.h>
#include <onnx/checker.h>
#include <onnx/shape_inference/implementation.h>
#include <onnx/version_converter/convert.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "host/onnx/import_steps.h"
#include "host/onnx/proto.h"
#include "host/onnx/tensor_io.h"
#include "hw/error.h"

namespace tessera::model {

namespace {

constexpr std::int64_t kOpset = 17;

[[noreturn]] void broken(const std::string& file, const std::string& why) {
  throw Error(Category::usage, "not a valid ONNX model: " + why, file, "get or export the file again");
}

::onnx::ModelProto parse(const std::string& bytes, const std::string& file) {
  ::onnx::ModelProto proto;
  if (bytes.empty()) broken(file, "the file is empty");
  if (!proto.ParseFromString(bytes)) broken(file, "it is cut short or no ONNX file at all");
  if (!proto.has_graph()) broken(file, "it holds no graph");
  return proto;
}

bool is_utf8(const std::string& text) {
  try {
    (void)nlohmann::json(text).dump();
    return true;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

/// Names go into messages, reports and executables: they must be text. Outputs must exist: libonnx does not look.
void check_names(const ::onnx::ModelProto& proto, const std::string& file) {
  const ::onnx::GraphProto& graph = proto.graph();
  std::set<std::string> defined, names = {graph.name()};
  for (const auto& info : graph.input()) {
    defined.insert(info.name());
    for (const auto& dim : info.type().tensor_type().shape().dim()) names.insert(dim.dim_param());
  }
  for (const auto& tensor : graph.initializer()) defined.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) defined.insert(tensor.values().name());
  for (const auto& node : graph.node()) {
    defined.insert(node.output().begin(), node.output().end());
    names.insert({node.name(), node.op_type(), node.domain()});
  }
  names.insert(defined.begin(), defined.end());
  if (!std::all_of(names.begin(), names.end(), is_utf8)) broken(file, "a name in it is not UTF-8 text");
  if (graph.output_size() == 0) broken(file, "it has no output");
  for (const auto& info : graph.output())
    if (defined.count(info.name()) == 0) broken(file, "output '" + info.name() + "' is computed by no node");
}

/// Brings tensors that stand in files beside the model into it: libonnx would look for them in the working directory.
void bring_in_external_data(::onnx::ModelProto& proto, const std::string& file) {
  const auto slash = file.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : file.substr(0, slash);
  for (auto& tensor : *proto.mutable_graph()->mutable_initializer()) {
    if (tensor.data_location() != ::onnx::TensorProto::EXTERNAL) continue;
    ::onnx::TensorProto whole = to_proto(from_proto(tensor, file + ": initializer '" + tensor.name() + "'", folder));
    tensor.Swap(&whole);
  }
}

/// First line of a message of libonnx, without its source positions.
std::string first_line(const std::string& text) {
  std::string line = text.substr(0, text.find('\n'));
  while (!line.empty() && (line.back() == ' ' || line.back() == '.')) line.pop_back();
  return line;
}

/// Opset 6 and before: `broadcast` with `axis` places B's axes at A's; Unsqueeze says the same without the attribute.
void make_broadcast_explicit(::onnx::ModelProto& proto) {
  std::map<std::string, int> ranks;
  const auto note = [&](const ::onnx::ValueInfoProto& info) {
    ranks[info.name()] = info.type().tensor_type().shape().dim_size();
  };
  for (const auto& info : proto.graph().input()) note(info);
  for (const auto& info : proto.graph().value_info()) note(info);
  for (const auto& tensor : proto.graph().initializer()) ranks[tensor.name()] = tensor.dims_size();
  google::protobuf::RepeatedPtrField<::onnx::NodeProto> nodes;
  nodes.Swap(proto.mutable_graph()->mutable_node());
  for (::onnx::NodeProto& node : nodes) {
    std::int64_t axis = -1;
    for (const auto& attribute : node.attribute())
      if (attribute.name() == "axis") axis = attribute.i();
    static const std::set<std::string> kBroadcasting = {"Add", "Sub", "Mul", "Div"};
    const bool placed = kBroadcasting.count(node.op_type()) != 0 && axis >= 0 && node.input_size() == 2;
    const int behind = placed ? ranks[node.input(0)] - ranks[node.input(1)] - static_cast<int>(axis) : 0;
    if (placed) {
      auto* attributes = node.mutable_attribute();
      attributes->erase(std::remove_if(attributes->begin(), attributes->end(),
                                       [](const auto& attribute) { return attribute.name() == "axis"; }),
                        attributes->end());
    }
    if (behind > 0) {
      ::onnx::NodeProto& unsqueeze = *proto.mutable_graph()->add_node();
      unsqueeze.set_op_type("Unsqueeze");
      unsqueeze.add_input(node.input(1));
      unsqueeze.add_output(node.input(1) + "_placed_for_" + node.output(0));
      auto& axes = *unsqueeze.add_attribute();
      axes.set_name("axes");
      axes.set_type(::onnx::AttributeProto::INTS);
      for (int k = 0; k < behind; ++k) axes.add_ints(ranks[node.input(1)] + k);
      node.set_input(1, unsqueeze.output(0));
    }
    proto.mutable_graph()->add_node()->Swap(&node);
  }
}

void infer_with_libonnx(::onnx::ModelProto& proto, bool strict) {
  ::onnx::shape_inference::InferShapes(proto, ::onnx::OpSchemaRegistry::Instance(),
                                       ::onnx::ShapeInferenceOptions(true, strict ? 1 : 0, true));
}

/// Shapes as far as libonnx gets on a model that may hold anything; used for messages and by its converter.
void infer_if_possible(::onnx::ModelProto& proto) {
  ::onnx::ModelProto copy = proto;
  try {
    infer_with_libonnx(copy, false);
    proto.Swap(&copy);
  } catch (const std::exception&) {
    // What is wrong, if anything, the checker says next.
  }
}

void check(const ::onnx::ModelProto& proto, const std::string& file) {
  try {
    ::onnx::checker::check_model(proto);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    broken(file, first_line(error.what()));
  }
}

void convert(::onnx::ModelProto& proto, const std::string& file) {
  const std::int64_t opset = opset_of(proto);
  if (opset == kOpset) return;
  proto.mutable_graph()->clear_value_info();  // may hold extents from before the inputs had theirs
  infer_if_possible(proto);
  if (opset < 7) make_broadcast_explicit(proto);
  infer_if_possible(proto);
  try {
    ::onnx::ModelProto converted = ::onnx::version_conversion::ConvertVersion(proto, kOpset);
    proto.Swap(&converted);
  } catch (const std::exception& error) {
    throw Error(Category::unsupported,
                fmt::format("libonnx cannot convert the model from opset {} to {}: {}", opset, kOpset,
                            first_line(error.what())),
                file, "export the model with opset 17");
  }
}

void check_opset(const ::onnx::ModelProto& proto, const std::string& file) {
  const std::int64_t opset = opset_of(proto);
  const auto& nodes = proto.graph().node();
  if (opset == 0 && std::any_of(nodes.begin(), nodes.end(), [](const auto& n) { return default_domain(n.domain()); }))
    broken(file, "it names no opset");
  if (opset > kOpset)
    throw Error(Category::unsupported, fmt::format("the model uses opset {}; up to {} are supported", opset, kOpset),
                file, "export the model with opset 17");
  if (proto.functions_size() > 0)
    throw Error(Category::unsupported,
                fmt::format("the model defines functions of its own ('{}', {} in all)", proto.functions(0).name(),
                            proto.functions_size()),
                file, "inline them before export");
}

Declared declared(const ::onnx::ValueInfoProto& info) {
  Declared result;
  result.name = info.name();
  if (!info.type().has_tensor_type()) {
    result.type = info.type().has_sequence_type() ? "sequence" : info.type().has_optional_type() ? "optional" : "map";
    return result;
  }
  result.type = proto_type_name(info.type().tensor_type().elem_type());
  for (const auto& dim : info.type().tensor_type().shape().dim())
    result.extents.push_back(dim.has_dim_value()       ? std::to_string(dim.dim_value())
                             : dim.dim_param().empty() ? "?"
                                                       : dim.dim_param());
  return result;
}

}  // namespace

std::int64_t opset_of(const ::onnx::ModelProto& proto) {
  for (const auto& opset : proto.opset_import())
    if (default_domain(opset.domain())) return opset.version();
  return 0;
}

bool default_domain(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

Model import_bytes(const std::string& bytes, const std::string& file, const ImportOptions& options) {
  ::onnx::ModelProto proto = parse(bytes, file);
  check_opset(proto, file);
  check_names(proto, file);
  bring_in_external_data(proto, file);
  const std::int64_t opset = opset_of(proto);
  infer_if_possible(proto);
  refuse_unsupported(proto, file, options);
  check(proto, file);
  const Bound bound = bind_inputs(proto, file, options);
  convert(proto, file);
  proto.mutable_graph()->clear_value_info();
  try {
    infer_with_libonnx(proto, true);
  } catch (const std::exception& error) {
    broken(file, first_line(error.what()));
  }
  Model model = translate(proto, file, bound);
  model.opset = opset;
  return model;
}

Model import_model(const std::string& file, const ImportOptions& options) {
  return import_bytes(read_file(file), file, options);
}

Interface read_interface(const std::string& file) {
  const ::onnx::ModelProto proto = parse(read_file(file), file);
  std::set<std::string> constants;
  for (const auto& tensor : proto.graph().initializer()) constants.insert(tensor.name());
  Interface result;
  for (const auto& info : proto.graph().input())
    if (constants.count(info.name()) == 0) result.inputs.push_back(declared(info));
  for (const auto& info : proto.graph().output()) result.outputs.push_back(declared(info));
  return result;
}

}  // namespace tessera::model
