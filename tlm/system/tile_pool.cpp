// See tile_pool.h.
#include "tlm/system/tile_pool.h"

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <mutex>

#ifdef TESSERA_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace tessera {

namespace {

// oneTBB orders its tasks by means that a thread sanitizer cannot see. So this file, which holds all of its templates,
// is not instrumented in such a build, and says by itself what is ordered.
#ifdef TESSERA_THREAD_SANITIZER
void ordered_before(char& place) { __tsan_release(&place); }
void ordered_after(char& place) { __tsan_acquire(&place); }
#else
void ordered_before(char&) {}
void ordered_after(char&) {}
#endif

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
  char begun = 0, done = 0;  // places to which a thread sanitizer ties what happens before and after the tasks
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
  ordered_before(a.begun);
  a.arena.execute([&] {
    tbb::parallel_for(
        tbb::blocked_range<std::size_t>(first, last, std::max<std::size_t>(grain, 1)),
        [&](const tbb::blocked_range<std::size_t>& range) {
          ordered_after(a.begun);
          for (std::size_t i = range.begin(); i < range.end(); ++i) failures.run(i, task);
          ordered_before(a.done);
        },
        tbb::simple_partitioner());
  });
  ordered_after(a.done);
  return failures.first;
}

void TilePool::run(std::size_t count, const std::function<void(std::size_t)>& task) {
  const Failure failure = try_run(0, count, 1, task);
  if (failure.error) std::rethrow_exception(failure.error);
}

}  // namespace tessera
