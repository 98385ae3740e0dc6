// What the counters of IPU-Links say after a run, read by the driver as any host would.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "host/driver/driver.h"

namespace tessera::cli {

struct LinkUse {
  std::uint64_t packets = 0, words = 0;       ///< sent over links, headers included; a packet counts on each link
  std::uint64_t crc_errors = 0, replays = 0;  ///< frames refused, frames sent again
  std::uint64_t trainings = 0;                ///< beyond the first of each port
  unsigned ipu = 0, port = 0, peer = 0;       ///< the port that sent longest, and the IPU at its other end
  std::uint64_t busy_cycles = 0;              ///< in which it sent
};

/// Sums over all ports of all IPUs.
[[nodiscard]] LinkUse read_links(driver::Driver& driver);

/// "27360 packets, ...; busiest 0.6 to IPU 2: sending in 93.1 % of 2739462 cycles"
[[nodiscard]] std::string text(const LinkUse& use, std::uint64_t cycles);
[[nodiscard]] nlohmann::ordered_json to_json(const LinkUse& use, std::uint64_t cycles);

}  // namespace tessera::cli
