// Tensors from and to files: ONNX TensorProto (.pb), NumPy (.npy, versions 1 to 3, C order) and raw bytes.
// A broken, cut or wrong file is an Error (usage) with the file's name.
#pragma once

#include <string>

#include "host/onnx/tensor.h"

namespace tessera::model {

/// Reads by suffix: .pb or .npy.
[[nodiscard]] Tensor read_tensor(const std::string& file);
/// Raw little-endian elements, as many as the shape says.
[[nodiscard]] Tensor read_raw(const std::string& file, Type type, const Shape& shape);
/// Writes by suffix: .pb, .npy, or raw elements for .raw and .bin. The file is there whole or not at all.
void write_tensor(const std::string& file, const Tensor& tensor);

/// The whole file.
[[nodiscard]] std::string read_file(const std::string& file);
/// Whole or not at all.
void write_file(const std::string& file, const std::string& bytes);
/// Makes the directory and those above it; Error (usage) if that fails or it is something else.
void make_directory(const std::string& directory);

}  // namespace tessera::model
