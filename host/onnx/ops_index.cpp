// Operators that choose elements by indices: gather, scatter, one-hot. The indices' values are not looked at.
#include <fmt/format.h>

#include <algorithm>

#include "host/onnx/ops.h"

namespace tessera::model {

namespace {

std::size_t at(std::int64_t axis) { return static_cast<std::size_t>(axis); }

void translate_axis(Reading& r) { r.node.attributes = AxisAttributes{r.axis(r.integer("axis", 0))}; }

Inferred infer_gather(const Inference& i) {
  i.expect_type(1, kIndex);
  Shape shape = i.shape();
  const auto axis = i.attributes<AxisAttributes>().axis;
  const Shape& indices = i.shape(1);
  if (i.shape().at(at(axis)) == 0 && element_count(indices) != 0) misfit("Gather from an empty axis");
  shape.erase(shape.begin() + axis);
  shape.insert(shape.begin() + axis, indices.begin(), indices.end());
  return {{i.type(), shape}};
}

/// The indices of GatherElements and ScatterElements lie within the data on every axis but `axis`.
void check_elementwise_indices(const Inference& i, std::int64_t axis) {
  i.expect_type(1, kIndex);
  if (i.rank(1) != i.rank(0)) misfit(fmt::format("indices {} of data {}", to_string(i.shape(1)), to_string(i.shape())));
  for (std::size_t k = 0; k < i.rank(); ++k)
    if (k != at(axis) && i.shape(1)[k] > i.shape(0)[k])
      misfit(fmt::format("indices {} exceed data {}", to_string(i.shape(1)), to_string(i.shape())));
}

Inferred infer_gather_elements(const Inference& i) {
  check_elementwise_indices(i, i.attributes<AxisAttributes>().axis);
  return {{i.type(), i.shape(1)}};
}

void translate_gather_nd(Reading& r) { r.node.attributes = GatherNdAttributes{r.integer("batch_dims", 0)}; }

Inferred infer_gather_nd(const Inference& i) {
  i.expect_type(1, kIndex);
  const std::int64_t batch = i.attributes<GatherNdAttributes>().batch_dims;
  const Shape &data = i.shape(0), &indices = i.shape(1);
  if (data.empty() || indices.empty()) misfit("GatherND of a scalar");
  if (batch < 0 || at(batch) >= data.size() || at(batch) >= indices.size()) misfit(fmt::format("batch_dims {}", batch));
  if (!std::equal(data.begin(), data.begin() + batch, indices.begin()))
    misfit(fmt::format("batches of {} and {} differ", to_string(data), to_string(indices)));
  const std::int64_t depth = indices.back();
  if (depth < 1 || depth > static_cast<std::int64_t>(data.size()) - batch)
    misfit(fmt::format("indices of {} numbers into {}", depth, to_string(data)));
  Shape shape(indices.begin(), indices.end() - 1);
  shape.insert(shape.end(), data.begin() + batch + depth, data.end());
  return {{i.type(), shape}};
}

ScatterAttributes::Reduction reduction(const Reading& r) {
  const std::string name = r.text("reduction", "none");
  if (name == "add") return ScatterAttributes::Reduction::add;
  if (name == "mul") return ScatterAttributes::Reduction::mul;
  if (name != "none") r.refuse(fmt::format("reduction '{}'", name));
  return ScatterAttributes::Reduction::none;
}

void translate_scatter_elements(Reading& r) {
  r.node.attributes = ScatterAttributes{r.axis(r.integer("axis", 0)), reduction(r)};
}

Inferred infer_scatter_elements(const Inference& i) {
  check_elementwise_indices(i, i.attributes<ScatterAttributes>().axis);
  i.same_type(0, 2);
  (void)i.in(2);
  i.expect_shape(2, i.shape(1));
  return infer_same(i);
}

void translate_scatter_nd(Reading& r) { r.node.attributes = ScatterAttributes{0, reduction(r)}; }

Inferred infer_scatter_nd(const Inference& i) {
  i.expect_type(1, kIndex);
  const Shape &data = i.shape(0), &indices = i.shape(1);
  if (data.empty() || indices.empty()) misfit("ScatterND of a scalar");
  const std::int64_t depth = indices.back();
  if (depth < 1 || depth > static_cast<std::int64_t>(data.size()))
    misfit(fmt::format("indices of {} numbers into {}", depth, to_string(data)));
  Shape updates(indices.begin(), indices.end() - 1);
  updates.insert(updates.end(), data.begin() + depth, data.end());
  (void)i.in(2);
  i.same_type(0, 2);
  i.expect_shape(2, updates);
  return infer_same(i);
}

void translate_one_hot(Reading& r) {
  if (!r.in(1).constant) r.refuse(fmt::format("a shape depends on data of the run, on '{}'", r.in(1).name));
  const Tensor& given = *r.in(1).constant;
  if (given.elements() != 1) r.fail("depth of OneHot is not one number");
  const double depth = given.real(0);
  if (!(depth >= 0 && depth < 2147483648.0)) r.fail(fmt::format("depth {} of OneHot", depth));
  r.node.attributes =
      OneHotAttributes{r.axis(r.integer("axis", -1), r.rank() + 1, r.rank()), static_cast<std::int64_t>(depth)};
  r.node.inputs[1] = kAbsent;
}

Inferred infer_one_hot(const Inference& i) {
  const auto& one_hot = i.attributes<OneHotAttributes>();
  i.expect_shape(2, {2});
  i.expect_type(2, kAny);
  Shape shape = i.shape();
  shape.insert(shape.begin() + one_hot.axis, one_hot.depth);
  return {{i.type(2), shape}};
}

}  // namespace

std::vector<Operator> index_operators() {
  return {{Op::Gather, kAny, translate_axis, infer_gather},
          {Op::GatherElements, kAny, translate_axis, infer_gather_elements},
          {Op::GatherND, kAny, translate_gather_nd, infer_gather_nd},
          {Op::OneHot, kNumber, translate_one_hot, infer_one_hot, 1U << 1},
          {Op::ScatterElements, kAny, translate_scatter_elements, infer_scatter_elements},
          {Op::ScatterND, kAny, translate_scatter_nd, infer_scatter_nd}};
}

}  // namespace tessera::model
