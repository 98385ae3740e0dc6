// Text of the tensors that Print steps show: bool as 0 and 1, halves and floats in their shortest form.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>

#include "host/engine/engine.h"
#include "hw/half.h"

namespace tessera::engine {

namespace {

template <typename T>
T element(const Printed& printed, std::size_t i) {
  T value{};
  std::memcpy(&value, printed.bytes.data() + i * sizeof value, sizeof value);
  return value;
}

std::string text_of(const Printed& printed, std::size_t i) {
  using graph::Type;
  switch (printed.type) {
    case Type::boolean:
    case Type::u8:
      return fmt::format("{}", unsigned{element<std::uint8_t>(printed, i)});
    case Type::i8:
      return fmt::format("{}", int{element<std::int8_t>(printed, i)});
    case Type::i16:
      return fmt::format("{}", element<std::int16_t>(printed, i));
    case Type::u16:
      return fmt::format("{}", element<std::uint16_t>(printed, i));
    case Type::i32:
      return fmt::format("{}", element<std::int32_t>(printed, i));
    case Type::u32:
      return fmt::format("{}", element<std::uint32_t>(printed, i));
    case Type::f16:
      return fmt::format("{}", from_half(element<std::uint16_t>(printed, i)));
    case Type::f32:
      return fmt::format("{}", element<float>(printed, i));
  }
  return {};
}

}  // namespace

std::string to_text(const Printed& printed, std::size_t limit) {
  const std::size_t count = printed.bytes.size() / graph::size_of(printed.type);
  std::string text =
      fmt::format("{} [{}] {}:", printed.label, fmt::join(printed.shape, ", "), graph::name_of(printed.type));
  for (std::size_t i = 0; i < std::min(count, limit); ++i) text += " " + text_of(printed, i);
  if (count > limit) text += " ..";
  return text;
}

}  // namespace tessera::engine
