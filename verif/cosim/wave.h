// One waveform of a whole run: RTL tiles (every signal of the Verilated model) and TLM tiles (state, pc and instruction
// of each context, sync line, exchange ports) in one file with one time base, FST or VCD by suffix.
//
// Tiles run one after the other or on several threads, each far ahead of the next, while a dump must be in time order.
// So each tile writes an FST part of its own into FILE.<pid>.parts/, and close() merges the parts window by window, keeps
// the signals that the scope patterns select, and moves FILE and a GTKWave view beside it into their places, together and
// whole: two runs of one name do not mix, the last to end stays. A cycle is cycle_ps long; issue
// cycle c begins at c * cycle_ps; the dump's unit is 1 ps.
// Not here: what a signal means, and when a run ends (verif/cosim/shutdown.h calls close() on an abnormal end).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "hw/types.h"
#include "verif/cosim/scope_pattern.h"
#include "verif/cosim/shutdown.h"
#include "verif/cosim/wave_signals.h"

class VerilatedFstC;

namespace tessera {

struct WaveOptions {
  std::string file;                       ///< ends with .fst or .vcd
  std::vector<std::string> scopes;        ///< patterns of scope_pattern.h; empty is everything
  Cycle from = 0;                         ///< first cycle dumped
  Cycle to = kNever;                      ///< last cycle dumped
  unsigned cycle_ps = 625;                ///< 1.6 GHz
  std::size_t window_events = 4'000'000;  ///< changes held in memory while parts are merged
};

/// What close() wrote.
struct WaveSummary {
  std::string file, view;
  std::size_t signals = 0;
  std::uint64_t changes = 0;
  Cycle first = 0, last = 0;           ///< cycles of the first and last change
  std::vector<std::string> unmatched;  ///< scope patterns that selected nothing
  std::vector<std::string> lost;       ///< parts that could not be closed (a crash inside their writer)
};

/// A tile's own file. Used by one thread at a time.
class WavePart {
 public:
  virtual ~WavePart() = default;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& scope() const { return scope_; }
  /// Moves the window's ends; not while a tile of the part runs.
  void set_window(Cycle from, Cycle to) { from_ = from, to_ = to; }
  [[nodiscard]] bool wanted(Cycle cycle) const { return cycle >= from_ && cycle <= to_; }

  /// Appends the full names of the part's signals; false if it does not know them yet.
  virtual bool names(std::vector<std::string>& all) const = 0;

  /// Ends the part; nothing is written afterwards. False if its writer is in use and does not come free (only after a
  /// crash inside it).
  bool finish();

 protected:
  void finish_quietly() noexcept;
  WavePart(std::string path, std::string scope, const WaveOptions& options)
      : path_(std::move(path)), scope_(std::move(scope)), from_(options.from), to_(options.to), ps_(options.cycle_ps) {}
  virtual void close_file() = 0;

  /// Held while the writer is at work, so that an emergency close keeps its hands off. Not a lock: nobody waits for it
  /// but finish(), for a moment.
  class Busy {
   public:
    explicit Busy(WavePart& part) : part_(part) { part_.busy_.store(true, std::memory_order_release); }
    ~Busy() { part_.busy_.store(false, std::memory_order_release); }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;

   private:
    WavePart& part_;
  };

  std::string path_, scope_;
  Cycle from_, to_;
  unsigned ps_;
  std::atomic<bool> busy_{false}, finished_{false};
};

/// Signals of a Verilated model. If everything is selected, the model's owner calls its trace() with file(), then
/// open(); otherwise, if it knows its signals one by one, open() with those. Then dump() after each eval of a wanted
/// cycle.
class RtlWave final : public WavePart {
 public:
  RtlWave(std::string path, std::string scope, const WaveOptions& options);
  ~RtlWave() override;
  [[nodiscard]] VerilatedFstC& file() { return *file_; }
  void open();
  [[nodiscard]] bool selective() const { return !scopes_.empty(); }
  void open(const WaveSignals& signals);
  bool names(std::vector<std::string>& all) const override;
  /// Values in the first (clock high) or second half of a cycle. Cycles never go back.
  void dump(Cycle cycle, bool clock_high);

 private:
  /// Cycles in a section of the file. The writer chases pointers through a section when it is full, and readers decode
  /// it whole: one that fits the host's cache is several times faster than the writer's own 128 MiB.
  static constexpr std::uint64_t kSectionCycles = 256;
  void close_file() override;
  std::vector<std::string> scopes_, names_;
  std::unique_ptr<VerilatedFstC> file_;
  std::unique_ptr<SignalDump> selected_;
  std::uint64_t dumped_ = 0;
  bool opened_ = false;
};

/// Signals that a model written in C++ reports: declared first, then set at cycles. Changes may come a little out of
/// order; settle() says up to where they are complete.
class SignalWave final : public WavePart {
 public:
  SignalWave(std::string path, std::string scope, const WaveOptions& options);
  ~SignalWave() override;

  using Signal = std::size_t;
  /// Before the first set(). Names with dots make scopes. 1 <= bits <= 64. All start at 0.
  Signal declare(const std::string& name, unsigned bits);
  bool names(std::vector<std::string>& all) const override;
  void set(Signal signal, Cycle cycle, std::uint64_t value);
  /// No further set() will be for a cycle before `cycle`.
  void settle(Cycle cycle);
  /// Changes set but not settled.
  [[nodiscard]] std::size_t pending() const { return pending_.size(); }

 private:
  struct Declared {
    std::string name;
    unsigned bits;
    std::uint32_t handle = 0;
    std::uint64_t value = 0;
  };
  struct Change {
    Cycle cycle;
    std::uint64_t order;
    Signal signal;
    std::uint64_t value;
    friend bool operator>(const Change& a, const Change& b) {
      return a.cycle != b.cycle ? a.cycle > b.cycle : a.order > b.order;
    }
  };
  void close_file() override;
  void create();
  void write(const Change& change);
  void emit(const Declared& signal);

  std::vector<Declared> signals_;
  std::vector<Change> pending_;  // a heap, earliest on top
  std::uint64_t order_ = 0;
  void* writer_ = nullptr;
  bool initial_ = false;
  Cycle at_ = 0;
};

class WaveFile {
 public:
  /// Throws Error(usage) if the suffix is neither .fst nor .vcd or the place cannot be written.
  explicit WaveFile(WaveOptions options);
  /// Closes; what goes wrong then is lost, so call close() where it matters.
  ~WaveFile();
  WaveFile(const WaveFile&) = delete;
  WaveFile& operator=(const WaveFile&) = delete;

  /// "ipu<i>.tile<t>.<kind>".
  [[nodiscard]] static std::string scope(TileRef tile, const char* kind);
  /// Whether anything of the tile is selected: kinds rtl and tlm.
  [[nodiscard]] bool wants_rtl(TileRef tile) { return wants(tile, "rtl"); }
  [[nodiscard]] bool wants_tlm(TileRef tile) { return wants(tile, "tlm"); }
  /// Parts live as long as the file. From any thread.
  RtlWave& add_rtl(TileRef tile);
  SignalWave& add_tlm(TileRef tile);

  /// Throws Error(usage) if a scope pattern selects nothing of any tile: before a run, when its tiles are made. Signals
  /// of an RTL tile that are not listed one by one are known only at the end.
  void require_parts();

  /// The same by the names of tiles alone ("ipu0.tile3.rtl"), before any is made.
  static void require_tiles(const std::string& file, const std::vector<std::string>& patterns,
                            const std::vector<std::string>& tiles);

  /// Throws Error(usage) if the suffix is neither .fst nor .vcd or the place cannot be written; tried, nothing stays.
  static void check_place(const std::string& file);

  /// Merges the parts and writes file and view, unless no signal is selected. Once; later calls return the same.
  /// Throws Error(usage), and leaves no file, if not all could be written (a full disk).
  WaveSummary close();
  [[nodiscard]] const WaveOptions& options() const { return options_; }

  /// Moves the ends of the window when an event says where they are; `from` only forward to cycles not run yet, not
  /// while tiles run.
  void set_window(Cycle from, Cycle to);

 private:
  bool wants(TileRef tile, const char* kind);
  void put_in_place(const std::string& wave, const std::string& view) const;
  [[nodiscard]] std::string part_path(const std::string& scope) const;

  WaveOptions options_;
  ScopePatterns patterns_;
  std::string parts_directory_;
  bool vcd_ = false;
  std::mutex mutex_;
  std::vector<std::unique_ptr<WavePart>> parts_;
  std::vector<std::string> tiles_;  // whose parts were asked for
  std::atomic<bool> closed_{false};
  WaveSummary summary_;
  std::unique_ptr<Shutdown::Registration> registration_;
};

}  // namespace tessera
