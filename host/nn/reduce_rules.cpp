// Reductions, arg max, softmax, normalisations, running sums, losses: operators on rows (rows.h) and what is done to
// their results. Sums of f16 stay f32 until the last step.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "host/nn/lowering.h"
#include "host/nn/pool.h"
#include "host/nn/row_parts.h"
#include "host/nn/rows.h"
#include "host/nn/vertex_batch.h"

namespace tessera::nn {

using graph::Tensor;
using model::Node;
using model::Op;

namespace {

using Axes = std::vector<std::size_t>;

std::uint32_t narrow(std::uint64_t v) { return static_cast<std::uint32_t>(v); }

Axes axes_of(const model::Extents& extents) { return {extents.begin(), extents.end()}; }

Axes axes_from(std::size_t first, std::size_t rank) {
  Axes axes(rank - first);
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

Tensor scaled(Builder& builder, const Tensor& x, float factor, const std::string& name) {
  return lower_unary_with(builder, "MapScale_" + type_suffix(x.type()), x, x.type(), factor, 0.0F, 0.0F, name);
}

model::Tensor scalar(model::Type type, double v) {
  model::Tensor t(type, {});
  if (type == model::Type::i32)
    t.set<std::int32_t>(0, static_cast<std::int32_t>(v));
  else
    t.set<float>(0, static_cast<float>(v));
  return t;
}

/// Result of folding no elements.
double neutral(Op op) {
  if (op == Op::ReduceProd) return 1;
  if (op == Op::ReduceMax || op == Op::ReduceLogSum || op == Op::ReduceLogSumExp) return -HUGE_VAL;
  return op == Op::ReduceMin ? HUGE_VAL : op == Op::ReduceMean ? NAN : 0;
}

std::string fold_of(Op op) {
  switch (op) {
    case Op::ReduceProd:
      return "Prod";
    case Op::ReduceMax:
    case Op::GlobalMaxPool:
      return "Max";
    case Op::ReduceMin:
      return "Min";
    case Op::ReduceL1:
      return "L1";
    case Op::ReduceL2:
    case Op::ReduceSumSquare:
      return "SumSquare";
    case Op::ReduceLogSumExp:
      return "LogSumExp";
    default:
      return "Sum";
  }
}

/// Columns folded and what follows: [rows] of the operand's row type, f16 as f32.
Tensor folded(Lowering& lowering, Op op, const Tensor& matrix, const std::string& name) {
  Builder& builder = lowering.builder();
  Tensor x = row_operand(builder, matrix, name);
  const bool integer = x.type() == graph::Type::i32;
  if (integer && (op == Op::ReduceLogSumExp || op == Op::ReduceLogSum || op == Op::ReduceL2))
    x = lower_cast(builder, x, graph::Type::f32, name);
  Tensor y = reduce_rows(builder, fold_of(op), x, name);
  if (op == Op::ReduceMean || op == Op::GlobalAveragePool) {
    const auto n = static_cast<double>(matrix.dim(1));
    if (integer)
      y = lower_binary(builder, "MapDiv_i32", {y, nullptr}, {{}, lowering.keep(scalar(model::Type::i32, n))}, y.shape(),
                       y.type(), name);
    else
      y = scaled(builder, y, static_cast<float>(1 / n), name);
  }
  if (op == Op::ReduceL2) y = lower_unary(builder, "MapSqrt_f32", y, y.type(), name);
  if (op == Op::ReduceLogSum) y = lower_unary(builder, "MapLog_f32", y, y.type(), name);
  return y;
}

void lower_fold(Lowering& lowering, const Node& node, const Axes& axes) {
  Builder& builder = lowering.builder();
  const model::Value& result = lowering.out(node);
  const graph::Shape shape = shape_of(result.shape);
  const graph::Type type = type_of(result.type);
  const Tensor x = lowering.materialised(node.inputs[0]);
  Tensor& view = lowering.view(node.outputs[0]);
  if (graph::element_count(shape) == 0) {
    view = builder.linear(type, shape, node.name);
  } else if (x.elements() == 0) {
    model::Tensor fill(model::Type::f32, result.shape,
                       std::vector<float>(graph::element_count(shape), static_cast<float>(neutral(node.op))));
    view = lower_cast(builder, builder.linear_constant(fill, node.name), type, node.name);
  } else {
    const RowsView rows = as_rows(x, axes);
    view = lower_cast(builder, folded(lowering, node.op, rows.matrix, node.name), type, node.name).reshape(shape);
  }
}

void lower_reduce(Lowering& lowering, const Node& node) {
  lower_fold(lowering, node, axes_of(std::get<model::ReduceAttributes>(node.attributes).axes));
}

void lower_global_pool(Lowering& lowering, const Node& node) {
  if (node.op == Op::GlobalAveragePool && global_pool_is_window(lowering, node))
    return lower_window_pool(lowering, node);
  lower_fold(lowering, node, axes_from(2, lowering.in(node, 0).shape.size()));
}

void lower_arg(Lowering& lowering, const Node& node) {
  Builder& builder = lowering.builder();
  const auto& a = std::get<model::ArgAttributes>(node.attributes);
  const Tensor x = row_operand(builder, lowering.materialised(node.inputs[0]), node.name);
  const graph::Shape shape = shape_of(lowering.out(node).shape);
  if (x.elements() == 0) {
    lowering.view(node.outputs[0]) = builder.linear(graph::Type::i32, shape, node.name);
    return;
  }
  const RowsView rows = as_rows(x, {static_cast<std::size_t>(a.axis)});
  const std::string op = node.op == Op::ArgMax ? "Max" : "Min";
  lowering.view(node.outputs[0]) = arg_rows(builder, op, rows.matrix, a.select_last, node.name).reshape(shape);
}

void lower_softmax(Lowering& lowering, const Node& node) {
  const Tensor x = lowering.materialised(node.inputs[0]);
  Tensor& view = lowering.view(node.outputs[0]);
  if (x.elements() == 0) {
    view = x;
    return;
  }
  const RowsView rows = as_rows(x, {static_cast<std::size_t>(std::get<model::AxisAttributes>(node.attributes).axis)});
  view = rows.back(
      node.op == Op::Hardmax
          ? map_rows(lowering.builder(), "RowHardmax_" + type_suffix(x.type()), rows.matrix, {}, {}, node.name)
          : softmax_rows(lowering.builder(), rows.matrix, node.op == Op::LogSoftmax, node.name));
}

void lower_cum_sum(Lowering& lowering, const Node& node) {
  Builder& builder = lowering.builder();
  const auto& a = std::get<model::CumSumAttributes>(node.attributes);
  const Tensor x = row_operand(builder, lowering.materialised(node.inputs[0]), node.name);
  if (x.elements() == 0) {
    lowering.view(node.outputs[0]) = x;
    return;
  }
  const RowsView rows = as_rows(x, {static_cast<std::size_t>(a.axis)});
  const Tensor y = map_rows(builder, "RowCumSum_" + type_suffix(x.type()), rows.matrix, {"exclusive", "reverse"},
                            {a.exclusive ? 1U : 0U, a.reverse ? 1U : 0U}, node.name);
  lowering.view(node.outputs[0]) = lower_cast(builder, rows.back(y), type_of(lowering.out(node).type), node.name);
}

void lower_lrn(Lowering& lowering, const Node& node) {
  const auto& a = std::get<model::LrnAttributes>(node.attributes);
  const Tensor x = lowering.materialised(node.inputs[0]);
  const RowsView rows = as_rows(x, {1});
  lowering.view(node.outputs[0]) = rows.back(map_rows(
      lowering.builder(), "RowLrn_" + type_suffix(x.type()), rows.matrix, {"before", "behind", "alpha", "beta", "bias"},
      {narrow(static_cast<std::uint64_t>((a.size - 1) / 2)), narrow(static_cast<std::uint64_t>(a.size / 2)),
       bits_of(a.alpha / static_cast<float>(a.size)), bits_of(a.beta), bits_of(a.bias)},
      node.name));
}

struct Normalised {
  Tensor y, mean, deviation;  ///< [rows, columns], [rows], [rows]
};

/// By vectors, in two steps: all six workers share the columns of a row.
void normalise_vectors(Builder& builder, const Tensor& matrix, const Tensor& scale, const Tensor& bias, float epsilon,
                       const std::vector<RowShare>& shares, const Normalised& result, const std::string& name) {
  const std::uint64_t columns = matrix.dim(1);
  const Tensor moments = matrix_on(builder, graph::Type::f32, matrix.dim(0), 12, shares, name + " moments");
  VertexBatch first(builder, "RowMoments_f16", {"x", "moments"}, {"rows", "columns"}, name + " moments");
  VertexBatch second(builder, "RowApply_f16", {"x", "moments", "scale", "bias", "y", "mean", "deviation"},
                     {"rows", "columns", "epsilon"}, name);
  for (const RowShare& s : shares) {
    const auto part = [&](const Tensor& t) { return t.slice(s.begin, s.end).flatten(); };
    const std::uint32_t rows = narrow(s.end - s.begin);
    first.add(s.tile, {part(matrix), part(moments)}, {rows, narrow(columns)});
    second.add(s.tile,
               {part(matrix), part(moments), scale, bias, part(result.y), part(result.mean), part(result.deviation)},
               {rows, narrow(columns), bits_of(epsilon)});
  }
  first.execute();
  second.execute();
}

/// Few long rows: sums by all tiles (reduce_rows), the rest element by element.
Normalised normalise_spread(Builder& builder, const Tensor& matrix, const Tensor& scale, const Tensor& bias,
                            bool by_column, float epsilon, const std::string& name) {
  const graph::Type f32 = graph::Type::f32;
  const std::uint64_t rows = matrix.dim(0), columns = matrix.dim(1);
  const float share = 1.0F / static_cast<float>(columns);
  const auto by_row = [&](const Tensor& t) { return Operand{t.reshape({rows, 1}), nullptr}; };
  const auto factor = [&](const Tensor& t) {
    const bool single = t.elements() == 1;
    return Operand{t.reshape({single || by_column ? 1 : rows, single || !by_column ? 1 : columns}), nullptr};
  };
  const Tensor x = lower_cast(builder, matrix, f32, name);
  const Tensor mean = scaled(builder, reduce_rows(builder, "Sum", x, name + " sums"), share, name + " mean");
  const Tensor off = lower_binary(builder, "MapSub_f32", {x, nullptr}, by_row(mean), x.shape(), f32, name);
  const Tensor squares = reduce_rows(builder, "SumSquare", off, name + " squares");
  Tensor deviation = lower_unary_with(builder, "MapScale_f32", squares, f32, share, epsilon, 0.0F, name);
  deviation = lower_unary(builder, "MapSqrt_f32", deviation, f32, name);
  deviation = lower_unary(builder, "MapReciprocal_f32", deviation, f32, name + " deviation");
  Tensor y = lower_binary(builder, "MapMul_f32", {off, nullptr}, by_row(deviation), x.shape(), f32, name);
  y = lower_map(builder, {"MapAffine_f32", {"c", "a", "b"}, {}}, {{y, nullptr}, factor(scale), factor(bias)}, x.shape(),
                f32, name);
  return {lower_cast(builder, y, matrix.type(), name), mean, deviation};
}

/// Whether that is faster than a row by one worker, which takes about 15 slots an element; the other way has about ten
/// steps, of which two are sums of two or three stages.
bool rows_are_few(const Builder& builder, std::uint64_t rows, std::uint64_t columns) {
  const std::uint64_t of_tile = (rows + builder.tiles() - 1) / builder.tiles();
  const std::uint64_t whole = (of_tile + kWorkers - 1) / kWorkers * columns * 15 * 6;
  return whole > 15000 + rows * columns * 30 / builder.tiles();
}

/// scale and bias: one element, one a column (by_column) or one a row, f32.
Normalised normalise(Builder& builder, const Tensor& matrix, const Tensor& scale, const Tensor& bias, bool by_column,
                     float epsilon, const std::string& name) {
  const std::uint64_t rows = matrix.dim(0), columns = matrix.dim(1);
  const bool single = scale.elements() == 1;
  const bool vectors = matrix.type() == graph::Type::f16 && by_column && !single && columns % 4 == 0 && columns >= 48;
  if (!vectors && rows_are_few(builder, rows, columns))
    return normalise_spread(builder, matrix, scale, bias, by_column, epsilon, name);
  const auto shares = share_rows(builder, matrix);
  Normalised result{matrix_on(builder, matrix.type(), rows, columns, shares, name),
                    matrix_on(builder, graph::Type::f32, rows, 1, shares, name + " mean"),
                    matrix_on(builder, graph::Type::f32, rows, 1, shares, name + " deviation")};
  if (vectors) {
    normalise_vectors(builder, matrix, scale, bias, epsilon, shares, result, name);
    return result;
  }
  VertexBatch batch(builder, "RowNorm_" + type_suffix(matrix.type()), {"x", "scale", "bias", "y", "mean", "deviation"},
                    {"rows", "columns", "s_row", "s_step", "epsilon"}, name);
  for (const RowShare& s : shares) {
    const auto part = [&](const Tensor& t) { return single || by_column ? t : t.slice(s.begin, s.end); };
    batch.add(
        s.tile,
        {matrix.slice(s.begin, s.end).flatten(), part(scale), part(bias), result.y.slice(s.begin, s.end).flatten(),
         result.mean.slice(s.begin, s.end).flatten(), result.deviation.slice(s.begin, s.end).flatten()},
        {narrow(s.end - s.begin), narrow(columns), single || by_column ? 0U : 1U, !single && by_column ? 1U : 0U,
         bits_of(epsilon)});
  }
  batch.execute();
  return result;
}

Tensor as_f32(Lowering& lowering, model::ValueId id, const std::string& name) {
  return lower_cast(lowering.builder(), lowering.materialised(id), graph::Type::f32, name).flatten();
}

Tensor number(Lowering& lowering, float v, const std::string& name) {
  return lowering.builder().linear_constant(scalar(model::Type::f32, v), name).flatten();
}

void lower_layer_norm(Lowering& lowering, const Node& node) {
  Builder& builder = lowering.builder();
  const auto& a = std::get<model::NormAttributes>(node.attributes);
  const Tensor x = lowering.materialised(node.inputs[0]);
  const std::size_t axis = static_cast<std::size_t>(a.axis < 0 ? a.axis + static_cast<std::int64_t>(x.rank()) : a.axis);
  const RowsView rows = as_rows(x, axes_from(axis, x.rank()));
  const auto spread = [&](std::size_t i) {
    const Tensor t = lower_cast(builder, lowering.materialised(node.inputs[i]), graph::Type::f32, node.name);
    const graph::Shape inner(x.shape().begin() + static_cast<std::ptrdiff_t>(axis), x.shape().end());
    return t.broadcast_to(inner).flatten();
  };
  const Tensor scale = spread(1);
  const Tensor bias =
      Lowering::has(node, 2)
          ? spread(2)
          : builder
                .linear_constant(model::Tensor(model::Type::f32, {static_cast<std::int64_t>(rows.columns())}),
                                 node.name + " bias")
                .flatten();
  const Normalised result = normalise(builder, rows.matrix, scale, bias, true, a.epsilon, node.name);
  lowering.view(node.outputs[0]) = rows.back(result.y);
  for (const std::size_t i : {1, 2})
    if (Lowering::wants(node, i))
      lowering.view(node.outputs[i]) =
          lower_cast(builder, i == 1 ? result.mean : result.deviation, type_of(lowering.out(node, i).type), node.name)
              .reshape(shape_of(lowering.out(node, i).shape));
}

void lower_instance_norm(Lowering& lowering, const Node& node) {
  Builder& builder = lowering.builder();
  const Tensor x = lowering.materialised(node.inputs[0]);
  const RowsView rows = as_rows(x, axes_from(2, x.rank()));
  const auto by_row = [&](std::size_t i) {
    return as_f32(lowering, node.inputs[i], node.name).expand(0).broadcast(x.dim(0), 0).flatten();
  };
  const float epsilon = std::get<model::NormAttributes>(node.attributes).epsilon;
  lowering.view(node.outputs[0]) =
      rows.back(normalise(builder, rows.matrix, by_row(1), by_row(2), false, epsilon, node.name).y);
}

/// Deviation + 1e-9 is the divisor there; the root of a variance + 1e-18 is as near.
void lower_mvn(Lowering& lowering, const Node& node) {
  const Tensor x = lowering.materialised(node.inputs[0]);
  const RowsView rows = as_rows(x, axes_of(std::get<model::NormAttributes>(node.attributes).axes));
  lowering.view(node.outputs[0]) =
      rows.back(normalise(lowering.builder(), rows.matrix, number(lowering, 1, node.name + " one"),
                          number(lowering, 0, node.name + " zero"), true, 1e-18F, node.name)
                    .y);
}

/// x * s + t by channel, s = scale / sqrt(variance + epsilon), t = bias - mean * s; folded here if all are constants.
void lower_batch_norm(Lowering& lowering, const Node& node) {
  Builder& builder = lowering.builder();
  const float epsilon = std::get<model::NormAttributes>(node.attributes).epsilon;
  const model::Value& value = lowering.in(node, 0);
  const Tensor x = lowering.materialised(node.inputs[0]);
  model::Shape channel(value.shape.size() > 1 ? value.shape.size() - 1 : 1, 1);
  channel[0] = lowering.in(node, 1).shape.at(0);
  std::vector<Operand> parts;
  bool constant = true;
  for (std::size_t i = 1; i < 5; ++i) constant = constant && lowering.operand(node.inputs[i]).is_constant();
  if (constant) {
    model::Tensor s(model::Type::f32, channel), t(model::Type::f32, channel);
    for (std::int64_t c = 0; c < channel[0]; ++c) {
      const auto at = [&](std::size_t i) { return lowering.in(node, i).constant->real(c); };
      const double factor = at(1) / std::sqrt(at(4) + static_cast<double>(epsilon));
      s.set(c, static_cast<float>(factor));
      t.set(c, static_cast<float>(at(2) - at(3) * factor));
    }
    parts = {{{}, lowering.keep(std::move(s))}, {{}, lowering.keep(std::move(t))}};
  } else {
    const auto part = [&](std::size_t i) { return as_f32(lowering, node.inputs[i], node.name); };
    const graph::Type f32 = graph::Type::f32;
    const graph::Shape flat = {static_cast<std::uint64_t>(channel[0])};
    Tensor d = lower_unary_with(builder, "MapScale_f32", part(4), f32, 1.0F, epsilon, 0.0F, node.name);
    d = lower_unary(builder, "MapSqrt_f32", d, f32, node.name);
    const Tensor s = lower_binary(builder, "MapDiv_f32", {part(1), nullptr}, {d, nullptr}, flat, f32, node.name);
    const Tensor ms = lower_binary(builder, "MapMul_f32", {part(3), nullptr}, {s, nullptr}, flat, f32, node.name);
    const Tensor t = lower_binary(builder, "MapSub_f32", {part(2), nullptr}, {ms, nullptr}, flat, f32, node.name);
    parts = {{s.reshape(shape_of(channel)), nullptr}, {t.reshape(shape_of(channel)), nullptr}};
  }
  const MapCall call{"MapAffine_" + type_suffix(x.type()), {"c", "a", "b"}, {}};
  lowering.view(node.outputs[0]) =
      lower_map(builder, call, {{x, nullptr}, parts[0], parts[1]}, shape_of(value.shape), x.type(), node.name);
}

/// Loss of classes: x is log probability [N, C, ...], target [N, ...], weight [C] or absent.
void lower_class_loss(Lowering& lowering, const Node& node, const Tensor& x) {
  Builder& builder = lowering.builder();
  const auto& a = std::get<model::LossAttributes>(node.attributes);
  const model::Value& result = lowering.out(node);
  const RowsView rows = as_rows(x, {1});
  const Tensor target =
      lower_cast(builder, lowering.materialised(node.inputs[1]), graph::Type::i32, node.name).flatten();
  const auto classes = static_cast<std::int64_t>(rows.columns());
  const Tensor weight = Lowering::has(node, 2)
                            ? as_f32(lowering, node.inputs[2], node.name)
                            : builder.linear_constant(
                                  model::Tensor(model::Type::f32, {classes}, std::vector<float>(rows.columns(), 1.0F)),
                                  node.name + " weight");
  const auto shares = share_rows(builder, rows.matrix);
  const Tensor y = matrix_on(builder, graph::Type::f32, rows.rows(), 1, shares, node.name);
  const Tensor weights = matrix_on(builder, graph::Type::f32, rows.rows(), 1, shares, node.name + " weights");
  VertexBatch batch(builder, "RowNll_f32", {"x", "target", "weight", "y", "weights"},
                    {"rows", "columns", "ignored", "ignores"}, node.name);
  for (const RowShare& s : shares)
    batch.add(s.tile,
              {rows.matrix.slice(s.begin, s.end).flatten(), target.slice(s.begin, s.end), weight,
               y.slice(s.begin, s.end).flatten(), weights.slice(s.begin, s.end).flatten()},
              {narrow(s.end - s.begin), narrow(rows.columns()),
               narrow(static_cast<std::uint64_t>(a.ignore_index.value_or(0))), a.ignore_index ? 1U : 0U});
  batch.execute();
  Tensor loss = y.flatten();
  if (a.reduction != model::LossAttributes::Reduction::none) {
    loss = reduce_rows(builder, "Sum", loss.reshape({1, loss.elements()}), node.name);
    if (a.reduction == model::LossAttributes::Reduction::mean) {
      const Tensor sum = reduce_rows(builder, "Sum", weights.reshape({1, weights.elements()}), node.name);
      loss = lower_binary(builder, "MapDiv_f32", {loss, nullptr}, {sum, nullptr}, {1}, graph::Type::f32, node.name);
    }
  }
  lowering.view(node.outputs[0]) =
      lower_cast(builder, loss, type_of(result.type), node.name).reshape(shape_of(result.shape));
}

void lower_nll(Lowering& lowering, const Node& node) {
  lower_class_loss(lowering, node,
                   lower_cast(lowering.builder(), lowering.materialised(node.inputs[0]), graph::Type::f32, node.name));
}

void lower_softmax_loss(Lowering& lowering, const Node& node) {
  Builder& builder = lowering.builder();
  const Tensor x = lower_cast(builder, lowering.materialised(node.inputs[0]), graph::Type::f32, node.name);
  const RowsView rows = as_rows(x, {1});
  const Tensor log = rows.back(softmax_rows(builder, rows.matrix, true, node.name));
  if (Lowering::wants(node, 1))
    lowering.view(node.outputs[1]) = lower_cast(builder, log, type_of(lowering.out(node, 1).type), node.name);
  lower_class_loss(lowering, node, log);
}

std::string refuse_float(const model::Model& model, const Node& node) {
  const model::Type type = model.value(node.inputs.at(0)).type;
  return type == model::Type::f32 || type == model::Type::f16 ? "" : "no codelet for integers, use f32 or f16";
}

}  // namespace

std::vector<Rule> reduce_rules() {
  std::vector<Rule> rules = {{Op::GlobalAveragePool, lower_global_pool, refuse_float},
                             {Op::GlobalMaxPool, lower_global_pool, refuse_float},
                             {Op::ArgMax, lower_arg},
                             {Op::ArgMin, lower_arg},
                             {Op::CumSum, lower_cum_sum},
                             {Op::LRN, lower_lrn, refuse_float},
                             {Op::LayerNormalization, lower_layer_norm, refuse_float},
                             {Op::InstanceNormalization, lower_instance_norm, refuse_float},
                             {Op::MeanVarianceNormalization, lower_mvn, refuse_float},
                             {Op::BatchNormalization, lower_batch_norm, refuse_float},
                             {Op::NegativeLogLikelihoodLoss, lower_nll, refuse_float},
                             {Op::SoftmaxCrossEntropyLoss, lower_softmax_loss, refuse_float}};
  for (const Op op : {Op::Softmax, Op::LogSoftmax, Op::Hardmax}) rules.push_back({op, lower_softmax, refuse_float});
  for (const Op op : {Op::ReduceL1, Op::ReduceL2, Op::ReduceLogSum, Op::ReduceLogSumExp, Op::ReduceMax, Op::ReduceMean,
                      Op::ReduceMin, Op::ReduceProd, Op::ReduceSum, Op::ReduceSumSquare})
    rules.push_back({op, lower_reduce});
  return rules;
}

}  // namespace tessera::nn
