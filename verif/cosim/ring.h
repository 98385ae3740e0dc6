// A queue in one block of memory that also remembers the last elements taken out: for records, which are too big for
// std::deque to keep more than one in a block of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera {

/// `history`: elements that stay readable after pop_front().
template <class T, std::size_t history = 0>
class Ring {
 public:
  Ring() : slots_(16) {
    while (slots_.size() < 2 * history) slots_.resize(2 * slots_.size());
  }

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] T& operator[](std::size_t i) { return slot(first_ + i); }
  [[nodiscard]] const T& operator[](std::size_t i) const { return slot(first_ + i); }
  [[nodiscard]] T& front() { return slot(first_); }
  [[nodiscard]] const T& front() const { return slot(first_); }
  /// References to elements are void afterwards.
  T& push_back(const T& value) {
    if (size_ + history == slots_.size()) grow();
    T& place = slot(first_ + size_++);
    place = value;
    return place;
  }
  void pop_front() {
    ++first_;
    --size_;
  }
  /// Elements taken out that are still there; k = 0 is the oldest of them.
  [[nodiscard]] std::size_t remembered() const { return first_ < history ? static_cast<std::size_t>(first_) : history; }
  [[nodiscard]] const T& past(std::size_t k) const { return slot(first_ - remembered() + k); }

 private:
  [[nodiscard]] T& slot(std::uint64_t index) { return slots_[index & (slots_.size() - 1)]; }
  [[nodiscard]] const T& slot(std::uint64_t index) const { return slots_[index & (slots_.size() - 1)]; }
  void grow() {
    std::vector<T> larger(2 * slots_.size());
    for (std::uint64_t i = first_ - remembered(); i != first_ + size_; ++i) larger[i & (larger.size() - 1)] = slot(i);
    slots_.swap(larger);
  }

  std::vector<T> slots_;  // a power of two; index modulo its size
  std::uint64_t first_ = 0;
  std::size_t size_ = 0;
};

}  // namespace tessera
