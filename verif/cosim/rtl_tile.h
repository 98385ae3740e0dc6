// The RTL tile as a TileModel: Verilated tile_core at its pins, SRAM in the adapter, one VerilatedContext an instance.
//
// Pin level: words go through an ExchangePort and a PacketPort, one a cycle. What the core reports at its retire ports
// becomes RetireRecords in the order of issue cycles; an x.sync is reported when it ends, with the cycle of its issue.
// The three models (plain, traced, with a planted fault) share this interface and one source.
#pragma once

#include <memory>
#include <string>

#include "tlm/tile/tile_model.h"

namespace tessera {

class RtlWave;

class RtlTile : public TileModel {
 public:
  [[nodiscard]] TileMode mode() const final { return TileMode::rtl; }
  [[nodiscard]] bool interval_based() const final { return false; }

  /// Cycles that the model was clocked through (cycles in which the tile is quiescent are skipped).
  [[nodiscard]] virtual std::uint64_t clocked() const = 0;
  /// Dumps all signals into this part of a waveform from now on; the part must outlive the tile. Only a traced tile
  /// can; throws std::logic_error otherwise. Before the first run().
  virtual void attach_wave(RtlWave& wave) = 0;
};

/// The fast model.
[[nodiscard]] std::unique_ptr<RtlTile> make_rtl_tile(const TileConfig& config);
/// The same with signal tracing compiled in (library tessera_cosim_traced).
[[nodiscard]] std::unique_ptr<RtlTile> make_traced_rtl_tile(const TileConfig& config);
/// For tests that must find a fault (library tessera_cosim_faulty), one of:
///  adder          the carry into bit 16 of the adder is lost
///  loop_end       the body of a hardware loop is a doubleword longer
///  slot           the supervisor takes the slot of a running worker now and then
///  exchange_time  sending on the exchange begins a cycle late
///  stream_stride  stride B of a stream loses its sign
///  fpu_round      ties of f32 rounding go away from zero, not to the even neighbour
///  simd_round     f16 results are cut, not rounded
///  amp_order      the matrix product adds its four products in another order
///  none
[[nodiscard]] std::unique_ptr<RtlTile> make_faulty_rtl_tile(const TileConfig& config,
                                                            const std::string& fault = "adder");

}  // namespace tessera
