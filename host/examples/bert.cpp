// BERT: the encoder, operator by operator as exporters write it, with embeddings and attention mask if wanted.

#include <fmt/format.h>

#include <cmath>

#include "host/examples/network_writer.h"
#include "host/examples/networks.h"

namespace tessera::examples {

namespace {

struct BertShape {
  std::int64_t batch = 1, sequence = 128, hidden = 768, heads = 12, intermediate = 3072;
  [[nodiscard]] std::int64_t head() const { return hidden / heads; }
};

class BertWriter {
 public:
  BertWriter(const Settings& settings, const BertShape& shape)
      : writer_("bert", settings.type(), settings.seed()), settings_(settings), shape_(shape) {}

  Network build() {
    Value x = settings_.text("embeddings") == "yes"
                  ? embeddings()
                  : writer_.input("hidden_states", {shape_.batch, shape_.sequence, shape_.hidden}, -1.7F, 1.7F);
    if (settings_.text("mask") == "yes") mask_ = mask();
    for (std::int64_t i = 0; i < settings_.number("layers"); ++i) x = layer(fmt::format("encoder.layer.{}", i), x);
    writer_.output(x);
    Network network = writer_.finish();
    network.scenario = settings_.text("embeddings") == "yes" ? "a sequence of random tokens"
                                                             : "a sequence of random embeddings, unit variance";
    return network;
  }

 private:
  /// x W + b over the last axis; Xavier scale.
  Value linear(const std::string& name, const Value& x, std::int64_t outputs) {
    const std::int64_t inputs = x.shape.back();
    model::Shape shape = x.shape;
    shape.back() = outputs;
    const float gain = 2.0F * static_cast<float>(inputs) / static_cast<float>(inputs + outputs);
    const Value product = writer_.node("MatMul", name + ".MatMul",
                                       {x, writer_.weights(name + ".weight", {inputs, outputs}, inputs, gain)}, shape);
    return writer_.node("Add", name + ".Add", {writer_.drawn(name + ".bias", {outputs}, -0.05F, 0.05F), product},
                        shape);
  }

  Value layer_norm(const std::string& name, const Value& x) {
    return writer_.node("LayerNormalization", name,
                        {x, writer_.drawn(name + ".weight", {shape_.hidden}, 0.8F, 1.2F),
                         writer_.drawn(name + ".bias", {shape_.hidden}, -0.1F, 0.1F)},
                        x.shape, {{"axis", std::int64_t{-1}}, {"epsilon", 1e-12F}});
  }

  /// [B, S, H] -> [B, heads, S, head] (or [B, heads, head, S] for keys).
  Value split_heads(const std::string& name, const Value& x, bool keys) {
    const model::Shape parts = {shape_.batch, shape_.sequence, shape_.heads, shape_.head()};
    const Value reshaped =
        writer_.node("Reshape", name + ".Reshape", {x, writer_.integers(name + ".shape", parts)}, parts);
    const std::vector<std::int64_t> order =
        keys ? std::vector<std::int64_t>{0, 2, 3, 1} : std::vector<std::int64_t>{0, 2, 1, 3};
    model::Shape shape;
    for (const std::int64_t axis : order) shape.push_back(parts[static_cast<std::size_t>(axis)]);
    return writer_.node("Transpose", name + ".Transpose", {reshaped}, shape, {{"perm", order}});
  }

  Value attention(const std::string& name, const Value& x) {
    const Value q = split_heads(name + ".q", linear(name + ".query", x, shape_.hidden), false);
    const Value k = split_heads(name + ".k", linear(name + ".key", x, shape_.hidden), true);
    const Value v = split_heads(name + ".v", linear(name + ".value", x, shape_.hidden), false);
    const model::Shape square = {shape_.batch, shape_.heads, shape_.sequence, shape_.sequence};
    Value scores = writer_.node("MatMul", name + ".scores", {q, k}, square);
    scores =
        writer_.node("Div", name + ".scale",
                     {scores, writer_.scalar(name + ".root", std::sqrt(static_cast<float>(shape_.head())))}, square);
    if (!mask_.name.empty()) scores = writer_.node("Add", name + ".mask", {scores, mask_}, square);
    scores = writer_.node("Softmax", name + ".Softmax", {scores}, square, {{"axis", std::int64_t{-1}}});
    const Value context = writer_.node("MatMul", name + ".context", {scores, v}, q.shape);
    const Value joined = writer_.node("Transpose", name + ".join", {context},
                                      {shape_.batch, shape_.sequence, shape_.heads, shape_.head()},
                                      {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}});
    const model::Shape shape = {shape_.batch, shape_.sequence, shape_.hidden};
    return writer_.node("Reshape", name + ".merge", {joined, writer_.integers(name + ".merged", shape)}, shape);
  }

  /// x/2 (1 + erf(x / sqrt 2)), in the five operators of the exporters.
  Value gelu(const std::string& name, const Value& x) {
    const auto with = [&](const std::string& op, const std::string& part, const Value& a, float value) {
      return writer_.node(op, name + "." + part, {a, writer_.scalar(name + "." + part + "_value", value)}, x.shape);
    };
    Value y = with("Div", "Div", x, 1.41421356F);
    y = writer_.node("Erf", name + ".Erf", {y}, x.shape);
    y = with("Add", "Add", y, 1.0F);
    y = writer_.node("Mul", name + ".Mul", {x, y}, x.shape);
    return with("Mul", "half", y, 0.5F);
  }

  Value layer(const std::string& name, const Value& x) {
    const Value context = attention(name + ".attention.self", x);
    Value y = linear(name + ".attention.output.dense", context, shape_.hidden);
    y = writer_.node("Add", name + ".attention.output.Add", {y, x}, x.shape);
    const Value attended = layer_norm(name + ".attention.output.LayerNorm", y);
    y = gelu(name + ".intermediate.gelu", linear(name + ".intermediate.dense", attended, shape_.intermediate));
    y = linear(name + ".output.dense", y, shape_.hidden);
    y = writer_.node("Add", name + ".output.Add", {y, attended}, x.shape);
    return layer_norm(name + ".output.LayerNorm", y);
  }

  /// Word, position and type of every token.
  Value embeddings() {
    const std::int64_t words = settings_.number("vocabulary");
    model::Tensor ids(model::Type::i64, {shape_.batch, shape_.sequence}), types = ids;
    Random random(settings_.seed(), "bert/input_ids");
    for (std::int64_t i = 0; i < ids.elements(); ++i) {
      ids.set(i, static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(words))));
      types.set(i, std::int64_t{i % shape_.sequence >= shape_.sequence / 2 ? 1 : 0});
    }
    const model::Shape shape = {shape_.batch, shape_.sequence, shape_.hidden};
    const auto looked_up = [&](const std::string& what, std::int64_t rows, const Value& index,
                               const model::Shape& result) {
      const std::string name = "embeddings." + what;
      return writer_.node("Gather", name, {writer_.drawn(name + ".weight", {rows, shape_.hidden}, -1.0F, 1.0F), index},
                          result, {{"axis", std::int64_t{0}}});
    };
    const Value word = looked_up("word", words, writer_.input("input_ids", ids), shape);
    const Value type = looked_up("token_type", 2, writer_.input("token_type_ids", types), shape);
    Value x = writer_.node("Add", "embeddings.Add", {word, type}, shape);
    x = writer_.node("Add", "embeddings.position.Add",
                     {x, writer_.drawn("embeddings.position.weight", {1, shape_.sequence, shape_.hidden}, -1.0F, 1.0F)},
                     shape);
    return layer_norm("embeddings.LayerNorm", x);
  }

  /// 0 where a token counts, -10000 where it does not: [B, 1, 1, S]. The last eighth of the sequence does not.
  Value mask() {
    model::Tensor counts(model::Type::i64, {shape_.batch, shape_.sequence});
    for (std::int64_t i = 0; i < counts.elements(); ++i)
      counts.set(i, std::int64_t{i % shape_.sequence < shape_.sequence - shape_.sequence / 8 ? 1 : 0});
    const model::Shape shape = {shape_.batch, 1, 1, shape_.sequence};
    Value x = writer_.input("attention_mask", counts);
    x = writer_.node("Unsqueeze", "mask.Unsqueeze", {x, writer_.integers("mask.axes", {1, 2})}, shape);
    x = writer_.node("Cast", "mask.Cast", {x}, shape,
                     {{"to", settings_.type() == model::Type::f16 ? std::int64_t{10} : std::int64_t{1}}});
    x = writer_.node("Sub", "mask.Sub", {writer_.scalar("mask.one", 1.0F), x}, shape);
    return writer_.node("Mul", "mask.Mul", {x, writer_.scalar("mask.away", -10000.0F)}, shape);
  }

  NetworkWriter writer_;
  const Settings& settings_;
  BertShape shape_;
  Value mask_;
};

Network build_bert(const Settings& settings) {
  const BertShape shape{settings.number("batch"), settings.number("sequence"), settings.number("hidden"),
                        settings.number("heads"), settings.number("intermediate")};
  if (shape.hidden % shape.heads != 0)
    settings.refuse("hidden is no multiple of heads", "hidden=768 with heads=12 is BERT-Base");
  return BertWriter(settings, shape).build();
}

}  // namespace

Example bert() {
  return {"bert",
          "BERT-Base encoder for text, sequence 128",
          "Devlin et al., BERT: Pre-training of Deep Bidirectional Transformers (2018)",
          "seeded (Xavier scale)",
          "c2",
          {number("batch", 1, 1, 32, "sequences at once"), dtype(), number("layers", 12, 1, 48, "encoder layers"),
           number("sequence", 128, 2, 4096, "tokens of a sequence"),
           number("hidden", 768, 4, 4096, "features of a token"), number("heads", 12, 1, 64, "attention heads"),
           number("intermediate", 3072, 4, 16384, "features between the two products of a layer"),
           choice("embeddings", "no", {"no", "yes"}, "token numbers come in and are looked up on the device"),
           choice("mask", "no", {"no", "yes"}, "an attention mask comes in"),
           number("vocabulary", 30522, 2, 100000, "rows of the table of words")},
          build_bert};
}

}  // namespace tessera::examples
