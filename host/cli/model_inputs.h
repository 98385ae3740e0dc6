// Where the tensors of a model's inputs come from: --input NAME=FILE, --inputs DIR, --shape NAME=1,3,224,224.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "host/cli/command.h"
#include "host/examples/example.h"
#include "host/onnx/import.h"
#include "host/onnx/model.h"

namespace tessera::cli {

struct InputOptions {
  std::vector<std::string> inputs;  ///< NAME=FILE
  std::string directory;            ///< --inputs
  std::vector<std::string> shapes;  ///< NAME=1,3,224,224

  void add_to(CLI::App& app);
  /// Without --shape.
  void add_files_to(CLI::App& app);
};

/// Files for the model's inputs, by input name. In a directory: input_<k>.pb or .npy, see model::read_inputs. Throws
/// Error (usage) for names that the model does not have (the nearest is named) and for files that cannot be read.
[[nodiscard]] std::map<std::string, model::Tensor> read_inputs(const InputOptions& options,
                                                               const model::Interface& interface);
[[nodiscard]] std::map<std::string, model::Shape> parse_shapes(const InputOptions& options,
                                                               const model::Interface& interface);

/// A model imported with what the command line says of its inputs; warnings go to standard error. MODEL is a file or
/// "example:NAME?key=value,..." (host/examples), whose own inputs are used where the command line gives none.
struct LoadedModel {
  model::Model model;
  std::map<std::string, model::Tensor> given;
  std::optional<examples::Network> example;  ///< without its file and inputs, which have become the above
  bool replaced = false;                     ///< some of the example's inputs are not its own
};
/// The platform for MODEL if the user chose none: an example's own, else c2.
[[nodiscard]] std::string default_platform(const std::string& model);
[[nodiscard]] LoadedModel load_model(const Context& context, const std::string& file, const InputOptions& options);

/// In the model's order, narrowed to what the machine holds. An input that is not given is drawn from `seed` if
/// `synthetic`, else an Error (usage) that names it; so is `synthetic` with nothing to draw.
[[nodiscard]] std::vector<model::Tensor> arrange(const model::Model& model,
                                                 const std::map<std::string, model::Tensor>& given, bool synthetic,
                                                 std::uint64_t seed);

}  // namespace tessera::cli
