// Arithmetic on extents, which are signed in models and plans. Internal to host/nn.
#pragma once

#include <cstdint>

namespace tessera::nn {

/// An extent or index that is known not to be negative.
inline std::uint64_t u(std::int64_t v) { return static_cast<std::uint64_t>(v); }
inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace tessera::nn
