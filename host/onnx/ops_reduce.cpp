// Operators along axes: reductions, arguments of extremes, sorting, running sums, softmax.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "host/onnx/ops.h"

namespace tessera::model {

namespace {

std::size_t at(std::int64_t axis) { return static_cast<std::size_t>(axis); }

Extents all_axes(std::int64_t rank) {
  Extents axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

/// ReduceSum has its axes as an operand since opset 13, all others as an attribute up to 17.
void translate_reduce(Reading& r) {
  const bool by_operand = r.node.op == Op::ReduceSum && r.opset >= 13;
  const Extents given = (by_operand ? r.operand(1) : r.integers("axes")).value_or(Extents());
  ReduceAttributes reduce;
  if (!given.empty())
    reduce.axes = r.axes(given, r.rank());
  else if (!by_operand || !r.flag("noop_with_empty_axes"))
    reduce.axes = all_axes(r.rank());
  reduce.keep_dims = r.flag("keepdims", true);
  r.node.attributes = reduce;
  r.keep_inputs(1);
}

Shape reduced(const Shape& shape, const Extents& axes, bool keep) {
  Shape result;
  for (std::size_t k = 0; k < shape.size(); ++k) {
    const bool named = std::binary_search(axes.begin(), axes.end(), static_cast<std::int64_t>(k));
    if (!named)
      result.push_back(shape[k]);
    else if (keep)
      result.push_back(1);
  }
  return result;
}

Inferred infer_reduce(const Inference& i) {
  const auto& reduce = i.attributes<ReduceAttributes>();
  if (i.node().op == Op::ReduceMax || i.node().op == Op::ReduceMin)
    for (const std::int64_t axis : reduce.axes)
      if (i.shape().at(at(axis)) == 0) misfit("the largest or smallest of no elements");
  return {{i.type(), reduced(i.shape(), reduce.axes, reduce.keep_dims)}};
}

void translate_arg(Reading& r) {
  r.node.attributes =
      ArgAttributes{r.axis(r.integer("axis", 0)), r.flag("keepdims", true), r.flag("select_last_index")};
}

Inferred infer_arg(const Inference& i) {
  const auto& arg = i.attributes<ArgAttributes>();
  if (i.shape().at(at(arg.axis)) == 0) misfit("the largest or smallest of no elements");
  return {{Type::i64, reduced(i.shape(), {arg.axis}, arg.keep_dims)}};
}

void translate_top_k(Reading& r) {
  const Extents k = r.opset < 10 ? Extents{r.integer("k", -1)} : r.operand(1).value_or(Extents());
  if (k.size() != 1) r.fail("k of TopK is not one number");
  r.node.attributes =
      TopKAttributes{r.axis(r.integer("axis", -1)), k[0], r.flag("largest", true), r.flag("sorted", true)};
  r.keep_inputs(1);
}

Inferred infer_top_k(const Inference& i) {
  const auto& top = i.attributes<TopKAttributes>();
  Shape shape = i.shape();
  if (top.k < 0 || top.k > shape.at(at(top.axis)))
    misfit(fmt::format("the {} largest of {} elements", top.k, shape[at(top.axis)]));
  shape[at(top.axis)] = top.k;
  return {{i.type(), shape}, {Type::i64, shape}};
}

void translate_cum_sum(Reading& r) {
  const Extents axis = r.operand(1).value_or(Extents());
  if (axis.size() != 1) r.fail("axis of CumSum is not one number");
  r.node.attributes = CumSumAttributes{r.axis(axis[0]), r.flag("exclusive"), r.flag("reverse")};
  r.keep_inputs(1);
}

/// Before opset 13 over all axes from `axis` on together.
void translate_softmax(Reading& r) {
  if (r.opset >= 13) {
    r.node.attributes = AxisAttributes{r.axis(r.integer("axis", -1))};
    return;
  }
  const std::int64_t axis = r.axis(r.integer("axis", 1), r.rank(), r.rank());
  if (axis == r.rank() - 1) {
    r.node.attributes = AxisAttributes{axis};
    return;
  }
  const ValueId flat = r.before(Op::Flatten, {r.node.inputs[0]}, AxisAttributes{axis}, "flat");
  ShapeAttributes back{r.shape(), true};
  if (axis == 1 && std::count(back.shape.begin(), back.shape.end(), 0) == 0) {
    back.shape[0] = 0;  // copied, whatever the batch
    back.allow_zero = false;
  }
  r.node.inputs[0] = r.before(r.node.op, {flat}, AxisAttributes{1}, "rows");
  r.node.op = Op::Reshape;
  r.node.attributes = back;
}

}  // namespace

std::vector<Operator> reduction_operators() {
  std::vector<Operator> result;
  for (const Op op :
       {Op::ReduceL1, Op::ReduceMax, Op::ReduceMean, Op::ReduceMin, Op::ReduceProd, Op::ReduceSum, Op::ReduceSumSquare})
    result.push_back({op, kNumber, translate_reduce, infer_reduce, op == Op::ReduceSum ? 1U << 1 : 0U});
  for (const Op op : {Op::ReduceL2, Op::ReduceLogSum, Op::ReduceLogSumExp})
    result.push_back({op, kReal, translate_reduce, infer_reduce});
  for (const Op op : {Op::ArgMax, Op::ArgMin}) result.push_back({op, kNumber, translate_arg, infer_arg});
  for (const Op op : {Op::Softmax, Op::LogSoftmax, Op::Hardmax})
    result.push_back({op, kReal, translate_softmax, infer_same});
  result.push_back({Op::TopK, kNumber, translate_top_k, infer_top_k, 1U << 1});
  result.push_back({Op::CumSum, kNumber, translate_cum_sum, infer_same, 1U << 1});
  return result;
}

}  // namespace tessera::model
