// Vertices of one codelet in one compute set, gathered one by one and put into the graph as families where they are
// regular: the same values, and tensors that move by the same distance from member to member. Internal to host/nn.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/nn/builder.h"

namespace tessera::nn {

class VertexBatch {
 public:
  /// tensors and values: field names in the order in which add() gives them.
  VertexBatch(Builder& builder, std::string codelet, std::vector<std::string> tensors, std::vector<std::string> values,
              std::string name);
  /// One vertex; tensors may be views of any kind (the compiler stages what is not in place).
  void add(unsigned tile, std::vector<graph::Tensor> tensors, std::vector<std::uint32_t> values);
  [[nodiscard]] std::size_t size() const { return members_.size(); }
  /// Puts them into a compute set of their own and appends its execution. Does nothing without vertices.
  void execute();
  /// Puts them into `set`.
  void emit(graph::ComputeSetId set);

 private:
  struct Member {
    unsigned tile = 0;
    std::vector<graph::Tensor> tensors;
    std::vector<std::uint32_t> values;
  };
  [[nodiscard]] std::size_t regular(std::size_t first, std::vector<std::int64_t>& distances) const;
  [[nodiscard]] graph::Tensor family_tensor(std::size_t first, std::size_t count, std::size_t field,
                                            std::int64_t distance) const;

  Builder& builder_;
  std::string codelet_, name_;
  std::vector<std::string> tensors_, values_;
  std::vector<Member> members_;
};

/// Raw bits of a value field.
[[nodiscard]] std::uint32_t bits_of(float value);

}  // namespace tessera::nn
