// A tile image with the firmware, chosen codelets and one run list, for tests that run codelets on a tile.
//
// The whole path of a superstep's compute: start region, boot, control program, x.run of all six workers, dispatch,
// codelets, exit. There is no exchange; the program ends in an internal sync.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "host/codelets/linker.h"
#include "host/codelets/reference.h"
#include "tlm/tile/tile_model.h"

namespace tessera::testing {

class TileProgram {
 public:
  /// Links the firmware and these codelets.
  explicit TileProgram(const std::vector<std::string>& codelets,
                       const CodeletLibrary& library = CodeletLibrary::builtin());

  /// A vertex in memory.
  struct Vertex {
    Address state = 0;
    std::map<std::string, Address> data;  ///< by pointer field
  };
  /// Writes data and state. Data stands at its field's alignment plus `skew` times that alignment, so that misaligned
  /// starts come up too; areas are apart from each other.
  Vertex place(const CodeletInfo& codelet, const Bindings& bindings, unsigned skew = 0);
  /// Appends a record to the list of worker 0..5: `count` calls; `increments` not empty makes it a moving record.
  void record(unsigned worker, const std::string& codelet, Address state, unsigned count = 1, unsigned stride = 0,
              const std::vector<std::uint32_t>& increments = {});

  /// Appends an AMP vertex to the list that tessera_amp runs before the run list. Of codelets whose state is placed.
  void amp(const std::string& codelet, Address state);

  /// Gives worker 0..5 a list without records.
  void end_list(unsigned worker) { empty_.at(worker) = true; }

  /// Runs from start until the control program's sync; returns the cycle in which the sync line rises. `offset` goes to
  /// every vertex. Throws std::runtime_error if the tile stops otherwise.
  Cycle run(TileModel& tile, std::uint32_t offset = 0);

  /// Memory as it was given to the tile: for "nothing else has changed".
  [[nodiscard]] const std::vector<std::uint8_t>& initial() const { return sram_; }
  [[nodiscard]] const LinkedImage& image() const { return image_; }
  [[nodiscard]] Address stacks() const { return stacks_; }
  [[nodiscard]] Address stacks_end() const { return stacks_end_; }
  Address allocate(std::size_t bytes, std::size_t align);
  void write(Address address, const void* bytes, std::size_t count);
  void write_word(Address address, std::uint32_t value) { write(address, &value, 4); }

 private:
  std::vector<std::uint8_t> sram_;
  LinkedImage image_;
  Address next_ = 0, stacks_ = 0, stacks_end_ = 0, control_ = 0;
  std::array<std::vector<std::uint32_t>, 6> lists_;
  std::array<bool, 6> empty_{};
  std::vector<std::uint32_t> amp_;
};

}  // namespace tessera::testing
