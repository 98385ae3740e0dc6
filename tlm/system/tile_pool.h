// A pool of host threads that runs tiles between two of their stops. Which thread runs which tile never changes a
// result: tasks of one call touch nothing in common, and the first error by task number is the one that is thrown.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tessera {

class TilePool {
 public:
  /// `threads` counts the caller's: 1 makes no thread at all.
  explicit TilePool(unsigned threads);
  ~TilePool();
  TilePool(const TilePool&) = delete;
  TilePool& operator=(const TilePool&) = delete;

  /// Calls task(0) .. task(count - 1), each once, and returns when all are done. Rethrows the error of the smallest
  /// task number that failed.
  void run(std::size_t count, const std::function<void(std::size_t)>& task);

 private:
  void work();
  void take_tasks();

  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(std::size_t)>* task_ = nullptr;
  std::size_t count_ = 0;
  std::atomic<std::size_t> next_{0};
  std::size_t busy_ = 0;
  std::uint64_t round_ = 0;
  bool quit_ = false;
  std::size_t failed_at_ = 0;
  std::exception_ptr failure_;
};

}  // namespace tessera
