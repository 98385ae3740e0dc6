// Convolutions: many groups, depthwise, dilation, uneven padding, 1-D, transposed.
#include "verif/nn/cases.h"

namespace tessera::verif_nn {

using exact::Array;
using Extents = std::vector<std::int64_t>;

namespace {

struct Shape {
  const char* name;
  Extents x, w;
  exact::Convolution c;
  bool bias = true, transposed = false;
};

std::vector<Shape> shapes() {
  return {
      {"conv_3x3", {1, 8, 9, 9}, {16, 8, 3, 3}, {1, {1, 1}, {1, 1}, {1, 1}, {1, 1}}},
      {"conv_3x3_stride_2_uneven_padding", {2, 16, 10, 7}, {8, 16, 3, 3}, {1, {2, 2}, {1, 1}, {0, 1}, {1, 1}}},
      {"conv_7x7_stride_2_three_channels", {1, 3, 21, 21}, {16, 3, 7, 7}, {1, {2, 2}, {1, 1}, {3, 3}, {3, 3}}},
      {"conv_1x1_many_channels", {1, 64, 7, 7}, {32, 64, 1, 1}, {1, {1, 1}, {1, 1}, {0, 0}, {0, 0}}},
      {"conv_dilated", {1, 8, 13, 13}, {8, 8, 3, 3}, {1, {1, 1}, {3, 2}, {3, 2}, {3, 2}}},
      {"conv_32_groups", {1, 128, 5, 5}, {128, 4, 3, 3}, {32, {1, 1}, {1, 1}, {1, 1}, {1, 1}}},
      {"conv_8_groups_of_odd_width", {1, 24, 6, 6}, {40, 3, 3, 3}, {8, {1, 1}, {1, 1}, {1, 1}, {1, 1}}},
      {"conv_depthwise", {1, 32, 8, 8}, {32, 1, 3, 3}, {32, {1, 1}, {1, 1}, {1, 1}, {1, 1}}},
      {"conv_depthwise_stride_2_multiplier_2", {1, 16, 9, 9}, {32, 1, 3, 3}, {16, {2, 2}, {1, 1}, {1, 1}, {1, 1}}},
      {"conv_1d_causal_dilated", {1, 16, 40}, {16, 16, 2}, {1, {1}, {8}, {8}, {0}}},
      {"conv_1d_wide", {2, 5, 33}, {7, 5, 9}, {1, {2}, {1}, {4}, {4}}, false},
      {"conv_1d_depthwise", {1, 24, 19}, {24, 1, 5}, {24, {1}, {1}, {2}, {2}}},
      {"conv_transposed_stride_2", {1, 8, 5, 6}, {8, 6, 3, 3}, {1, {2, 2}, {1, 1}, {1, 1}, {1, 1}}, true, true},
      {"conv_transposed_groups", {1, 12, 4, 4}, {12, 2, 4, 4}, {3, {2, 2}, {1, 1}, {1, 1}, {1, 1}}, false, true},
      {"conv_transposed_1d_dilated", {1, 4, 9}, {4, 6, 3}, {1, {1}, {2}, {0}, {0}}, true, true},
  };
}

}  // namespace

void convolution_cases(model::Type type, std::vector<Case>& cases) {
  for (const Shape& shape : shapes()) {
    Maker maker(shape.name, type, 8.0);
    const Array x = maker.input("x", shape.x, 1.0), w = maker.weight("w", shape.w, 0.5);
    std::vector<std::string> operands = {"x", "w"};
    Array bias;
    if (shape.bias) {
      bias = maker.weight("b", {shape.transposed ? shape.w[1] * shape.c.group : shape.w[0]}, 0.5);
      operands.emplace_back("b");
    }
    Extents pads = shape.c.begin;
    pads.insert(pads.end(), shape.c.end.begin(), shape.c.end.end());
    maker.node(shape.transposed ? "ConvTranspose" : "Conv", operands, {"y"},
               {{"group", shape.c.group},
                {"strides", shape.c.strides},
                {"dilations", shape.c.dilations},
                {"pads", pads},
                {"kernel_shape", Extents(shape.w.begin() + 2, shape.w.end())}});
    const Array* b = shape.bias ? &bias : nullptr;
    maker.output("y", shape.transposed ? transposed_convolution(x, w, b, shape.c) : convolution(x, w, b, shape.c));
    cases.push_back(maker.finish());
  }
}

}  // namespace tessera::verif_nn
