// See tile_pool.h.
#include "tlm/system/tile_pool.h"

namespace tessera {

TilePool::TilePool(unsigned threads) {
  for (unsigned i = 1; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

TilePool::~TilePool() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    quit_ = true;
  }
  wake_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void TilePool::take_tasks() {
  for (std::size_t i = next_++; i < count_; i = next_++) {
    try {
      (*task_)(i);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!failure_ || i < failed_at_) failure_ = std::current_exception(), failed_at_ = i;
    }
  }
}

void TilePool::work() {
  std::uint64_t seen = 0;
  for (;;) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      wake_.wait(lock, [&] { return quit_ || round_ != seen; });
      if (quit_) return;
      seen = round_;
    }
    take_tasks();
    const std::lock_guard<std::mutex> lock(mutex_);
    if (--busy_ == 0) done_.notify_one();
  }
}

void TilePool::run(std::size_t count, const std::function<void(std::size_t)>& task) {
  if (threads_.empty() || count < 2) {
    // Like the threads: all tasks run, then the first error is thrown.
    std::exception_ptr failure;
    for (std::size_t i = 0; i < count; ++i) {
      try {
        task(i);
      } catch (...) {
        if (!failure) failure = std::current_exception();
      }
    }
    if (failure) std::rethrow_exception(failure);
    return;
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    task_ = &task;
    count_ = count;
    next_ = 0;
    failure_ = nullptr;
    busy_ = threads_.size();
    ++round_;
  }
  wake_.notify_all();
  take_tasks();
  std::unique_lock<std::mutex> lock(mutex_);
  done_.wait(lock, [&] { return busy_ == 0; });
  if (failure_) std::rethrow_exception(failure_);
}

}  // namespace tessera
