// Joins FST parts into one FST in time order, converts FST to VCD, and writes the GTKWave view. Files only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "verif/cosim/scope_pattern.h"

namespace tessera {

struct MergeInput {
  std::string path;   ///< an FST
  std::string scope;  ///< its place in the merged hierarchy, levels separated by dots
};

struct MergeResult {
  std::size_t signals = 0;
  std::uint64_t changes = 0, first_ps = 0, last_ps = 0;
  /// Signals for a view, grouped: full names with bit ranges as GTKWave writes them.
  struct Group {
    std::string name;
    std::vector<std::string> signals;
  };
  std::vector<Group> view;
};

/// Writes `output`; changes are held in memory `window_events` at a time (roughly). Changes outside [from_ps, to_ps]
/// are left out (parts begin there with all their values). Parts that cannot be read are appended to `lost`.
MergeResult merge_parts(const std::vector<MergeInput>& parts, ScopePatterns& patterns, const std::string& output,
                        std::uint64_t from_ps, std::uint64_t to_ps, std::size_t window_events,
                        std::vector<std::string>& lost);

/// Throws std::runtime_error if one cannot be read or written.
/// Whether an FST file is complete: its blocks follow each other to the end of the file, none is unfinished, hierarchy
/// and geometry are there. The writer cannot tell of a full disk; this can.
[[nodiscard]] bool fst_is_whole(const std::string& fst);

void fst_to_vcd(const std::string& fst, const std::string& vcd);

/// The view: signals of `groups` in the dump `wave`, zoomed to the whole.
void write_view(const std::string& path, const std::string& wave, const std::vector<MergeResult::Group>& groups);

}  // namespace tessera
