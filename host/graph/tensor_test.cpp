// Views against a naive model: an array of (variable, element) pairs that every operation rearranges one by one.
#include "host/graph/tensor.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <vector>

#include "hw/error.h"

namespace tessera::graph {
namespace {

/// A tensor beside the plain list of what stands at each flat index.
struct Model {
  Tensor tensor;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> items;
  [[nodiscard]] const Shape& shape() const { return tensor.shape(); }
};

Shape index_of(const Shape& shape, std::uint64_t flat) {
  Shape index(shape.size());
  for (std::size_t k = shape.size(); k-- > 0;) {
    index[k] = flat % shape[k];
    flat /= shape[k];
  }
  return index;
}

/// Items of a result of shape `to`, each taken from where `source` says its index stands in `from`.
template <typename F>
std::vector<std::pair<std::uint32_t, std::uint64_t>> gather(const Model& from, const Shape& to, F source) {
  std::vector<std::pair<std::uint32_t, std::uint64_t>> items;
  for (std::uint64_t i = 0; i < element_count(to); ++i) {
    items.push_back(from.items[flat_index(from.shape(), source(index_of(to, i)))]);
  }
  return items;
}

std::uint64_t pick(std::uint64_t low, std::uint64_t high) { return *rc::gen::inRange<std::uint64_t>(low, high + 1); }

Model fresh(std::uint32_t variable, const Shape& shape) {
  Model m{Tensor(Type::f32, shape, VariableId{variable}), {}};
  for (std::uint64_t i = 0; i < element_count(shape); ++i) m.items.emplace_back(variable, i);
  return m;
}

void check(const Model& m) {
  RC_ASSERT(m.tensor.elements() == m.items.size());
  std::uint64_t at = 0;
  m.tensor.for_each_run([&](const Run& run) {
    RC_ASSERT(run.begin == at);
    for (std::uint64_t i = 0; i < run.count; ++i) {
      RC_ASSERT(m.items[at].first == run.variable.index);
      RC_ASSERT(static_cast<std::int64_t>(m.items[at].second) == run.first + static_cast<std::int64_t>(i) * run.stride);
      ++at;
    }
  });
  RC_ASSERT(at == m.items.size());
  if (!m.items.empty()) {
    const std::uint64_t i = pick(0, m.items.size() - 1);
    const auto [variable, element] = m.tensor.at(i);
    RC_ASSERT(variable.index == m.items[i].first);
    RC_ASSERT(element == m.items[i].second);
  }
  auto sorted = m.items;
  std::sort(sorted.begin(), sorted.end());
  RC_ASSERT(m.tensor.aliases_itself() == (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()));
}

Shape random_factors(std::uint64_t count) {
  Shape shape;
  while (count > 1 && shape.size() < 4) {
    std::vector<std::uint64_t> divisors;
    for (std::uint64_t d = 2; d <= count; ++d) {
      if (count % d == 0) divisors.push_back(d);
    }
    const std::uint64_t d = divisors[pick(0, divisors.size() - 1)];
    shape.push_back(d);
    count /= d;
  }
  if (count > 1) shape.push_back(count);
  if (pick(0, 2) == 0) shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(pick(0, shape.size())), 1);
  return shape;
}

Model step(const Model& m, std::uint32_t& variables) {
  const Shape& from = m.shape();
  const std::size_t rank = from.size();
  const std::uint64_t op = pick(0, 7);
  if (rank == 0 || op == 0) {
    if (m.items.empty()) return m;
    const Shape to = random_factors(m.items.size());
    return {m.tensor.reshape(to), m.items};
  }
  const std::size_t axis = pick(0, rank - 1);
  Shape to = from;
  switch (op) {
    case 1: {
      const std::uint64_t begin = pick(0, from[axis]);
      const std::uint64_t end = pick(begin, from[axis]);
      to[axis] = end - begin;
      return {m.tensor.slice(begin, end, axis), gather(m, to, [&](Shape i) {
                i[axis] += begin;
                return i;
              })};
    }
    case 2: {
      std::vector<std::size_t> p(rank);
      for (std::size_t k = 0; k < rank; ++k) p[k] = k;
      for (std::size_t k = rank; k-- > 1;) std::swap(p[k], p[pick(0, k)]);
      for (std::size_t k = 0; k < rank; ++k) to[k] = from[p[k]];
      return {m.tensor.permute(p), gather(m, to, [&](const Shape& i) {
                Shape s(rank);
                for (std::size_t k = 0; k < rank; ++k) s[p[k]] = i[k];
                return s;
              })};
    }
    case 3:
      return {m.tensor.reverse(axis), gather(m, to, [&](Shape i) {
                i[axis] = from[axis] - 1 - i[axis];
                return i;
              })};
    case 4: {
      const std::uint64_t n = pick(1, 3);
      Shape wide = from;
      wide.insert(wide.begin() + static_cast<std::ptrdiff_t>(axis), n);
      if (element_count(wide) > 300) return m;
      return {m.tensor.expand(axis).broadcast(n, axis), gather(m, wide, [&](Shape i) {
                i.erase(i.begin() + static_cast<std::ptrdiff_t>(axis));
                return i;
              })};
    }
    case 5: {
      const std::uint64_t n = pick(1, 3);
      to[axis] = (from[axis] + n - 1) / n;
      return {m.tensor.every(n, axis), gather(m, to, [&](Shape i) {
                i[axis] *= n;
                return i;
              })};
    }
    default: {
      Shape other = from;
      other[axis] = pick(1, 3);
      if (m.items.size() + element_count(other) > 400) return m;
      const Model more = fresh(variables++, other);
      to[axis] += other[axis];
      std::vector<std::pair<std::uint32_t, std::uint64_t>> items;
      for (std::uint64_t i = 0; i < element_count(to); ++i) {
        Shape at = index_of(to, i);
        const bool second = at[axis] >= from[axis];
        if (second) at[axis] -= from[axis];
        const Model& part = second ? more : m;
        items.push_back(part.items[flat_index(part.shape(), at)]);
      }
      return {Tensor::concat({m.tensor, more.tensor}, axis), items};
    }
  }
}

TEST(Tensor, ViewsMeanWhatTheNaiveModelSays) {
  ASSERT_TRUE(rc::check("chains of views", [] {
    std::uint32_t variables = 1;
    Shape shape;
    const std::uint64_t rank = pick(0, 4);
    for (std::uint64_t k = 0; k < rank; ++k) shape.push_back(pick(1, 4));
    Model m = fresh(0, shape);
    const std::uint64_t steps = pick(1, 8);
    for (std::uint64_t i = 0; i < steps; ++i) {
      m = step(m, variables);
      check(m);
      RC_ASSERT(m.tensor.same_view(m.tensor.flatten().reshape(m.shape())));
    }
  }));
}

TEST(Tensor, DifferentViewsDiffer) {
  const Tensor a(Type::f32, {3, 3}, VariableId{0});
  EXPECT_FALSE(a.same_view(a.transpose()));
  EXPECT_TRUE(a.same_view(a.transpose().transpose()));
  EXPECT_FALSE(a.same_view(a.reverse(0)));
  EXPECT_FALSE(a.same_view(Tensor(Type::f32, {3, 3}, VariableId{1})));
}

TEST(Tensor, ViewsStaySmall) {
  const Tensor a(Type::f32, {64, 128, 32}, VariableId{0});
  EXPECT_EQ(a.reshape({64, 4096}).boxes().size(), 1U);
  EXPECT_EQ(a.permute({1, 0, 2}).reshape({128, 64, 8, 4}).boxes().size(), 1U);
  EXPECT_EQ(a.permute({2, 1, 0}).flatten().boxes().size(), 32U * 128U);
  EXPECT_EQ(a.slice(3, 9, 1).slice(1, 2, 0).boxes().size(), 1U);
  std::vector<Tensor> parts;
  for (std::uint64_t i = 0; i < 64; ++i) parts.push_back(a.slice(i, i + 1, 0));
  EXPECT_EQ(Tensor::concat(parts, 0).boxes().size(), 1U);
  EXPECT_TRUE(Tensor::concat(parts, 0).same_view(a));
}

TEST(Tensor, ContiguousIsOneAscendingRun) {
  const Tensor a(Type::u8, {4, 6}, VariableId{0});
  EXPECT_TRUE(a.contiguous());
  EXPECT_TRUE(a.slice(1, 3).contiguous());
  EXPECT_FALSE(a.slice(1, 3, 1).contiguous());
  EXPECT_FALSE(a.transpose().contiguous());
  EXPECT_TRUE(a.slice(2, 3, 1).slice(1, 2, 0).contiguous());
}

TEST(Tensor, BadViewsNameShapeAndArgument) {
  const Tensor a(Type::f32, {4, 6}, VariableId{0});
  const auto message = [](auto&& f) -> std::string {
    try {
      f();
    } catch (const Error& e) {
      EXPECT_EQ(e.category(), Category::usage);
      return e.what();
    }
    return "no error";
  };
  const std::string sliced = message([&] { (void)a.slice(2, 7, 1); });
  EXPECT_NE(sliced.find("2 .. 7"), std::string::npos) << sliced;
  EXPECT_NE(sliced.find("f32[4, 6]"), std::string::npos) << sliced;
  EXPECT_NE(message([&] { (void)a.reshape({5, 5}); }).find("[5, 5]"), std::string::npos);
  EXPECT_NE(message([&] { (void)a.permute({0, 0}); }).find("permutation"), std::string::npos);
  EXPECT_NE(message([&] { (void)a.broadcast(3, 0); }).find("extent 1"), std::string::npos);
  EXPECT_NE(message([&] {
              (void)Tensor::concat({a, Tensor(Type::f16, {4, 6}, VariableId{1})});
            }).find("f16[4, 6]"),
            std::string::npos);
  EXPECT_NE(message([&] { (void)a[4]; }).find("index 4"), std::string::npos);
}

}  // namespace
}  // namespace tessera::graph
