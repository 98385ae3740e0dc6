// Operators that move elements and compute nothing: reshapes, slices, joins, padding, tiling.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "host/onnx/ops.h"

namespace tessera::model {

namespace {

std::size_t at(std::int64_t axis) { return static_cast<std::size_t>(axis); }

void translate_reshape(Reading& r) {
  const auto shape = r.operand_or_attribute(1, "shape");
  if (!shape) r.fail("Reshape without a shape");
  ShapeAttributes reshape{*shape, r.flag("allowzero")};
  // The first extent kept: copied, so that it follows the batch where shape arithmetic has become a number.
  const bool zeros = std::count(shape->begin(), shape->end(), 0) != 0;
  if (r.rank() > 0 && !shape->empty() && shape->front() == r.shape()[0] && (!reshape.allow_zero || !zeros) &&
      shape->front() != 0) {
    reshape.shape[0] = 0;
    reshape.allow_zero = false;
  }
  r.node.attributes = reshape;
  r.keep_inputs(1);
}

Inferred infer_reshape(const Inference& i) {
  const auto& reshape = i.attributes<ShapeAttributes>();
  const Shape& input = i.shape();
  const auto refuse = [&] {
    misfit(fmt::format("{} does not reshape to {}", to_string(input), to_string(reshape.shape)));
  };
  Shape result = reshape.shape;
  std::int64_t known = 1;
  std::optional<std::size_t> open;
  for (std::size_t k = 0; k < result.size(); ++k) {
    if (result[k] == 0 && !reshape.allow_zero) {
      if (k >= input.size()) misfit("Reshape copies an extent that its input does not have");
      result[k] = input[k];
    }
    if (result[k] == -1 && !open)
      open = k;
    else if (result[k] < 0)
      misfit("Reshape has more than one open extent, or a negative one");
    else
      known = product(known, result[k]);
  }
  if (open) {
    if (known == 0 || element_count(input) % known != 0) refuse();
    result[*open] = element_count(input) / known;
    known *= result[*open];
  }
  if (known != element_count(input)) refuse();
  return {{i.type(), result}};
}

void translate_expand(Reading& r) {
  const auto shape = r.operand(1);
  if (!shape) r.fail("Expand without a shape");
  r.node.attributes = ShapeAttributes{*shape, false};
  r.keep_inputs(1);
}

Inferred infer_expand(const Inference& i) {
  const Shape& shape = i.attributes<ShapeAttributes>().shape;
  if (std::any_of(shape.begin(), shape.end(), [](std::int64_t extent) { return extent < 0; }))
    misfit("Expand to a negative extent");
  return {{i.type(), broadcast(i.shape(), shape)}};
}

void translate_flatten(Reading& r) {
  r.node.attributes = AxisAttributes{r.axis(r.integer("axis", 1), r.rank(), r.rank())};
}

Inferred infer_flatten(const Inference& i) {
  const Shape& shape = i.shape();
  const auto axis = i.attributes<AxisAttributes>().axis;
  return {{i.type(),
           {element_count(Shape(shape.begin(), shape.begin() + axis)),
            element_count(Shape(shape.begin() + axis, shape.end()))}}};
}

void translate_squeeze(Reading& r) {
  const auto axes = r.operand_or_attribute(1, "axes");
  r.node.attributes = AxesAttributes{axes ? std::optional<Extents>(r.axes(*axes, r.rank())) : std::nullopt};
  r.keep_inputs(1);
}

Inferred infer_squeeze(const Inference& i) {
  const auto& axes = i.attributes<AxesAttributes>().axes;
  Shape result;
  for (std::size_t k = 0; k < i.rank(); ++k) {
    const bool named = axes && std::count(axes->begin(), axes->end(), static_cast<std::int64_t>(k)) != 0;
    const std::int64_t extent = i.shape()[k];
    if (named && extent != 1) misfit(fmt::format("Squeeze of axis {}, which has extent {}", k, extent));
    if (axes ? !named : extent != 1) result.push_back(extent);
  }
  return {{i.type(), result}};
}

void translate_unsqueeze(Reading& r) {
  const auto axes = r.operand_or_attribute(1, "axes");
  if (!axes) r.fail("Unsqueeze without axes");
  r.node.attributes = AxesAttributes{r.axes(*axes, r.rank() + static_cast<std::int64_t>(axes->size()))};
  r.keep_inputs(1);
}

Inferred infer_unsqueeze(const Inference& i) {
  const auto& given = i.attributes<AxesAttributes>().axes;
  const std::set<std::int64_t> axes(given->begin(), given->end());
  Shape result;
  std::size_t next = 0;
  for (std::int64_t k = 0; k < static_cast<std::int64_t>(i.rank() + axes.size()); ++k)
    result.push_back(axes.count(k) != 0 ? 1 : i.shape().at(next++));
  return {{i.type(), result}};
}

void translate_transpose(Reading& r) {
  Extents permutation(static_cast<std::size_t>(r.rank()));
  std::iota(permutation.rbegin(), permutation.rend(), 0);
  permutation = r.integers("perm").value_or(permutation);
  if (static_cast<std::int64_t>(r.axes(permutation, r.rank()).size()) != r.rank())
    r.fail("perm does not name every axis");
  for (std::int64_t& axis : permutation) axis = r.axis(axis);
  r.node.attributes = TransposeAttributes{permutation};
}

Inferred infer_transpose(const Inference& i) {
  Shape shape;
  for (const std::int64_t axis : i.attributes<TransposeAttributes>().permutation)
    shape.push_back(i.shape().at(at(axis)));
  if (shape.size() != i.rank()) misfit("Transpose does not name every axis");
  return {{i.type(), shape}};
}

void translate_slice(Reading& r) {
  SliceAttributes slice;
  const auto starts = r.operand_or_attribute(1, "starts"), ends = r.operand_or_attribute(2, "ends");
  if (!starts || !ends) r.fail("Slice without starts or ends");
  slice.starts = *starts;
  slice.ends = *ends;
  Extents axes(starts->size());
  std::iota(axes.begin(), axes.end(), 0);
  axes = r.operand_or_attribute(3, "axes").value_or(axes);
  for (const std::int64_t a : axes) slice.axes.push_back(r.axis(a));
  if (r.axes(axes, r.rank()).size() != axes.size()) r.fail("an axis is named twice");
  slice.steps = r.operand(4).value_or(Extents(starts->size(), 1));
  if (slice.ends.size() != slice.starts.size() || axes.size() != slice.starts.size() ||
      slice.steps.size() != slice.starts.size())
    r.fail("starts, ends, axes and steps of Slice differ in length");
  r.node.attributes = slice;
  r.keep_inputs(1);
}

Inferred infer_slice(const Inference& i) {
  Shape shape;
  for (const SliceRange& range : resolve(i.attributes<SliceAttributes>(), i.shape())) shape.push_back(range.count);
  return {{i.type(), shape}};
}

void translate_split(Reading& r) {
  const std::int64_t axis = r.axis(r.integer("axis", 0));
  const std::int64_t extent = r.shape()[at(axis)];
  const auto count = static_cast<std::int64_t>(r.outputs().size());
  auto sizes = r.operand_or_attribute(1, "split");
  if (!sizes) {
    if (count == 0 || extent % count != 0)
      r.fail(fmt::format("an axis of {} is not cut into {} equal parts", extent, count));
    sizes = Extents(r.outputs().size(), extent / count);
  }
  r.node.attributes = SplitAttributes{axis, *sizes};
  r.keep_inputs(1);
}

Inferred infer_split(const Inference& i) {
  const auto& split = i.attributes<SplitAttributes>();
  Inferred result;
  std::int64_t all = 0;
  for (const std::int64_t size : split.sizes) {
    if (size < 0) misfit("Split into a negative extent");
    Shape shape = i.shape();
    shape.at(at(split.axis)) = size;
    all = sum(all, size);
    result.emplace_back(i.type(), shape);
  }
  if (all != i.shape().at(at(split.axis)) || result.size() < i.node().outputs.size())
    misfit("Split sizes do not add up");
  return result;
}

void translate_concat(Reading& r) {
  if (r.opset >= 4 && !r.given("axis")) r.fail("Concat without axis");
  r.node.attributes = AxisAttributes{r.axis(r.integer("axis", 1))};
}

Inferred infer_concat(const Inference& i) {
  const auto axis = at(i.attributes<AxisAttributes>().axis);
  Shape result = i.shape();
  for (std::size_t k = 1; k < i.node().inputs.size(); ++k) {
    i.same_type(0, k);
    Shape expected = i.shape(k);
    const std::int64_t extent = expected.size() == result.size() ? expected[axis] : 0;
    if (expected.size() == result.size()) expected[axis] = result[axis];
    if (expected != result)
      misfit(fmt::format("parts {} and {} do not fit side by side on axis {}", to_string(result), to_string(i.shape(k)),
                         axis));
    result[axis] = sum(result[axis], extent);
  }
  return {{i.type(), result}};
}

void translate_tile(Reading& r) {
  if (r.opset < 6) {  // a number of copies along one axis
    const Extents tiles = r.operand(1).value_or(Extents()), axis = r.operand(2).value_or(Extents());
    if (tiles.size() != 1 || axis.size() != 1) r.fail("Tile takes a number of tiles and an axis");
    Extents repeats(static_cast<std::size_t>(r.rank()), 1);
    repeats.at(at(r.axis(axis[0]))) = tiles[0];
    r.node.attributes = ShapeAttributes{repeats, false};
  } else {
    const auto repeats = r.operand(1);
    if (!repeats) r.fail("Tile without repeats");
    r.node.attributes = ShapeAttributes{*repeats, false};
  }
  r.keep_inputs(1);
}

Inferred infer_tile(const Inference& i) {
  const Extents& repeats = i.attributes<ShapeAttributes>().shape;
  if (repeats.size() != i.rank()) misfit("repeats of Tile are not one for each axis");
  Shape result;
  for (std::size_t k = 0; k < repeats.size(); ++k) {
    if (repeats[k] < 0) misfit("Tile repeats a negative number of times");
    result.push_back(product(i.shape()[k], repeats[k]));
  }
  return {{i.type(), result}};
}

void translate_pad(Reading& r) {
  const auto pads = r.opset < 2 ? r.integers("paddings") : r.operand_or_attribute(1, "pads");
  const auto rank = static_cast<std::size_t>(r.rank());
  if (!pads || pads->size() != 2 * rank) r.fail("pads are not two for each axis");
  PadAttributes pad;
  const auto half = pads->begin() + static_cast<std::ptrdiff_t>(rank);
  pad.begin.assign(pads->begin(), half);
  pad.end.assign(half, pads->end());
  const std::string mode = r.text("mode", "constant");
  if (mode == "reflect")
    pad.mode = PadAttributes::Mode::reflect;
  else if (mode == "edge")
    pad.mode = PadAttributes::Mode::edge;
  else if (mode != "constant")
    r.fail(fmt::format("mode '{}'", mode));
  ValueId value = r.has(2) ? r.node.inputs[2] : kAbsent;
  if (r.opset < 11 && r.real("value", 0) != 0) {
    value = r.constant(Tensor(Type::f32, {}, std::vector<float>{r.real("value", 0)}), "value");
    if (r.type() != Type::f32) value = r.before(Op::Cast, {value}, CastAttributes{r.type()}, "value");
  }
  r.keep_inputs(1);
  if (value != kAbsent && pad.mode == PadAttributes::Mode::constant) r.node.inputs.push_back(value);
  r.node.attributes = pad;
}

Inferred infer_pad(const Inference& i) {
  const auto& pad = i.attributes<PadAttributes>();
  i.same_type(0, 1);
  if (i.has(1) && element_count(i.shape(1)) != 1) misfit("the value to pad with is no scalar");
  Shape result;
  for (std::size_t k = 0; k < i.rank(); ++k) {
    const std::int64_t extent = i.shape()[k];
    const std::int64_t most = std::max(pad.begin.at(k), pad.end.at(k));
    if (pad.mode == PadAttributes::Mode::reflect && most > 0 && most >= extent)
      misfit(fmt::format("an axis of {} is reflected by {}", extent, most));
    if (pad.mode == PadAttributes::Mode::edge && most > 0 && extent == 0) misfit("an empty axis has no edge");
    if (pad.begin[k] < -extent || pad.end[k] < -extent) misfit("padding cuts more than there is");
    result.push_back(sum(sum(extent, pad.begin[k]), pad.end[k]));
    if (result.back() < 0) misfit("padding cuts more than there is");
  }
  return {{i.type(), result}};
}

void translate_trilu(Reading& r) {
  const Extents k = r.operand(1).value_or(Extents{0});
  if (k.size() != 1) r.fail("k of Trilu is no scalar");
  r.node.attributes = TriluAttributes{r.flag("upper", true), k[0]};
  r.keep_inputs(1);
}

Inferred infer_trilu(const Inference& i) {
  if (i.rank() < 2) misfit("Trilu takes matrices");
  return infer_same(i);
}

void translate_depth_space(Reading& r) {
  const std::string mode = r.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") r.fail(fmt::format("mode '{}'", mode));
  const std::int64_t block = r.integer("blocksize", 0);
  if (block < 1) r.fail(fmt::format("blocksize {}", block));
  r.node.attributes = DepthSpaceAttributes{block, mode == "CRD"};
}

Inferred infer_depth_space(const Inference& i) {
  const std::int64_t block = i.attributes<DepthSpaceAttributes>().block;
  if (i.rank() != 4) misfit("it takes [N, C, H, W]");
  Shape s = i.shape();
  if (i.node().op == Op::DepthToSpace) {
    if (s[1] % product(block, block) != 0) misfit(fmt::format("{} channels are no blocks of {}", s[1], block));
    s = {s[0], s[1] / (block * block), product(s[2], block), product(s[3], block)};
  } else {
    if (s[2] % block != 0 || s[3] % block != 0)
      misfit(fmt::format("{} is not cut into blocks of {}", to_string(s), block));
    s = {s[0], product(s[1], product(block, block)), s[2] / block, s[3] / block};
  }
  return {{i.type(), s}};
}

}  // namespace

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

std::vector<Operator> shape_operators() {
  return {{Op::Concat, kAny, translate_concat, infer_concat},
          {Op::DepthToSpace, kAny, translate_depth_space, infer_depth_space},
          {Op::Expand, kAny, translate_expand, infer_expand, 1U << 1},
          {Op::Flatten, kAny, translate_flatten, infer_flatten},
          {Op::Pad, kAny, translate_pad, infer_pad, 1U << 1},
          {Op::Reshape, kAny, translate_reshape, infer_reshape, 1U << 1},
          {Op::Slice, kAny, translate_slice, infer_slice, 1U << 1 | 1U << 2 | 1U << 3 | 1U << 4},
          {Op::SpaceToDepth, kAny, translate_depth_space, infer_depth_space},
          {Op::Split, kAny, translate_split, infer_split, 1U << 1},
          {Op::Squeeze, kAny, translate_squeeze, infer_squeeze, 1U << 1},
          {Op::Tile, kAny, translate_tile, infer_tile, 1U << 1 | 1U << 2},
          {Op::Transpose, kAny, translate_transpose, infer_transpose},
          {Op::Trilu, kAny, translate_trilu, infer_trilu, 1U << 1},
          {Op::Unsqueeze, kAny, translate_unsqueeze, infer_unsqueeze, 1U << 1}};
}

}  // namespace tessera::model
