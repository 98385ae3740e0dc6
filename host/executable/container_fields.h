// The fields of every structure of an executable, each listed once: a writer and a reader go through the same list, so
// the two cannot disagree. For container.cpp alone.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "host/executable/executable.h"

namespace tessera::executable::detail {

inline constexpr std::array<const char*, 6> kSectionNames = {"platform", "programs",   "instances",
                                                             "streams",  "host steps", "report"};

class Writer {
 public:
  template <typename T>
  void number(T& value) {
    std::uint64_t bits = 0;
    if constexpr (std::is_enum_v<T>) {
      bits = static_cast<std::uint64_t>(value);
    } else {
      bits = static_cast<std::uint64_t>(value);
    }
    for (std::size_t i = 0; i < sizeof(T); ++i) bytes_.push_back(static_cast<std::uint8_t>(bits >> (8 * i)));
  }
  void text(std::string& value) {
    auto size = static_cast<std::uint32_t>(value.size());
    number(size);
    bytes_.insert(bytes_.end(), value.begin(), value.end());
  }
  template <typename T, typename F>
  void list(std::vector<T>& values, F&& each) {
    auto size = static_cast<std::uint32_t>(values.size());
    number(size);
    for (T& value : values) each(*this, value);
  }
  std::vector<std::uint8_t>& bytes() { return bytes_; }

 private:
  std::vector<std::uint8_t> bytes_;
};

class Reader {
 public:
  Reader(const std::uint8_t* bytes, std::size_t size, std::function<void(std::size_t, const std::string&)> fail)
      : bytes_(bytes), size_(size), fail_(std::move(fail)) {}

  template <typename T>
  void number(T& value) {
    need(sizeof(T));
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) bits |= static_cast<std::uint64_t>(bytes_[at_ + i]) << (8 * i);
    if constexpr (std::is_same_v<T, bool>) {
      if (bits > 1) fail_(at_, "a flag that is neither 0 nor 1");
    }
    if constexpr (std::is_same_v<T, Type>) {
      if (bits > static_cast<std::uint64_t>(Type::f32)) fail_(at_, "an unknown element type");
    }
    if constexpr (std::is_same_v<T, Step::Kind>) {
      if (bits > static_cast<std::uint64_t>(Step::Kind::finish)) fail_(at_, "an unknown kind of step");
    }
    if constexpr (std::is_same_v<T, HostStep::Kind>) {
      if (bits > static_cast<std::uint64_t>(HostStep::Kind::abort)) fail_(at_, "an unknown kind of host step");
    }
    at_ += sizeof(T);
    value = static_cast<T>(bits);
  }
  void text(std::string& value) {
    std::uint32_t size = 0;
    number(size);
    need(size);
    value.assign(reinterpret_cast<const char*>(bytes_ + at_), size);
    at_ += size;
  }
  template <typename T, typename F>
  void list(std::vector<T>& values, F&& each) {
    std::uint32_t size = 0;
    number(size);
    need(size);  // every element takes at least a byte, so a wrong count cannot ask for much memory
    values.clear();
    for (std::uint32_t i = 0; i < size; ++i) {
      values.emplace_back();
      each(*this, values.back());
    }
  }
  [[nodiscard]] std::size_t left() const { return size_ - at_; }
  [[nodiscard]] std::size_t at() const { return at_; }

 private:
  void need(std::size_t count) const {
    if (size_ - at_ < count) fail_(at_, fmt::format("{} bytes needed, {} left", count, size_ - at_));
  }
  const std::uint8_t* bytes_;
  std::size_t size_;
  std::size_t at_ = 0;
  std::function<void(std::size_t, const std::string&)> fail_;
};

template <typename A, typename... T>
void numbers(A& a, T&... values) {
  (a.number(values), ...);
}

struct Each {
  template <typename A>
  void operator()(A& a, std::uint32_t& v) const {
    a.number(v);
  }
  template <typename A>
  void operator()(A& a, std::uint64_t& v) const {
    a.number(v);
  }
  template <typename A>
  void operator()(A& a, std::uint8_t& v) const {
    a.number(v);
  }
  template <typename A>
  void operator()(A& a, std::vector<std::uint32_t>& v) const {
    a.list(v, *this);
  }
  template <typename A>
  void operator()(A& a, TileRange& v) const {
    numbers(a, v.first, v.last);
  }
  template <typename A>
  void operator()(A& a, Region& v) const {
    a.text(v.name);
    numbers(a, v.begin, v.end);
  }
  template <typename A>
  void operator()(A& a, SharedBlob& v) const {
    a.text(v.name);
    numbers(a, v.address, v.content, v.class_mask);
    a.list(v.tiles, *this);
  }
  template <typename A>
  void operator()(A& a, TileBlob& v) const {
    numbers(a, v.tile, v.address, v.content);
  }
  template <typename A>
  void operator()(A& a, ConstantPiece& v) const {
    numbers(a, v.tile, v.address, v.offset, v.words);
  }
  template <typename A>
  void operator()(A& a, Constant& v) const {
    a.text(v.name);
    a.list(v.words, *this);
    a.list(v.pieces, *this);
  }
  template <typename A>
  void operator()(A& a, EntryPoint& v) const {
    a.text(v.name);
    a.number(v.pc);
    a.list(v.reads, *this);
    a.list(v.writes, *this);
  }
  template <typename A>
  void operator()(A& a, TensorRun& v) const {
    numbers(a, v.tile, v.address, v.step, v.element, v.count);
  }
  template <typename A>
  void operator()(A& a, TensorMap& v) const {
    a.text(v.name);
    a.text(v.node);
    a.number(v.type);
    a.list(v.shape, *this);
    a.list(v.runs, *this);
  }
  template <typename A>
  void operator()(A& a, Tap& v) const {
    a.number(v.sync);
    a.list(v.names, *this);
    a.text(v.tensor);
  }
  template <typename A>
  void operator()(A& a, Step& v) const {
    numbers(a, v.begin, v.end, v.kind);
    a.text(v.path);
    a.text(v.name);
    numbers(a, v.predicted_cycles, v.phase);
  }
  template <typename A>
  void operator()(A& a, Phase& v) const {
    a.text(v.name);
    numbers(a, v.cycles, v.bound, v.words_sent, v.words_received);
  }
  template <typename A>
  void operator()(A& a, TileTable& v) const {
    numbers(a, v.tile, v.begin, v.end, v.phase);
  }
  template <typename A>
  void operator()(A& a, VertexName& v) const {
    a.text(v.vertex);
    a.text(v.codelet);
    a.text(v.compute_set);
  }
  template <typename A>
  void operator()(A& a, VertexRecord& v) const {
    numbers(a, v.tile, v.workers, v.record, v.state, v.stride, v.count, v.name, v.first);
  }
  template <typename A>
  void operator()(A& a, Symbol& v) const {
    a.text(v.name);
    numbers(a, v.address, v.size);
  }
  template <typename A>
  void operator()(A& a, Line& v) const {
    numbers(a, v.address, v.file, v.line);
  }
  template <typename A>
  void operator()(A& a, std::string& v) const {
    a.text(v);
  }
  template <typename A>
  void operator()(A& a, Program& v) const {
    a.number(v.tiles);
    a.list(v.tile_class, *this);
    a.list(v.regions, *this);
    a.list(v.contents, *this);
    a.list(v.shared, *this);
    a.list(v.blobs, *this);
    a.list(v.constants, *this);
    a.list(v.entries, *this);
    a.list(v.tensors, *this);
    a.list(v.taps, *this);
    a.list(v.steps, *this);
    a.list(v.phases, *this);
    a.list(v.tables, *this);
    a.list(v.vertex_names, *this);
    a.list(v.vertices, *this);
    a.list(v.symbols, *this);
    a.list(v.files, *this);
    a.list(v.lines, *this);
  }
  template <typename A>
  void operator()(A& a, Instance& v) const {
    numbers(a, v.ipu, v.program, v.replica);
  }
  template <typename A>
  void operator()(A& a, BufferRun& v) const {
    numbers(a, v.offset, v.step, v.element, v.count);
  }
  template <typename A>
  void operator()(A& a, BufferWords& v) const {
    numbers(a, v.tile, v.address, v.offset, v.words);
  }
  template <typename A>
  void operator()(A& a, Stream& v) const {
    a.text(v.name);
    numbers(a, v.input, v.divided, v.type, v.elements, v.buffer, v.bytes);
    a.list(v.layout, *this);
    a.list(v.words, *this);
  }
  template <typename A>
  void operator()(A& a, HostStep& v) const {
    a.number(v.code);
    a.text(v.path);
    a.list(v.reads, *this);
    a.list(v.writes, *this);
    a.number(v.kind);
    a.text(v.text);
    a.text(v.tensor);
  }
};

/// Fields of section `id`, in the order of kSectionNames.
template <typename A>
void section(A& a, Executable& e, std::size_t id) {
  const Each each;
  switch (id) {
    case 0:
      a.text(e.name);
      a.text(e.platform_name);
      a.text(e.platform_json);
      a.number(e.sram_bytes);
      break;
    case 1:
      a.list(e.programs, each);
      break;
    case 2:
      a.list(e.instances, each);
      break;
    case 3:
      a.list(e.streams, each);
      break;
    case 4:
      a.list(e.host_steps, each);
      break;
    default:
      a.text(e.interface_json);
      a.text(e.report_json);
      break;
  }
}

}  // namespace tessera::executable::detail
