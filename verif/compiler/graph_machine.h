// A graph on the modelled machine, for tests: compiles it, loads it, runs it, and counts exchange phases against their
// predictions. One machine a process (SystemC elaborates once), so one per TEST.
#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "host/cli/taps.h"
#include "host/compiler/compiler.h"
#include "host/engine/engine.h"
#include "host/executable/container.h"
#include "hw/event.h"
#include "tlm/system/system.h"
#include "tlm/system/transport.h"
#include "tlm/tile/tlm_tile.h"

namespace tessera::testing {

/// Releases and last exchanged words, to compare each phase with its prediction.
class PhaseClock : public EventObserver {
 public:
  void event(const MachineEvent& e) override {
    if (e.kind == MachineEvent::Kind::sync_release) release_[e.tile] = e.cycle;
    if (e.kind == MachineEvent::Kind::exchange_end) {
      Cycle& last = last_[{release_[e.tile]}];
      last = std::max(last, e.cycle);
    }
  }
  /// By release: cycles from it to the last word, the cycle of the word counted.
  [[nodiscard]] std::vector<Cycle> phases() const {
    std::vector<Cycle> result;
    for (const auto& [release, last] : last_) result.push_back(last + 1 - release);
    return result;
  }
  /// Cycles of all releases after which words were exchanged, in order.
  [[nodiscard]] std::vector<Cycle> releases() const {
    std::vector<Cycle> result;
    for (const auto& [release, last] : last_) result.push_back(release);
    return result;
  }

 private:
  std::map<unsigned, Cycle> release_;
  std::map<Cycle, Cycle> last_;
};

class GraphMachine {
 public:
  /// All tiles are TLM unless `factory` makes others.
  explicit GraphMachine(const graph::Graph& graph, const Platform& platform = load_platform("pocket"),
                        const TileFactory& factory = {}, const CodeletLibrary& library = CodeletLibrary::builtin())
      : compiled_(compiler::compile(graph, platform, library)),
        bytes_(executable::write(compiled_.executable)),
        loaded_(executable::read(bytes_, "test")) {
    SystemConfig config;
    config.platform = platform;
    config.factory = factory;
    if (!factory) config.factory = [](const TileConfig& tile, TileMode) { return std::make_unique<TlmTile>(tile); };
    config.max_cycles = 50'000'000;
    config.events = &clock_;
    config.released = [this](unsigned ipu, Cycle) {
      if (tap_sink_) cli::read_taps(*system_, ipu, loaded_, tap_sink_);
    };
    system_ = std::make_unique<System>("system", config);
    transport_ = std::make_unique<InProcessTransport>(*system_);
    driver_ = std::make_unique<driver::Driver>(*transport_);
    engine_ = std::make_unique<engine::Engine>(loaded_, *driver_);
    engine_->load();
  }

  engine::Engine& engine() { return *engine_; }
  driver::Driver& driver() { return *driver_; }
  const compiler::Compiled& compiled() const { return compiled_; }
  const executable::Executable& executable() const { return loaded_; }
  const std::vector<std::uint8_t>& bytes() const { return bytes_; }
  PhaseClock& clock() { return clock_; }
  /// Where tapped tensors go as the program runs.
  void on_tap(cli::TapSink sink) { tap_sink_ = std::move(sink); }

  template <typename T>
  void write(const std::string& tensor, const std::vector<T>& values) {
    std::vector<std::uint8_t> bytes(values.size() * sizeof(T));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    engine_->write_tensor(tensor, bytes);
  }
  template <typename T>
  std::vector<T> read(const std::string& tensor) {
    const std::vector<std::uint8_t> bytes = engine_->read_tensor(tensor);
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

 private:
  compiler::Compiled compiled_;
  std::vector<std::uint8_t> bytes_;
  executable::Executable loaded_;
  PhaseClock clock_;
  cli::TapSink tap_sink_;
  std::unique_ptr<System> system_;
  std::unique_ptr<InProcessTransport> transport_;
  std::unique_ptr<driver::Driver> driver_;
  std::unique_ptr<engine::Engine> engine_;
};

}  // namespace tessera::testing
