// Counts of families against brute force that knows nothing of families: for every vertex the elements it touches are
// listed by the definition of the operator, and regions counted in the list.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "host/scale/expand.h"
#include "host/scale/natural.h"
#include "host/scale/picture.h"
#include "host/scale/test_networks.h"
#include "hw/error.h"

namespace tessera::scale {
namespace {

using model::Op;
using testing::NetworkMaker;

Counts counted(const Structure& s) {
  Counts all;
  for (const Family& f : s.families) all += count(f);
  return all;
}

model::Model small_network() {
  NetworkMaker n({2, 3, 13, 13});
  n.conv(32, 3, 2, 1).same(Op::Relu);
  const model::ValueId skip = n.last();
  n.conv(32, 3, 1, 1, 2).same(Op::LRN, model::LrnAttributes{}).add_to(skip).conv(48, 3, 1, 2, 1, 2);
  n.pool(3, 2).pool(2, 2, Op::AveragePool).flatten().gemm(40).same(Op::Softmax, model::AxisAttributes{1});
  return n.done();
}

TEST(Scale, FamilyCountsAreThoseOfEveryVertexVisited) {
  for (const std::int64_t grain : {1, 2, 5, 16, 40}) {
    for (const bool training : {false, true}) {
      const Structure s = expand(small_network(), {grain, training}, 16);
      std::uint64_t families = 0;
      for (const Family& f : s.families) {
        const Counts a = enumerate(f), b = count(f);
        ASSERT_EQ(a.vertices, b.vertices) << f.codelet;
        ASSERT_EQ(a.edges, b.edges) << f.codelet << " grain " << grain;
        families += a.edges > 0 ? 1 : 0;
      }
      EXPECT_GE(families, training ? 30U : 12U);
    }
  }
}

/// Batch normalisation, residuals, attention, a recurrent layer, one-dimensional dilated convolution.
std::vector<model::Model> other_networks() {
  std::vector<model::Model> all;
  NetworkMaker residual({1, 3, 20, 20});
  residual.conv(24, 3, 1, 1).batch_norm().same(Op::Relu);
  const model::ValueId skip = residual.last();
  residual.conv(24, 3, 1, 1, 24).batch_norm().add_to(skip).same(Op::Relu).conv(30, 1, 2, 0).average().flatten();
  all.push_back(residual.gemm(10).done());
  NetworkMaker attention({2, 20, 32});
  const model::ValueId x = attention.last();
  const model::ValueId keys = attention.project(32).transpose_last().last();
  const model::ValueId values = attention.from(x).project(32).last();
  attention.from(x).project(32).matmul(keys).same(Op::Softmax, model::AxisAttributes{2}).matmul(values).add_to(x);
  attention.same(Op::LayerNormalization, model::NormAttributes{}).project(64).same(Op::Erf).project(5);
  all.push_back(attention.reduce(Op::ReduceMean).done());
  NetworkMaker recurrent({7, 2, 24});
  all.push_back(recurrent.lstm(20).done());
  NetworkMaker wave({1, 16, 200});
  all.push_back(wave.conv(16, 2, 1, 4, 1, 4).same(Op::Tanh).conv(8, 2, 1, 8, 1, 8).done());
  return all;
}

TEST(Scale, EveryKindOfLayerHasItsStructure) {
  for (const model::Model& m : other_networks()) {
    for (const std::int64_t grain : {1, 3, 16}) {
      const Structure s = expand(m, {grain, true}, 16);
      std::map<Role, Counts> roles;
      for (const Family& f : s.families) {
        const Counts a = enumerate(f), b = count(f);
        ASSERT_EQ(a.edges, b.edges) << f.codelet;
        ASSERT_GT(a.edges, a.vertices) << f.codelet << ": each vertex reads and writes";
        roles[s.clusters[f.cluster].role] += a;
        for_each_edge(f, [&](std::uint64_t, std::size_t field, std::uint64_t begin, std::uint64_t elements) {
          ASSERT_LE(begin + elements, s.tensors[f.fields[field].tensor].elements) << f.codelet;
        });
      }
      for (const Role role : {Role::forward, Role::gradient, Role::weight_gradient, Role::update, Role::loss}) {
        if (role == Role::gradient && m.nodes.size() == 1) continue;
        EXPECT_GT(roles[role].vertices, 0U) << name_of(role) << " of " << m.nodes.front().name;
      }
    }
  }
}

TEST(Scale, RegionsAreInsideTheirTensorAndWritesAreDisjointAndWhole) {
  for (const std::int64_t grain : {1, 4, 16}) {
    const Structure s = expand(small_network(), {grain, true}, 16);
    std::uint64_t checked = 0;
    for (const Family& f : s.families) {
      std::map<std::size_t, std::vector<std::pair<std::uint64_t, std::uint64_t>>> written;
      for_each_edge(f, [&](std::uint64_t, std::size_t field, std::uint64_t begin, std::uint64_t elements) {
        ASSERT_LE(begin + elements, s.tensors[f.fields[field].tensor].elements) << f.codelet;
        ASSERT_GT(elements, 0U) << f.codelet;
        if (f.fields[field].writes) written[field].emplace_back(begin, begin + elements);
        ++checked;
      });
      for (auto& [field, list] : written) {
        std::sort(list.begin(), list.end());
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < list.size(); ++i) {
          if (i > 0) {
            ASSERT_LE(list[i - 1].second, list[i].first) << f.codelet << " writes an element twice";
          }
          sum += list[i].second - list[i].first;
        }
        EXPECT_EQ(sum, s.tensors[f.fields[field].tensor].elements) << f.codelet << " grain " << grain;
      }
    }
    EXPECT_GT(checked, 10000U);
  }
}

/// A convolution by its definition: every partial sum lists the elements of x it reads; runs are counted.
TEST(Scale, ConvolutionReadsWhatItsDefinitionSays) {
  struct Case {
    std::int64_t channels, outputs, kernel, stride, pad, group, dilation;
  };
  for (const Case& c : {Case{32, 16, 3, 1, 1, 1, 1}, Case{64, 32, 3, 2, 0, 2, 1}, Case{16, 16, 3, 1, 2, 1, 2}}) {
    NetworkMaker n({1, c.channels, 9, 7});
    n.conv(c.outputs, c.kernel, c.stride, c.pad, c.group, c.dilation);
    const model::Shape out = n.shape();
    const Structure s = expand(n.done(), {1, false}, 16);
    std::uint64_t vertices = 0, edges = 0;
    const std::int64_t inputs = c.channels / c.group;
    for (std::int64_t m = 0; m < c.outputs; ++m) {
      for (std::int64_t oy = 0; oy < out[2]; ++oy) {
        for (std::int64_t ox = 0; ox < out[3]; ++ox) {
          for (std::int64_t part = 0; part < inputs / 16; ++part) {
            std::set<std::int64_t> elements;
            const std::int64_t block = m / (c.outputs / c.group) * (inputs / 16) + part;
            for (std::int64_t ky = 0; ky < c.kernel; ++ky) {
              for (std::int64_t kx = 0; kx < c.kernel; ++kx) {
                const std::int64_t y = oy * c.stride - c.pad + ky * c.dilation;
                const std::int64_t x = ox * c.stride - c.pad + kx * c.dilation;
                if (y < 0 || y >= 9 || x < 0 || x >= 7) continue;
                for (std::int64_t e = 0; e < 16; ++e) elements.insert(((block * 9 + y) * 7 + x) * 16 + e);
              }
            }
            ++vertices;
            edges += 2;  // weights, result
            std::int64_t before = -2;
            for (const std::int64_t e : elements) {
              if (e != before + 1) ++edges;
              before = e;
            }
          }
        }
      }
    }
    Counts products;
    for (const Family& f : s.families) {
      if (f.codelet != "Product") continue;
      products += enumerate(f);
      if (inputs == 16) products.edges -= enumerate(f).vertices;  // the bias is added here, if there is one part
    }
    EXPECT_EQ(products.vertices, vertices);
    EXPECT_EQ(products.edges, edges);
  }
}

TEST(Scale, AlexNetReachesThePublishedSize) {
  const Structure s = expand(testing::alexnet(), {}, 1216);
  const Counts all = counted(s);
  EXPECT_GE(all.vertices, 18700000U);
  EXPECT_GE(all.edges, 115800000U);
  EXPECT_LT(s.families.size(), 200U) << "families, not vertices, are kept";
}

TEST(Scale, APictureIsTheSameBytesAndHoldsEveryVertexAndEdge) {
  const Structure s = expand(small_network(), {}, 16);
  Counts all;
  for (const Family& f : s.families) all += enumerate(f);
  PictureOptions options;
  options.width = 640;
  options.height = 360;
  for (const Format format : {Format::png, Format::svg}) {
    const Picture a = draw(make_scene(s), format, options), b = draw(make_scene(s), format, options);
    EXPECT_EQ(a.bytes, b.bytes);
    EXPECT_GT(a.bytes.size(), 10000U);
    EXPECT_EQ(a.vertices, all.vertices);
    EXPECT_EQ(a.edges, all.edges);
    EXPECT_GT(a.lines, 1000U);
  }
}

TEST(Scale, ClustersStayOnTheCanvasAndApart) {
  const Structure s = expand(testing::alexnet(), {}, 1216);
  const Scene scene = make_scene(s);
  const std::vector<Disc> discs = lay_out(scene, 0.5625);
  ASSERT_EQ(discs.size(), s.clusters.size());
  for (std::size_t i = 0; i < discs.size(); ++i) {
    EXPECT_GE(discs[i].x, 0);
    EXPECT_LE(discs[i].x, 1);
    EXPECT_GE(discs[i].y, 0);
    EXPECT_LE(discs[i].y, 0.5625);
    for (std::size_t k = 0; k < i; ++k) EXPECT_GT(std::hypot(discs[i].x - discs[k].x, discs[i].y - discs[k].y), 0.004);
  }
}

TEST(Scale, WrongPicturesAreTold) {
  const auto message = [](auto&& act) {
    try {
      act();
    } catch (const Error& e) {
      EXPECT_EQ(e.category(), Category::usage);
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_NE(message([] { (void)format_of("a.jpg"); }).find(".png or .svg"), std::string::npos);
  EXPECT_NE(message([] { (void)format_of(".png"); }).find(".png or .svg"), std::string::npos);
  EXPECT_NE(message([] { write_picture({}, "/nowhere/a.png"); }).find("/nowhere/a.png"), std::string::npos);
  PictureOptions large;
  large.width = 20000;
  EXPECT_NE(message([&] { (void)draw({}, Format::png, large); }).find("16384"), std::string::npos);
  EXPECT_NE(message([] { (void)draw({}, Format::png, {}); }).find("no vertices"), std::string::npos);
}

/// A graph of the machine, by hand: the counts of its families and every region of their fields.
TEST(Scale, AGraphOfTheMachineIsCountedAsItIs) {
  graph::Graph g(16);
  const graph::Tensor x = g.add_variable(graph::Type::f32, {8, 6}, "x");
  const graph::Tensor y = g.add_variable(graph::Type::f32, {8}, "y");
  const graph::Tensor w = g.add_constant(graph::Type::f32, {2}, std::vector<float>{1, 2}, "w");
  g.map_linear(x);
  g.map_linear(y);
  g.map(w, 0);
  const auto one = g.add_compute_set("conv1 products");
  const auto family = g.add_family(one, "Dot_f32", {{0, 4}, {1, 4}});
  g.connect(family, "a", x.slice(0, 3, 1));  // a run a member
  g.connect(family, "b", x.every(2, 1));     // three single elements a member
  g.connect(family, "y", y.expand(1));
  const auto two = g.add_compute_set("conv10");
  const auto v = g.add_vertex(two, "Add_f32", 3);
  g.connect(v, "a", y.slice(0, 2));
  g.connect(v, "b", w);
  g.connect(v, "y", graph::Tensor::concat({x.slice({0, 0}, {1, 1}).flatten(), x.slice({7, 5}, {8, 6}).flatten()}));
  const NaturalCounts counts = count(g, {"conv1", "conv10", "other"});
  ASSERT_EQ(counts.layers.size(), 2U);
  EXPECT_EQ(counts.layers[0].layer, "conv1");
  EXPECT_EQ(counts.layers[0].counts.vertices, 8U);
  EXPECT_EQ(counts.layers[0].counts.edges, 8U * (1 + 3 + 1));
  EXPECT_EQ(counts.layers[0].bytes, 4U * (48 + 8));
  EXPECT_EQ(counts.layers[1].layer, "conv10");
  EXPECT_EQ(counts.layers[1].counts.vertices, 1U);
  EXPECT_EQ(counts.layers[1].counts.edges, 4U);
  EXPECT_EQ(counts.counts.edges, 44U);
  EXPECT_EQ(counts.constants, 1U);
  EXPECT_EQ(counts.tensors, 6U);
  PictureOptions options;
  options.width = options.height = 200;
  const Picture picture = draw(make_scene(g, {"conv1", "conv10"}), Format::png, options);
  EXPECT_EQ(picture.vertices, 9U);
  EXPECT_EQ(picture.edges, 44U);
}

TEST(Scale, ACoarserGrainHasFewerVertices) {
  std::uint64_t before = ~std::uint64_t{0};
  for (const std::int64_t grain : {1, 2, 4, 16, 64}) {
    const std::uint64_t now = counted(expand(testing::alexnet(), {grain, true}, 1216)).vertices;
    EXPECT_LT(now, before);
    before = now;
  }
  EXPECT_THROW((void)expand(testing::alexnet(), {0, true}, 1216), Error);
}

TEST(Scale, EveryVertexHasATile) {
  const Structure s = expand(small_network(), {}, 16);
  for (const Family& f : s.families) {
    EXPECT_EQ(s.tile_of(f, 0), 0U);
    EXPECT_EQ(s.tile_of(f, f.members() - 1), f.members() >= 16 ? 15U : s.tile_of(f, f.members() - 1));
  }
}

}  // namespace
}  // namespace tessera::scale
