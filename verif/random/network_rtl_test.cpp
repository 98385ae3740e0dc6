// Random networks of tiles: all TLM, then mixtures of RTL, lockstep and TLM. Releases, votes, first exceptions,
// registers and memory of all tiles must be the same.
#include <gtest/gtest.h>

#include <cstdio>

#include "tlm/tile/assembler.h"
#include "tlm/tile/tlm_tile.h"
#include "verif/cosim/lockstep_tile.h"
#include "verif/cosim/rtl_tile.h"
#include "verif/coverage/covered_tile.h"
#include "verif/random/network.h"
#include "verif/random/runs.h"

namespace tessera::random {
namespace {

constexpr unsigned kTiles = 4;

TileFactory factory(const std::shared_ptr<coverage::Totals>& totals) {
  return [totals](const TileConfig& config, TileMode mode) -> std::unique_ptr<TileModel> {
    if (mode == TileMode::tlm) return std::make_unique<TlmTile>(config);
    if (mode == TileMode::rtl) return make_rtl_tile(config);
    return coverage::covered(
        config, std::make_unique<LockstepTile>(config, std::make_unique<TlmTile>(config), make_rtl_tile(config)),
        totals);
  };
}

/// Which tiles are what, of each network in turn.
std::vector<TileMode> mixture(std::uint64_t seed) {
  const auto T = TileMode::tlm, R = TileMode::rtl, L = TileMode::lockstep;
  const std::vector<std::vector<TileMode>> all = {{L, T, T, T}, {R, T, L, T}, {T, L, R, R}, {L, R, T, L}, {R, R, R, R}};
  return all[seed % all.size()];
}

std::vector<Program> build_all(const Network& network) {
  std::vector<Program> programs;
  for (const Recipe& tile : network.tiles) programs.push_back(build(tile));
  return programs;
}

std::optional<std::string> compare(const Network& network, const std::vector<Program>& programs, NetworkRun* tlm,
                                   const std::shared_ptr<coverage::Totals>& totals) {
  try {
    NetworkRun a = run_network(network, programs, factory(nullptr), {});
    if (a.outcome == Ipu::Outcome::running) return "does not end";
    const NetworkRun b = run_network(network, programs, factory(totals), mixture(network.seed));
    auto found = difference(a, b);
    if (found && a.outcome != b.outcome) *found += "\n" + a.text + b.text;
    if (tlm != nullptr) *tlm = std::move(a);
    return found;
  } catch (const std::exception& error) {
    return error.what();
  }
}

/// Makes the programs of the tiles small, one after the other.
std::string shrunk(Network network, const std::string& what) {
  const auto kind = [](const std::string& text) { return text.substr(0, 11); };  // "RTL and TLM", "outcome", ..
  std::string text = what + "\n";
  for (unsigned t = 0; t < network.tiles.size(); ++t) {
    const Fails fails = [&](const Program& program) {
      std::vector<Program> programs = build_all(network);
      programs[t] = program;
      const auto found = compare(network, programs, nullptr, nullptr);
      return found && kind(*found) == kind(what);
    };
    const ShrinkResult small = shrink(network.tiles[t], fails, false, 400);
    network.tiles[t] = small.recipe;
  }
  text += compare(network, build_all(network), nullptr, nullptr).value_or("nothing any more") + "\n";
  for (unsigned t = 0; t < network.tiles.size(); ++t) {
    ShrinkResult small;
    small.recipe = network.tiles[t];
    text += failure_report(small, "tile " + std::to_string(t),
                           "TESSERA_PROGRAM=" + std::to_string(network.seed) + " build/tests/network_rtl_test");
  }
  return text;
}

void run_until(std::uint64_t instructions, bool races, std::uint64_t first) {
  const auto totals = coverage::Totals::from_environment();
  std::uint64_t networks = 0, retired = 0, words = 0, several = 0, itself = 0, nobody = 0, faults = 0, supersteps = 0,
                packets = 0;
  for (std::uint64_t seed = only_program().value_or(first); retired < instructions; ++seed) {
    ProgramOptions options;
    options.seed = seed;
    options.races = races;
    options.items = 16;
    options.subset = Subset::rtl;
    const Network net = network(options, kTiles);
    NetworkRun run;
    const auto found = compare(net, build_all(net), &run, totals);
    ASSERT_FALSE(found) << "seed " << seed << ": " << shrunk(net, *found);
    ++networks;
    retired += run.retired;
    words += run.words;
    packets += run.packets;
    several += net.several;
    itself += net.itself;
    nobody += net.nobody;
    faults += run.exception.has_value();
    supersteps += run.releases.size();
    if (only_program())
      std::printf("outcome %d, %zu releases\n%s", static_cast<int>(run.outcome), run.releases.size(), run.text.c_str());
    if (only_program()) break;
  }
  if (totals != nullptr && several != 0) totals->hit("exchange/who/several");
  if (totals != nullptr && nobody != 0) totals->hit("exchange/who/nobody");
  const auto u = [](std::uint64_t v) { return static_cast<unsigned long long>(v); };
  std::printf(
      "seed %llu: %llu networks of %u tiles, %llu supersteps, %llu instructions, %llu packets, %llu words received, "
      "%llu sent to "
      "several, %llu to their sender, %llu to nobody; %llu runs ended by an exception\n",
      u(run_seed()), u(networks), kTiles, u(supersteps), u(retired), u(packets), u(words), u(several), u(itself),
      u(nobody), u(faults));
  if (only_program()) return;
  EXPECT_GT(words, 5000u);
  EXPECT_GT(packets, 50u);
  EXPECT_GT(several, 100u);
  EXPECT_GT(itself, 100u);
  EXPECT_LT(faults, networks / 2);
}

/// A listener whose sender says nothing: by each kind of descriptor, first word of each, with the sender in an exchange
/// of its own or not.
TEST(NetworkRtl, ASilentSenderIsAnUnderrunInEveryMode) {
  const auto T = TileMode::tlm, R = TileMode::rtl, L = TileMode::lockstep;
  unsigned compared = 0;
  for (unsigned kind = 0; kind < 3; ++kind) {
    for (const bool takes_part : {true, false}) {
      ProgramOptions options;
      options.seed = 5;
      Network net = network(options, 2);
      net.steps.resize(1);
      ExchangeDescriptor d;
      d.kind = kind;
      d.start = 118;
      d.words = 6;
      d.address = 0x2000;
      ExchangeBlock block;
      block.count1 = block.count2 = 1;
      ExchangeSweep sweep;
      sweep.count = 1;
      sweep.step = 1;
      std::vector<std::uint64_t> words{d.pack()};
      if (kind != 0) words.push_back(kind == 1 ? block.pack() : sweep.pack());
      for (unsigned t = 0; t < 2; ++t) {
        for (ContextRecipe& context : net.tiles[t].contexts) context = {0, false, {}};
        net.tiles[t].tables = {TableRecipe()};
        auto& code = net.tiles[t].contexts[0].code;
        if (t == 1 || takes_part)
          code.push_back(Node(Node::Kind::table, {testing::sync(6, 0, 1), testing::r(isa::Op::x_exchange, 0, 5)}));
        else
          code.push_back(Node(testing::sync(6, 0, 1)));
        code.push_back(Node(testing::sync(6, 0, 1)));
      }
      net.tiles[1].tables[0].receives = {words};
      const std::vector<Program> programs = build_all(net);
      const NetworkRun tlm = run_network(net, programs, factory(nullptr), {});
      ASSERT_EQ(tlm.outcome, Ipu::Outcome::exception);
      EXPECT_EQ(tlm.exception->cause, 27u);
      for (const auto& modes : {std::vector<TileMode>{T, L}, {L, T}, {L, L}, {R, L}, {L, R}, {R, R}, {T, R}, {R, T}}) {
        const auto found = difference(tlm, run_network(net, programs, factory(nullptr), modes));
        EXPECT_FALSE(found) << "kind " << kind << " " << takes_part << " " << static_cast<int>(modes[0]) << " "
                            << static_cast<int>(modes[1]) << ": " << *found;
        ++compared;
      }
    }
  }
  EXPECT_EQ(compared, 48u);
}

TEST(NetworkRtl, MixturesEqualTlm) { run_until(250'000, false, run_seed() * 1'000'000); }

}  // namespace
}  // namespace tessera::random
