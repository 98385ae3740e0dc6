// Errors that a user can cause, and the exit code each category ends the command with.
//
// Every room throws Error; only the command turns it into text and an exit code. An error says what was wrong, where
// (object path, node, tile, line) and what to do. Anything else that escapes is an internal error (exit code 8).
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace tessera {

/// What went wrong, in the sense of whose move it is. The value is the exit code of the command.
enum class Category : int {
  wrong_result = 1,       ///< differs from the reference, or the program under test failed
  usage = 2,              ///< options, files, formats
  unsupported = 3,        ///< the model or program needs something that is not supported
  does_not_fit = 4,       ///< memory, links: cannot be compiled for this platform
  device_exception = 5,   ///< trap, exchange fault, link or PCIe error
  no_progress = 6,        ///< deadlock, time-out, cycle limit
  lockstep_mismatch = 7,  ///< RTL and TLM differ
  internal = 8,           ///< a fault of Tessera itself
};

/// Exit code of the command for an error of category `c`.
[[nodiscard]] constexpr int exit_code(Category c) { return static_cast<int>(c); }

/// The error that users see. `what()` is the whole message: one plain sentence, where, advice.
class Error : public std::runtime_error {
 public:
  /// message: what was wrong, one sentence. where: object path, file, node or tile; may be empty. advice: what to do;
  /// may be empty. cycle: simulated time in tile cycles, if the machine was running.
  Error(Category category, std::string message, std::string where = {}, std::string advice = {},
        std::optional<std::uint64_t> cycle = std::nullopt)
      : std::runtime_error(compose(message, where, advice, cycle)),
        category_(category),
        message_(std::move(message)),
        where_(std::move(where)),
        advice_(std::move(advice)),
        cycle_(cycle) {}

  [[nodiscard]] Category category() const { return category_; }
  [[nodiscard]] const std::string& message() const { return message_; }
  [[nodiscard]] const std::string& where() const { return where_; }
  [[nodiscard]] const std::string& advice() const { return advice_; }
  [[nodiscard]] std::optional<std::uint64_t> cycle() const { return cycle_; }

 private:
  static std::string compose(const std::string& message, const std::string& where, const std::string& advice,
                             std::optional<std::uint64_t> cycle) {
    std::string text = message;
    if (!where.empty()) text += "\n  at: " + where;
    if (cycle) text += "\n  cycle: " + std::to_string(*cycle);
    if (!advice.empty()) text += "\n  try: " + advice;
    return text;
  }

  Category category_;
  std::string message_, where_, advice_;
  std::optional<std::uint64_t> cycle_;
};

}  // namespace tessera
