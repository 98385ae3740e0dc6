// Copies between views of random layouts, on the machine: all element sizes, slices, permutations and reversals, home
// layouts to row-major ones at the sizes of a network, several copies in one phase, results read in place and by
// stream. What a copy shall do is taken from the views alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "verif/compiler/graph_machine.h"
#include "verif/compiler/machine_modes.h"

namespace tessera {
namespace {

using graph::Graph;
using graph::Program;
using graph::Shape;
using graph::Tensor;
using graph::Type;
using testing::GraphMachine;

using Bytes = std::vector<std::uint8_t>;
using Random = std::mt19937;

std::uint64_t below(Random& rng, std::uint64_t n) { return rng() % n; }

/// A view of `shape` over a variable of its own: axes stored in another order, some reversed, some cut from longer
/// ones, on some tiles in shares of some grain.
Tensor random_view(Graph& g, Random& rng, Type type, const Shape& shape, const std::string& name) {
  std::vector<std::size_t> order(shape.size());
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
  if (below(rng, 3) != 0) std::shuffle(order.begin(), order.end(), rng);
  Shape stored;
  Shape from;
  for (const std::size_t k : order) {
    const bool cut = below(rng, 4) == 0;
    from.push_back(cut ? below(rng, 3) : 0);
    stored.push_back(shape[k] + from.back() + (cut ? below(rng, 3) : 0));
  }
  const Tensor whole = g.add_variable(type, stored, name);
  const unsigned first = static_cast<unsigned>(below(rng, g.tiles()));
  const std::uint64_t grain = std::uint64_t{1} << below(rng, 5);
  const auto used = static_cast<unsigned>(below(rng, 2) == 0 ? 0 : 1 + below(rng, g.tiles() - first));
  g.map_linear(whole, below(rng, 3) == 0 ? stored.back() : grain, 1, used == 0 ? 0 : first, used);
  g.expose(name, whole);
  Tensor view = whole;
  std::vector<std::size_t> back(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) {
    view = view.slice(from[k], from[k] + shape[order[k]], k);
    if (below(rng, 5) == 0) view = view.reverse(k);
    back[order[k]] = k;
  }
  return view.permute(back);
}

/// Storage of a view's variable as bytes.
std::size_t stored_bytes(const Graph& g, const Tensor& view) {
  const graph::Variable& v = g.variable(view.boxes().front().variable);
  return v.elements() * graph::size_of(v.type);
}

/// Elements of a view of one variable, row-major.
Bytes gathered(const Tensor& view, const Bytes& storage) {
  const std::size_t size = graph::size_of(view.type());
  Bytes result;
  view.for_each_run([&](const graph::Run& run) {
    for (std::uint64_t i = 0; i < run.count; ++i) {
      const auto at =
          storage.begin() + (run.first + static_cast<std::int64_t>(i) * run.stride) * static_cast<std::int64_t>(size);
      result.insert(result.end(), at, at + static_cast<std::ptrdiff_t>(size));
    }
  });
  return result;
}

struct Pair {
  std::string name;
  Tensor src, dst;
};

/// Copies all pairs at once, streams the destinations out, and compares: elements of the destinations, what stands
/// beside them in their variables, and the streams. Returns differing and compared bytes.
Bytes run_pairs(Graph& g, const std::vector<Pair>& pairs, const Platform& platform, Random& rng) {
  std::vector<Program> copies, streams;
  for (const Pair& p : pairs) {
    copies.push_back(Program::copy(p.src, p.dst));
    streams.push_back(Program::stream_out(p.dst, g.add_output_stream("out " + p.name, p.dst.type(), p.dst.elements())));
  }
  copies.insert(copies.end(), streams.begin(), streams.end());
  g.add_entry("main", Program::sequence(std::move(copies)));
  GraphMachine m(g, platform);
  std::map<std::string, Bytes> streamed, before;
  for (const Pair& p : pairs) {
    const std::size_t bytes = p.dst.elements() * graph::size_of(p.dst.type());
    m.engine().connect("out " + p.name,
                       engine::Sink([&streamed, name = p.name, bytes](std::uint64_t, const std::uint8_t* step) {
                         streamed[name].assign(step, step + bytes);
                       }));
    for (const auto& [name, view] : {std::pair{"from " + p.name, p.src}, {"to " + p.name, p.dst}}) {
      Bytes& storage = before[name];
      storage.resize(stored_bytes(g, view));
      for (std::uint8_t& b : storage) b = static_cast<std::uint8_t>(rng());
      m.engine().write_tensor(name, storage);
    }
  }
  m.engine().run("main");
  std::uint32_t wrong = 0, compared = 0;
  const auto compare = [&](const Bytes& got, const Bytes& expect) {
    wrong += got.size() != expect.size() ? 1 : 0;
    for (std::size_t i = 0; i < std::min(got.size(), expect.size()); ++i) wrong += got[i] != expect[i] ? 1 : 0;
    compared += static_cast<std::uint32_t>(expect.size());
  };
  for (const Pair& p : pairs) {
    const Bytes values = gathered(p.src, before["from " + p.name]);
    compare(streamed[p.name], values);
    Bytes expect = before["to " + p.name];
    const std::size_t size = graph::size_of(p.dst.type());
    std::size_t element = 0;
    p.dst.for_each_run([&](const graph::Run& run) {
      for (std::uint64_t i = 0; i < run.count; ++i, ++element) {
        const auto at = (run.first + static_cast<std::int64_t>(i) * run.stride) * static_cast<std::int64_t>(size);
        std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(element * size), size, expect.begin() + at);
      }
    });
    compare(m.engine().read_tensor("to " + p.name), expect);
  }
  Bytes result;
  for (const std::uint32_t n : {wrong, compared}) {
    for (unsigned b = 0; b < 32; b += 8) result.push_back(static_cast<std::uint8_t>(n >> b));
  }
  return result;
}

/// The same in a process of its own.
void expect_right(const Platform& platform, unsigned seed,
                  const std::function<std::vector<Pair>(Graph&, Random&)>& make, std::uint32_t at_least) {
  const Bytes verdict = testing::run_in_process([&] {
    Random rng(seed);
    Graph g(platform.tiles);
    const std::vector<Pair> pairs = make(g, rng);
    return run_pairs(g, pairs, platform, rng);
  });
  ASSERT_EQ(verdict.size(), 8U);
  std::uint32_t numbers[2] = {};
  std::memcpy(numbers, verdict.data(), 8);
  EXPECT_EQ(numbers[0], 0U) << "wrong bytes of " << numbers[1] << ", seed " << seed;
  EXPECT_GE(numbers[1], at_least);
}

std::vector<Pair> random_pairs(Graph& g, Random& rng, unsigned count, std::uint64_t extent) {
  constexpr Type kTypes[] = {Type::f16, Type::f32, Type::u8, Type::f16, Type::i16, Type::boolean};
  std::vector<Pair> pairs;
  for (unsigned i = 0; i < count; ++i) {
    const Type type = kTypes[below(rng, std::size(kTypes))];
    Shape shape;
    for (std::uint64_t rank = 1 + below(rng, 4); rank > 0; --rank) shape.push_back(1 + below(rng, extent));
    const std::string name = std::to_string(i);
    const Tensor src = random_view(g, rng, type, shape, "from " + name);
    pairs.push_back({name, src, random_view(g, rng, type, shape, "to " + name)});
  }
  return pairs;
}

TEST(Copies, RandomViewsOnSixteenTiles) {
  for (unsigned seed = 1; seed <= 25; ++seed) {
    expect_right(
        load_platform("pocket"), seed, [](Graph& g, Random& rng) { return random_pairs(g, rng, 4, 9); }, 32);
  }
}

TEST(Copies, RandomViewsOnAWholeIpu) {
  for (unsigned seed = 1; seed <= 4; ++seed) {
    expect_right(
        load_platform("c2"), seed, [](Graph& g, Random& rng) { return random_pairs(g, rng, 5, 16); }, 64);
  }
}

/// Between home layouts (blocks of channels) and row-major ones, both ways.
TEST(Copies, HomeLayoutsAndRowMajor) {
  const auto make = [](Graph& g, Random& rng) {
    std::vector<Pair> pairs;
    const auto add = [&](Type type, std::uint64_t channels, std::uint64_t block, std::uint64_t positions,
                         std::uint64_t row) {
      const std::string name = std::to_string(pairs.size());
      const bool out = below(rng, 2) == 0;
      const Tensor home = g.add_variable(type, {channels / block, positions, block}, (out ? "from " : "to ") + name);
      const Tensor rows = g.add_variable(type, {channels, positions}, (out ? "to " : "from ") + name);
      g.map_linear(home, block);
      g.map_linear(rows, row);
      g.expose((out ? "from " : "to ") + name, home);
      g.expose((out ? "to " : "from ") + name, rows);
      const Tensor view = home.permute({0, 2, 1}).reshape({channels, positions});
      pairs.push_back({name, out ? view : rows, out ? rows : view});
    };
    add(Type::f16, 256, 16, 196, 14);
    add(Type::f16, 64, 16, 56, 1);
    add(Type::f32, 24, 8, 49, 7);
    add(Type::u8, 32, 4, 35, 5);
    return pairs;
  };
  for (unsigned seed = 1; seed <= 2; ++seed) expect_right(load_platform("c2"), seed, make, 200'000);
}

/// Layouts that agree are copied as they lie in memory, whatever the order of the views: by exchange alone, one message
/// a tile.
TEST(Copies, EqualLayoutsGoAsTheyLie) {
  constexpr std::uint64_t kChannels = 64, kHeight = 9, kWidth = 7;
  const auto make = [](Graph& g, Random&) {
    std::vector<Pair> pairs;
    const auto home = [&](const std::string& name) {
      const Tensor whole = g.add_variable(Type::f16, {kChannels / 16, kHeight, kWidth, 16}, name);
      g.map_linear(whole, 16);
      g.expose(name, whole);
      return whole.permute({0, 3, 1, 2}).reshape({1, kChannels, kHeight, kWidth});
    };
    const Tensor from = home("from 0");
    pairs.push_back({"0", from, home("to 0")});
    return pairs;
  };
  expect_right(load_platform("pocket"), 1, make, 4 * kChannels * kHeight * kWidth);
  Random rng(1);
  Graph g(16);
  const std::vector<Pair> pairs = make(g, rng);
  g.add_entry("main", Program::copy(pairs[0].src, pairs[0].dst));
  const auto compiled = compiler::compile(g, load_platform("pocket"), CodeletLibrary::builtin());
  const auto& program = compiled.executable.programs.at(0);
  ASSERT_EQ(program.phases.size(), 1U);
  const std::uint64_t words = kChannels * kHeight * kWidth / 2;
  EXPECT_EQ(program.phases[0].words_received, words);
  EXPECT_LE(program.phases[0].cycles, words / 16 + 64);
  for (const auto& step : program.steps) EXPECT_NE(step.kind, executable::Step::Kind::compute) << step.name;
}

}  // namespace
}  // namespace tessera
