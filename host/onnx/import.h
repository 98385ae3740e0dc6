// From an ONNX file to the operator graph: read, check, convert to opset 17, infer shapes, fold constants.
//
// Errors: a broken, cut or wrong file, or inputs that do not fit the model, is Category::usage with the file's name;
// what the machine cannot do is Category::unsupported, all nodes of the model in one message.
#pragma once

#include <map>
#include <string>

#include "host/onnx/model.h"

namespace tessera::model {

struct ImportOptions {
  /// Extents of inputs that the file leaves open (--shape), by input name.
  std::map<std::string, Shape> shapes;
  /// Values of inputs (--input): give extents too, and values where a shape depends on them.
  std::map<std::string, Tensor> inputs;
  /// Extent of axis 0 of an input where the file leaves it open and neither of the above says; 0: that is an error.
  std::int64_t default_batch = 0;
  /// f64 becomes f32 with a warning; without this it is unsupported.
  bool narrow_f64 = true;
};

/// The model of a file. Node names are the file's; nodes that lead to no output are gone.
[[nodiscard]] Model import_model(const std::string& file, const ImportOptions& options = {});

/// The same from the file's bytes; `file` is for messages and for data that stand beside it.
[[nodiscard]] Model import_bytes(const std::string& bytes, const std::string& file, const ImportOptions& options = {});

/// An input or output as the file declares it, before anything is resolved.
struct Declared {
  std::string name;
  std::string type;                  ///< "f32", "i64", "string", "sequence", ...
  std::vector<std::string> extents;  ///< number, symbol, or "?"
};
struct Interface {
  std::vector<Declared> inputs, outputs;
};
/// What a file takes and gives, for help and for matching input files; works on unsupported models too.
[[nodiscard]] Interface read_interface(const std::string& file);
/// The same from the file's bytes; `file` is for messages.
[[nodiscard]] Interface read_interface_bytes(const std::string& bytes, const std::string& file);

}  // namespace tessera::model
