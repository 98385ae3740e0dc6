// Parts of a waveform and their life; merging is in wave_merge.cpp.
#include "verif/cosim/wave.h"

#include <unistd.h>
#include <verilated_fst_c.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "gtkwave/fstapi.h"
#include "hw/error.h"
#include "verif/cosim/wave_merge.h"

namespace tessera {
namespace fs = std::filesystem;

bool WavePart::finish() {
  if (finished_.exchange(true)) return true;
  for (int patience = 0; busy_.load(std::memory_order_acquire); ++patience) {
    if (patience == 200) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  close_file();
  return true;
}

// ---- RTL ------------------------------------------------------------------------------------------------------------

RtlWave::RtlWave(std::string path, std::string scope, const WaveOptions& options)
    : WavePart(std::move(path), std::move(scope), options),
      scopes_(options.scopes),
      file_(std::make_unique<VerilatedFstC>()) {
  file_->set_time_unit("1ps");
  file_->set_time_resolution("1ps");
}

RtlWave::~RtlWave() { finish(); }

void RtlWave::open() {
  file_->open(path_.c_str());
  opened_ = true;
}

void RtlWave::open(const WaveSignals& signals) {
  selected_ = std::make_unique<SignalDump>(path_, scope_, signals, scopes_);
}

void RtlWave::dump(Cycle cycle, bool clock_high) {
  if (!wanted(cycle) || finished_) return;
  const Busy busy(*this);
  const auto ps = static_cast<std::uint64_t>(cycle * ps_ + (clock_high ? 0 : ps_ / 2));
  if (selected_) {
    selected_->dump(ps);
    return;
  }
  file_->dump(ps);
  if (clock_high && ++dumped_ % kSectionCycles == 0) file_->flush();
}

void RtlWave::close_file() {
  if (opened_) file_->close();
  if (selected_) selected_->close();
}

// ---- C++ models -----------------------------------------------------------------------------------------------------

SignalWave::SignalWave(std::string path, std::string scope, const WaveOptions& options)
    : WavePart(std::move(path), std::move(scope), options) {}

SignalWave::~SignalWave() { finish(); }

SignalWave::Signal SignalWave::declare(const std::string& name, unsigned bits) {
  signals_.push_back({name, bits});
  return signals_.size() - 1;
}

void SignalWave::set(Signal signal, Cycle cycle, std::uint64_t value) {
  pending_.push_back({cycle, order_++, signal, value});
  std::push_heap(pending_.begin(), pending_.end(), std::greater<>());
}

void SignalWave::settle(Cycle cycle) {
  if (finished_ || pending_.empty() || pending_.front().cycle >= cycle) return;
  const Busy busy(*this);
  while (!pending_.empty() && pending_.front().cycle < cycle) {
    std::pop_heap(pending_.begin(), pending_.end(), std::greater<>());
    write(pending_.back());
    pending_.pop_back();
  }
}

void SignalWave::create() {
  writer_ = fstWriterCreate(path_.c_str(), 1);
  if (writer_ == nullptr) throw Error(Category::usage, "a waveform part cannot be written", path_);
  fstWriterSetTimescale(writer_, -12);
  fstWriterSetPackType(writer_, FST_WR_PT_LZ4);
  std::string open;
  for (Declared& s : signals_) {
    const std::size_t dot = s.name.rfind('.');
    const std::string scope = dot == std::string::npos ? "" : s.name.substr(0, dot);
    std::string leaf = dot == std::string::npos ? s.name : s.name.substr(dot + 1);
    if (scope != open && !open.empty()) fstWriterSetUpscope(writer_);
    if (scope != open && !scope.empty()) fstWriterSetScope(writer_, FST_ST_VCD_MODULE, scope.c_str(), nullptr);
    open = scope;
    if (s.bits > 1) leaf += " [" + std::to_string(s.bits - 1) + ":0]";
    s.handle = fstWriterCreateVar(writer_, FST_VT_VCD_WIRE, FST_VD_IMPLICIT, s.bits, leaf.c_str(), 0);
  }
  if (!open.empty()) fstWriterSetUpscope(writer_);
}

void SignalWave::write(const Change& change) {
  Declared& signal = signals_[change.signal];
  if (change.cycle > to_ || (initial_ && signal.value == change.value)) return;
  signal.value = change.value;
  if (change.cycle < from_) return;
  if (writer_ == nullptr) create();
  if (!initial_) {
    // All values as they stand at the first cycle of the window.
    at_ = from_;
    fstWriterEmitTimeChange(writer_, at_ * ps_);
    for (const Declared& s : signals_) emit(s);
    initial_ = true;
  }
  if (change.cycle > at_) {
    at_ = change.cycle;
    fstWriterEmitTimeChange(writer_, at_ * ps_);
  }
  emit(signal);
}

void SignalWave::emit(const Declared& signal) {
  char text[64];
  for (unsigned b = 0; b < signal.bits; ++b) text[b] = (signal.value >> (signal.bits - 1 - b) & 1) != 0 ? '1' : '0';
  fstWriterEmitValueChange(writer_, signal.handle, text);
}

void SignalWave::close_file() {
  while (!pending_.empty()) {
    std::pop_heap(pending_.begin(), pending_.end(), std::greater<>());
    write(pending_.back());
    pending_.pop_back();
  }
  if (writer_ == nullptr) create();
  fstWriterClose(writer_);
  writer_ = nullptr;
}

// ---- the file -------------------------------------------------------------------------------------------------------

namespace {

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// Compares "ipu0.tile9.rtl" and "ipu0.tile10.rtl" as a reader would.
bool natural_less(const std::string& a, const std::string& b) {
  const auto key = [](const std::string& text) {
    std::string k;
    for (std::size_t i = 0; i < text.size();) {
      std::size_t j = i;
      while (j < text.size() && text[j] >= '0' && text[j] <= '9') ++j;
      if (j > i) {
        k += std::string(12 - std::min<std::size_t>(12, j - i), '0') + text.substr(i, j - i);
      } else {
        k += text[j++];
      }
      i = j;
    }
    return k;
  };
  return key(a) < key(b);
}

}  // namespace

namespace {

/// Whether a file of some size can be written: the FST writer maps its files into memory and would die of a full disk.
bool has_room(const std::string& probe) {
  std::ofstream out(probe, std::ios::binary);
  out << std::string(std::size_t{256} << 10, '\xff');
  out.close();
  const bool good = static_cast<bool>(out);
  std::error_code ignored;
  fs::remove(probe, ignored);
  return good;
}

}  // namespace

WaveFile::WaveFile(WaveOptions options) : options_(std::move(options)), patterns_(options_.scopes) {
  vcd_ = ends_with(options_.file, ".vcd");
  if (!vcd_ && !ends_with(options_.file, ".fst")) {
    throw Error(Category::usage, "the suffix of a waveform file says its format: .fst or .vcd", options_.file,
                "name it, for example, run.fst");
  }
  std::error_code error;
  const fs::path parts = options_.file + ".parts";
  fs::remove_all(parts, error);  // left over from a run that was killed
  if (fs::is_directory(options_.file, error) || !fs::create_directories(parts, error) || error) {
    throw Error(Category::usage, "the waveform cannot be written", options_.file,
                "choose a folder that exists and may be written");
  }
  if (!has_room(parts.string() + "/probe")) {
    fs::remove_all(parts, error);
    throw Error(Category::usage, "the waveform cannot be written: its disk is full", options_.file, "free some space");
  }
  registration_ = std::make_unique<Shutdown::Registration>([this] { close(); });
}

WaveFile::~WaveFile() {
  try {
    close();
  } catch (...) {
    // A destructor has nobody to tell; callers that care have called close().
  }
}

std::string WaveFile::scope(TileRef tile, const char* kind) {
  return "ipu" + std::to_string(tile.ipu) + ".tile" + std::to_string(tile.tile) + "." + kind;
}

std::string WaveFile::part_path(const std::string& scope) const { return options_.file + ".parts/" + scope + ".fst"; }

RtlWave& WaveFile::add_rtl(TileRef tile) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::string name = scope(tile, "rtl");
  auto part = std::make_unique<RtlWave>(part_path(name), name, options_);
  RtlWave& reference = *part;
  parts_.push_back(std::move(part));
  return reference;
}

SignalWave& WaveFile::add_tlm(TileRef tile) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::string name = scope(tile, "tlm");
  auto part = std::make_unique<SignalWave>(part_path(name), name, options_);
  SignalWave& reference = *part;
  parts_.push_back(std::move(part));
  return reference;
}

void WaveFile::set_window(Cycle from, Cycle to) {
  options_.from = from;
  options_.to = to;
  for (const auto& part : parts_) part->set_window(from, to);
}

void WaveFile::require_parts() const {
  if (!parts_.empty()) return;
  std::string patterns;
  for (const std::string& pattern : options_.scopes) patterns += (patterns.empty() ? "" : ", ") + pattern;
  throw Error(Category::usage, "no tile has a signal that the waveform's scopes select: " + patterns, options_.file,
              "scopes are ipu0.tile3.rtl... and ipu0.tile3.tlm..., with * in a level and ** across levels");
}

void WaveFile::remove_files(bool results_too) {
  std::error_code ignored;
  fs::remove_all(options_.file + ".parts", ignored);
  if (!results_too) return;
  for (const std::string& file : {options_.file, options_.file + ".hier", summary_.view}) fs::remove(file, ignored);
}

WaveSummary WaveFile::close() {
  if (closed_.exchange(true)) return summary_;
  summary_.file = options_.file;
  summary_.view = options_.file.substr(0, options_.file.size() - 4) + ".gtkw";
  std::vector<MergeInput> inputs;
  bool whole = true;
  for (const auto& part : parts_) {
    if (part->finish()) {
      inputs.push_back({part->path(), part->scope()});
      whole = whole && fst_is_whole(part->path());
    } else {
      summary_.lost.push_back(part->scope());
    }
  }
  std::sort(inputs.begin(), inputs.end(),
            [](const MergeInput& a, const MergeInput& b) { return natural_less(a.scope, b.scope); });
  const std::string fst = vcd_ ? options_.file + ".parts/merged" : options_.file;
  const std::uint64_t ps = options_.cycle_ps;
  const std::uint64_t to = options_.to > (~std::uint64_t{0} - ps) / ps ? ~std::uint64_t{0} : options_.to * ps + ps - 1;
  const std::uint64_t from = options_.from > ~std::uint64_t{0} / ps ? ~std::uint64_t{0} : options_.from * ps;
  MergeResult merged;
  try {
    merged = merge_parts(inputs, patterns_, fst, from, to, options_.window_events, summary_.lost);
    whole = merged.signals == 0 || (whole && fst_is_whole(fst));
    if (merged.signals != 0 && whole) {
      if (vcd_) fst_to_vcd(fst, options_.file);
      write_view(summary_.view, options_.file, merged.view);
    }
  } catch (...) {
    remove_files(true);
    throw;
  }
  remove_files(!whole);
  if (!whole)
    throw Error(Category::usage, "the waveform could not be written whole", options_.file,
                "free space on its disk, or trace less: --wave-scope, --wave-from, --wave-to");
  summary_.signals = merged.signals;
  summary_.changes = merged.changes;
  summary_.first = merged.first_ps / ps;
  summary_.last = merged.last_ps / ps;
  summary_.unmatched = patterns_.unused();
  return summary_;
}

}  // namespace tessera
