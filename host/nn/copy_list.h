// Runs of elements from variables to one variable, gathered and copied at once. Internal to host/nn.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
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
    const graph::Graph& graph = builder.graph();
    // One side at a time: there may be millions of runs.
    const graph::Tensor src = side(graph, [](const Run& run) { return std::make_pair(run.from, run.source); });
    const graph::Tensor dst = side(graph, [&](const Run& run) { return std::make_pair(to, run.target); });
    builder.copy(src, dst, name);
  }

 private:
  struct Run {
    graph::VariableId from;
    std::int64_t source, target, count;
  };
  /// place(run): variable and first element.
  template <typename F>
  [[nodiscard]] graph::Tensor side(const graph::Graph& graph, F&& place) const {
    std::vector<graph::Run> runs;
    runs.reserve(runs_.size());
    std::uint64_t begin = 0;
    for (const Run& run : runs_) {
      const auto [variable, first] = place(run);
      runs.push_back({begin, static_cast<std::uint64_t>(run.count), variable, first});
      begin += static_cast<std::uint64_t>(run.count);
    }
    return graph::Tensor::of_runs(graph.variable(runs.front().variable).type, runs);
  }

  std::vector<Run> runs_;
};

}  // namespace tessera::nn
