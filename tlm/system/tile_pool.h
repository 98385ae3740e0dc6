// A pool of host threads (oneTBB) that runs tiles between two of their stops. Which thread runs which tile never
// changes a result: tasks of one call touch nothing in common, and the first error by task number is the one that is
// thrown. What is worth several threads is the caller's to decide, by amounts of work and never by time.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>

namespace tessera {

class TilePool {
 public:
  /// `threads` counts the caller's: 1 makes no thread at all.
  explicit TilePool(unsigned threads);
  ~TilePool();
  TilePool(const TilePool&) = delete;
  TilePool& operator=(const TilePool&) = delete;

  [[nodiscard]] unsigned threads() const { return threads_; }

  /// The error of the smallest task number that failed.
  struct Failure {
    std::size_t task = 0;
    std::exception_ptr error;  ///< null: none failed
  };
  /// Calls task(first) .. task(last - 1), each once, up to `grain` in a row on one thread, and returns when all are
  /// done, also when some fail.
  Failure try_run(std::size_t first, std::size_t last, std::size_t grain, const std::function<void(std::size_t)>& task);
  /// task(0) .. task(count - 1), one at a time on any thread. Rethrows the error of the smallest task number that
  /// failed.
  void run(std::size_t count, const std::function<void(std::size_t)>& task);

 private:
  struct Arena;
  unsigned threads_;
  std::unique_ptr<Arena> arena_;  // none for one thread
};

}  // namespace tessera
