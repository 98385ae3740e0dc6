// A directory of ONNX's backend tests: model.onnx and test_data_set_*/ with input_*.pb and output_*.pb.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "host/onnx/import.h"

namespace tessera::model {

struct DataSet {
  std::string name;                      ///< "test_data_set_0"
  std::map<std::string, Tensor> inputs;  ///< by input name
  std::vector<Tensor> outputs;           ///< in the model's order
};

/// Names of the data sets of a directory, sorted. Error (usage) if there is no model.onnx or no data set.
[[nodiscard]] std::vector<std::string> data_sets(const std::string& directory);

/// Reads one; inputs and outputs that are no tensors (sequences, optionals) are left out, since import refuses the
/// model.
[[nodiscard]] DataSet read_data_set(const std::string& directory, const std::string& name);

/// input_*.pb (or .npy) of a folder in the order of the model's inputs, as `--inputs` takes them. A file whose tensor
/// carries the name of an input is that input; otherwise input_k is the k-th. Error (usage) if one is not of the model.
[[nodiscard]] std::map<std::string, Tensor> read_inputs(const std::string& folder, const Interface& interface);

/// The tensors to give the machine, in the order of model.inputs, narrowed. Error (usage) naming an input not given, or
/// given with another shape.
[[nodiscard]] std::vector<Tensor> arrange_inputs(const Model& model, const std::map<std::string, Tensor>& inputs);

}  // namespace tessera::model
