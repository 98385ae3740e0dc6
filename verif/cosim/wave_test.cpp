// Waveforms from a Verilated model and from TLM tiles in one dump: every file is opened again by fst2vcd or parsed, the
// view names only signals that exist, values stand at their cycles, and files are whole after every way a run can end.
#include "verif/cosim/wave.h"

#include <Vfpu_divsqrt_traced.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <verilated_fst_c.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "hw/error.h"
#include "tlm/tile/assembler.h"
#include "tlm/tile/tlm_tile.h"
#include "verif/cosim/wave_tile.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

/// A folder of this test's own.
fs::path folder() {
  const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
  const fs::path path = fs::path(::testing::TempDir()) / (std::string("tessera_wave_") + info->name());
  fs::create_directories(path);
  return path;
}

/// A VCD read back: changes of each signal by its full name (with range, as GTKWave writes it).
struct Vcd {
  std::string timescale;
  std::map<std::string, std::vector<std::pair<std::uint64_t, std::string>>> changes;
  std::uint64_t last = 0;

  static Vcd parse(const fs::path& path) {
    Vcd vcd;
    std::ifstream file(path);
    EXPECT_TRUE(file) << path;
    std::map<std::string, std::vector<std::string>> names;  // by identifier; aliases share one
    std::vector<std::string> scopes;
    std::string token;
    std::uint64_t time = 0;
    bool header = true;
    while (file >> token) {
      if (header && token == "$timescale") {
        for (file >> token; token != "$end"; file >> token) vcd.timescale += token;
      } else if (header && token == "$scope") {
        std::string kind, name;
        file >> kind >> name >> token;
        scopes.push_back(name);
      } else if (header && token == "$upscope") {
        scopes.pop_back();
        file >> token;
      } else if (header && token == "$var") {
        std::string kind, bits, id, name;
        file >> kind >> bits >> id;
        for (file >> token; token != "$end"; file >> token) name += token;
        std::string full;
        for (const std::string& scope : scopes) full += scope + ".";
        names[id].push_back(full + name);
        vcd.changes[full + name];
      } else if (token == "$enddefinitions") {
        header = false;
      } else if (token[0] == '#') {
        vcd.last = time = std::stoull(token.substr(1));
      } else if (token[0] == '$') {
        continue;
      } else if (!header) {
        std::string value = token.substr(0, 1) == "b" ? token.substr(1) : token.substr(0, 1), id;
        if (token[0] == 'b') {
          file >> id;
        } else {
          id = token.substr(1);
        }
        EXPECT_EQ(names.count(id), 1u) << id;
        for (const std::string& name : names[id]) vcd.changes[name].emplace_back(time, value);
      }
    }
    return vcd;
  }
  /// Value of a signal at a time, as a number.
  [[nodiscard]] std::uint64_t at(const std::string& name, std::uint64_t time) const {
    std::string value = "0";
    const auto found = changes.find(name);
    EXPECT_NE(found, changes.end()) << name;
    if (found == changes.end()) return ~std::uint64_t{0};
    for (const auto& [t, v] : found->second) {
      if (t <= time) value = v;
    }
    return std::stoull(value, nullptr, 2);
  }
};

Vcd read_fst(const fs::path& fst) {
  const fs::path vcd = fst.string() + ".read.vcd";
  const std::string command = "fst2vcd -f " + fst.string() + " -o " + vcd.string() + " > /dev/null 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  return Vcd::parse(vcd);
}

/// Names of the view; every one must exist in the dump.
std::vector<std::string> check_view(const fs::path& view, const Vcd& vcd) {
  std::vector<std::string> names;
  std::ifstream file(view);
  EXPECT_TRUE(file) << view;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || std::string("[@-*").find(line[0]) != std::string::npos) continue;
    names.push_back(line);
    EXPECT_EQ(vcd.changes.count(line), 1u) << line << " is in the view but not in the dump";
  }
  EXPECT_FALSE(names.empty());
  return names;
}

/// A divider lane as a stand-in for an RTL tile: a quotient every 40 cycles from `begin`.
struct RtlSource {
  RtlSource(WaveFile& file, TileRef tile) : wave(file.add_rtl(tile)), model(&context, "") {
    context.traceEverOn(true);
    model.trace(&wave.file(), 99);
    wave.open();
    model.rst_ni = 0;
    model.eval();
    model.rst_ni = 1;
  }
  void run(Cycle begin, Cycle end) {
    for (Cycle c = begin; c < end; ++c) {
      model.start_i = (c - begin) % 40 == 0;
      model.a_i = 0x40400000u + static_cast<std::uint32_t>(c);
      model.b_i = 0x3f800000u;
      model.clk_i = 1;
      model.eval();
      wave.dump(c, true);
      model.clk_i = 0;
      model.eval();
      wave.dump(c, false);
    }
  }
  VerilatedContext context;
  RtlWave& wave;
  Vfpu_divsqrt_traced model;
};

using namespace tessera::testing;  // NOLINT: the assembler
using Code = std::vector<std::uint32_t>;
constexpr Address kWorkerCode = kSramBase + 0x1000, kTable = kSramBase + 0x2000;

/// A TLM tile that runs workers, syncs at r, is released 30 cycles later, exchanges two words out and one in.
struct TlmSource {
  TlmSource(WaveFile& file, TileRef ref) {
    TileConfig config;
    config.ipu = ref.ipu;
    config.tile = ref.tile;
    config.tiles = 16;
    tile = std::make_unique<WaveTile>(config, std::make_unique<TlmTile>(config), file.add_tlm(ref));
    Code supervisor;
    load_constant(supervisor, 5, kWorkerCode);
    load_constant(supervisor, 6, kTable);
    supervisor.insert(supervisor.end(),
                      {r(Op::x_run, 7, 5), tessera::testing::sync(0, 0, 1), r(Op::x_exchange, 0, 6), r(Op::ecall, 0)});
    write(kSramBase, supervisor);
    write(kWorkerCode, {i(Op::addi, 8, 0, 1), i(Op::addi, 8, 8, 1), r(Op::x_exit, 0, 0)});
    const auto descriptor = [](std::uint64_t t, std::uint64_t words, std::uint64_t address, std::uint64_t peer) {
      return t << 4 | words << 22 | address << 34 | peer << 52;
    };
    const std::uint64_t table[] = {1 | 1u << 16, descriptor(50, 2, 0x3000 / 4, 0), descriptor(60, 1, 0x3100 / 4, 1)};
    tile->write_memory(kTable, reinterpret_cast<const std::uint8_t*>(table), sizeof table);
    write(kSramBase + 0x3000, {0x1234, 0x5678});
  }
  void write(Address at, const Code& words) {
    tile->write_memory(at, reinterpret_cast<const std::uint8_t*>(words.data()), 4 * words.size());
  }
  void run() {
    tile->start(kSramBase, 0);
    sync = tile->run(kNever, nullptr, nullptr);
    ASSERT_EQ(sync.kind, TileStop::Kind::sync);
    z = sync.cycle + 30;
    tile->release(z, true);
    ASSERT_EQ(tile->run(kNever, nullptr, nullptr).kind, TileStop::Kind::exchange);
    const std::uint32_t word = 0x9abc;
    std::memcpy(tile->sram() + 0x3100, &word, 4);
    tile->finish_exchange({z + 60, std::nullopt});
    end = tile->run(kNever, nullptr, nullptr);
    ASSERT_EQ(end.kind, TileStop::Kind::exception);
  }
  std::unique_ptr<WaveTile> tile;
  TileStop sync, end;
  Cycle z = 0;
};

TEST(Wave, TlmAndRtlStandInOneDumpWithOneTimeBase) {
  const fs::path file = folder() / "mixed.fst";
  WaveOptions options;
  options.file = file;
  options.window_events = 200;  // many windows
  WaveFile wave(options);
  TlmSource tlm(wave, {0, 10});
  RtlSource rtl(wave, {0, 2});
  rtl.run(0, 500);
  tlm.run();
  const WaveSummary summary = wave.close();
  EXPECT_TRUE(summary.lost.empty());
  EXPECT_GT(summary.changes, 1000u);
  const Vcd vcd = read_fst(file);
  EXPECT_EQ(vcd.timescale, "1ps");
  EXPECT_EQ(vcd.changes.size(), summary.signals);
  const std::string t = "ipu0.tile10.tlm.", x = "ipu0.tile2.rtl.fpu_divsqrt.";
  // RTL: the clock rises with every cycle; the first quotient stands from cycle 28 on.
  EXPECT_EQ(vcd.at(x + "clk_i", 625 * 100), 1u);
  EXPECT_EQ(vcd.at(x + "clk_i", 625 * 100 + 400), 0u);
  EXPECT_EQ(vcd.at(x + "result_o[31:0]", 625 * 26), 0u);
  EXPECT_EQ(vcd.at(x + "result_o[31:0]", 625 * 27 + 600), 0x40400000u);
  EXPECT_EQ(vcd.at(x + "result_o[31:0]", 625 * 68), 0x40400028u);
  // TLM: issues, states, sync and words at their cycles.
  EXPECT_EQ(vcd.at(t + "supervisor.pc[31:0]", 0), kSramBase);
  EXPECT_EQ(vcd.at(t + "supervisor.issue", 625 * 6), 1u);
  EXPECT_EQ(vcd.at(t + "supervisor.issue", 625 * 7), 0u);
  EXPECT_EQ(vcd.at(t + "worker3.state[2:0]", 625 * 29), 0u);  // x.run issues at 24
  EXPECT_EQ(vcd.at(t + "worker3.state[2:0]", 625 * 30), 1u);
  EXPECT_EQ(vcd.at(t + "worker3.pc[31:0]", 625 * 32), kWorkerCode);
  EXPECT_EQ(vcd.at(t + "worker3.state[2:0]", 625 * tlm.sync.cycle), 0u);
  EXPECT_EQ(vcd.at(t + "sync.line", 625 * (tlm.sync.cycle - 1)), 0u);
  EXPECT_EQ(vcd.at(t + "sync.line", 625 * tlm.sync.cycle), 1u);
  EXPECT_EQ(vcd.at(t + "sync.line", 625 * tlm.z), 0u);
  EXPECT_EQ(vcd.at(t + "exchange.tx_valid", 625 * (tlm.z + 49)), 0u);
  EXPECT_EQ(vcd.at(t + "exchange.tx_word[31:0]", 625 * (tlm.z + 50)), 0x1234u);
  EXPECT_EQ(vcd.at(t + "exchange.tx_word[31:0]", 625 * (tlm.z + 51)), 0x5678u);
  EXPECT_EQ(vcd.at(t + "exchange.tx_valid", 625 * (tlm.z + 52)), 0u);
  EXPECT_EQ(vcd.at(t + "exchange.rx_valid", 625 * (tlm.z + 60)), 1u);
  EXPECT_EQ(vcd.at(t + "exchange.rx_word[31:0]", 625 * (tlm.z + 60)), 0x9abcu);
  EXPECT_EQ(vcd.at(t + "supervisor.state[2:0]", 625 * (tlm.end.cycle + 6)), 4u);
  const auto names = check_view(summary.view, vcd);
  EXPECT_THAT(names, ::testing::Contains(x + "result_o[31:0]"));
  EXPECT_THAT(names, ::testing::Contains(t + "worker6.instruction[31:0]"));
}

TEST(Wave, VcdBySuffixHasTheSameSignalsAndValues) {
  std::map<std::string, Vcd> dumps;
  for (const char* name : {"same.fst", "same.vcd"}) {
    WaveOptions options;
    options.file = folder() / name;
    WaveFile wave(options);
    TlmSource tlm(wave, {1, 3});
    RtlSource rtl(wave, {1, 4});
    tlm.run();
    rtl.run(10, 200);
    const WaveSummary summary = wave.close();
    dumps[name] = options.file.back() == 't' ? read_fst(options.file) : Vcd::parse(options.file);
    check_view(summary.view, dumps[name]);
  }
  EXPECT_EQ(dumps["same.fst"].changes, dumps["same.vcd"].changes);
  EXPECT_GT(dumps["same.vcd"].changes.size(), 40u);
}

TEST(Wave, ScopesAndCyclesAreChosenAtRunTime) {
  WaveOptions options;
  options.file = folder() / "chosen.fst";
  options.scopes = {"tile1.tlm.worker2", "ipu0.tile2.rtl.*.result_o", "tile7"};
  options.from = 30;
  options.to = 80;
  WaveFile wave(options);
  EXPECT_TRUE(wave.wants_tlm({0, 1}));
  EXPECT_FALSE(wave.wants_rtl({0, 1}));
  EXPECT_FALSE(wave.wants_tlm({0, 10}));
  EXPECT_TRUE(wave.wants_rtl({0, 2}));
  EXPECT_FALSE(wave.wants_rtl({1, 2}));
  TlmSource tlm(wave, {0, 1});
  RtlSource rtl(wave, {0, 2});
  tlm.run();
  rtl.run(0, 500);
  const WaveSummary summary = wave.close();
  EXPECT_EQ(summary.unmatched, std::vector<std::string>{"tile7"});
  EXPECT_GE(summary.first, 30u);
  EXPECT_LE(summary.last, 80u);
  const Vcd vcd = read_fst(options.file);
  for (const auto& [name, changes] : vcd.changes) {
    EXPECT_TRUE(name.find("worker2.") != std::string::npos || name.find("result_o") != std::string::npos) << name;
  }
  EXPECT_EQ(vcd.changes.size(), 5u);
  // A value set before the window stands at its begin.
  EXPECT_EQ(vcd.at("ipu0.tile2.rtl.fpu_divsqrt.result_o[31:0]", 625 * 30), 0x40400000u);
}

TEST(Wave, PatternsAreGlobsOverLevels) {
  const auto selects = [](const char* pattern, const char* name) {
    ScopePatterns patterns({pattern});
    return patterns.selects(name);
  };
  EXPECT_TRUE(selects("ipu0.tile3", "ipu0.tile3.tlm.sync.line"));
  EXPECT_FALSE(selects("ipu0.tile3", "ipu0.tile30.tlm.sync.line"));
  EXPECT_TRUE(selects("ipu0.tile?.*.sync.*", "ipu0.tile3.tlm.sync.line"));
  EXPECT_FALSE(selects("ipu0.*.line", "ipu0.tile3.tlm.sync.line"));
  EXPECT_TRUE(selects("ipu0.**.line", "ipu0.tile3.tlm.sync.line"));
  EXPECT_TRUE(selects("worker*.pc", "ipu0.tile3.tlm.worker4.pc"));
  EXPECT_TRUE(selects("**", "ipu0.tile3.tlm.worker4.pc"));
}

TEST(Wave, ABadNameOrPlaceIsAUsageError) {
  for (const std::string file : {"run.wave", "/proc/tessera/run.fst"}) {
    WaveOptions options;
    options.file = file;
    try {
      WaveFile wave(options);
      ADD_FAILURE() << options.file;
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), Category::usage);
    }
  }
}

TEST(Wave, AnErrorThatUnwindsLeavesAWholeFile) {
  WaveOptions options;
  options.file = folder() / "error.fst";
  try {
    WaveFile wave(options);
    RtlSource rtl(wave, {0, 0});
    rtl.run(0, 1000);
    throw Error(Category::device_exception, "planted");
  } catch (const Error&) {
  }
  const Vcd vcd = read_fst(options.file);
  EXPECT_EQ(vcd.last, 625u * 999 + 312);
  EXPECT_FALSE(fs::exists(options.file + ".parts"));
}

/// Runs `body` in a child process; returns its wait status.
template <typename Body>
int in_child(const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(99);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

/// A run that dumps for ever, looks at the stop flag each 100 cycles, and is ended by `end` after cycle 5000.
template <typename End>
int run_and_end(const std::string& file, const End& end) {
  return in_child([&] {
    if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(97);
    Shutdown::install();
    int code = 98;
    try {
      WaveOptions options;
      options.file = file;
      WaveFile wave(options);
      TlmSource tlm(wave, {0, 1});
      tlm.run();
      RtlSource rtl(wave, {0, 0});
      for (Cycle c = 0; c < 1'000'000'000; c += 100) {
        rtl.run(c, c + 100);
        if (c == 5000) end();
        Shutdown::check();
      }
    } catch (const Interrupted& interrupted) {
      code = interrupted.exit_code();
    }
    _exit(code);
  });
}

void expect_whole(const std::string& file) {
  const Vcd vcd = read_fst(file);
  EXPECT_EQ(vcd.last, 625u * 5099 + 312) << "the dump reaches to the last cycle";
  EXPECT_EQ(vcd.at("ipu0.tile0.rtl.fpu_divsqrt.clk_i", 625 * 5099), 1u);
  EXPECT_EQ(vcd.at("ipu0.tile1.tlm.supervisor.pc[31:0]", 0), kSramBase);
  check_view(file.substr(0, file.size() - 4) + ".gtkw", vcd);
  EXPECT_FALSE(fs::exists(file + ".parts"));
}

TEST(WaveShutdown, InterruptAndTerminateEndTheRunWith128PlusN) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const std::string file = folder() / ("signal" + std::to_string(signal) + ".fst");
    const int status = run_and_end(file, [signal] { raise(signal); });
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 128 + signal);
    expect_whole(file);
  }
}

TEST(WaveShutdown, AbortClosesTheFile) {
  const std::string file = folder() / "abort.fst";
  const int status = run_and_end(file, [] { std::abort(); });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 128 + SIGABRT);
  expect_whole(file);
}

TEST(WaveShutdown, TerminateFromAnotherThreadClosesTheFile) {
  const std::string file = folder() / "terminate.fst";
  const int status = run_and_end(file, [] {
    std::thread thread([] { throw std::runtime_error("nobody catches this"); });
    thread.join();
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 128 + SIGABRT);
  expect_whole(file);
}

TEST(WaveShutdown, ASecondInterruptClosesAtOnce) {
  const std::string file = folder() / "twice.fst";
  const int status = run_and_end(file, [] {
    raise(SIGINT);
    raise(SIGINT);
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 128 + SIGINT);
  expect_whole(file);
}

}  // namespace
}  // namespace tessera
