// Tensors of a model: element type, shape and contents on the host. Nothing of protobuf and nothing of the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::model {

/// Element types. i64, u64 and f64 exist only at the edge: the machine has no such arithmetic, and import narrows them.
enum class Type : std::uint8_t { boolean, i8, u8, i16, u16, i32, u32, i64, u64, f16, f32, f64 };

/// Bytes of one element: 1, 2, 4 or 8.
[[nodiscard]] unsigned size_of(Type type);
/// "bool", "i8", .. "f64".
[[nodiscard]] std::string_view name_of(Type type);

/// Extents, outermost first; empty for a scalar. Every extent is >= 0.
using Shape = std::vector<std::int64_t>;

/// Number of elements; 1 for a scalar.
[[nodiscard]] std::int64_t element_count(const Shape& shape);
/// "[3, 4]".
[[nodiscard]] std::string to_string(const Shape& shape);
/// Extents by the rules of numpy and ONNX (right-aligned, 1 stretches). Error (usage) if they do not fit.
[[nodiscard]] Shape broadcast(const Shape& a, const Shape& b);
/// Elements (not bytes) from one index to the next on each axis, row-major.
[[nodiscard]] std::vector<std::int64_t> row_major_strides(const Shape& shape);

/// Contents: row-major, little endian, element_count * size_of bytes; bool is one byte, 0 or 1.
struct Tensor {
  Type type = Type::f32;
  Shape shape;
  std::vector<std::uint8_t> data;
  std::string name;  ///< as the file says; may be empty

  Tensor() = default;
  /// Zeros.
  Tensor(Type type, Shape shape);
  template <typename T>
  Tensor(Type type, Shape shape, const std::vector<T>& values) : type(type), shape(std::move(shape)) {
    if (sizeof(T) != size_of(type) || static_cast<std::int64_t>(values.size()) != elements())
      throw std::logic_error("tensor contents do not match type and shape");
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(values.data());
    data.assign(bytes, bytes + values.size() * sizeof(T));
  }

  [[nodiscard]] std::int64_t elements() const { return element_count(shape); }
  /// Element i (flat); T must have the size of the type.
  template <typename T>
  [[nodiscard]] T at(std::int64_t i) const {
    T value;
    std::memcpy(&value, data.data() + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
    return value;
  }
  template <typename T>
  void set(std::int64_t i, T value) {
    std::memcpy(data.data() + static_cast<std::size_t>(i) * sizeof(T), &value, sizeof(T));
  }
  template <typename T>
  [[nodiscard]] std::vector<T> values() const {
    std::vector<T> result(data.size() / sizeof(T));
    if (!result.empty()) std::memcpy(result.data(), data.data(), data.size());
    return result;
  }
  /// Element i as an integer (types bool .. u64; u64 wraps) or as a double (every type; 64-bit integers round).
  [[nodiscard]] std::int64_t integer(std::int64_t i) const;
  [[nodiscard]] double real(std::int64_t i) const;
  [[nodiscard]] std::vector<std::int64_t> integers() const;
  friend bool operator==(const Tensor& a, const Tensor& b) {
    return a.type == b.type && a.shape == b.shape && a.data == b.data;
  }
};

/// IEEE binary16 bits to the value they stand for.
[[nodiscard]] float from_half(std::uint16_t bits);
/// Nearest binary16, ties to even; too large gives infinity, NaN gives 0x7E00.
[[nodiscard]] std::uint16_t to_half(double value);

/// i64 -> i32, f64 -> f32 (nearest even), other types unchanged. An integer out of the range of i32: Error
/// (unsupported) that names `what` and the value.
[[nodiscard]] Tensor narrowed(const Tensor& tensor, const std::string& what);
/// The type that narrowed() gives.
[[nodiscard]] Type narrowed(Type type);
/// i32 -> i64, f32 -> f64 for outputs that the model declares so; other pairs must be equal.
[[nodiscard]] Tensor widened(const Tensor& tensor, Type declared);

}  // namespace tessera::model
