// Glob matching by the set of pattern positions alive after each character.
#include "verif/cosim/scope_pattern.h"

#include <algorithm>
#include <set>

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

std::string anchored(const std::string& given) {
  if (given.rfind("tile", 0) == 0) return "ipu*." + given;
  if (given.rfind("ipu", 0) != 0 && given.rfind('*', 0) != 0) return "**." + given;
  return given;
}

/// Insertions, deletions and changes that make the name match; stars match anything.
std::size_t distance(const std::string& pattern, const std::string& name) {
  std::vector<std::size_t> row(name.size() + 1);
  for (std::size_t j = 0; j <= name.size(); ++j) row[j] = j;
  for (const char c : pattern) {
    std::size_t diagonal = row[0];
    if (c != '*') ++row[0];
    for (std::size_t j = 1; j <= name.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = c == '*' ? std::min(above, row[j - 1])
                        : std::min({above + 1, row[j - 1] + 1, diagonal + (c == name[j - 1] || c == '?' ? 0 : 1)});
      diagonal = above;
    }
  }
  return row.back();
}

}  // namespace

ScopePatterns::ScopePatterns(std::vector<std::string> patterns) {
  for (std::string& given : patterns) {
    std::string text = anchored(given);
    patterns_.push_back({std::move(given), std::move(text), false});
  }
}

std::vector<std::string> ScopePatterns::nearest(const std::string& pattern, const std::vector<std::string>& names) {
  std::set<std::string> all;
  for (const std::string& name : names)
    for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1))
      all.insert(name.substr(0, dot));
  all.insert(names.begin(), names.end());
  const std::string text = anchored(pattern);
  std::size_t best = std::max<std::size_t>(3, text.size() / 2);
  std::vector<std::string> found;
  for (const std::string& name : all) {
    const std::size_t d = distance(text, name);
    if (d > best) continue;
    if (d < best) found.clear();
    best = d;
    if (found.size() < 3) found.push_back(name);
  }
  return found;
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
