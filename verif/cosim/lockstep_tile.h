// A tile as TLM and RTL at once. To the chip it is the TLM tile (interval-based, exact interleave); behind it an RTL
// tile is fed the same starts, releases, memory writes, received exchange words and packets, and every retired
// instruction with its cycle, every word on the exchange port, every stop and, at stops, registers and memory are
// compared.
//
// TLM goes first, a stretch of cycles at a time, and its records wait in a queue for each context; RTL follows and each
// of its records is compared with the queue. Registers in a report are rebuilt from the records, so both sides are
// shown as they stood at the mismatch although TLM is some cycles further.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hw/error.h"
#include "tlm/tile/tile_model.h"
#include "verif/cosim/mismatch.h"
#include "verif/cosim/phase_words.h"
#include "verif/cosim/ring.h"

namespace tessera {

struct LockstepOptions {
  /// Name and source line of the code at an address, for reports; may be empty.
  std::function<std::string(TileRef, Address)> symbolizer;
  Cycle stretch = 256;       ///< cycles TLM may be ahead: as many as keep their records in a cache
  bool check_memory = true;  ///< compare the whole SRAM whenever the tile comes to its end
};

class LockstepTile final : public TileModel {
 public:
  /// `tlm` is interval-based, `rtl` pin-level, both made for `config`.
  LockstepTile(const TileConfig& config, std::unique_ptr<TileModel> tlm, std::unique_ptr<TileModel> rtl,
               LockstepOptions options = {});
  ~LockstepTile() override;

  /// Throws Error(lockstep_mismatch) at the first difference.
  TileStop run(Cycle limit, ExchangePort* port, PacketPort* packets) override;

  [[nodiscard]] TileMode mode() const override { return TileMode::lockstep; }
  [[nodiscard]] bool interval_based() const override { return true; }
  void start(Address pc, Cycle at) override;
  void start_context(ContextId context, Address pc, Cycle at) override;
  void release(Cycle z, bool vote) override;
  void finish_exchange(const ExchangeResult& result) override;
  void packet_traffic(const PacketTraffic& traffic) override;
  [[nodiscard]] bool wants_packet_traffic() const override { return true; }
  void stray_packet(Address address) override;
  void finish_packets(Cycle cycle, std::uint32_t received_words) override;
  void fail_packets(Cycle cycle, std::uint32_t received_words, std::uint32_t cause, std::uint32_t tval) override;
  void write_memory(Address address, const std::uint8_t* bytes, std::size_t count) override;
  void read_memory(Address address, std::uint8_t* bytes, std::size_t count) const override;
  std::uint8_t* sram() override { return tlm_->sram(); }
  void memory_written(Address address, std::size_t count) override;
  [[nodiscard]] std::uint32_t supervisor_csr(unsigned number) const override { return tlm_->supervisor_csr(number); }
  [[nodiscard]] ContextState context(ContextId context) const override { return tlm_->context(context); }
  [[nodiscard]] std::optional<TileException> exception() const override { return tlm_->exception(); }
  [[nodiscard]] std::uint64_t retired() const override { return tlm_->retired(); }
  void observe(RetireObserver* observer) override { observer_ = observer; }
  void observe_events(EventObserver* observer) override { tlm_->observe_events(observer); }
  void set_groups(bool group1, bool group2) override;
  // Debug commands go to both sides. A read gives the TLM's value; of a context that RTL has halted both must agree
  // (but for cycle counters).
  void debug_attach(bool attached) override;
  void debug_halt(std::uint8_t contexts, Cycle at) override;
  void debug_resume(std::uint8_t contexts, Cycle at) override;
  [[nodiscard]] std::uint32_t debug_read(ContextId context, DebugSpace space, unsigned number) const override;
  void debug_write(ContextId context, DebugSpace space, unsigned number, std::uint32_t value) override;

  /// Records (instructions and traps), exchange words, registers and bytes of memory compared so far.
  struct Counts {
    std::uint64_t instructions = 0, traps = 0, words = 0, registers = 0, memory_bytes = 0;
  };
  [[nodiscard]] const Counts& compared() const { return counts_; }
  [[nodiscard]] TileModel& rtl() { return *rtl_; }

 private:
  class TlmObserver;
  class RtlObserver;
  class Pins;
  static constexpr std::size_t kHistory = 16;

  struct Lane {
    Ring<RetireRecord, kHistory> tlm;                // not yet matched, and the last that were
    std::deque<RetireRecord> rtl;                    // not yet matched; holds nothing if TLM's does
    Cycle waiting_from = kNever, waiting_since = 0;  // cycle of a waiting record of TLM alone; RTL's position then
    ShadowRegisters registers;
  };

  void follow(Cycle target, const TileStop& stop);
  void report_words();
  void compare_lane(unsigned context);
  void matched(Lane& lane, const RetireRecord& record);
  void check_leftovers(Cycle position, const TileStop& stop);
  void check_registers();
  void check_exception();
  void check_memory(Address address, std::size_t count);
  void check_received();
  [[noreturn]] void fail(const std::string& message, Cycle cycle, unsigned context, const RetireRecord* tlm,
                         const RetireRecord* rtl) const;
  [[noreturn]] void fail_word(const std::string& message, Cycle cycle);

  TileConfig config_;
  LockstepOptions options_;
  std::unique_ptr<TileModel> tlm_, rtl_;
  std::unique_ptr<TlmObserver> tlm_observer_;
  std::unique_ptr<RtlObserver> rtl_observer_;
  std::unique_ptr<Pins> pins_;
  RetireObserver* observer_ = nullptr;
  std::array<Lane, 7> lanes_;
  Counts counts_;
  std::uint64_t pauses_ = 0;         // syncs and halts
  Cycle position_ = 0;               // RTL has done everything before
  Cycle release_ = 0;                // Z of the phase
  Cycle resume_ = 0;                 // cycle of the last start, release, or end of an exchange or packet window
  std::optional<TileStop> pending_;  // a stop that waits for its answer
};

}  // namespace tessera
