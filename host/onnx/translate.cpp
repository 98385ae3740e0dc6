// From a checked model at opset 17 to the operator graph: attributes made canonical, operands that decide shapes moved
// into attributes, constants folded by the reference, 64-bit types narrowed, dead nodes dropped.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "host/golden/evaluate.h"
#include "host/onnx/import_steps.h"
#include "hw/error.h"

namespace tessera::model {

namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 33;

/// Attributes of one node by name, with ONNX's defaults given at the place of use.
class NodeReader {
 public:
  NodeReader(const ::onnx::NodeProto& node, std::string where) : node_(node), where_(std::move(where)) {}

  const ::onnx::AttributeProto* find(const std::string& name) const {
    for (const auto& attribute : node_.attribute())
      if (attribute.name() == name) return &attribute;
    return nullptr;
  }
  std::int64_t integer(const std::string& name, std::int64_t standard) const {
    const auto* attribute = find(name);
    return attribute == nullptr ? standard : attribute->i();
  }
  float real(const std::string& name, float standard) const {
    const auto* attribute = find(name);
    return attribute == nullptr ? standard : attribute->f();
  }
  std::vector<std::int64_t> integers(const std::string& name) const {
    const auto* attribute = find(name);
    if (attribute == nullptr) return {};
    return {attribute->ints().begin(), attribute->ints().end()};
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(Category::usage, what, where_, "export the model again");
  }
  /// -rank .. rank-1 to 0 .. rank-1; `last` is the highest allowed after that.
  std::int64_t axis(std::int64_t axis, std::int64_t rank, std::int64_t last) const {
    const std::int64_t normal = axis < 0 ? axis + rank : axis;
    if (normal < 0 || normal > last) fail(fmt::format("axis {} of a tensor with {} axes", axis, rank));
    return normal;
  }
  std::vector<std::int64_t> axes(const std::vector<std::int64_t>& given, std::int64_t rank) const {
    std::set<std::int64_t> result;
    for (const std::int64_t a : given) result.insert(axis(a, rank, rank - 1));
    if (result.size() != given.size()) fail("an axis is named twice");
    return {result.begin(), result.end()};
  }

 private:
  const ::onnx::NodeProto& node_;
  std::string where_;
};

class Translator {
 public:
  Translator(const ::onnx::ModelProto& proto, const std::string& file) : proto_(proto), graph_(proto.graph()) {
    model_.file = file;
    model_.name = graph_.name();
  }

  Model run(const Bound& bound) {
    add_values();
    for (int i = 0; i < graph_.node_size(); ++i) translate_node(i);
    add_outputs();
    for (const std::string& name : bound.specialised) {
      model_.specialised.push_back(ids_.at(name));
      model_.warnings.push_back(fmt::format("the value of input '{}' decides shapes and is compiled in", name));
    }
    model_.symbolic = bound.symbolic;
    drop_dead_nodes();
    narrow();
    if (!refused_.empty()) throw_unsupported(refused_, model_.file);
    return std::move(model_);
  }

 private:
  std::string folder() const {
    const auto slash = model_.file.rfind('/');
    return slash == std::string::npos ? "." : model_.file.substr(0, slash);
  }

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

  ValueId add_constant(const std::string& name, Tensor tensor) {
    const ValueId id = add_value(name, tensor.type, tensor.shape);
    tensor.name = name;
    model_.values[id].constant = std::move(tensor);
    return id;
  }

  void check_size(const Shape& shape, const std::string& name) const {
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) {
      if (extent < 0 || (extent > 0 && count > kMostElements / extent))
        throw Error(Category::does_not_fit, fmt::format("value '{}' has shape {}", name, to_string(shape)), model_.file,
                    "use smaller inputs");
      count *= extent;
    }
  }

  void add_values() {
    if (graph_.sparse_initializer_size() > 0)
      throw Error(Category::unsupported, "the model has sparse initializers", model_.file, "export it with dense ones");
    for (const auto& tensor : graph_.initializer())
      add_constant(tensor.name(), from_proto(tensor, model_.file + ": initializer '" + tensor.name() + "'", folder()));
    for (const auto& info : graph_.input()) {
      Shape shape;
      for (const auto& dim : info.type().tensor_type().shape().dim()) shape.push_back(dim.dim_value());
      const auto type = from_proto_type(info.type().tensor_type().elem_type());
      if (!type)
        throw Error(Category::unsupported,
                    fmt::format("input '{}' has an element type that is not supported", info.name()), model_.file,
                    "use f32, int32, int64 or bool");
      model_.inputs.push_back(add_value(info.name(), *type, shape));
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
  }

  const Value& in(const Node& node, std::size_t i) const { return model_.value(node.inputs.at(i)); }

  /// The constant behind an operand that decides shapes; the operand goes into the attributes.
  std::optional<std::vector<std::int64_t>> operand(const Node& node, std::size_t i) const {
    if (i >= node.inputs.size() || node.inputs[i] == kAbsent) return std::nullopt;
    const Value& value = in(node, i);
    if (!value.constant)
      throw Error(Category::unsupported,
                  fmt::format("a shape depends on data of the run: node '{}' ({}) takes it from '{}'", node.name,
                              name_of(node.op), value.name),
                  model_.file, "make it a constant of the model");
    return value.constant->integers();
  }

  void translate_node(int position) {
    const ::onnx::NodeProto& proto = graph_.node(position);
    const auto op = find_op(proto.op_type());
    if (!op || !default_domain(proto.domain())) {  // what conversion has put in
      refused_.push_back(describe_node(proto_, position) + ": operator not supported");
      throw_unsupported(refused_, model_.file);
    }
    Node node;
    node.op = *op;
    node.position = static_cast<std::uint32_t>(position);
    node.name = proto.name().empty() ? fmt::format("{}_{}", proto.op_type(), position) : proto.name();
    const NodeReader reader(proto, fmt::format("{}: node '{}' ({})", model_.file, node.name, proto.op_type()));
    if (*op == Op::Constant) {
      add_constant(proto.output(0), constant_value(reader));
      return;
    }
    for (const std::string& name : proto.input()) {
      const auto found = ids_.find(name);
      if (!name.empty() && found == ids_.end()) reader.fail(fmt::format("its input '{}' comes from nowhere", name));
      node.inputs.push_back(name.empty() ? kAbsent : found->second);
    }
    while (!node.inputs.empty() && node.inputs.back() == kAbsent) node.inputs.pop_back();
    set_attributes(node, reader, static_cast<std::size_t>(proto.output_size()));
    check_operand_type(node, position);
    if (node.op == Op::Max || node.op == Op::Min) return add_chain(std::move(node), proto.output(0));
    add_node(std::move(node), {proto.output().begin(), proto.output().end()});
  }

  Tensor constant_value(const NodeReader& reader) const {
    if (const auto* value = reader.find("value")) return from_proto(value->t(), model_.file + ": a Constant", folder());
    if (const auto* value = reader.find("value_float")) return Tensor(Type::f32, {}, std::vector<float>{value->f()});
    if (const auto* value = reader.find("value_int"))
      return Tensor(Type::i64, {}, std::vector<std::int64_t>{value->i()});
    if (const auto* value = reader.find("value_floats"))
      return Tensor(Type::f32, {value->floats_size()},
                    std::vector<float>(value->floats().begin(), value->floats().end()));
    if (reader.find("value_ints") != nullptr) {
      const auto values = reader.integers("value_ints");
      return Tensor(Type::i64, {static_cast<std::int64_t>(values.size())}, values);
    }
    throw Error(Category::unsupported, "a Constant of strings or of sparse values", model_.file, "use dense numbers");
  }

  /// Max and Min of any number of operands are chains of two.
  void add_chain(Node node, const std::string& output) {
    const std::vector<ValueId> operands = node.inputs;
    if (operands.size() == 1) {
      node.op = Op::Identity;
      return add_node(std::move(node), {output});
    }
    ValueId left = operands[0];
    for (std::size_t i = 1; i < operands.size(); ++i) {
      Node link = node;
      link.inputs = {left, operands[i]};
      const std::string name = i + 1 == operands.size() ? output : fmt::format("{}_of_{}", output, i + 1);
      add_node(std::move(link), {name});
      left = ids_.at(name);
    }
  }

  /// Infers, folds if everything is known, else appends.
  void add_node(Node node, const std::vector<std::string>& outputs) {
    for (const std::string& name : outputs) node.outputs.push_back(name.empty() ? kAbsent : 0);
    const auto inferred = infer(model_, node);
    if (node.op == Op::Shape || node.op == Op::Size || node.op == Op::ConstantOfShape || node.op == Op::Range) {
      add_constant(outputs[0], shape_constant(node));
      return;
    }
    bool known = !node.inputs.empty();
    std::vector<const Tensor*> operands;
    for (const ValueId id : node.inputs) {
      operands.push_back(id != kAbsent && model_.value(id).constant ? &*model_.value(id).constant : nullptr);
      known = known && (id == kAbsent || operands.back() != nullptr);
    }
    if (known) {
      auto results = golden::evaluate(model_, node, operands);
      for (std::size_t i = 0; i < outputs.size(); ++i)
        if (!outputs[i].empty()) add_constant(outputs[i], std::move(results.at(i)));
      return;
    }
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (!outputs[i].empty()) node.outputs[i] = add_value(outputs[i], inferred.at(i).first, inferred.at(i).second);
    if (!runs_on_machine(node.op))
      refused_.push_back(
          fmt::format("node '{}' ({}, opset 17) at position {}: only supported where its operands are constants",
                      node.name, name_of(node.op), node.position));
    model_.nodes.push_back(std::move(node));
  }

  /// Results that need shapes or operands of shapes only.
  Tensor shape_constant(const Node& node) const {
    const Shape& shape = in(node, 0).shape;
    if (node.op == Op::Size) return Tensor(Type::i64, {}, std::vector<std::int64_t>{element_count(shape)});
    if (node.op == Op::Shape) {
      const auto& range = std::get<ShapeOfAttributes>(node.attributes);
      const std::vector<std::int64_t> part(shape.begin() + range.start,
                                           shape.begin() + std::max(range.start, range.end));
      return Tensor(Type::i64, {static_cast<std::int64_t>(part.size())}, part);
    }
    if (node.op == Op::ConstantOfShape) {
      const auto dims = *operand(node, 0);
      check_size(dims, node.name);
      Tensor result(fill_->type, dims);
      for (std::int64_t i = 0; i < result.elements(); ++i)
        std::copy(fill_->data.begin(), fill_->data.end(), result.data.begin() + i * size_of(fill_->type));
      return result;
    }
    if (in(node, 0).type != Type::i64 && in(node, 0).type != Type::i32)
      throw Error(Category::unsupported, fmt::format("node '{}' (Range) of floating-point values", node.name),
                  model_.file, "make it a constant");
    const std::int64_t start = operand(node, 0)->at(0), limit = operand(node, 1)->at(0), step = operand(node, 2)->at(0);
    std::vector<std::int64_t> values;
    if (step != 0 && (limit - start) / step < kMostElements / 64)
      for (std::int64_t x = start; step > 0 ? x < limit : x > limit; x += step) values.push_back(x);
    const Tensor wide(Type::i64, {static_cast<std::int64_t>(values.size())}, values);
    return in(node, 0).type == Type::i64 ? wide : narrowed(wide, node.name);
  }

  /// f32 where the operator is a function of real numbers; numbers, not bool, where it computes.
  void check_operand_type(const Node& node, int position) {
    static const std::set<Op> kReal = {Op::Exp,     Op::Gemm,    Op::Log,  Op::LogSoftmax, Op::MatMul,
                                       Op::Sigmoid, Op::Softmax, Op::Sqrt, Op::Tanh};
    static const std::set<Op> kNumber = {Op::Abs, Op::Add, Op::Div,  Op::Max, Op::Min,
                                         Op::Mul, Op::Neg, Op::Relu, Op::Sub};
    const Type type = node.inputs.empty() ? Type::f32 : in(node, 0).type;
    const bool real = type == Type::f32 || type == Type::f64;
    if ((kReal.count(node.op) != 0 && !real) || (kNumber.count(node.op) != 0 && type == Type::boolean))
      refused_.push_back(describe_node(proto_, position) + ": type " + std::string(name_of(type)) + " not supported");
  }

  void set_attributes(Node& node, const NodeReader& reader, std::size_t outputs) {
    const auto rank = node.inputs.empty() || node.inputs[0] == kAbsent
                          ? std::int64_t{0}
                          : static_cast<std::int64_t>(in(node, 0).shape.size());
    switch (node.op) {
      case Op::Gemm:
        node.attributes = GemmAttributes{reader.real("alpha", 1.0F), reader.real("beta", 1.0F),
                                         reader.integer("transA", 0) != 0, reader.integer("transB", 0) != 0};
        break;
      case Op::Softmax:
      case Op::LogSoftmax:
        node.attributes = AxisAttributes{reader.axis(reader.integer("axis", -1), rank, rank - 1)};
        break;
      case Op::Concat:
        if (reader.find("axis") == nullptr) reader.fail("Concat without axis");
        node.attributes = AxisAttributes{reader.axis(reader.integer("axis", 0), rank, rank - 1)};
        break;
      case Op::Flatten:
        node.attributes = AxisAttributes{reader.axis(reader.integer("axis", 1), rank, rank)};
        break;
      case Op::Gather:
        node.attributes = AxisAttributes{reader.axis(reader.integer("axis", 0), rank, rank - 1)};
        break;
      case Op::Cast:
        node.attributes =
            CastAttributes{from_proto_type(static_cast<int>(reader.integer("to", 0))).value_or(Type::u64)};
        break;
      case Op::Shape: {
        const auto clamp = [&](std::int64_t x) { return std::clamp<std::int64_t>(x < 0 ? x + rank : x, 0, rank); };
        node.attributes = ShapeOfAttributes{clamp(reader.integer("start", 0)), clamp(reader.integer("end", rank))};
        break;
      }
      case Op::Transpose:
        node.attributes = TransposeAttributes{permutation(reader, rank)};
        break;
      case Op::ConstantOfShape:
        fill_ = reader.find("value") != nullptr ? constant_value(reader) : Tensor(Type::f32, {1});
        if (fill_->elements() != 1) reader.fail("the value to fill with has more than one element");
        break;
      default:
        set_shape_attributes(node, reader, rank, outputs);
    }
  }

  std::vector<std::int64_t> permutation(const NodeReader& reader, std::int64_t rank) const {
    std::vector<std::int64_t> result = reader.integers("perm");
    if (reader.find("perm") == nullptr)
      for (std::int64_t k = rank; k-- > 0;) result.push_back(k);
    if (static_cast<std::int64_t>(reader.axes(result, rank).size()) != rank)
      reader.fail("perm does not name every axis");
    return result;
  }

  /// Operators whose second and further operands decide shapes.
  void set_shape_attributes(Node& node, const NodeReader& reader, std::int64_t rank, std::size_t outputs) {
    switch (node.op) {
      case Op::Reshape:
        node.attributes = ShapeAttributes{operand(node, 1).value(), reader.integer("allowzero", 0) != 0};
        break;
      case Op::Expand:
        node.attributes = ShapeAttributes{operand(node, 1).value(), false};
        break;
      case Op::Squeeze:
        node.attributes = AxesAttributes{};
        if (const auto axes = operand(node, 1)) node.attributes = AxesAttributes{reader.axes(*axes, rank)};
        break;
      case Op::Unsqueeze: {
        const auto axes = operand(node, 1).value();
        node.attributes = AxesAttributes{reader.axes(axes, rank + static_cast<std::int64_t>(axes.size()))};
        break;
      }
      case Op::Slice:
        node.attributes = slice(node, reader, rank);
        break;
      case Op::Split: {
        const std::int64_t axis = reader.axis(reader.integer("axis", 0), rank, rank - 1);
        const std::int64_t extent = in(node, 0).shape[static_cast<std::size_t>(axis)];
        const auto count = static_cast<std::int64_t>(outputs);
        std::vector<std::int64_t> sizes(outputs, (extent + count - 1) / count);
        sizes.back() = extent - (count - 1) * sizes.back();
        node.attributes = SplitAttributes{axis, operand(node, 1).value_or(sizes)};
        break;
      }
      default:
        return;
    }
    node.inputs.resize(1);
  }

  SliceAttributes slice(const Node& node, const NodeReader& reader, std::int64_t rank) const {
    SliceAttributes result;
    if (node.inputs.size() < 3) reader.fail("Slice without starts or ends");
    result.starts = operand(node, 1).value();
    result.ends = operand(node, 2).value();
    std::vector<std::int64_t> axes(result.starts.size());
    for (std::size_t k = 0; k < axes.size(); ++k) axes[k] = static_cast<std::int64_t>(k);
    axes = operand(node, 3).value_or(axes);
    for (const std::int64_t a : axes) result.axes.push_back(reader.axis(a, rank, rank - 1));
    result.steps = operand(node, 4).value_or(std::vector<std::int64_t>(result.starts.size(), 1));
    if (result.ends.size() != result.starts.size() || axes.size() != result.starts.size() ||
        result.steps.size() != result.starts.size())
      reader.fail("starts, ends, axes and steps of Slice differ in length");
    return result;
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
    needed.insert(model_.inputs.begin(), model_.inputs.end());
    for (ValueId id = 0; id < model_.values.size(); ++id)
      if (needed.count(id) == 0) model_.values[id].constant.reset();
  }

  /// 64-bit types exist at the edge only.
  void narrow() {
    for (const ValueId id : model_.inputs) warn(model_.value(id), "input");
    for (const ValueId id : model_.outputs) warn(model_.value(id), "output");
    for (Value& value : model_.values) {
      value.type = narrowed(value.type);
      if (value.constant) value.constant = narrowed(*value.constant, "constant '" + value.name + "'");
    }
    for (Node& node : model_.nodes)
      if (auto* cast = std::get_if<CastAttributes>(&node.attributes)) cast->to = narrowed(cast->to);
  }

  void warn(const Value& value, const std::string& what) {
    if (narrowed(value.type) != value.type)
      model_.warnings.push_back(fmt::format("{} '{}' is {} and is narrowed to {}", what, value.name,
                                            name_of(value.type), name_of(narrowed(value.type))));
  }

  const ::onnx::ModelProto& proto_;
  const ::onnx::GraphProto& graph_;
  Model model_;
  std::map<std::string, ValueId> ids_;
  std::vector<std::string> refused_;
  std::optional<Tensor> fill_;  ///< of the ConstantOfShape at hand
};

}  // namespace

Model translate(const ::onnx::ModelProto& proto, const std::string& file, const Bound& bound) {
  return Translator(proto, file).run(bound);
}

}  // namespace tessera::model
