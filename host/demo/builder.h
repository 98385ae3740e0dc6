// Builds executables of machine-level programs: for one or several IPUs, step by step, without graph and compiler
// passes. For demonstrations and tests that say themselves which tile sends what, and which worker runs what.
//
// All IPUs run one supervisor program; what differs by tile are its tables, run lists and data, so there is one program
// (host/executable) an IPU. The memory plan is that of the compiler (docs/machine: start, control, code, step table,
// lists, exchange and packet tables, stacks, data); data is given out from the end of SRAM downwards, so that its
// addresses are known before the sizes of all else. Exchange phases are scheduled and proved as the compiler's are.
// Several IPUs count on all instances being in sync group 1.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/codelets/codelet.h"
#include "host/compiler/assembler.h"
#include "host/exchange/messages.h"
#include "host/exchange/schedule.h"
#include "host/executable/executable.h"
#include "hw/platform.h"
#include "hw/types.h"

namespace tessera::demo {

using compiler::Assembler;

/// Code that vertices call, f(state, offset): from Builder::codelet or Builder::code.
struct Code {
  std::uint32_t index = 0;
};

inline constexpr std::uint8_t kAllWorkers = 0x3F;
/// Mask of one worker, 1..6.
[[nodiscard]] constexpr std::uint8_t worker(unsigned w) { return static_cast<std::uint8_t>(1U << (w - 1)); }

/// A vertex in a compute step: each worker of the mask calls the code `count` times, with the state's address and then
/// `stride` bytes further each time. Calls of one worker run in the order given.
struct Call {
  TileRef tile;
  std::uint8_t workers = kAllWorkers;
  Code code;
  std::vector<std::uint32_t> state;  ///< words; the builder places them in the tile's lists
  std::uint16_t count = 1;
  std::uint16_t stride = 0;  ///< bytes from state to state
};

/// Words that a tile writes into a tile of another IPU. Addresses are byte addresses as the tiles see them; with a base
/// 1..3 what is added to xbase1..3 of the sending tile: the local address is the word offset x 4 from it, the remote
/// one must then be given less what the base adds.
struct PacketMove {
  TileRef from;
  Address from_address = 0;
  TileRef to;
  Address to_address = 0;
  std::uint32_t words = 0;
  std::uint8_t local_base = 0, remote_base = 0;
};

/// Words for one address of a tile, before the start.
struct Initial {
  TileRef tile;
  Address address = 0;
  std::vector<std::uint32_t> words;
};

class Builder {
 public:
  /// A program for tiles 0 .. tiles-1 of the IPUs 0 .. ipus-1 of the platform (0: all). Throws Error(usage) if there
  /// are not so many.
  Builder(std::string name, const Platform& platform, unsigned ipus = 0, unsigned tiles = 0);
  ~Builder();

  [[nodiscard]] const Platform& platform() const { return platform_; }
  [[nodiscard]] unsigned ipus() const { return ipus_; }
  [[nodiscard]] unsigned tiles() const { return tiles_; }

  // ---- Memory and code ----

  /// Room in the data region, at the same address on every tile of every IPU; zero at the start. `align`: bytes, power
  /// of two from 4 on.
  Address allocate(std::uint32_t words, unsigned align = 8);
  /// What stands somewhere before the start. `name` is that of the constant in reports; once a name.
  void initial(const std::string& name, std::vector<Initial> pieces);
  /// A tensor that the host reads and writes by name, one for each instance: `per_tile` elements at `address` of every
  /// tile, shape {tiles, per_tile}.
  void tensor(const std::string& name, executable::Type type, Address address, std::uint64_t per_tile);
  /// The same in any shape and place.
  void tensor(const std::string& name, executable::Type type, std::vector<std::uint64_t> shape,
              std::vector<executable::TensorRun> runs);

  /// A codelet of the library built with the project; its state is a Call's state words. Throws Error(usage) for an
  /// unknown name.
  Code codelet(const std::string& name);
  /// Machine code of a vertex: reached by a call with a0 = state, a1 = offset, ends with a return to ra; may use all
  /// registers but sp, gp, tp, s0..s8. Must not depend on where it stands. `stack`: bytes.
  Code code(const std::string& name, std::vector<std::uint32_t> words, std::uint32_t stack = 0);

  // ---- The program, in the order of its steps ----

  /// Runs vertices; waits for those of the step before.
  void compute(const std::string& name, std::vector<Call> calls);
  /// An exchange phase (or several, if it is too long for one), the same messages inside every IPU.
  void exchange(const std::string& name, const exchange::Messages& messages);
  /// The same with messages of each IPU.
  void exchange(const std::string& name, const std::vector<exchange::Messages>& by_ipu);
  /// With a schedule that was made elsewhere; it is proved against the messages like any other.
  void exchange(const std::string& name, const exchange::Messages& messages, exchange::Schedule schedule);
  /// A packet phase behind a sync of group 1: descriptors of a tile in the order given; each tile waits for all words
  /// that are on the way to it.
  void packets(const std::string& name, const std::vector<PacketMove>& moves);
  /// A sync alone, zone internal or group1; of one IPU the two are the same.
  void sync(Zone zone);
  /// All that stands before the matching end_repeat() `count` times, at least once. Ten levels at most.
  void begin_repeat(std::uint32_t count);
  void end_repeat();
  /// Offset that vertices get as second argument: 0 at the start; set, or add to it.
  void set_offset(std::uint32_t bytes);
  void add_offset(std::int32_t bytes);
  /// CSR xbase1..3 (`which` 1..3) of every tile: byte address; or add to it.
  void set_xbase(unsigned which, const std::function<Address(TileRef)>& value);
  void add_xbase(unsigned which, std::int32_t bytes);
  /// Instructions of the supervisor, emitted as they are; free registers: t0..t6, a0..a2. Called more than once. t3..t6
  /// keep what they have from one to the next, and s0 is the vertices' offset.
  void supervisor(const std::string& name, std::function<void(Assembler&)> emit);

  /// The executable; once. Throws Error(does_not_fit) with all regions if a tile's memory does not hold it.
  [[nodiscard]] executable::Executable build();

 private:
  friend class ControlWriter;
  friend class Assembly;
  struct Step;
  struct CodeEntry;
  struct Phases;  // of one exchange step
  Step& add(Step step);

  std::string name_;
  Platform platform_;
  unsigned ipus_, tiles_;
  std::int64_t lowest_;  // data: first byte given out
  std::vector<CodeEntry> codes_;
  std::vector<Step> steps_;
  unsigned open_repeats_ = 0;
  std::vector<std::pair<std::string, std::vector<Initial>>> initials_;
  std::vector<executable::TensorMap> tensors_;
};

}  // namespace tessera::demo
