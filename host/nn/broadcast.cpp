#include "host/nn/broadcast.h"

#include <algorithm>

namespace tessera::nn {

using graph::Box;
using graph::Shape;
using graph::Tensor;

namespace {

constexpr std::uint64_t kLeastBlock = 32;  // elements of the two innermost levels, unless there is nothing outside

/// Row-major strides of an operand seen with the axes of the result; 0 where it is repeated.
std::vector<std::uint64_t> strides_in(const Shape& operand, const Shape& shape) {
  std::vector<std::uint64_t> result(shape.size(), 0);
  std::uint64_t stride = 1;
  for (std::size_t k = 0; k < operand.size(); ++k) {
    const std::size_t axis = operand.size() - 1 - k;
    if (operand[axis] != 1) result[shape.size() - 1 - k] = stride;
    stride *= operand[axis];
  }
  return result;
}

}  // namespace

std::optional<BroadcastPlan::Block> BroadcastPlan::block_of(const Box& box, const Shape& shape,
                                                            const std::vector<Shape>& operands) {
  std::vector<std::vector<std::uint64_t>> strides;
  for (const Shape& operand : operands) strides.push_back(strides_in(operand, shape));
  std::vector<std::size_t> axes;
  for (std::size_t k = 0; k < shape.size(); ++k)
    if (box.extent[k] > 1) axes.push_back(k);
  std::sort(axes.begin(), axes.end(), [&](std::size_t a, std::size_t b) { return box.stride[a] < box.stride[b]; });
  Block block;
  block.variable = box.variable;
  block.begin = static_cast<std::uint64_t>(box.offset);
  block.count = 1;
  for (const std::size_t axis : axes) {
    if (box.stride[axis] != static_cast<std::int64_t>(block.count)) return std::nullopt;  // not dense, or reversed
    block.count *= box.extent[axis];
  }
  for (std::size_t i = 0; i < operands.size(); ++i) {
    std::uint64_t first = 0;
    for (std::size_t k = 0; k < shape.size(); ++k) first += box.origin[k] * strides[i][k];
    block.first.push_back(first);
  }
  for (const std::size_t axis : axes) {  // innermost first
    Level level;
    level.extent = box.extent[axis];
    for (const auto& operand : strides) level.step.push_back(operand[axis]);
    bool merge = !block.levels.empty();
    for (std::size_t i = 0; merge && i < operands.size(); ++i)
      merge = level.step[i] == block.levels.back().step[i] * block.levels.back().extent;
    if (merge)
      block.levels.back().extent *= level.extent;
    else
      block.levels.push_back(level);
  }
  if (block.levels.empty()) block.levels.push_back({1, std::vector<std::uint64_t>(operands.size(), 0)});
  for (const std::uint64_t step : block.levels[0].step)
    if (step > 1) return std::nullopt;
  std::reverse(block.levels.begin(), block.levels.end());
  const std::size_t n = block.levels.size();
  if (n > 2 && block.levels[n - 1].extent * block.levels[n - 2].extent < kLeastBlock) return std::nullopt;
  return block;
}

std::optional<BroadcastPlan> BroadcastPlan::make(const Tensor& base, const std::vector<Shape>& operands) {
  BroadcastPlan plan;
  std::uint64_t elements = 0;
  for (const Box& box : base.boxes()) {
    auto block = block_of(box, base.shape(), operands);
    if (!block) return std::nullopt;
    elements += block->count;
    plan.blocks_.push_back(std::move(*block));
  }
  if (plan.blocks_.size() > 1 && elements < kLeastBlock * plan.blocks_.size()) return std::nullopt;
  std::sort(plan.blocks_.begin(), plan.blocks_.end(), [](const Block& a, const Block& b) {
    return a.variable != b.variable ? a.variable < b.variable : a.begin < b.begin;
  });
  return plan;
}

void BroadcastPlan::cut_block(const Block& block, std::uint64_t begin, std::uint64_t end,
                              std::vector<Rectangle>& result) const {
  const std::size_t n = block.levels.size();
  const Level none{1, std::vector<std::uint64_t>(block.first.size(), 0)};
  const Level &column = block.levels[n - 1], &row = n > 1 ? block.levels[n - 2] : none;
  for (std::uint64_t at = begin; at < end;) {
    const std::uint64_t c = at % column.extent, r = at / column.extent % row.extent, left = end - at;
    Rectangle rectangle;
    rectangle.begin = block.begin + at;
    if (c != 0 || left < column.extent) {
      rectangle.columns = static_cast<std::uint32_t>(std::min(column.extent - c, left));
    } else {
      rectangle.columns = static_cast<std::uint32_t>(column.extent);
      rectangle.rows = static_cast<std::uint32_t>(std::min(row.extent - r, left / column.extent));
    }
    for (std::size_t i = 0; i < block.first.size(); ++i) {
      RectangleOperand operand;
      operand.begin = block.first[i] + c * column.step[i] + r * row.step[i];
      std::uint64_t rest = at / (column.extent * row.extent);
      for (std::size_t k = n > 1 ? n - 2 : 0; k-- > 0;) {
        operand.begin += rest % block.levels[k].extent * block.levels[k].step[i];
        rest /= block.levels[k].extent;
      }
      operand.row = rectangle.rows > 1 ? static_cast<std::uint32_t>(row.step[i]) : 0;
      operand.step = static_cast<std::uint32_t>(column.step[i]);
      operand.count =
          (rectangle.rows - 1) * std::uint64_t{operand.row} + (rectangle.columns - 1) * std::uint64_t{operand.step} + 1;
      rectangle.operands.push_back(operand);
    }
    at += std::uint64_t{rectangle.rows} * rectangle.columns;
    result.push_back(std::move(rectangle));
  }
}

std::vector<Rectangle> BroadcastPlan::cut(graph::VariableId variable, std::uint64_t begin, std::uint64_t end) const {
  std::vector<Rectangle> result;
  auto it = std::partition_point(blocks_.begin(), blocks_.end(), [&](const Block& b) {
    return b.variable < variable || (b.variable == variable && b.begin + b.count <= begin);
  });
  for (; it != blocks_.end() && it->variable == variable && it->begin < end; ++it)
    cut_block(*it, std::max(begin, it->begin) - it->begin, std::min(end, it->begin + it->count) - it->begin, result);
  return result;
}

}  // namespace tessera::nn
