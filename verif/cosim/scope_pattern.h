// Which signals of a wave dump are wanted: glob patterns over hierarchical names such as "ipu0.tile3.rtl.u_fpu.*".
//
// '*' stands for any characters within a level, '**' across levels, '?' for one character. A pattern that names a scope
// selects all below it. A pattern that begins with "tile" is taken in every IPU; one that begins otherwise than with
// "ipu" or '*' may stand anywhere. Bit ranges are no part of names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera {

class ScopePatterns {
 public:
  /// No patterns: everything is wanted.
  explicit ScopePatterns(std::vector<std::string> patterns = {});

  /// Whether the signal is selected; remembers which patterns selected something.
  [[nodiscard]] bool selects(std::string_view signal);
  /// Whether a signal below `scope` could be selected: tiles that cannot are not traced at all.
  [[nodiscard]] bool may_select_below(std::string_view scope) const;
  /// Patterns, as given, that have selected nothing so far.
  [[nodiscard]] std::vector<std::string> unused() const;

  /// The scopes and signals of `names`, three at most, that a pattern which selects none of them comes nearest to.
  [[nodiscard]] static std::vector<std::string> nearest(const std::string& pattern,
                                                        const std::vector<std::string>& names);

 private:
  struct Pattern {
    std::string given, anchored;
    bool used = false;
  };
  std::vector<Pattern> patterns_;
};

}  // namespace tessera
