// The C++ API in one header: build a graph, give it to a Session, run its entry points, read its tensors. What users'
// programs and the tutorials include; `tessera run` is the same for ONNX models.
//
// A Session compiles the graph, writes and reads the executable as a file would be, and loads it over PCI Express on
// the modelled machine. One a process, since SystemC elaborates once. Beside host/cli this is the only folder that
// joins host software and simulator; it knows TLM tiles, others come by Options::factory.
//
// A program begins at sc_main instead of main (SystemC's main calls it):
//
//   int sc_main(int, char**) { return tessera::guarded([] { ...; return 0; }); }
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "host/compiler/compiler.h"
#include "host/engine/engine.h"
#include "host/graph/graph.h"
#include "hw/error.h"
#include "tlm/system/ipu.h"

/// Where a user's program begins.
extern "C" int sc_main(int argc, char* argv[]);

namespace tessera {

struct SessionOptions {
  std::string platform = "pocket";    ///< name or file
  std::vector<std::string> codelets;  ///< C sources of the user's codelets, compiled now
  TileFactory factory;                ///< empty: all tiles are TLM
  unsigned threads = 1;               ///< host threads; never changes a result
  Cycle max_cycles = 100'000'000;     ///< of a run; 0 is no limit
  /// Takes what Print steps show; empty: a line on standard output.
  std::function<void(const engine::Printed&)> print;
};

/// One run of an entry point.
struct SessionRun {
  Cycle cycles = 0;  ///< from the first release of the run to the last tile's arrival at its end
  std::uint64_t host_steps = 0;
};

/// Where the cycles of a step went, summed over its executions; shares are of all tiles' cycles, in percent.
struct StepCycles {
  std::string step;  ///< program path and name
  std::uint64_t executions = 0, cycles = 0;
  double compute = 0, exchange = 0, sync = 0, idle = 0;
};

class Session {
 public:
  /// Throws Error: usage, unsupported, does_not_fit (as host/compiler), usage for a codelet that does not compile.
  explicit Session(const graph::Graph& graph, SessionOptions options = {});
  ~Session();

  /// Tensor by the name it is exposed with, row-major. T is the type of its elements: float for f32, std::int32_t for
  /// i32 and so on; std::uint16_t also for the bits of f16, std::uint8_t for bool. Throws Error(usage) for another type,
  /// for an unknown name and for a wrong number of values.
  template <typename T>
  void write(const std::string& tensor, const std::vector<T>& values) {
    require_type(tensor, types_of<T>());
    std::vector<std::uint8_t> bytes(values.size() * sizeof(T));
    if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    engine().write_tensor(tensor, bytes);
  }
  template <typename T>
  [[nodiscard]] std::vector<T> read(const std::string& tensor) {
    require_type(tensor, types_of<T>());
    const std::vector<std::uint8_t> bytes = engine().read_tensor(tensor);
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

  /// One step of a host stream for each StreamIn or StreamOut that the program executes.
  void connect(const std::string& stream, engine::Source source) { engine().connect(stream, std::move(source)); }
  void connect(const std::string& stream, engine::Sink sink) { engine().connect(stream, std::move(sink)); }

  /// May be called again; tensors keep what they hold. Throws Error as Engine::run.
  SessionRun run(const std::string& entry = "main");

  /// All runs so far, by the step of the program, in its order.
  [[nodiscard]] std::vector<StepCycles> profile() const;
  /// The same as a table.
  [[nodiscard]] std::string profile_text() const;
  /// The compiler's: memory, vertices, phases.
  [[nodiscard]] const nlohmann::ordered_json& report() const;

  [[nodiscard]] engine::Engine& engine();

 private:
  /// Types of tensors whose elements a T holds.
  template <typename T>
  static std::vector<graph::Type> types_of() {
    using graph::Type;
    if constexpr (std::is_same_v<T, float>) {
      return {Type::f32};
    } else {
      static_assert(std::is_integral_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= 4,
                    "float, or an integer of at most 32 bits; std::uint8_t for bool, std::uint16_t for f16");
      if constexpr (sizeof(T) == 4) return {std::is_signed_v<T> ? Type::i32 : Type::u32};
      if constexpr (std::is_same_v<T, std::uint16_t>) return {Type::u16, Type::f16};
      if constexpr (sizeof(T) == 2) return {Type::i16};
      if constexpr (std::is_same_v<T, std::uint8_t>) return {Type::u8, Type::boolean};
      return {Type::i8};
    }
  }
  void require_type(const std::string& tensor, const std::vector<graph::Type>& asked) const;

  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// Runs a program's body: an Error is printed on standard error and gives the exit code of its category.
int guarded(const std::function<int()>& body);

}  // namespace tessera
