// The controller of a card: an RV32IM processor with its own memory and clock that runs firmware/card, and a bus to its
// peripherals. The processor is a tile's supervisor (tlm/tile): the same instructions, six cycles each at least.
//
// One SystemC process. It runs the processor ahead in its own memory and takes every access to a peripheral to the bus
// at its exact time; a processor that waits for an event costs nothing and keeps no time running.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>

#include <memory>
#include <optional>
#include <systemc>
#include <vector>

#include "hw/injection.h"
#include "hw/platform.h"
#include "tlm/card/firmware_image.h"
#include "tlm/card/peripherals.h"
#include "tlm/pcie/tlp.h"
#include "tlm/tile/tlm_tile.h"

namespace tessera {

class CardController : public sc_core::sc_module {
 public:
  /// `firmware`: an image; empty is the one of this build. Throws Error(usage) if it is none or does not fit.
  CardController(const sc_core::sc_module_name& name, const Platform& platform, unsigned card,
                 std::vector<CardTarget*> targets, std::vector<std::uint8_t> firmware = {});

  tlm_utils::simple_initiator_socket<CardController> bus;

  /// What the chips of the card talk to.
  [[nodiscard]] CardPort& port() { return peripherals_; }
  [[nodiscard]] const Peripherals& peripherals() const { return peripherals_; }
  /// A hot reset of the card: everything on it begins anew, as after power-on.
  void reset_card();
  /// Adds a fault (docs/machine/card.md). Throws Error(usage) for what it does not know.
  void inject(const Injection& injection);

  /// Instructions that the processor has executed since it was last reset.
  [[nodiscard]] std::uint64_t retired() const { return tile_ ? tile_->retired() : 0; }
  /// Accesses to peripherals.
  [[nodiscard]] std::uint64_t accesses() const { return checker_.transactions(); }
  /// One line for reports: state, where the processor stands.
  [[nodiscard]] std::string describe() const;

 private:
  /// A word put over the instruction that comes next: what a hang or a crash begins with.
  struct Plant {
    sc_core::sc_time at;
    std::uint32_t word = 0;
    unsigned times = 1;
    bool wakes = true;  ///< a firmware that sleeps is woken for it
  };
  /// Something else that happens at a time.
  struct Timed {
    sc_core::sc_time at;
    std::function<void()> act;
  };

  void process();
  void injector();
  /// Loads the image and starts the processor.
  void start();
  /// Runs until the processor is reset or stops for good.
  void run();
  /// One access; false if the processor was reset meanwhile.
  bool access();
  void plant();
  /// Wakes the firmware at the time of the next plant.
  void wake_for(const Plant& plant);
  void wait_until(const sc_core::sc_time& at);
  [[nodiscard]] sc_core::sc_time time_of(Cycle cycle) const;
  [[nodiscard]] Cycle cycle_at(const sc_core::sc_time& time) const;
  [[nodiscard]] Cycle next_limit() const;
  /// True if the watchdog has acted; the processor begins anew or has stopped.
  bool watchdog_acts();

  Platform platform_;
  unsigned card_;
  FirmwareImage image_;
  pcie::ProtocolChecker checker_;
  Peripherals peripherals_;
  std::unique_ptr<TlmTile> tile_;
  Cycle cycle_ = 0;  ///< everything of the processor before it is done
  bool reset_request_ = false, no_ready_ = false;
  ResetCause cause_ = ResetCause::power_on;
  sc_core::sc_event reset_, injected_;
  std::vector<Plant> plants_;
  std::vector<Timed> timed_;
};

}  // namespace tessera
