// Recurrent cells: the product by plain sums, the cells by the formulas of ONNX in doubles.
#include <algorithm>
#include <array>

#include "host/codelets/vertex_case_tools.h"

namespace tessera::cases {
namespace {

constexpr std::size_t kWorkers = 6;

double sum_of(const Bindings& b, std::size_t row) {
  double sum = 0;
  for (std::size_t w = 0; w < kWorkers; ++w) sum += at<float>(b, "partials", row * kWorkers + w);
  return sum;
}

Bindings generate_product(const CodeletInfo& c, std::uint32_t size, std::mt19937& random) {
  Bindings b = zero_values(c);
  const std::uint32_t lanes = c.field("h")->type == FieldType::f16 ? 4 : 2;
  const std::uint32_t vectors = (size + 1) / 2 * 2, share = (vectors / 2 + 5) / 6 * 2;
  const std::uint32_t groups = 1 + below(2, random), batch = 1 + below(2, random), stride = vectors * lanes + 8;
  b["groups"] = number(groups), b["vectors"] = number(vectors), b["share"] = number(share);
  b["batch"] = number(batch), b["stride"] = number(stride), b["advance"] = number(below(2, random));
  fill_data(c, b, random, true, [&](const std::string& f) {
    if (f == "step") return 1U;
    if (f == "weights") return groups * 6 * share * 4 * lanes;
    return f == "h" ? batch * stride : batch * groups * 4 * 6;
  });
  return b;
}

void check_product(const CodeletInfo& c, const Bindings& before, const Bindings& after, Check& check) {
  const Field &w = *c.field("weights"), &h = *c.field("h");
  const std::size_t lanes = h.type == FieldType::f16 ? 4 : 2, share = value(before, "share");
  const std::size_t groups = value(before, "groups"), vectors = value(before, "vectors");
  for (std::size_t b = 0; b < value(before, "batch"); ++b)
    for (std::size_t row = 0; row < groups * 4; ++row)
      for (std::size_t worker = 0; worker < kWorkers; ++worker) {
        double sum = 0, size = 0;
        for (std::size_t k = worker * share; k < std::min(vectors, (worker + 1) * share); ++k)
          for (std::size_t lane = 0; lane < lanes; ++lane) {
            const std::size_t place =
                ((((row / 4) * kWorkers + worker) * share + k - worker * share) * 4 + row % 4) * lanes + lane;
            const double term =
                element(before, w, place) * element(before, h, b * value(before, "stride") + k * lanes + lane);
            sum += term, size += std::fabs(term);
          }
        const std::size_t i = (b * groups * 4 + row) * kWorkers + worker;
        check("partials", i, at<float>(after, "partials", i), sum, size * 2e-6 + 1e-30);
      }
  check("step", 0, at<std::uint32_t>(after, "step", 0),
        static_cast<std::uint32_t>(at<std::uint32_t>(before, "step", 0) + value(before, "advance")));
}

/// Gates of a unit that a product row or z of this cell holds.
std::uint32_t gates_of(const CodeletInfo& c, bool of_product) {
  if (starts(c.name, "Lstm")) return 4;
  if (starts(c.name, "GruCell")) return 3;
  if (starts(c.name, "GruGates")) return of_product ? 2 : 3;
  if (starts(c.name, "GruUpdate")) return of_product ? 1 : 3;
  return 1;
}

/// The cell takes sums of the matrix unit: rows of eight, three gates in the place of four.
bool takes_sums(const CodeletInfo& c) { return c.name.find("Sums") != std::string::npos; }
std::uint32_t sums_of_unit(const CodeletInfo& c) { return gates_of(c, true) == 3 ? 4 : gates_of(c, true); }

Bindings generate_step(const CodeletInfo& c, std::uint32_t, std::mt19937& random) {
  Bindings b = zero_values(c);
  fill_data(c, b, random, true, [](const std::string&) { return 1U; });
  return b;
}
void check_step(const CodeletInfo&, const Bindings& before, const Bindings& after, Check& check) {
  check("step", 0, at<std::uint32_t>(after, "step", 0), at<std::uint32_t>(before, "step", 0) + 1U);
}

Bindings generate_cell(const CodeletInfo& c, std::uint32_t size, std::mt19937& random) {
  Bindings b = zero_values(c);
  const std::uint32_t steps = 1 + below(4, random), batch = 1 + below(2, random);
  const std::uint32_t units = size, pitch = units + below(3, random);
  const std::uint32_t rows = takes_sums(c) ? (batch + below(17, random)) * 8 : (units * gates_of(c, true) + 3) / 4 * 4;
  // Larger vertices are what costs are measured by: usual activations, full lengths.
  const bool usual = size > 19;
  const auto activation = [&](std::uint32_t expected) {
    return usual ? expected : below(3, random) == 0 ? below(11, random) : 1 + below(2, random);
  };
  b["units"] = number(units), b["batch"] = number(batch), b["rows"] = number(rows), b["pitch"] = number(pitch);
  const std::uint32_t others =
      below(usual && c.name == "GruGatesSums_f16" ? 2 : 16, random);  // few slots beside a clip
  b["flags"] = number(activation(2) | activation(1) << 4 | activation(1) << 8 | others << 12);
  fill_data(c, b, random, true, [&](const std::string& f) {
    if (f == "partials") return takes_sums(c) ? (units * sums_of_unit(c) + 7) / 8 * rows : batch * rows * 6;
    if (f == "z") return steps * batch * pitch * gates_of(c, false);
    if (f == "y") return steps * batch * pitch;
    if (f == "peepholes") return units * 3;
    if (f == "parameters") return 7U;
    if (f == "lengths") return batch;
    if (f == "inner") return units;
    return f == "step" ? 1U : batch * pitch;
  });
  const std::uint32_t step = 1 + below(steps, random);
  std::memcpy(b["step"].bytes.data(), &step, 4);
  for (std::uint32_t i = 0; i < batch; ++i) {
    const std::uint32_t length = !usual && below(2, random) == 0 ? below(steps + 1, random) : steps;
    std::memcpy(&b["lengths"].bytes[i * 4], &length, 4);
  }
  for (std::uint32_t i = 0; i < 7; ++i) {
    const float parameter = 0.25F + static_cast<float>(below(8, random)) * 0.125F;
    std::memcpy(&b["parameters"].bytes[i * 4], &parameter, 4);
  }
  return b;
}

double activation(std::uint32_t function, double x, double alpha, double beta) {
  switch (function) {
    case 0:
      return std::max(0.0, x);
    case 1:
      return std::tanh(x);
    case 2:
      return 1 / (1 + std::exp(-x));
    case 3:
      return alpha * x + beta;
    case 4:
      return x >= 0 ? x : alpha * x;
    case 5:
      return x >= alpha ? x : 0;
    case 6:
      return alpha * std::tanh(beta * x);
    case 7:
      return std::min(1.0, std::max(0.0, alpha * x + beta));
    case 8:
      return x >= 0 ? x : alpha * (std::exp(x) - 1);
    case 9:
      return x / (1 + std::fabs(x));
    default:
      return std::log1p(std::exp(-std::fabs(x))) + std::max(x, 0.0);
  }
}

/// One unit of a cell at one step.
struct Cell {
  const Bindings& before;
  const CodeletInfo& codelet;
  std::size_t b = 0, j = 0, place = 0;
  [[nodiscard]] double act(std::uint32_t k, double x) const {
    const std::uint32_t flags = value(before, "flags");
    const double clip = at<float>(before, "parameters", 6);
    if (k < 2 && (flags >> 13 & 1) != 0) x = std::min(clip, std::max(-clip, x));
    return activation(flags >> (4 * k) & 15, x, at<float>(before, "parameters", 2 * k),
                      at<float>(before, "parameters", 2 * k + 1));
  }
  [[nodiscard]] double z(std::size_t gate) const {
    return at<float>(before, "z", place * gates_of(codelet, false) + gate);
  }
  [[nodiscard]] double product(std::size_t gate) const {
    if (!takes_sums(codelet)) return sum_of(before, b * value(before, "rows") + j * gates_of(codelet, true) + gate);
    const std::size_t row = j * sums_of_unit(codelet) + gate;
    return at<float>(before, "partials", row / 8 * value(before, "rows") + b * 8 + row % 8);
  }
  [[nodiscard]] double state(const char* field) const {
    return at<float>(before, field, b * value(before, "pitch") + j);
  }
  /// States by field after the step, and "y".
  [[nodiscard]] std::vector<std::pair<std::string, double>> result() const {
    const std::string& name = codelet.name;
    if (starts(name, "Rnn")) {
      const double h = act(0, product(0) + z(0));
      return {{"h", h}, {"y", h}};
    }
    if (starts(name, "Lstm")) return lstm();
    if (starts(name, "GruGates"))
      return {{"update", act(0, product(0) + z(0))}, {"h", act(0, product(1) + z(1)) * state("full")}};
    double update = 0, fresh = 0;
    if (starts(name, "GruUpdate")) {
      update = state("update");
      fresh = act(1, product(0) + z(2));
    } else {
      update = act(0, product(0) + z(0));
      fresh = act(1, z(2) + act(0, product(1) + z(1)) * (product(2) + at<float>(before, "inner", j)));
    }
    const double h = (1 - update) * fresh + update * state("full");
    return {{"full", h}, {"h", h}, {"y", h}};
  }
  [[nodiscard]] std::vector<std::pair<std::string, double>> lstm() const {
    const bool peep = (value(before, "flags") >> 15 & 1) != 0;
    const auto p = [&](std::size_t k) { return peep ? at<float>(before, "peepholes", 3 * j + k) : 0.0; };
    const double old = state("c");
    const double i = act(0, product(0) + z(0) + p(0) * old);
    const bool coupled = (value(before, "flags") >> 14 & 1) != 0;
    const double f = coupled ? 1 - i : act(0, product(2) + z(2) + p(2) * old);
    const double c = f * old + i * act(1, product(3) + z(3));
    const double h = act(0, product(1) + z(1) + p(1) * c) * act(2, c);
    return {{"c", c}, {"c_out", c}, {"h", h}, {"y", h}};
  }
};

void check_cell(const CodeletInfo& c, const Bindings& before, const Bindings& after, Check& check) {
  const std::size_t pitch = value(before, "pitch"), batch = value(before, "batch");
  const std::int64_t step = at<std::uint32_t>(before, "step", 0) - 1;
  for (std::size_t b = 0; b < batch; ++b) {
    const std::int64_t length = at<std::int32_t>(before, "lengths", b);
    const bool inside = step < length, reverse = (value(before, "flags") >> 12 & 1) != 0;
    const std::int64_t position = inside && reverse ? length - 1 - step : step;
    for (std::size_t j = 0; j < value(before, "units"); ++j) {
      Cell cell{before, c, b, j, (static_cast<std::size_t>(position) * batch + b) * pitch + j};
      if (!inside && c.field("y") != nullptr) check("y", cell.place, element(after, *c.field("y"), cell.place), 0);
      for (const auto& [name, want] : inside ? cell.result() : decltype(cell.result()){}) {
        const Field& field = *c.field(name);
        const std::size_t i = name == "y" ? cell.place : b * pitch + j;
        // Inputs are up to some hundreds: activations see their rounding. A thresholded activation may fall to either
        // side of its threshold: such cells say nothing.
        const auto flags = value(before, "flags");
        const bool jumps = (flags & 15) == 5 || (flags >> 4 & 15) == 5 || (flags >> 8 & 15) == 5;
        const double tolerance = 2e-3 * (1 + std::fabs(want)) * (field.type == FieldType::f16 ? 2 : 0.5);
        check(name, i, element(after, field, i), rounded(want, field.type), jumps ? 1e9 : tolerance);
      }
      if (!inside)
        for (const char* name : {"h", "c", "full"})
          if (c.field(name) != nullptr)
            check(name, b * pitch + j, element(after, *c.field(name), b * pitch + j),
                  element(before, *c.field(name), b * pitch + j));
    }
  }
}

}  // namespace

std::vector<Family> recurrent_cases() {
  return {{{"RecurrentProduct"}, generate_product, check_product},
          {{"RecurrentStep"}, generate_step, check_step},
          {{"LstmCell", "RnnCell", "GruCell", "GruGates", "GruUpdate"}, generate_cell, check_cell}};
}

}  // namespace tessera::cases
