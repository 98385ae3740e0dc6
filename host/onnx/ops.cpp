// The table of operators and what their families share: reading attributes and operands, checks of inference.
#include "host/onnx/ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "hw/error.h"

namespace tessera::model {

namespace {

constexpr std::int64_t kMostShapeValues = 1 << 16;

std::string type_names(Types types) {
  std::string text;
  for (unsigned t = 0; t <= static_cast<unsigned>(Type::f64); ++t)
    if ((types >> t & 1U) != 0) text += (text.empty() ? "" : ", ") + std::string(name_of(static_cast<Type>(t)));
  return text;
}

}  // namespace

void misfit(const std::string& message) { throw Error(Category::usage, message); }

std::int64_t product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) misfit(fmt::format("{} times {} is no extent", a, b));
  return result;
}

std::int64_t sum(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) misfit(fmt::format("{} plus {} is no extent", a, b));
  return result;
}

const Value& Inference::in(std::size_t i) const {
  if (!has(i)) misfit(fmt::format("operand {} is missing", i));
  return model_.value(node_.inputs[i]);
}

void Inference::same_type(std::size_t a, std::size_t b) const {
  if (has(a) && has(b) && type(a) != type(b))
    misfit(fmt::format("operands have types {} and {}", name_of(type(a)), name_of(type(b))));
}

void Inference::expect_type(std::size_t i, Types types) const {
  if (has(i) && (bit(type(i)) & types) == 0)
    misfit(fmt::format("operand {} has type {}, not one of {}", i, name_of(type(i)), type_names(types)));
}

void Inference::expect_shape(std::size_t i, const Shape& expected) const {
  if (has(i) && shape(i) != expected)
    misfit(fmt::format("operand {} has shape {}, not {}", i, to_string(shape(i)), to_string(expected)));
}

Shape Inference::broadcast_all() const {
  Shape result = shape(0);
  for (std::size_t i = 1; i < node_.inputs.size(); ++i) {
    same_type(0, i);
    result = broadcast(result, shape(i));
  }
  return result;
}

void Reading::fail(const std::string& what) const {
  throw Error(Category::usage, what, fmt::format("{}: node '{}' ({})", model_.file, node.name, name_of(node.op)),
              "export the model again");
}

const Value& Reading::in(std::size_t i) const {
  if (!has(i)) fail(fmt::format("operand {} is missing", i));
  return model_.value(node.inputs[i]);
}

void Reading::drop_outputs_from(std::size_t i) {
  for (; i < outputs_.size(); ++i) outputs_[i].clear();
}

template <typename T>
const T* Reading::get(const std::string& name, const char* kind) const {
  const auto found = attributes_.find(name);
  if (found == attributes_.end()) return nullptr;
  const T* value = std::get_if<T>(&found->second);
  if (value == nullptr) fail(fmt::format("attribute '{}' is no {}", name, kind));
  return value;
}

std::int64_t Reading::integer(const std::string& name, std::int64_t standard) const {
  const auto* value = get<std::int64_t>(name, "integer");
  return value == nullptr ? standard : *value;
}

float Reading::real(const std::string& name, float standard) const {
  const auto* value = get<float>(name, "number");
  return value == nullptr ? standard : *value;
}

std::string Reading::text(const std::string& name, const std::string& standard) const {
  const auto* value = get<std::string>(name, "text");
  return value == nullptr ? standard : *value;
}

std::optional<Extents> Reading::integers(const std::string& name) const {
  const auto* value = get<Extents>(name, "list of integers");
  return value == nullptr ? std::nullopt : std::optional<Extents>(*value);
}

std::vector<float> Reading::reals(const std::string& name) const {
  const auto* value = get<std::vector<float>>(name, "list of numbers");
  return value == nullptr ? std::vector<float>() : *value;
}

std::vector<std::string> Reading::texts(const std::string& name) const {
  const auto* value = get<std::vector<std::string>>(name, "list of texts");
  return value == nullptr ? std::vector<std::string>() : *value;
}

const Tensor* Reading::tensor(const std::string& name) const { return get<Tensor>(name, "tensor"); }

std::int64_t Reading::axis(std::int64_t axis, std::int64_t rank, std::int64_t last) const {
  const std::int64_t normal = axis < 0 && axis >= -rank ? axis + rank : axis;
  if (normal < 0 || normal > last) fail(fmt::format("axis {} of a tensor with {} axes", axis, rank));
  return normal;
}

Extents Reading::axes(const Extents& given, std::int64_t rank) const {
  std::set<std::int64_t> result;
  for (const std::int64_t a : given) result.insert(axis(a, rank, rank - 1));
  if (result.size() != given.size()) fail("an axis is named twice");
  return {result.begin(), result.end()};
}

std::optional<Extents> Reading::operand(std::size_t i) const {
  if (!has(i)) return std::nullopt;
  const Value& value = in(i);
  if (!value.constant)
    refuse(fmt::format("a shape depends on data of the run, on '{}': make it a constant of the model", value.name));
  if ((bit(value.type) & (kInteger | kBool)) == 0 || value.constant->elements() > kMostShapeValues)
    fail(fmt::format("operand {} ({} of shape {}) decides shapes, and is no short list of integers", i,
                     name_of(value.type), to_string(value.shape)));
  return value.constant->integers();
}

std::optional<Extents> Reading::operand_or_attribute(std::size_t i, const std::string& name) const {
  return has(i) ? operand(i) : integers(name);
}

std::string Reading::helper_name(const std::string& suffix) {
  const auto named = std::find_if(outputs_.begin(), outputs_.end(), [](const std::string& o) { return !o.empty(); });
  return fmt::format("{}_{}{}", named == outputs_.end() ? node.name : *named, suffix,
                     helpers_++ == 0 ? "" : std::to_string(helpers_));
}

ValueId Reading::before(Op op, std::vector<ValueId> inputs, Attributes attributes, const std::string& suffix) {
  Node made;
  made.op = op;
  made.name = node.name + "_" + suffix;
  made.position = node.position;
  made.inputs = std::move(inputs);
  made.attributes = std::move(attributes);
  return sink_.add(std::move(made), helper_name(suffix));
}

ValueId Reading::constant(Tensor tensor, const std::string& suffix) {
  return sink_.add_constant(helper_name(suffix), std::move(tensor));
}

void translate_nothing(Reading&) {}

Inferred infer_same(const Inference& inference) { return {{inference.type(), inference.shape()}}; }

const Operator& operator_of(Op op) {
  static const std::vector<Operator> kTable = [] {
    constexpr std::size_t kOperators = 0
#define TESSERA_OPERATOR(name) +1
        TESSERA_OPERATORS(TESSERA_OPERATOR);
#undef TESSERA_OPERATOR
    std::vector<Operator> table(kOperators, Operator{Op::Identity, 0, nullptr, nullptr});
    for (const auto& family :
         {elementwise_operators(), shape_operators(), constant_operators(), reduction_operators(), index_operators(),
          matrix_operators(), spatial_operators(), normalisation_operators(), recurrent_operators()})
      for (const Operator& entry : family) table.at(static_cast<std::size_t>(entry.op)) = entry;
    for (std::size_t i = 0; i < table.size(); ++i)
      if (table[i].infer == nullptr)
        throw std::logic_error(fmt::format("no translation of {}", name_of(static_cast<Op>(i))));
    return table;
  }();
  return kTable.at(static_cast<std::size_t>(op));
}

}  // namespace tessera::model
