// Runs of elements from variables to one variable, gathered and copied at once. Internal to host/nn.
#pragma once

#include <cstdint>
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
  /// One copy to the flat elements of `to`.
  void emit(Builder& builder, graph::VariableId to, const std::string& name) const {
    if (runs_.empty()) return;
    std::vector<graph::Run> from, into;
    from.reserve(runs_.size());
    into.reserve(runs_.size());
    std::uint64_t begin = 0;
    for (const Run& run : runs_) {
      const auto count = static_cast<std::uint64_t>(run.count);
      from.push_back({begin, count, run.from, run.source});
      into.push_back({begin, count, to, run.target});
      begin += count;
    }
    const graph::Graph& graph = builder.graph();
    const graph::Tensor src = graph::Tensor::of_runs(graph.variable(runs_.front().from).type, from);
    builder.copy(src, graph::Tensor::of_runs(graph.variable(to).type, into), name);
  }

 private:
  struct Run {
    graph::VariableId from;
    std::int64_t source, target, count;
  };
  std::vector<Run> runs_;
};

}  // namespace tessera::nn
