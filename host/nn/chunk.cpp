#include "host/nn/chunk.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "host/nn/matmul_plan.h"
#include "hw/error.h"

namespace tessera::nn {

using namespace model;  // NOLINT: this file is about nothing else

namespace {

constexpr std::uint64_t kHostStepCycles = 1500;  // a host sync served with prefetch, both windows
constexpr std::uint64_t kPcieBytesPerCycle = 20;
constexpr std::uint64_t kSlack = 4;  // a chunk may take 1/4 longer than the fastest: smaller ones answer sooner

/// Tile cycles of one round, roughly: products by their plan, the rest by elements.
std::uint64_t round_cycles(const Model& model, const Options& options) {
  std::uint64_t cycles = kHostStepCycles;
  const auto bytes = [&](ValueId id) { return static_cast<std::uint64_t>(element_count(model.value(id).shape)) * 4; };
  for (const ValueId id : model.inputs) cycles += bytes(id) / kPcieBytesPerCycle;
  for (const ValueId id : model.outputs) cycles += bytes(id) / kPcieBytesPerCycle;
  for (const Node& node : model.nodes) {
    const Shape& result = model.value(node.outputs[0]).shape;
    if (node.op == Op::MatMul || node.op == Op::Gemm) {
      const Shape& a = model.value(node.inputs[0]).shape;
      const bool transposed = node.op == Op::Gemm && std::get<GemmAttributes>(node.attributes).transpose_a;
      MatmulTask task;
      task.k = transposed ? a[0] : a.back();
      task.n = model.value(node.inputs[1]).shape.size() == 1 ? 1 : result.back();
      task.m = std::max<std::int64_t>(1, element_count(result) / std::max<std::int64_t>(1, task.n));
      task.tiles = options.tiles;
      task.tile_bytes = task.weight_bytes = options.sram_bytes / 2;
      task.constant_b = model.value(node.inputs[1]).constant.has_value();
      task.rows_in_place = true;
      task.integers = model.value(node.outputs[0]).type == Type::i32;
      if (task.n > 0 && task.k > 0) cycles += plan_matmul(task).cycles();
      continue;
    }
    const bool long_function = node.op == Op::Exp || node.op == Op::Log || node.op == Op::LogSoftmax ||
                               node.op == Op::Sigmoid || node.op == Op::Softmax || node.op == Op::Tanh;
    cycles += 150 + static_cast<std::uint64_t>(element_count(result)) * (long_function ? 60 : 6) / options.tiles;
  }
  return cycles;
}

/// Activations of a round on a tile, if they were all alive at once: an upper bound that leaves room.
std::uint64_t round_bytes(const Model& model, const Options& options) {
  std::uint64_t bytes = 0;
  for (const Value& value : model.values)
    if (!value.constant) bytes += static_cast<std::uint64_t>(element_count(value.shape)) * size_of(value.type);
  return bytes / options.tiles;
}

}  // namespace

std::optional<Chunking> choose_chunk(const Model& model, const Options& options) {
  if (!rows_are_independent(model)) return std::nullopt;
  Chunking best;
  for (const SymbolicAxis& symbolic : model.symbolic)
    if (symbolic.axis == 0) {
      const std::int64_t extent = model.value(model.inputs[symbolic.input]).shape[0];
      if (best.batch != 0 && extent != best.batch) return std::nullopt;  // two open axes of different extent
      best.batch = extent;
    }
  try {
    (void)with_batch(model, best.batch + 1);
  } catch (const Error&) {
    return std::nullopt;  // an operator holds for this batch only
  }
  best.replicas =
      static_cast<unsigned>(std::max<std::int64_t>(1, std::min<std::int64_t>(options.replicas, best.batch)));
  const std::int64_t share = best.share();
  if (options.chunk > 0) {
    best.chunk = std::min(options.chunk, share);
    best.cycles = round_cycles(with_batch(model, best.chunk), options) * static_cast<std::uint64_t>(best.rounds());
  } else {
    const std::uint64_t most_bytes = options.sram_bytes / 4;
    const std::int64_t per_tile = (share + options.tiles - 1) / options.tiles;
    std::vector<std::int64_t> candidates = {share};
    for (std::int64_t rows = 1; rows <= std::min<std::int64_t>(per_tile, 96); ++rows)
      candidates.push_back(std::min<std::int64_t>(rows * options.tiles, share));
    for (std::int64_t rows = 1; rows < std::min<std::int64_t>(share, options.tiles); rows *= 2)
      candidates.push_back(rows);
    std::map<std::int64_t, std::uint64_t> cycles;  // by chunk
    for (const std::int64_t rows : candidates) {
      const Model round = with_batch(model, rows);
      const auto rounds = static_cast<std::uint64_t>((share + rows - 1) / rows);
      if (round_bytes(round, options) <= most_bytes || rows == 1) cycles[rows] = round_cycles(round, options) * rounds;
    }
    std::uint64_t least = ~std::uint64_t{0};
    for (const auto& entry : cycles) least = std::min(least, entry.second);
    for (const auto& [rows, estimate] : cycles)
      if (best.chunk == 0 && estimate <= least + least / kSlack)
        std::tie(best.chunk, best.cycles) = std::make_pair(rows, estimate);
    if (best.chunk == 0) best.chunk = 1;
  }
  const std::int64_t rounds = best.rounds();
  best.text = fmt::format("{} rows in {} rounds of {}{} ({} padded): about {} cycles", best.batch, rounds, best.chunk,
                          best.replicas > 1 ? fmt::format(" on each of {} IPUs", best.replicas) : "",
                          rounds * best.chunk * best.replicas - best.batch, best.cycles);
  return best;
}

}  // namespace tessera::nn
