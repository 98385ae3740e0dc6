// What can be told from a codelet's machine code before it runs: stack use, size, and that it keeps the rules of
// docs/codelets.md (no recursion, no variable stack, no calls through pointers).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "host/codelets/object.h"

namespace tessera {

/// Walks the control flow of functions. Results are kept, so one analyser serves a whole library.
class CodeAnalyser {
 public:
  CodeAnalyser(const ObjectSet& objects, std::string origin) : objects_(objects), origin_(std::move(origin)) {}

  /// Deepest stack in bytes of the function at (section, offset) and all it calls. Throws Error (usage) that names the
  /// function if a rule is broken.
  std::uint32_t stack_bytes(int section, std::uint32_t offset);

 private:
  struct State {
    bool done = false;
    std::uint32_t bytes = 0;
  };
  /// What one instruction does to the flow.
  struct Step {
    std::vector<std::uint32_t> next;                   ///< offsets in the same function
    std::vector<std::pair<int, std::uint32_t>> calls;  ///< entered with the stack as it stands
    std::int32_t stack = 0;                            ///< added to sp
  };
  [[nodiscard]] Step step(int section, std::uint32_t pc) const;
  [[nodiscard]] const Relocation* relocation_at(int section, std::uint32_t pc) const;
  [[nodiscard]] std::string name(int section, std::uint32_t offset) const;
  [[noreturn]] void refuse(int section, std::uint32_t pc, const std::string& what, const std::string& advice) const;

  const ObjectSet& objects_;
  std::string origin_;
  std::map<std::pair<int, std::uint32_t>, State> functions_;
};

/// Sections reached from `section` by relocations, itself first, in the order of first need. Undefined symbols end a
/// path; their indices are added to `undefined` if it is given.
std::vector<int> reachable_sections(const ObjectSet& objects, int section, std::vector<std::uint32_t>* undefined);

}  // namespace tessera
