// The driver's door to the simulated machine, in its own process: host/driver/transport.h on top of SystemC. Time
// passes in the calls only. A run that must end (deadlock, cycle limit, lockstep mismatch, RunStopped) throws from the
// call that let time pass; the machine can still be read afterwards.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "host/driver/transport.h"
#include "tlm/system/system.h"

namespace tessera {

class InProcessTransport : public Transport {
 public:
  explicit InProcessTransport(System& system);
  ~InProcessTransport() override;

  std::uint32_t config_read(PciAddress function, unsigned offset, unsigned size) override;
  void config_write(PciAddress function, unsigned offset, unsigned size, std::uint32_t value) override;
  PciStatus memory_read(std::uint64_t address, std::uint8_t* bytes, std::size_t count) override;
  PciStatus memory_write(std::uint64_t address, const std::uint8_t* bytes, std::size_t count) override;
  void attach(HostMemory& memory) override;
  void detach(HostMemory& memory) override;
  std::optional<Interrupt> wait_interrupt(std::uint64_t limit_ns) override;
  void hand_back(const Interrupt& interrupt) override;
  void elapse(std::uint64_t ns) override;
  [[nodiscard]] std::uint64_t now_ns() const override;

  /// Debug access by bus address: no time, never refused. Bytes moved.
  std::size_t debug(std::uint64_t address, bool write, std::uint8_t* bytes, std::size_t count);

 private:
  class Host;
  struct Operation;
  void perform(const std::shared_ptr<Operation>& operation);

  System& system_;
  std::unique_ptr<Host> host_;
  std::vector<HostMemory*> memories_;
};

}  // namespace tessera
