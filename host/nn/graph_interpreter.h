// Executes a graph's programs on the host: copies by views, vertices by the host build of the codelets, bit-exact to a
// tile. No time, no tiles, no memory limits: what a lowered graph computes, for tests.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "host/graph/graph.h"

struct tessera_host_codelet;

namespace tessera::nn {

class GraphInterpreter {
 public:
  using Source = std::function<void(std::uint64_t step, std::uint8_t* bytes)>;
  using Sink = std::function<void(std::uint64_t step, const std::uint8_t* bytes)>;

  explicit GraphInterpreter(const graph::Graph& graph);
  void connect_input(const std::string& stream, Source source) { sources_[stream] = std::move(source); }
  void connect_output(const std::string& stream, Sink sink) { sinks_[stream] = std::move(sink); }
  /// Sequence, Execute, Copy, Repeat, Call and streams; other steps are a logic error. Fields that are not one run on
  /// the vertex's tile go through a buffer, as the compiler stages them.
  void run(const std::string& entry = "main");

  [[nodiscard]] std::vector<std::uint8_t> read(const graph::Tensor& tensor) const;
  [[nodiscard]] std::uint64_t vertices_run() const { return vertices_run_; }

 private:
  void step(const graph::Program& program);
  void execute(std::uint32_t compute_set);
  void run_vertex(const graph::VertexFamily& vertex);
  struct Staged {
    graph::Tensor tensor;
    std::vector<std::uint8_t> bytes;
  };
  void run_member(const graph::VertexFamily& vertex, const tessera_host_codelet& codelet, std::uint64_t member,
                  std::uint32_t tile);
  std::uint8_t* place(const graph::Tensor& tensor, std::uint32_t tile, std::vector<Staged>& staged);
  void write(const graph::Tensor& tensor, const std::vector<std::uint8_t>& bytes);

  const graph::Graph& graph_;
  std::vector<std::vector<std::uint8_t>> memory_;  ///< by variable
  std::map<std::string, const tessera_host_codelet*> codelets_;
  std::map<std::string, Source> sources_;
  std::map<std::string, Sink> sinks_;
  std::map<std::uint32_t, std::uint64_t> stream_steps_;
  std::uint64_t vertices_run_ = 0;
};

}  // namespace tessera::nn
