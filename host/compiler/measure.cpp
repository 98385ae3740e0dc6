#include "host/compiler/measure.h"

#include <algorithm>

#include "host/compiler/allocate.h"
#include "host/compiler/control.h"
#include "host/compiler/image.h"
#include "host/compiler/liveness.h"
#include "host/compiler/lower.h"
#include "hw/generated/machine.h"

namespace tessera::compiler {

namespace {

/// live: takes the largest sum of what is live at once on a tile.
DataMemory place(const Ir& ir, const Liveness& liveness, const Platform& platform, const CodeImage& code,
                 const AllocateOptions& options, std::uint64_t& live) {
  DataMemory memory;
  live = 0;
  memory.reuse = options.reuse;
  memory.in_place = !options.in_place.empty();
  const Allocation allocation = allocate(ir, liveness, platform, code.holes, options);
  for (std::uint32_t t = 0; t < allocation.tiles().size(); ++t) {
    const TileMemory& tile = allocation.tiles()[t];
    const auto below = static_cast<std::uint64_t>(static_cast<std::int64_t>(platform.sram_end()) - tile.lowest);
    live = std::max(live, tile.bound);
    memory.all_tiles += below + tile.in_holes;
    if (below <= memory.fullest) continue;
    memory.fullest = below;
    memory.tile = t;
  }
  return memory;
}

/// What does not depend on how variables share memory.
void add_liveness(MemoryMeasure& measure, const Ir& ir, const Liveness& liveness) {
  std::vector<std::uint64_t> live(liveness.points.size(), 0);
  std::uint64_t always = 0;
  for (std::uint32_t v = 0; v < ir.graph.variables().size(); ++v) {
    if (!liveness.ever_live(v)) continue;
    const graph::Variable& variable = ir.graph.variables()[v];
    std::uint64_t bytes = 0;
    for (const auto& [tile, size] : ir.layout.blocks(v)) bytes += size;
    if (variable.constant()) measure.constants_once += variable.data->size();
    if (liveness.always[v]) {
      (variable.constant() ? measure.constants : measure.kept) += bytes;
      always += bytes;
      continue;
    }
    measure.variables += bytes;
    for (std::size_t p = 0; p < live.size(); ++p)
      if (liveness.live_at(v, p)) live[p] += bytes;
  }
  const auto most = std::max_element(live.begin(), live.end());
  if (most == live.end()) return;
  measure.live = *most + always;
  const Point& point = liveness.points[static_cast<std::size_t>(most - live.begin())];
  measure.peak = point.path + (point.name.empty() ? "" : " (" + point.name + ")");
}

}  // namespace

MemoryMeasure measure_memory(const graph::Graph& graph, const Platform& platform, const CodeletLibrary& library,
                             const std::function<void(const std::string&)>& progress,
                             const std::function<void()>& poll) {
  const auto pass = [&](const std::string& name) {
    if (progress) progress(name);
  };
  pass("validate");
  graph::validate(graph);
  Ir ir(graph);
  ir.poll = poll;
  ir.keeps_moves = false;
  pass("lower");
  lower(ir, library);
  pass("liveness");
  const Liveness liveness = analyse_liveness(ir);
  const Control control = generate_control(ir, kSramBase + start_region::kBytes, {kSramBase, kSramBase},
                                           std::vector<std::uint32_t>(ir.exchanges.size(), 1));
  const CodeImage code = link_code(ir, library, align_region(control.end()));
  MemoryMeasure measure;
  measure.tiles = graph.tiles();
  measure.sram_bytes = platform.sram_bytes;
  const Address behind = align_region(align_region(code.image.end) + 4 * static_cast<Address>(control.slots.size()));
  measure.program_bytes = behind - kSramBase + kWorkers * code.worker_stack + kSupervisorStackBytes;
  add_liveness(measure, ir, liveness);
  const std::vector<InPlace> pairs = find_in_place(ir, liveness);
  measure.turnovers = pairs.size();
  pass("allocate without sharing");
  measure.none = place(ir, liveness, platform, code, {false, {}}, measure.live_fullest);
  pass("allocate in place");
  measure.in_place_alone = place(ir, liveness, platform, code, {false, pairs}, measure.live_fullest);
  pass("allocate with reuse");
  measure.reused = place(ir, liveness, platform, code, {true, {}}, measure.live_fullest);
  pass("allocate with both");
  measure.in_place = place(ir, liveness, platform, code, {true, pairs}, measure.live_fullest);
  return measure;
}

}  // namespace tessera::compiler
