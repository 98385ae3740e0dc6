// Makes a failing random program small: leaves out contexts, pieces, words and descriptors as long as it still fails.
#pragma once

#include <functional>
#include <string>

#include "verif/random/generator.h"

namespace tessera::random {

/// True if the program shows the failure that is looked for. Must not end the process.
using Fails = std::function<bool(const Program&)>;

struct ShrinkResult {
  Recipe recipe;
  std::size_t tries = 0;
};

/// `recipe` fails. Parts that follow from each other (a pointer and its accesses) stay together, so that a race-free
/// program stays one; with `words` single words of such parts may go too. At most `tries` programs are run.
[[nodiscard]] ShrinkResult shrink(Recipe recipe, const Fails& fails, bool words = true, std::size_t tries = 3000);

/// What to print of a failure: the small program, where it came from, and the command that shows it again.
[[nodiscard]] std::string failure_report(const ShrinkResult& small, const std::string& what,
                                         const std::string& command);

}  // namespace tessera::random
