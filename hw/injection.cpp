// Reads the texts of injected faults; see injection.h for the form.
#include "hw/injection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "hw/error.h"

namespace tessera {

namespace {

const char* const kForm = "the form is SORT=PLACE:KIND[,KEY=NUMBER ...], as in link=0.3:bit_errors,rate_e12=50";

bool is_name(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0;
  });
}

/// "*", or numbers with points between them.
bool is_place(const std::string& text) {
  if (text == "*") return true;
  bool digit = false;
  for (const char c : text) {
    if (c == '.' && !digit) return false;
    digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!digit && c != '.') return false;
  }
  return digit;
}

}  // namespace

Injection parse_injection(const std::string& text, const std::string& where) {
  const auto refuse = [&](const std::string& what) {
    throw Error(Category::usage, fmt::format("fault '{}': {}", text, what), where, kForm);
  };
  Injection injection;
  injection.text = text;
  const std::size_t colon = text.find(':'), equals = text.find('=');
  if (colon == std::string::npos || equals == std::string::npos || equals > colon)
    refuse("SORT=PLACE and ':' must stand before the kind");
  injection.sort = text.substr(0, equals);
  injection.place = text.substr(equals + 1, colon - equals - 1);
  if (!is_name(injection.sort)) refuse(fmt::format("'{}' is no sort", injection.sort));
  if (!is_place(injection.place))
    refuse(fmt::format("'{}' is no place (a number, numbers with points, or *)", injection.place));
  std::size_t at = colon + 1;
  for (bool first = true; at <= text.size(); first = false) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, end - at);
    at = end + 1;
    if (first) {
      if (!is_name(part)) refuse(fmt::format("'{}' is no kind", part));
      injection.kind = part;
      continue;
    }
    const std::size_t sign = part.find('=');
    const std::string key = part.substr(0, sign), digits = sign == std::string::npos ? "" : part.substr(sign + 1);
    std::uint64_t value = 0;
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (!is_name(key) || digits.empty() || error != std::errc() || stop != digits.data() + digits.size())
      refuse(fmt::format("'{}' is not KEY=NUMBER with an unsigned number", part));
    if (value > kInjectionMost)
      refuse(fmt::format("'{}' is beyond the end of simulated time; the most is {}", part, kInjectionMost));
    if (!injection.values.emplace(key, value).second) refuse(fmt::format("'{}' is given twice", key));
  }
  return injection;
}

void check_injection_keys(const Injection& injection, const std::vector<std::string>& needed,
                          const std::vector<std::string>& keys) {
  std::vector<std::string> valid = needed;
  valid.insert(valid.end(), keys.begin(), keys.end());
  const auto refuse = [&](const std::string& what) {
    throw Error(Category::usage, fmt::format("fault '{}': {}", injection.text, what), "",
                valid.empty() ? fmt::format("{} takes no keys", injection.kind)
                              : fmt::format("keys of {}: {}", injection.kind, fmt::join(valid, ", ")));
  };
  for (const auto& [key, value] : injection.values)
    if (std::find(valid.begin(), valid.end(), key) == valid.end()) refuse(fmt::format("'{}' is not known here", key));
  for (const std::string& key : needed)
    if (injection.values.count(key) == 0) refuse(fmt::format("'{}' is missing", key));
}

}  // namespace tessera
