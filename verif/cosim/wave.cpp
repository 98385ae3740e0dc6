// Parts of a waveform and their life; merging is in wave_merge.cpp.
#include "verif/cosim/wave.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <verilated_fst_c.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <thread>

#include "gtkwave/fstapi.h"
#include "hw/error.h"
#include "hw/whole_file.h"
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

void WavePart::finish_quietly() noexcept {
  try {
    finish();
  } catch (...) {
    // Nobody to tell: WaveFile::close() would have said it.
  }
}

// ---- RTL ------------------------------------------------------------------------------------------------------------

RtlWave::RtlWave(std::string path, std::string scope, const WaveOptions& options)
    : WavePart(std::move(path), std::move(scope), options),
      scopes_(options.scopes),
      file_(std::make_unique<VerilatedFstC>()) {
  file_->set_time_unit("1ps");
  file_->set_time_resolution("1ps");
}

RtlWave::~RtlWave() { finish_quietly(); }

void RtlWave::open() {
  file_->open(path_.c_str());
  opened_ = true;
}

bool RtlWave::names(std::vector<std::string>& all) const {
  all.insert(all.end(), names_.begin(), names_.end());
  return !names_.empty();
}

void RtlWave::open(const WaveSignals& signals) {
  names_ = full_names(scope_, signals);
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

SignalWave::~SignalWave() { finish_quietly(); }

SignalWave::Signal SignalWave::declare(const std::string& name, unsigned bits) {
  signals_.push_back({name, bits});
  return signals_.size() - 1;
}

bool SignalWave::names(std::vector<std::string>& all) const {
  for (const Declared& s : signals_) all.push_back(scope_ + "." + s.name);
  return true;
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

namespace {

/// A directory of its own beside the file, held by a lock as long as this process lives. Those that nobody holds are of
/// runs that were killed, and go. Empty if it cannot be made.
std::string make_parts_directory(const std::string& file) {
  std::error_code error;
  const fs::path place(file);
  const std::string stem = place.filename().string() + ".";
  for (fs::directory_iterator at(place.has_parent_path() ? place.parent_path() : fs::path("."), error);
       !error && at != fs::directory_iterator(); at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.rfind(stem, 0) != 0 || !ends_with(name, ".parts")) continue;
    const int held = open(at->path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    std::error_code ignored;
    if (held >= 0 && flock(held, LOCK_EX | LOCK_NB) == 0) fs::remove_all(at->path(), ignored);
    if (held >= 0) ::close(held);
  }
  for (unsigned n = 0; n < 1000; ++n) {
    std::string parts = file + "." + std::to_string(getpid()) + (n == 0 ? "" : "-" + std::to_string(n)) + ".parts";
    if (mkdir(parts.c_str(), 0777) != 0) {
      if (errno == EEXIST) continue;
      return {};
    }
    // Never closed: the lock ends with the process.
    const int held = open(parts.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (held >= 0) (void)!flock(held, LOCK_EX | LOCK_NB);
    return parts;
  }
  return {};
}

}  // namespace

void WaveFile::check_place(const std::string& file) {
  if (!ends_with(file, ".vcd") && !ends_with(file, ".fst")) {
    throw Error(Category::usage, "the suffix of a waveform file says its format: .fst or .vcd", file,
                "name it, for example, run.fst");
  }
  if (written_in_place(file) || !may_write_file(file)) {
    throw Error(Category::usage, "the waveform cannot be written", file,
                "choose a folder that exists and may be written");
  }
}

WaveFile::WaveFile(WaveOptions options) : options_(std::move(options)), patterns_(options_.scopes) {
  check_place(options_.file);
  vcd_ = ends_with(options_.file, ".vcd");
  parts_directory_ = make_parts_directory(through_links(options_.file));
  if (parts_directory_.empty())
    throw Error(Category::usage, "the waveform cannot be written", options_.file,
                "choose a folder that exists and may be written");
  const auto discard = [parts = parts_directory_] {
    std::error_code ignored;
    fs::remove_all(parts, ignored);
  };
  if (!has_room(parts_directory_ + "/probe")) {
    discard();
    throw Error(Category::usage, "the waveform cannot be written: its disk is full", options_.file, "free some space");
  }
  registration_ = std::make_unique<Shutdown::Registration>([this] { close(); }, discard);
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

std::string WaveFile::part_path(const std::string& scope) const { return parts_directory_ + "/" + scope + ".fst"; }

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

namespace {

[[noreturn]] void refuse_scopes(const std::string& file, const std::vector<std::string>& unused,
                                const std::vector<std::string>& names) {
  std::string text, near;
  for (const std::string& pattern : unused) {
    text += (text.empty() ? "" : ", ") + pattern;
    for (const std::string& name : ScopePatterns::nearest(pattern, names)) near += (near.empty() ? "" : ", ") + name;
  }
  throw Error(Category::usage, "no tile has a signal that the waveform's scopes select: " + text, file,
              (near.empty() ? "" : "near to it: " + near + "; ") +
                  std::string("scopes are ipu0.tile3.rtl... and ipu0.tile3.tlm..., with * in a level and ** across "
                              "levels"));
}

/// Patterns that can select nothing below any of the scopes.
std::vector<std::string> hopeless(const std::vector<std::string>& patterns, const std::vector<std::string>& scopes) {
  std::vector<std::string> all;
  for (const std::string& pattern : patterns) {
    const ScopePatterns one({pattern});
    if (std::none_of(scopes.begin(), scopes.end(), [&](const std::string& s) { return one.may_select_below(s); }))
      all.push_back(pattern);
  }
  return all;
}

}  // namespace

namespace {

/// Each part is written through several open files: takes what the system lets this process have, and refuses more.
void require_open_files(const std::string& file, std::size_t parts) {
  constexpr rlim_t kOfPart = 6, kOthers = 32;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t need = kOfPart * parts + kOthers;
  if (limit.rlim_cur >= need) return;
  const rlim_t most = limit.rlim_max;
  limit.rlim_cur = std::min(std::max(limit.rlim_cur, need), most);
  if (setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= need) return;
  throw Error(Category::usage,
              "the waveform of " + std::to_string(parts) + " tiles takes " + std::to_string(need) +
                  " open files, this process may have " + std::to_string(most),
              file, "trace fewer tiles with --wave-scope, or raise the limit: ulimit -n");
}

}  // namespace

void WaveFile::require_tiles(const std::string& file, const std::vector<std::string>& patterns,
                             const std::vector<std::string>& tiles) {
  const std::vector<std::string> unused = hopeless(patterns, tiles);
  if (!unused.empty()) refuse_scopes(file, unused, tiles);
}

void WaveFile::require_parts() {
  const std::lock_guard<std::mutex> lock(mutex_);
  require_open_files(options_.file, parts_.size());
  if (options_.scopes.empty()) return;
  ScopePatterns patterns(options_.scopes);
  std::vector<std::string> names, scopes;
  bool all_known = true;
  for (const auto& part : parts_) {
    scopes.push_back(part->scope());
    all_known = part->names(names) && all_known;
  }
  for (const std::string& name : names) (void)patterns.selects(name);
  // What a part does not know shows at its end; what selects no part selects nothing for certain.
  const std::vector<std::string> unused = all_known ? patterns.unused() : hopeless(options_.scopes, scopes);
  if (unused.empty()) return;
  names.insert(names.end(), tiles_.begin(), tiles_.end());
  refuse_scopes(options_.file, unused, names);
}

bool WaveFile::wants(TileRef tile, const char* kind) {
  std::string name = scope(tile, kind);
  const bool wanted = patterns_.may_select_below(name);
  const std::lock_guard<std::mutex> lock(mutex_);
  tiles_.push_back(std::move(name));
  return wanted;
}

void WaveFile::put_in_place(const std::string& wave, const std::string& view) const {
  const std::string place = through_links(options_.file);
  const DirectoryLock lock(fs::path(place).parent_path().string());
  std::error_code failed;
  fs::rename(view, through_links(summary_.view), failed);
  if (!failed) fs::rename(wave, place, failed);
  if (!failed) return;
  throw Error(Category::usage, "the waveform cannot be written: " + failed.message(), options_.file,
              "choose a folder that exists and may be written");
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
  const std::string fst = parts_directory_ + "/merged", vcd = parts_directory_ + "/text";
  const std::string view = parts_directory_ + "/view";
  const std::uint64_t ps = options_.cycle_ps;
  const std::uint64_t to = options_.to > (~std::uint64_t{0} - ps) / ps ? ~std::uint64_t{0} : options_.to * ps + ps - 1;
  const std::uint64_t from = options_.from > ~std::uint64_t{0} / ps ? ~std::uint64_t{0} : options_.from * ps;
  MergeResult merged;
  std::error_code ignored;
  try {
    merged = merge_parts(inputs, patterns_, fst, from, to, options_.window_events, summary_.lost);
    whole = merged.signals == 0 || (whole && fst_is_whole(fst));
    if (merged.signals != 0 && whole) {
      if (vcd_) fst_to_vcd(fst, vcd);
      write_view(view, options_.file, merged.view);
      put_in_place(vcd_ ? vcd : fst, view);
    }
  } catch (const Error& error) {  // of a part, whose name is nobody's business
    fs::remove_all(parts_directory_, ignored);
    throw Error(error.category(), error.message(), options_.file, error.advice());
  } catch (...) {
    fs::remove_all(parts_directory_, ignored);
    throw;
  }
  fs::remove_all(parts_directory_, ignored);
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
