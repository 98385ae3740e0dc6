#include "host/session/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "host/codelets/user_codelets.h"
#include "host/driver/driver.h"
#include "host/executable/container.h"
#include "host/profile/cycles.h"
#include "hw/platform.h"
#include "tlm/system/system.h"
#include "tlm/system/transport.h"
#include "tlm/tile/tlm_tile.h"

namespace tessera {

namespace {

// SystemC prints its banner before sc_main is called.
[[maybe_unused]] const int banner_off = setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 0);

CodeletLibrary library_of(const std::vector<std::string>& sources) {
  CodeletLibrary library = CodeletLibrary::builtin();
  for (const std::string& source : sources) library.add(compile_user_codelets(source), source);
  return library;
}

/// The cycle profile, and the first release of the run that is going on.
struct Observer : EventObserver {
  explicit Observer(const Platform& platform) : cycles(platform.ipus(), platform.tiles) {}
  void event(const MachineEvent& e) override {
    const bool begins = e.kind == MachineEvent::Kind::sync_release || e.kind == MachineEvent::Kind::start;
    if (begins && !running) {
      running = true;
      begin = e.cycle;
    }
    cycles.event(e);
  }
  profile::CycleProfile cycles;
  bool running = false;
  Cycle begin = 0;
};

}  // namespace

struct Session::Parts {
  Parts(const graph::Graph& graph, const SessionOptions& options)
      : platform(load_platform(options.platform)),
        compiled(compiler::compile(graph, platform, library_of(options.codelets))),
        executable(executable::read(executable::write(compiled.executable), "program")),
        observer(platform) {
    SystemConfig config;
    config.platform = platform;
    config.threads = options.threads;
    config.max_cycles = options.max_cycles;
    config.events = &observer;
    config.factory = options.factory;
    const engine::Look look = [this](unsigned ipu, unsigned tile,
                                     unsigned context) -> std::optional<engine::Registers> {
      if (system == nullptr) return std::nullopt;
      const ContextState state =
          std::as_const(*system).chip(ipu).ipu().tile(tile).context(static_cast<ContextId>(context));
      return engine::Registers{state.pc, state.x, state.run == ContextState::Run::running};
    };
    config.symbolizer = [this, look](TileRef tile, Address pc) {
      return engine::stand_text(executable, tile.ipu, tile.tile, pc, look);
    };
    if (!config.factory) {
      config.factory = [](const TileConfig& tile, TileMode) { return std::make_unique<TlmTile>(tile); };
    }
    system = std::make_unique<System>("tessera", config);
    transport = std::make_unique<InProcessTransport>(*system);
    driver = std::make_unique<driver::Driver>(*transport);
    engine::Options engine_options;
    engine_options.service_ns = platform.host.service_ns;
    engine_options.prefetched_ns = platform.host.service_prefetch_ns;
    engine_options.look = look;
    engine_options.print = options.print;
    if (!engine_options.print) {
      engine_options.print = [](const engine::Printed& printed) { fmt::print("{}\n", engine::to_text(printed)); };
    }
    engine = std::make_unique<engine::Engine>(executable, *driver, engine_options);
    engine->load();
  }

  Platform platform;
  compiler::Compiled compiled;
  executable::Executable executable;
  Observer observer;
  std::unique_ptr<System> system;
  std::unique_ptr<InProcessTransport> transport;
  std::unique_ptr<driver::Driver> driver;
  std::unique_ptr<engine::Engine> engine;
};

Session::Session(const graph::Graph& graph, SessionOptions options) : parts_(std::make_unique<Parts>(graph, options)) {}

Session::~Session() = default;

engine::Engine& Session::engine() { return *parts_->engine; }

void Session::require_type(const std::string& tensor, const std::vector<graph::Type>& asked) const {
  const executable::TensorMap* map = executable::find_tensor(parts_->executable.programs.front(), tensor);
  if (map == nullptr || std::find(asked.begin(), asked.end(), map->type) != asked.end()) return;  // the engine refuses
  throw Error(Category::usage,
              fmt::format("tensor '{}' is {} [{}], but it was asked for as {}", tensor, graph::name_of(map->type),
                          fmt::join(map->shape, ", "), graph::name_of(asked.front())),
              "tensor " + tensor, "read and write it with a vector of its own type");
}

SessionRun Session::run(const std::string& entry) {
  parts_->observer.running = false;
  const engine::RunResult result = parts_->engine->run(entry);
  return {parts_->observer.cycles.last_arrival() - parts_->observer.begin, result.host_steps};
}

std::vector<StepCycles> Session::profile() const {
  profile::CycleProfile cycles = parts_->observer.cycles;
  cycles.finish(cycles.last_arrival());
  std::vector<StepCycles> result;
  for (const auto& [pc, sums] : cycles.steps()) {
    const executable::Step* step = executable::find_step(parts_->executable.programs.front(), pc);
    StepCycles line;
    line.step = step == nullptr ? "start" : step->path + (step->name.empty() ? "" : ": " + step->name);
    line.executions = sums.executions;
    line.cycles = sums.cycles;
    const auto share = [&](std::uint64_t part) {
      return sums.tiles.total() == 0 ? 0.0
                                     : 100.0 * static_cast<double>(part) / static_cast<double>(sums.tiles.total());
    };
    line.compute = share(sums.tiles.compute);
    line.exchange = share(sums.tiles.exchange);
    line.sync = share(sums.tiles.sync);
    line.idle = share(sums.tiles.idle);
    result.push_back(std::move(line));
  }
  return result;
}

std::string Session::profile_text() const {
  std::string text = "      cycles  times  compute  exchange   sync   idle  step\n";
  for (const StepCycles& s : profile()) {
    text += fmt::format("{:>12} {:>6} {:>7.1f}% {:>8.1f}% {:>5.1f}% {:>5.1f}%  {}\n", s.cycles, s.executions, s.compute,
                        s.exchange, s.sync, s.idle, s.step);
  }
  return text;
}

const nlohmann::ordered_json& Session::report() const { return parts_->compiled.report.json; }

int guarded(const std::function<int()>& body) {
  try {
    return body();
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return exit_code(error.category());
  }
}

}  // namespace tessera
