// Random vertices and their expected results (vertex_cases.h). Expectations use doubles and standard functions only.
#include "host/codelets/vertex_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace tessera {
namespace {

bool starts(const std::string& text, std::string_view with) { return text.rfind(with, 0) == 0; }

std::uint32_t below(std::uint32_t n, std::mt19937& random) { return static_cast<std::uint32_t>(random() % n); }

float random_f32(std::mt19937& random, bool finite) {
  static constexpr std::uint32_t kSpecial[] = {0,          0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345,
                                               0x00000001, 0x807fffff, 0x7f7fffff, 0x3f800000, 0x42b00000, 0xc2d00000};
  if (!finite && below(8, random) == 0) {
    float value;
    std::memcpy(&value, &kSpecial[below(std::size(kSpecial), random)], 4);
    return value;
  }
  return (static_cast<float>(below(20001, random)) - 10000.0f) * (below(4, random) == 0 ? 0.01f : 0.0005f);
}

std::uint32_t random_i32(std::mt19937& random) {
  static constexpr std::uint32_t kSpecial[] = {0, 1, 0xffffffff, 0x80000000, 0x7fffffff};
  if (below(6, random) == 0) return kSpecial[below(std::size(kSpecial), random)];
  return below(2, random) == 0 ? below(201, random) - 100u : static_cast<std::uint32_t>(random());
}

Binding data(FieldType type, std::uint32_t count, std::mt19937& random, bool finite = false) {
  Binding b;
  b.count = count;
  b.bytes.resize(std::size_t{count} * field_type_bytes(type));
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint32_t bits = random_i32(random);
    if (type == FieldType::f32) {
      const float value = random_f32(random, finite);
      std::memcpy(&bits, &value, 4);
    }
    if (type == FieldType::boolean) bits = below(2, random);
    std::memcpy(&b.bytes[std::size_t{i} * field_type_bytes(type)], &bits, field_type_bytes(type));
  }
  return b;
}

Binding number(std::uint32_t value) { return {{}, 0, value}; }

/// Sets the data of every pointer field by `count` and leaves values alone.
template <class Count>
void fill_data(const CodeletInfo& c, Bindings& b, std::mt19937& random, bool finite, Count count) {
  for (const auto& f : c.fields)
    if (!f.is_value()) b[f.name] = data(f.type, count(f.name), random, finite);
}

template <class T>
T at(const Bindings& b, const std::string& field, std::size_t i) {
  T value;
  const auto& bytes = b.at(field).bytes;
  if ((i + 1) * sizeof(T) > bytes.size()) throw std::logic_error("expectation reads outside " + field);
  std::memcpy(&value, &bytes[i * sizeof(T)], sizeof(T));
  return value;
}

std::uint32_t value(const Bindings& b, const std::string& field) { return b.at(field).value; }
std::int64_t signed_value(const Bindings& b, const std::string& field) {
  return static_cast<std::int32_t>(b.at(field).value);
}

/// One element by its type as a double (exact for all types here).
double element(const Bindings& b, const Field& f, std::size_t i) {
  switch (f.type) {
    case FieldType::f32:
      return at<float>(b, f.name, i);
    case FieldType::i32:
      return at<std::int32_t>(b, f.name, i);
    case FieldType::u32:
      return at<std::uint32_t>(b, f.name, i);
    case FieldType::i16:
      return at<std::int16_t>(b, f.name, i);
    case FieldType::i8:
      return at<std::int8_t>(b, f.name, i);
    case FieldType::u16:
    case FieldType::f16:
      return at<std::uint16_t>(b, f.name, i);
    default:
      return at<std::uint8_t>(b, f.name, i);
  }
}

std::int32_t wrap(std::int64_t v) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(v)); }

/// Result of an elementwise operation, already rounded to the output type; `close` allows 2 units in the last place.
double apply(const std::string& op, const std::string& type, double a, double b, bool& close) {
  if (op == "Equal") return a == b;
  if (op == "Less") return a < b;
  if (op == "LessOrEqual") return a <= b;
  if (op == "Greater") return a > b;
  if (op == "GreaterOrEqual") return a >= b;
  if (op == "And") return a != 0 && b != 0;
  if (op == "Or") return a != 0 || b != 0;
  if (op == "Xor") return (a != 0) != (b != 0);
  if (op == "Not") return a == 0;
  if (type == "i32") {
    const auto x = static_cast<std::int64_t>(a), y = static_cast<std::int64_t>(b);
    if (op == "Add") return wrap(x + y);
    if (op == "Sub") return wrap(x - y);
    if (op == "Mul") return wrap(x * y);
    if (op == "Div") return y == 0 ? -1 : wrap(x / y);
    if (op == "Min") return static_cast<double>(std::min(x, y));
    if (op == "Max") return static_cast<double>(std::max(x, y));
    if (op == "Neg") return wrap(-x);
    if (op == "Abs") return wrap(x < 0 ? -x : x);
  }
  // A double holds sum, product, quotient and root of two f32 well enough that one more rounding gives the f32 result.
  if (op == "Add") return static_cast<float>(a + b);
  if (op == "Sub") return static_cast<float>(a - b);
  if (op == "Mul") return static_cast<float>(a * b);
  if (op == "Div") return static_cast<float>(a / b);
  if (op == "Min") return std::fmin(a, b);
  if (op == "Max") return std::fmax(a, b);
  if (op == "Relu") return std::isnan(a) ? a : a > 0 ? a : 0.0;
  if (op == "Neg") return -a;
  if (op == "Abs") return std::fabs(a);
  if (op == "Sqrt") return static_cast<float>(std::sqrt(a));
  if (op == "Reciprocal") return static_cast<float>(1.0 / a);
  close = true;
  if (op == "Exp") return std::exp(a);
  if (op == "Log") return std::log(a);
  if (op == "Sigmoid") return 1.0 / (1.0 + std::exp(-a));
  if (op == "Tanh") return std::tanh(a);
  throw std::logic_error("no expectation for operation " + op);
}

double cast(double v, FieldType from, FieldType to) {
  if (to == FieldType::boolean) return v != 0;
  if (to == FieldType::f32) return static_cast<float>(v);
  std::int32_t whole = 0;
  if (from == FieldType::f32 && (std::isnan(v) || v >= 2147483647.0))
    whole = std::numeric_limits<std::int32_t>::max();
  else if (v <= -2147483648.0)
    whole = std::numeric_limits<std::int32_t>::min();
  else
    whole = static_cast<std::int32_t>(v);
  const auto bits = static_cast<std::uint32_t>(whole);
  if (to == FieldType::u8) return static_cast<std::uint8_t>(bits);
  if (to == FieldType::i8) return static_cast<std::int8_t>(static_cast<std::uint8_t>(bits));
  return whole;
}

bool same(double got, double want, double tolerance) {
  if (std::isnan(want)) return std::isnan(got);
  if (got == want) return true;
  return std::fabs(got - want) <= tolerance;
}

double two_ulp(double want) {
  if (!std::isfinite(want)) return 0;
  const double magnitude = std::max(std::fabs(want), 1.1754943508222875e-38);
  return 2.0 * std::ldexp(1.0, std::ilogb(magnitude) - 23);
}

/// Collects comparisons.
class Check {
 public:
  explicit Check(std::string& difference) : difference_(difference) {}
  void operator()(const std::string& what, std::size_t i, double got, double want, double tolerance = 0) {
    ++count_;
    if (!same(got, want, tolerance) && difference_.empty())
      difference_ = fmt::format("{}[{}] is {:.9g}, expected {:.9g}", what, i, got, want);
  }
  [[nodiscard]] int count() const { return count_; }

 private:
  std::string& difference_;
  int count_ = 0;
};

/// "Add_f32_scalar" -> operation "Add", type "f32", form "_scalar".
struct Name {
  std::string op, type, form;
};
Name split(const std::string& name) {
  const auto first = name.find('_'), second = name.find('_', first + 1);
  return {name.substr(0, first), first == std::string::npos ? "" : name.substr(first + 1, second - first - 1),
          second == std::string::npos ? "" : name.substr(second)};
}

void check_elementwise(const CodeletInfo& c, const Bindings& before, const Bindings& after, Check& check) {
  const Name name = split(c.name);
  const Field &y = *c.field("y"), &a = c.field("a") != nullptr ? *c.field("a") : *c.field("x");
  const Field* b = c.field("b");
  const auto one = [&](std::size_t ia, std::size_t ib, std::size_t iy) {
    if (name.op == "Cast") {
      check("y", iy, element(after, y, iy), cast(element(before, a, ia), a.type, y.type));
      return;
    }
    bool close = false;
    const double want = apply(name.op, name.type, element(before, a, ia), b ? element(before, *b, ib) : 0.0, close);
    check("y", iy, element(after, y, iy), close ? static_cast<float>(want) : want, close ? two_ulp(want) : 0.0);
  };
  if (name.form == "_rows") {
    for (std::int64_t r = 0; r < signed_value(before, "rows"); ++r)
      for (std::int64_t k = 0; k < signed_value(before, "columns"); ++k)
        one(static_cast<std::size_t>(r * signed_value(before, "a_stride") + k * signed_value(before, "a_step")),
            static_cast<std::size_t>(r * signed_value(before, "b_stride") + k * signed_value(before, "b_step")),
            static_cast<std::size_t>(r * signed_value(before, "y_stride") + k));
    return;
  }
  for (std::size_t i = 0; i < after.at("y").count; ++i)
    one(name.form == "_scalar_left" ? 0 : i, name.form == "_scalar" ? 0 : i, i);
}

void check_strided(const CodeletInfo& c, const Bindings& before, const Bindings& after, Check& check) {
  Bindings want = before;
  const std::size_t bytes = field_type_bytes(c.field("x")->type);
  const auto v = [&](const char* name, int d) { return signed_value(before, name + std::to_string(d)); };
  for (std::int64_t i0 = 0; i0 < v("n", 0); ++i0)
    for (std::int64_t i1 = 0; i1 < v("n", 1); ++i1)
      for (std::int64_t i2 = 0; i2 < v("n", 2); ++i2)
        for (std::int64_t i3 = 0; i3 < v("n", 3); ++i3) {
          const auto from = i0 * v("xs", 0) + i1 * v("xs", 1) + i2 * v("xs", 2) + i3 * v("xs", 3);
          const auto to = i0 * v("ys", 0) + i1 * v("ys", 1) + i2 * v("ys", 2) + i3 * v("ys", 3);
          std::memcpy(&want.at("y").bytes.at(static_cast<std::size_t>(to) * bytes),
                      &before.at("x").bytes.at(static_cast<std::size_t>(from) * bytes), bytes);
        }
  for (std::size_t i = 0; i < after.at("y").bytes.size(); ++i)
    check("y", i, after.at("y").bytes[i], want.at("y").bytes[i]);
}

void check_reduce(const CodeletInfo& c, const Bindings& before, const Bindings& after, Check& check) {
  const std::string op = split(c.name).op;
  const Field &x = *c.field("x"), &y = *c.field("y");
  const std::size_t axis = value(before, "axis"), inner = value(before, "inner");
  const auto round = [&](double v) {
    return x.type == FieldType::i32 ? wrap(static_cast<std::int64_t>(v)) : static_cast<double>(static_cast<float>(v));
  };
  for (std::size_t o = 0; o < value(before, "outer"); ++o)
    for (std::size_t i = 0; i < inner; ++i) {
      double result = element(before, x, o * axis * inner + i);
      for (std::size_t k = 1; k < axis; ++k) {
        const double v = element(before, x, (o * axis + k) * inner + i);
        if (op == "ReduceAdd") result = round(result + v);
        if (op == "ReduceMul") result = round(result * v);
        if (op == "ReduceMax") result = std::isnan(result) || std::isnan(v) ? NAN : std::max(result, v);
        if (op == "ReduceMin") result = std::isnan(result) || std::isnan(v) ? NAN : std::min(result, v);
      }
      check("y", o * inner + i, element(after, y, o * inner + i), result);
    }
}

void check_softmax(const CodeletInfo& c, const Bindings& before, const Bindings& after, Check& check) {
  const std::size_t columns = value(before, "columns");
  const bool shifted = c.name == "ExpShifted_f32", log = c.name == "LogSoftmax_f32";
  const std::size_t xs = shifted ? columns : value(before, "x_stride"),
                    ys = shifted ? columns : value(before, "y_stride");
  for (std::size_t r = 0; r < value(before, "rows"); ++r) {
    double largest = -HUGE_VAL, sum = 0;
    for (std::size_t k = 0; k < columns; ++k) largest = std::max<double>(largest, at<float>(before, "x", r * xs + k));
    if (shifted) largest = at<float>(before, "largest", r);
    for (std::size_t k = 0; k < columns; ++k) sum += std::exp(at<float>(before, "x", r * xs + k) - largest);
    for (std::size_t k = 0; k < columns; ++k) {
      const double d = at<float>(before, "x", r * xs + k) - largest;
      const double want = log ? d - std::log(sum) : shifted ? std::exp(d) : std::exp(d) / sum;
      check("y", r * ys + k, at<float>(after, "y", r * ys + k), want,
            log ? 1e-6 * (1 + std::fabs(d)) : want * (3e-6 + 1.2e-7 * std::fabs(d)) + 3e-45);
    }
    if (shifted) check("sum", r, at<float>(after, "sum", r), sum, 3e-5 * sum + 1e-44);
  }
}

void check_matmul(const CodeletInfo& c, const Bindings& before, const Bindings& after, Check& check) {
  const bool transposed = c.name.find("NT") != std::string::npos;
  const std::size_t lda = value(before, "lda"), ldb = value(before, "ldb"), ldc = value(before, "ldc");
  for (std::size_t m = 0; m < value(before, "m"); ++m)
    for (std::size_t n = 0; n < value(before, "n"); ++n) {
      float sum = 0;
      if (c.name.find("Accumulate") != std::string::npos) sum = at<float>(before, "c", m * ldc + n);
      if (c.field("bias") != nullptr) sum = at<float>(before, "bias", n);
      for (std::size_t k = 0; k < value(before, "k"); ++k)
        sum = std::fma(at<float>(before, "a", m * lda + k),
                       at<float>(before, "b", transposed ? n * ldb + k : k * ldb + n), sum);
      check("c", m * ldc + n, at<float>(after, "c", m * ldc + n), sum);
    }
}

void check_dynamic(const CodeletInfo& c, const Bindings& before, const Bindings& after, Check& check) {
  const Field &x = *c.field("x"), &y = *c.field("y");
  const bool update = starts(c.name, "DynamicUpdate");
  const std::int64_t index = std::clamp<std::int64_t>(at<std::int32_t>(before, "index", 0), 0, value(before, "limit"));
  const auto start = static_cast<std::size_t>(index * value(before, "stride"));
  const std::size_t n = update ? before.at("x").count : after.at("y").count;
  for (std::size_t i = 0; i < n; ++i)
    check("y", i, element(after, y, update ? start + i : i), element(before, x, update ? i : start + i));
}

}  // namespace

Bindings random_vertex(const CodeletInfo& c, std::uint32_t size, std::mt19937& random) {
  Bindings b;
  const Name name = split(c.name);
  const std::uint32_t rows = 1 + below(5, random), columns = std::max<std::uint32_t>(1, size);
  for (const auto& f : c.fields)
    if (f.is_value()) b[f.name] = number(0);
  if (name.form == "_rows") {
    const std::uint32_t a_step = below(2, random), b_step = below(2, random);
    const std::uint32_t gap = below(3, random);
    b["rows"] = number(rows), b["columns"] = number(columns), b["a_step"] = number(a_step),
    b["b_step"] = number(b_step);
    b["a_stride"] = number(a_step ? columns + gap : below(2, random)),
    b["b_stride"] = number(below(2, random) ? 0 : columns);
    b["y_stride"] = number(columns + gap);
    fill_data(c, b, random, false, [&](const std::string&) { return rows * (columns + gap) + columns; });
  } else if (starts(c.name, "CopyStrided")) {
    // y is x with two axes exchanged and one reversed.
    const std::uint32_t n[4] = {1 + below(3, random), 1 + below(3, random), 1 + below(4, random), columns};
    std::uint32_t total = 1;
    for (int d = 3; d >= 0; --d) {
      b["n" + std::to_string(d)] = number(n[d]);
      b["xs" + std::to_string(d)] = number(total);
      total *= n[d];
    }
    b["ys2"] = number(1), b["ys3"] = number(n[2]), b["ys1"] = number(n[2] * n[3]),
    b["ys0"] = number(n[1] * n[2] * n[3]);
    fill_data(c, b, random, false, [&](const std::string&) { return total; });
  } else if (starts(c.name, "Dynamic")) {
    const std::uint32_t limit = below(6, random), stride = 1 + below(5, random);
    b["limit"] = number(limit), b["stride"] = number(stride);
    fill_data(c, b, random, false, [&](const std::string& f) {
      const bool whole = f == (starts(c.name, "DynamicSlice") ? "x" : "y");
      return f == "index" ? 1 : whole ? limit * stride + columns : columns;
    });
    const std::int32_t index = static_cast<std::int32_t>(below(limit + 5, random)) - 2;
    std::memcpy(b["index"].bytes.data(), &index, 4);
  } else if (starts(c.name, "Reduce")) {
    const std::uint32_t inner = below(2, random) ? 1 : 1 + below(5, random);
    b["outer"] = number(rows), b["axis"] = number(columns), b["inner"] = number(inner);
    fill_data(c, b, random, false,
              [&](const std::string& f) { return f == "x" ? rows * columns * inner : rows * inner; });
  } else if (starts(c.name, "MatMul")) {
    const bool transposed = c.name.find("NT") != std::string::npos;
    const std::uint32_t m = 1 + below(9, random), n = 1 + below(9, random), k = columns, gap = below(3, random);
    b["m"] = number(m), b["n"] = number(n), b["k"] = number(k), b["lda"] = number(k + gap);
    b["ldb"] = number((transposed ? k : n) + gap), b["ldc"] = number(n + gap);
    fill_data(c, b, random, true, [&](const std::string& f) {
      return f == "a" ? m * (k + gap) : f == "b" ? (transposed ? n * (k + gap) : k * (n + gap)) : m * (n + gap);
    });
  } else if (c.field("rows") != nullptr) {  // rows of softmax and argmax
    const std::uint32_t gap = c.field("x_stride") != nullptr ? below(3, random) : 0;
    b["rows"] = number(rows), b["columns"] = number(columns);
    if (c.field("x_stride") != nullptr) b["x_stride"] = number(columns + gap), b["y_stride"] = number(columns);
    fill_data(c, b, random, true,
              [&](const std::string& f) { return f == "largest" || f == "sum" ? rows : rows * (columns + gap); });
    if (c.field("largest") != nullptr) {  // as a row maximum over more tiles: not below any element
      for (std::uint32_t r = 0; r < rows; ++r) {
        float most = at<float>(b, "largest", r);
        for (std::uint32_t k = 0; k < columns; ++k) most = std::max(most, at<float>(b, "x", r * columns + k));
        std::memcpy(&b["largest"].bytes[r * 4], &most, 4);
      }
    }
  } else {
    // Elementwise, copy, fill, predicates: every data field has the same count, but for the one that is a single
    // element.
    const std::uint32_t step = c.name == "Copy_u64" ? 2 : 1;
    const std::string single = name.form == "_scalar" ? "b" : name.form == "_scalar_left" ? "a" : "";
    fill_data(c, b, random, false, [&](const std::string& f) {
      const bool predicate = c.name == "All_bool" || c.name == "Any_bool";
      return f == single || (predicate && f == "y") ? 1 : columns * step;
    });
    if (c.field("value") != nullptr) b["value"] = number(static_cast<std::uint32_t>(random()));
  }
  return b;
}

int check_vertex(const CodeletInfo& c, const Bindings& before, const Bindings& after, std::string& difference) {
  Check check(difference);
  if (starts(c.name, "CopyStrided")) {
    check_strided(c, before, after, check);
  } else if (starts(c.name, "Copy")) {
    for (std::size_t i = 0; i < after.at("y").bytes.size(); ++i)
      check("y", i, after.at("y").bytes[i], before.at("x").bytes[i]);
  } else if (starts(c.name, "Fill")) {
    const std::uint32_t mask = ~std::uint32_t{0} >> (32 - 8 * field_type_bytes(c.field("y")->type));
    for (std::size_t i = 0; i < after.at("y").count; ++i)
      check("y", i, element(after, *c.field("y"), i), value(before, "value") & mask);
  } else if (starts(c.name, "Dynamic")) {
    check_dynamic(c, before, after, check);
  } else if (starts(c.name, "Reduce")) {
    check_reduce(c, before, after, check);
  } else if (starts(c.name, "MatMul")) {
    check_matmul(c, before, after, check);
  } else if (c.name == "ArgMax_f32") {
    const std::size_t columns = value(before, "columns");
    for (std::size_t r = 0; r < value(before, "rows"); ++r) {
      std::size_t best = 0;
      for (std::size_t k = 1; k < columns; ++k)
        if (at<float>(before, "x", r * columns + k) > at<float>(before, "x", r * columns + best)) best = k;
      check("y", r, at<std::int32_t>(after, "y", r), static_cast<double>(best));
    }
  } else if (c.field("rows") != nullptr && split(c.name).form != "_rows") {
    check_softmax(c, before, after, check);
  } else if (c.name == "All_bool" || c.name == "Any_bool") {
    std::uint32_t all = 1, any = 0;
    for (const std::uint8_t v : before.at("x").bytes) all &= v, any |= v;
    check("y", 0, at<std::uint32_t>(after, "y", 0), c.name == "All_bool" ? all : any);
  } else {
    check_elementwise(c, before, after, check);
  }
  return check.count();
}

}  // namespace tessera
