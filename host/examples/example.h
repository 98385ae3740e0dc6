// Networks by name: `example:NAME?key=value,...` is an ONNX model that is built here, with inputs that fit it.
//
// Topologies are the published ones. Weights are trained where the example says so, else drawn from the seed; a
// network's bytes depend on its name, its parameters and the seed alone.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/onnx/tensor.h"

namespace tessera::examples {

/// What may be chosen about an example.
struct Parameter {
  enum class Kind : std::uint8_t { number, numbers, choice } kind = Kind::number;
  std::string name;
  std::string value;                 ///< if it is not given; numbers: "3-4-6-3"
  std::string what;                  ///< one line for people
  std::int64_t least = 1, most = 1;  ///< of a number, and of each of numbers
  std::vector<std::string> choices;
};

/// The values of an example's parameters.
class Settings {
 public:
  /// Defaults, and over them `given` ("batch=2,dtype=f32"; may be empty). Error (usage) for names the example does not
  /// have and values that are none; `where` says which example.
  Settings(const std::vector<Parameter>& parameters, const std::string& given, std::uint64_t seed,
           const std::string& where);

  [[nodiscard]] std::int64_t number(const std::string& name) const;
  [[nodiscard]] std::vector<std::int64_t> numbers(const std::string& name) const;
  [[nodiscard]] const std::string& text(const std::string& name) const;
  /// The parameter dtype.
  [[nodiscard]] model::Type type() const;
  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  /// Ends in an Error (usage) that names the example.
  [[noreturn]] void refuse(const std::string& why, const std::string& advice) const;
  /// "batch=1,dtype=f16", all of them.
  [[nodiscard]] std::string all() const;

 private:
  std::map<std::string, std::string> values_;
  std::uint64_t seed_ = 0;
  std::string where_;
};

/// A recurrence whose time matters: from its first step to its last on the machine.
struct LatencyBound {
  std::int64_t steps = 1;
  std::int64_t microseconds = 0;  ///< that all steps may take
};

/// An example as it runs.
struct Network {
  std::string onnx;                     ///< bytes of the model file
  std::vector<model::Tensor> inputs;    ///< by name, one for each input of the model
  std::optional<model::Tensor> labels;  ///< class of each row of the first output
  double least_accuracy = 0;            ///< share of labels that must be right
  std::optional<LatencyBound> latency;
  bool per_node = false;  ///< what it is for is the comparison of its nodes
  std::string scenario;   ///< what the inputs are, one line
};

struct Example {
  std::string name;
  std::string what;      ///< one line: what network this is
  std::string topology;  ///< where it was published
  std::string weights;   ///< where they come from
  std::string platform;  ///< that it is made for, if the user does not choose one
  std::vector<Parameter> parameters;
  Network (*build)(const Settings&);  ///< null: a program of the graph library, without a model file
};

/// All examples, in the order they are listed.
[[nodiscard]] const std::vector<Example>& all();

inline constexpr const char* kPrefix = "example:";
/// Whether a model's name means an example and not a file.
[[nodiscard]] bool is_example(const std::string& name);

/// An example chosen by "example:NAME?key=value,...".
struct Chosen {
  const Example* example = nullptr;
  Settings settings;
};
/// Error (usage) for an unknown name (the nearest is told) or wrong parameters.
[[nodiscard]] Chosen choose(const std::string& name, std::uint64_t seed);
/// Error (usage) for an example that is no model.
[[nodiscard]] Network build(const Chosen& chosen);

}  // namespace tessera::examples
