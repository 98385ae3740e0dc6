// Puts the signals of an interval-based tile (TLM, lockstep) into a waveform: a tile around a tile that looks at its
// records, stops and answers and changes nothing. While it stands, the tile inside interleaves exactly.
//
// Signals, below "ipu<i>.tile<t>.tlm": for each context c (supervisor, worker1..6) c.state (0 idle, 1 running, 2
// waiting, 3 halted, 4 excepted), c.issue (1 in issue cycles), c.pc, c.instruction (of the last issue; the MAIN of a
// pair); sync.line, sync.zone; exchange.tx_valid, tx_word, rx_valid, rx_word.
#pragma once

#include <memory>

#include "tlm/tile/tile_model.h"
#include "verif/cosim/phase_words.h"
#include "verif/cosim/wave.h"

namespace tessera {

class WaveTile final : public TileModel, private RetireObserver {
 public:
  WaveTile(const TileConfig& config, std::unique_ptr<TileModel> tile, SignalWave& wave);
  ~WaveTile() override;
  [[nodiscard]] TileModel& inner() { return *tile_; }

  [[nodiscard]] TileMode mode() const override { return tile_->mode(); }
  [[nodiscard]] bool interval_based() const override { return true; }
  void start(Address pc, Cycle at) override;
  void start_context(ContextId context, Address pc, Cycle at) override;
  TileStop run(Cycle limit, ExchangePort* port, PacketPort* packets) override;
  void release(Cycle z, bool vote) override;
  void finish_exchange(const ExchangeResult& result) override;
  [[nodiscard]] bool wants_packet_traffic() const override { return tile_->wants_packet_traffic(); }
  void packet_traffic(const PacketTraffic& traffic) override { tile_->packet_traffic(traffic); }
  void stray_packet(Address address) override { tile_->stray_packet(address); }
  void finish_packets(Cycle cycle, std::uint32_t received_words) override;
  void fail_packets(Cycle cycle, std::uint32_t received_words, std::uint32_t cause, std::uint32_t tval) override;
  void write_memory(Address address, const std::uint8_t* bytes, std::size_t count) override {
    tile_->write_memory(address, bytes, count);
  }
  void read_memory(Address address, std::uint8_t* bytes, std::size_t count) const override {
    tile_->read_memory(address, bytes, count);
  }
  std::uint8_t* sram() override { return tile_->sram(); }
  void memory_written(Address address, std::size_t count) override { tile_->memory_written(address, count); }
  [[nodiscard]] std::uint32_t supervisor_csr(unsigned number) const override { return tile_->supervisor_csr(number); }
  [[nodiscard]] Address supervisor_pc() const override { return tile_->supervisor_pc(); }
  [[nodiscard]] ExchangeBases exchange_bases() const override { return tile_->exchange_bases(); }
  [[nodiscard]] ContextState context(ContextId context) const override { return tile_->context(context); }
  [[nodiscard]] std::optional<TileException> exception() const override { return tile_->exception(); }
  [[nodiscard]] std::uint64_t retired() const override { return tile_->retired(); }
  void observe(RetireObserver* observer) override { outer_ = observer; }
  void observe_events(EventObserver* observer) override { tile_->observe_events(observer); }
  void set_groups(bool group1, bool group2) override { tile_->set_groups(group1, group2); }

 private:
  using Run = ContextState::Run;
  struct ContextSignals {
    SignalWave::Signal state, issue, pc, instruction;
  };
  void retired(const RetireRecord& record) override;
  void exchanged(const ExchangeWord& word) override;
  void state(ContextId context, Cycle cycle, Run run);
  void show_words();
  void settle(Cycle cycle);

  TileConfig config_;
  std::unique_ptr<TileModel> tile_;
  SignalWave& wave_;
  RetireObserver* outer_ = nullptr;
  std::array<ContextSignals, 7> contexts_{};
  SignalWave::Signal line_ = 0, zone_ = 0, tx_valid_ = 0, tx_word_ = 0, rx_valid_ = 0, rx_word_ = 0;
  PhaseWords words_;
  Cycle release_ = 0, supervisor_seen_ = 0;
  std::uint64_t records_ = 0;
  std::optional<TileStop> pending_;
};

}  // namespace tessera
