// `tessera demo allreduce`: options, what is told, what is verified. The plan is in allreduce.h.
#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "host/demo/allreduce.h"
#include "host/demo/kinds.h"
#include "hw/error.h"

namespace tessera::demo {

namespace {

/// "1024", "1KB" (1000), "1KiB" (1024), "51MB", "2MiB".
std::uint64_t bytes_of(const std::string& text) {
  std::size_t digits = 0;
  while (digits < text.size() && digits < 12 && text[digits] >= '0' && text[digits] <= '9') ++digits;
  const std::string unit = text.substr(digits);
  std::uint64_t factor = 0;
  if (unit.empty() || unit == "B") factor = 1;
  if (unit == "KB" || unit == "kB") factor = 1000;
  if (unit == "MB") factor = 1000 * 1000;
  if (unit == "KiB") factor = 1024;
  if (unit == "MiB") factor = 1024 * 1024;
  if (digits == 0 || factor == 0) {
    throw Error(Category::usage, fmt::format("'{}' is no size", text), "--bytes",
                "write it as 4096, 1KB (1000), 1KiB (1024), 51MB or 2MiB");
  }
  return std::stoull(text.substr(0, digits)) * factor;
}

AllReduceOptions::Way way_of(const std::string& text) {
  if (text == "auto") return AllReduceOptions::Way::automatic;
  if (text == "ring") return AllReduceOptions::Way::ring;
  if (text == "direct") return AllReduceOptions::Way::direct;
  throw Error(Category::usage, fmt::format("there is no way '{}'", text), "--way", "auto, ring or direct");
}

std::string names(const std::vector<unsigned>& ipus) {
  std::string text;
  for (const unsigned i : ipus) text += fmt::format("{}{}", text.empty() ? "" : " ", i);
  return text;
}

Demonstration make(const Platform& platform, const Arguments& arguments) {
  AllReduceOptions options;
  options.bytes = bytes_of(arguments.text("bytes"));
  options.seed = arguments.seed();
  options.way = way_of(arguments.text("way"));
  const auto plan = std::make_shared<AllReduce>(platform, options);
  Demonstration d;
  d.executable = plan->build();
  const unsigned p = plan->ipus();
  d.about.push_back(
      fmt::format("sum of {} f32 a replica over {} IPUs, on {} tiles of each", plan->words(), p, plan->tiles_used()));
  const char* const first = plan->ring() ? "reduce-scatter" : "scatter";
  const char* const second = plan->ring() ? "all-gather" : "gather";
  if (plan->ring()) {
    d.about.push_back(fmt::format(
        "ring {}{}: half of the tiles each way, {} + {} steps, {} words a step and tile", names(plan->order().order),
        plan->order().neighbours ? "" : " (not all of its IPUs are neighbours)", p - 1, p - 1, plan->chunk_words()));
  } else {
    d.about.push_back(
        fmt::format("direct: {} words from every IPU to every other, and back as sums", plan->chunk_words()));
  }
  const LinkLoad::Busiest busiest = plan->bound();
  const double steps = plan->ring() ? 2.0 * (p - 1) : 2;
  const std::string reason =
      fmt::format("links {} to {}: {:.0f} B over {} at {:.3f} B a cycle each", busiest.from, busiest.to,
                  static_cast<double>(busiest.bytes) / steps, busiest.links, link_bytes_per_cycle(platform));
  for (const char* step : {first, second})
    d.bounds.push_back({step, static_cast<std::uint64_t>(std::ceil(busiest.cycles / steps)), reason});
  Total total;
  total.name = "all-reduce";
  total.steps = {first, second};
  total.bound = static_cast<std::uint64_t>(std::ceil(busiest.cycles));
  d.totals.push_back(total);
  d.verify = [plan](const Memory& memory) {
    const Comparison c = plan->check(memory.tensor);
    Verdict verdict{c.compared, fmt::format("words on {} IPUs are the bits of the host's sum", plan->ipus()), ""};
    if (c.wrong != 0) verdict.failure = fmt::format("{} words of the all-reduce are wrong, first {}", c.wrong, c.first);
    return std::vector<Verdict>{verdict};
  };
  return d;
}

}  // namespace

Kind all_reduce() {
  Kind kind;
  kind.name = "allreduce";
  kind.does = "the sum of one f32 vector an IPU, the same bits on all of them";
  kind.example = "tessera demo allreduce --bytes 1MB --platform dss8440";
  kind.parameters = {{"bytes", "1MB", "of a replica's vector: 4096, 1KB, 1MB, 51MB, 64KiB"},
                     {"way", "auto", "ring, direct, or auto: the one reckoned faster"}};
  kind.make = make;
  return kind;
}

}  // namespace tessera::demo
