// Random programs in lockstep while a debugger halts, resumes, steps, meets breakpoints, reads and writes: TLM and RTL
// must agree to the cycle on every record, and on what the debugger sees.
#include <gtest/gtest.h>

#include <cstdio>
#include <random>

#include "tlm/tile/tlm_tile.h"
#include "verif/cosim/lockstep_tile.h"
#include "verif/cosim/rtl_tile.h"
#include "verif/coverage/covered_tile.h"
#include "verif/random/runs.h"

namespace tessera::random {
namespace {

using Run = ContextState::Run;

struct Totals {
  std::uint64_t programs = 0, endless = 0, instructions = 0, traps = 0, commands = 0, halts = 0, reads = 0, writes = 0;
  std::shared_ptr<coverage::Totals> coverage = coverage::Totals::from_environment();
};

/// A debugger with a lockstep tile under it.
class Debugger {
 public:
  Debugger(std::uint64_t seed, Totals& totals)
      : random_(static_cast<std::mt19937::result_type>(seed * 7919 + 1)),
        totals_(totals),
        config_(config_of(seed)),
        lockstep_(new LockstepTile(config_, std::make_unique<TlmTile>(config_), make_rtl_tile(config_))),
        shown_(coverage::covered(config_, std::unique_ptr<TileModel>(lockstep_), totals.coverage)),
        tile_(*shown_) {
    tile_.debug_attach(true);
  }

  /// Halts and resumes of random contexts at random cycles, all given before the start.
  void plan(unsigned count, unsigned spread) {
    Cycle c = draw(40);
    for (unsigned k = 0; k < count; ++k) {
      const std::uint8_t mask = draw(4) == 0 ? 0x7f : static_cast<std::uint8_t>(draw(127) + 1);
      tile_.debug_halt(mask, c);
      c += draw(spread);
      tile_.debug_resume(mask, c);
      if (draw(8) == 0) tile_.debug_resume(0x7f, c);
      c += draw(spread);
      totals_.commands += 2;
    }
    tile_.debug_resume(0x7f, c + 1);
  }

  /// Sets step and ebreakm of random contexts; they are idle.
  void arm(unsigned mask, bool step, bool ebreakm) {
    for (ContextId c = 0; c < 7; ++c)
      if ((mask >> c & 1) != 0)
        tile_.debug_write(c, DebugSpace::csr, csr::xdcsr, (step ? 1u << 2 : 0) | (ebreakm ? 1u << 15 : 0));
  }

  void run(const Program& program, bool touch) {
    load(tile_, program);
    const Played played = play(tile_, config_, program, 400'000, [&](const TileStop& stop) {
      ++totals_.halts;
      on_halt(stop, touch);
      return ++halts_ < 4000;
    });
    if (!played.ended) ++totals_.endless;  // a context that is resumed after an exception may trap for ever
    ++totals_.programs;
    totals_.instructions += lockstep_->compared().instructions;
    totals_.traps += lockstep_->compared().traps;
    if (played.ended) {
      ASSERT_EQ(lockstep_->compared().instructions, tile_.retired());
    }
  }

  std::uint32_t draw(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }

 private:
  void on_halt(const TileStop& stop, bool touch) {
    std::uint8_t halted = 0;
    for (ContextId c = 0; c < 7; ++c) {
      if (tile_.context(c).run != Run::halted) continue;
      halted |= 1u << c;
      const std::uint32_t cause = tile_.debug_read(c, DebugSpace::csr, csr::xdcsr) >> 6 & 7;
      EXPECT_NE(cause, 0u);
      // Over the breakpoint.
      if (cause == 1)
        tile_.debug_write(c, DebugSpace::pc, 0, tile_.debug_read(c, DebugSpace::pc, 0) + 4), ++totals_.writes;
      if (touch && draw(4) == 0) look(c);
      if (touch && draw(8) == 0) change(c);
    }
    EXPECT_NE(halted, 0);
    const Cycle at = after(stop.cycle) + draw(12);
    // Not always all of them, nor at once.
    std::uint8_t first = halted & static_cast<std::uint8_t>(draw(128));
    if (first == 0) first = halted;
    tile_.debug_resume(first, at);
    if (first != halted && draw(2) == 0) tile_.debug_resume(halted, at + draw(20));
    ++totals_.commands;
  }

  /// A cycle that lies before neither side: a command for nobody asks.
  Cycle after(Cycle cycle) {
    for (;; cycle += 40) {
      try {
        tile_.debug_halt(0, cycle);
        return cycle + 40;
      } catch (const std::logic_error&) {
      }
    }
  }

  void look(ContextId c) {
    for (unsigned k = 0; k < 32; ++k) (void)tile_.debug_read(c, DebugSpace::x, k);
    for (unsigned k = 0; k < 32; ++k) (void)tile_.debug_read(c, DebugSpace::f, k);
    (void)tile_.debug_read(c, DebugSpace::pc, 0);
    for (unsigned number = 0; number < 4096; ++number) {
      const bool high = number >= 0x800 && number < 0x810;
      if (number < 4 || (number >= 0x300 && number < 0x345) || (number >= 0x7a0 && number < 0x7c8) || high ||
          (number >= 0xb00 && number < 0xb04) || (number >= 0xb80 && number < 0xb84) || number >= 0xc00)
        (void)tile_.debug_read(c, DebugSpace::csr, number), ++totals_.reads;
    }
    if (c != 0)
      for (unsigned k = 0; k < 6; ++k) (void)tile_.debug_read(c, DebugSpace::stream, k);
    for (unsigned k = 0; k < (c == 0 ? 64u : 16u); ++k) (void)tile_.debug_read(c, DebugSpace::amp, k);
    totals_.reads += 65;
  }

  void change(ContextId c) {
    static constexpr unsigned kNumbers[] = {csr::mscratch, csr::mstatus, csr::fcsr,    csr::frm,     csr::xrng2,
                                            csr::mcause,   csr::xexit,   csr::misa,    csr::mepc,    0x7ff,
                                            csr::mtval,    csr::fflags,  csr::xwstack, csr::xwstksz, csr::xsource};
    tile_.debug_write(c, DebugSpace::x, draw(32), draw(2) == 0 ? draw(64) : static_cast<std::uint32_t>(random_()));
    tile_.debug_write(c, DebugSpace::f, draw(32), static_cast<std::uint32_t>(random_()));
    tile_.debug_write(c, DebugSpace::csr, kNumbers[draw(std::size(kNumbers))], static_cast<std::uint32_t>(random_()));
    // What the program hangs on gets the value it has.
    for (const unsigned number : {csr::mtvec, csr::xwra, csr::xbase1, csr::xbase1 + 1, csr::xbase1 + 2})
      tile_.debug_write(c, DebugSpace::csr, number, tile_.debug_read(c, DebugSpace::csr, number));
    totals_.writes += 5;
    if (c != 0) tile_.debug_write(c, DebugSpace::stream, draw(6), static_cast<std::uint32_t>(random_()));
    totals_.writes += 4;
  }

  std::mt19937 random_;
  Totals& totals_;
  TileConfig config_;
  LockstepTile* lockstep_;  // behind `shown_`
  std::unique_ptr<TileModel> shown_;
  TileModel& tile_;
  unsigned halts_ = 0;
};

/// `drive(debugger, program)` for programs of the RTL's subset until so many instructions were compared.
template <class Drive>
void run_until(std::uint64_t instructions, std::uint64_t first, bool races, Drive drive) {
  Totals totals;
  for (std::uint64_t seed = only_program().value_or(first); totals.instructions < instructions; ++seed) {
    ProgramOptions options;
    options.seed = seed;
    options.races = races;
    options.subset = Subset::rtl;
    Debugger debugger(seed, totals);
    try {
      drive(debugger, build(recipe(options)));
    } catch (const std::exception& error) {
      FAIL() << "program " << seed << ": " << error.what();
    }
    if (::testing::Test::HasFailure()) FAIL() << "program " << seed;
    if (only_program()) return;
  }
  std::printf(
      "seed %llu: %llu programs, %llu instructions and %llu traps compared; %llu commands, %llu stops, %llu reads, "
      "%llu writes\n",
      static_cast<unsigned long long>(run_seed()), static_cast<unsigned long long>(totals.programs),
      static_cast<unsigned long long>(totals.instructions), static_cast<unsigned long long>(totals.traps),
      static_cast<unsigned long long>(totals.commands), static_cast<unsigned long long>(totals.halts),
      static_cast<unsigned long long>(totals.reads), static_cast<unsigned long long>(totals.writes));
}

TEST(RandomDebug, HaltsAndResumesAtRandomCycles) {
  run_until(40'000, run_seed() * 1'000'000 + 800'000, true, [](Debugger& d, const Program& program) {
    d.plan(60 + d.draw(200), 2 + d.draw(60));
    d.run(program, false);
  });
}

TEST(RandomDebug, StepsAndBreakpoints) {
  run_until(25'000, run_seed() * 1'000'000 + 900'000, false, [](Debugger& d, const Program& program) {
    const unsigned mask = d.draw(3) == 0 ? 0x7f : d.draw(128);
    d.arm(mask, d.draw(3) != 0, d.draw(2) != 0);
    d.run(program, false);
  });
}

TEST(RandomDebug, StateIsReadAndChangedAtStops) {
  run_until(15'000, run_seed() * 1'000'000 + 950'000, false, [](Debugger& d, const Program& program) {
    d.arm(0x7f, d.draw(2) != 0, true);
    d.plan(20, 400);
    d.run(program, true);
  });
}

}  // namespace
}  // namespace tessera::random
