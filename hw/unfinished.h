// Files that are being written and have no name of their own yet: what has to go if the process ends on the way.
//
// The list is the process's, as signals are. It is of fixed size and takes no lock, so that a handler of signals may
// walk it; a file beyond its size is written all the same, only not taken away by such an end.
#pragma once

#include <unistd.h>

#include <array>
#include <atomic>
#include <string>
#include <utility>

namespace tessera {

/// While alive, `path` is taken away by remove_all().
class Unfinished {
 public:
  explicit Unfinished(std::string path) : path_(std::move(path)) {
    for (auto& slot : slots()) {
      const char* free = nullptr;
      if (!slot.compare_exchange_strong(free, path_.c_str())) continue;
      slot_ = &slot;
      return;
    }
  }
  ~Unfinished() {
    if (slot_ != nullptr) slot_->store(nullptr);
  }
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

  /// For handlers of signals that end the process.
  static void remove_all() noexcept {
    for (auto& slot : slots())
      if (const char* path = slot.load()) unlink(path);
  }

 private:
  using Slots = std::array<std::atomic<const char*>, 64>;
  static Slots& slots() {
    static Slots all{};
    return all;
  }

  std::string path_;
  std::atomic<const char*>* slot_ = nullptr;
};

}  // namespace tessera
