// The signals of a Verilated model one by one, and a dump of those that a waveform selects.
//
// Verilator's own tracing compares every signal of a model in each dump, so a waveform of one scope would cost nearly
// as much as one of all. Here each signal has its place in the model, or a formula if it is none (a field of a struct,
// a part of a vector); the table is generated from Verilator's tracing code by wave_signals.py. Not here: the window of
// cycles and the life of the file (wave.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "verif/cosim/scope_pattern.h"

namespace tessera {

class WaveSignals {
 public:
  using Formula = void (*)(void* root, std::uint32_t* words);
  /// Of one model, whose root the formulas get; valid as long as the model.
  explicit WaveSignals(void* root) : root_(root) {}

  // ---- what the generated code calls; the names of the first ones are those of Verilator's tracing interface
  void pushNamePrefix(const std::string& text);
  void popNamePrefix(unsigned count = 1);
  void declDTypeEnum(int, const char*, std::uint32_t, unsigned, const char**, const char**) {}  // names of values: no
  void declBit(std::uint32_t code, const char* name, int, int, int type, bool array, int index) {
    declare(code, name, type, array ? index : -1, false, 0, 0);
  }
  void declBus(std::uint32_t code, const char* name, int, int, int type, bool array, int index, int msb, int lsb) {
    declare(code, name, type, array ? index : -1, true, msb, lsb);
  }
  void declQuad(std::uint32_t code, const char* name, int enumeration, int direction, int type, bool array, int index,
                int msb, int lsb) {
    declBus(code, name, enumeration, direction, type, array, index, msb, lsb);
  }
  void declArray(std::uint32_t code, const char* name, int enumeration, int direction, int type, bool array, int index,
                 int msb, int lsb) {
    declBus(code, name, enumeration, direction, type, array, index, msb, lsb);
  }
  void place(std::uint32_t code, const void* at, std::size_t bytes) { source(code) = {at, bytes, nullptr, false}; }
  void formula(std::uint32_t code, Formula f) { source(code) = {nullptr, 0, f, false}; }
  void constant(std::uint32_t code, Formula f) { source(code) = {nullptr, 0, f, true}; }

  struct Signal {
    std::vector<std::string> scopes;  ///< below the model
    std::string name;                 ///< with its bit range, as in "pc_q [31:0]"
    unsigned bits = 1;
    int type = 0;            ///< fstVarType
    std::uint32_t code = 0;  ///< signals of one code are one signal with several names
  };
  struct Source {
    const void* place = nullptr;
    std::size_t bytes = 0;
    Formula formula = nullptr;
    bool constant = false;
  };
  [[nodiscard]] const std::vector<Signal>& signals() const { return signals_; }
  [[nodiscard]] const Source& source_of(const Signal& signal) const { return sources_.at(signal.code); }
  [[nodiscard]] void* root() const { return root_; }

 private:
  void declare(std::uint32_t code, const char* name, int type, int index, bool bus, int msb, int lsb);
  Source& source(std::uint32_t code);

  void* root_;
  std::vector<std::string> prefixes_{""};  // levels, each with a space behind it
  std::vector<Signal> signals_;
  std::vector<Source> sources_;  // by code
};

/// Names as patterns see them: below `scope`, without bit ranges.
[[nodiscard]] std::vector<std::string> full_names(const std::string& scope, const WaveSignals& all);

/// An FST of the signals that the patterns select.
class SignalDump {
 public:
  /// `scope` is the place of the model in the merged waveform, to which patterns refer. Throws Error(usage) if the file
  /// cannot be written.
  SignalDump(const std::string& path, const std::string& scope, const WaveSignals& all,
             const std::vector<std::string>& patterns);
  ~SignalDump() { close(); }
  SignalDump(const SignalDump&) = delete;
  SignalDump& operator=(const SignalDump&) = delete;

  /// What has changed since the last call; the first one writes all. Times grow.
  void dump(std::uint64_t ps);
  void close();

 private:
  struct Narrow {  // up to 64 bits, in place
    const void* place;
    std::uint32_t handle, bits;
    std::uint64_t last;
  };
  struct Computed {  // any width, by formula or copied from its place
    WaveSignals::Source source;
    std::uint32_t handle, bits;
    std::vector<std::uint32_t> last;
  };
  void declare(const std::vector<const WaveSignals::Signal*>& chosen, const WaveSignals& all);
  void watch(const WaveSignals::Source& source, std::uint32_t handle, unsigned bits);
  template <typename T>
  void compare(std::vector<Narrow>& signals);
  void compare(std::vector<Computed>& signals);
  void begin_time();

  void* writer_ = nullptr;
  void* root_;
  std::vector<Narrow> bytes_, halves_, words_, doubles_;
  std::vector<Computed> computed_, constants_;
  std::vector<std::uint32_t> value_;  // of the widest signal
  std::uint64_t ps_ = 0, changes_ = 0;
  bool first_ = true, timed_ = false;
};

}  // namespace tessera
