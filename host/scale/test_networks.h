// Networks made by hand for the tests of this folder: shapes are given, nothing is inferred.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "host/onnx/model.h"

namespace tessera::scale::testing {

class NetworkMaker {
 public:
  explicit NetworkMaker(const model::Shape& input) {
    last_ = add("input", input);
    model_.inputs = {last_};
  }
  NetworkMaker& conv(std::int64_t outputs, std::int64_t kernel, std::int64_t stride, std::int64_t pad,
                     std::int64_t group = 1, std::int64_t dilation = 1) {
    model::ConvAttributes a;
    a.group = group;
    const model::Shape in = shape();
    model::Shape out = {in[0], outputs};
    for (std::size_t d = 2; d < in.size(); ++d) {
      a.kernel.push_back(kernel);
      a.strides.push_back(stride);
      a.dilations.push_back(dilation);
      a.pads_begin.push_back(pad);
      a.pads_end.push_back(pad);
      out.push_back((in[d] + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1);
    }
    model::Shape w = {outputs, in[1] / group};
    for (std::size_t d = 2; d < in.size(); ++d) w.push_back(kernel);
    const model::ValueId x = last_;
    return node(model::Op::Conv, {x, constant(w), constant({outputs})}, out, a);
  }
  NetworkMaker& pool(std::int64_t kernel, std::int64_t stride, model::Op op = model::Op::MaxPool) {
    model::PoolAttributes a;
    model::Shape out = shape();
    for (std::size_t d = 2; d < out.size(); ++d) {
      a.kernel.push_back(kernel);
      a.strides.push_back(stride);
      a.dilations.push_back(1);
      a.pads_begin.push_back(0);
      a.pads_end.push_back(0);
      out[d] = (out[d] - kernel) / stride + 1;
    }
    return node(op, {last_}, out, a);
  }
  NetworkMaker& gemm(std::int64_t outputs) {
    const model::Shape in = shape();
    model::GemmAttributes a;
    a.transpose_b = true;
    const model::ValueId x = last_;
    return node(model::Op::Gemm, {x, constant({outputs, in[1]}), constant({outputs})}, {in[0], outputs}, a);
  }
  NetworkMaker& flatten() {
    const model::Shape in = shape();
    return node(model::Op::Flatten, {last_}, {in[0], model::element_count(in) / in[0]}, model::AxisAttributes{1});
  }
  NetworkMaker& same(model::Op op, model::Attributes a = model::NoAttributes{}) {
    return node(op, {last_}, shape(), std::move(a));
  }
  NetworkMaker& batch_norm() {
    const std::int64_t c = shape()[1];
    const model::ValueId x = last_;
    std::vector<model::ValueId> operands = {x};
    for (int i = 0; i < 4; ++i) operands.push_back(constant({c}));
    return node(model::Op::BatchNormalization, operands, shape(), model::NormAttributes{});
  }
  NetworkMaker& average() {
    model::Shape out = shape();
    for (std::size_t d = 2; d < out.size(); ++d) out[d] = 1;
    return node(model::Op::GlobalAveragePool, {last_}, out, model::PoolAttributes{});
  }
  /// last x other of activations, [..., m, k] x [..., k, n].
  NetworkMaker& matmul(model::ValueId other) {
    model::Shape out = shape();
    out.back() = model_.values[other].shape.back();
    return node(model::Op::MatMul, {last_, other}, out, model::NoAttributes{});
  }
  NetworkMaker& project(std::int64_t outputs) {
    model::Shape out = shape();
    const model::ValueId x = last_, w = constant({out.back(), outputs});
    out.back() = outputs;
    return node(model::Op::MatMul, {x, w}, out, model::NoAttributes{});
  }
  NetworkMaker& transpose_last() {
    model::Shape out = shape();
    std::swap(out[out.size() - 1], out[out.size() - 2]);
    return node(model::Op::Transpose, {last_}, out, model::TransposeAttributes{});
  }
  NetworkMaker& reduce(model::Op op) {
    model::Shape out = shape();
    out.back() = 1;
    return node(op, {last_}, out, model::ReduceAttributes{});
  }
  NetworkMaker& lstm(std::int64_t hidden) {
    const model::Shape in = shape();
    model::RecurrentAttributes a;
    a.hidden = hidden;
    const model::ValueId x = last_, w = constant({1, 4 * hidden, in[2]}), r = constant({1, 4 * hidden, hidden});
    return node(model::Op::LSTM, {x, w, r}, {in[0], 1, in[1], hidden}, a);
  }
  NetworkMaker& from(model::ValueId value) {
    last_ = value;
    return *this;
  }
  NetworkMaker& add_to(model::ValueId other) { return node(model::Op::Add, {last_, other}, shape(), {}); }
  [[nodiscard]] model::ValueId last() const { return last_; }
  [[nodiscard]] model::Shape shape() const { return model_.values[last_].shape; }
  [[nodiscard]] model::Model done() {
    model_.outputs = {last_};
    return model_;
  }

 private:
  model::ValueId add(const std::string& name, model::Shape shape) {
    model::Value v;
    v.name = name;
    v.shape = std::move(shape);
    model_.values.push_back(std::move(v));
    return static_cast<model::ValueId>(model_.values.size() - 1);
  }
  /// A weight: its contents do not matter here.
  model::ValueId constant(const model::Shape& shape) {
    const model::ValueId id = add("constant " + std::to_string(model_.values.size()), shape);
    model_.values[id].constant = model::Tensor();
    return id;
  }
  NetworkMaker& node(model::Op op, std::vector<model::ValueId> inputs, model::Shape shape, model::Attributes a) {
    model::Node n;
    n.op = op;
    n.name = std::string(model::name_of(op)) + "_" + std::to_string(model_.nodes.size());
    n.inputs = std::move(inputs);
    n.attributes = std::move(a);
    last_ = add(n.name + " result", std::move(shape));
    n.outputs = {last_};
    model_.nodes.push_back(std::move(n));
    return *this;
  }

  model::Model model_;
  model::ValueId last_ = 0;
};

/// AlexNet as published for two GPUs (groups of 2), 227 x 227.
inline model::Model alexnet() {
  using model::Op;
  NetworkMaker n({1, 3, 227, 227});
  n.conv(96, 11, 4, 0).same(Op::Relu).same(Op::LRN, model::LrnAttributes{1e-4F, 0.75F, 2.0F, 5}).pool(3, 2);
  n.conv(256, 5, 1, 2, 2).same(Op::Relu).same(Op::LRN, model::LrnAttributes{1e-4F, 0.75F, 2.0F, 5}).pool(3, 2);
  n.conv(384, 3, 1, 1).same(Op::Relu).conv(384, 3, 1, 1, 2).same(Op::Relu).conv(256, 3, 1, 1, 2).same(Op::Relu);
  n.pool(3, 2).flatten();
  n.gemm(4096).same(Op::Relu).gemm(4096).same(Op::Relu).gemm(1000).same(Op::Softmax, model::AxisAttributes{1});
  return n.done();
}

}  // namespace tessera::scale::testing
