// Packets between IPUs on TLM tiles: times by hand, order, congestion, and every misuse as a named fault.
#include <cmath>

#include "hw/error.h"
#include "verif/system/packet_bench.h"

namespace tessera {
namespace {

using namespace testing;
using driver::Event;
using driver::ExceptionInfo;

TEST(Packets, OneWriteAcrossOneLinkTakesItsTime) {
  const Platform p = linked_platform(4);
  PacketProgram program(1, 2, 4);
  program.tables[0][0][3].writes = {{16, kSource, 1, 2, kTarget}};
  program.expect_all();
  PacketRun run(program, tlm_system(p));
  run.finish();
  const Cycle z = run.log.release[{0, 3}][0];
  EXPECT_EQ(run.log.release[(std::pair<unsigned, unsigned>{1, 2})][0], z);
  // P = Z; 20 words offered from P + 12; the lane takes them from P + 32 and has them at its end 20 + 20 later.
  const Cycle out = z + 12 + 20 + 20 + p.packet.lane_latency;
  // 88 bytes at 0.85 x 128 Gibit/s: 9.6426 of 88 in cycles rounded up, and the propagation.
  const double rate = 137438953472.0 * 0.85 / 8 / 1.6e9;
  const auto whole = out + static_cast<Cycle>(std::ceil(88 / rate)) + p.link.latency;
  const Cycle done = whole + p.packet.lane_latency + 19;
  EXPECT_EQ((run.log.done[{0, 3}][0]), z + 12 + 19);
  EXPECT_EQ((run.log.done[{1, 2}][0]), done);
  for (unsigned n = 0; n < 16; ++n) EXPECT_EQ(run.memory(1, 2, kTarget + 4 * n, 1)[0], PacketProgram::content(0, 3, n));
  EXPECT_EQ(run.memory(1, 2, kTarget + 64, 1)[0], 0u);
}

}  // namespace
}  // namespace tessera
