// Einsum as products of two operands: repeated letters are diagonals, letters of one operand alone are summed, the rest
// is one matrix product for every index of the shared letters. More operands are taken from the left.
#include <algorithm>
#include <cstring>

#include "host/nn/lowering.h"

namespace tessera::nn {

using graph::Tensor;
using model::Node;
using model::Op;

namespace {

using Index = std::uint64_t;

/// A view and the letters of its axes.
struct Term {
  Tensor view;
  std::string letters;
};

class Einsum {
 public:
  Einsum(Lowering& lowering, const Node& node) : lowering_(lowering), builder_(lowering.builder()), node_(node) {}

  Tensor run() {
    const std::string& equation = std::get<model::EinsumAttributes>(node_.attributes).equation;
    const auto arrow = equation.find("->");
    const std::string result = equation.substr(arrow + 2);
    std::vector<Term> terms;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < node_.inputs.size(); ++i) {
      const std::size_t end = std::min(equation.find(',', begin), arrow);
      Tensor x = lowering_.materialised(node_.inputs[i]);
      if (x.type() != graph::Type::f32) x = lower_cast(builder_, x, graph::Type::f32, node_.name + " operand");
      terms.push_back({x, equation.substr(begin, end - begin)});
      begin = end + 1;
    }
    for (Term& term : terms) diagonals(term);
    widen(terms);
    Term left = terms[0];
    for (std::size_t i = 1; i < terms.size(); ++i) {
      std::string later = result;
      for (std::size_t k = i + 1; k < terms.size(); ++k) later += terms[k].letters;
      left = product(left, terms[i], later);
    }
    if (terms.size() == 1) left = product(left, {ones({}), ""}, result);
    std::vector<std::size_t> permutation;
    for (const char letter : result) permutation.push_back(left.letters.find(letter));
    return left.view.permute(permutation);
  }

 private:
  /// An axis for every letter but one: x[i, i] by the stride of both.
  void diagonals(Term& term) const {
    for (std::size_t a = 0; a < term.letters.size(); ++a)
      for (std::size_t b = term.letters.find(term.letters[a], a + 1); b != std::string::npos;
           b = term.letters.find(term.letters[a], a + 1)) {
        std::vector<std::size_t> order;
        for (std::size_t k = 0; k < term.letters.size(); ++k)
          if (k != a && k != b) order.push_back(k);
        const Index n = term.view.dim(a);
        order.push_back(a);
        order.push_back(b);
        std::vector<Tensor> parts;
        const Tensor turned = term.view.permute(order);
        for (Index i = 0; i < n; ++i)
          parts.push_back(
              turned.slice(i, i + 1, order.size() - 2).slice(i, i + 1, order.size() - 1).squeeze(order.size() - 2));
        const char letter = term.letters[a];
        term.letters.erase(b, 1);
        term.letters.erase(a, 1);
        term.letters += letter;
        term.view = Tensor::concat(parts, order.size() - 2);
        a = static_cast<std::size_t>(-1);
        break;
      }
  }

  /// Axes of extent 1 meet those of other extents.
  static void widen(std::vector<Term>& terms) {
    for (Term& term : terms)
      for (std::size_t k = 0; k < term.letters.size(); ++k)
        for (const Term& other : terms) {
          const auto at = other.letters.find(term.letters[k]);
          if (at != std::string::npos && term.view.dim(k) == 1 && other.view.dim(at) != 1)
            term.view = term.view.broadcast(other.view.dim(at), k);
        }
  }

  Tensor ones(const graph::Shape& shape) {
    model::Tensor one(model::Type::f32, {shape.begin(), shape.end()});
    for (std::int64_t i = 0; i < one.elements(); ++i) one.set(i, 1.0F);
    return builder_.linear_constant(one, node_.name + " ones");
  }

  static Index extent(const Term& term, char letter) { return term.view.dim(term.letters.find(letter)); }

  /// The axes of these letters in this order, three groups as one axis each.
  Tensor grouped(const Term& term, const std::string& first, const std::string& second, const std::string& third) {
    std::vector<std::size_t> permutation;
    graph::Shape shape;
    for (const std::string* group : {&first, &second, &third}) {
      Index n = 1;
      for (const char letter : *group) {
        permutation.push_back(term.letters.find(letter));
        n *= extent(term, letter);
      }
      shape.push_back(n);
    }
    const Tensor turned = term.view.permute(permutation);
    if (turned.contiguous()) return turned.reshape(shape);
    const Tensor whole = builder_.linear(turned.type(), turned.shape(), node_.name + " operand");
    builder_.copy(turned, whole, node_.name + " operand");
    return whole.reshape(shape);
  }

  /// Both operands' letters without those that neither the result nor a later operand has.
  Term product(const Term& a, const Term& b, const std::string& later) {
    std::string shared, inner, of_a, of_b;
    const auto has = [](const std::string& text, char letter) { return text.find(letter) != std::string::npos; };
    for (const char letter : a.letters) {
      const bool kept = has(later, letter), both = has(b.letters, letter);
      (both ? (kept ? shared : inner) : kept ? of_a : inner) += letter;
    }
    for (const char letter : b.letters)
      if (!has(a.letters, letter)) (has(later, letter) ? of_b : inner) += letter;
    // Inner letters of one operand alone: the other is the same all along them.
    Term wide_a = a, wide_b = b;
    for (const char letter : inner) {
      for (auto [term, other] : {std::pair<Term*, const Term*>{&wide_a, &b}, {&wide_b, &a}})
        if (!has(term->letters, letter)) {
          term->view = term->view.expand(term->letters.size()).broadcast(extent(*other, letter), term->letters.size());
          term->letters += letter;
        }
    }
    const Tensor left = grouped(wide_a, shared, of_a, inner), right = grouped(wide_b, shared, inner, of_b);
    graph::Shape shape;
    for (const char letter : shared + of_a) shape.push_back(extent(wide_a, letter));
    for (const char letter : of_b) shape.push_back(extent(wide_b, letter));
    const std::string letters = shared + of_a + of_b;
    if (graph::element_count(shape) == 0 || left.dim(2) == 0) {
      const model::Shape extents(shape.begin(), shape.end());
      const bool none = graph::element_count(shape) == 0;
      return {none ? builder_.linear(graph::Type::f32, shape, node_.name)
                   : builder_.linear_constant(model::Tensor(model::Type::f32, extents), node_.name),
              letters};
    }
    std::vector<MatmulOperands> list;
    for (Index p = 0; p < left.dim(0); ++p) list.push_back({left[p], {right[p], nullptr}, {}});
    std::string note;
    const auto sram = lowering_.options().sram_bytes;
    const auto results =
        lower_matmuls(builder_, list, {sram / 2, sram / 4, lowering_.refused_bytes()}, node_.name, note);
    lowering_.notes().push_back({node_.name, note});
    std::vector<Tensor> stacked;
    for (const Tensor& result : results) stacked.push_back(result.expand(0));
    const Tensor all = Tensor::concat(stacked, 0);
    const Tensor whole = builder_.linear(graph::Type::f32, all.shape(), node_.name + " result");
    builder_.copy(all, whole, node_.name + " result");
    return {whole.reshape(shape), letters};
  }

  Lowering& lowering_;
  Builder& builder_;
  const Node& node_;
};

void lower_einsum(Lowering& lowering, const Node& node) {
  Tensor result = Einsum(lowering, node).run();
  const graph::Type type = type_of(lowering.out(node).type);
  if (type != graph::Type::f32) result = lower_cast(lowering.builder(), result, type, node.name);
  lowering.view(node.outputs[0]) = result;
}

std::string refuse_einsum(const model::Model& model, const Node& node) {
  const model::Type type = model.value(node.outputs.at(0)).type;
  return type == model::Type::f32 || type == model::Type::f16 ? "" : "no codelet for this type, use f32 or f16";
}

}  // namespace

std::vector<Rule> einsum_rules() { return {{Op::Einsum, lower_einsum, refuse_einsum}}; }

}  // namespace tessera::nn
