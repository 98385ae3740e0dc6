// Programs written for points of the coverage plan that random ones reach too seldom: every class of operand of every
// instruction, every CSR, every cause without a handler, every set of running workers, ends of the SRAM, faults of
// exchange lists. From the instruction and CSR tables, so what they gain is covered from then on.
#pragma once

#include <string>
#include <vector>

#include "verif/random/generator.h"

namespace tessera::random {

struct Directed {
  std::string name;
  Recipe recipe;
};
[[nodiscard]] std::vector<Directed> directed_programs(Subset subset);

}  // namespace tessera::random
