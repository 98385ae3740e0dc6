// A short list of numbers, one an axis, held in place for a rank of 1: most boxes of large graphs are runs of flat
// variables, millions of them, so three heap blocks each would be most of what a compile takes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera::graph {

/// As std::vector of a trivial 8-byte type, as far as boxes need it.
template <typename T>
class Axes {
  static_assert(sizeof(T) == 8, "one number an axis");

 public:
  Axes() = default;
  Axes(std::size_t size, T value) { assign(size, value); }
  Axes(const std::vector<T>& values) { copy(values.data(), values.size()); }  // NOLINT: a shape is a list of numbers
  Axes(std::initializer_list<T> values) { copy(values.begin(), values.size()); }
  Axes(const Axes& other) { copy(other.data(), other.size_); }
  Axes(Axes&& other) noexcept : size_(other.size_), store_(other.store_) { other.size_ = 0; }
  Axes& operator=(const Axes& other) {
    if (this == &other) return *this;
    release();
    copy(other.data(), other.size_);
    return *this;
  }
  Axes& operator=(Axes&& other) noexcept {
    std::swap(size_, other.size_);
    std::swap(store_, other.store_);
    return *this;
  }
  ~Axes() { release(); }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] T* data() { return size_ > 1 ? store_.many : &store_.one; }
  [[nodiscard]] const T* data() const { return size_ > 1 ? store_.many : &store_.one; }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  [[nodiscard]] T* begin() { return data(); }
  [[nodiscard]] T* end() { return data() + size_; }
  [[nodiscard]] const T* begin() const { return data(); }
  [[nodiscard]] const T* end() const { return data() + size_; }

  void assign(std::size_t size, T value) {
    release();
    reserve(size);
    std::fill(begin(), end(), value);
  }
  void insert(std::size_t at, T value) {
    std::vector<T> values(begin(), end());
    values.insert(values.begin() + static_cast<std::ptrdiff_t>(at), value);
    *this = Axes(values);
  }
  void erase(std::size_t at) {
    std::vector<T> values(begin(), end());
    values.erase(values.begin() + static_cast<std::ptrdiff_t>(at));
    *this = Axes(values);
  }
  operator std::vector<T>() const { return std::vector<T>(begin(), end()); }  // NOLINT: and the other way

  friend bool operator==(const Axes& a, const Axes& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }
  friend bool operator!=(const Axes& a, const Axes& b) { return !(a == b); }

 private:
  /// Room for `size` numbers, from nothing.
  void reserve(std::size_t size) {
    size_ = static_cast<std::uint32_t>(size);
    if (size > 1) store_.many = new T[size];
  }
  void copy(const T* values, std::size_t size) {
    reserve(size);
    std::copy(values, values + size, data());
  }
  void release() {
    if (size_ > 1) delete[] store_.many;
    size_ = 0;
  }

  std::uint32_t size_ = 0;
  union Store {
    T one;
    T* many;
  } store_{};
};

}  // namespace tessera::graph
