// What a picture shows: clusters of vertices, a colour for each layer, and bundles of edges from where a tensor lies to
// the vertices that read or write it. Made from a structure (expand.h) or from a graph of the machine (natural.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "host/scale/structure.h"

namespace tessera::scale {

/// Points of a cluster that edges end at: vertices and elements are numbered along a spiral and fall into this many.
inline constexpr std::uint32_t kCells = 160;

/// Edges from cell to cell: counts[from * kCells + to].
using Bundle = std::vector<std::uint32_t>;

struct Scene {
  struct Cluster {
    std::string label;
    std::uint32_t layer = 0;
    std::uint64_t vertices = 0;
  };
  /// Edges between two clusters; `fill` adds every single one to a bundle that is zero.
  struct Edges {
    std::uint32_t from = 0, to = 0;
    std::uint64_t estimate = 0;  ///< how many, for the layout
    std::function<void(Bundle&)> fill;
  };
  std::vector<std::string> layers;
  std::vector<Cluster> clusters;
  std::vector<Edges> edges;
};

/// `structure` must outlive the scene. One entry of `edges` a field of a family.
[[nodiscard]] Scene make_scene(const Structure& structure);

/// Centre and radius of each cluster on a canvas of 1 x aspect: linked clusters attract, all keep their distance, and
/// the whole fills the canvas. The same scene gives the same places.
struct Disc {
  double x = 0, y = 0, radius = 0;
};
[[nodiscard]] std::vector<Disc> lay_out(const Scene& scene, double aspect);

}  // namespace tessera::scale
