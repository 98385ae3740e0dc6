// The table of demonstrations, and their parameters.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "host/demo/kinds.h"
#include "hw/error.h"

namespace tessera::demo {

const std::vector<Kind>& demonstrations() {
  static const std::vector<Kind> kinds = {workers(), all_to_all(), all_reduce(), stencil()};
  return kinds;
}

const Kind& demonstration(const std::string& name) {
  std::string valid;
  for (const Kind& kind : demonstrations()) {
    if (kind.name == name) return kind;
    valid += (valid.empty() ? "" : ", ") + kind.name;
  }
  throw Error(Category::usage, "there is no demonstration '" + name + "'", "", "valid names: " + valid);
}

Arguments arguments_of(const Kind& kind, const std::map<std::string, std::string>& given, std::uint64_t seed) {
  std::map<std::string, std::string> values;
  for (const Parameter& p : kind.parameters) values[p.name] = p.fallback;
  for (const auto& [name, value] : given) {
    if (values.count(name) == 0) {
      std::string valid;
      for (const Parameter& p : kind.parameters) valid += (valid.empty() ? "--" : ", --") + p.name;
      throw Error(Category::usage, fmt::format("demonstration {} has no option --{}", kind.name, name), "",
                  valid.empty() ? "it has none of its own" : "it has " + valid);
    }
    values[name] = value;
  }
  return Arguments(std::move(values), seed);
}

std::uint64_t Arguments::number(const std::string& name, std::uint64_t least, std::uint64_t most) const {
  const std::string& value = text(name);
  std::uint64_t result = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
  if (error == std::errc() && end == value.data() + value.size() && result >= least && result <= most) return result;
  throw Error(Category::usage, fmt::format("--{} {} is no whole number from {} to {}", name, value, least, most));
}

}  // namespace tessera::demo
