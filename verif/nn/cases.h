// Models beyond ONNX's own vectors with inputs from a seed and independent expected values: long and bidirectional
// recurrence, many groups, dilation, 1-D, attention; each in f32 and as a twin in f16. Inputs of the twins are rounded
// to f16 first, so the expected values are exact for what both sides read.
#pragma once

#include <string>
#include <vector>

#include "host/onnx/model.h"
#include "host/onnx/test_models.h"
#include "verif/nn/exact.h"

namespace tessera::verif_nn {

struct Expected {
  std::string name;  ///< of the model's output
  exact::Array values;
};

struct Case {
  std::string name;  ///< "lstm_long_bidirectional_f16"
  model::Type type = model::Type::f32;
  model::TestGraph graph;
  std::vector<model::Tensor> inputs;  ///< in the graph's order
  std::vector<Expected> expected;     ///< in the graph's order
  double roundings = 8.0;             ///< of results of the largest size, in the type, that may add up on the way
};

/// All cases, in an order that stays.
[[nodiscard]] std::vector<Case> all_cases();

/// The model of a case, as import makes it.
[[nodiscard]] model::Model model_of(const Case& c);

/// What differs, empty if nothing does: every value within `roundings` x eps x largest value of its tensor (eps 2^-11
/// for f16, 2^-23 for f32). `values` counts what was compared.
[[nodiscard]] std::string compare(const Case& c, const std::vector<model::Tensor>& results, std::uint64_t& values);

/// Builds one case: tensors drawn in order from a seed that is the case's name.
class Maker {
 public:
  Maker(std::string name, model::Type type, double roundings);
  /// Values in (-scale, scale), rounded to the type; an input of the graph, or a constant.
  exact::Array input(const std::string& name, std::vector<std::int64_t> shape, double scale);
  exact::Array weight(const std::string& name, std::vector<std::int64_t> shape, double scale);
  void constant(const std::string& name, const model::Tensor& tensor);
  /// A constant of these values, rounded to the type.
  exact::Array values(const std::string& name, const exact::Array& array);
  void node(const std::string& op, std::vector<std::string> inputs, std::vector<std::string> outputs,
            std::map<std::string, model::TestAttribute> attributes = {});
  void output(const std::string& name, exact::Array expected);
  [[nodiscard]] Case finish() { return std::move(case_); }

 private:
  exact::Array draw(std::vector<std::int64_t> shape, double scale);

  Case case_;
  std::uint64_t state_;
};

/// By family; each makes its cases for one type.
void convolution_cases(model::Type type, std::vector<Case>& cases);
void recurrence_cases(model::Type type, std::vector<Case>& cases);
void attention_cases(model::Type type, std::vector<Case>& cases);

}  // namespace tessera::verif_nn
