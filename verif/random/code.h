// Code of a random program as a tree, so that any part can be left out and the rest still is a program: branches,
// loops, calls and repeats find their distances, counts and alignment when the tree is laid out.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "hw/types.h"

namespace tessera::random {

struct Node {
  enum class Kind : std::uint8_t {
    group,       ///< `words`, then the children
    branch,      ///< words[0] is a branch without distance over the children
    loop,        ///< the children b times, counted down in x register a
    call,        ///< the children as a routine that is called once; link in x register a
    repeat,      ///< words[0] is x.rpt or x.rpti without n over the children; words[1], if there, is the AUX beside it.
                 ///< a: 1 puts it where it is illegal (alone at an aligned pc)
    pair,        ///< both words in one aligned doubleword
    store_code,  ///< stores words[0] over a word a + 1 instructions further on, and goes there
    mret,        ///< mepc = the instruction behind, mret
    run,         ///< x5 = entry of worker b (+ a bytes), then words
    table,       ///< x5 = exchange table b, then words
  };
  Kind kind = Kind::group;
  std::vector<std::uint32_t> words;
  std::vector<Node> children;
  std::uint32_t a = 0, b = 0;
  /// The children follow from `words` (a pointer that they use): words stay as long as one of them does.
  bool whole = false;

  Node() = default;
  explicit Node(std::uint32_t word) : words{word} {}
  explicit Node(std::vector<std::uint32_t> list) : words(std::move(list)) {}
  Node(Kind k, std::vector<std::uint32_t> list, std::vector<Node> inside = {}, std::uint32_t a_ = 0,
       std::uint32_t b_ = 0)
      : kind(k), words(std::move(list)), children(std::move(inside)), a(a_), b(b_) {}
};

/// Addresses that code names.
struct Links {
  std::array<Address, 7> entry{};  ///< of worker 1..6
  Address tables = 0;
  std::uint32_t table_bytes = 0;
};

/// Lays trees out from an address up.
class Layout {
 public:
  Layout(Address at, const Links& links) : at_(at), links_(links) {}
  void add(const Node& node);
  void add(const std::vector<Node>& nodes) {
    for (const Node& node : nodes) add(node);
  }
  void emit(std::uint32_t word) { code_.push_back(word); }
  [[nodiscard]] Address here() const { return at_ + 4 * static_cast<Address>(code_.size()); }
  [[nodiscard]] std::vector<std::uint32_t>& code() { return code_; }

 private:
  void align(unsigned remainder);
  void repeat(const Node& node);

  Address at_;
  const Links& links_;
  std::vector<std::uint32_t> code_;
};

/// Leaves of the tree that emit anything, for shrinking and reports.
[[nodiscard]] std::size_t words_of(const Node& node);

}  // namespace tessera::random
