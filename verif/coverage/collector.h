// Functional coverage of one tile: reads its lockstep records (tlm/tile/retire.h) and what the chip does with it, and
// counts the points of the plan. Knows no simulator: TLM, RTL and lockstep tiles look the same.
//
// Records of one context come in order, those of different contexts in any: they wait until flush(), which takes them
// by cycle. A tile is observed through covered_tile.h; the totals of a process are written when they are destroyed.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tlm/tile/exchange_engine.h"
#include "tlm/tile/retire.h"
#include "tlm/tile/tile_model.h"
#include "verif/coverage/operands.h"
#include "verif/coverage/plan.h"

namespace tessera::coverage {

/// Counts of a process.
class Totals {
 public:
  /// Totals that write a file of their own into the folder TESSERA_COVERAGE_DIR when they end; nullptr if it is unset.
  [[nodiscard]] static std::shared_ptr<Totals> from_environment();
  /// `path` empty: nothing is written.
  explicit Totals(std::string path);
  ~Totals();
  Totals(const Totals&) = delete;
  Totals& operator=(const Totals&) = delete;

  [[nodiscard]] const Plan& plan() const { return plan_; }
  void add(const Counts& counts);
  void hit(const std::string& name);
  [[nodiscard]] Counts counts() const;

  /// Numbers of the points of each instruction, found once; kNone where the plan has none.
  static constexpr std::size_t kNone = ~std::size_t{0};
  struct OpPoints {
    std::array<std::size_t, 2> role{kNone, kNone};
    std::array<Type, 3> types{};
    std::array<std::size_t, 3> value{kNone, kNone, kNone};  ///< first class
    std::size_t immediate = kNone;                          ///< first class
    std::size_t rounding = kNone;                           ///< static rne; ten in a row
    std::array<std::size_t, 5> flags{kNone, kNone, kNone, kNone, kNone};
    std::size_t result = kNone;
    std::size_t rd_zero = kNone, sources_same = kNone, main = kNone, aux = kNone, slot = kNone;
    std::array<std::size_t, 3> rd_same{kNone, kNone, kNone};
  };
  [[nodiscard]] const OpPoints& of(isa::Op op) const { return ops_[static_cast<unsigned>(op)]; }
  [[nodiscard]] std::size_t running(unsigned mask) const { return running_ + mask; }

 private:
  Plan plan_;
  std::string path_;
  std::array<OpPoints, isa::kOpCount> ops_{};
  std::size_t running_ = 0;
  mutable std::mutex mutex_;
  Counts counts_;
};

class Collector final : public RetireObserver {
 public:
  Collector(const TileConfig& config, std::shared_ptr<Totals> totals);
  ~Collector() override;

  void retired(const RetireRecord& record) override { waiting_.push_back(record); }
  void exchanged(const ExchangeWord&) override {}
  /// Takes all records so far.
  void flush();
  /// For a tile without stops at x.packet: its memory, read when the record of one comes.
  void read_packets_from(std::function<std::vector<std::uint8_t>()> memory) { memory_ = std::move(memory); }

  // What does not stand in records.
  void released(Cycle z);
  /// An interval-based tile has stopped at x.exchange or x.packet.
  void exchange(const ExchangeInputs& inputs);
  void exchange_ended(const ExchangeResult& result);
  void packet(Address table, const std::uint8_t* sram);
  void packet_ended(bool fault);
  void debug_halt(unsigned context, Cycle at, ContextState::Run state);
  void debug_resume(unsigned context, Cycle at);
  void debug_write(unsigned context, DebugSpace space, unsigned number, std::uint32_t value);
  void debug_read(unsigned context, DebugSpace space, unsigned number, std::uint32_t value);
  void hit(const std::string& name) { ++counts_[totals_->plan().at(name)]; }

 private:
  struct Interval {
    Cycle from = 0, to = kNever;
  };
  struct Context {
    std::array<std::uint32_t, 32> x{}, f{};
    bool handler = false, fs = true;
    unsigned frm = 0;
    // Loop.
    bool looping = false, loop_broken = false;
    Address loop_end = 0;
    std::uint32_t rounds = 0;
    // Streams.
    std::array<Address, 3> s{};
    std::array<std::uint32_t, 3> strides{};
    // Matrix unit and random numbers.
    int phase = -1;
    bool amp_used = false;
    std::uint8_t rng_written = 0;
    // The record before.
    RetireRecord last;
    isa::Op last_op = isa::Op::illegal;
    Cycle busy_until = 0;   ///< of a multi-slot instruction
    bool stepping = false;  ///< xdcsr.step
  };

  void count(std::size_t point) {
    if (point != Totals::kNone) ++counts_[point];
  }
  void note_ownership(const RetireRecord& record);
  [[nodiscard]] unsigned running(Cycle c) const;
  [[nodiscard]] bool ran_in(unsigned mask, Cycle from, Cycle to) const;

  void take(const RetireRecord& record);
  void instruction(Context& c, const RetireRecord& record, isa::Op op);
  void values(Context& c, const RetireRecord& record, isa::Op op);
  void result(const RetireRecord& record, isa::Op op);
  void pairing(Context& c, const RetireRecord& record, isa::Op op);
  void slots(Context& c, const RetireRecord& record, isa::Op op);
  void waits(Context& c, const RetireRecord& record, isa::Op op);
  void control(Context& c, const RetireRecord& record, isa::Op op);
  void trap(Context& c, const RetireRecord& record, isa::Op op);
  void illegal(Context& c, const RetireRecord& record, isa::Op op);
  void csr(Context& c, const RetireRecord& record, isa::Op op);
  void loop(Context& c, const RetireRecord& record, isa::Op op);
  void stream(Context& c, const RetireRecord& record, isa::Op op);
  void accesses(const RetireRecord& record, isa::Op op);
  void matrix(Context& c, const RetireRecord& record, isa::Op op);
  void apply(Context& c, const RetireRecord& record, isa::Op op);

  TileConfig config_;
  std::shared_ptr<Totals> totals_;
  Counts counts_;
  std::vector<RetireRecord> waiting_;
  std::array<Context, 7> contexts_;
  std::array<std::deque<Interval>, 7> owned_;
  Cycle supervisor_next_ = 0;  ///< first cycle in which the supervisor could issue
  Cycle supervisor_last_ = 0;
  bool supervisor_plain_ = false;  ///< nothing but its slot keeps it from issuing 6 cycles behind its last instruction
  unsigned weight_loads_ = 0;
  std::function<std::vector<std::uint8_t>()> memory_;
  std::optional<Cycle> release_;
  Cycle exchange_issue_ = 0;
};

}  // namespace tessera::coverage
