// Gives every input of a model its extents, and compiles in the inputs whose values decide shapes.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "host/onnx/import_steps.h"
#include "host/onnx/ops.h"
#include "hw/error.h"

namespace tessera::model {

namespace {

using Info = ::onnx::ValueInfoProto;

class Binder {
 public:
  Binder(::onnx::ModelProto& proto, const std::string& file, const ImportOptions& options, const Refusals& refusals)
      : proto_(proto), graph_(*proto.mutable_graph()), file_(file), options_(options), refusals_(refusals) {}

  Bound run() {
    for (const auto& tensor : graph_.initializer()) constants_.insert(tensor.name());
    check_names();
    find_shape_inputs();
    learn_symbols();
    Bound bound;
    for (Info& info : *graph_.mutable_input()) {
      if (constants_.count(info.name()) != 0) continue;
      const std::string name = info.name();
      const bool compiled_in = shape_inputs_.count(name) != 0;
      if (!info.type().has_tensor_type())
        throw Error(Category::unsupported, fmt::format("input '{}' is no tensor", name), file_,
                    "docs/onnx.md lists operators and types");
      const auto given = options_.inputs.find(name);
      if (given != options_.inputs.end()) check_type(info, given->second);
      resolve(info, compiled_in ? nullptr : &bound);
      if (compiled_in) bound.specialised.push_back(name);
      if (!compiled_in) ++kept_;
    }
    compile_in(bound);
    return bound;
  }

 private:
  [[noreturn]] void fail(const std::string& input, const std::string& what, const std::string& advice) const {
    throw Error(Category::usage, fmt::format("input '{}' {}", input, what), file_, advice);
  }

  /// Names the caller gives must be inputs of the model.
  void check_names() const {
    std::set<std::string> names;
    for (const Info& info : graph_.input())
      if (constants_.count(info.name()) == 0) names.insert(info.name());
    const auto known = [&](const std::string& name) {
      if (names.count(name) == 0)
        throw Error(Category::usage, fmt::format("the model has no input '{}'", name), file_,
                    fmt::format("its inputs are: {}", fmt::join(names, ", ")));
    };
    for (const auto& entry : options_.shapes) known(entry.first);
    for (const auto& entry : options_.inputs) known(entry.first);
  }

  /// Walks from every operand that decides a shape back to the graph inputs it is computed from. What one operand
  /// needs, the next need not walk again.
  void find_shape_inputs() {
    std::map<std::string, int> producer;
    std::set<std::string> inputs, seen;
    for (const Info& info : graph_.input()) inputs.insert(info.name());
    for (int i = 0; i < graph_.node_size(); ++i)
      for (const std::string& output : graph_.node(i).output()) producer[output] = i;
    for (int i = 0; i < graph_.node_size(); ++i) {
      const auto& node = graph_.node(i);
      std::vector<std::string> open;
      for (int k = 0; k < node.input_size(); ++k)
        if (is_shape_operand(node, k)) open.push_back(node.input(k));
      while (!open.empty()) {
        const std::string value = open.back();
        open.pop_back();
        if (value.empty() || !seen.insert(value).second || constants_.count(value) != 0) continue;
        if (inputs.count(value) != 0) add_shape_input(value, i);
        const auto from = producer.find(value);
        if (from == producer.end()) continue;
        const auto& op = graph_.node(from->second).op_type();
        if (op == "Shape" || op == "Size") continue;  // needs the shape only, and that is known
        for (const std::string& input : graph_.node(from->second).input()) open.push_back(input);
      }
    }
  }

  void add_shape_input(const std::string& name, int position) {
    if (options_.inputs.count(name) == 0)
      throw Error(Category::unsupported,
                  fmt::format("a shape depends on data of the run: {} takes it from input '{}'",
                              refusals_.describe(position), name),
                  file_, fmt::format("give its value at compile time: --input {}=FILE.pb", name));
    shape_inputs_.insert(name);
  }

  /// Extents that a given shape says for a symbol hold for all inputs with that symbol.
  void learn_symbols() {
    for (const Info& info : graph_.input()) {
      const auto shape = options_.shapes.find(info.name());
      const auto value = options_.inputs.find(info.name());
      const Shape* known = value != options_.inputs.end()   ? &value->second.shape
                           : shape != options_.shapes.end() ? &shape->second
                                                            : nullptr;
      const auto& dims = info.type().tensor_type().shape().dim();
      if (known == nullptr || static_cast<int>(known->size()) != dims.size()) continue;
      for (int axis = 0; axis < dims.size(); ++axis)
        if (!dims[axis].has_dim_value() && !dims[axis].dim_param().empty())
          symbols_.emplace(dims[axis].dim_param(), (*known)[static_cast<std::size_t>(axis)]);
    }
  }

  void check_type(const Info& info, const Tensor& given) const {
    const auto type = from_proto_type(info.type().tensor_type().elem_type());
    if (type != given.type)
      fail(info.name(),
           fmt::format("takes {}, not {}", proto_type_name(info.type().tensor_type().elem_type()), name_of(given.type)),
           "convert the file");
  }

  /// Writes extents into an input's declaration, from --shape, from the given value, or the default of axis 0.
  void resolve(Info& info, Bound* bound) {
    auto& type = *info.mutable_type()->mutable_tensor_type();
    const Shape* known = nullptr;
    if (const auto found = options_.shapes.find(info.name()); found != options_.shapes.end()) known = &found->second;
    if (const auto found = options_.inputs.find(info.name()); found != options_.inputs.end()) {
      if (known != nullptr && *known != found->second.shape)
        fail(info.name(),
             fmt::format("is given with shape {}, but --shape says {}", to_string(found->second.shape),
                         to_string(*known)),
             "leave --shape out");
      known = &found->second.shape;
    }
    if (!type.has_shape()) {
      if (known == nullptr) fail(info.name(), "has no shape in the file", "--shape " + info.name() + "=EXTENTS");
      for (const std::int64_t extent : *known) type.mutable_shape()->add_dim()->set_dim_value(extent);
    }
    auto& dims = *type.mutable_shape()->mutable_dim();
    if (known != nullptr && static_cast<int>(known->size()) != dims.size())
      fail(info.name(), fmt::format("has {} axes, not {}", dims.size(), known->size()), "check the shape given for it");
    for (int axis = 0; axis < dims.size(); ++axis) {
      auto& dim = dims[axis];
      if (!dim.has_dim_value() && bound != nullptr)
        bound->symbolic.push_back({kept_, static_cast<std::uint32_t>(axis), dim.dim_param()});
      resolve_axis(info.name(), dim, axis, known);
      if (dim.dim_value() > std::numeric_limits<std::int32_t>::max())
        throw Error(Category::does_not_fit,
                    fmt::format("input '{}' has extent {} on axis {}", info.name(), dim.dim_value(), axis), file_,
                    "use smaller inputs");
    }
  }

  void resolve_axis(const std::string& name, ::onnx::TensorShapeProto::Dimension& dim, int axis, const Shape* known) {
    const std::string symbol = dim.dim_param();
    if (dim.has_dim_value()) {
      if (dim.dim_value() < 0) fail(name, fmt::format("has extent {} on axis {}", dim.dim_value(), axis), "");
      if (known != nullptr && (*known)[static_cast<std::size_t>(axis)] != dim.dim_value())
        fail(name,
             fmt::format("has extent {} on axis {}, not {}", dim.dim_value(), axis,
                         (*known)[static_cast<std::size_t>(axis)]),
             "check the shape given for it");
      return;
    }
    std::int64_t extent = axis == 0 ? options_.default_batch : 0;
    if (known != nullptr)
      extent = (*known)[static_cast<std::size_t>(axis)];
    else if (!symbol.empty() && symbols_.count(symbol) != 0)
      extent = symbols_.at(symbol);
    else if (extent == 0)
      fail(name, fmt::format("leaves the extent of axis {} open{}", axis, symbol.empty() ? "" : " ('" + symbol + "')"),
           "give it: --shape " + name + "=EXTENTS, or an input file");
    if (!symbol.empty() && !symbols_.emplace(symbol, extent).second && symbols_.at(symbol) != extent)
      fail(name, fmt::format("gives '{}' extent {}, another input {}", symbol, extent, symbols_.at(symbol)),
           "the inputs must agree");
    dim.set_dim_value(extent);
  }

  /// Inputs whose value decides a shape become initializers.
  void compile_in(const Bound& bound) {
    for (const std::string& name : bound.specialised) {
      Tensor value = options_.inputs.at(name);
      value.name = name;
      *graph_.add_initializer() = to_proto(value);
    }
    auto& inputs = *graph_.mutable_input();
    inputs.erase(std::remove_if(inputs.begin(), inputs.end(),
                                [&](const Info& info) {
                                  return constants_.count(info.name()) != 0 || shape_inputs_.count(info.name()) != 0;
                                }),
                 inputs.end());
    // Initializers that are no inputs exist from version 4 on.
    proto_.set_ir_version(std::max<std::int64_t>(proto_.ir_version(), 4));
  }

  ::onnx::ModelProto& proto_;
  ::onnx::GraphProto& graph_;
  const std::string& file_;
  const ImportOptions& options_;
  const Refusals& refusals_;
  std::set<std::string> constants_, shape_inputs_;
  std::map<std::string, std::int64_t> symbols_;
  std::uint32_t kept_ = 0;
};

}  // namespace

bool is_shape_operand(const ::onnx::NodeProto& node, int index) {
  const auto op = find_op(node);
  if (!op || index >= 32) return false;
  // A Dropout's ratio counts only where it may be in training mode.
  if (*op == Op::Dropout && node.input_size() < 3) return false;
  return (operator_of(*op).shape_operands >> index & 1U) != 0;
}

Bound bind_inputs(::onnx::ModelProto& proto, const std::string& file, const ImportOptions& options,
                  const Refusals& refusals) {
  return Binder(proto, file, options, refusals).run();
}

}  // namespace tessera::model
