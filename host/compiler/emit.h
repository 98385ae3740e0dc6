// The executable from all that the passes made.
#pragma once

#include <string>
#include <vector>

#include "host/compiler/compiler.h"
#include "host/compiler/control.h"
#include "host/compiler/image.h"
#include "host/compiler/lists.h"
#include "host/exchange/schedule.h"

namespace tessera::compiler {

/// Words of the lists and exchange regions of every tile, and where each step's piece stands.
struct Tables {
  std::vector<std::vector<std::uint32_t>> lists;            ///< region contents, by tile
  std::vector<std::vector<std::uint32_t>> exchange;         ///< exchange and packet tables, by tile
  std::vector<std::vector<Address>> list_at;                ///< by compute step, tile; 0: none
  std::vector<std::vector<Address>> amp_at;                 ///< the same of lists of AMP records
  std::vector<std::vector<Address>> window_at;              ///< rebase table by function, tile; 0: none
  std::vector<std::vector<std::vector<Address>>> phase_at;  ///< by exchange step, phase of it, tile
  std::vector<std::vector<Address>> packets_at;             ///< by host step, tile
  std::vector<std::vector<std::uint32_t>> values;           ///< plain words of the step table, by number, tile
  std::vector<executable::TileTable> ranges;                ///< exchange tables, for faults
  std::vector<executable::VertexRecord> records;
  std::vector<exchange::Schedule> schedules;  ///< by exchange step; tables moved out
  std::uint64_t slowest = 0, total = 0;       ///< estimated worker cycles: busiest x 6, all
};

struct Parts {
  const Ir& ir;
  const Platform& platform;
  const Plan& plan;
  const Control& control;
  const CodeImage& code;
  const Allocation& allocation;
  const Liveness& liveness;
  const Tables& tables;
};

[[nodiscard]] executable::Executable emit(const Parts& parts, const Options& options);

}  // namespace tessera::compiler
