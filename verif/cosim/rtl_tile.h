// The RTL tile as a TileModel: Verilated tile_core at its pins, SRAM in the adapter, one VerilatedContext an instance.
//
// Pin level: words go through an ExchangePort and a PacketPort, one a cycle. What the core reports at its retire ports
// becomes RetireRecords in the order of issue cycles; an x.sync is reported when it ends, with the cycle of its issue.
// The three models (plain, traced, with a planted fault) share this interface and one source.
#pragma once

#include <memory>

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
/// For tests of lockstep: the carry into bit 16 of the adder is lost (library tessera_cosim_faulty).
[[nodiscard]] std::unique_ptr<RtlTile> make_faulty_rtl_tile(const TileConfig& config);

}  // namespace tessera
