// Options of the commands that run the machine: which part of a platform, how tiles are modelled, limits, faults,
// waves.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/cli/command.h"
#include "hw/injection.h"
#include "hw/platform.h"
#include "hw/types.h"

namespace tessera::cli {

/// Options that every command which runs the machine has.
struct MachineOptions {
  std::string platform = "c2";
  unsigned ipus = 0;          ///< --ipus: 0 is all of the platform
  std::string rtl, lockstep;  ///< tile lists
  Cycle max_cycles = 0;       ///< of a program; 0 is no limit
  /// Between two syncs; 0 is no limit. Default: over half a second of a c2, far beyond any superstep.
  Cycle max_idle_cycles = 1'000'000'000;
  std::vector<std::string> faults;          ///< --inject: texts of hw/injection.h
  std::optional<std::uint64_t> host_delay;  ///< --host-delay: nanoseconds; default: the platform's
  Cycle quantum = Cycle{1} << 20;           ///< --quantum: cycles that tiles may run ahead; changes no result
  std::string wave;
  std::vector<std::string> wave_scopes;
  std::string wave_from, wave_to;
  bool check_races = false;  ///< look for races in tiles that are simulated as TLM or in lockstep
  unsigned race_tiles = 0;   ///< in at most so many of an IPU's, spread evenly (in_spread()); 0 is no limit

  void add_to(CLI::App& app);
  /// Only what says which machine it is: --platform, --ipus, --inject.
  void add_platform_to(CLI::App& app);
  /// The part of `platform` that is used, with the host's time. Throws Error(usage) for --ipus that it has not.
  [[nodiscard]] Platform chosen(const Platform& platform) const;
  /// Models of all tiles of a chosen platform, [IPU][tile]. Throws Error(usage) for wrong lists.
  [[nodiscard]] std::vector<std::vector<TileMode>> modes(const Platform& chosen) const;
  /// Faults of --inject. Throws Error(usage) for texts that are none, unknown sorts and places that a chosen platform
  /// does not have; kinds are checked by who owns the place, when the machine is made.
  [[nodiscard]] std::vector<Injection> injections(const Platform& chosen) const;
  /// All of this at once, before anything long begins.
  void check(const Platform& platform) const;
};

/// The platform as --ipus N leaves it: its first N IPUs (0: all). Throws Error(usage).
[[nodiscard]] Platform chosen_platform(const Platform& platform, unsigned ipus);

}  // namespace tessera::cli
