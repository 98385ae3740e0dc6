// What the tests of random programs share: seeds from the environment, fast against exact TLM, failures made small.
#pragma once

#include <cstdlib>
#include <functional>
#include <optional>
#include <string>

#include "verif/coverage/collector.h"
#include "verif/random/played_tile.h"
#include "verif/random/shrink.h"

namespace tessera::random {

/// Seed of a run: TESSERA_SEED in the environment, else 1. Its programs have the seeds from 1,000,000 times it up.
[[nodiscard]] std::uint64_t run_seed();
/// The only program to run, if TESSERA_PROGRAM names its seed.
[[nodiscard]] std::optional<std::uint64_t> only_program();

/// First difference of two ways to run a program; nothing if they agree. "does not end" is one too.
using Compare = std::function<std::optional<std::string>(const Program&)>;

/// Runs exact TLM, fast TLM and TLM in search of races, and compares stops, states and memory. The exact one reports to
/// `observer`; its coverage is collected if there are totals.
[[nodiscard]] std::optional<std::string> compare_fast_exact(const Program& program, std::uint64_t seed,
                                                            RetireObserver* observer,
                                                            const std::shared_ptr<coverage::Totals>& totals);

/// Compares the program of `options`; a difference is shrunk and reported with the command that shows it again:
/// `test` is program and filter.
[[nodiscard]] std::optional<std::string> check(const ProgramOptions& options, const Compare& compare,
                                               const std::string& test, bool shrink_words);

}  // namespace tessera::random
