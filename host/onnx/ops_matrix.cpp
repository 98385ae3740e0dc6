// Matrix products and sums of products by index notation.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "host/onnx/ops.h"

namespace tessera::model {

namespace {

constexpr Types kWideInteger = bit(Type::i32) | bit(Type::u32) | bit(Type::i64);

Inferred infer_matmul_shape(const Inference& i) {
  Shape a = i.shape(0), b = i.shape(1);
  if (a.empty() || b.empty()) misfit("MatMul of a scalar");
  const bool vector_a = a.size() == 1, vector_b = b.size() == 1;
  if (vector_a) a.insert(a.begin(), 1);
  if (vector_b) b.push_back(1);
  if (a.back() != b[b.size() - 2]) misfit(fmt::format("inner extents of {} and {} differ", to_string(a), to_string(b)));
  Shape result = broadcast(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2));
  if (!vector_a) result.push_back(a[a.size() - 2]);
  if (!vector_b) result.push_back(b.back());
  return {{i.type(), result}};
}

Inferred infer_matmul(const Inference& i) {
  i.same_type(0, 1);
  return infer_matmul_shape(i);
}

Inferred infer_matmul_integer(const Inference& i) {
  constexpr Types kBytes = bit(Type::i8) | bit(Type::u8);
  Inferred result = infer_matmul_shape(i);
  if ((bit(i.type(1)) & kBytes) == 0) misfit("MatMulInteger takes bytes");
  const Shape &a = i.shape(0), &b = i.shape(1);
  if (i.has(2)) {
    i.same_type(0, 2);
    Shape zero = i.shape(2), rows = a;
    rows.back() = 1;
    if (zero.size() == 1 && zero[0] != 1) zero.push_back(1);  // of each row
    if (broadcast(zero, rows) != rows) misfit("the zero point of A is none of its rows");
  }
  if (i.has(3)) {
    i.same_type(1, 3);
    Shape columns = b;
    if (b.size() > 1) columns[b.size() - 2] = 1;
    if (broadcast(i.shape(3), columns) != columns) misfit("the zero point of B is none of its columns");
  }
  result[0].first = Type::i32;
  return result;
}

void translate_gemm(Reading& r) {
  r.node.attributes = GemmAttributes{r.real("alpha", 1.0F), r.real("beta", 1.0F), r.flag("transA"), r.flag("transB")};
}

Inferred infer_gemm(const Inference& i) {
  const auto& gemm = i.attributes<GemmAttributes>();
  const Shape &a = i.shape(0), &b = i.shape(1);
  i.same_type(0, 1);
  i.same_type(0, 2);
  if (a.size() != 2 || b.size() != 2) misfit("Gemm takes matrices");
  const Shape result = {a[gemm.transpose_a ? 1 : 0], b[gemm.transpose_b ? 0 : 1]};
  if (a[gemm.transpose_a ? 0 : 1] != b[gemm.transpose_b ? 1 : 0])
    misfit(fmt::format("inner extents of {} and {} differ", to_string(a), to_string(b)));
  if (i.has(2) && broadcast(i.shape(2), result) != result)
    misfit(fmt::format("C {} does not broadcast to {}", to_string(i.shape(2)), to_string(result)));
  return {{i.type(), result}};
}

/// Letters of an equation's terms, and of its result.
struct Equation {
  std::vector<std::string> terms;
  std::string result;
};

Equation split(const std::string& text) {
  const auto arrow = text.find("->");
  Equation equation;
  std::string left = text.substr(0, arrow);
  for (std::size_t begin = 0, comma = 0; comma != std::string::npos; begin = comma + 1) {
    comma = left.find(',', begin);
    equation.terms.push_back(left.substr(begin, comma == std::string::npos ? comma : comma - begin));
  }
  if (arrow != std::string::npos) equation.result = text.substr(arrow + 2);
  return equation;
}

/// Spells out ellipses, the result, and drops blanks.
class EinsumReader {
 public:
  explicit EinsumReader(Reading& reading) : r_(reading) {
    for (const char c : r_.text("equation", ""))
      if (c != ' ') text_ += c;
  }

  std::string canonical() {
    Equation equation = split(text_);
    if (equation.terms.size() != r_.node.inputs.size())
      r_.fail(fmt::format("equation '{}' for {} operands", text_, r_.node.inputs.size()));
    std::size_t widest = 0;
    std::vector<std::size_t> hidden;
    for (std::size_t i = 0; i < equation.terms.size(); ++i) {
      hidden.push_back(hidden_axes(equation.terms[i], static_cast<std::size_t>(r_.rank(i))));
      widest = std::max(widest, hidden.back());
    }
    const std::string spare = spare_letters(widest);
    for (std::size_t i = 0; i < equation.terms.size(); ++i)
      spell_out(equation.terms[i], spare.substr(widest - hidden[i]));
    if (text_.find("->") == std::string::npos)
      equation.result = spare + letters_of_one_term(equation, spare);
    else
      spell_out(equation.result, spare);
    check_letters(equation.result);
    return fmt::format("{}->{}", fmt::join(equation.terms, ","), equation.result);
  }

 private:
  std::size_t hidden_axes(const std::string& term, std::size_t rank) const {
    const bool has_ellipsis = term.find("...") != std::string::npos;
    const std::size_t letters = term.size() - (has_ellipsis ? 3 : 0);
    if (letters > rank || (!has_ellipsis && letters != rank))
      r_.fail(fmt::format("term '{}' for an operand with {} axes", term, rank));
    return rank - letters;
  }

  std::string spare_letters(std::size_t count) const {
    std::string letters;
    for (char c = 'A'; c <= 'z' && letters.size() < count; ++c)
      if ((c <= 'Z' || c >= 'a') && text_.find(c) == std::string::npos) letters += c;
    if (letters.size() < count) r_.refuse("an equation with more than 52 axes");
    return letters;
  }

  void spell_out(std::string& term, const std::string& letters) const {
    const auto at = term.find("...");
    if (at != std::string::npos) term.replace(at, 3, letters);
    check_letters(term);
  }

  void check_letters(const std::string& term) const {
    if (!std::all_of(term.begin(), term.end(), [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }))
      r_.fail(fmt::format("equation '{}'", text_));
  }

  static std::string letters_of_one_term(const Equation& equation, const std::string& except) {
    std::map<char, int> uses;
    for (const std::string& term : equation.terms)
      for (const char c : term) ++uses[c];
    std::string result;
    for (const auto& [letter, count] : uses)
      if (count == 1 && except.find(letter) == std::string::npos) result += letter;
    return result;
  }

  Reading& r_;
  std::string text_;
};

void translate_einsum(Reading& r) { r.node.attributes = EinsumAttributes{EinsumReader(r).canonical()}; }

Inferred infer_einsum(const Inference& i) {
  const Equation equation = split(i.attributes<EinsumAttributes>().equation);
  std::map<char, std::int64_t> extents;
  for (std::size_t k = 0; k < equation.terms.size(); ++k) {
    i.same_type(0, k);
    if (equation.terms[k].size() != i.rank(k)) misfit(fmt::format("term '{}'", equation.terms[k]));
    for (std::size_t axis = 0; axis < i.rank(k); ++axis) {
      const std::int64_t extent = i.shape(k)[axis];
      const auto [known, fresh] = extents.emplace(equation.terms[k][axis], extent);
      if (!fresh && known->second != extent && known->second != 1 && extent != 1)
        misfit(fmt::format("'{}' is {} and {}", known->first, known->second, extent));
      if (known->second == 1) known->second = extent;
    }
  }
  Shape shape;
  for (const char letter : equation.result) {
    if (extents.count(letter) == 0 || std::count(equation.result.begin(), equation.result.end(), letter) != 1)
      misfit(fmt::format("'{}' of the result", letter));
    shape.push_back(extents.at(letter));
  }
  return {{i.type(), shape}};
}

}  // namespace

std::vector<Operator> matrix_operators() {
  return {{Op::Einsum, kReal, translate_einsum, infer_einsum},
          {Op::Gemm, kReal | kWideInteger, translate_gemm, infer_gemm},
          {Op::MatMul, kReal | kWideInteger, translate_nothing, infer_matmul},
          {Op::MatMulInteger, bit(Type::i8) | bit(Type::u8), translate_nothing, infer_matmul_integer}};
}

}  // namespace tessera::model
