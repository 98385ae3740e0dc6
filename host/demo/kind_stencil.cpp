// `tessera demo stencil`: options, what is told, what is verified. The plan is in stencil.h.
#include <fmt/format.h>

#include <charconv>
#include <memory>

#include "host/demo/kinds.h"
#include "host/demo/stencil.h"
#include "hw/error.h"

namespace tessera::demo {

namespace {

/// "512" or "512x1024": height x width.
void read_size(const std::string& text, StencilOptions& options) {
  const char* const end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, options.height);
  options.width = options.height;
  if (error == std::errc() && at != end && *at == 'x') {
    const auto width = std::from_chars(at + 1, end, options.width);
    at = width.ptr;
    error = width.ec;
  }
  if (error == std::errc() && at == end) return;
  throw Error(Category::usage, fmt::format("'{}' is no size of a field", text), "--size",
              "write it as 1024 or 1024x2048: rows x columns");
}

Demonstration make(const Platform& platform, const Arguments& arguments) {
  StencilOptions options;
  read_size(arguments.text("size"), options);
  options.steps = static_cast<std::uint32_t>(arguments.number("steps", 1, 1'000'000));
  options.seed = arguments.seed();
  const auto plan = std::make_shared<Stencil>(platform, options);
  Demonstration d;
  d.executable = plan->build();
  d.about.push_back(
      fmt::format("3x3 stencil of {} x {} points, {} steps, on {} IPU{} of {} x {} tiles: blocks of up to {} x {}",
                  options.height, options.width, options.steps, platform.ipus(), platform.ipus() == 1 ? "" : "s",
                  plan->tile_rows(), plan->tile_columns(), plan->block_rows(), plan->block_columns()));
  Total total;
  total.name = "a step";
  total.steps = {"halo packets", "halo"};
  total.times = options.steps;
  total.units = plan->points();
  total.unit = "points";
  d.totals.push_back(total);
  d.verify = [plan](const Memory& memory) {
    const Comparison c = plan->check(memory.tensor);
    Verdict verdict{c.compared, fmt::format("points after {} steps are the bits of the host's", plan->options().steps),
                    ""};
    if (c.wrong != 0) verdict.failure = fmt::format("{} points of the stencil are wrong, first {}", c.wrong, c.first);
    return std::vector<Verdict>{verdict};
  };
  return d;
}

}  // namespace

Kind stencil() {
  Kind kind;
  kind.name = "stencil";
  kind.does = "a 3x3 stencil over a field of f32 points, halos by exchange and packets";
  kind.example = "tessera demo stencil --size 1024x2048 --steps 4 --platform dss8440 --ipus 1";
  kind.parameters = {{"size", "1024", "points: N for N x N, or ROWSxCOLUMNS"}, {"steps", "4", "number of steps"}};
  kind.make = make;
  return kind;
}

}  // namespace tessera::demo
