// Recurrences of 5 to 50 steps: both directions, peepholes, clip, initial states, sequences of unequal length.
#include <algorithm>
#include <cmath>

#include "verif/nn/cases.h"

namespace tessera::verif_nn {

using exact::Array;
using exact::Recurrence;

namespace {

struct Options {
  const char* name;
  Recurrence::Cell cell;
  const char* direction;
  std::int64_t steps, batch, input, hidden;
  bool bias = true, states = false, peepholes = false, lengths = false, linear_before_reset = false;
  double clip = 0.0;
  bool other_activations = false;
};

std::vector<Options> options() {
  using Cell = Recurrence::Cell;
  return {
      {"lstm_50_steps", Cell::lstm, "forward", 50, 1, 8, 16},
      {"lstm_bidirectional", Cell::lstm, "bidirectional", 12, 2, 6, 8, true, true},
      {"lstm_peepholes_reverse", Cell::lstm, "reverse", 7, 2, 5, 6, true, true, true},
      {"lstm_clip", Cell::lstm, "forward", 9, 1, 8, 8, true, false, false, false, false, 0.4},
      {"lstm_unequal_lengths", Cell::lstm, "bidirectional", 10, 3, 4, 8, true, true, false, true},
      {"lstm_other_activations", Cell::lstm, "forward", 6, 1, 4, 8, true, false, false, false, false, 0.0, true},
      {"gru_50_steps", Cell::gru, "forward", 50, 1, 8, 16},
      {"gru_bidirectional_linear_before_reset", Cell::gru, "bidirectional", 12, 2, 6, 8, true, true, false, false,
       true},
      {"gru_clip_reverse", Cell::gru, "reverse", 8, 1, 8, 8, true, false, false, false, false, 0.5},
      {"gru_unequal_lengths", Cell::gru, "bidirectional", 9, 3, 4, 8, true, true, false, true},
      {"rnn_50_steps", Cell::rnn, "forward", 50, 2, 8, 16},
      {"rnn_bidirectional", Cell::rnn, "bidirectional", 11, 2, 6, 8, true, true},
      {"rnn_clip_without_bias", Cell::rnn, "forward", 5, 1, 4, 8, false, false, false, false, false, 0.3},
  };
}

const char* name_of(Recurrence::Cell cell) {
  return cell == Recurrence::Cell::lstm ? "LSTM" : cell == Recurrence::Cell::gru ? "GRU" : "RNN";
}

Case make(const Options& o, model::Type type) {
  // A state is rounded in every step, and what is left of that shrinks from step to step.
  Maker maker(o.name, type, type == model::Type::f16 ? 12.0 : 64.0);
  const bool lstm = o.cell == Recurrence::Cell::lstm;
  const std::int64_t gates = lstm ? 4 : o.cell == Recurrence::Cell::gru ? 3 : 1;
  const std::int64_t dirs = std::string(o.direction) == "bidirectional" ? 2 : 1;
  const double scale = 1.0 / std::sqrt(static_cast<double>(o.hidden));
  Recurrence q;
  q.cell = o.cell;
  q.direction = o.direction;
  q.clip = static_cast<float>(o.clip);
  q.linear_before_reset = o.linear_before_reset;
  q.x = maker.input("x", {o.steps, o.batch, o.input}, 1.0);
  q.w = maker.weight("w", {dirs, gates * o.hidden, o.input}, scale);
  q.r = maker.weight("r", {dirs, gates * o.hidden, o.hidden}, scale);
  std::vector<std::string> operands = {"x", "w", "r", "", "", "", "", ""};
  if (o.bias) {
    q.b = maker.weight("b", {dirs, 2 * gates * o.hidden}, scale);
    operands[3] = "b";
  }
  if (o.lengths) {
    model::Tensor lengths(model::Type::i32, {o.batch});
    for (std::int64_t n = 0; n < o.batch; ++n) {
      q.lengths.push_back(std::max<std::int64_t>(1, o.steps - 3 * n));
      lengths.set(n, static_cast<std::int32_t>(q.lengths.back()));
    }
    maker.constant("lengths", lengths);
    operands[4] = "lengths";
  }
  if (o.states) {
    q.h0 = maker.weight("h0", {dirs, o.batch, o.hidden}, 0.5);
    operands[5] = "h0";
    if (lstm) {
      q.c0 = maker.weight("c0", {dirs, o.batch, o.hidden}, 0.5);
      operands[6] = "c0";
    }
  }
  if (o.peepholes) {
    q.p = maker.weight("p", {dirs, 3 * o.hidden}, 0.5);
    operands[7] = "p";
  }
  while (operands.back().empty()) operands.pop_back();
  std::map<std::string, model::TestAttribute> attributes = {{"hidden_size", o.hidden},
                                                            {"direction", model::TestText{o.direction}}};
  if (o.clip > 0.0) attributes["clip"] = static_cast<float>(o.clip);
  if (o.linear_before_reset) attributes["linear_before_reset"] = std::int64_t{1};
  if (o.other_activations) {
    attributes["activations"] = model::TestTexts{{"HardSigmoid", "Softsign", "Relu"}};
    q.activations = {[](double x) { return std::max(0.0, std::min(1.0, static_cast<double>(0.2F) * x + 0.5)); },
                     [](double x) { return x / (1.0 + std::fabs(x)); }, [](double x) { return std::max(x, 0.0); }};
  }
  std::vector<std::string> outputs = {"y", "y_h"};
  if (lstm) outputs.emplace_back("y_c");
  maker.node(name_of(o.cell), operands, outputs, attributes);
  exact::States states = exact::recurrence(q);
  maker.output("y", std::move(states.y));
  maker.output("y_h", std::move(states.h));
  if (lstm) maker.output("y_c", std::move(states.c));
  return maker.finish();
}

}  // namespace

void recurrence_cases(model::Type type, std::vector<Case>& cases) {
  for (const Options& o : options()) cases.push_back(make(o, type));
}

}  // namespace tessera::verif_nn
