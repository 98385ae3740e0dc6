// See machine_options.h.
#include "host/cli/machine_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "host/cli/machine.h"
#include "host/cli/tile_list.h"
#include "hw/error.h"
#include "hw/topology.h"

namespace tessera::cli {

void MachineOptions::add_platform_to(CLI::App& app) {
  app.add_option("--platform", platform, "c2, pocket, dss8440 or a platform file (tessera platforms lists them)")
      ->capture_default_str();
  app.add_option("--ipus", ipus, "Use the first N IPUs of the platform")->check(whole_number(1, 128))->type_name("N");
  app.add_option("--inject", faults,
                 "Fault to inject, e.g. link=0.3:bit_errors,rate_e12=50 or card=0:hang,at=20000; may be repeated")
      ->allow_extra_args(false)
      ->type_name("FAULT");
}

void MachineOptions::add_to(CLI::App& app) {
  add_platform_to(app);
  app.add_option("--rtl", rtl, "Tiles that run as RTL: 0 or 0,17,40-47 or 1:5 (IPU:tile) or all")->type_name("TILES");
  app.add_option("--lockstep", lockstep, "Tiles that run as RTL and TLM, compared instruction by instruction")
      ->type_name("TILES");
  app.add_option("--max-cycles", max_cycles, "End with exit code 6 after this many tile cycles; 0 is no limit")
      ->check(whole_number());
  app.add_option("--max-idle-cycles", max_idle_cycles,
                 "End with exit code 6 if no sync completes within this many tile cycles; 0 is no limit")
      ->check(whole_number())
      ->capture_default_str();
  app.add_option("--host-delay", host_delay,
                 "Simulated time that the host takes to serve a step, nanoseconds; default: the platform's")
      ->check(whole_number(0, 4'000'000'000))
      ->type_name("NS");
  app.add_option("--quantum", quantum, "Cycles that tiles may run ahead of the rest; changes no result")
      ->check(whole_number(1))
      ->type_name("CYCLES")
      ->group("");  // for tests
  CLI::Option* const file =
      app.add_option("--wave", wave, "Waveform of the tiles, FST or VCD by suffix; a .gtkw view is written beside it")
          ->type_name("FILE");
  app.add_option("--wave-scope", wave_scopes, "Only signals below these scopes, e.g. 'tile3.rtl.*'")
      ->allow_extra_args(false)
      ->type_name("PATTERN")
      ->needs(file);
  app.add_option("--wave-from", wave_from,
                 "First time in the waveform: cycles, time with unit ns, us, ms, or superstep=N")
      ->type_name("TIME");
  app.add_option("--wave-to", wave_to, "Last time in the waveform, likewise")->type_name("TIME");
}

namespace {

/// The links of a topology by file among the first IPUs.
void keep_links(Platform& platform) {
  const unsigned n = platform.ipus();
  auto& t = platform.topology;
  const auto none = [n](unsigned a, unsigned b) { return a >= n || b >= n; };
  t.bundles.erase(std::remove_if(t.bundles.begin(), t.bundles.end(), [&](const auto& l) { return none(l.a, l.b); }),
                  t.bundles.end());
  t.routes.erase(
      std::remove_if(t.routes.begin(), t.routes.end(), [&](const auto& r) { return none(r.from, r.to) || r.via >= n; }),
      t.routes.end());
}

}  // namespace

Platform chosen_platform(const Platform& platform, unsigned ipus) {
  Platform chosen = platform;
  if (ipus == 0 || ipus == platform.ipus()) return chosen;
  if (ipus > platform.ipus()) {
    throw Error(Category::usage,
                "--ipus " + std::to_string(ipus) + ", but platform " + platform.name + " has " +
                    std::to_string(platform.ipus()),
                "", "give a number up to that, or a larger platform");
  }
  if (ipus < platform.ipus_per_card) {
    chosen.ipus_per_card = ipus;
    chosen.cards = 1;
    keep_links(chosen);
    return chosen;
  }
  if (ipus % platform.ipus_per_card != 0) {
    throw Error(Category::usage, "--ipus " + std::to_string(ipus) + " is no whole number of cards", "",
                "cards of platform " + platform.name + " have " + std::to_string(platform.ipus_per_card) + " IPUs");
  }
  chosen.cards = ipus / platform.ipus_per_card;
  keep_links(chosen);
  return chosen;
}

Platform MachineOptions::chosen(const Platform& platform) const {
  Platform part = chosen_platform(platform, ipus);
  if (host_delay) part.host.service_ns = part.host.service_prefetch_ns = static_cast<unsigned>(*host_delay);
  return part;
}

std::vector<std::vector<TileMode>> MachineOptions::modes(const Platform& platform) const {
  std::vector<std::vector<TileMode>> all(platform.ipus(), std::vector<TileMode>(platform.tiles, TileMode::tlm));
  const auto mark = [&](const std::string& list, TileMode mode) {
    if (list.empty()) return;
    for (const TileRef t : parse_tile_list(list, platform.ipus(), platform.tiles)) {
      TileMode& chosen = all[t.ipu][t.tile];
      if (chosen != TileMode::tlm) {
        throw Error(Category::usage,
                    "tile " + std::to_string(t.ipu) + ":" + std::to_string(t.tile) + " is in both --rtl and --lockstep",
                    "", "name it in one of the two: lockstep runs the RTL too");
      }
      chosen = mode;
    }
  };
  mark(rtl, TileMode::rtl);
  mark(lockstep, TileMode::lockstep);
  return all;
}

namespace {

/// First number of a place; nothing for "*".
std::optional<unsigned> first_number(const std::string& place) {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(place.data(), place.data() + place.size(), number);
  if (error != std::errc() || end == place.data()) return std::nullopt;
  return number;
}

void check_place(const Injection& injection, const Platform& platform) {
  const std::optional<unsigned> number = first_number(injection.place);
  if (!number) return;
  const auto refuse = [&](const std::string& what) {
    throw Error(Category::usage, fmt::format("fault '{}': {}", injection.text, what), "--inject",
                "tessera devices --platform " + platform.name + " lists what there is");
  };
  if (injection.sort == "link") {
    const Topology topology(platform);
    const std::size_t point = injection.place.find('.');
    const std::optional<unsigned> port =
        point == std::string::npos ? std::nullopt : first_number(injection.place.substr(point + 1));
    if (*number >= platform.ipus()) refuse(fmt::format("there is no IPU {}", *number));
    if (port && *port >= topology.ports(*number).size())
      refuse(fmt::format("IPU {} has {} links", *number, topology.ports(*number).size()));
  } else if (injection.sort == "card" && *number >= platform.cards) {
    refuse(fmt::format("there is no card {}", *number));
  }
}

}  // namespace

std::vector<Injection> MachineOptions::injections(const Platform& chosen) const {
  std::vector<Injection> all;
  for (const std::string& text : faults) {
    all.push_back(parse_injection(text, "--inject"));
    const std::string& sort = all.back().sort;
    if (sort != "link" && sort != "pcie" && sort != "card")
      throw Error(Category::usage, fmt::format("fault '{}': there is no sort '{}'", text, sort), "--inject",
                  "sorts are link, pcie and card");
    check_place(all.back(), chosen);
  }
  return all;
}

void MachineOptions::check(const Platform& platform) const {
  const Platform part = chosen(platform);
  (void)modes(part);
  (void)injections(part);
  check_wave(*this, part);
}

}  // namespace tessera::cli
