// Faults that a user asks for, as text: in a platform's `faults`, with `--inject`, and at run time. Nothing here acts:
// whoever owns the target (links, PCI Express, card controller) takes what is meant for it and refuses what it does not
// know.
//
//   TARGET:KIND[,KEY=VALUE ...]        link=0.3:bit_errors,rate_e12=50     card=0:hang,at=20000
//
// TARGET names one thing or, with *, all of its sort. Values are unsigned integers; times are cycles of the tile clock
// since power-on unless the key ends in _us or _ns.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tessera {

/// Largest value of a key: as cycles of the slowest clock that a platform can have they fit into simulated time.
inline constexpr std::uint64_t kInjectionMost = 1'000'000'000'000;

struct Injection {
  std::string sort;   ///< "link", "pcie", "card"
  std::string place;  ///< "0.3", "1", "*"
  std::string kind;   ///< "bit_errors", "down", ...
  std::map<std::string, std::uint64_t> values;
  std::string text;  ///< as given

  /// Value of a key, or `otherwise`.
  [[nodiscard]] std::uint64_t value(const std::string& key, std::uint64_t otherwise) const {
    const auto found = values.find(key);
    return found == values.end() ? otherwise : found->second;
  }
};

/// Throws Error(usage) that says what the form is. `where`: the option or file.
[[nodiscard]] Injection parse_injection(const std::string& text, const std::string& where);

/// Throws Error(usage) unless all keys of `injection` are among `needed` and `keys`, and those of `needed` are there.
void check_injection_keys(const Injection& injection, const std::vector<std::string>& needed,
                          const std::vector<std::string>& keys);

}  // namespace tessera
