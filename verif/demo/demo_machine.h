// A demonstration's executable on the modelled machine, for tests: through the container and back, loaded and run by
// the engine, exchange phases counted against their predictions. One machine a process (SystemC elaborates once).
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/engine/engine.h"
#include "host/executable/container.h"
#include "host/profile/phases.h"
#include "tlm/system/system.h"
#include "tlm/system/transport.h"
#include "tlm/tile/code_cache.h"
#include "tlm/tile/tlm_tile.h"

namespace tessera::testing {

class DemoMachine {
 public:
  /// All tiles are TLM unless `factory` makes others.
  DemoMachine(const executable::Executable& executable, const Platform& platform, const TileFactory& factory = {})
      : bytes_(executable::write(executable)), loaded_(executable::read(bytes_, "test")), phases_(loaded_) {
    SystemConfig config;
    config.platform = platform;
    config.factory = factory;
    if (!factory)
      config.factory = [code = std::make_shared<CodeCache>()](const TileConfig& tile, TileMode) {
        return std::make_unique<TlmTile>(tile, code);
      };
    config.max_cycles = 50'000'000;
    config.events = &phases_;
    system_ = std::make_unique<System>("system", config);
    transport_ = std::make_unique<InProcessTransport>(*system_);
    driver_ = std::make_unique<driver::Driver>(*transport_);
    engine_ = std::make_unique<engine::Engine>(loaded_, *driver_);
    engine_->load();
  }

  engine::RunResult run() {
    const engine::RunResult result = engine_->run();
    phases_.finish();
    return result;
  }
  engine::Engine& engine() { return *engine_; }
  System& system() { return *system_; }
  /// Words of tensors by name and instance, while the program stands.
  std::function<std::vector<std::uint32_t>(const std::string&, std::size_t)> reader() {
    return [this](const std::string& tensor, std::size_t instance) { return read<std::uint32_t>(tensor, instance); };
  }
  const executable::Executable& executable() const { return loaded_; }
  const std::vector<std::uint8_t>& bytes() const { return bytes_; }
  /// Of all IPUs.
  const profile::PhaseCheck& phases() const { return phases_; }

  template <typename T>
  std::vector<T> read(const std::string& tensor, std::size_t instance = 0) {
    const std::vector<std::uint8_t> bytes = engine_->read_tensor(tensor, instance);
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

 private:
  std::vector<std::uint8_t> bytes_;
  executable::Executable loaded_;
  profile::PhaseCheck phases_;
  std::unique_ptr<System> system_;
  std::unique_ptr<InProcessTransport> transport_;
  std::unique_ptr<driver::Driver> driver_;
  std::unique_ptr<engine::Engine> engine_;
};

}  // namespace tessera::testing
