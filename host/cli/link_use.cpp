// See link_use.h.
#include "host/cli/link_use.h"

#include <fmt/format.h>

namespace tessera::cli {

LinkUse read_links(driver::Driver& driver) {
  LinkUse use;
  for (unsigned ipu = 0; ipu < driver.ipus(); ++ipu)
    for (const driver::LinkInfo& link : driver.links(ipu)) {
      use.packets += link.packets_sent;
      use.words += link.words_sent;
      use.crc_errors += link.crc_errors;
      use.replays += link.replays;
      use.trainings += link.trainings == 0 ? 0 : link.trainings - 1;
      if (link.busy_cycles <= use.busy_cycles) continue;
      use.ipu = ipu;
      use.port = link.port;
      use.peer = link.peer_ipu;
      use.busy_cycles = link.busy_cycles;
    }
  return use;
}

namespace {
double share(const LinkUse& use, std::uint64_t cycles) {
  return cycles == 0 ? 0 : static_cast<double>(use.busy_cycles) / static_cast<double>(cycles);
}
}  // namespace

std::string text(const LinkUse& use, std::uint64_t cycles) {
  return fmt::format(
      "{} packets over links, {} words with headers, {} sent again, {} trained anew; busiest {}.{} to IPU {}: "
      "sending in {:.1f} % of {} cycles",
      use.packets, use.words, use.replays, use.trainings, use.ipu, use.port, use.peer, 100 * share(use, cycles),
      cycles);
}

nlohmann::ordered_json to_json(const LinkUse& use, std::uint64_t cycles) {
  return {{"packets", use.packets},         {"words", use.words},
          {"crc_errors", use.crc_errors},   {"replays", use.replays},
          {"retrainings", use.trainings},   {"busiest", fmt::format("{}.{}", use.ipu, use.port)},
          {"busy_cycles", use.busy_cycles}, {"utilisation", share(use, cycles)}};
}

}  // namespace tessera::cli
