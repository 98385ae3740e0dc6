// Arithmetic on extents, which are signed in models and plans and unsigned in graphs. Internal to host/nn.
#pragma once

#include <cstdint>
#include <type_traits>

namespace tessera::nn {

/// An extent or index that is known not to be negative.
inline std::uint64_t u(std::int64_t v) { return static_cast<std::uint64_t>(v); }
/// a / b rounded up; neither is negative.
template <typename A, typename B>
constexpr std::common_type_t<A, B> ceil_div(A a, B b) {
  using C = std::common_type_t<A, B>;
  return (static_cast<C>(a) + static_cast<C>(b) - 1) / static_cast<C>(b);
}

}  // namespace tessera::nn
