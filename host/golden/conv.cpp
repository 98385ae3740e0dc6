// Convolution and transposed convolution with groups, strides, dilation and padding over any number of spatial axes, in
// double precision, rounded once.
#include <algorithm>
#include <stdexcept>

#include "host/golden/gemm.h"
#include "host/golden/kernel.h"
#include "host/golden/numbers.h"

namespace tessera::golden {

using model::ConvAttributes;
using model::Op;
using model::Shape;
using model::Tensor;

namespace {

/// Where the taps of a kernel meet a field: wide = position * stride + tap * dilation - pad, on every axis.
class Window {
 public:
  /// wide: extents of the side with the strides (the input of Conv); narrow: of the other.
  Window(const ConvAttributes& attributes, Shape wide, Shape narrow)
      : wide_(std::move(wide)), narrow_(std::move(narrow)), strides_(model::row_major_strides(wide_)) {
    for (std::size_t k = 0; k < wide_.size(); ++k) {
      const auto tap_count = attributes.kernel.at(k);
      taps_ *= tap_count;
      kernel_.push_back(tap_count);
      stride_.push_back(attributes.strides.at(k));
      dilation_.push_back(attributes.dilations.at(k));
      pad_.push_back(attributes.pads_begin.at(k));
    }
  }
  [[nodiscard]] std::int64_t taps() const { return taps_; }
  [[nodiscard]] std::int64_t positions() const { return model::element_count(narrow_); }
  [[nodiscard]] std::int64_t wide_size() const { return model::element_count(wide_); }

  /// Calls f(position, element of the wide side) for positions [first, first + count) that the tap meets.
  template <typename Function>
  void for_each(std::int64_t tap, std::int64_t first, std::int64_t count, Function f) const {
    const std::size_t rank = wide_.size();
    std::vector<std::int64_t> index(rank), at(rank), offset(rank);
    for (std::size_t k = rank, rest_tap = static_cast<std::size_t>(tap), rest = static_cast<std::size_t>(first);
         k-- > 0;) {
      offset[k] = static_cast<std::int64_t>(rest_tap) % kernel_[k] * dilation_[k] - pad_[k];
      index[k] = static_cast<std::int64_t>(rest) % narrow_[k];
      rest_tap /= static_cast<std::size_t>(kernel_[k]);
      rest /= static_cast<std::size_t>(narrow_[k]);
    }
    for (std::int64_t done = 0; done < count;) {
      // One run along the last axis.
      const std::int64_t run = std::min(count - done, narrow_[rank - 1] - index[rank - 1]);
      std::int64_t base = 0;
      bool inside = true;
      for (std::size_t k = 0; k + 1 < rank; ++k) {
        at[k] = index[k] * stride_[k] + offset[k];
        inside = inside && at[k] >= 0 && at[k] < wide_[k];
        base += at[k] * strides_[k];
      }
      for (std::int64_t i = 0; inside && i < run; ++i) {
        const std::int64_t x = (index[rank - 1] + i) * stride_[rank - 1] + offset[rank - 1];
        if (x >= 0 && x < wide_[rank - 1]) f(first + done + i, base + x);
      }
      done += run;
      index[rank - 1] = 0;
      for (std::size_t k = rank - 1; k-- > 0;) {
        if (++index[k] < narrow_[k]) break;
        index[k] = 0;
      }
    }
  }

 private:
  Shape wide_, narrow_;
  std::vector<std::int64_t> strides_, kernel_, stride_, dilation_, pad_;
  std::int64_t taps_ = 1;
};

Shape spatial(const Shape& shape) { return Shape(shape.begin() + 2, shape.end()); }

/// Bias of every output channel over all positions of all images.
std::vector<double> bias_of(const Call& call, std::int64_t channels, std::int64_t positions) {
  std::vector<double> result(static_cast<std::size_t>(model::element_count(call.shape())), 0.0);
  if (!call.has(2)) return result;
  const std::vector<double> bias = reals(call.x(2));
  for (std::size_t i = 0; i < result.size(); ++i)
    result[i] = bias.at(i / static_cast<std::size_t>(positions) % static_cast<std::size_t>(channels));
  return result;
}

std::vector<Tensor> conv(const Call& call) {
  const auto& attributes = call.attributes<ConvAttributes>();
  const Tensor &x = call.x(0), &w = call.x(1);
  const Window window(attributes, spatial(x.shape), spatial(call.shape()));
  const std::int64_t groups = attributes.group, channels = x.shape.at(1) / groups, outputs = w.shape.at(0) / groups;
  const std::int64_t positions = window.positions(), inner = channels * window.taps(), field = window.wide_size();
  if (w.elements() != outputs * groups * inner) throw std::logic_error("reference: weights of another convolution");
  std::vector<double> result = bias_of(call, outputs * groups, positions);
  std::vector<double> image(static_cast<std::size_t>(channels * field));
  for (std::int64_t plane = 0; plane < x.shape[0] * groups && positions > 0; ++plane) {
    read_reals(x, plane * channels * field, 1, channels * field, image.data());
    // Row of the second operand: channel and tap; column: position. Never held as a whole.
    const Block patches = [&](std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns,
                              double* to) {
      std::fill(to, to + rows * columns, 0.0);
      for (std::int64_t r = 0; r < rows; ++r) {
        const double* from = image.data() + (row + r) / window.taps() * field;
        double* line = to + r * columns - column;
        window.for_each((row + r) % window.taps(), column, columns,
                        [&](std::int64_t position, std::int64_t element) { line[position] = from[element]; });
      }
    };
    multiply_add(outputs, positions, inner, block_of(w, plane % groups * outputs * inner, inner, 1), patches,
                 result.data() + plane * outputs * positions);
  }
  return only(rounded(call.type(), call.shape(), result));
}

/// The transposed window: input position p and tap t add to element p * stride + t * dilation - pad of the result.
std::vector<Tensor> conv_transpose(const Call& call) {
  const auto& attributes = call.attributes<ConvAttributes>();
  const Tensor &x = call.x(0), &w = call.x(1);
  const Window window(attributes, spatial(call.shape()), spatial(x.shape));
  const std::int64_t groups = attributes.group, channels = x.shape.at(1) / groups, outputs = w.shape.at(1);
  const std::int64_t positions = window.positions(), field = window.wide_size(), rows = outputs * window.taps();
  if (w.elements() != channels * groups * rows) throw std::logic_error("reference: weights of another convolution");
  std::vector<double> result = bias_of(call, outputs * groups, field);
  std::vector<double> spread(static_cast<std::size_t>(rows * positions));
  for (std::int64_t plane = 0; plane < x.shape[0] * groups; ++plane) {
    std::fill(spread.begin(), spread.end(), 0.0);
    multiply_add(rows, positions, channels, block_of(w, plane % groups * channels * rows, 1, rows),
                 block_of(x, plane * channels * positions, positions, 1), spread.data());
    for (std::int64_t row = 0; row < rows; ++row) {
      double* to = result.data() + (plane * outputs + row / window.taps()) * field;
      const double* from = spread.data() + row * positions;
      window.for_each(row % window.taps(), 0, positions,
                      [&](std::int64_t position, std::int64_t element) { to[element] += from[position]; });
    }
  }
  return only(rounded(call.type(), call.shape(), result));
}

}  // namespace

Kernels conv_kernels() { return {{Op::Conv, conv}, {Op::ConvTranspose, conv_transpose}}; }

}  // namespace tessera::golden
