// Tensors as oneDNN sees them, and running one primitive. Internal to the oneDNN backend.
#pragma once

#include <dnnl.hpp>
#include <optional>
#include <unordered_map>
#include <vector>

#include "host/onnx/model.h"

namespace tessera::golden::onednn {

using Dims = dnnl::memory::dims;

/// Memory of oneDNN over a tensor's own bytes (f32).
struct Operand {
  dnnl::memory::desc desc;
  dnnl::memory memory;
  Operand(const dnnl::engine& engine, const model::Tensor& tensor, const Dims& dims, const Dims& strides)
      : desc(dims, dnnl::memory::data_type::f32, strides),
        memory(desc, engine, const_cast<std::uint8_t*>(tensor.data.data())) {}
};

inline Dims dense(const Dims& dims) { return model::row_major_strides(dims); }

inline void execute(const dnnl::engine& engine, const dnnl::primitive& primitive,
                    const std::unordered_map<int, dnnl::memory>& arguments) {
  dnnl::stream stream(engine);
  primitive.execute(stream, arguments);
  stream.wait();
}

/// Conv, ConvTranspose, pooling, batch and layer normalisation; empty where oneDNN has no such form.
[[nodiscard]] std::optional<model::Tensor> network_operator(const model::Node& node,
                                                            const std::vector<const model::Tensor*>& in,
                                                            const model::Shape& shape);

}  // namespace tessera::golden::onednn
