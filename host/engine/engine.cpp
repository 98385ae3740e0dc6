#include "host/engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "hw/error.h"
#include "hw/generated/machine.h"

namespace tessera::engine {

using driver::Event;
using executable::Executable;
using executable::HostStep;
using executable::Program;

Engine::Engine(const Executable& executable, driver::Driver& driver, Options options)
    : executable_(executable), driver_(driver), options_(std::move(options)), served_(executable.streams.size(), 0) {
  check_device();
  root_ = executable_.instances.front().ipu;
  for (const executable::Instance& instance : executable_.instances) root_ = std::min(root_, instance.ipu);
}

void Engine::check_device() const {
  if (executable_.instances.empty()) throw Error(Category::usage, "the executable holds no program");
  std::set<unsigned> taken;
  for (const executable::Instance& instance : executable_.instances) {
    if (!taken.insert(instance.ipu).second)
      throw Error(Category::usage, fmt::format("the executable has two programs for IPU {}", instance.ipu),
                  executable_.name);
    if (instance.ipu >= driver_.ipus()) {
      throw Error(Category::usage,
                  fmt::format("the executable needs IPU {}, but the device has {} IPUs", instance.ipu, driver_.ipus()),
                  executable_.name,
                  "compile it for this platform, or choose the platform it was compiled for (" +
                      executable_.platform_name + ")");
    }
    const driver::IpuInfo& info = driver_.info(instance.ipu);
    const Program& program = executable_.programs.at(instance.program);
    if (program.tiles > info.tiles || executable_.sram_bytes != info.sram_bytes) {
      throw Error(Category::usage,
                  fmt::format("the executable was compiled for {} tiles with {} bytes of SRAM, but the device has {} "
                              "tiles with {} bytes",
                              program.tiles, executable_.sram_bytes, info.tiles, info.sram_bytes),
                  executable_.name, "compile it again for this platform");
    }
  }
}

namespace {

driver::LoadRecord record_for_tile(unsigned tile, Address address, const std::vector<std::uint32_t>& words) {
  driver::LoadRecord record;
  record.tile = tile;
  record.address = address;
  record.words = words;
  return record;
}

void add_shared(const Program& program, const executable::SharedBlob& blob, std::vector<driver::LoadRecord>& records) {
  const std::vector<std::uint32_t>& words = program.contents.at(blob.content);
  if (blob.class_mask != 0) {  // broadcast crosses PCI Express once
    driver::LoadRecord record;
    record.class_mask = blob.class_mask;
    record.address = blob.address;
    record.words = words;
    records.push_back(std::move(record));
    return;
  }
  for (const executable::TileRange& range : blob.tiles)
    for (unsigned tile = range.first; tile <= range.last; ++tile)
      records.push_back(record_for_tile(tile, blob.address, words));
}

std::vector<driver::LoadRecord> load_records(const Program& program) {
  std::vector<driver::LoadRecord> records;
  for (const executable::SharedBlob& blob : program.shared) add_shared(program, blob, records);
  for (const executable::TileBlob& blob : program.blobs)
    records.push_back(record_for_tile(blob.tile, blob.address, program.contents.at(blob.content)));
  for (const executable::Constant& constant : program.constants) {
    for (const executable::ConstantPiece& piece : constant.pieces) {
      const auto first = constant.words.begin() + piece.offset;
      records.push_back(record_for_tile(piece.tile, piece.address, {first, first + piece.words}));
    }
  }
  return records;
}

}  // namespace

void Engine::prepare(const executable::Instance& instance) {
  const Program& program = program_of(instance);
  const unsigned device_tiles = driver_.info(instance.ipu).tiles;
  std::vector<bool> active(device_tiles, false);
  std::fill_n(active.begin(), program.tiles, true);
  driver_.set_active(instance.ipu, active);
  std::vector<std::uint8_t> classes = program.tile_class;
  classes.resize(device_tiles, 0);
  driver_.set_classes(instance.ipu, classes);
  constexpr unsigned kSets = 256;
  const bool alone = executable_.instances.size() == 1;
  const bool group = std::any_of(program.entries.begin(), program.entries.end(),
                                 [](const executable::EntryPoint& e) { return !e.reads.empty() || !e.writes.empty(); });
  // An IPU that runs by itself is a set of its own, that of several is set 0.
  if (!alone || group) driver_.set_groups(instance.ipu, true, false, alone ? instance.ipu % (kSets - 1) + 1 : 0);
}

void Engine::load_program(std::uint32_t program) {
  std::vector<const executable::Instance*> instances;
  std::vector<unsigned> ipus;
  for (const executable::Instance& instance : executable_.instances) {
    if (instance.program != program) continue;
    instances.push_back(&instance);
    ipus.push_back(instance.ipu);
  }
  if (ipus.empty()) return;
  const Program& image = executable_.programs.at(program);
  driver_.load(ipus, load_records(image));
  const bool has_start = std::any_of(image.regions.begin(), image.regions.end(), [](const executable::Region& r) {
    return r.name == "start" && r.begin == kSramBase && r.end >= kSramBase + start_region::kBytes;
  });
  if (executable_.instances.size() == 1 || !has_start) return;
  for (const executable::Instance* instance : instances) {  // the only words in which instances of a program differ
    driver::LoadRecord who;
    who.address = kSramBase + start_region::ipu;
    who.words = {instance->ipu, instance->replica};
    driver_.load(instance->ipu, {who});
  }
}

void Engine::attach_streams() {
  for (const executable::Stream& stream : executable_.streams)
    for (const executable::Instance& instance : executable_.instances)
      driver_.attach_buffer(instance.ipu, stream.buffer, stream.bytes, stream.input, !stream.input);
}

void Engine::load() {
  for (const executable::Instance& instance : executable_.instances) driver_.reset(instance.ipu);
  for (const executable::Instance& instance : executable_.instances) prepare(instance);
  for (std::uint32_t program = 0; program < executable_.programs.size(); ++program) load_program(program);
  attach_streams();
  finished_ = failed_ = false;
  std::fill(served_.begin(), served_.end(), 0);
  for (auto& [stream, filled] : ahead_) filled = false;
  outstanding_.clear();
  host_steps_ = 0;
}

namespace {

std::uint32_t stream_index(const Executable& executable, const std::string& name, bool input) {
  for (std::uint32_t i = 0; i < executable.streams.size(); ++i)
    if (executable.streams[i].name == name && executable.streams[i].input == input) return i;
  throw Error(Category::usage, fmt::format("the executable has no {} stream '{}'", input ? "input" : "output", name),
              executable.name);
}

}  // namespace

void Engine::connect(const std::string& stream, Source source, bool ahead) {
  const std::uint32_t index = stream_index(executable_, stream, true);
  sources_[index] = std::move(source);
  if (ahead) ahead_.try_emplace(index, false);
  if (!ahead) ahead_.erase(index);
}

void Engine::connect(const std::string& stream, Sink sink) {
  sinks_[stream_index(executable_, stream, false)] = std::move(sink);
}

void Engine::check_streams() const {
  for (std::uint32_t i = 0; i < executable_.streams.size(); ++i) {
    if (sources_.count(i) + sinks_.count(i) == 0) {
      throw Error(Category::usage, "stream '" + executable_.streams[i].name + "' is not connected", executable_.name,
                  "give it an input or take its output before the run");
    }
  }
}

namespace {

unsigned element_bytes(const executable::Stream& stream) { return graph::size_of(stream.type); }

/// Row-major step -> buffer in tile order; what no run covers is padding and becomes 0.
void scatter(const executable::Stream& stream, const std::uint8_t* step, std::uint8_t* buffer) {
  const unsigned bytes = element_bytes(stream);
  std::memset(buffer, 0, stream.bytes);
  for (const executable::BufferRun& run : stream.layout)
    for (std::uint64_t i = 0; i < run.count; ++i) {
      const std::int64_t at = static_cast<std::int64_t>(run.offset) + static_cast<std::int64_t>(i) * run.step;
      std::memcpy(buffer + at, step + (run.element + i) * bytes, bytes);
    }
}

void gather(const executable::Stream& stream, const std::uint8_t* buffer, std::uint8_t* step) {
  const unsigned bytes = element_bytes(stream);
  for (const executable::BufferRun& run : stream.layout)
    for (std::uint64_t i = 0; i < run.count; ++i) {
      const std::int64_t at = static_cast<std::int64_t>(run.offset) + static_cast<std::int64_t>(i) * run.step;
      std::memcpy(step + (run.element + i) * bytes, buffer + at, bytes);
    }
}

}  // namespace

void Engine::fill(std::uint32_t index) {
  const executable::Stream& stream = executable_.streams[index];
  std::vector<std::uint8_t> step(stream.elements * element_bytes(stream));
  bool first = true;
  for (const executable::Instance& instance : executable_.instances) {
    if (first || stream.divided) sources_.at(index)(served_[index]++, step.data());
    first = false;
    scatter(stream, step.data(), driver_.buffer(instance.ipu, stream.buffer));
  }
}

/// First steps are brought to host memory while nothing waits for them.
void Engine::fill_ahead() {
  for (auto& [stream, filled] : ahead_) {
    if (served_[stream] != 0) continue;
    fill(stream);
    filled = true;
  }
}

void Engine::drain() {
  for (const std::uint32_t index : outstanding_) {
    const executable::Stream& stream = executable_.streams[index];
    std::vector<std::uint8_t> step(stream.elements * element_bytes(stream));
    for (const executable::Instance& instance : executable_.instances) {
      gather(stream, driver_.buffer(instance.ipu, stream.buffer), step.data());
      sinks_.at(index)(served_[index]++, step.data());
      if (!stream.divided) break;
    }
  }
  outstanding_.clear();
}

void Engine::print(const HostStep& step) {
  for (std::size_t i = 0; i < executable_.instances.size(); ++i) {
    const executable::TensorMap& map = tensor(step.tensor, i);
    Printed printed;
    printed.label = step.text;
    printed.path = step.path;
    printed.ipu = executable_.instances[i].ipu;
    printed.type = map.type;
    printed.shape = map.shape;
    printed.bytes = read_tensor(step.tensor, i);
    if (options_.print) {
      options_.print(printed);
    } else {
      fmt::print(stderr, "{}\n", to_text(printed));
    }
  }
}

void Engine::serve(const Event& event) {
  if (event.code == 0 || event.code > executable_.host_steps.size()) {
    throw Error(Category::device_exception,
                fmt::format("the program asked for host step {}, which does not exist", event.code),
                fmt::format("IPU {}", event.ipu), "the executable and the machine's memory disagree; load it again");
  }
  const HostStep& step = executable_.host_steps[event.code - 1];
  if (step.kind == HostStep::Kind::abort)
    throw Error(Category::wrong_result, "the program aborts: " + step.text, step.path,
                "the program itself asks for this; look at what leads to the branch");
  if (step.kind == HostStep::Kind::print) print(step);
  bool prefetched = true;
  for (const std::uint32_t stream : step.reads) {
    prefetched = prefetched && served_[stream] > 0;
    const auto ahead = ahead_.find(stream);
    if (ahead == ahead_.end() || !std::exchange(ahead->second, false)) fill(stream);
  }
  outstanding_ = step.writes;
  driver_.acknowledge(event.ipu, true, prefetched ? options_.prefetched_ns : options_.service_ns);
  count_step(step.path);
}

void Engine::count_step(const std::string& path) {
  ++host_steps_;
  if (options_.progress) options_.progress(host_steps_, path);
}

const executable::EntryPoint& Engine::entry_of(const std::string& entry) const {
  const Program& program = program_of(executable_.instances.front());
  return program.entries[entry_index(program, entry)];
}

std::size_t Engine::entry_index(const Program& program, const std::string& entry) const {
  const auto found = std::find_if(program.entries.begin(), program.entries.end(),
                                  [&](const executable::EntryPoint& e) { return e.name == entry; });
  if (found == program.entries.end())
    throw Error(Category::usage, "the executable has no entry point '" + entry + "'", executable_.name);
  return static_cast<std::size_t>(found - program.entries.begin());
}

void Engine::start(const std::string& entry) {
  std::vector<std::size_t> entries;
  for (const executable::Instance& instance : executable_.instances)
    entries.push_back(entry_index(program_of(instance), entry));
  if (!finished_) {
    std::vector<driver::Driver::Boot> boots;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const executable::Instance& instance = executable_.instances[i];
      boots.push_back({instance.ipu, program_of(instance).entries[entries[i]].pc});
    }
    driver_.start(boots);
    return;
  }
  // The supervisors wait in the finish of the run before: they read the selector and go on.
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const executable::Instance& instance = executable_.instances[i];
    const auto index = static_cast<std::uint32_t>(entries[i]);
    for (unsigned tile = 0; tile < program_of(instance).tiles; ++tile)
      driver_.write_tile(instance.ipu, tile, executable::kEntrySelector, &index, 1);
  }
  driver_.acknowledge(root_, true, options_.service_ns);
}

std::vector<driver::Counters> Engine::counters() const {
  std::vector<driver::Counters> all;
  for (const executable::Instance& instance : executable_.instances) all.push_back(driver_.counters(instance.ipu));
  return all;
}

driver::ExceptionInfo Engine::first_exception(const driver::ExceptionInfo& known) const {
  driver::ExceptionInfo first = known;
  for (const executable::Instance& instance : executable_.instances) {
    if (instance.ipu == known.ipu) continue;
    const auto other = driver_.exception(instance.ipu);
    if (other && std::tie(other->cycle, other->ipu) < std::tie(first.cycle, first.ipu)) first = *other;
  }
  return first;
}

RunResult Engine::run(const std::string& entry) {
  check_streams();
  for (const executable::Instance& instance : executable_.instances) (void)entry_index(program_of(instance), entry);
  if (failed_)
    throw Error(Category::usage, "the run before ended with an error", executable_.name,
                "load the program again: its state is lost");
  failed_ = true;
  const executable::EntryPoint& point = entry_of(entry);
  for (const std::uint32_t stream : point.reads) fill(stream);
  if (!point.reads.empty()) count_step(entry);
  fill_ahead();
  const std::vector<driver::Counters> before = counters();
  start(entry);
  finished_ = false;
  serve_until_finished();
  outstanding_ = point.writes;
  drain();
  if (!point.writes.empty()) count_step(entry);
  for (const executable::Instance& instance : executable_.instances) driver_.check_writes(instance.ipu);
  finished_ = true;
  failed_ = false;
  RunResult result;
  result.host_steps = host_steps_;
  result.instances = counters();
  for (std::size_t i = 0; i < before.size(); ++i) {
    result.instances[i] = result.instances[i].since(before[i]);
    result.counters += result.instances[i];
  }
  return result;
}

std::optional<driver::ExceptionInfo> Engine::known_exception() const {
  std::optional<driver::ExceptionInfo> known;
  try {
    for (const executable::Instance& instance : executable_.instances)
      if (const auto info = driver_.exception(instance.ipu))
        if (!known || std::tie(info->cycle, info->ipu) < std::tie(known->cycle, known->ipu)) known = info;
  } catch (const Error&) {  // a device that does not even tell: what made us ask is the better error
  }
  return known;
}

void Engine::serve_until_finished() {
  const auto told = [this](const auto& act) {
    try {
      return act();
    } catch (const Error& error) {
      if (error.category() != Category::device_exception) throw;
      // The machine could not go on. If the device says why, its registers know more than the transport.
      const std::optional<driver::ExceptionInfo> known = known_exception();
      if (!known) throw;
      throw Error(Category::device_exception, describe(executable_, *known, options_.look) + "\n  " + error.message(), "",
                  error.advice(), known->cycle);
    }
  };
  for (;;) {
    const Event event = told([this] { return driver_.wait(options_.limit_ns); });
    switch (event.kind) {
      case Event::Kind::host_sync:
        if (event.ipu != root_)
          throw Error(Category::device_exception,
                      fmt::format("IPU {} asks for the host, but IPU {} does it for all", event.ipu, root_),
                      executable_.name, "the sync groups and the program disagree; load it again");
        drain();
        if (event.code == executable::kFinishedCode) return;
        told([&] { serve(event); });
        break;
      case Event::Kind::exception:
        raise(first_exception(event.exception));
      case Event::Kind::stopped:
        throw Error(Category::no_progress, "the program stopped before its end", fmt::format("IPU {}", event.ipu),
                    "every supervisor left its program: the control program is damaged");
      case Event::Kind::timeout:
        throw Error(Category::no_progress,
                    fmt::format("the program did not end within {} ns of simulated time", options_.limit_ns),
                    fmt::format("{} host steps served", host_steps_), "raise the limit, or look for an endless loop");
    }
  }
}

const executable::Instance& Engine::instance_at(std::size_t instance) const {
  if (instance >= executable_.instances.size())
    throw Error(Category::usage,
                fmt::format("there is no instance {}: the executable has {}", instance, executable_.instances.size()),
                executable_.name);
  return executable_.instances[instance];
}

const executable::TensorMap& Engine::tensor(const std::string& name, std::size_t instance) const {
  const Program& program = program_of(instance_at(instance));
  const executable::TensorMap* map = executable::find_tensor(program, name);
  if (map == nullptr) throw Error(Category::usage, "the executable exposes no tensor '" + name + "'", executable_.name);
  return *map;
}

namespace {

std::uint64_t tensor_bytes(const executable::TensorMap& map) {
  std::uint64_t elements = 1;
  for (const std::uint64_t d : map.shape) elements *= d;
  return elements * graph::size_of(map.type);
}

/// First and last byte of a run, as whole words.
struct Window {
  Address address = 0;
  std::size_t words = 0;
};

Window window_of(const executable::TensorRun& run, unsigned bytes) {
  const std::int64_t first = run.address;
  const std::int64_t last = first + static_cast<std::int64_t>(run.count - 1) * run.step;
  const std::int64_t low = std::min(first, last) & ~std::int64_t{3};
  const std::int64_t high = (std::max(first, last) + bytes + 3) & ~std::int64_t{3};
  return {static_cast<Address>(low), static_cast<std::size_t>(high - low) / 4};
}

}  // namespace

std::vector<std::uint8_t> Engine::read_tensor(const std::string& name, std::size_t instance) const {
  const executable::TensorMap& map = tensor(name, instance);
  const unsigned ipu = instance_at(instance).ipu;
  const unsigned bytes = graph::size_of(map.type);
  std::vector<std::uint8_t> out(tensor_bytes(map));
  std::vector<std::uint32_t> words;
  for (const executable::TensorRun& run : map.runs) {
    if (run.count == 0) continue;
    const Window window = window_of(run, bytes);
    words.resize(window.words);
    driver_.read_tile(ipu, run.tile, window.address, words.data(), words.size());
    const auto* base = reinterpret_cast<const std::uint8_t*>(words.data());
    for (std::uint64_t i = 0; i < run.count; ++i) {
      const std::int64_t at = static_cast<std::int64_t>(run.address) + static_cast<std::int64_t>(i) * run.step;
      std::memcpy(out.data() + (run.element + i) * bytes, base + (at - window.address), bytes);
    }
  }
  return out;
}

void Engine::write_tensor(const std::string& name, const std::vector<std::uint8_t>& bytes_in, std::size_t instance) {
  const executable::TensorMap& map = tensor(name, instance);
  if (bytes_in.size() != tensor_bytes(map)) {
    throw Error(Category::usage,
                fmt::format("tensor '{}' takes {} bytes, but {} were given", name, tensor_bytes(map), bytes_in.size()));
  }
  const unsigned bytes = graph::size_of(map.type);
  const unsigned ipu = instance_at(instance).ipu;
  std::vector<std::uint32_t> words;
  for (const executable::TensorRun& run : map.runs) {
    if (run.count == 0) continue;
    const Window window = window_of(run, bytes);
    words.resize(window.words);
    driver_.read_tile(ipu, run.tile, window.address, words.data(), words.size());  // neighbours in the words stay
    auto* base = reinterpret_cast<std::uint8_t*>(words.data());
    for (std::uint64_t i = 0; i < run.count; ++i) {
      const std::int64_t at = static_cast<std::int64_t>(run.address) + static_cast<std::int64_t>(i) * run.step;
      std::memcpy(base + (at - window.address), bytes_in.data() + (run.element + i) * bytes, bytes);
    }
    driver_.write_tile(ipu, run.tile, window.address, words.data(), words.size());
  }
}

}  // namespace tessera::engine
