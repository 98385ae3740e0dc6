// The work space of expand.h: tensors with their layouts, clusters, and the families that several operators share.
// Internal to host/scale.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/scale/expand.h"

namespace tessera::scale {

/// Layout of a value: [outer][blocks][spatial ...][block]. Rows are the case blocks = 1 without spatial axes.
struct Storage {
  std::int64_t outer = 1, channels = 1, blocks = 1, block = 1;
  std::vector<std::int64_t> spatial;
  [[nodiscard]] std::int64_t positions() const {
    std::int64_t n = 1;
    for (const std::int64_t e : spatial) n *= e;
    return n;
  }
  [[nodiscard]] std::int64_t rows() const { return outer * blocks; }
  [[nodiscard]] std::int64_t row() const { return positions() * block; }
  [[nodiscard]] std::int64_t elements() const { return rows() * row(); }
};

/// A tensor in a layout.
struct Placed {
  TensorId tensor = kNoTensor;
  Storage storage;
};

/// A sliding product: convolution, or a matrix product if there is no spatial axis.
struct Product {
  std::int64_t group = 1;
  std::vector<std::int64_t> kernel, strides, dilations, pads;
  [[nodiscard]] std::int64_t taps() const {
    std::int64_t n = 1;
    for (const std::int64_t e : kernel) n *= e;
    return n;
  }
};

/// Channels first .. last + 1 for indices of some loops.
using Channels = std::function<std::pair<std::int64_t, std::int64_t>(const std::int64_t*)>;
/// Positions of spatial axis d for the index of its loop.
using Window = std::function<Span(std::size_t d, std::int64_t index)>;

class Expander {
 public:
  Expander(const model::Model& model, const Grain& grain, unsigned tiles);
  [[nodiscard]] Structure run();

 private:
  // expander.cpp: values, gradients, the walk over the model.
  void forward(const model::Node& node);
  void backward(const model::Node& node);
  [[nodiscard]] Storage storage_of(model::ValueId value) const;
  Placed& place(model::ValueId value, std::uint32_t cluster);
  [[nodiscard]] const Placed& value(model::ValueId id);
  [[nodiscard]] Placed like(const Placed& other, const std::string& name, std::uint32_t cluster);
  [[nodiscard]] bool is_parameter(model::ValueId id) const;
  [[nodiscard]] bool needs_gradient(model::ValueId id) const;
  void give(model::ValueId id, const Placed& gradient);
  [[nodiscard]] std::optional<Placed> taken(model::ValueId id, std::uint32_t cluster);
  std::uint32_t cluster(Role role);
  TensorId tensor(const std::string& name, std::int64_t elements, std::uint32_t cluster);
  Family family(const std::string& codelet, std::uint32_t cluster, std::vector<std::int64_t> loops) const;
  void add(Family family);

  // families.cpp: what several operators are made of.
  void channel_axes(const Family& f, Field& field, const Storage& s, std::vector<std::uint8_t> loops,
                    const Channels& channels, std::size_t first_spatial, const Window& window, std::uint8_t outer_loop);
  void flat_field(Family& f, const std::string& name, const Placed& p, std::int64_t rows, std::int64_t row,
                  std::int64_t chunk, bool writes);
  void elementwise(const std::string& codelet, std::uint32_t cluster, const std::vector<Placed>& inputs,
                   const Placed& output, bool in_place = false);
  void add_up(std::uint32_t cluster, TensorId partials, std::int64_t parts, const Placed& result, std::int64_t chunk,
              const std::optional<Placed>& bias);
  void row_sums(const std::string& codelet, std::uint32_t cluster, const std::vector<Placed>& inputs,
                const Placed& result, std::int64_t result_row);
  void update(const Placed& weights, const Placed& gradient);

  // products.cpp
  struct Weights {
    Placed placed;
    std::int64_t groups_of_outputs = 1, outputs = 1, parts = 1, depth = 1;
  };
  [[nodiscard]] Weights weights(const Product& p, const Storage& x, const Storage& y, const std::string& name);
  void slide(const std::string& codelet, std::uint32_t cluster, const Product& p, const Placed& x, const Weights& w,
             const Placed& y, const std::optional<Placed>& bias, bool transposed);
  void weight_gradient(std::uint32_t cluster, const Product& p, const Placed& x, const Placed& dy, const Weights& w);
  [[nodiscard]] Placed bias_gradient(std::uint32_t cluster, const Placed& bias, const Placed& dy);
  void product_forward(const model::Node& node, const Product& p, const Placed& x, const Placed& y, bool bias);
  void product_backward(const Product& p, model::ValueId x_id, const Placed& x, const Placed& dy, std::size_t slot);
  void matrices(const std::string& codelet, std::uint32_t cluster, const Placed& a, bool a_transposed, const Placed& b,
                bool b_transposed, const Placed& y, std::int64_t batch, std::int64_t m, std::int64_t k, std::int64_t n);
  void activations_product(const model::Node& node, bool gradient);
  void recurrent(const model::Node& node, bool gradient);
  [[nodiscard]] static Product product_of(const model::Node& node);

  // operators.cpp
  void pool(const model::Node& node, bool gradient);
  void batch_norm(const model::Node& node, bool gradient);
  void local_norm(const model::Node& node, bool gradient);
  void row_norm(const model::Node& node, bool gradient);
  void reduction(const model::Node& node, bool gradient);
  void plain(const model::Node& node, bool gradient);

  const model::Model& model_;
  Grain grain_;
  Structure s_;
  std::uint32_t layer_ = 0;
  std::map<std::pair<std::uint32_t, Role>, std::uint32_t> clusters_;
  std::map<model::ValueId, Placed> values_;
  std::map<model::ValueId, std::vector<Placed>> gradients_;
  std::map<std::pair<std::uint32_t, std::size_t>, Weights> weights_;  // of a layer, by slot
  std::vector<bool> image_;                                           // values with a channel axis
  std::vector<bool> wants_;                                           // values a weight leads to
};

}  // namespace tessera::scale
