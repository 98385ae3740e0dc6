// Plans for products on the AMP unit (amp_plan.h).
#include "host/nn/amp_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "host/nn/extent.h"

namespace tessera::nn {

namespace {

constexpr std::int64_t kWorkers = 6;
// Measured on a tile (docs/matrix.md): slots of a worker around the steps of its positions, cycles of the supervisor
// between two sets.
constexpr std::uint64_t kStartSlots = 20, kAccumulateSlots = 13, kSetCycles = 46;
constexpr std::uint64_t kSuperstepCycles = 180;  // sync, release, table, first word's delay
// Measured where a patch keeps no zeros: 378 to 482 a 3x3 convolution of 128 channels, 28x28 positions, 1216 tiles.
constexpr std::uint64_t kZeroCycles = 400;

/// Numbers of blocks that cut `extent` into different sizes, at most `limit`.
std::vector<std::int64_t> cuts(std::int64_t extent, std::int64_t limit) {
  std::vector<std::int64_t> result;
  for (std::int64_t blocks = 1; blocks <= std::min(extent, limit);) {
    const std::int64_t size = ceil_div(extent, blocks);
    result.push_back(ceil_div(extent, size));
    if (size == 1) break;
    blocks = std::max(blocks + 1, ceil_div(extent, size - 1));
  }
  return result;
}

std::int64_t used_phases(std::int64_t kernel, std::int64_t dilation, std::int64_t stride) {
  std::vector<bool> used(static_cast<std::size_t>(stride), false);
  for (std::int64_t k = 0; k < kernel; ++k) used[static_cast<std::size_t>(k * dilation % stride)] = true;
  return std::count(used.begin(), used.end(), true);
}

/// What does not depend on the block: phases and taps.
void lay_taps(const AmpTask& task, AmpPlan& plan) {
  plan.wide =
      task.fold || (task.stride_w > 1 && used_phases(task.kernel_w, task.dilation_w, task.stride_w) == task.stride_w);
  plan.pairs = task.kernel_w > 1 && (task.stride_w == 1 || plan.wide) && task.halves_suffice();
  plan.gap = plan.pairs ? task.dilation_w : 0;
  const std::int64_t columns = plan.pairs ? 2 : task.folded();
  for (std::int64_t k = 0; k < task.kernel_d * task.kernel_h; ++k)
    for (std::int64_t first = 0; first < task.kernel_w; first += columns) {
      const std::int64_t kx =
          plan.pairs ? std::min(first, task.kernel_w - 2) : first;  // reads nothing but the kernel's
      const std::int64_t ky = k % task.kernel_h, dy = ky * task.dilation_h, dx = kx * task.dilation_w;
      AmpTap tap;
      tap.kernel_depth = k / task.kernel_h;
      tap.kernel_row = ky;
      tap.kernel_column = kx;
      tap.again = kx < first;
      const std::array<std::int64_t, 3> phase = {tap.kernel_depth, dy % task.stride_h,
                                                 plan.wide ? 0 : dx % task.stride_w};
      const auto found = std::find(plan.planes.begin(), plan.planes.end(), phase);
      tap.plane = found - plan.planes.begin();
      if (found == plan.planes.end()) plan.planes.push_back(phase);
      tap.row = dy / task.stride_h;
      tap.column = plan.wide ? dx : dx / task.stride_w;
      plan.taps.push_back(tap);
    }
}

void lay_patch(const AmpTask& task, AmpPlan& plan) {
  std::int64_t down = 0, across = 0;
  for (const AmpTap& tap : plan.taps) {
    down = std::max(down, tap.row);
    across = std::max(across, tap.column + plan.gap + task.folded() - 1);
  }
  const std::int64_t step = plan.wide ? task.stride_w : 1;  // columns of the plane from position to position
  plan.plane_rows = plan.rows + down;
  plan.pitch = plan.rows * plan.images > 1 || plan.wide ? plan.columns + across / step : plan.columns + across;
  plan.shared = 0;
  if (!plan.wide && task.stride_w == 1 && task.up_w == 1 && plan.column_blocks == 1 && plan.rows * plan.images > 1) {
    const std::int64_t behind = plan.columns + across - task.pad_w - task.in_w;
    plan.shared = std::max<std::int64_t>(0, std::min({task.pad_w, behind, across}));
    plan.pitch -= plan.shared;
  }
  plan.plane_columns = plan.pitch * step;
  const std::int64_t last = ((plan.images - 1) * plan.plane_rows + plan.rows - 1) * plan.pitch + plan.columns;
  plan.positions = std::max<std::int64_t>(3, ceil_div(last, kWorkers));
  const std::int64_t column = task.column_channels(), blocks = plan.groups * plan.in_blocks;
  const std::int64_t planes = static_cast<std::int64_t>(plan.planes.size());
  std::int64_t end = 0;  // of what the last block's taps read
  for (const AmpTap& tap : plan.taps)
    end = std::max(end, tap.plane * plan.plane_elements(task) +
                            (tap.row * plan.plane_columns + tap.column + plan.gap) * column +
                            (plan.sum_positions() - 1) * step * column + task.load());
  const std::int64_t block = planes * plan.plane_elements(task);
  plan.patch_elements = (blocks - 1) * block + std::max(block, end);
  plan.patch_elements = ceil_div(plan.patch_elements, 8) * 8;
}

/// What bringing the sums and finishing them costs, and the bytes of what is brought to a tile.
void estimate_result(const AmpTask& task, AmpPlan& plan) {
  plan.local = task.halves == 1 || (plan.out_sets % 2 == 0 && task.out_sets() % 2 == 0);
  const std::int64_t sums = plan.groups * plan.out_sets * plan.images * plan.rows * plan.columns;  // of eight channels
  std::int64_t share = ceil_div(sums, plan.in_parts), brought = share * (plan.in_parts - 1), sent = sums - share;
  if (!plan.local) {
    share = ceil_div(task.groups * task.out_sets() * task.images * task.out_h * task.out_w, task.tiles);
    brought = share * plan.in_parts;
    sent = sums;
  }
  plan.exchange_cycles = brought == 0 ? 0 : u(std::max(sent, brought)) * 8 + kSuperstepCycles;
  const std::int64_t runs = plan.pitch == plan.columns ? 1 : ceil_div(plan.images * plan.rows, kWorkers) + 1;
  plan.finish_cycles =
      100 + u(kWorkers * kAmpFinish.slots(runs, ceil_div(share, kWorkers), plan.in_parts - 1, task.addend));
  plan.bytes = u(brought) * 32;
}

void estimate(const AmpTask& task, AmpPlan& plan) {
  const std::uint64_t step = task.half ? 4 : 8, q = u(plan.positions);
  const std::uint64_t sets = u(plan.sets()), firsts = u(plan.groups * plan.out_sets);
  const std::uint64_t start = kSetCycles + kWorkers * (kStartSlots + (task.half ? 0 : 8) + step * q);
  const std::uint64_t further = kSetCycles + kWorkers * (kAccumulateSlots + (task.half ? 0 : 8) + step * q);
  plan.compute_cycles = firsts * start + (sets - firsts) * further + 100;

  // Words brought, words of sums sent and received.
  const bool padded = task.pad_h > 0 || task.up_h > 1 || task.up_w > 1 || task.pad_d > 0 || task.pad_w > 0 ||
                      task.in_channels % task.column_channels() != 0 || task.in_blocks() % plan.in_blocks != 0 ||
                      (task.out_h - 1) * task.stride_h + (task.kernel_h - 1) * task.dilation_h >= task.in_h ||
                      (task.out_w - 1) * task.stride_w + (task.kernel_w - 1) * task.dilation_w >= task.in_w;
  const std::uint64_t patch = u(plan.patch_elements * task.element_bytes()) / 4;
  std::uint64_t words = patch;
  if (!task.constant_weights || task.weights_once) words += sets * 64;
  estimate_result(task, plan);
  plan.exchange_cycles += words + kSuperstepCycles + (padded ? kZeroCycles : 0);
  plan.weight_bytes = sets * 260;
  const std::uint64_t sum_bytes = u(plan.groups * plan.out_sets * plan.sum_positions()) * 32;
  plan.bytes = plan.weight_bytes + sum_bytes + std::max(patch * 4, plan.bytes);
  const std::uint64_t resident = task.constant_weights && !task.weights_once ? plan.weight_bytes : 0;
  const auto beyond = [](std::uint64_t bytes, std::uint64_t limit) { return bytes > limit ? bytes - limit : 0; };
  plan.work_bytes = plan.bytes - resident;
  plan.excess = beyond(plan.work_bytes, task.tile_bytes) + beyond(resident, task.weight_bytes);
  plan.fits = plan.excess == 0;
  plan.cost = static_cast<double>(plan.cycles()) + task.weight_price * static_cast<double>(resident);
  const double all = static_cast<double>(task.groups * task.out_sets() * task.images * task.out_h * task.out_w) *
                     static_cast<double>(task.in_blocks()) * static_cast<double>(plan.taps.size()) *
                     static_cast<double>(step);
  plan.useful = all / static_cast<double>(plan.compute_cycles) / static_cast<double>(plan.tiles());
}

bool better(const AmpPlan& a, const AmpPlan& b) {
  if (a.fits != b.fits) return a.fits;
  if (a.fits) return a.cost < b.cost;
  return a.excess != b.excess ? a.excess < b.excess : a.bytes < b.bytes;
}

/// Blocks of the field: images, rows, columns.
std::vector<std::array<std::int64_t, 3>> field_cuts(const AmpTask& task) {
  std::vector<std::array<std::int64_t, 3>> result;
  const std::int64_t tiles = task.tiles;
  for (const std::int64_t images : cuts(task.images, tiles)) {
    const std::int64_t left = tiles / images;
    for (const std::int64_t rows : cuts(task.out_h, left)) {
      if (rows > 1 && images < task.images) break;  // rows are cut only where a tile has one image
      for (const std::int64_t columns : cuts(task.out_w, left / rows)) {
        if (columns > 8 && task.out_h > 1 && rows * 2 < task.out_h) break;  // blocks stay about square
        result.push_back({images, rows, columns});
      }
    }
  }
  return result;
}

}  // namespace

std::int64_t AmpTask::half_of(std::int64_t out_set) const {
  if (narrow_in == 0 || !half) return -1;
  const std::int64_t last = std::min(out_set * 8 + 7, out_channels - 1);
  const std::int64_t begin = out_set * 8 / narrow_out * narrow_in, end = (last / narrow_out + 1) * narrow_in;
  return begin / 8 == (end - 1) / 8 ? begin / 8 : -1;
}

bool AmpTask::halves_suffice() const {
  if (fold || !constant_weights || in_blocks() != 1) return false;
  for (std::int64_t o = 0; o < out_sets(); ++o)
    if (half_of(o) < 0) return false;
  return true;
}

AmpPlan plan_amp(const AmpTask& task) {
  AmpPlan base;
  lay_taps(task, base);
  AmpPlan best;
  bool any = false;
  const std::int64_t tiles = task.tiles;
  const std::vector<std::int64_t> group_cuts = cuts(task.groups, tiles);
  for (const auto& [images, rows, columns] : field_cuts(task)) {
    AmpPlan plan = base;
    plan.images = ceil_div(task.images, images);
    plan.rows = ceil_div(task.out_h, rows);
    plan.columns = ceil_div(task.out_w, columns);
    plan.image_blocks = ceil_div(task.images, plan.images);
    plan.row_blocks = ceil_div(task.out_h, plan.rows);
    plan.column_blocks = ceil_div(task.out_w, plan.columns);
    for (const std::int64_t groups : group_cuts) {
      if (groups * plan.field_blocks() > tiles) break;
      plan.groups = ceil_div(task.groups, groups);
      plan.group_blocks = ceil_div(task.groups, plan.groups);
      const std::int64_t left = tiles / (plan.field_blocks() * plan.group_blocks);
      for (const std::int64_t out : cuts(task.out_sets(), left)) {
        plan.out_sets = ceil_div(task.out_sets(), out);
        plan.out_blocks = ceil_div(task.out_sets(), plan.out_sets);
        for (const std::int64_t in : cuts(task.in_blocks(), plan.groups > 1 ? 1 : left / plan.out_blocks)) {
          plan.in_blocks = ceil_div(task.in_blocks(), in);
          plan.in_parts = ceil_div(task.in_blocks(), plan.in_blocks);
          lay_patch(task, plan);
          estimate(task, plan);
          if (!any || better(plan, best)) best = plan;
          any = true;
        }
      }
    }
  }
  return best;
}

std::string AmpPlan::text() const {
  return fmt::format(
      "AMP: field {} x {} x {}, {} groups, {} of 8 output channels, {} of input channels on a tile; {} x {} x {} x {} "
      "tiles; {} sets, {} positions a worker; about {} cycles compute ({:.0f} % useful), {} exchange, {} finish; {} "
      "bytes "
      "a tile, {} of them weights",
      images, rows, columns, groups, out_sets, in_blocks, field_blocks(), group_blocks, out_blocks, in_parts, sets(),
      positions, compute_cycles, 100 * useful, exchange_cycles, finish_cycles, bytes, weight_bytes);
}

}  // namespace tessera::nn
