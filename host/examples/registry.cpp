// The list of examples, and how one is chosen by name.

#include <algorithm>

#include "host/examples/networks.h"
#include "hw/error.h"

namespace tessera::examples {

const std::vector<Example>& all() {
  static const std::vector<Example> kExamples = {digits(),    fashion(),    wake_word(), lstm(), resnet50(),
                                                 resnext50(), group_conv(), alexnet(),   bert(), wavenet()};
  return kExamples;
}

bool is_example(const std::string& name) { return name.rfind(kPrefix, 0) == 0; }

namespace {

/// Insertions, deletions and changes that turn one word into the other.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row.back();
}

}  // namespace

Chosen choose(const std::string& name, std::uint64_t seed) {
  const std::size_t start = is_example(name) ? std::string(kPrefix).size() : 0;
  const std::size_t mark = name.find('?', start);
  const std::string key = name.substr(start, mark == std::string::npos ? mark : mark - start);
  const std::string given = mark == std::string::npos ? "" : name.substr(mark + 1);
  const auto& examples = all();
  const auto found =
      std::find_if(examples.begin(), examples.end(), [&](const Example& example) { return example.name == key; });
  if (found == examples.end()) {
    const auto nearest = std::min_element(examples.begin(), examples.end(), [&](const Example& a, const Example& b) {
      return distance(key, a.name) < distance(key, b.name);
    });
    throw Error(Category::usage, "there is no example '" + key + "'", name,
                "the nearest is example:" + nearest->name + "; tessera examples lists all");
  }
  return {&*found, Settings(found->parameters, given, seed, kPrefix + found->name)};
}

Network build(const Chosen& chosen) {
  if (chosen.example->build == nullptr)
    chosen.settings.refuse(chosen.example->name + " is a program of the graph library and no ONNX model",
                           "tessera run example:" + chosen.example->name + " runs it");
  return chosen.example->build(chosen.settings);
}

}  // namespace tessera::examples
