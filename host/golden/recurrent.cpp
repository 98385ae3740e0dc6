// LSTM, GRU and RNN over whole sequences: states stay in double precision from step to step and are rounded where they
// leave. `clip` bounds the argument of every activation, as ONNX says: of the gates and of the cell's output.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <stdexcept>

#include "host/golden/gemm.h"
#include "host/golden/kernel.h"
#include "host/golden/numbers.h"

namespace tessera::golden {

using model::Op;
using model::RecurrentAttributes;
using model::Shape;
using model::Tensor;

namespace {

using Values = std::vector<double>;

/// An activation by name with its parameters.
struct Activation {
  std::string name;  ///< lower case
  double alpha = 0.0, beta = 0.0, clip = HUGE_VAL;

  double operator()(double x) const {
    x = std::max(-clip, std::min(clip, x));
    if (name == "sigmoid") return 1.0 / (1.0 + std::exp(-x));
    if (name == "tanh") return std::tanh(x);
    if (name == "relu") return std::max(x, 0.0);
    if (name == "affine") return alpha * x + beta;
    if (name == "leakyrelu") return x < 0.0 ? alpha * x : x;
    if (name == "thresholdedrelu") return x > alpha ? x : 0.0;
    if (name == "scaledtanh") return alpha * std::tanh(beta * x);
    if (name == "hardsigmoid") return std::max(0.0, std::min(1.0, alpha * x + beta));
    if (name == "elu") return x < 0.0 ? alpha * std::expm1(x) : x;
    if (name == "softsign") return x / (1.0 + std::fabs(x));
    if (name == "softplus") return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
    throw std::logic_error("reference: no activation " + name);
  }
};

/// Sizes of a node, and its operands as doubles with the sequence outermost.
struct Problem {
  const Call& call;
  const RecurrentAttributes& attributes;
  std::int64_t gates, steps, batch, input, hidden, directions;
  Values x;                           ///< [step][batch][input]
  std::vector<std::int64_t> lengths;  ///< of each sequence
  Values first_h, first_c;            ///< [direction][batch][hidden]
  Values y, last_h, last_c;           ///< results: [step][direction][batch][hidden], [direction][batch][hidden]
};

/// [a][b][rest] to [b][a][rest].
Values swapped(const Values& from, std::int64_t a, std::int64_t b) {
  Values to(from.size());
  const std::int64_t rest = a * b == 0 ? 0 : static_cast<std::int64_t>(from.size()) / (a * b);
  for (std::int64_t i = 0; i < a; ++i)
    for (std::int64_t j = 0; j < b; ++j)
      std::copy_n(from.begin() + (i * b + j) * rest, rest, to.begin() + (j * a + i) * rest);
  return to;
}

Problem problem_of(const Call& call, std::int64_t gates) {
  const auto& attributes = call.attributes<RecurrentAttributes>();
  const Shape& x = call.x().shape;
  const bool first = attributes.batch_first;
  Problem p = {call,
               attributes,
               gates,
               x.at(first ? 1 : 0),
               x.at(first ? 0 : 1),
               x.at(2),
               attributes.hidden,
               call.x(1).shape.at(0),
               {},
               {},
               {},
               {},
               {},
               {},
               {}};
  p.x = first ? swapped(reals(call.x()), p.batch, p.steps) : reals(call.x());
  p.lengths.assign(static_cast<std::size_t>(p.batch), p.steps);
  if (call.has(4)) p.lengths = call.x(4).integers();
  const auto state = static_cast<std::size_t>(p.directions * p.batch * p.hidden);
  const auto initial = [&](std::size_t operand) {
    if (!call.has(operand)) return Values(state, 0.0);
    return first ? swapped(reals(call.x(operand)), p.batch, p.directions) : reals(call.x(operand));
  };
  p.first_h = initial(5);
  p.first_c = initial(6);
  if (p.first_h.size() != state || p.first_c.size() != state || static_cast<std::int64_t>(p.lengths.size()) != p.batch)
    throw std::logic_error("reference: operands of another recurrence");
  p.last_h = p.first_h;
  p.last_c = p.first_c;
  p.y.assign(static_cast<std::size_t>(p.steps) * state, 0.0);
  return p;
}

/// One direction: its weights, and products of states with them.
class Direction {
 public:
  Direction(Problem& problem, std::int64_t index) : p(problem), d(index), rows(p.gates * p.hidden) {
    const Tensor &w = p.call.x(1), &r = p.call.x(2);
    recurrence_.resize(static_cast<std::size_t>(rows * p.hidden));
    for (std::int64_t k = 0; k < p.hidden; ++k)  // transposed: [hidden][gate row]
      read_reals(r, d * rows * p.hidden + k, p.hidden, rows, recurrence_.data() + k * rows);
    w_bias.assign(static_cast<std::size_t>(rows), 0.0);
    r_bias = w_bias;
    if (p.call.has(3)) {
      read_reals(p.call.x(3), d * 2 * rows, 1, rows, w_bias.data());
      read_reals(p.call.x(3), (d * 2 + 1) * rows, 1, rows, r_bias.data());
    }
    from_input.assign(static_cast<std::size_t>(p.steps * p.batch * rows), 0.0);
    const Block x = [this](std::int64_t row, std::int64_t count, std::int64_t column, std::int64_t columns,
                           double* to) {
      for (std::int64_t i = 0; i < count; ++i)
        std::copy_n(p.x.data() + (row + i) * p.input + column, columns, to + i * columns);
    };
    multiply_add(p.steps * p.batch, rows, p.input, x, block_of(w, d * rows * p.input, 1, p.input), from_input.data());
  }

  /// State [hidden] times gate rows [first, first + count) of the recurrence weights.
  [[nodiscard]] Values recurrent(const double* state, std::int64_t first, std::int64_t count) const {
    Values result(static_cast<std::size_t>(count), 0.0);
    for (std::int64_t k = 0; k < p.hidden; ++k) {
      const double* row = recurrence_.data() + k * rows + first;
      for (std::int64_t j = 0; j < count; ++j) result[static_cast<std::size_t>(j)] += state[k] * row[j];
    }
    return result;
  }

  [[nodiscard]] Activation activation(std::size_t i) const {
    const auto& a = p.attributes;
    const std::size_t at =
        static_cast<std::size_t>(d) * a.activations.size() / static_cast<std::size_t>(p.directions) + i;
    Activation result;
    for (const char c : a.activations.at(at))
      result.name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (at < a.alpha.size()) result.alpha = a.alpha[at];
    if (at < a.beta.size()) result.beta = a.beta[at];
    if (a.clip) result.clip = *a.clip;
    return result;
  }

  /// Runs step(x products of the step [gate rows], h, c) over every sequence, in this direction.
  template <typename Step>
  void run(Step step) {
    const bool backward = d == 1 || p.attributes.direction == RecurrentAttributes::Direction::reverse;
    for (std::int64_t b = 0; b < p.batch; ++b) {
      const std::int64_t length = std::clamp<std::int64_t>(p.lengths[static_cast<std::size_t>(b)], 0, p.steps);
      double* h = p.last_h.data() + (d * p.batch + b) * p.hidden;
      double* c = p.last_c.data() + (d * p.batch + b) * p.hidden;
      for (std::int64_t s = 0; s < length; ++s) {
        const std::int64_t t = backward ? length - 1 - s : s;
        step(from_input.data() + (t * p.batch + b) * rows, h, c);
        std::copy_n(h, p.hidden, p.y.data() + ((t * p.directions + d) * p.batch + b) * p.hidden);
      }
    }
  }

  Problem& p;
  std::int64_t d, rows;
  Values w_bias, r_bias;
  Values from_input;  ///< [step][batch][gate rows]: x times W

 private:
  Values recurrence_;
};

/// Y, Y_h and, of an LSTM, Y_c.
std::vector<Tensor> results(Problem& p, bool cell) {
  const model::Type type = p.call.x().type;
  std::vector<Tensor> result;
  if (p.attributes.batch_first) {
    // [steps][directions][batch] to [batch][steps][directions].
    result.push_back(
        rounded(type, {p.batch, p.steps, p.directions, p.hidden}, swapped(p.y, p.steps * p.directions, p.batch)));
    result.push_back(rounded(type, {p.batch, p.directions, p.hidden}, swapped(p.last_h, p.directions, p.batch)));
    if (cell)
      result.push_back(rounded(type, {p.batch, p.directions, p.hidden}, swapped(p.last_c, p.directions, p.batch)));
    return result;
  }
  result.push_back(rounded(type, {p.steps, p.directions, p.batch, p.hidden}, p.y));
  result.push_back(rounded(type, {p.directions, p.batch, p.hidden}, p.last_h));
  if (cell) result.push_back(rounded(type, {p.directions, p.batch, p.hidden}, p.last_c));
  return result;
}

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Gates i, o, f, c; peepholes of i, o, f.
std::vector<Tensor> lstm(const Call& call) {
  Problem p = problem_of(call, 4);
  const std::int64_t n = p.hidden;
  for (std::int64_t d = 0; d < p.directions; ++d) {
    Direction direction(p, d);
    const Activation f = direction.activation(0), g = direction.activation(1), h_of = direction.activation(2);
    Values peephole(at(3 * n), 0.0);
    if (call.has(7)) read_reals(call.x(7), d * 3 * n, 1, 3 * n, peephole.data());
    direction.run([&](const double* x, double* h, double* c) {
      const Values r = direction.recurrent(h, 0, 4 * n);
      for (std::int64_t j = 0; j < n; ++j) {
        const auto sum = [&](std::int64_t gate) {
          const std::int64_t row = gate * n + j;
          return x[row] + r[at(row)] + direction.w_bias[at(row)] + direction.r_bias[at(row)];
        };
        const double i = f(sum(0) + peephole[at(j)] * c[j]);
        const double forget = p.attributes.input_forget ? 1.0 - i : f(sum(2) + peephole[at(2 * n + j)] * c[j]);
        c[j] = forget * c[j] + i * g(sum(3));
        h[j] = f(sum(1) + peephole[at(n + j)] * c[j]) * h_of(c[j]);
      }
    });
  }
  return results(p, true);
}

/// Gates z, r, h.
std::vector<Tensor> gru(const Call& call) {
  Problem p = problem_of(call, 3);
  const std::int64_t n = p.hidden;
  for (std::int64_t d = 0; d < p.directions; ++d) {
    Direction direction(p, d);
    const Activation f = direction.activation(0), g = direction.activation(1);
    direction.run([&](const double* x, double* h, double*) {
      const Values zr = direction.recurrent(h, 0, 2 * n);
      Values z(at(n)), reset(at(n)), masked(at(n));
      for (std::int64_t j = 0; j < n; ++j) {
        const auto gate = [&](std::int64_t row) {
          return f(x[row] + zr[at(row)] + direction.w_bias[at(row)] + direction.r_bias[at(row)]);
        };
        z[at(j)] = gate(j);
        reset[at(j)] = gate(n + j);
        masked[at(j)] = reset[at(j)] * h[j];
      }
      const bool linear = p.attributes.linear_before_reset;
      const Values product = direction.recurrent(linear ? h : masked.data(), 2 * n, n);
      for (std::int64_t j = 0; j < n; ++j) {
        const std::int64_t row = 2 * n + j;
        const double past = product[at(j)] + direction.r_bias[at(row)];
        const double fresh = g(x[row] + direction.w_bias[at(row)] + (linear ? reset[at(j)] * past : past));
        h[j] = (1.0 - z[at(j)]) * fresh + z[at(j)] * h[j];
      }
    });
  }
  return results(p, false);
}

std::vector<Tensor> rnn(const Call& call) {
  Problem p = problem_of(call, 1);
  for (std::int64_t d = 0; d < p.directions; ++d) {
    Direction direction(p, d);
    const Activation f = direction.activation(0);
    direction.run([&](const double* x, double* h, double*) {
      const Values r = direction.recurrent(h, 0, p.hidden);
      for (std::int64_t j = 0; j < p.hidden; ++j)
        h[j] = f(x[j] + r[at(j)] + direction.w_bias[at(j)] + direction.r_bias[at(j)]);
    });
  }
  return results(p, false);
}

}  // namespace

Kernels recurrent_kernels() { return {{Op::GRU, gru}, {Op::LSTM, lstm}, {Op::RNN, rnn}}; }

}  // namespace tessera::golden
