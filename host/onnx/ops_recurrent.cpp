// Recurrent layers: LSTM, GRU, RNN, with their activations spelled out for every direction.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>

#include "host/onnx/ops.h"

namespace tessera::model {

namespace {

struct Activation {
  const char* name;
  bool has_alpha, has_beta;
  float alpha, beta;  ///< defaults
};
constexpr Activation kActivations[] = {{"Affine", true, true, 1, 0},
                                       {"Elu", true, false, 1, 0},
                                       {"HardSigmoid", true, true, 0.2F, 0.5F},
                                       {"LeakyRelu", true, false, 0.01F, 0},
                                       {"Relu", false, false, 0, 0},
                                       {"ScaledTanh", true, true, 1, 1},
                                       {"Sigmoid", false, false, 0, 0},
                                       {"Softplus", false, false, 0, 0},
                                       {"Softsign", false, false, 0, 0},
                                       {"Tanh", false, false, 0, 0},
                                       {"ThresholdedRelu", true, false, 1, 0}};

const Activation& activation(const Reading& r, const std::string& name) {
  const auto same = [&](const Activation& candidate) {
    const std::string other = candidate.name;
    return std::equal(name.begin(), name.end(), other.begin(), other.end(), [](char a, char b) {
      return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
    });
  };
  const auto* found = std::find_if(std::begin(kActivations), std::end(kActivations), same);
  if (found == std::end(kActivations)) r.refuse(fmt::format("activation '{}'", name));
  return *found;
}

std::int64_t gates(Op op) { return op == Op::LSTM ? 4 : op == Op::GRU ? 3 : 1; }

std::vector<std::string> standard_activations(Op op) {
  if (op == Op::LSTM) return {"Sigmoid", "Tanh", "Tanh"};
  if (op == Op::GRU) return {"Sigmoid", "Tanh"};
  return {"Tanh"};
}

/// Given names and numbers, or the defaults for every direction.
void set_activations(const Reading& r, RecurrentAttributes& a, std::size_t directions) {
  const std::vector<std::string> standard = standard_activations(r.node.op);
  std::vector<std::string> names = r.texts("activations");
  if (names.empty())
    for (std::size_t d = 0; d < directions; ++d) names.insert(names.end(), standard.begin(), standard.end());
  if (names.size() != directions * standard.size())
    r.fail(fmt::format("{} activations instead of {}", names.size(), directions * standard.size()));
  const std::vector<float> alphas = r.reals("activation_alpha"), betas = r.reals("activation_beta");
  std::size_t alpha = 0, beta = 0;
  for (const std::string& name : names) {
    const Activation& known = activation(r, name);
    a.activations.emplace_back(known.name);
    // Numbers are used up in the order of the activations that take one.
    a.alpha.push_back(known.has_alpha && alpha < alphas.size() ? alphas[alpha++] : known.alpha);
    a.beta.push_back(known.has_beta && beta < betas.size() ? betas[beta++] : known.beta);
  }
}

void translate_recurrent(Reading& r) {
  RecurrentAttributes a;
  const std::string direction = r.text("direction", "forward");
  if (direction == "reverse")
    a.direction = RecurrentAttributes::Direction::reverse;
  else if (direction == "bidirectional")
    a.direction = RecurrentAttributes::Direction::bidirectional;
  else if (direction != "forward")
    r.fail(fmt::format("direction '{}'", direction));
  if (r.rank(2) != 3) r.fail(fmt::format("recurrent weights {}", to_string(r.shape(2))));
  a.hidden = r.integer("hidden_size", r.shape(2)[2]);
  if (a.hidden < 1 || a.hidden > std::numeric_limits<std::int32_t>::max())
    r.fail(fmt::format("hidden_size {}", a.hidden));
  set_activations(r, a, a.direction == RecurrentAttributes::Direction::bidirectional ? 2 : 1);
  if (r.given("clip")) a.clip = r.real("clip", 0);
  a.linear_before_reset = r.flag("linear_before_reset");
  a.input_forget = r.flag("input_forget");
  a.batch_first = r.flag("layout");
  r.node.attributes = a;
}

Inferred infer_recurrent(const Inference& i) {
  const auto& a = i.attributes<RecurrentAttributes>();
  if (i.rank() != 3) misfit(fmt::format("it takes three axes, not {}", to_string(i.shape())));
  const Op op = i.node().op;
  const std::int64_t directions = a.direction == RecurrentAttributes::Direction::bidirectional ? 2 : 1;
  const std::int64_t steps = i.shape()[a.batch_first ? 1 : 0], batch = i.shape()[a.batch_first ? 0 : 1];
  const std::int64_t rows = gates(op) * a.hidden;
  (void)i.in(2);
  for (std::size_t k = 1; k < i.node().inputs.size(); ++k)
    if (k != 4) i.same_type(0, k);
  i.expect_shape(1, {directions, rows, i.shape()[2]});
  i.expect_shape(2, {directions, rows, a.hidden});
  i.expect_shape(3, {directions, 2 * rows});
  i.expect_shape(4, {batch});
  i.expect_type(4, kIndex);
  const Shape state = a.batch_first ? Shape{batch, directions, a.hidden} : Shape{directions, batch, a.hidden};
  i.expect_shape(5, state);
  i.expect_shape(6, state);
  i.expect_shape(7, {directions, 3 * a.hidden});
  const Shape all =
      a.batch_first ? Shape{batch, steps, directions, a.hidden} : Shape{steps, directions, batch, a.hidden};
  return {{i.type(), all}, {i.type(), state}, {i.type(), state}};
}

}  // namespace

std::vector<Operator> recurrent_operators() {
  return {{Op::GRU, kReal, translate_recurrent, infer_recurrent},
          {Op::LSTM, kReal, translate_recurrent, infer_recurrent},
          {Op::RNN, kReal, translate_recurrent, infer_recurrent}};
}

}  // namespace tessera::model
