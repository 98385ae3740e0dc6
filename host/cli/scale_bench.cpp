#include "host/cli/scale_bench.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cstring>
#include <functional>

#include "host/driver/driver.h"
#include "hw/error.h"
#include "tlm/system/system.h"
#include "tlm/system/transport.h"
#include "tlm/tile/assembler.h"
#include "verif/bench/apart.h"
#include "verif/bench/tile_machine.h"
#include "verif/cosim/shutdown.h"

namespace tessera::cli {

namespace {

using bench::Figure;
using bench::Superstep;
using bench::TileMachine;

constexpr std::uint32_t kLoaded = 7;  // step code by which the program says that it runs

/// What a boot moves: an image that all tiles share, and words of each tile's own.
struct BootLoad {
  unsigned shared_words = 4096, own_words = 8192;
};

/// All supervisors tell the host that they are there, and spin.
std::vector<std::uint32_t> boot_program(unsigned words) {
  namespace as = tessera::testing;
  std::vector<std::uint32_t> code;
  as::load_constant(code, 5, kLoaded << 8 | 1);
  code.push_back(as::sync(6, 5, static_cast<unsigned>(Zone::host)));
  code.push_back(as::i(as::Op::jal, 0, 0, 0));
  code.resize(words, as::nop());
  return code;
}

/// Makes the machine, finds its IPUs, loads all of them, starts them and waits for their host sync.
void boot_here(const Context& context, const Platform& platform, const BootLoad& load) {
  SystemConfig config;
  config.platform = platform;
  config.threads = context.threads;
  const auto code = std::make_shared<CodeCache>();
  config.factory = [code](const TileConfig& tile, TileMode) { return std::make_unique<TlmTile>(tile, code); };
  System system("tessera", config);
  InProcessTransport transport(system);
  driver::Driver driver(transport);
  std::vector<unsigned> all;
  std::vector<driver::Driver::Boot> boots;
  for (unsigned ipu = 0; ipu < driver.ipus(); ++ipu) {
    driver.reset(ipu);
    driver.set_groups(ipu, true, false);
    all.push_back(ipu);
    boots.push_back({ipu, kSramBase});
  }
  driver::LoadRecord image;
  image.address = kSramBase;
  image.words = boot_program(load.shared_words);
  driver.load(all, {image});
  for (unsigned ipu : all) {
    std::vector<driver::LoadRecord> records(platform.tiles);
    for (unsigned t = 0; t < platform.tiles; ++t) {
      records[t].tile = t;
      records[t].address = kSramBase + 4 * load.shared_words;
      records[t].words.assign(load.own_words, ipu << 16 | t);
    }
    driver.load(ipu, records);
  }
  driver.start(boots);
  const driver::Event event = driver.wait();
  if (event.kind != driver::Event::Kind::host_sync || event.code != kLoaded)
    throw std::runtime_error("the machine of the benchmark did not boot");
  std::uint32_t last = 0;
  const unsigned tile = platform.tiles - 1;
  driver.read_tile(all.back(), tile, kSramBase + 4 * (load.shared_words + load.own_words - 1), &last, 1);
  if (last != (all.back() << 16 | tile)) throw std::runtime_error("the last tile does not hold what was loaded");
}

struct BootFigures {
  double cpu = 0, wall = 0, peak = 0;  ///< seconds, seconds, bytes
};

BootFigures boot_apart(const Context& context, const Platform& platform, const BootLoad& load) {
  const std::string text = bench::run_apart([&] {
    const bench::Seconds seconds = bench::timed([&] { boot_here(context, platform, load); });
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return nlohmann::json{{"cpu", seconds.cpu}, {"wall", seconds.wall}, {"peak_kib", usage.ru_maxrss}}.dump();
  });
  Shutdown::check();  // a signal ends parent and child
  const nlohmann::json result = nlohmann::json::parse(text, nullptr, false);
  if (!result.is_object() || result.contains("error"))
    throw Error(
        Category::internal,
        "the machine of " + platform.name + " did not boot: " + (result.is_object() ? result.value("error", "") : text),
        "bench", "run tessera bench scale --quick");
  return {result.at("cpu"), result.at("wall"), 1024.0 * result.at("peak_kib").get<double>()};
}

/// Boots a platform in each round: seconds and memory.
void boot_figures(const Context& context, const bench::Effort& effort, const std::string& name, unsigned rounds,
                  const std::string& seconds_target, const std::string& memory_target, bench::Report& report) {
  Platform platform = load_platform(name);
  if (effort.quick) platform.tiles = platform.tiles_per_column;
  const BootLoad load;
  Figure seconds{name + " boot and load", "s", seconds_target, "machine made, all tiles loaded and started", {}, {}};
  Figure peak{name + " peak memory", "MiB", memory_target, "of the process, at its most", {}, {}};
  for (unsigned round = 0; round < rounds; ++round) {
    const BootFigures figures = boot_apart(context, platform, load);
    seconds.add_time({figures.cpu, figures.wall});
    peak.cpu.push_back(figures.peak / 1048576);
  }
  report.figures.push_back(seconds);
  report.figures.push_back(peak);
  report.notes.push_back(fmt::format("{}: {} IPUs of {} tiles, {} KiB to all of them and {} KiB to each", name,
                                     platform.ipus(), platform.tiles, load.shared_words / 256, load.own_words / 256));
}

/// Copies what the phase of `machine` copies, `count` times, from and to the same memory.
void copy_plainly(TileMachine& machine, unsigned count, std::size_t bytes) {
  Ipu& ipu = machine.ipu();
  std::vector<std::uint8_t*> memory;
  for (unsigned t = 0; t < ipu.tiles(); ++t) memory.push_back(ipu.tile(t).sram());
  for (unsigned i = 0; i < count; ++i)
    for (unsigned t = 0; t < ipu.tiles(); ++t)
      std::memcpy(memory[t] + (bench::kMachineIn - kSramBase),
                  memory[(t + ipu.tiles() - 1) % ipu.tiles()] + (bench::kMachineOut - kSramBase), bytes);
}

/// Microseconds a superstep.
Figure microseconds(const std::string& name, const std::string& target, const std::string& meaning) {
  return {name, "us", target, meaning, {}, {}};
}

void add(Figure& figure, unsigned count, const bench::Seconds& seconds) {
  figure.cpu.push_back(1e6 * seconds.cpu / count);
  figure.wall.push_back(1e6 * seconds.wall / count);
}

/// (with - without) / of: what is more in a superstep, in units of another figure.
Figure more(const std::string& name, const Figure& with, const Figure& without, const Figure& of,
            const std::string& target, const std::string& meaning) {
  Figure figure{name, "ratio", target, meaning, {}, {}};
  for (std::size_t i = 0; i < with.cpu.size(); ++i) figure.cpu.push_back((with.cpu[i] - without.cpu[i]) / of.cpu[i]);
  return figure;
}

void superstep_figures(const Platform& platform, const bench::Effort& effort, bench::Report& report) {
  constexpr unsigned kBytes = 1024;
  const Superstep one{1, kBytes / 4, 0}, many{32, kBytes / 128, 0};
  TileMachine silent(platform, {}, 1), whole(platform, one, 1), pieces(platform, many, 1);
  // The first execution of a phase is matched; from the second on it is known.
  whole.supersteps(1);
  pieces.supersteps(1);
  const unsigned steps = effort.quick ? 3 : 300;
  Figure empty = microseconds("superstep without work", "at most 100", "all tiles sync, nothing else; one host thread");
  Figure copy =
      microseconds("memcpy of 1 KiB a tile", "", "the words of the phases below, from and to the same memory");
  Figure first = microseconds("superstep, 1 piece", "", "each tile sends 1 KiB to the next");
  Figure second = microseconds("superstep, 32 pieces", "", "each tile sends 8 words to each of the next 32");
  for (unsigned round = 0; round < effort.rounds; ++round) {
    add(empty, steps, bench::timed([&] { silent.supersteps(steps); }));
    add(copy, steps, bench::timed([&] { copy_plainly(whole, steps, kBytes); }));
    add(first, steps, bench::timed([&] { whole.supersteps(steps); }));
    add(second, steps, bench::timed([&] { pieces.supersteps(steps); }));
  }
  whole.check();
  pieces.check();
  for (const TileMachine* machine : {&whole, &pieces})
    if (machine->counters().replayed + 1 != machine->counters().phases)
      throw std::runtime_error("a phase of the scale benchmark was matched more than once");
  for (const Figure& figure : {empty, copy, first, second}) report.figures.push_back(figure);
  report.figures.push_back(more("phase of 1 piece / memcpy", first, empty, copy, "at most 10",
                                "what the phase adds to a superstep, tiles and fabric"));
  report.figures.push_back(more("phase of 32 pieces / memcpy", second, empty, copy, "at most 40", "the same"));
}

void thread_figures(const Platform& platform, const bench::Effort& effort, bench::Report& report) {
  const Superstep compute{0, 0, effort.quick ? 20U : 400U};
  TileMachine one(platform, compute, 1), two(platform, compute, 2);
  const unsigned steps = effort.quick ? 1 : 5;
  Figure alone = microseconds("compute, 1 thread", "", "six workers a tile, some 19,000 instructions a tile");
  Figure both = microseconds("compute, 2 threads", "", "the same");
  Figure ratio{"speed of 2 threads / 1", "ratio", "at least 1.7", "by wall time", {}, {}};
  for (unsigned round = 0; round < effort.rounds; ++round) {
    const bench::Seconds a = bench::timed([&] { one.supersteps(steps); });
    const bench::Seconds b = bench::timed([&] { two.supersteps(steps); });
    add(alone, steps, a);
    add(both, steps, b);
    ratio.cpu.push_back(a.wall / b.wall);
  }
  if (one.retired() != two.retired() || one.ipu().arrival()->latest != two.ipu().arrival()->latest)
    throw std::runtime_error("two threads did other work than one");
  for (const Figure& figure : {alone, both, ratio}) report.figures.push_back(figure);
}

}  // namespace

bench::Report run_scale_bench(const Context& context, const bench::Effort& effort) {
  bench::Report report;
  report.name = "scale";
  // Boots first: what the other machines take would count as theirs.
  boot_figures(context, effort, "c2", effort.rounds, "at most 2", "", report);
  boot_figures(context, effort, "dss8440", effort.quick ? 1 : std::min(effort.rounds, 3U), "", "at most 8192", report);
  Platform platform = load_platform("c2");
  if (effort.quick) platform.tiles = platform.tiles_per_column * 2;
  superstep_figures(platform, effort, report);
  thread_figures(platform, effort, report);
  report.notes.push_back(fmt::format("supersteps of {} TLM tiles of one IPU, without SystemC", platform.tiles));
  return report;
}

}  // namespace tessera::cli
