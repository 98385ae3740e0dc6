// Demonstrations: machine-level programs that show what the whole machine does, with how to verify what they left in
// memory. `tessera demo` and tests run them; nothing here knows a simulator.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "host/executable/executable.h"
#include "hw/platform.h"
#include "hw/types.h"

namespace tessera::demo {

/// An option --name of a demonstration.
struct Parameter {
  std::string name;  ///< "words"
  std::string fallback, help;
};

/// Values of a demonstration's parameters by name: every one that it declares.
class Arguments {
 public:
  explicit Arguments(std::map<std::string, std::string> values, std::uint64_t seed = 1)
      : values_(std::move(values)), seed_(seed) {}
  [[nodiscard]] const std::string& text(const std::string& name) const { return values_.at(name); }
  /// Throws Error(usage) if it is no whole number from `least` to `most`.
  [[nodiscard]] std::uint64_t number(const std::string& name, std::uint64_t least, std::uint64_t most) const;
  [[nodiscard]] std::uint64_t seed() const { return seed_; }

 private:
  std::map<std::string, std::string> values_;
  std::uint64_t seed_;
};

/// What stands in the machine's memory after the run.
struct Memory {
  /// The words of a tensor of one instance, row-major.
  std::function<std::vector<std::uint32_t>(const std::string& name, std::size_t instance)> tensor;
  /// Words of a tile, from a byte address on.
  std::function<void(TileRef, Address, std::uint32_t* words, std::size_t count)> words;
};

/// What was verified: `values` compared by `text`; `failure` is empty, or says what is wrong and where.
struct Verdict {
  std::uint64_t values = 0;
  std::string text, failure;
};

/// A lower bound of the cycles that a step moves words, from the release to the last word of the slowest tile.
struct Bound {
  std::string step;  ///< name of the step
  std::uint64_t cycles = 0;
  std::string reason;  ///< "links: 3.2 MB over 36.5 B a cycle"
};

/// A part of the program that counts as one thing: cycles from its first release to its end.
struct Total {
  std::string name;                ///< "all-reduce"
  std::vector<std::string> steps;  ///< names of the steps that begin its supersteps
  std::uint64_t times = 1;         ///< that it runs; cycles are told for one
  std::uint64_t bound = 0;         ///< lower bound of one, cycles; 0 is none
  std::string reason;
  std::uint64_t units = 0;  ///< done by one; 0 is nothing to tell
  std::string unit;         ///< "points"
};

struct Demonstration {
  executable::Executable executable;
  std::vector<std::string> about;  ///< lines for the reader: what runs, in figures
  std::vector<Bound> bounds;       ///< of packet steps; exchange steps have theirs in the executable
  std::vector<Total> totals;
  std::function<std::vector<Verdict>(const Memory&)> verify;
};

/// A kind of demonstration; `make` throws Error(unsupported) or Error(does_not_fit) for a platform that cannot do it.
struct Kind {
  std::string name, does, example;
  unsigned ipus = 0;  ///< if --ipus does not say: the first so many; 0 is all
  std::vector<Parameter> parameters;
  std::function<Demonstration(const Platform&, const Arguments&)> make;  ///< on all IPUs of the platform
};

/// All of them, in the order of the help.
[[nodiscard]] const std::vector<Kind>& demonstrations();
/// Throws Error(usage) that lists the names.
[[nodiscard]] const Kind& demonstration(const std::string& name);
/// The parameters of a kind, given ones replaced. Throws Error(usage) for one that it does not have.
[[nodiscard]] Arguments arguments_of(const Kind& kind, const std::map<std::string, std::string>& given,
                                     std::uint64_t seed);

}  // namespace tessera::demo
