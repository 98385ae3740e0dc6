// A pin-level tile for tests of lockstep: a TLM tile that moves its exchange words through an ExchangePort, with faults
// planted into its records, words or memory. Not a model of RTL: it only has RTL's interface.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "tlm/tile/tlm_tile.h"
#include "verif/cosim/phase_words.h"

namespace tessera::testing {

class PinLevelFake final : public TileModel, private RetireObserver {
 public:
  explicit PinLevelFake(const TileConfig& config) : config_(config), tile_(config) { tile_.observe(this); }

  std::function<void(RetireRecord&)> spoil_record;   ///< may change what is told of an instruction
  std::function<bool(const RetireRecord&)> swallow;  ///< true: the instruction is not told at all
  std::function<void(ExchangeWord&)> spoil_word;     ///< of words sent
  TlmTile& inner() { return tile_; }

  TileMode mode() const override { return TileMode::rtl; }
  bool interval_based() const override { return false; }
  void start(Address pc, Cycle at) override { tile_.start(pc, at); }
  void start_context(ContextId context, Address pc, Cycle at) override { tile_.start_context(context, pc, at); }
  TileStop run(Cycle limit, ExchangePort* port, PacketPort*) override {
    for (;;) {
      const TileStop stop = tile_.run(limit, nullptr, nullptr);
      if (stop.kind != TileStop::Kind::exchange) return stop;
      exchange(stop, *port);
    }
  }
  void release(Cycle z, bool vote) override {
    release_ = z;
    tile_.release(z, vote);
  }
  void finish_exchange(const ExchangeResult&) override {}
  void finish_packets(Cycle, std::uint32_t) override {}
  void fail_packets(Cycle, std::uint32_t, std::uint32_t, std::uint32_t) override {}
  void write_memory(Address address, const std::uint8_t* bytes, std::size_t count) override {
    tile_.write_memory(address, bytes, count);
  }
  void read_memory(Address address, std::uint8_t* bytes, std::size_t count) const override {
    tile_.read_memory(address, bytes, count);
  }
  std::uint8_t* sram() override { return nullptr; }
  void memory_written(Address, std::size_t) override {}
  std::uint32_t supervisor_csr(unsigned number) const override { return tile_.supervisor_csr(number); }
  ContextState context(ContextId context) const override { return tile_.context(context); }
  std::optional<TileException> exception() const override { return tile_.exception(); }
  std::uint64_t retired() const override { return tile_.retired(); }
  void observe(RetireObserver* observer) override { observer_ = observer; }

 private:
  void retired(const RetireRecord& record) override {
    if (swallow && swallow(record)) return;
    RetireRecord told = record;
    if (spoil_record) spoil_record(told);
    if (observer_ != nullptr) observer_->retired(told);
  }
  void exchanged(const ExchangeWord&) override {}

  void exchange(const TileStop& stop, ExchangePort& port) {
    PhaseWords words;
    words.begin(tile_, config_, stop, release_);
    std::size_t s = 0, r = 0;
    ExchangeResult result{stop.cycle, std::nullopt};
    while (s < words.sent.size() || r < words.received.size()) {
      const bool send =
          s < words.sent.size() && (r == words.received.size() || words.sent[s].cycle <= words.received[r].word.cycle);
      if (send) {
        ExchangeWord word = words.sent[s++];
        result.last_word = std::max(result.last_word, word.cycle);
        if (spoil_word) spoil_word(word);
        port.send(word.cycle, word.word);
        continue;
      }
      const PhaseWords::Received& want = words.received[r++];
      const std::optional<Word> word = port.receive(want.word.cycle, want.source);
      if (!word) {
        result.fault = ExchangeResult::Fault{27, want.word.cycle, 0};
        result.underrun = want.word.cycle;
        break;
      }
      result.last_word = std::max(result.last_word, want.word.cycle);
      tile_.write_memory(want.word.address, reinterpret_cast<const std::uint8_t*>(&*word), 4);
    }
    tile_.finish_exchange(result);
  }

  TileConfig config_;
  TlmTile tile_;
  RetireObserver* observer_ = nullptr;
  Cycle release_ = 0;
};

}  // namespace tessera::testing
