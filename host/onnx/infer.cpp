// Shape and type rules of the operators (ONNX opset 17), on shapes that are fully known.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "host/onnx/model.h"
#include "hw/error.h"

namespace tessera::model {

namespace {

[[noreturn]] void misfit(const std::string& message) { throw Error(Category::usage, message); }

Shape matmul_shape(Shape a, Shape b) {
  if (a.empty() || b.empty()) misfit("MatMul of a scalar");
  const bool vector_a = a.size() == 1, vector_b = b.size() == 1;
  if (vector_a) a.insert(a.begin(), 1);
  if (vector_b) b.push_back(1);
  if (a.back() != b[b.size() - 2]) misfit(fmt::format("inner extents of {} and {} differ", to_string(a), to_string(b)));
  Shape result = broadcast(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2));
  if (!vector_a) result.push_back(a[a.size() - 2]);
  if (!vector_b) result.push_back(b.back());
  return result;
}

Shape gemm_shape(const GemmAttributes& gemm, const Shape& a, const Shape& b, const Shape* c) {
  if (a.size() != 2 || b.size() != 2) misfit("Gemm takes matrices");
  const Shape result = {a[gemm.transpose_a ? 1 : 0], b[gemm.transpose_b ? 0 : 1]};
  if (a[gemm.transpose_a ? 0 : 1] != b[gemm.transpose_b ? 1 : 0])
    misfit(fmt::format("inner extents of {} and {} differ", to_string(a), to_string(b)));
  if (c != nullptr && broadcast(*c, result) != result)
    misfit(fmt::format("C {} does not broadcast to {}", to_string(*c), to_string(result)));
  return result;
}

Shape reshape_shape(const ShapeAttributes& reshape, const Shape& input) {
  Shape result = reshape.shape;
  std::int64_t known = 1, open = -1;
  for (std::size_t k = 0; k < result.size(); ++k) {
    if (result[k] == 0 && !reshape.allow_zero) {
      if (k >= input.size()) misfit("Reshape copies an extent that its input does not have");
      result[k] = input[k];
    }
    if (result[k] == -1 && open < 0)
      open = static_cast<std::int64_t>(k);
    else if (result[k] < 0)
      misfit("Reshape has more than one open extent, or a negative one");
    else
      known *= result[k];
  }
  if (open >= 0) {
    if (known == 0 || element_count(input) % known != 0)
      misfit(fmt::format("{} does not reshape to {}", to_string(input), to_string(reshape.shape)));
    result[static_cast<std::size_t>(open)] = element_count(input) / known;
  }
  if (element_count(result) != element_count(input))
    misfit(fmt::format("{} does not reshape to {}", to_string(input), to_string(reshape.shape)));
  return result;
}

Shape squeeze_shape(const AxesAttributes& squeeze, const Shape& input) {
  Shape result;
  for (std::size_t k = 0; k < input.size(); ++k) {
    const bool named =
        !squeeze.axes || std::count(squeeze.axes->begin(), squeeze.axes->end(), static_cast<std::int64_t>(k)) != 0;
    if (named && squeeze.axes && input[k] != 1)
      misfit(fmt::format("Squeeze of axis {}, which has extent {}", k, input[k]));
    if (!named || input[k] != 1) result.push_back(input[k]);
  }
  return result;
}

Shape unsqueeze_shape(const AxesAttributes& unsqueeze, const Shape& input) {
  const std::set<std::int64_t> axes(unsqueeze.axes->begin(), unsqueeze.axes->end());
  Shape result;
  std::size_t next = 0;
  for (std::int64_t k = 0; k < static_cast<std::int64_t>(input.size() + axes.size()); ++k)
    result.push_back(axes.count(k) != 0 ? 1 : input.at(next++));
  return result;
}

Shape concat_shape(const std::vector<Shape>& parts, std::size_t axis) {
  Shape result = parts.at(0);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    Shape expected = parts[i];
    if (expected.size() == result.size()) {
      expected[axis] = result[axis];
      if (expected == result) {
        result[axis] += parts[i][axis];
        continue;
      }
    }
    misfit(fmt::format("parts {} and {} do not fit side by side on axis {}", to_string(result), to_string(parts[i]),
                       axis));
  }
  return result;
}

struct Inference {
  const Model& model;
  const Node& node;
  using Result = std::vector<std::pair<Type, Shape>>;

  const Value& in(std::size_t i) const { return model.value(node.inputs.at(i)); }
  template <typename T>
  const T& attributes() const {
    return std::get<T>(node.attributes);
  }

  Shape broadcast_all() const {
    Shape shape = in(0).shape;
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      if (in(i).type != in(0).type)
        misfit(fmt::format("operands have types {} and {}", name_of(in(0).type), name_of(in(i).type)));
      shape = broadcast(shape, in(i).shape);
    }
    return shape;
  }

  Result sliced() const {
    Shape shape;
    for (const SliceRange& range : resolve(attributes<SliceAttributes>(), in(0).shape)) shape.push_back(range.count);
    return {{in(0).type, shape}};
  }

  Result split() const {
    const auto& split = attributes<SplitAttributes>();
    const auto axis = static_cast<std::size_t>(split.axis);
    Result result;
    std::int64_t sum = 0;
    for (const std::int64_t size : split.sizes) {
      Shape shape = in(0).shape;
      shape.at(axis) = size;
      sum += size;
      result.emplace_back(in(0).type, shape);
    }
    if (sum != in(0).shape.at(axis) || result.size() != node.outputs.size()) misfit("Split sizes do not add up");
    return result;
  }

  Result concat() const {
    std::vector<Shape> parts;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) parts.push_back(in(i).shape);
    return {{in(0).type, concat_shape(parts, static_cast<std::size_t>(attributes<AxisAttributes>().axis))}};
  }

  Result flatten() const {
    const Shape& shape = in(0).shape;
    const auto axis = attributes<AxisAttributes>().axis;
    return {{in(0).type,
             {element_count(Shape(shape.begin(), shape.begin() + axis)),
              element_count(Shape(shape.begin() + axis, shape.end()))}}};
  }

  Result transpose() const {
    Shape shape;
    for (const std::int64_t axis : attributes<TransposeAttributes>().permutation)
      shape.push_back(in(0).shape.at(static_cast<std::size_t>(axis)));
    if (shape.size() != in(0).shape.size()) misfit("Transpose does not name every axis");
    return {{in(0).type, shape}};
  }

  Result gather() const {
    Shape shape = in(0).shape;
    const auto axis = attributes<AxisAttributes>().axis;
    shape.erase(shape.begin() + axis);
    shape.insert(shape.begin() + axis, in(1).shape.begin(), in(1).shape.end());
    return {{in(0).type, shape}};
  }

  Result run() const {
    switch (node.op) {
      case Op::Add:
      case Op::Sub:
      case Op::Mul:
      case Op::Div:
      case Op::Max:
      case Op::Min:
        return {{in(0).type, broadcast_all()}};
      case Op::Cast:
        return {{attributes<CastAttributes>().to, in(0).shape}};
      case Op::Concat:
        return concat();
      case Op::Expand:
        return {{in(0).type, broadcast(in(0).shape, attributes<ShapeAttributes>().shape)}};
      case Op::Flatten:
        return flatten();
      case Op::Gather:
        return gather();
      case Op::Gemm: {
        const bool has_c = node.inputs.size() > 2 && node.inputs[2] != kAbsent;
        const auto& gemm = attributes<GemmAttributes>();
        return {{in(0).type, gemm_shape(gemm, in(0).shape, in(1).shape, has_c ? &in(2).shape : nullptr)}};
      }
      case Op::MatMul:
        return {{in(0).type, matmul_shape(in(0).shape, in(1).shape)}};
      case Op::Reshape:
        return {{in(0).type, reshape_shape(attributes<ShapeAttributes>(), in(0).shape)}};
      case Op::Slice:
        return sliced();
      case Op::Split:
        return split();
      case Op::Squeeze:
        return {{in(0).type, squeeze_shape(attributes<AxesAttributes>(), in(0).shape)}};
      case Op::Unsqueeze:
        return {{in(0).type, unsqueeze_shape(attributes<AxesAttributes>(), in(0).shape)}};
      case Op::Transpose:
        return transpose();
      default:
        return {{in(0).type, in(0).shape}};
    }
  }
};

}  // namespace

std::vector<std::pair<Type, Shape>> infer(const Model& model, const Node& node) {
  try {
    return Inference{model, node}.run();
  } catch (const Error& error) {
    throw Error(error.category(), error.message(),
                fmt::format("{}: node {} ({})", model.file, node.name, name_of(node.op)),
                "check the shapes that the model and the inputs give");
  }
}

Model with_batch(const Model& model, std::int64_t extent) {
  Model result = model;
  for (const SymbolicAxis& symbolic : model.symbolic)
    if (symbolic.axis == 0) result.values[result.inputs[symbolic.input]].shape[0] = extent;
  for (const Node& node : result.nodes) {
    const auto inferred = infer(result, node);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kAbsent) continue;
      result.values[node.outputs[i]].shape = inferred.at(i).second;
    }
  }
  return result;
}

std::vector<SliceRange> resolve(const SliceAttributes& slice, const Shape& input) {
  std::vector<SliceRange> ranges;
  for (const std::int64_t extent : input) ranges.push_back({0, 1, extent});
  for (std::size_t i = 0; i < slice.axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(slice.axes[i]);
    constexpr std::int64_t kLongest = std::int64_t{1} << 48;  // no axis is longer: keeps the arithmetic from overflow
    const std::int64_t extent = input.at(axis), step = std::clamp(slice.steps.at(i), -kLongest, kLongest);
    if (step == 0) misfit("Slice with step 0");
    const auto clamp = [&](std::int64_t x, std::int64_t low, std::int64_t high) {
      if (x < 0) x += extent;  // ends far below zero stay below zero
      return std::clamp(x, low, high);
    };
    const std::int64_t low = step > 0 ? 0 : -1, high = step > 0 ? extent : extent - 1;
    const std::int64_t begin = clamp(slice.starts.at(i), step > 0 ? 0 : std::min<std::int64_t>(0, high), high);
    const std::int64_t end = clamp(slice.ends.at(i), low, high);
    const std::int64_t way = step > 0 ? end - begin : begin - end;
    ranges[axis] = {begin, step, way <= 0 ? 0 : (way - 1) / std::abs(step) + 1};
  }
  return ranges;
}

}  // namespace tessera::model
