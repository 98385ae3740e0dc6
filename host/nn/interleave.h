// Images of few channels, plane by plane, to home layout of four channels a position. Internal to host/nn.
#pragma once

#include <string>

#include "host/nn/builder.h"
#include "host/nn/home.h"

namespace tessera::nn {

/// A new variable [1][positions][4] that holds the channels (axis 1, one to four; f16 or f32) of x and zeros behind
/// them. Every tile gets the pieces of the planes that it needs in long runs and interleaves them.
[[nodiscard]] HomeLayout interleaved_home(Builder& builder, const graph::Tensor& x, const std::string& name);

}  // namespace tessera::nn
