#include "verif/cosim/wave_signals.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <sstream>

#include "gtkwave/fstapi.h"
#include "hw/error.h"

namespace tessera {
namespace {

/// Changes in a section of the file: the writer finds a section of this size in the host's cache.
constexpr std::uint64_t kSectionChanges = 50'000;

/// The level that Verilator's own dumps begin with, which the merge takes away: parts look alike.
constexpr const char* kModel = "tile";

std::string full_name(const std::string& scope, const WaveSignals::Signal& signal) {
  std::string name = scope;
  for (const std::string& level : signal.scopes) name += "." + level;
  return name + "." + signal.name.substr(0, signal.name.find(' '));
}

}  // namespace

void WaveSignals::pushNamePrefix(const std::string& text) { prefixes_.push_back(prefixes_.back() + text); }

void WaveSignals::popNamePrefix(unsigned count) { prefixes_.resize(prefixes_.size() - count); }

void WaveSignals::declare(std::uint32_t code, const char* name, int type, int index, bool bus, int msb, int lsb) {
  std::vector<std::string> scopes;
  std::istringstream levels(prefixes_.back());
  for (std::string level; levels >> level;) {
    // Verilator marks structs by a character that is no text.
    if ((static_cast<unsigned char>(level.back()) & 0x80) != 0) level.pop_back();
    scopes.push_back(level);
  }
  // The ports of the top module stand outside of it once more.
  if (scopes.empty()) return;
  std::string text = name;
  if (index >= 0) text += "[" + std::to_string(index) + "]";
  if (bus) text += " [" + std::to_string(msb) + ":" + std::to_string(lsb) + "]";
  const unsigned bits = bus ? static_cast<unsigned>(std::abs(msb - lsb)) + 1 : 1;
  signals_.push_back({std::move(scopes), text, bits, type, code});
}

WaveSignals::Source& WaveSignals::source(std::uint32_t code) {
  if (sources_.size() <= code) sources_.resize(code + 1);
  return sources_[code];
}

std::vector<std::string> full_names(const std::string& scope, const WaveSignals& all) {
  std::vector<std::string> names;
  for (const WaveSignals::Signal& signal : all.signals()) names.push_back(full_name(scope, signal));
  return names;
}

SignalDump::SignalDump(const std::string& path, const std::string& scope, const WaveSignals& all,
                       const std::vector<std::string>& patterns)
    : root_(all.root()) {
  ScopePatterns selection(patterns);
  std::vector<const WaveSignals::Signal*> chosen;
  for (const WaveSignals::Signal& signal : all.signals()) {
    if (selection.selects(full_name(scope, signal))) chosen.push_back(&signal);
  }
  // A file without signals is no FST. The merge leaves out what nobody wants.
  if (chosen.empty()) chosen.push_back(&all.signals().front());
  writer_ = fstWriterCreate(path.c_str(), 1);
  if (writer_ == nullptr) throw Error(Category::usage, "a waveform part cannot be written", path);
  fstWriterSetTimescale(writer_, -12);
  fstWriterSetPackType(writer_, FST_WR_PT_LZ4);
  declare(chosen, all);
}

void SignalDump::declare(const std::vector<const WaveSignals::Signal*>& chosen, const WaveSignals& all) {
  std::vector<std::string> open;
  std::map<std::uint32_t, std::uint32_t> handles;
  fstWriterSetScope(writer_, FST_ST_VCD_MODULE, kModel, nullptr);
  for (const WaveSignals::Signal* signal : chosen) {
    std::size_t common = 0;
    while (common < open.size() && common < signal->scopes.size() && open[common] == signal->scopes[common]) ++common;
    for (; open.size() > common; open.pop_back()) fstWriterSetUpscope(writer_);
    while (open.size() < signal->scopes.size()) {
      open.push_back(signal->scopes[open.size()]);
      fstWriterSetScope(writer_, FST_ST_VCD_MODULE, open.back().c_str(), nullptr);
    }
    std::uint32_t& handle = handles[signal->code];
    const std::uint32_t made = fstWriterCreateVar(writer_, static_cast<fstVarType>(signal->type), FST_VD_IMPLICIT,
                                                  signal->bits, signal->name.c_str(), handle);
    if (handle != 0) continue;
    handle = made;
    watch(all.source_of(*signal), handle, signal->bits);
  }
  for (; !open.empty(); open.pop_back()) fstWriterSetUpscope(writer_);
  fstWriterSetUpscope(writer_);
}

void SignalDump::watch(const WaveSignals::Source& source, std::uint32_t handle, unsigned bits) {
  const Narrow narrow{source.place, handle, bits, 0};
  if (source.place != nullptr && source.bytes == 1) {
    bytes_.push_back(narrow);
  } else if (source.place != nullptr && source.bytes == 2) {
    halves_.push_back(narrow);
  } else if (source.place != nullptr && source.bytes == 4) {
    words_.push_back(narrow);
  } else if (source.place != nullptr && source.bytes == 8 && bits > 32) {
    doubles_.push_back(narrow);
  } else {
    // A formula writes two words at least.
    const std::size_t words = std::max<std::size_t>({2, (bits + 31) / 32, source.bytes / 4});
    (source.constant ? constants_ : computed_).push_back({source, handle, bits, std::vector<std::uint32_t>(words)});
    value_.resize(std::max(value_.size(), words));
  }
}

void SignalDump::begin_time() {
  ++changes_;
  if (timed_) return;
  timed_ = true;
  fstWriterEmitTimeChange(writer_, ps_);
}

template <typename T>
void SignalDump::compare(std::vector<Narrow>& signals) {
  for (Narrow& signal : signals) {
    T value;
    std::memcpy(&value, signal.place, sizeof value);
    if (value == static_cast<T>(signal.last) && !first_) continue;
    signal.last = value;
    begin_time();
    fstWriterEmitValueChange64(writer_, signal.handle, signal.bits, value);
  }
}

void SignalDump::compare(std::vector<Computed>& signals) {
  for (Computed& signal : signals) {
    const std::size_t bytes = 4 * signal.last.size();
    if (signal.source.place != nullptr) {
      std::memcpy(value_.data(), signal.source.place, signal.source.bytes);
    } else {
      signal.source.formula(root_, value_.data());
    }
    if (std::memcmp(value_.data(), signal.last.data(), bytes) == 0 && !first_) continue;
    std::memcpy(signal.last.data(), value_.data(), bytes);
    begin_time();
    fstWriterEmitValueChangeVec32(writer_, signal.handle, signal.bits, signal.last.data());
  }
}

void SignalDump::dump(std::uint64_t ps) {
  ps_ = ps;
  timed_ = false;
  compare<std::uint8_t>(bytes_);
  compare<std::uint16_t>(halves_);
  compare<std::uint32_t>(words_);
  compare<std::uint64_t>(doubles_);
  compare(computed_);
  if (first_) compare(constants_);
  first_ = false;
  if (changes_ < kSectionChanges) return;
  changes_ = 0;
  fstWriterFlushContext(writer_);
}

void SignalDump::close() {
  if (writer_ != nullptr) fstWriterClose(writer_);
  writer_ = nullptr;
}

}  // namespace tessera
