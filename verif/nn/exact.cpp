#include "verif/nn/exact.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace tessera::exact {

Array::Array(std::vector<std::int64_t> extents) : shape(std::move(extents)) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  v.assign(static_cast<std::size_t>(count), 0.0);
}

namespace {

/// Four-dimensional, so that one loop nest serves 1-D and 2-D: a missing height is 1.
struct Field {
  std::int64_t n, c, h, w;
};
Field field_of(const Array& x) {
  if (x.shape.size() == 3) return {x.shape[0], x.shape[1], 1, x.shape[2]};
  return {x.shape.at(0), x.shape.at(1), x.shape.at(2), x.shape.at(3)};
}
struct Geometry {
  std::int64_t stride[2] = {1, 1}, dilation[2] = {1, 1}, begin[2] = {0, 0}, end[2] = {0, 0};
};
Geometry geometry_of(const Convolution& c, std::size_t rank) {
  Geometry g;
  for (std::size_t k = 0; k < rank; ++k) {
    const std::size_t at = k + 2 - rank;
    g.stride[at] = c.strides.at(k);
    g.dilation[at] = c.dilations.at(k);
    g.begin[at] = c.begin.at(k);
    g.end[at] = c.end.at(k);
  }
  return g;
}
std::vector<std::int64_t> shape_of(std::size_t rank, std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
  if (rank == 1) return {n, c, w};
  return {n, c, h, w};
}

}  // namespace

Array convolution(const Array& x, const Array& w, const Array* bias, const Convolution& c) {
  const std::size_t rank = x.shape.size() - 2;
  const Field in = field_of(x), kernel = field_of(w);
  const Geometry g = geometry_of(c, rank);
  const auto extent = [&](int k, std::int64_t size, std::int64_t taps) {
    return (size + g.begin[k] + g.end[k] - (taps - 1) * g.dilation[k] - 1) / g.stride[k] + 1;
  };
  const std::int64_t rows = extent(0, in.h, kernel.h), columns = extent(1, in.w, kernel.w);
  Array y(shape_of(rank, in.n, kernel.n, rows, columns));
  const std::int64_t outputs = kernel.n / c.group;
  for (std::int64_t n = 0; n < in.n; ++n)
    for (std::int64_t m = 0; m < kernel.n; ++m)
      for (std::int64_t oy = 0; oy < rows; ++oy)
        for (std::int64_t ox = 0; ox < columns; ++ox) {
          double sum = bias == nullptr ? 0.0 : (*bias)[m];
          for (std::int64_t ch = 0; ch < kernel.c; ++ch)
            for (std::int64_t ky = 0; ky < kernel.h; ++ky)
              for (std::int64_t kx = 0; kx < kernel.w; ++kx) {
                const std::int64_t iy = oy * g.stride[0] + ky * g.dilation[0] - g.begin[0];
                const std::int64_t ix = ox * g.stride[1] + kx * g.dilation[1] - g.begin[1];
                if (iy < 0 || iy >= in.h || ix < 0 || ix >= in.w) continue;
                const std::int64_t channel = m / outputs * kernel.c + ch;
                sum += x[((n * in.c + channel) * in.h + iy) * in.w + ix] *
                       w[((m * kernel.c + ch) * kernel.h + ky) * kernel.w + kx];
              }
          y[((n * kernel.n + m) * rows + oy) * columns + ox] = sum;
        }
  return y;
}

Array transposed_convolution(const Array& x, const Array& w, const Array* bias, const Convolution& c) {
  const std::size_t rank = x.shape.size() - 2;
  const Field in = field_of(x), kernel = field_of(w);
  const Geometry g = geometry_of(c, rank);
  const auto extent = [&](int k, std::int64_t size, std::int64_t taps) {
    return (size - 1) * g.stride[k] + (taps - 1) * g.dilation[k] + 1 - g.begin[k] - g.end[k];
  };
  const std::int64_t rows = extent(0, in.h, kernel.h), columns = extent(1, in.w, kernel.w);
  const std::int64_t outputs = kernel.c * c.group, group_inputs = in.c / c.group;
  Array y(shape_of(rank, in.n, outputs, rows, columns));
  // Gathered at each output: the input position whose tap falls here.
  for (std::int64_t n = 0; n < in.n; ++n)
    for (std::int64_t m = 0; m < outputs; ++m)
      for (std::int64_t oy = 0; oy < rows; ++oy)
        for (std::int64_t ox = 0; ox < columns; ++ox) {
          double sum = bias == nullptr ? 0.0 : (*bias)[m];
          for (std::int64_t ky = 0; ky < kernel.h; ++ky)
            for (std::int64_t kx = 0; kx < kernel.w; ++kx) {
              const std::int64_t sy = oy + g.begin[0] - ky * g.dilation[0], sx = ox + g.begin[1] - kx * g.dilation[1];
              if (sy < 0 || sx < 0 || sy % g.stride[0] != 0 || sx % g.stride[1] != 0) continue;
              const std::int64_t iy = sy / g.stride[0], ix = sx / g.stride[1];
              if (iy >= in.h || ix >= in.w) continue;
              const std::int64_t group = m / kernel.c;
              for (std::int64_t ch = group * group_inputs; ch < (group + 1) * group_inputs; ++ch)
                sum += x[((n * in.c + ch) * in.h + iy) * in.w + ix] *
                       w[((ch * kernel.c + m % kernel.c) * kernel.h + ky) * kernel.w + kx];
            }
          y[((n * outputs + m) * rows + oy) * columns + ox] = sum;
        }
  return y;
}

Array product(const Array& a, const Array& b) {
  const std::int64_t m = a.shape.at(a.shape.size() - 2), k = a.shape.back(), n = b.shape.back();
  if (b.shape.at(b.shape.size() - 2) != k) throw std::logic_error("exact: inner extents differ");
  std::vector<std::int64_t> shape = a.shape;
  shape.back() = n;
  Array y(shape);
  const std::int64_t planes = a.size() / (m * k);
  for (std::int64_t plane = 0; plane < planes; ++plane)
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0.0;
        for (std::int64_t t = 0; t < k; ++t)
          sum += a[(plane * m + i) * k + t] * b[(b.shape.size() == 2 ? 0 : plane * k * n) + t * n + j];
        y[(plane * m + i) * n + j] = sum;
      }
  return y;
}

Array map(const Array& x, const std::function<double(double)>& f) {
  Array y = x;
  for (double& value : y.v) value = f(value);
  return y;
}

Array combine(const Array& a, const Array& b, const std::function<double(double, double)>& f) {
  Array y = a;
  for (std::int64_t i = 0; i < y.size(); ++i) y[i] = f(a[i], b[i % b.size()]);
  return y;
}

Array add(const Array& a, const Array& b) {
  return combine(a, b, [](double x, double y) { return x + y; });
}

Array softmax(const Array& x) {
  Array y = x;
  const std::int64_t n = x.shape.back();
  for (std::int64_t row = 0; row < x.size() / n; ++row) {
    double sum = 0.0;
    for (std::int64_t i = 0; i < n; ++i) sum += std::exp(x[row * n + i]);
    for (std::int64_t i = 0; i < n; ++i) y[row * n + i] = std::exp(x[row * n + i]) / sum;
  }
  return y;
}

Array layer_norm(const Array& x, const Array& scale, const Array& bias, double epsilon) {
  Array y = x;
  const std::int64_t n = x.shape.back();
  for (std::int64_t row = 0; row < x.size() / n; ++row) {
    double sum = 0.0, squares = 0.0;
    for (std::int64_t i = 0; i < n; ++i) sum += x[row * n + i];
    const double mean = sum / static_cast<double>(n);
    for (std::int64_t i = 0; i < n; ++i) squares += std::pow(x[row * n + i] - mean, 2.0);
    const double deviation = std::sqrt(squares / static_cast<double>(n) + epsilon);
    for (std::int64_t i = 0; i < n; ++i) y[row * n + i] = (x[row * n + i] - mean) / deviation * scale[i] + bias[i];
  }
  return y;
}

Array permuted(const Array& x, const std::vector<std::int64_t>& order) {
  const std::size_t rank = order.size();
  std::vector<std::int64_t> shape, stride(rank, 1);
  for (std::size_t k = rank; k-- > 1;) stride[k - 1] = stride[k] * x.shape[k];
  for (const std::int64_t axis : order) shape.push_back(x.shape[static_cast<std::size_t>(axis)]);
  Array y(shape);
  for (std::int64_t flat = 0; flat < y.size(); ++flat) {
    std::int64_t rest = flat, from = 0;
    for (std::size_t k = rank; k-- > 0; rest /= shape[k])
      from += rest % shape[k] * stride[static_cast<std::size_t>(order[k])];
    y[flat] = x[from];
  }
  return y;
}

Array reshaped(Array x, std::vector<std::int64_t> shape) {
  x.shape = std::move(shape);
  return x;
}

namespace {

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
double hyperbolic(double x) { return std::tanh(x); }

/// One sequence in one direction, element by element as the formulas stand.
class Run {
 public:
  Run(const Recurrence& q, std::int64_t direction, std::int64_t sequence)
      : q_(q), d_(direction), n_(sequence), hidden_(q.r.shape.at(2)), gates_(q.r.shape.at(1) / hidden_) {
    using Cell = Recurrence::Cell;
    f_ = q.activations;
    if (f_.empty() && q.cell == Cell::rnn) f_ = {hyperbolic};
    if (f_.empty() && q.cell == Cell::gru) f_ = {sigmoid, hyperbolic};
    if (f_.empty()) f_ = {sigmoid, hyperbolic, hyperbolic};
  }

  void run(States& states) {
    const std::int64_t steps = q_.x.shape[0], batch = q_.x.shape[1], dirs = q_.w.shape[0];
    const std::int64_t length = q_.lengths.empty() ? steps : q_.lengths.at(static_cast<std::size_t>(n_));
    const std::int64_t base = (d_ * batch + n_) * hidden_;
    h_.assign(static_cast<std::size_t>(hidden_), 0.0);
    c_ = h_;
    for (std::int64_t j = 0; j < hidden_; ++j) {
      if (q_.h0.size() > 0) h_[at(j)] = q_.h0[base + j];
      if (q_.c0.size() > 0) c_[at(j)] = q_.c0[base + j];
    }
    const bool backward = q_.direction == "reverse" || d_ == 1;
    for (std::int64_t s = 0; s < length; ++s) {
      t_ = backward ? length - 1 - s : s;
      if (q_.cell == Recurrence::Cell::lstm) lstm();
      if (q_.cell == Recurrence::Cell::gru) gru();
      if (q_.cell == Recurrence::Cell::rnn) rnn();
      for (std::int64_t j = 0; j < hidden_; ++j) states.y[((t_ * dirs + d_) * batch + n_) * hidden_ + j] = h_[at(j)];
    }
    for (std::int64_t j = 0; j < hidden_; ++j) {
      states.h[base + j] = h_[at(j)];
      states.c[base + j] = c_[at(j)];
    }
  }

 private:
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] double clipped(double x) const { return q_.clip > 0.0 ? std::min(std::max(x, -q_.clip), q_.clip) : x; }
  [[nodiscard]] double act(int i, double x) const { return f_.at(at(i))(clipped(x)); }
  [[nodiscard]] double bias(std::int64_t part, std::int64_t gate, std::int64_t j) const {
    return q_.b.size() == 0 ? 0.0 : q_.b[((d_ * 2 + part) * gates_ + gate) * hidden_ + j];
  }
  [[nodiscard]] double from_x(std::int64_t gate, std::int64_t j) const {
    const std::int64_t inputs = q_.x.shape[2], row = (d_ * gates_ + gate) * hidden_ + j;
    double sum = 0.0;
    for (std::int64_t i = 0; i < inputs; ++i)
      sum += q_.w[row * inputs + i] * q_.x[(t_ * q_.x.shape[1] + n_) * inputs + i];
    return sum;
  }
  [[nodiscard]] double from_h(std::int64_t gate, std::int64_t j, const std::vector<double>& h) const {
    double sum = 0.0;
    for (std::int64_t i = 0; i < hidden_; ++i)
      sum += q_.r[((d_ * gates_ + gate) * hidden_ + j) * hidden_ + i] * h[at(i)];
    return sum;
  }
  [[nodiscard]] double gate_sum(std::int64_t gate, std::int64_t j) const {
    return from_x(gate, j) + from_h(gate, j, h_) + bias(0, gate, j) + bias(1, gate, j);
  }
  [[nodiscard]] double peephole(std::int64_t which, std::int64_t j) const {
    return q_.p.size() == 0 ? 0.0 : q_.p[(d_ * 3 + which) * hidden_ + j];
  }

  void lstm() {
    std::vector<double> h = h_, c = c_;
    for (std::int64_t j = 0; j < hidden_; ++j) {
      const double i = act(0, gate_sum(0, j) + peephole(0, j) * c_[at(j)]);
      const double f = act(0, gate_sum(2, j) + peephole(2, j) * c_[at(j)]);
      c[at(j)] = f * c_[at(j)] + i * act(1, gate_sum(3, j));
      const double o = act(0, gate_sum(1, j) + peephole(1, j) * c[at(j)]);
      h[at(j)] = o * act(2, c[at(j)]);
    }
    h_ = h;
    c_ = c;
  }

  void gru() {
    std::vector<double> z(at(hidden_)), r(at(hidden_)), reset(at(hidden_)), h(at(hidden_));
    for (std::int64_t j = 0; j < hidden_; ++j) {
      z[at(j)] = act(0, gate_sum(0, j));
      r[at(j)] = act(0, gate_sum(1, j));
      reset[at(j)] = r[at(j)] * h_[at(j)];
    }
    for (std::int64_t j = 0; j < hidden_; ++j) {
      const double past =
          q_.linear_before_reset ? r[at(j)] * (from_h(2, j, h_) + bias(1, 2, j)) : from_h(2, j, reset) + bias(1, 2, j);
      h[at(j)] = (1.0 - z[at(j)]) * act(1, from_x(2, j) + bias(0, 2, j) + past) + z[at(j)] * h_[at(j)];
    }
    h_ = h;
  }

  void rnn() {
    std::vector<double> h(at(hidden_));
    for (std::int64_t j = 0; j < hidden_; ++j) h[at(j)] = act(0, gate_sum(0, j));
    h_ = h;
  }

  const Recurrence& q_;
  std::int64_t d_, n_, hidden_, gates_, t_ = 0;
  std::vector<double> h_, c_;
  std::vector<std::function<double(double)>> f_;
};

}  // namespace

States recurrence(const Recurrence& q) {
  const std::int64_t dirs = q.w.shape.at(0), hidden = q.r.shape.at(2), batch = q.x.shape.at(1);
  States states = {Array({q.x.shape[0], dirs, batch, hidden}), Array({dirs, batch, hidden}),
                   Array({dirs, batch, hidden})};
  for (std::int64_t d = 0; d < dirs; ++d)
    for (std::int64_t n = 0; n < batch; ++n) Run(q, d, n).run(states);
  return states;
}

}  // namespace tessera::exact
