// Glob matching by the set of pattern positions alive after each character.
#include "verif/cosim/scope_pattern.h"

namespace tessera {
namespace {

/// Positions in the pattern at which the rest may begin, with the stars that stand there skipped too.
class Positions {
 public:
  explicit Positions(std::string_view pattern) : pattern_(pattern), alive_(pattern.size() + 1, false) {
    add(alive_, 0);
  }

  void advance(char c) {
    std::vector<bool> next(alive_.size(), false);
    for (std::size_t p = 0; p < pattern_.size(); ++p) {
      if (!alive_[p]) continue;
      if (pattern_[p] == '*') {
        const bool across = (p + 1 < pattern_.size() && pattern_[p + 1] == '*') || (p > 0 && pattern_[p - 1] == '*');
        if (across || c != '.') add(next, p);
      } else if (pattern_[p] == c || (pattern_[p] == '?' && c != '.')) {
        add(next, p + 1);
      }
    }
    alive_ = next;
  }
  [[nodiscard]] bool complete() const { return alive_.back(); }
  [[nodiscard]] bool any() const {
    for (const bool b : alive_) {
      if (b) return true;
    }
    return false;
  }

 private:
  void add(std::vector<bool>& set, std::size_t p) const {
    set[p] = true;
    while (p < pattern_.size() && pattern_[p] == '*') set[++p] = true;
  }
  std::string_view pattern_;
  std::vector<bool> alive_;
};

/// The whole name, or a scope above it.
bool matches(std::string_view pattern, std::string_view name) {
  Positions positions(pattern);
  for (const char c : name) {
    if (c == '.' && positions.complete()) return true;
    positions.advance(c);
    if (!positions.any()) return false;
  }
  return positions.complete();
}

}  // namespace

ScopePatterns::ScopePatterns(std::vector<std::string> patterns) {
  for (std::string& given : patterns) {
    std::string anchored = given;
    if (given.rfind("tile", 0) == 0) {
      anchored = "ipu*." + given;
    } else if (given.rfind("ipu", 0) != 0 && given.rfind('*', 0) != 0) {
      anchored = "**." + given;
    }
    patterns_.push_back({std::move(given), std::move(anchored), false});
  }
}

bool ScopePatterns::selects(std::string_view signal) {
  bool selected = patterns_.empty();
  for (Pattern& p : patterns_) {
    if (!matches(p.anchored, signal)) continue;
    p.used = true;
    selected = true;
  }
  return selected;
}

bool ScopePatterns::may_select_below(std::string_view scope) const {
  for (const Pattern& p : patterns_) {
    if (matches(p.anchored, scope)) return true;
    Positions positions(p.anchored);
    for (const char c : scope) positions.advance(c);
    positions.advance('.');
    if (positions.any()) return true;
  }
  return patterns_.empty();
}

std::vector<std::string> ScopePatterns::unused() const {
  std::vector<std::string> all;
  for (const Pattern& p : patterns_) {
    if (!p.used) all.push_back(p.given);
  }
  return all;
}

}  // namespace tessera
