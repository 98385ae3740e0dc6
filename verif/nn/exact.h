// A second, independent statement of what operators compute, in double precision and in the plainest loops: expected
// values for tests of the reference and of the machine. Shares no code with host/golden.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tessera::exact {

struct Array {
  std::vector<std::int64_t> shape;
  std::vector<double> v;  ///< row-major

  Array() = default;
  explicit Array(std::vector<std::int64_t> extents);
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(v.size()); }
  double& operator[](std::int64_t i) { return v[static_cast<std::size_t>(i)]; }
  double operator[](std::int64_t i) const { return v[static_cast<std::size_t>(i)]; }
};

/// Groups, strides, dilation and padding of a convolution, one entry a spatial axis (one or two axes).
struct Convolution {
  std::int64_t group = 1;
  std::vector<std::int64_t> strides, dilations, begin, end;
};
[[nodiscard]] Array convolution(const Array& x, const Array& w, const Array* bias, const Convolution& c);
/// By definition the adjoint of the above: weights [in channels, out channels / group, ...].
[[nodiscard]] Array transposed_convolution(const Array& x, const Array& w, const Array* bias, const Convolution& c);

/// [..., m, k] x [..., k, n]; leading axes equal, or b without any.
[[nodiscard]] Array product(const Array& a, const Array& b);
[[nodiscard]] Array map(const Array& x, const std::function<double(double)>& f);
/// Shapes equal, or b's a tail of a's.
[[nodiscard]] Array combine(const Array& a, const Array& b, const std::function<double(double, double)>& f);
[[nodiscard]] Array add(const Array& a, const Array& b);
/// Over the last axis.
[[nodiscard]] Array softmax(const Array& x);
[[nodiscard]] Array layer_norm(const Array& x, const Array& scale, const Array& bias, double epsilon);
[[nodiscard]] Array permuted(const Array& x, const std::vector<std::int64_t>& order);
[[nodiscard]] Array reshaped(Array x, std::vector<std::int64_t> shape);

/// A recurrence of one or two directions. Weights as ONNX has them: w [dirs, gates H, I], r [dirs, gates H, H], b
/// [dirs, 2 gates H], p [dirs, 3 H] (LSTM); empty arrays are absent. x [steps, batch, I].
struct Recurrence {
  enum class Cell { rnn, gru, lstm } cell = Cell::lstm;
  std::string direction = "forward";
  Array x, w, r, b, p, h0, c0;
  std::vector<std::int64_t> lengths;  ///< of each sequence; empty: all steps
  double clip = 0.0;                  ///< 0: none
  bool linear_before_reset = false;
  std::vector<std::function<double(double)>> activations;  ///< of one direction, the same for both; empty: defaults
};
struct States {
  Array y, h, c;  ///< [steps, dirs, batch, H], [dirs, batch, H] twice
};
[[nodiscard]] States recurrence(const Recurrence& problem);

}  // namespace tessera::exact
