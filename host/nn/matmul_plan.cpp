#include "host/nn/matmul_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace tessera::nn {

namespace {

constexpr std::int64_t kWorkers = 6;
constexpr std::uint64_t kCyclesPerSlot = 6;      // a worker issues every sixth cycle
constexpr std::uint64_t kSuperstepCycles = 150;  // sync, release, table fetch, start and end of vertices
constexpr std::uint64_t kExchangeDelay = 80;     // first word of a phase
constexpr std::uint64_t kVertexSlots = 30;       // dispatch, entry, exit

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Numbers of blocks that cut `extent` differently, at most `limit`; every count for small extents.
std::vector<std::int64_t> cuts(std::int64_t extent, std::int64_t limit) {
  std::vector<std::int64_t> result;
  for (std::int64_t blocks = 1; blocks <= std::min(extent, limit);) {
    result.push_back(blocks);
    const std::int64_t size = ceil_div(extent, blocks);
    if (size == 1) break;
    blocks = std::max(blocks + 1, ceil_div(extent, size - 1));
  }
  return result;
}

struct WorkerSplit {
  std::int64_t rows = 1, columns = 1;
  std::uint64_t slots = ~std::uint64_t{0};
};

/// Blocks of one tile for its six workers: the longest worker's slots are least; full rows are preferred at equal cost,
/// since they keep the result in one piece.
WorkerSplit split_workers(std::int64_t rows, std::int64_t columns, std::int64_t inner, bool integers) {
  WorkerSplit best;
  for (std::int64_t across = 1; across <= kWorkers; ++across) {
    std::int64_t width = ceil_div(columns, across);
    if (across > 1) width = ceil_div(width, 4) * 4;
    for (std::int64_t down = 1; down <= kWorkers / across; ++down) {
      for (const std::int64_t unit : {1, 4}) {
        const std::int64_t height = std::min(rows, ceil_div(ceil_div(rows, down), unit) * unit);
        const std::int64_t vertices = ceil_div(rows, height) * ceil_div(columns, width);
        const std::uint64_t slots = static_cast<std::uint64_t>(ceil_div(vertices, kWorkers)) *
                                    (matmul_slots(height, std::min(width, columns), inner, integers) + kVertexSlots);
        if (slots < best.slots) best = {height, std::min(width, columns), slots};
      }
    }
  }
  return best;
}

MatmulPlan evaluate(const MatmulTask& task, std::int64_t row_blocks, std::int64_t column_blocks,
                    std::int64_t inner_blocks) {
  MatmulPlan plan;
  plan.rows = ceil_div(task.m, row_blocks);
  plan.columns = ceil_div(task.n, column_blocks);
  plan.inner = ceil_div(task.k, inner_blocks);
  plan.row_blocks = ceil_div(task.m, plan.rows);
  plan.column_blocks = ceil_div(task.n, plan.columns);
  plan.inner_blocks = ceil_div(task.k, plan.inner);
  const WorkerSplit split = split_workers(plan.rows, plan.columns, plan.inner, task.integers);
  plan.worker_rows = split.rows;
  plan.worker_columns = split.columns;
  plan.compute_cycles = split.slots * kCyclesPerSlot + kSuperstepCycles;

  const bool a_moves = !(task.rows_in_place && plan.column_blocks == 1 && plan.inner_blocks == 1);
  std::uint64_t words = a_moves ? static_cast<std::uint64_t>(plan.rows * plan.inner) : 0;
  if (!task.constant_b) words += static_cast<std::uint64_t>(plan.inner * plan.columns);
  if (words > 0) plan.exchange_cycles = words + kExchangeDelay + kSuperstepCycles;
  std::uint64_t partials = static_cast<std::uint64_t>(plan.rows * plan.columns);
  std::uint64_t reduced = 0;
  if (plan.inner_blocks > 1) {
    const std::uint64_t share = matmul_share(static_cast<std::uint64_t>(task.m * task.n), task.tiles);
    const auto terms = static_cast<std::uint64_t>(plan.inner_blocks);
    reduced = share * terms;
    plan.exchange_cycles += std::max(reduced, partials) + kExchangeDelay + kSuperstepCycles;
    plan.compute_cycles += kWorkers * (kVertexSlots + (share + kWorkers - 1) / kWorkers * (10 + 4 * terms)) +
                           kSuperstepCycles;  // ReduceAdd
    reduced += share;
  }
  const auto weights = static_cast<std::uint64_t>(plan.inner * plan.columns) * 4;
  plan.bytes = weights + 4 * (partials + reduced + (a_moves ? static_cast<std::uint64_t>(plan.rows * plan.inner) : 0));
  plan.fits = plan.bytes <= task.tile_bytes && (!task.constant_b || weights <= task.weight_bytes);
  return plan;
}

bool better(const MatmulPlan& a, const MatmulPlan& b) {
  if (a.fits != b.fits) return a.fits;
  return a.fits ? a.cycles() < b.cycles() : a.bytes < b.bytes;
}

}  // namespace

std::uint64_t matmul_share(std::uint64_t elements, unsigned tiles) {
  constexpr std::uint64_t kLeast = 4;  // 16 bytes, so that vectors of what follows stay whole
  return std::max(kLeast, (elements + tiles - 1) / tiles + 3) / 4 * 4;
}

std::uint64_t matmul_slots(std::int64_t rows, std::int64_t columns, std::int64_t inner, bool integers) {
  // Slots of a step of the inner loop and around it, for blocks of 4x4, 4x1, 1x4 and 1x1 elements. Integers have no
  // fused multiply-add, and their 4x4 sums do not all stay in registers.
  const auto k = static_cast<std::uint64_t>(inner);
  const auto block = [&](std::uint64_t step, std::uint64_t around) { return step * k + around; };
  const std::int64_t high = rows / 4, low = rows % 4, wide = columns / 4, narrow = columns % 4;
  struct Block {
    std::uint64_t step, around;
  };
  constexpr Block kSingles[] = {{27, 60}, {14, 30}, {12, 30}, {6, 15}},
                  kIntegers[] = {{60, 80}, {22, 24}, {17, 17}, {8, 9}};
  const Block* blocks = integers ? kIntegers : kSingles;
  const std::int64_t counts[] = {high * wide, high * narrow, low * wide, low * narrow};
  std::uint64_t slots = 0;
  for (int i = 0; i < 4; ++i) slots += static_cast<std::uint64_t>(counts[i]) * block(blocks[i].step, blocks[i].around);
  return slots;
}

MatmulPlan plan_matmul(const MatmulTask& task) {
  MatmulPlan best;
  bool any = false;
  for (const std::int64_t rows : cuts(task.m, task.tiles))
    for (const std::int64_t columns : cuts(task.n, task.tiles / rows))
      for (const std::int64_t inner : cuts(task.k, task.tiles / (rows * columns))) {
        if (inner > 1 && ceil_div(task.k, inner) < 8) continue;  // no piece so thin pays for its reduction
        const MatmulPlan plan = evaluate(task, rows, columns, inner);
        if (!any || better(plan, best)) best = plan;
        any = true;
      }
  return best;
}

std::string MatmulPlan::text() const {
  return fmt::format(
      "{} x {} x {} tiles, blocks {} x {} x {}, vertices {} x {}: {} cycles compute, {} exchange, {} bytes a tile",
      row_blocks, column_blocks, inner_blocks, rows, columns, inner, worker_rows, worker_columns, compute_cycles,
      exchange_cycles, bytes);
}

}  // namespace tessera::nn
