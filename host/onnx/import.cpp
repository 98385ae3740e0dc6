#include "host/onnx/import.h"

#include <fmt/format.h>
#include <onnx/checker.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
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

/// The same from a file, without a copy of its bytes.
::onnx::ModelProto parse_file(const std::string& file) {
  std::error_code failed;
  const auto size = std::filesystem::file_size(file, failed);
  if (failed || size == 0 || !std::filesystem::is_regular_file(file, failed)) return parse(read_file(file), file);
  if (size > static_cast<std::uintmax_t>(std::numeric_limits<std::int32_t>::max()))
    throw Error(Category::unsupported, fmt::format("the file has {} bytes; protobuf reads less than 2 GiB", size), file,
                "export the model with its weights as external data");
  ::onnx::ModelProto proto;
  std::ifstream in(file, std::ios::binary);
  if (!in) return parse(read_file(file), file);  // which says why
  if (!proto.ParseFromIstream(&in)) broken(file, "it is cut short or no ONNX file at all");
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

/// Every input of a node is made before it. libonnx refuses others too, but without the node's name.
void check_order(const ::onnx::GraphProto& graph, const std::string& file) {
  std::set<std::string> before, all;
  for (const auto& info : graph.input()) before.insert(info.name());
  for (const auto& tensor : graph.initializer()) before.insert(tensor.name());
  for (const auto& node : graph.node()) all.insert(node.output().begin(), node.output().end());
  for (int k = 0; k < graph.node_size(); ++k) {
    const auto& node = graph.node(k);
    for (const std::string& input : node.input()) {
      if (input.empty() || before.count(input) != 0) continue;
      const std::string name = node.name().empty() ? "number " + std::to_string(k) : "'" + node.name() + "'";
      if (!is_utf8(input)) broken(file, "a name in it is not UTF-8 text");
      broken(file, "input '" + input + "' of node " + name + " (" + node.op_type() + ") " +
                       (all.count(input) == 0 ? "is computed by no node and is no input of the model"
                                              : "is computed behind it: nodes have to stand in order"));
    }
    before.insert(node.output().begin(), node.output().end());
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
  std::set<std::string> held;
  for (const auto& tensor : graph.initializer()) {
    if (tensor.name().empty()) broken(file, "an initializer has no name");
    if (tensor.data_type() == ::onnx::TensorProto::UNDEFINED && is_utf8(tensor.name()))
      broken(file, "initializer '" + tensor.name() + "' has no element type");
    if (!held.insert(tensor.name()).second) broken(file, "two initializers are named '" + tensor.name() + "'");
  }
  defined.insert(held.begin(), held.end());
  if (graph.sparse_initializer_size() > 0)
    throw Error(Category::unsupported, "the model has sparse initializers", file, "export it with dense ones");
  for (const auto& node : graph.node()) {
    for (const std::string& output : node.output())
      if (!output.empty() && !defined.insert(output).second && is_utf8(output))
        broken(file, "'" + output + "' is computed by more than one node, or is an input as well");
    names.insert({node.name(), node.op_type(), node.domain()});
  }
  names.insert(defined.begin(), defined.end());
  if (!std::all_of(names.begin(), names.end(), is_utf8)) broken(file, "a name in it is not UTF-8 text");
  check_order(graph, file);
  if (graph.output_size() == 0) broken(file, "it has no output");
  for (const auto& info : graph.output())
    if (defined.count(info.name()) == 0) broken(file, "output '" + info.name() + "' is computed by no node");
}

/// First line of a message of libonnx, without its source positions.
std::string first_line(const std::string& text) {
  std::string line = text.substr(0, text.find('\n'));
  while (!line.empty() && (line.back() == ' ' || line.back() == '.')) line.pop_back();
  return line;
}

/// libonnx's checker on the model without the contents of its initializers, which from_proto checks: they need neither
/// be copied nor, where they stand in files beside the model, be found.
void check(::onnx::ModelProto& proto, const std::string& file) {
  ::onnx::GraphProto& graph = *proto.mutable_graph();
  google::protobuf::RepeatedPtrField<::onnx::TensorProto> initializers;
  google::protobuf::RepeatedPtrField<::onnx::ValueInfoProto> inputs = graph.input();
  std::set<std::string> declared;
  for (const auto& info : inputs) declared.insert(info.name());
  for (const auto& tensor : graph.initializer()) {
    if (declared.count(tensor.name()) != 0) continue;
    auto& info = *graph.add_input();
    info.set_name(tensor.name());
    info.mutable_type()->mutable_tensor_type()->set_elem_type(tensor.data_type());
    for (const std::int64_t extent : tensor.dims())
      info.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(extent);
    info.mutable_type()->mutable_tensor_type()->mutable_shape();
  }
  initializers.Swap(graph.mutable_initializer());
  try {
    ::onnx::checker::check_model(proto);
  } catch (const std::exception& error) {
    broken(file, first_line(error.what()));
  }
  initializers.Swap(graph.mutable_initializer());
  inputs.Swap(graph.mutable_input());
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

namespace {

Model import_proto(::onnx::ModelProto& proto, const std::string& file, const ImportOptions& options) {
  check_opset(proto, file);
  check_names(proto, file);
  Refusals refusals(proto);
  scan(proto, options, refusals);
  const bool refused = refusals.any();
  try {
    if (!refused) check(proto, file);  // the checker does not know what is refused
    const Bound bound = bind_inputs(proto, file, options, refusals);
    return translate(proto, file, bound, refusals);
  } catch (const Error&) {
    if (refused) refusals.fail(file);
    throw;
  }
}

}  // namespace

Model import_bytes(const std::string& bytes, const std::string& file, const ImportOptions& options) {
  ::onnx::ModelProto proto = parse(bytes, file);
  return import_proto(proto, file, options);
}

Model import_model(const std::string& file, const ImportOptions& options) {
  ::onnx::ModelProto proto = parse_file(file);
  return import_proto(proto, file, options);
}

namespace {

Interface interface_of(const ::onnx::ModelProto& proto) {
  std::set<std::string> constants;
  for (const auto& tensor : proto.graph().initializer()) constants.insert(tensor.name());
  Interface result;
  for (const auto& info : proto.graph().input())
    if (constants.count(info.name()) == 0) result.inputs.push_back(declared(info));
  for (const auto& info : proto.graph().output()) result.outputs.push_back(declared(info));
  return result;
}

}  // namespace

Interface read_interface(const std::string& file) { return interface_of(parse_file(file)); }

Interface read_interface_bytes(const std::string& bytes, const std::string& file) {
  return interface_of(parse(bytes, file));
}

}  // namespace tessera::model
