// Comparisons that need no RTL.
#include "verif/random/runs.h"

#include <fmt/format.h>

#include "tlm/tile/tlm_tile.h"
#include "verif/coverage/covered_tile.h"

namespace tessera::random {
namespace {

std::optional<std::uint64_t> number(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  return std::strtoull(text, nullptr, 0);
}

std::optional<std::string> different_state(const TlmTile& a, const TlmTile& b, const char* name) {
  for (ContextId c = 0; c < 7; ++c) {
    const ContextState x = a.context(c), y = b.context(c);
    const auto differ = [&](const std::string& what, std::uint64_t v, std::uint64_t w) {
      return fmt::format("context {} {}: exact {:#x}, {} {:#x}", c, what, v, name, w);
    };
    if (x.run != y.run) return differ("state", static_cast<unsigned>(x.run), static_cast<unsigned>(y.run));
    if (x.pc != y.pc) return differ("pc", x.pc, y.pc);
    for (unsigned n = 0; n < 32; ++n) {
      if (x.x[n] != y.x[n]) return differ(fmt::format("x{}", n), x.x[n], y.x[n]);
      if (x.f[n] != y.f[n]) return differ(fmt::format("f{}", n), x.f[n], y.f[n]);
    }
    if (x.fcsr != y.fcsr) return differ("fcsr", x.fcsr, y.fcsr);
    if (x.mcause != y.mcause) return differ("mcause", x.mcause, y.mcause);
    if (x.mepc != y.mepc) return differ("mepc", x.mepc, y.mepc);
    if (x.mtval != y.mtval) return differ("mtval", x.mtval, y.mtval);
  }
  std::vector<std::uint8_t> m(Program::kSramBytes), n(Program::kSramBytes);
  a.read_memory(kSramBase, m.data(), m.size());
  b.read_memory(kSramBase, n.data(), n.size());
  for (std::size_t k = 0; k < m.size(); ++k) {
    if (m[k] != n[k]) return fmt::format("memory at {:#x}: exact {:#x}, {} {:#x}", kSramBase + k, m[k], name, n[k]);
  }
  if (a.retired() != b.retired()) return fmt::format("retired: exact {}, {} {}", a.retired(), name, b.retired());
  return std::nullopt;
}

std::optional<std::string> different_stops(const Played& x, const Played& y, const char* name) {
  for (std::size_t k = 0; k < std::min(x.stops.size(), y.stops.size()); ++k) {
    const TileStop &e = x.stops[k], &f = y.stops[k];
    if (e.kind != f.kind || e.cycle != f.cycle || e.value != f.value || e.zone != f.zone) {
      return fmt::format("stop {}: exact kind {} in cycle {} value {:#x}, {} kind {} in cycle {} value {:#x}", k,
                         static_cast<unsigned>(e.kind), e.cycle, e.value, name, static_cast<unsigned>(f.kind), f.cycle,
                         f.value);
    }
  }
  if (x.stops.size() != y.stops.size()) {
    return fmt::format("stops: exact {}, {} {}", x.stops.size(), name, y.stops.size());
  }
  return std::nullopt;
}

}  // namespace

std::uint64_t run_seed() { return number("TESSERA_SEED").value_or(1); }
std::optional<std::uint64_t> only_program() { return number("TESSERA_PROGRAM"); }

std::optional<std::string> compare_fast_exact(const Program& program, std::uint64_t seed, RetireObserver* observer,
                                              const std::shared_ptr<coverage::Totals>& totals) {
  const TileConfig config = config_of(seed);
  auto owned = std::make_unique<TlmTile>(config);
  TlmTile& exact = *owned;
  const std::unique_ptr<TileModel> shown = coverage::covered(config, std::move(owned), totals);
  load(*shown, program);
  exact.force_exact(true);
  shown->observe(observer);
  const Played reference = play(*shown, config, program);
  if (!reference.ended) return "does not end";
  TlmTile fast(config), watched(config);
  watched.watch_races([](const TileRace&) {});  // exact interleave, but arithmetic as in fast mode
  for (const auto& [tile, name] : {std::pair{&fast, "fast"}, {&watched, "in search of races"}}) {
    load(*tile, program);
    if (const auto difference = different_stops(reference, play(*tile, config, program), name)) return difference;
    if (const auto difference = different_state(exact, *tile, name)) return difference;
  }
  return std::nullopt;
}

std::optional<std::string> check(const ProgramOptions& options, const Compare& compare, const std::string& test,
                                 bool shrink_words) {
  const Recipe whole = recipe(options);
  const std::optional<std::string> difference = compare(build(whole));
  if (!difference) return std::nullopt;
  const bool endless = *difference == "does not end";
  // A program that fails in another way than by not ending must go on failing so.
  const Fails fails = [&](const Program& program) {
    const auto found = compare(program);
    return found && (*found == "does not end") == endless;
  };
  const ShrinkResult small = shrink(whole, fails, shrink_words);
  const std::string what = compare(build(small.recipe)).value_or(*difference);
  return failure_report(small, what, fmt::format("TESSERA_PROGRAM={} {}", options.seed, test));
}

}  // namespace tessera::random
