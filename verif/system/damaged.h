// The digits network compiled to an executable, and ways to damage single tiles of it as faults in compiler, tables or
// memory would. Everything goes through the public container: what is written is a valid file with a wrong program.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "host/executable/container.h"
#include "hw/generated/machine.h"

namespace tessera::test {

/// A descriptor of an exchange table, and whose it is.
struct Transfer {
  unsigned tile = 0;
  bool receive = false;
  Address table = 0, at = 0;  ///< of the table and of the descriptor
  unsigned number = 0;        ///< in its list
  bool last = false;          ///< of its list
  ExchangeDescriptor descriptor{};
  std::uint64_t words = 0;  ///< that it moves in all
  executable::Step step{};  ///< that runs the table
  std::string phase{};      ///< its name
  std::uint64_t phase_cycles = 0;

  [[nodiscard]] std::uint64_t end() const { return descriptor.start + words; }  ///< cycle behind its last word
  [[nodiscard]] unsigned peer() const { return static_cast<unsigned>(descriptor.peer); }
};

/// The plain vertices of one codelet that one step runs on a tile.
struct Vertices {
  executable::Step step;
  executable::Symbol codelet;
  std::vector<executable::VertexRecord> records;
};

class DamagedDigits {
 public:
  /// Compiles with `tessera compile` into `directory`; throws std::runtime_error if that fails.
  explicit DamagedDigits(const std::string& directory, const std::string& platform = "pocket");

  /// The compiled file as `tessera compile` wrote it.
  [[nodiscard]] std::string compiled() const { return directory_ + "/digits.tsx"; }
  /// Writes the damaged one and returns its path.
  [[nodiscard]] std::string write() const;

  [[nodiscard]] executable::Program& program() { return executable_.programs.front(); }
  [[nodiscard]] const executable::Program& program() const { return executable_.programs.front(); }

  /// Word that the loader puts at an address of a tile, and a changed one for this tile alone.
  [[nodiscard]] std::uint32_t word(unsigned tile, Address address) const;
  void set_word(unsigned tile, Address address, std::uint32_t value);
  [[nodiscard]] std::uint64_t descriptor(unsigned tile, Address address) const;
  void set_descriptor(unsigned tile, Address address, std::uint64_t value);

  /// All descriptors of exchange tables, steps in the order of the program, then by tile, sends first.
  [[nodiscard]] const std::vector<Transfer>& transfers() const { return transfers_; }
  /// The first of them that is like that; throws std::runtime_error with `what` if none is.
  [[nodiscard]] Transfer transfer(const std::string& what, const std::function<bool(const Transfer&)>& like) const;
  /// Cycles from a tile's sending of a word to another's port.
  [[nodiscard]] unsigned delay(unsigned from, unsigned to) const;

  /// Steps of a kind, in the order of the program.
  [[nodiscard]] std::vector<executable::Step> steps(executable::Step::Kind kind) const;
  /// The first vertices that workers of the tile call.
  [[nodiscard]] Vertices first_vertices(unsigned tile) const;
  [[nodiscard]] const executable::Region& region(const std::string& name) const;
  [[nodiscard]] const executable::Symbol& symbol(const std::string& name) const;
  /// Address of the first instruction of a step whose bits under `mask` are `match`.
  [[nodiscard]] Address find(const executable::Step& step, std::uint32_t mask, std::uint32_t match) const;

 private:
  void gather_transfers();

  std::string directory_;
  executable::Executable executable_;
  std::vector<Transfer> transfers_;
};

}  // namespace tessera::test
