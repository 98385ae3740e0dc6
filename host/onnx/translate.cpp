// From a model whose input shapes are known to the operator graph: every node by the table of operators, constants
// folded by the reference, 64-bit types narrowed, dead nodes dropped.
#include <fmt/format.h>

#include <algorithm>

#include "host/golden/evaluate.h"
#include "host/onnx/import_steps.h"
#include "host/onnx/ops.h"
#include "hw/error.h"

namespace tessera::model {

namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 33;
/// Of all constants that import computes together.
constexpr std::int64_t kMostFoldedInAll = 4 * kMostFoldedBytes;
/// A refused value, or one computed from such: nodes that use it are passed over.
constexpr ValueId kRefused = kAbsent - 1;

RawAttribute raw_attribute(const ::onnx::AttributeProto& proto, const std::string& where, const std::string& folder) {
  using Kind = ::onnx::AttributeProto;
  switch (proto.type()) {
    case Kind::INT:
      return proto.i();
    case Kind::FLOAT:
      return proto.f();
    case Kind::STRING:
      return proto.s();
    case Kind::INTS:
      return Extents(proto.ints().begin(), proto.ints().end());
    case Kind::FLOATS:
      return std::vector<float>(proto.floats().begin(), proto.floats().end());
    case Kind::STRINGS:
      return std::vector<std::string>(proto.strings().begin(), proto.strings().end());
    case Kind::TENSOR:
      return from_proto(proto.t(), where, folder);
    default:
      return std::monostate();
  }
}

/// Whether computing a node at import would take long: products and windows of many elements.
bool is_heavy(const Model& model, const Node& node, std::int64_t results) {
  switch (node.op) {
    case Op::MatMul:
    case Op::MatMulInteger:
    case Op::Gemm:
    case Op::Einsum:
    case Op::Conv:
    case Op::ConvTranspose:
    case Op::AveragePool:
    case Op::MaxPool:
    case Op::LRN:
    case Op::LSTM:
    case Op::GRU:
    case Op::RNN: {
      double operands = 1;
      for (const ValueId id : node.inputs)
        if (id != kAbsent) operands += static_cast<double>(element_count(model.value(id).shape));
      return operands * static_cast<double>(results + 1) > 1e9;
    }
    default:
      return false;
  }
}

class Translator : public NodeSink {
 public:
  Translator(::onnx::ModelProto& proto, const std::string& file, Refusals& refusals)
      : graph_(*proto.mutable_graph()), opset_(opset_of(proto)), refusals_(refusals) {
    model_.file = file;
    model_.name = graph_.name();
    model_.opset = opset_;
    const auto slash = file.rfind('/');
    folder_ = slash == std::string::npos ? "." : file.substr(0, slash);
  }

  Model run(const Bound& bound) {
    add_values();
    for (int i = 0; i < graph_.node_size(); ++i) translate_node(i);
    if (refusals_.any()) refusals_.fail(model_.file);
    add_outputs();
    for (const std::string& name : bound.specialised) {
      model_.specialised.push_back(ids_.at(name));
      model_.warnings.push_back(fmt::format("the value of input '{}' decides shapes and is compiled in", name));
    }
    model_.symbolic = bound.symbolic;
    drop_dead_nodes();
    narrow();
    return std::move(model_);
  }

  ValueId add_constant(const std::string& name, Tensor tensor) override {
    const ValueId id = add_value(name, tensor.type, tensor.shape);
    tensor.name = name;
    model_.values[id].constant = std::move(tensor);
    return id;
  }

  ValueId add(Node node, const std::string& output) override {
    add_node(std::move(node), {output});
    return ids_.at(output);
  }

 private:
  ValueId add_value(const std::string& name, Type type, Shape shape) {
    check_size(shape, name);
    Value value;
    value.name = name;
    value.type = value.declared = type;
    value.shape = std::move(shape);
    model_.values.push_back(std::move(value));
    const auto id = static_cast<ValueId>(model_.values.size() - 1);
    if (!name.empty()) ids_[name] = id;
    return id;
  }

  void check_size(const Shape& shape, const std::string& name) const {
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) {
      if (extent < 0 || (extent > 0 && count > kMostElements / extent))
        throw Error(Category::does_not_fit, fmt::format("value '{}' has shape {}", name, to_string(shape)), model_.file,
                    "use smaller inputs");
      count = std::max<std::int64_t>(count * extent, 1);  // an extent of 0 must not hide what the others say
    }
  }

  void add_values() {
    for (auto& tensor : *graph_.mutable_initializer()) {
      add_constant(tensor.name(), from_proto(tensor, model_.file + ": initializer '" + tensor.name() + "'", folder_));
      ::onnx::TensorProto().Swap(&tensor);  // gives its memory back
    }
    for (const auto& info : graph_.input()) {
      Shape shape;
      for (const auto& dim : info.type().tensor_type().shape().dim()) shape.push_back(dim.dim_value());
      const auto type = from_proto_type(info.type().tensor_type().elem_type());
      if (type && (bit(*type) & kAny) != 0) {
        model_.inputs.push_back(add_value(info.name(), *type, shape));
        continue;
      }
      if (!refusals_.any())
        throw Error(Category::unsupported,
                    fmt::format("input '{}' has element type {}", info.name(),
                                proto_type_name(info.type().tensor_type().elem_type())),
                    model_.file, "docs/onnx.md lists operators and types");
      ids_[info.name()] = kRefused;
    }
  }

  void add_outputs() {
    for (const auto& info : graph_.output()) {
      const auto found = ids_.find(info.name());
      if (found == ids_.end())
        throw Error(Category::usage, fmt::format("output '{}' is computed by no node", info.name()), model_.file,
                    "export the model again");
      model_.outputs.push_back(found->second);
      check_declared(info, model_.value(found->second));
    }
  }

  void check_declared(const ::onnx::ValueInfoProto& info, const Value& value) const {
    const auto& dims = info.type().tensor_type().shape().dim();
    bool fits = !info.type().tensor_type().has_shape() || dims.size() == static_cast<int>(value.shape.size());
    for (int k = 0; fits && k < dims.size(); ++k)
      fits = !dims[k].has_dim_value() || dims[k].dim_value() == value.shape[static_cast<std::size_t>(k)];
    if (!fits)
      throw Error(Category::usage,
                  fmt::format("output '{}' has shape {}, which is not what the file declares", info.name(),
                              to_string(value.shape)),
                  model_.file, "check the shapes given for the inputs");
    const int declared = info.type().tensor_type().elem_type();
    if (info.type().has_tensor_type() && declared != ::onnx::TensorProto::UNDEFINED &&
        from_proto_type(declared) != value.type)
      throw Error(Category::usage,
                  fmt::format("output '{}' has type {}, and the file declares {}", info.name(), name_of(value.type),
                              proto_type_name(declared)),
                  model_.file, "export the model again");
  }

  void refuse(int position, const std::string& reason) {
    refusals_.add(position, reason);
    for (const std::string& name : graph_.node(position).output())
      if (!name.empty()) ids_[name] = kRefused;
  }

  void translate_node(int position) {
    const ::onnx::NodeProto& proto = graph_.node(position);
    bool reachable = !refusals_.has(position);
    Node node;
    node.position = static_cast<std::uint32_t>(position);
    node.name = proto.name().empty() ? fmt::format("{}_{}", proto.op_type(), position) : proto.name();
    const std::string where = fmt::format("{}: node '{}' ({})", model_.file, node.name, proto.op_type());
    for (const std::string& name : proto.input()) {
      const auto found = ids_.find(name);
      if (!name.empty() && found == ids_.end())
        throw Error(Category::usage, fmt::format("its input '{}' comes from nowhere", name), where,
                    "export the model again");
      node.inputs.push_back(name.empty() ? kAbsent : found->second);
      reachable = reachable && node.inputs.back() != kRefused;
    }
    for (const std::string& name : proto.output())
      if (!reachable && !name.empty()) ids_[name] = kRefused;
    if (!reachable) return;
    while (!node.inputs.empty() && node.inputs.back() == kAbsent) node.inputs.pop_back();
    node.op = find_op(proto).value();
    try {
      translate(std::move(node), proto, where);
    } catch (const Refusal& refusal) {
      refuse(position, refusal.reason);
    } catch (const Error& error) {
      if (error.category() != Category::unsupported) throw;
      refuse(position, error.message());
    }
  }

  void translate(Node node, const ::onnx::NodeProto& proto, const std::string& where) {
    std::map<std::string, RawAttribute> attributes;
    for (const auto& attribute : proto.attribute())
      attributes.emplace(attribute.name(), raw_attribute(attribute, where, folder_));
    Reading reading(model_, node, opset_, {proto.output().begin(), proto.output().end()}, std::move(attributes), *this);
    if (proto.output_size() == 0) reading.fail("it has no output");
    const Operator& entry = operator_of(node.op);
    if (node.op != Op::Constant && (bit(reading.type()) & entry.types) == 0)
      reading.refuse(fmt::format("type {} not supported", name_of(reading.type())));
    entry.translate(reading);
    if (reading.result) {
      if (node.op != Op::Constant) count_folded(static_cast<std::int64_t>(reading.result->data.size()));
      add_constant(proto.output(0), std::move(*reading.result));
      return;
    }
    add_node(std::move(node), reading.outputs());
  }

  void count_folded(std::int64_t bytes) {
    folded_bytes_ += bytes;
    if (folded_bytes_ > kMostFoldedInAll)
      throw Error(Category::does_not_fit,
                  fmt::format("constants that import computes take more than {} bytes", kMostFoldedInAll), model_.file,
                  "compute them before export");
  }

  /// Infers, folds if everything is known and that is cheap, else appends.
  void add_node(Node node, std::vector<std::string> outputs) {
    while (!outputs.empty() && outputs.back().empty()) outputs.pop_back();
    for (const std::string& name : outputs) node.outputs.push_back(name.empty() ? kAbsent : 0);
    if (outputs.empty()) return;
    const auto inferred = infer(model_, node);
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      check_size(inferred[i].second, outputs[i]);
      bytes += element_count(inferred[i].second) * size_of(inferred[i].first);
    }
    bool known = !node.inputs.empty() && bytes <= kMostFoldedBytes && folded_bytes_ + bytes <= kMostFoldedInAll &&
                 !is_heavy(model_, node, bytes);
    std::vector<const Tensor*> operands;
    for (const ValueId id : node.inputs) {
      operands.push_back(id != kAbsent && model_.value(id).constant ? &*model_.value(id).constant : nullptr);
      known = known && (id == kAbsent || operands.back() != nullptr);
    }
    if (known) {
      count_folded(bytes);
      auto results = golden::evaluate(model_, node, operands);
      for (std::size_t i = 0; i < outputs.size(); ++i)
        if (!outputs[i].empty()) add_constant(outputs[i], std::move(results.at(i)));
      return;
    }
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (!outputs[i].empty()) node.outputs[i] = add_value(outputs[i], inferred[i].first, inferred[i].second);
    model_.nodes.push_back(std::move(node));
  }

  void drop_dead_nodes() {
    std::set<ValueId> needed(model_.outputs.begin(), model_.outputs.end());
    std::vector<Node> kept;
    for (auto node = model_.nodes.rbegin(); node != model_.nodes.rend(); ++node) {
      const bool lives = std::any_of(node->outputs.begin(), node->outputs.end(),
                                     [&](ValueId id) { return id != kAbsent && needed.count(id) != 0; });
      if (!lives) continue;
      needed.insert(node->inputs.begin(), node->inputs.end());
      kept.push_back(std::move(*node));
    }
    std::reverse(kept.begin(), kept.end());
    model_.nodes = std::move(kept);
    // Results that nothing takes, as a Dropout's mask, are not asked for.
    for (Node& node : model_.nodes)
      for (ValueId& id : node.outputs)
        if (id != kAbsent && needed.count(id) == 0) id = kAbsent;
    needed.insert(model_.inputs.begin(), model_.inputs.end());
    for (ValueId id = 0; id < model_.values.size(); ++id)
      if (needed.count(id) == 0) model_.values[id].constant.reset();
  }

  /// 64-bit types exist at the edge only.
  void narrow() {
    for (const ValueId id : model_.inputs) warn(model_.value(id), "input");
    for (const ValueId id : model_.outputs) warn(model_.value(id), "output");
    for (Value& value : model_.values) {
      if (value.constant && narrowed(value.type) != value.type)
        value.constant = narrowed(*value.constant, "constant '" + value.name + "'");
      value.type = narrowed(value.type);
    }
    for (Node& node : model_.nodes)
      if (auto* cast = std::get_if<CastAttributes>(&node.attributes)) cast->to = narrowed(cast->to);
    model_.narrow = true;
  }

  void warn(const Value& value, const std::string& what) {
    if (narrowed(value.type) != value.type)
      model_.warnings.push_back(fmt::format("{} '{}' is {} and is narrowed to {}", what, value.name,
                                            name_of(value.type), name_of(narrowed(value.type))));
  }

  ::onnx::GraphProto& graph_;
  const std::int64_t opset_;
  Refusals& refusals_;
  std::string folder_;
  Model model_;
  std::map<std::string, ValueId> ids_;
  std::int64_t folded_bytes_ = 0;
};

}  // namespace

Model translate(::onnx::ModelProto& proto, const std::string& file, const Bound& bound, Refusals& refusals) {
  return Translator(proto, file, refusals).run(bound);
}

}  // namespace tessera::model
