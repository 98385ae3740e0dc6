// Finds every node that the machine cannot run and says so at once: name, operator, opset, types, position.
#include <fmt/format.h>

#include <map>
#include <set>

#include "host/onnx/import_steps.h"
#include "hw/error.h"

namespace tessera::model {

namespace {

std::string type_name(const ::onnx::TypeProto& type) {
  if (type.has_tensor_type()) return proto_type_name(type.tensor_type().elem_type());
  if (type.has_sequence_type()) return "sequence(" + type_name(type.sequence_type().elem_type()) + ")";
  if (type.has_optional_type()) return "optional(" + type_name(type.optional_type().elem_type()) + ")";
  if (type.has_map_type()) return "map";
  if (type.has_sparse_tensor_type()) return "sparse " + proto_type_name(type.sparse_tensor_type().elem_type());
  return "?";
}

std::map<std::string, std::string> value_types(const ::onnx::GraphProto& graph) {
  std::map<std::string, std::string> types;
  for (const auto& info : graph.value_info()) types[info.name()] = type_name(info.type());
  for (const auto& info : graph.input()) types[info.name()] = type_name(info.type());
  for (const auto& info : graph.output()) types[info.name()] = type_name(info.type());
  for (const auto& tensor : graph.initializer()) types[tensor.name()] = proto_type_name(tensor.data_type());
  for (const auto& tensor : graph.sparse_initializer())
    types[tensor.values().name()] = "sparse " + proto_type_name(tensor.values().data_type());
  return types;
}

template <typename Names>
std::string type_list(const Names& names, const std::map<std::string, std::string>& types) {
  std::string text;
  for (const std::string& name : names) {
    const auto found = types.find(name);
    text += (text.empty() ? "" : ", ") + (name.empty() ? "none" : found == types.end() ? "?" : found->second);
  }
  return text.empty() ? "nothing" : text;
}

std::int64_t domain_version(const ::onnx::ModelProto& proto, const std::string& domain) {
  if (default_domain(domain)) return opset_of(proto);
  for (const auto& opset : proto.opset_import())
    if (opset.domain() == domain) return opset.version();
  return 0;
}

/// Operators that translation and inference know so far.
bool translatable(Op op) {
  static const std::set<Op> kKnown = {
      Op::Abs,      Op::Add,  Op::Cast,       Op::Concat,    Op::Constant, Op::ConstantOfShape,
      Op::Div,      Op::Exp,  Op::Expand,     Op::Flatten,   Op::Gather,   Op::Gemm,
      Op::Identity, Op::Log,  Op::LogSoftmax, Op::MatMul,    Op::Max,      Op::Min,
      Op::Mul,      Op::Neg,  Op::Range,      Op::Relu,      Op::Reshape,  Op::Shape,
      Op::Sigmoid,  Op::Size, Op::Slice,      Op::Softmax,   Op::Split,    Op::Sqrt,
      Op::Squeeze,  Op::Sub,  Op::Tanh,       Op::Transpose, Op::Unsqueeze};
  return kKnown.count(op) != 0;
}

/// Why the machine does not run this node; empty if it does.
std::string reason(const ::onnx::NodeProto& node, const std::map<std::string, std::string>& types,
                   const ImportOptions& options) {
  const auto op = find_op(node.op_type());
  if (!default_domain(node.domain()) || !op || !translatable(*op)) return "operator not supported";
  std::set<std::string> accepted = {"f32", "i32", "i64", "bool", "?"};
  if (options.narrow_f64) accepted.insert("f64");
  for (const auto* names : {&node.input(), &node.output()})
    for (const std::string& name : *names) {
      const auto found = types.find(name);
      if (!name.empty() && found != types.end() && accepted.count(found->second) == 0)
        return "type " + found->second + " not supported";
    }
  return {};
}

}  // namespace

std::string describe_node(const ::onnx::ModelProto& proto, int position) {
  const ::onnx::NodeProto& node = proto.graph().node(position);
  const auto types = value_types(proto.graph());
  const std::string domain = default_domain(node.domain()) ? "" : node.domain() + " ";
  return fmt::format("node '{}' ({}, {}opset {}, {} -> {}) at position {}", node.name(), node.op_type(), domain,
                     domain_version(proto, node.domain()), type_list(node.input(), types),
                     type_list(node.output(), types), position);
}

void throw_unsupported(const std::vector<std::string>& lines, const std::string& file) {
  throw Error(Category::unsupported,
              fmt::format("the model needs what is not supported, in {} node{}:\n  {}", lines.size(),
                          lines.size() == 1 ? "" : "s", fmt::join(lines, "\n  ")),
              file, "supported are f32, int32, int64 and bool in the operators of docs/onnx.md");
}

void refuse_unsupported(const ::onnx::ModelProto& proto, const std::string& file, const ImportOptions& options) {
  const auto types = value_types(proto.graph());
  std::vector<std::string> lines;
  for (int position = 0; position < proto.graph().node_size(); ++position) {
    const std::string why = reason(proto.graph().node(position), types, options);
    if (!why.empty()) lines.push_back(describe_node(proto, position) + ": " + why);
  }
  if (!lines.empty()) throw_unsupported(lines, file);
}

}  // namespace tessera::model
