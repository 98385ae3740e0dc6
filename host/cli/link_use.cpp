// See link_use.h.
#include "host/cli/link_use.h"

#include <fmt/format.h>

#include "hw/generated/registers.h"

namespace tessera::cli {

LinkUse read_links(driver::Driver& driver) {
  using namespace reg::chip;  // NOLINT: register names
  LinkUse use;
  for (unsigned ipu = 0; ipu < driver.ipus(); ++ipu)
    for (unsigned port = 0; port < kLinkStatusCount; ++port) {
      const auto read = [&](std::uint32_t offset) -> std::uint64_t {
        return driver.read_register(ipu, offset + port * kLinkStatusStride);
      };
      if (kLinkStatusState.get(static_cast<std::uint32_t>(read(kLinkStatus))) == 0) continue;  // absent
      use.packets += read(kLinkPacketsSent);
      const std::uint64_t low = read(kLinkWordsSentLow);
      use.words += low | read(kLinkWordsSentHigh) << 32;
      use.crc_errors += read(kLinkCrcErrors);
      use.replays += read(kLinkReplays);
      const std::uint64_t trainings = kLinkTrainingsTrainings.get(static_cast<std::uint32_t>(read(kLinkTrainings)));
      use.trainings += trainings == 0 ? 0 : trainings - 1;
      const std::uint64_t busy = read(kLinkBusyCycles);
      if (busy <= use.busy_cycles) continue;
      use.ipu = ipu;
      use.port = port;
      use.peer = static_cast<unsigned>(kLinkPeerIpu.get(static_cast<std::uint32_t>(read(kLinkPeer))));
      use.busy_cycles = busy;
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
      "{} packets over links, {} words with headers, {} sent again, {} trained anew; busiest {}.{} to IPU {}: sending "
      "in "
      "{:.1f} % of {} cycles",
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
