// Parameters of examples from text: "batch=2,blocks=3-4-6-3,dtype=f32".

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "host/examples/example.h"
#include "hw/error.h"

namespace tessera::examples {

namespace {

std::optional<std::int64_t> integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t end = text.find(at, begin);
    parts.push_back(text.substr(begin, end == std::string::npos ? end : end - begin));
    if (end == std::string::npos) return parts;
    begin = end + 1;
  }
}

/// What a parameter takes, for messages.
std::string takes(const Parameter& parameter) {
  if (parameter.kind == Parameter::Kind::choice) return fmt::format("{}", fmt::join(parameter.choices, " or "));
  const std::string range = fmt::format("{} to {}", parameter.least, parameter.most);
  return parameter.kind == Parameter::Kind::number ? "a number, " + range
                                                   : "numbers with '-' between them, each " + range;
}

bool valid(const Parameter& parameter, const std::string& value) {
  if (parameter.kind == Parameter::Kind::choice)
    return std::find(parameter.choices.begin(), parameter.choices.end(), value) != parameter.choices.end();
  const auto in_range = [&](const std::string& text) {
    const auto number = integer(text);
    return number && *number >= parameter.least && *number <= parameter.most;
  };
  if (parameter.kind == Parameter::Kind::number) return in_range(value);
  const std::vector<std::string> parts = split(value, '-');
  return std::all_of(parts.begin(), parts.end(), in_range);
}

}  // namespace

Settings::Settings(const std::vector<Parameter>& parameters, const std::string& given, std::uint64_t seed,
                   const std::string& where)
    : seed_(seed), where_(where) {
  std::string names;
  for (const Parameter& parameter : parameters) {
    values_[parameter.name] = parameter.value;
    names += (names.empty() ? "" : ", ") + parameter.name;
  }
  if (given.empty()) return;
  std::set<std::string> seen;
  for (const std::string& part : split(given, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos)
      refuse("'" + part + "' is not key=value", "write it as example:NAME?key=value,...");
    const std::string name = part.substr(0, equals), value = part.substr(equals + 1);
    const auto found = std::find_if(parameters.begin(), parameters.end(),
                                    [&](const Parameter& parameter) { return parameter.name == name; });
    if (found == parameters.end())
      refuse("the example has no parameter '" + name + "'",
             names.empty() ? "it takes no parameters" : "its parameters are: " + names);
    if (!valid(*found, value))
      refuse(fmt::format("'{}' is no value of parameter {}", value, name), name + " takes " + takes(*found));
    if (!seen.insert(name).second) refuse("parameter " + name + " is given twice", "leave one of them out");
    values_[name] = value;
  }
}

std::int64_t Settings::number(const std::string& name) const { return integer(values_.at(name)).value(); }

std::vector<std::int64_t> Settings::numbers(const std::string& name) const {
  std::vector<std::int64_t> result;
  for (const std::string& part : split(values_.at(name), '-')) result.push_back(integer(part).value());
  return result;
}

const std::string& Settings::text(const std::string& name) const { return values_.at(name); }

model::Type Settings::type() const { return text("dtype") == "f16" ? model::Type::f16 : model::Type::f32; }

void Settings::refuse(const std::string& why, const std::string& advice) const {
  throw Error(Category::usage, why, where_, advice);
}

std::string Settings::all() const {
  std::string text;
  for (const auto& [name, value] : values_) text += (text.empty() ? "" : ",") + name + "=" + value;
  return text;
}

}  // namespace tessera::examples
