// Finds every node that the machine cannot run and says so at once: name, operator, opset, types, position. Types of
// inner values come from the operators' schemas (which operands share a type); shapes are not looked at.
#include <fmt/format.h>
#include <onnx/defs/schema.h>

#include <algorithm>

#include "host/onnx/import_steps.h"
#include "host/onnx/ops.h"
#include "hw/error.h"

namespace tessera::model {

namespace {

using Proto = ::onnx::TensorProto;

std::string type_name(const ::onnx::TypeProto& type) {
  if (type.has_tensor_type()) return proto_type_name(type.tensor_type().elem_type());
  if (type.has_sequence_type()) return "sequence(" + type_name(type.sequence_type().elem_type()) + ")";
  if (type.has_optional_type()) return "optional(" + type_name(type.optional_type().elem_type()) + ")";
  if (type.has_map_type()) return "map";
  if (type.has_sparse_tensor_type()) return "sparse " + proto_type_name(type.sparse_tensor_type().elem_type());
  return "?";
}

/// "tensor(float16)" as schemas write it to "f16".
std::string schema_type_name(const std::string& text) {
  static const std::map<std::string, int> kElements = {
      {"bool", Proto::BOOL},     {"int8", Proto::INT8},       {"uint8", Proto::UINT8},   {"int16", Proto::INT16},
      {"uint16", Proto::UINT16}, {"int32", Proto::INT32},     {"uint32", Proto::UINT32}, {"int64", Proto::INT64},
      {"uint64", Proto::UINT64}, {"float16", Proto::FLOAT16}, {"float", Proto::FLOAT},   {"double", Proto::DOUBLE},
      {"string", Proto::STRING}};
  const auto inside = [&](const std::string& outer) -> std::optional<std::string> {
    if (text.rfind(outer + "(", 0) != 0 || text.back() != ')') return std::nullopt;
    return text.substr(outer.size() + 1, text.size() - outer.size() - 2);
  };
  if (const auto element = inside("tensor")) {
    const auto found = kElements.find(*element);
    return found == kElements.end() ? *element : proto_type_name(found->second);
  }
  if (const auto element = inside("seq")) return "sequence(" + schema_type_name(*element) + ")";
  if (const auto element = inside("optional")) return "optional(" + schema_type_name(*element) + ")";
  return text;
}

/// The type that an attribute says, as in Cast, Constant and ConstantOfShape.
std::string type_by_attribute(const ::onnx::NodeProto& node) {
  for (const auto& attribute : node.attribute()) {
    if ((attribute.name() == "to" || attribute.name() == "dtype") && attribute.type() == ::onnx::AttributeProto::INT)
      return proto_type_name(static_cast<int>(attribute.i()));
    if (attribute.name() == "value" && attribute.has_t()) return proto_type_name(attribute.t().data_type());
    if (attribute.name() == "value_float" || attribute.name() == "value_floats") return "f32";
    if (attribute.name() == "value_int" || attribute.name() == "value_ints") return "i64";
    if (attribute.name() == "value_string" || attribute.name() == "value_strings") return "string";
    if (attribute.name() == "sparse_value") return "sparse tensor";
  }
  return node.op_type() == "ConstantOfShape" ? "f32" : "?";
}

std::int64_t domain_version(const ::onnx::ModelProto& proto, const std::string& domain) {
  if (default_domain(domain)) return opset_of(proto);
  for (const auto& opset : proto.opset_import())
    if (opset.domain() == domain) return opset.version();
  return 0;
}

const ::onnx::OpSchema* schema_of(const ::onnx::ModelProto& proto, const ::onnx::NodeProto& node) {
  const std::int64_t version = domain_version(proto, node.domain());
  if (version < 1 || version > 1000) return nullptr;
  return ::onnx::OpSchemaRegistry::Schema(node.op_type(), static_cast<int>(version),
                                          default_domain(node.domain()) ? "" : node.domain());
}

/// A schema's k-th operand, whose last may repeat.
template <typename Formals>
const typename Formals::value_type* formal(const Formals& formals, int k) {
  if (formals.empty()) return nullptr;
  return &formals[std::min(static_cast<std::size_t>(k), formals.size() - 1)];
}

}  // namespace

std::optional<Op> find_op(const ::onnx::NodeProto& node) {
  if (!default_domain(node.domain())) return std::nullopt;
  return find_op(node.op_type() == "Scatter" ? std::string_view("ScatterElements") : std::string_view(node.op_type()));
}

Refusals::Refusals(const ::onnx::ModelProto& proto) : proto_(proto) { learn_types(); }

void Refusals::learn_types() {
  const ::onnx::GraphProto& graph = proto_.graph();
  for (const auto& info : graph.value_info()) types_[info.name()] = type_name(info.type());
  for (const auto& info : graph.output()) types_[info.name()] = type_name(info.type());
  for (const auto& info : graph.input()) types_[info.name()] = type_name(info.type());
  for (const auto& tensor : graph.initializer()) types_[tensor.name()] = proto_type_name(tensor.data_type());
  for (const auto& tensor : graph.sparse_initializer())
    types_[tensor.values().name()] = "sparse " + proto_type_name(tensor.values().data_type());
  for (const auto& node : graph.node()) learn_types(node);
}

void Refusals::learn_types(const ::onnx::NodeProto& node) {
  const ::onnx::OpSchema* schema = schema_of(proto_, node);
  if (schema == nullptr) return;
  std::map<std::string, std::string> bound;
  for (int k = 0; k < node.input_size(); ++k) {
    const auto* parameter = formal(schema->inputs(), k);
    const std::string known = type(node.input(k));
    if (parameter != nullptr && known != "?") bound.emplace(parameter->GetTypeStr(), known);
  }
  for (int k = 0; k < node.output_size(); ++k) {
    const auto* parameter = formal(schema->outputs(), k);
    if (node.output(k).empty() || parameter == nullptr || type(node.output(k)) != "?") continue;
    const auto found = bound.find(parameter->GetTypeStr());
    types_[node.output(k)] = found != bound.end()                ? found->second
                             : parameter->GetTypes().size() == 1 ? schema_type_name(**parameter->GetTypes().begin())
                                                                 : type_by_attribute(node);
  }
}

std::string Refusals::type(const std::string& value) const {
  const auto found = types_.find(value);
  return found == types_.end() ? "?" : found->second;
}

std::string Refusals::type_list(const google::protobuf::RepeatedPtrField<std::string>& names) const {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + (name.empty() ? "none" : type(name));
  return text.empty() ? "nothing" : text;
}

std::string Refusals::describe(int position) const {
  const ::onnx::NodeProto& node = proto_.graph().node(position);
  const std::string domain = default_domain(node.domain()) ? "" : node.domain() + " ";
  return fmt::format("node '{}' ({}, {}opset {}, {} -> {}) at position {}", node.name(), node.op_type(), domain,
                     domain_version(proto_, node.domain()), type_list(node.input()), type_list(node.output()),
                     position);
}

void Refusals::fail(const std::string& file) const {
  std::vector<std::string> lines;
  for (const auto& [position, reasons] : reasons_)
    lines.push_back(fmt::format("{}: {}", describe(position), fmt::join(reasons, "; ")));
  throw Error(Category::unsupported,
              fmt::format("the model needs what is not supported, in {} node{}:\n  {}", lines.size(),
                          lines.size() == 1 ? "" : "s", fmt::join(lines, "\n  ")),
              file, "docs/onnx.md lists operators and types");
}

void scan(const ::onnx::ModelProto& proto, const ImportOptions& options, Refusals& refusals) {
  std::set<std::string> accepted = {"?"};
  for (unsigned t = 0; t <= static_cast<unsigned>(Type::f64); ++t)
    if ((bit(static_cast<Type>(t)) & kAny) != 0) accepted.insert(std::string(name_of(static_cast<Type>(t))));
  if (!options.narrow_f64) accepted.erase("f64");
  for (int position = 0; position < proto.graph().node_size(); ++position) {
    const ::onnx::NodeProto& node = proto.graph().node(position);
    if (!find_op(node)) refusals.add(position, "operator not supported");
    std::set<std::string> seen;
    for (const auto* names : {&node.input(), &node.output()})
      for (const std::string& name : *names) {
        const std::string type = name.empty() ? "?" : refusals.type(name);
        if (accepted.count(type) == 0 && seen.insert(type).second)
          refusals.add(position, "type " + type + " not supported");
      }
  }
}

}  // namespace tessera::model
