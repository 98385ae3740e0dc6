// The examples one by one, each in a file of its own; registry.cpp lists them. Internal to host/examples.
#pragma once

#include "host/examples/example.h"

namespace tessera::examples {

[[nodiscard]] Example digits();
[[nodiscard]] Example fashion();
[[nodiscard]] Example wake_word();
[[nodiscard]] Example lstm();
[[nodiscard]] Example resnet50();
[[nodiscard]] Example resnext50();
[[nodiscard]] Example group_conv();
[[nodiscard]] Example alexnet();
[[nodiscard]] Example bert();
[[nodiscard]] Example wavenet();

/// Parameters that many have.
[[nodiscard]] inline Parameter number(const std::string& name, std::int64_t value, std::int64_t least,
                                      std::int64_t most, const std::string& what) {
  return {Parameter::Kind::number, name, std::to_string(value), what, least, most, {}};
}
[[nodiscard]] inline Parameter dtype(const std::string& value = "f16") {
  return {Parameter::Kind::choice, "dtype", value, "type of weights and activations", 0, 0, {"f16", "f32"}};
}
[[nodiscard]] inline Parameter batch(std::int64_t most) { return number("batch", 1, 1, most, "images at once"); }
[[nodiscard]] inline Parameter choice(const std::string& name, const std::string& value,
                                      const std::vector<std::string>& choices, const std::string& what) {
  return {Parameter::Kind::choice, name, value, what, 0, 0, choices};
}

}  // namespace tessera::examples
