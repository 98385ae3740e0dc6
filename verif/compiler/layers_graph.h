// A graph with the traffic of a convolutional network, made by hand: layers of AMP vertices on all tiles, each with a
// copy of input patches before, an exchange of partial sums behind and a finishing compute set. For the compiler's
// time, memory and table sizes; the numbers it computes mean nothing.
#pragma once

#include "host/graph/graph.h"

namespace tessera::testing {

/// `layers` layers on `tiles` tiles, alternately 3x3 and 1x1, of sizes as in ResNet-50 (56x56x64 to 7x7x512). Uses
/// codelet TestAmpRows (verif/codelets/amp_rows.h).
[[nodiscard]] graph::Graph layers_graph(unsigned tiles, unsigned layers);

}  // namespace tessera::testing
