// Matrix products: MatMul, Gemm, Einsum. Real numbers in double precision, rounded once; integers exact, wrapping.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "host/golden/gemm.h"
#include "host/golden/kernel.h"
#include "host/golden/numbers.h"

namespace tessera::golden {

using model::Op;
using model::Shape;
using model::Tensor;
using model::Type;

namespace {

/// One plane of a matrix product: a [m, k] and b [k, n] by strides.
struct Plane {
  std::int64_t m, k, n;
  std::int64_t a, a_row, a_column, b, b_row, b_column;
};

void multiply(const Tensor& a, const Tensor& b, const Plane& p, double* to) {
  multiply_add(p.m, p.n, p.k, block_of(a, p.a, p.a_row, p.a_column), block_of(b, p.b, p.b_row, p.b_column), to);
}

void multiply(const Tensor& a, const Tensor& b, const Plane& p, std::uint64_t* to) {
  for (std::int64_t row = 0; row < p.m; ++row)
    for (std::int64_t k = 0; k < p.k; ++k) {
      const auto left = static_cast<std::uint64_t>(a.integer(p.a + row * p.a_row + k * p.a_column));
      for (std::int64_t column = 0; column < p.n; ++column)
        to[row * p.n + column] += left * static_cast<std::uint64_t>(b.integer(p.b + k * p.b_row + column * p.b_column));
    }
}

Tensor wrapped(Type type, const Shape& shape, const std::vector<std::uint64_t>& values) {
  Tensor result(type, shape);
  for (std::size_t i = 0; i < values.size(); ++i)
    store_integer(result, static_cast<std::int64_t>(i), static_cast<std::int64_t>(values[i]));
  return result;
}

/// Planes of a product with broadcasting of the axes before the last two.
std::vector<Plane> planes_of(const Tensor& a, const Tensor& b, const Shape& shape) {
  Shape sa = a.shape, sb = b.shape, full = shape;
  if (b.shape.size() == 1) {
    sb.push_back(1);
    full.push_back(1);
  }
  if (a.shape.size() == 1) {
    sa.insert(sa.begin(), 1);
    full.insert(full.end() - 1, 1);
  }
  const std::int64_t m = full[full.size() - 2], n = full.back(), k = sa.back();
  if (sb.at(sb.size() - 2) != k) throw std::logic_error("reference: inner extents differ");
  const Shape outer(full.begin(), full.end() - 2);
  // One plane where b is the same for all of a's: its rows are one after the other.
  if (sb.size() == 2) return {{product_of(outer, 0, outer.size()) * m, k, n, 0, k, 1, 0, n, 1}};
  const auto begins = [&](const Shape& s) {
    const Shape planes(s.begin(), s.end() - 2);
    auto strides = broadcast_strides(planes, outer);
    for (std::int64_t& stride : strides) stride *= s[s.size() - 2] * s.back();
    return gather_indices(outer, strides);
  };
  const auto at_a = begins(sa), at_b = begins(sb);
  std::vector<Plane> planes;
  for (std::size_t i = 0; i < at_a.size(); ++i) planes.push_back({m, k, n, at_a[i], k, 1, at_b[i], n, 1});
  return planes;
}

template <typename T>
std::vector<T> all_planes(const Tensor& a, const Tensor& b, const Shape& shape) {
  std::vector<T> result(static_cast<std::size_t>(model::element_count(shape)), T{0});
  std::int64_t at = 0;
  for (const Plane& plane : planes_of(a, b, shape)) {
    multiply(a, b, plane, result.data() + at);
    at += plane.m * plane.n;
  }
  return result;
}

std::vector<Tensor> matmul(const Call& call) {
  const Tensor &a = call.x(0), &b = call.x(1);
  if (is_real(a.type)) return only(rounded(call.type(), call.shape(), all_planes<double>(a, b, call.shape())));
  return only(wrapped(call.type(), call.shape(), all_planes<std::uint64_t>(a, b, call.shape())));
}

/// Bytes minus their zero points: of A one or one a row, of B one or one a column.
std::vector<Tensor> matmul_integer(const Call& call) {
  Tensor wide[2];
  for (std::size_t i = 0; i < 2; ++i) {
    const Tensor& x = call.x(i);
    wide[i] = Tensor(Type::i32, x.shape);
    const Tensor* zero = call.find(i + 2);
    std::vector<std::int64_t> from;
    if (zero != nullptr) {
      Shape shape = zero->shape;
      if (i == 0 && shape.size() == 1 && shape[0] != 1) shape.push_back(1);
      from = broadcast_indices(shape, x.shape);
    }
    for (std::int64_t k = 0; k < x.elements(); ++k)
      store_integer(wide[i], k,
                    x.integer(k) - (zero == nullptr ? 0 : zero->integer(from[static_cast<std::size_t>(k)])));
  }
  return only(wrapped(Type::i32, call.shape(), all_planes<std::uint64_t>(wide[0], wide[1], call.shape())));
}

/// alpha A B + beta C in double precision, rounded once. Integers with alpha = beta = 1 are exact.
std::vector<Tensor> gemm(const Call& call) {
  const auto& g = call.attributes<model::GemmAttributes>();
  const Tensor &a = call.x(0), &b = call.x(1);
  const Tensor* c = call.find(2);
  const Shape& shape = call.shape();
  const std::int64_t m = shape.at(0), n = shape.at(1), k = a.shape.at(g.transpose_a ? 0 : 1);
  if (b.shape.at(g.transpose_b ? 1 : 0) != k) throw std::logic_error("reference: inner extents differ");
  Plane p = {m, k, n, 0, k, 1, 0, n, 1};
  if (g.transpose_a) std::tie(p.a_row, p.a_column) = std::make_pair(std::int64_t{1}, m);
  if (g.transpose_b) std::tie(p.b_row, p.b_column) = std::make_pair(std::int64_t{1}, k);
  const auto from_c = c == nullptr ? std::vector<std::int64_t>() : broadcast_indices(c->shape, shape);
  if (!is_real(a.type) && g.alpha == 1.0F && (c == nullptr || g.beta == 1.0F)) {
    std::vector<std::uint64_t> sums(static_cast<std::size_t>(m * n), 0);
    multiply(a, b, p, sums.data());
    for (std::size_t i = 0; i < from_c.size(); ++i) sums[i] += static_cast<std::uint64_t>(c->integer(from_c[i]));
    return only(wrapped(call.type(), shape, sums));
  }
  std::vector<double> sums(static_cast<std::size_t>(m * n), 0.0);
  multiply(a, b, p, sums.data());
  for (double& sum : sums) sum *= static_cast<double>(g.alpha);
  for (std::size_t i = 0; i < from_c.size(); ++i) sums[i] += static_cast<double>(g.beta) * c->real(from_c[i]);
  return only(rounded(call.type(), shape, sums));
}

/// The letters of an equation "ab,bc->ac": one string an operand, and the result's.
struct Equation {
  std::vector<std::string> operands;
  std::string result;
};

/// The equation is canonical: explicit, without blanks and ellipses.
Equation parse(const std::string& text, const std::vector<const Tensor*>& in) {
  const std::size_t arrow = text.find("->");
  if (arrow == std::string::npos) throw std::logic_error("reference: an Einsum equation without a result");
  Equation result;
  result.operands.emplace_back();
  for (const char c : text.substr(0, arrow)) {
    if (c == ',')
      result.operands.emplace_back();
    else
      result.operands.back() += c;
  }
  result.result = text.substr(arrow + 2);
  if (result.operands.size() != in.size()) throw std::logic_error("reference: an Einsum equation for other operands");
  for (std::size_t i = 0; i < in.size(); ++i)
    if (result.operands[i].size() != in[i]->shape.size())
      throw std::logic_error("reference: an Einsum term for another number of axes");
  return result;
}

std::vector<Tensor> einsum(const Call& call) {
  const Equation equation = parse(call.attributes<model::EinsumAttributes>().equation, call.in);
  std::map<char, std::int64_t> extents;
  for (std::size_t i = 0; i < call.in.size(); ++i)
    for (std::size_t k = 0; k < equation.operands[i].size(); ++k) {
      std::int64_t& extent = extents.emplace(equation.operands[i][k], 1).first->second;
      extent = extent == 1 ? call.x(i).shape[k] : extent;
    }
  std::string summed;
  for (const auto& entry : extents)
    if (equation.result.find(entry.first) == std::string::npos) summed += entry.first;
  const auto shape_of = [&](const std::string& labels) {
    Shape shape;
    for (const char label : labels) shape.push_back(extents.at(label));
    return shape;
  };
  // For each operand: where it begins for every element of the result, and how far from there for every summand.
  const auto indices = [&](std::size_t i, const std::string& labels) {
    const auto own = model::row_major_strides(call.x(i).shape);
    std::vector<std::int64_t> strides;
    for (const char label : labels) {
      std::int64_t stride = 0;
      for (std::size_t k = 0; k < own.size(); ++k)
        if (equation.operands[i][k] == label && call.x(i).shape[k] != 1) stride += own[k];
      strides.push_back(stride);
    }
    return gather_indices(shape_of(labels), strides);
  };
  std::vector<std::vector<std::int64_t>> begins, steps;
  std::vector<std::vector<double>> values;
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    begins.push_back(indices(i, equation.result));
    steps.push_back(indices(i, summed));
    values.push_back(reals(call.x(i)));
  }
  std::vector<double> sums(begins[0].size(), 0.0);
  for (std::size_t o = 0; o < sums.size(); ++o)
    for (std::size_t s = 0; s < steps[0].size(); ++s) {
      double product = 1.0;
      for (std::size_t i = 0; i < values.size(); ++i)
        product *= values[i][static_cast<std::size_t>(begins[i][o] + steps[i][s])];
      sums[o] += product;
    }
  return only(rounded(call.x().type, shape_of(equation.result), sums));
}

}  // namespace

Kernels matrix_kernels() {
  return {{Op::Einsum, einsum}, {Op::Gemm, gemm}, {Op::MatMul, matmul}, {Op::MatMulInteger, matmul_integer}};
}

}  // namespace tessera::golden
