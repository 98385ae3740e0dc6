// See tile_pool.h.
#include "tlm/system/tile_pool.h"

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <mutex>

namespace tessera {

namespace {

/// Collects errors; every task runs, whichever fail.
class Failures {
 public:
  void run(std::size_t i, const std::function<void(std::size_t)>& task) {
    try {
      task(i);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!first.error || i < first.task) first = {i, std::current_exception()};
    }
  }
  TilePool::Failure first;

 private:
  std::mutex mutex_;
};

}  // namespace

struct TilePool::Arena {
  explicit Arena(unsigned threads)
      : limit(tbb::global_control::max_allowed_parallelism, threads), arena(static_cast<int>(threads)) {}
  tbb::global_control limit;  // also lets there be more threads than the host has processors
  tbb::task_arena arena;
  // oneTBB orders tasks by means that a thread sanitizer cannot see inside the library; these say it once more.
  std::atomic<std::size_t> begun{0}, done{0};
};

TilePool::TilePool(unsigned threads)
    : threads_(threads), arena_(threads > 1 ? std::make_unique<Arena>(threads) : nullptr) {}

TilePool::~TilePool() = default;

TilePool::Failure TilePool::try_run(std::size_t first, std::size_t last, std::size_t grain,
                                    const std::function<void(std::size_t)>& task) {
  Failures failures;
  if (!arena_ || last - first < 2) {
    for (std::size_t i = first; i < last; ++i) failures.run(i, task);
    return failures.first;
  }
  Arena& a = *arena_;
  a.begun.fetch_add(1, std::memory_order_release);
  a.arena.execute([&] {
    tbb::parallel_for(
        tbb::blocked_range<std::size_t>(first, last, std::max<std::size_t>(grain, 1)),
        [&](const tbb::blocked_range<std::size_t>& range) {
          (void)a.begun.load(std::memory_order_acquire);
          for (std::size_t i = range.begin(); i < range.end(); ++i) failures.run(i, task);
          a.done.fetch_add(1, std::memory_order_release);
        },
        tbb::simple_partitioner());
  });
  (void)a.done.load(std::memory_order_acquire);
  return failures.first;
}

void TilePool::run(std::size_t count, const std::function<void(std::size_t)>& task) {
  const Failure failure = try_run(0, count, 1, task);
  if (failure.error) std::rethrow_exception(failure.error);
}

}  // namespace tessera
