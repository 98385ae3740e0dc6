// Runs of elements from variables to one variable, gathered and copied at once. Internal to host/nn.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "host/nn/builder.h"

namespace tessera::nn {

class CopyList {
 public:
  void add(graph::VariableId from, std::int64_t source, std::int64_t target, std::int64_t count) {
    if (!runs_.empty()) {
      Run& last = runs_.back();
      if (last.from == from && last.source + last.count == source && last.target + last.count == target) {
        last.count += count;
        return;
      }
    }
    runs_.push_back({from, source, target, count});
  }
  [[nodiscard]] bool empty() const { return runs_.empty(); }
  /// One copy to the flat elements of `to`.
  void emit(Builder& builder, graph::VariableId to, const std::string& name) const {
    if (runs_.empty()) return;
    std::map<graph::VariableId, graph::Tensor> flat;
    const graph::Tensor target = builder.flat(to);
    std::vector<graph::Tensor> src, dst;
    src.reserve(runs_.size());
    dst.reserve(runs_.size());
    for (const Run& run : runs_) {
      auto [it, fresh] = flat.try_emplace(run.from);
      if (fresh) it->second = builder.flat(run.from);
      const auto slice = [&](const graph::Tensor& whole, std::int64_t first) {
        return whole.slice(static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(first + run.count));
      };
      src.push_back(slice(it->second, run.source));
      dst.push_back(slice(target, run.target));
    }
    builder.copy(graph::Tensor::concat(src), graph::Tensor::concat(dst), name);
  }

 private:
  struct Run {
    graph::VariableId from;
    std::int64_t source, target, count;
  };
  std::vector<Run> runs_;
};

}  // namespace tessera::nn
