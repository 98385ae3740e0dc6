// The digits network compiled to an executable, and ways to damage single tiles of it as faults in compiler, tables or
// memory would. Everything goes through the public container: what is written is a valid file with a wrong program.
#pragma once

#include <string>
#include <vector>

#include "host/executable/container.h"

namespace tessera::test {

class DamagedDigits {
 public:
  /// Compiles with `tessera compile` into `directory`; throws std::runtime_error if that fails.
  explicit DamagedDigits(const std::string& directory);

  /// The compiled file as `tessera compile` wrote it.
  [[nodiscard]] std::string compiled() const { return directory_ + "/digits.tsx"; }
  /// Writes the damaged one and returns its path.
  [[nodiscard]] std::string write() const;

  [[nodiscard]] executable::Program& program() { return executable_.programs.front(); }

  /// Word that the loader puts at an address of a tile, and a changed one for this tile alone.
  [[nodiscard]] std::uint32_t word(unsigned tile, Address address) const;
  void set_word(unsigned tile, Address address, std::uint32_t value);
  [[nodiscard]] std::uint64_t descriptor(unsigned tile, Address address) const;
  void set_descriptor(unsigned tile, Address address, std::uint64_t value);

  /// Exchange table of a tile for a phase, by the phase's name (part of it).
  [[nodiscard]] const executable::TileTable& table(unsigned tile, const std::string& phase) const;
  /// Step of the control program whose name contains this.
  [[nodiscard]] const executable::Step& step(const std::string& name) const;
  [[nodiscard]] const executable::Region& region(const std::string& name) const;
  [[nodiscard]] const executable::Symbol& symbol(const std::string& name) const;
  /// Address of the first instruction of a step whose bits under `mask` are `match`.
  [[nodiscard]] Address find(const executable::Step& step, std::uint32_t mask, std::uint32_t match) const;

 private:
  std::string directory_;
  executable::Executable executable_;
};

}  // namespace tessera::test
