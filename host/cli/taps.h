// Tapped tensors: read from outside when all tiles of an IPU are released from a sync, and gathered to whole values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "host/executable/executable.h"
#include "host/graph/tensor.h"
#include "host/nn/lower.h"
#include "tlm/system/system.h"

namespace tessera::cli {

/// Takes what a tapped tensor held: row-major bytes. `instance`: index into Executable::instances.
using TapSink =
    std::function<void(const executable::Tap& tap, std::size_t instance, const std::vector<std::uint8_t>& bytes)>;

/// A tensor's bytes out of the tiles' memories, whatever the tiles do; no time passes.
inline std::vector<std::uint8_t> read_tensor(System& system, unsigned ipu, const executable::TensorMap& map) {
  const std::size_t size = graph::size_of(map.type);
  std::vector<std::uint8_t> bytes(graph::element_count(map.shape) * size);
  for (const executable::TensorRun& run : map.runs) {
    const TileModel& tile = system.chip(ipu).ipu().tile(run.tile);
    if (run.step == static_cast<std::int64_t>(size)) {
      tile.read_memory(run.address, bytes.data() + run.element * size, run.count * size);
      continue;
    }
    for (std::uint64_t i = 0; i < run.count; ++i)
      tile.read_memory(static_cast<Address>(run.address + static_cast<std::int64_t>(i) * run.step),
                       bytes.data() + (run.element + i) * size, size);
  }
  return bytes;
}

/// To be called as tiles are released (SystemConfig::released): all of them wait in the sync, workers are done, memory
/// holds what the program has computed.
inline void read_taps(System& system, unsigned ipu, const executable::Executable& executable, const TapSink& sink) {
  for (std::size_t i = 0; i < executable.instances.size(); ++i) {
    const executable::Instance& instance = executable.instances[i];
    if (instance.ipu != ipu) continue;
    const executable::Program& program = executable.programs.at(instance.program);
    if (program.taps.empty()) return;
    const Address pc = system.chip(ipu).ipu().tile(0).supervisor_pc();
    const auto [first, last] = std::equal_range(program.taps.begin(), program.taps.end(), executable::Tap{pc, {}, {}},
                                                [](const auto& a, const auto& b) { return a.sync < b.sync; });
    for (auto tap = first; tap != last; ++tap)
      sink(*tap, i, read_tensor(system, ipu, *executable::find_tensor(program, tap->tensor)));
  }
}

/// Gathers tapped values: each pass of a tap is one step of one value, as a stream's step is.
class TapGatherer {
 public:
  /// taps: as lowering says (nn::Lowered::taps); must outlive this.
  TapGatherer(const std::vector<nn::Binding>& taps, std::size_t instances) : instances_(instances) {
    for (const nn::Binding& tap : taps) bindings_[tap.name] = &tap;
  }
  void take(const executable::Tap& tap, std::size_t instance, const std::vector<std::uint8_t>& bytes) {
    const std::uint64_t pass = passes_[{instance, tap.tensor}]++;
    const std::string& name = tap.names[pass % tap.names.size()];
    const auto found = bindings_.find(name);
    if (found == bindings_.end()) return;
    const nn::Binding& binding = *found->second;
    auto [node, is_new] = nodes.try_emplace(name);
    if (is_new) node->second = model::Tensor(binding.type, binding.shape);
    nn::drain_step(binding, node->second, pass / tap.names.size() * instances_ + instance, bytes.data());
  }

  std::map<std::string, model::Tensor> nodes;  ///< whole values by name, in the machine's types

 private:
  std::size_t instances_;
  std::map<std::string, const nn::Binding*> bindings_;
  std::map<std::pair<std::size_t, std::string>, std::uint64_t> passes_;
};

}  // namespace tessera::cli
