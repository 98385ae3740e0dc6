// MSI-X of one function: table, pending bits, masks. A vector that is raised while it may not be sent (masked, function
// masked, MSI-X off, bus mastering off) stays pending and is sent once as soon as it may.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "hw/pcie.h"

namespace tessera::pcie {

class Msix {
 public:
  /// `may_send`: MSI-X enabled, function not masked, bus master on. `send(address, data)` writes the message.
  Msix(unsigned vectors, std::function<bool()> may_send, std::function<void(std::uint64_t, std::uint32_t)> send);

  /// `vector` is in the table.
  void raise(unsigned vector);
  /// As after power-on: all vectors masked, none pending.
  void reset();
  /// Sends what has become sendable; call after any change outside the table.
  void update();

  /// Accesses of the table and the pending bits by offset in the BAR; 4 or 8 bytes, aligned to their size; false if the
  /// access is of another form or lies outside both.
  bool read(std::uint64_t offset, std::uint8_t* bytes, std::size_t count) const;
  bool write(std::uint64_t offset, const std::uint8_t* bytes, std::size_t count);

  [[nodiscard]] bool pending(unsigned vector) const { return pending_.at(vector); }

 private:
  [[nodiscard]] bool word(std::uint64_t offset, std::uint32_t& value) const;

  std::vector<std::uint32_t> table_;  // 4 words a vector
  std::vector<bool> pending_;
  std::function<bool()> may_send_;
  std::function<void(std::uint64_t, std::uint32_t)> send_;
};

}  // namespace tessera::pcie
