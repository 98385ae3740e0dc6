// What a benchmark measures: figures with a value a round, by processor time and by wall time, and how to take time.
//
// Nothing here judges: a figure may carry the target it is read against, as text.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tessera::bench {

/// Seconds of this process (all threads, user and system) and of the clock on the wall.
struct Seconds {
  double cpu = 0, wall = 0;
};

/// Runs `work` and says how long it took.
[[nodiscard]] Seconds timed(const std::function<void()>& work);

/// One row of the table. Ratios have no wall values: both sides of a ratio come from one round.
struct Figure {
  std::string name;    ///< unique within its benchmark
  std::string unit;    ///< of the values: "Mcycle/s", "Minstr/s", "s", "ratio", ...
  std::string target;  ///< "at least 3", or empty
  std::string meaning;
  std::vector<double> cpu, wall;  ///< one value a round

  /// Adds a round: `amount` units a second.
  void add_rate(double amount, const Seconds& seconds);
  /// Adds a round: seconds.
  void add_time(const Seconds& seconds);
};

/// Smallest and middle value; of an even number the mean of the middle two. 0 if there are none.
[[nodiscard]] double smallest(const std::vector<double>& values);
[[nodiscard]] double largest(const std::vector<double>& values);
[[nodiscard]] double median(std::vector<double> values);

/// top / bottom round by round, by processor time.
[[nodiscard]] Figure ratio(std::string name, const Figure& top, const Figure& bottom, std::string target,
                           std::string meaning);

struct Report {
  std::string name;
  std::vector<Figure> figures;
  std::vector<std::string> notes;  ///< what could not be measured and why; what was run
};

/// How much is measured.
struct Effort {
  unsigned rounds = 5;
  bool quick = false;  ///< as little as shows that everything works; figures mean nothing then
};

/// Name, unit, target, meaning, min, median, max and all rounds.
[[nodiscard]] nlohmann::ordered_json to_json(const Report& report);
/// Lines of a table: a row a figure, then the notes.
[[nodiscard]] std::vector<std::string> table(const Report& report);
/// Processor model, its number in this host, compiler, build flags, system.
[[nodiscard]] nlohmann::ordered_json host_json();

}  // namespace tessera::bench
