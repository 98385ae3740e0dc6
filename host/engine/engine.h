// Runs an executable on claimed IPUs: loads it, serves its host syncs and streams, turns device exceptions into errors
// that name vertex, codelet and program path, reads and writes tensors by name.
//
// Several instances run as one: all in sync group 1, started in one cycle, host syncs served once, at the root IPU (the
// lowest); the run ends with the root's finish or with the first exception of any IPU.
//
// Knows the executable and the driver; never sees a graph, a compiler or a simulator. Host time is simulated time: the
// service latency of the platform, never wall time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/driver/driver.h"
#include "host/engine/stand.h"
#include "host/executable/executable.h"

namespace tessera::engine {

/// Fills one step of an input stream: `elements` x element size bytes, row-major, little endian. step counts from 0.
using Source = std::function<void(std::uint64_t step, std::uint8_t* bytes)>;
/// Takes one step of an output stream.
using Sink = std::function<void(std::uint64_t step, const std::uint8_t* bytes)>;

/// What a Print step shows.
struct Printed {
  std::string label, path;
  std::uint32_t ipu = 0;
  executable::Type type = executable::Type::f32;
  std::vector<std::uint64_t> shape;
  std::vector<std::uint8_t> bytes;  ///< row-major, little endian
};
/// "label [2, 3] f32: 1 2 3 4 5 6", of long tensors the first elements and "..".
[[nodiscard]] std::string to_text(const Printed& printed, std::size_t limit = 64);

struct Options {
  std::uint64_t service_ns = 2000;    ///< simulated host time for a step whose data is not prefetched
  std::uint64_t prefetched_ns = 300;  ///< the same when every input stream of the step was served before, or ahead
  std::uint64_t limit_ns = ~std::uint64_t{0};  ///< simulated time the run may take; then Error(no_progress)
  /// Called after each host step: (steps served, step's path).
  std::function<void(std::uint64_t, const std::string&)> progress;
  /// Sees registers as a debugger does: names the exact vertex of a trap; may be empty.
  Look look;
  /// Adds what only a debugger can see to an exception (registers, source line); may be empty.
  std::function<std::string(const driver::ExceptionInfo&)> inspect;
  /// Takes what Print steps show, for each instance in order; without it a line goes to standard error.
  std::function<void(const Printed&)> print;
};

struct RunResult {
  std::uint64_t host_steps = 0;
  driver::Counters counters;                ///< of this run, summed over the IPUs
  std::vector<driver::Counters> instances;  ///< the same for each instance of the executable
};

class Engine {
 public:
  /// Instance i of the executable runs on IPU i of the driver. Both must outlive the engine. Throws Error(usage) if the
  /// executable is for another number of tiles, IPUs or another SRAM size than the device has; both values are named.
  Engine(const executable::Executable& executable, driver::Driver& driver, Options options = {});

  /// Resets the IPUs and loads code, tables and constants; attaches stream buffers. Before the first run, and again to
  /// start from the loaded state.
  void load();

  /// Every stream of the executable must be connected before run(). Throws Error(usage) for an unknown name or
  /// direction.
  /// ahead: the source can be asked for its first step before the run starts, which is then prefetched.
  void connect(const std::string& stream, Source source, bool ahead = false);
  void connect(const std::string& stream, Sink sink);

  /// Runs an entry point to its end; may be called again, tensors keep what they hold. Throws Error: device_exception,
  /// no_progress, usage (unconnected stream), wrong_result (the program aborts, with its message); after an error of
  /// the device only load() helps.
  RunResult run(const std::string& entry = "main");

  /// Tensor by name, row-major bytes; the program stands (loaded and not started, or ended). Throws Error(usage) for an
  /// unknown name or instance or a wrong number of bytes. `instance`: index into Executable::instances.
  [[nodiscard]] std::vector<std::uint8_t> read_tensor(const std::string& name, std::size_t instance = 0) const;
  void write_tensor(const std::string& name, const std::vector<std::uint8_t>& bytes, std::size_t instance = 0);

 private:
  void check_device() const;
  void prepare(const executable::Instance& instance);
  void load_program(std::uint32_t program);
  [[nodiscard]] const executable::Program& program_of(const executable::Instance& instance) const {
    return executable_.programs.at(instance.program);
  }
  void start(const std::string& entry);
  void serve_until_finished();
  [[nodiscard]] std::size_t entry_index(const executable::Program& program, const std::string& entry) const;
  [[nodiscard]] std::vector<driver::Counters> counters() const;
  [[nodiscard]] const executable::Instance& instance_at(std::size_t instance) const;
  void attach_streams();
  void check_streams() const;
  void serve(const driver::Event& event);
  void print(const executable::HostStep& step);
  void drain();
  void fill(std::uint32_t stream);
  void fill_ahead();
  [[nodiscard]] const executable::EntryPoint& entry_of(const std::string& entry) const;
  void count_step(const std::string& path);
  [[nodiscard]] const executable::TensorMap& tensor(const std::string& name, std::size_t instance) const;
  /// The earliest exception of all IPUs by (cycle, IPU), given one of them.
  [[nodiscard]] driver::ExceptionInfo first_exception(const driver::ExceptionInfo& known) const;
  /// The first that the IPUs tell of, as far as they answer.
  [[nodiscard]] std::optional<driver::ExceptionInfo> known_exception() const;
  [[noreturn]] void raise(const driver::ExceptionInfo& info) const;

  const executable::Executable& executable_;
  driver::Driver& driver_;
  Options options_;
  std::map<std::uint32_t, Source> sources_;  // by stream index
  std::map<std::uint32_t, Sink> sinks_;
  std::vector<std::uint64_t> served_;       // steps per stream
  std::map<std::uint32_t, bool> ahead_;     // streams whose first step comes ahead; whether it is in the buffer now
  std::vector<std::uint32_t> outstanding_;  // output streams whose step is being written
  std::uint64_t host_steps_ = 0;
  bool failed_ = false;    // a run ended with an error: load again
  bool finished_ = false;  // the program waits in the host sync of its end
  unsigned root_ = 0;      // the lowest IPU: serves the host syncs of all
};

/// Text for a device exception: cause, tile, context, pc with symbol, vertex candidates, compute set, program path, or
/// exchange phase and tensors for exchange faults.
[[nodiscard]] std::string describe(const executable::Executable& executable, const driver::ExceptionInfo& info,
                                   const Look& look = {});

/// Of that the lines, each with a newline before it, that say which vertices and which step a worker at a pc was
/// working for (or for the supervisor, which step); empty if that is not known.
[[nodiscard]] std::string describe_vertices(const executable::Executable& executable,
                                            const driver::ExceptionInfo& info);

/// The exchange phase and the words that a descriptor of a tile's table stands for, two indented lines; empty if the
/// address is in none of its tables.
[[nodiscard]] std::string describe_descriptor(const executable::Executable& executable, unsigned ipu, unsigned tile,
                                              Address descriptor);

}  // namespace tessera::engine
