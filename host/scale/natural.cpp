#include "host/scale/natural.h"

#include <algorithm>
#include <map>
#include <set>

namespace tessera::scale {

namespace {

using graph::Graph;
using graph::VertexFamily;

/// Which layer each compute set belongs to, and what is where.
class Layers {
 public:
  Layers(const Graph& graph, const std::vector<std::string>& known) : writer_(graph.variables().size(), kNobody) {
    std::map<std::string, std::uint32_t> index;
    for (const graph::ComputeSet& set : graph.compute_sets()) {
      std::string best;
      for (const std::string& layer : known) {
        if (layer.size() > best.size() && set.name.compare(0, layer.size(), layer) == 0) best = layer;
      }
      if (best.empty()) best = set.name;
      const auto [at, fresh] = index.try_emplace(best, static_cast<std::uint32_t>(names.size()));
      if (fresh) names.push_back(best);
      of_set.push_back(at->second);
    }
  }

  /// The layer that makes a variable: fields whose names the codelets give to results are not known here, so the first
  /// compute set that a variable appears in makes it.
  std::uint32_t maker(graph::VariableId variable, std::uint32_t layer) {
    std::uint32_t& at = writer_[variable.index];
    if (at == kNobody) at = layer;
    return at;
  }

  std::vector<std::string> names;
  std::vector<std::uint32_t> of_set;

 private:
  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};
  std::vector<std::uint32_t> writer_;
};

template <typename Visit>
void for_each_tensor(const graph::Field& field, Visit&& visit) {
  if (const auto* tensor = std::get_if<graph::Tensor>(&field.value)) visit(*tensor);
  if (const auto* spans = std::get_if<graph::Field::Spans>(&field.value)) {
    for (const graph::Tensor& t : *spans) visit(t);
  }
}

/// visit(member, variable, first element) for each contiguous region of each member.
template <typename Visit>
void for_each_edge(const VertexFamily& family, const graph::Tensor& tensor, Visit&& visit) {
  const std::uint64_t members = family.family ? family.members() : 1;
  for (std::uint64_t m = 0; m < members; ++m) {
    const graph::Tensor part = family.family ? tensor[m] : tensor;
    part.for_each_run([&](const graph::Run& run) {
      const std::uint64_t pieces = run.count == 1 || run.stride == 1 ? 1 : run.stride == 0 ? 1 : run.count;
      for (std::uint64_t i = 0; i < pieces; ++i)
        visit(m, run.variable, static_cast<std::uint64_t>(run.first + static_cast<std::int64_t>(i) * run.stride));
    });
  }
}

}  // namespace

NaturalCounts count(const Graph& graph, const std::vector<std::string>& layers) {
  NaturalCounts result;
  Layers place(graph, layers);
  for (const std::string& name : place.names) result.layers.push_back({name, {}, 0, 0, 0});
  for (std::size_t s = 0; s < graph.compute_sets().size(); ++s) {
    LayerCounts& layer = result.layers[place.of_set[s]];
    ++layer.compute_sets;
    for (const std::uint32_t v : graph.compute_sets()[s].vertices) {
      const VertexFamily& family = graph.vertices()[v];
      ++layer.families;
      layer.counts.vertices += family.members();
      for (const graph::Field& field : family.fields) {
        for_each_tensor(field, [&](const graph::Tensor& tensor) {
          ++result.tensors;
          for (const graph::Box& box : tensor.boxes()) (void)place.maker(box.variable, place.of_set[s]);
          for_each_edge(family, tensor, [&](std::uint64_t, graph::VariableId, std::uint64_t) { ++layer.counts.edges; });
        });
      }
    }
  }
  for (std::uint32_t v = 0; v < graph.variables().size(); ++v) {
    const graph::Variable& variable = graph.variables()[v];
    const std::uint64_t bytes = variable.elements() * graph::size_of(variable.type);
    (variable.constant() ? result.constants : result.variables) += 1;
    result.bytes += bytes;
    const std::uint32_t layer = place.maker({v}, ~std::uint32_t{0});
    if (layer < result.layers.size()) result.layers[layer].bytes += bytes;
  }
  for (const LayerCounts& layer : result.layers) {
    result.counts += layer.counts;
    result.compute_sets += layer.compute_sets;
    result.families += layer.families;
  }
  return result;
}

Scene make_scene(const Graph& graph, const std::vector<std::string>& layers) {
  Scene scene;
  Layers place(graph, layers);
  scene.layers = place.names;
  for (std::uint32_t l = 0; l < place.names.size(); ++l) scene.clusters.push_back({place.names[l], l, 0});
  std::map<std::uint32_t, std::uint32_t> inputs;  // by layer
  std::vector<std::uint32_t> home(graph.variables().size(), ~std::uint32_t{0});
  for (std::size_t s = 0; s < graph.compute_sets().size(); ++s) {
    const std::uint32_t layer = place.of_set[s];
    for (const std::uint32_t v : graph.compute_sets()[s].vertices) {
      for (const graph::Field& field : graph.vertices()[v].fields) {
        for_each_tensor(field, [&](const graph::Tensor& tensor) {
          for (const graph::Box& box : tensor.boxes()) {
            std::uint32_t& at = home[box.variable.index];
            if (at != ~std::uint32_t{0}) continue;
            at = place.maker(box.variable, layer);
            if (!graph.variable(box.variable).constant()) continue;
            const auto [constants, fresh] =
                inputs.try_emplace(layer, static_cast<std::uint32_t>(scene.clusters.size()));
            if (fresh) scene.clusters.push_back({place.names[layer] + " constants", layer, 0});
            at = constants->second;
          }
        });
      }
    }
  }
  std::vector<std::uint64_t> first;
  for (const VertexFamily& family : graph.vertices()) {
    std::uint64_t& vertices = scene.clusters[place.of_set[family.compute_set]].vertices;
    first.push_back(vertices);
    vertices += family.members();
  }
  // Edges of a layer from each cluster: one bundle, filled by walking the layer's families.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> families;
  for (std::uint32_t v = 0; v < graph.vertices().size(); ++v) {
    const std::uint32_t to = place.of_set[graph.vertices()[v].compute_set];
    std::set<std::uint32_t> from;
    for (const graph::Field& field : graph.vertices()[v].fields) {
      for_each_tensor(field, [&](const graph::Tensor& tensor) {
        for (const graph::Box& box : tensor.boxes()) from.insert(home[box.variable.index]);
      });
    }
    for (const std::uint32_t f : from) families[{f, to}].push_back(v);
  }
  for (const auto& [ends, list] : families) {
    const auto [from, to] = ends;
    std::uint64_t estimate = 0;
    for (const std::uint32_t v : list) estimate += graph.vertices()[v].members();
    scene.edges.push_back(
        {from, to, estimate,
         [&graph, home, first, from = from, list = list, vertices = scene.clusters[to].vertices](Bundle& bundle) {
           for (const std::uint32_t v : list) {
             const VertexFamily& family = graph.vertices()[v];
             for (const graph::Field& field : family.fields) {
               for_each_tensor(field, [&](const graph::Tensor& tensor) {
                 for_each_edge(family, tensor, [&](std::uint64_t m, graph::VariableId variable, std::uint64_t element) {
                   if (home[variable.index] != from) return;
                   const std::uint64_t a = element * kCells / graph.variable(variable).elements();
                   const std::uint64_t b = (first[v] + m) * kCells / vertices;
                   ++bundle[a * kCells + b];
                 });
               });
             }
           }
         }});
  }
  return scene;
}

}  // namespace tessera::scale
