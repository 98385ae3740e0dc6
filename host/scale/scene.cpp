// The layout is a force simulation with a fixed number of steps and a start on a spiral in order of the layers.
#include "host/scale/scene.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tessera::scale {

namespace {

constexpr double kPi = 3.14159265358979323846;

void fill_bundle(const Structure& s, const Family& family, std::size_t field, std::uint64_t first,
                 std::uint64_t cluster_vertices, Bundle& bundle) {
  Family one;
  one.loops = family.loops;
  one.fields = {family.fields[field]};
  const double from =
      static_cast<double>(kCells) / static_cast<double>(s.tensors[family.fields[field].tensor].elements);
  const double to = static_cast<double>(kCells) / static_cast<double>(cluster_vertices);
  std::uint32_t* counts = bundle.data();
  for_each_edge(one, [&](std::uint64_t member, std::size_t, std::uint64_t begin, std::uint64_t) {
    const auto a = static_cast<std::uint32_t>(static_cast<double>(begin) * from);
    const auto b = static_cast<std::uint32_t>(static_cast<double>(first + member) * to);
    ++counts[std::min(a, kCells - 1) * kCells + std::min(b, kCells - 1)];
  });
}

}  // namespace

Scene make_scene(const Structure& s) {
  Scene scene;
  scene.layers = s.layers;
  for (const Cluster& c : s.clusters) scene.clusters.push_back({s.layers[c.layer] + " " + name_of(c.role), c.layer, 0});
  std::vector<std::uint64_t> first;
  for (const Family& f : s.families) {
    first.push_back(scene.clusters[f.cluster].vertices);
    scene.clusters[f.cluster].vertices += f.members();
  }
  for (std::size_t i = 0; i < s.families.size(); ++i) {
    const Family& f = s.families[i];
    const std::uint64_t all = scene.clusters[f.cluster].vertices;
    for (std::size_t k = 0; k < f.fields.size(); ++k) {
      scene.edges.push_back({s.tensors[f.fields[k].tensor].cluster, f.cluster, f.members(),
                             [&s, &f, k, base = first[i], all](Bundle& b) { fill_bundle(s, f, k, base, all, b); }});
    }
  }
  return scene;
}

std::vector<Disc> lay_out(const Scene& scene, double aspect) {
  const std::size_t n = scene.clusters.size();
  std::vector<Disc> discs(n);
  double area = 0;
  for (std::size_t i = 0; i < n; ++i) {
    discs[i].radius = std::pow(static_cast<double>(scene.clusters[i].vertices) + 1, 0.38);
    area += discs[i].radius * discs[i].radius * kPi;
  }
  const double unit = std::sqrt(0.15 * aspect / std::max(area, 1e-9));
  for (std::size_t i = 0; i < n; ++i) {
    const double turn = 2.6 * std::sqrt(static_cast<double>(i));
    const double away = 0.42 * std::sqrt((static_cast<double>(i) + 0.5) / static_cast<double>(n));
    discs[i].x = 0.5 + away * std::cos(turn);
    discs[i].y = aspect * (0.5 + away * std::sin(turn));
    discs[i].radius = std::min(0.09, std::max(0.004, discs[i].radius * unit));
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> links;
  for (const Scene::Edges& e : scene.edges) {
    if (e.from != e.to)
      links[{std::min(e.from, e.to), std::max(e.from, e.to)}] += std::log2(2.0 + static_cast<double>(e.estimate));
  }
  const double spacing = std::sqrt(aspect / static_cast<double>(std::max<std::size_t>(n, 1)));
  constexpr int kSteps = 400;
  std::vector<double> fx(n), fy(n);
  for (int step = 0; step < kSteps; ++step) {
    const double heat = 0.08 * spacing * (1.0 - static_cast<double>(step) / kSteps);
    for (std::size_t i = 0; i < n; ++i) {
      fx[i] = 0.6 * (0.5 - discs[i].x);
      fy[i] = 0.6 / aspect * (0.5 * aspect - discs[i].y);
    }
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = i + 1; k < n; ++k) {
        const double dx = discs[i].x - discs[k].x, dy = discs[i].y - discs[k].y;
        const double distance = std::sqrt(dx * dx + dy * dy) + 1e-6;
        const double free = std::max(distance - discs[i].radius - discs[k].radius, 0.02 * spacing);
        const double push = 0.25 * spacing * spacing / free / distance;
        fx[i] += dx * push, fy[i] += dy * push;
        fx[k] -= dx * push, fy[k] -= dy * push;
      }
    }
    for (const auto& [pair, weight] : links) {
      const auto [i, k] = pair;
      const double dx = discs[k].x - discs[i].x, dy = discs[k].y - discs[i].y;
      const double pull = 0.05 * weight;
      fx[i] += dx * pull, fy[i] += dy * pull;
      fx[k] -= dx * pull, fy[k] -= dy * pull;
    }
    for (std::size_t i = 0; i < n; ++i) {
      const double force = std::sqrt(fx[i] * fx[i] + fy[i] * fy[i]) + 1e-12;
      const double move = std::min(force, 1.0) * heat / force;
      discs[i].x += fx[i] * move;
      discs[i].y += fy[i] * move;
    }
  }
  double left = 1e9, right = -1e9, top = 1e9, bottom = -1e9;
  for (const Disc& d : discs) {
    left = std::min(left, d.x - d.radius), right = std::max(right, d.x + d.radius);
    top = std::min(top, d.y - d.radius), bottom = std::max(bottom, d.y + d.radius);
  }
  constexpr double kMargin = 0.04;
  for (Disc& d : discs) {
    d.x = kMargin + (d.x - left) / std::max(right - left, 1e-9) * (1 - 2 * kMargin);
    d.y = kMargin + (d.y - top) / std::max(bottom - top, 1e-9) * (aspect - 2 * kMargin);
  }
  return discs;
}

}  // namespace tessera::scale
