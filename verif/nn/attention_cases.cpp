// Attention blocks of transformers: scaled dot product, several heads with a mask, the feed-forward part, a whole
// layer.
#include <cmath>

#include "verif/nn/cases.h"

namespace tessera::verif_nn {

using exact::Array;

namespace {

Array scalar(double value) {
  Array result(std::vector<std::int64_t>{});
  result[0] = value;
  return result;
}

/// Integers that a Reshape takes.
void shape_constant(Maker& maker, const std::string& name, const std::vector<std::int64_t>& shape) {
  maker.constant(name, model::Tensor(model::Type::i64, {static_cast<std::int64_t>(shape.size())}, shape));
}

Case scaled_dot_product(model::Type type) {
  Maker maker("attention_scaled_dot_product", type, 24.0);
  const Array q = maker.input("q", {2, 9, 16}, 1.0), k = maker.input("k", {2, 11, 16}, 1.0),
              v = maker.input("v", {2, 11, 8}, 1.0);
  const Array scale = maker.values("scale", scalar(0.25));
  maker.node("Transpose", {"k"}, {"kt"}, {{"perm", std::vector<std::int64_t>{0, 2, 1}}});
  maker.node("MatMul", {"q", "kt"}, {"scores"});
  maker.node("Mul", {"scores", "scale"}, {"scaled"});
  maker.node("Softmax", {"scaled"}, {"weights"}, {{"axis", std::int64_t{-1}}});
  maker.node("MatMul", {"weights", "v"}, {"y"});
  const Array scores = exact::product(q, exact::permuted(k, {0, 2, 1}));
  maker.output("y", exact::product(exact::softmax(exact::map(scores, [&](double x) { return x * scale[0]; })), v));
  return maker.finish();
}

struct Sizes {
  std::int64_t batch = 1, sequence = 10, model = 16, heads = 4;
};

/// Self-attention with projections; returns the value's name with its expected contents.
Array self_attention(Maker& maker, const Sizes& s, const Array& x, bool masked) {
  const std::int64_t width = s.model / s.heads;
  shape_constant(maker, "split", {s.batch, s.sequence, s.heads, width});
  shape_constant(maker, "joined", {s.batch, s.sequence, s.model});
  const auto projected = [&](const std::string& name, const std::vector<std::int64_t>& order) {
    const Array w = maker.weight("w_" + name, {s.model, s.model}, 0.4), b = maker.weight("b_" + name, {s.model}, 0.2);
    maker.node("MatMul", {"x", "w_" + name}, {name + "_product"});
    maker.node("Add", {name + "_product", "b_" + name}, {name + "_sum"});
    maker.node("Reshape", {name + "_sum", "split"}, {name + "_split"});
    maker.node("Transpose", {name + "_split"}, {name}, {{"perm", order}});
    return exact::permuted(exact::reshaped(exact::add(exact::product(x, w), b), {s.batch, s.sequence, s.heads, width}),
                           order);
  };
  const Array q = projected("q", {0, 2, 1, 3}), k = projected("k", {0, 2, 3, 1}), v = projected("v", {0, 2, 1, 3});
  const Array divisor = maker.values("divisor", scalar(std::sqrt(static_cast<double>(width))));
  maker.node("MatMul", {"q", "k"}, {"scores"});
  maker.node("Div", {"scores", "divisor"}, {"scaled"});
  Array scores = exact::map(exact::product(q, k), [&](double value) { return value / divisor[0]; });
  std::string last = "scaled";
  if (masked) {
    Array mask({s.sequence, s.sequence});
    for (std::int64_t i = 0; i < s.sequence; ++i)
      for (std::int64_t j = i + 1; j < s.sequence; ++j) mask[i * s.sequence + j] = -10000.0;
    mask = maker.values("mask", mask);
    maker.node("Add", {"scaled", "mask"}, {"masked"});
    scores = exact::add(scores, mask);
    last = "masked";
  }
  maker.node("Softmax", {last}, {"weights"}, {{"axis", std::int64_t{-1}}});
  maker.node("MatMul", {"weights", "v"}, {"heads"});
  maker.node("Transpose", {"heads"}, {"together"}, {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}});
  maker.node("Reshape", {"together", "joined"}, {"context"});
  const Array w = maker.weight("w_o", {s.model, s.model}, 0.4), b = maker.weight("b_o", {s.model}, 0.2);
  maker.node("MatMul", {"context", "w_o"}, {"o_product"});
  maker.node("Add", {"o_product", "b_o"}, {"attention"});
  const Array context = exact::reshaped(exact::permuted(exact::product(exact::softmax(scores), v), {0, 2, 1, 3}),
                                        {s.batch, s.sequence, s.model});
  return exact::add(exact::product(context, w), b);
}

Case multi_head(model::Type type, bool masked) {
  Maker maker(masked ? "attention_heads_masked" : "attention_heads", type, 32.0);
  const Sizes sizes = {2, 10, 16, 4};
  const Array x = maker.input("x", {sizes.batch, sizes.sequence, sizes.model}, 1.0);
  maker.output("attention", self_attention(maker, sizes, x, masked));
  return maker.finish();
}

Array normalised(Maker& maker, const std::string& from, const std::string& to, std::int64_t width, const Array& x) {
  const Array scale = maker.weight(to + "_scale", {width}, 1.0), bias = maker.weight(to + "_bias", {width}, 0.5);
  maker.node("LayerNormalization", {from, to + "_scale", to + "_bias"}, {to},
             {{"axis", std::int64_t{-1}}, {"epsilon", 1e-5F}});
  return exact::layer_norm(x, scale, bias, 1e-5F);
}

Case layer_norm(model::Type type) {
  Maker maker("layer_norm", type, 16.0);
  const Array x = maker.input("x", {3, 5, 24}, 2.0);
  maker.output("y", normalised(maker, "x", "y", 24, x));
  return maker.finish();
}

/// A layer of an encoder as BERT has it: attention, residual, normalisation, feed-forward with erf, and again.
Case encoder_layer(model::Type type) {
  Maker maker("encoder_layer", type, 64.0);
  const Sizes sizes = {1, 12, 32, 4};
  const Array x = maker.input("x", {sizes.batch, sizes.sequence, sizes.model}, 1.0);
  const Array attention = self_attention(maker, sizes, x, true);
  maker.node("Add", {"attention", "x"}, {"residual"});
  const Array first = normalised(maker, "residual", "first", sizes.model, exact::add(attention, x));
  const Array w1 = maker.weight("w1", {32, 64}, 0.3), b1 = maker.weight("b1", {64}, 0.2);
  const Array w2 = maker.weight("w2", {64, 32}, 0.2), b2 = maker.weight("b2", {32}, 0.2);
  const Array root = maker.values("root", scalar(std::sqrt(2.0)));
  maker.values("one", scalar(1.0));
  maker.values("half", scalar(0.5));
  maker.node("MatMul", {"first", "w1"}, {"up"});
  maker.node("Add", {"up", "b1"}, {"up_sum"});
  maker.node("Div", {"up_sum", "root"}, {"up_scaled"});
  maker.node("Erf", {"up_scaled"}, {"up_erf"});
  maker.node("Add", {"up_erf", "one"}, {"up_one"});
  maker.node("Mul", {"up_sum", "up_one"}, {"up_product"});
  maker.node("Mul", {"up_product", "half"}, {"gelu"});
  maker.node("MatMul", {"gelu", "w2"}, {"down"});
  maker.node("Add", {"down", "b2"}, {"down_sum"});
  maker.node("Add", {"down_sum", "first"}, {"second_residual"});
  const Array up = exact::map(exact::add(exact::product(first, w1), b1),
                              [&](double value) { return 0.5 * value * (1.0 + std::erf(value / root[0])); });
  const Array down = exact::add(exact::add(exact::product(up, w2), b2), first);
  maker.output("second", normalised(maker, "second_residual", "second", sizes.model, down));
  return maker.finish();
}

}  // namespace

void attention_cases(model::Type type, std::vector<Case>& cases) {
  cases.push_back(scaled_dot_product(type));
  cases.push_back(multi_head(type, false));
  cases.push_back(multi_head(type, true));
  cases.push_back(layer_norm(type));
  cases.push_back(encoder_layer(type));
}

}  // namespace tessera::verif_nn
