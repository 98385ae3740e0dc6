// Tiles for tests of fabric, sync and chip: scripts of stops in place of a program, memory that is plain bytes.
#pragma once

#include <cstring>
#include <deque>
#include <vector>

#include "tlm/tile/exchange_engine.h"
#include "tlm/tile/tile_model.h"

namespace tessera::testing {

/// An interval-based tile whose stops are a list. After the list it stops with `idle` (or goes on for ever). Stops are
/// relative to the cycle in which the tile goes on: `after` cycles later.
class FakeTile : public TileModel {
 public:
  struct Step {
    TileStop::Kind kind = TileStop::Kind::sync;
    Cycle after = 6;
    Zone zone = Zone::internal;
    std::uint32_t value = 1;
  };

  explicit FakeTile(TileConfig config = {}) : config(config), memory(config.sram_bytes) {}

  TileMode mode() const override { return TileMode::tlm; }
  bool interval_based() const override { return true; }
  void start(Address pc, Cycle at) override {
    started = true;
    state.run = ContextState::Run::running;
    state.pc = pc;
    now = at;
  }
  void start_context(ContextId, Address pc, Cycle at) override { start(pc, at); }
  TileStop run(Cycle limit, ExchangePort*, PacketPort*) override {
    if (!started) return {};
    if (steps.empty()) return endless ? TileStop{TileStop::Kind::limit, limit} : TileStop{};
    Step step = steps.front();
    if (now + step.after >= limit) return {TileStop::Kind::limit, limit};
    steps.pop_front();
    now += step.after;
    state.pc += 4;
    if (step.kind == TileStop::Kind::exception && !fault) fault = TileException{now, 0, 2, state.pc, 0};
    return {step.kind, now, step.zone, step.value};
  }
  void release(Cycle z, bool vote) override {
    now = z;
    releases.push_back(z);
    votes.push_back(vote);
  }
  void finish_exchange(const ExchangeResult& result) override {
    results.push_back(result);
    now = std::max(now + 12, result.last_word + 4);
    if (result.fault) {
      fault = TileException{result.fault->cycle, 0, result.fault->cause, state.pc, result.fault->descriptor};
      steps = {{TileStop::Kind::exception, 0}};
    }
  }
  void finish_packets(Cycle cycle, std::uint32_t words) override {
    now = cycle + 6;
    packet_words.push_back(words);
  }
  void fail_packets(Cycle cycle, std::uint32_t, std::uint32_t cause, std::uint32_t tval) override {
    now = cycle + 6;
    fault = TileException{now, 0, cause, state.pc, tval};
    steps = {{TileStop::Kind::exception, 0}};
  }
  void write_memory(Address address, const std::uint8_t* bytes, std::size_t count) override {
    std::memcpy(memory.data() + (address - 0x40000), bytes, count);
  }
  void read_memory(Address address, std::uint8_t* bytes, std::size_t count) const override {
    std::memcpy(bytes, memory.data() + (address - 0x40000), count);
  }
  std::uint8_t* sram() override { return memory.data(); }
  void memory_written(Address, std::size_t count) override { bytes_written += count; }
  std::uint32_t supervisor_csr(unsigned) const override { return 0; }
  ContextState context(ContextId) const override { return state; }
  std::optional<TileException> exception() const override { return fault; }
  std::uint64_t retired() const override { return 0; }
  void observe(RetireObserver*) override {}

  std::uint32_t word(Address address) const {
    std::uint32_t value = 0;
    std::memcpy(&value, memory.data() + (address - 0x40000), 4);
    return value;
  }

  TileConfig config;
  std::vector<std::uint8_t> memory;
  std::deque<Step> steps;
  bool endless = false, started = false;
  Cycle now = 0;
  ContextState state;
  std::optional<TileException> fault;
  std::vector<Cycle> releases;
  std::vector<bool> votes;
  std::vector<ExchangeResult> results;
  std::vector<std::uint32_t> packet_words;
  std::size_t bytes_written = 0;
};

}  // namespace tessera::testing
