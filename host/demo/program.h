// What Builder collects, between its files. Internal to host/demo.
#pragma once

#include "host/compiler/control.h"
#include "host/demo/builder.h"

namespace tessera::demo {

struct Builder::Phases {
  std::vector<std::vector<std::vector<std::uint64_t>>> tables;  ///< by phase, tile
  exchange::Schedule schedule;                                  ///< its tables moved out
  std::vector<std::uint64_t> sent;                              ///< words, by phase
};

struct Builder::Step {
  enum class Kind : std::uint8_t {
    compute,
    exchange,
    packets,
    sync,
    repeat,
    end,
    set_offset,
    add_offset,
    set_xbase,
    add_xbase,
    supervisor
  };
  Kind kind = Kind::sync;
  std::string name;
  Zone zone = Zone::internal;
  std::uint32_t value = 0;  ///< count, offset, number of the CSR
  std::int32_t distance = 0;
  std::vector<Call> calls;                                       ///< sorted by tile, order within a tile kept
  std::vector<std::shared_ptr<const Phases>> exchanges;          ///< by IPU
  std::uint32_t phases = 1;                                      ///< most of any IPU
  std::vector<std::vector<std::vector<std::uint64_t>>> packets;  ///< tables by IPU, tile
  std::vector<std::vector<std::uint32_t>> values;                ///< by IPU, tile
  std::function<void(Assembler&)> emit;
};

struct Builder::CodeEntry {
  std::string name;
  std::vector<std::uint32_t> words;  ///< empty: a codelet of the library
  std::uint32_t stack = 0;
};

/// The supervisor program at `base`. Slots are numbered by the builder's steps of their kind. `boot`: the firmware's
/// first instruction.
class ControlWriter {
 public:
  ControlWriter(const Builder& builder, Address base);
  [[nodiscard]] compiler::Control run(Address boot);

 private:
  using Step = Builder::Step;
  struct Loop {
    Assembler::Label head;
    compiler::Reg counter;
    std::uint32_t count;
  };
  void generate(const Step& step);
  void compute(const Step& step);
  void exchange(const Step& step);
  void packets(const Step& step);
  void end_repeat();
  void load_slot(compiler::Reg rd, compiler::Slot::Kind kind, std::uint32_t index, std::uint32_t phase = 0);
  void add_step(executable::Step::Kind kind, Address begin, const std::string& name, std::uint32_t phase = 0xFFFFFFFF);

  const Builder& b_;
  Assembler as_;
  compiler::Control result_;
  std::vector<Loop> loops_;
  std::uint32_t computes_ = 0, exchanges_ = 0, packets_ = 0, values_ = 0, phases_ = 0;
  bool busy_ = false;  // workers of the step before may still run
};

}  // namespace tessera::demo
