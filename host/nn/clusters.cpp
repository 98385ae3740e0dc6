#include "host/nn/clusters.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace tessera::nn {

using model::kAbsent;
using model::Model;
using model::Node;
using model::Value;
using model::ValueId;

namespace {

constexpr std::size_t kNoNode = ~std::size_t{0};

struct Link {
  std::vector<ValueId> inputs, constants, results;
  std::string text;  ///< equal for instances that do the same
};

class Finder {
 public:
  explicit Finder(const Model& model)
      : model_(model), maker_(model.values.size(), kNoNode), last_use_(model.values.size(), 0) {
    std::map<std::string, std::uint32_t> numbers;
    for (std::size_t i = 0; i < model.nodes.size(); ++i) {
      for (const ValueId id : model.nodes[i].outputs)
        if (id != kAbsent) maker_[id] = i;
      for (const ValueId id : model.nodes[i].inputs)
        if (id != kAbsent) last_use_[id] = i;
      kinds_.push_back(
          numbers.emplace(node_text(model.nodes[i]), static_cast<std::uint32_t>(numbers.size())).first->second);
    }
    for (const ValueId id : model.outputs) last_use_[id] = kNoNode;
  }

  std::vector<Cluster> find(std::size_t least) {
    std::vector<Cluster> found;
    for (std::size_t length = 1; length <= kinds_.size() / 2; ++length)
      for (std::size_t begin = 0; begin + length < kinds_.size();) {
        std::size_t run = 0;  // nodes from begin on that equal the one `length` behind
        while (begin + run + length < kinds_.size() && kinds_[begin + run] == kinds_[begin + run + length]) ++run;
        if (run >= length && run / length * length >= least) add_best(begin, length, run, least, found);
        begin += run + 1;
      }
    std::stable_sort(found.begin(), found.end(), [](const Cluster& a, const Cluster& b) {
      const std::size_t saved_a = (a.count - 1) * a.length, saved_b = (b.count - 1) * b.length;
      return saved_a != saved_b ? saved_a > saved_b : a.length < b.length;
    });
    return disjoint(std::move(found));
  }

 private:
  std::string value_text(ValueId id) const {
    if (id == kAbsent) return "-";
    const Value& value = model_.value(id);
    return fmt::format("{}{}{}", value.constant ? "c" : "", name_of(value.type), model::to_string(value.shape));
  }

  std::string node_text(const Node& node) const {
    std::string text = std::string(model::name_of(node.op)) + model::attributes_text(node.attributes);
    for (const ValueId id : node.inputs) text += " " + value_text(id);
    text += " ->";
    for (const ValueId id : node.outputs) text += " " + value_text(id);
    return text;
  }

  /// How an instance is wired: operands by position within it, by number of constant, by number of value from before.
  Link link(std::size_t begin, std::size_t length) const {
    Link result;
    std::map<ValueId, std::string> names;
    for (std::size_t i = begin; i < begin + length; ++i) {
      for (const ValueId id : model_.nodes[i].inputs) {
        if (id == kAbsent) continue;
        auto [known, is_new] = names.emplace(id, "");
        if (is_new) {
          auto& list = model_.value(id).constant ? result.constants : result.inputs;
          known->second = fmt::format("{}{}:{}", model_.value(id).constant ? "c" : "x", list.size(), value_text(id));
          list.push_back(id);
        }
        result.text += known->second + " ";
      }
      for (const ValueId id : model_.nodes[i].outputs) {
        if (id != kAbsent) names[id] = fmt::format("r{}", result.results.size());
        result.results.push_back(id);
      }
      result.text += "; ";
    }
    return result;
  }

  /// What follows a product and is best computed with it (fuse.h).
  static bool follows(model::Op op) {
    return op == model::Op::BatchNormalization || op == model::Op::Add || op == model::Op::Relu ||
           op == model::Op::Clip;
  }

  /// How bad a cut before node `at` is: values alive across it, and whether it parts a product from what follows.
  std::size_t crossing(std::size_t at) const {
    std::size_t count = follows(model_.nodes[at].op) ? 1 : 0;
    for (ValueId id = 0; id < model_.values.size(); ++id)
      if (maker_[id] != kNoNode && maker_[id] < at && last_use_[id] >= at) ++count;
    return count;
  }

  /// The longest row of equally wired instances from `begin` on.
  Cluster at(std::size_t begin, std::size_t length, std::size_t most) const {
    Cluster cluster{begin, length, 0, {}, {}, {}, {}};
    std::string text;
    for (std::size_t k = 0; k < most; ++k) {
      Link wired = link(begin + k * length, length);
      if (k > 0 && wired.text != text) break;
      text = wired.text;
      cluster.inputs.push_back(std::move(wired.inputs));
      cluster.constants.push_back(std::move(wired.constants));
      cluster.results.push_back(std::move(wired.results));
      ++cluster.count;
    }
    for (std::size_t r = 0; r < cluster.results.front().size(); ++r)
      for (std::size_t k = 0; k < cluster.count; ++k) {
        const ValueId id = cluster.results[k][r];
        if (id == kAbsent || last_use_[id] < begin + (k + 1) * length) continue;
        cluster.outputs.push_back(r);
        break;
      }
    return cluster;
  }

  /// Of the phases at which a periodic run may be cut, the one with most instances and fewest values across the cuts.
  void add_best(std::size_t begin, std::size_t length, std::size_t run, std::size_t least,
                std::vector<Cluster>& found) const {
    std::optional<Cluster> best;
    std::size_t best_crossing = 0;
    for (std::size_t start = begin; start < begin + length && start <= begin + run - length; ++start) {
      Cluster cluster = at(start, length, (begin + run - start) / length + 1);
      if (cluster.count < 2 || (cluster.count - 1) * length < least) continue;
      const std::size_t values = crossing(start + length);
      if (best && (cluster.count < best->count || (cluster.count == best->count && values >= best_crossing))) continue;
      best = std::move(cluster);
      best_crossing = values;
    }
    if (best) found.push_back(std::move(*best));
  }

  static std::vector<Cluster> disjoint(std::vector<Cluster> found) {
    std::vector<Cluster> taken;
    for (Cluster& cluster : found) {
      const bool overlaps = std::any_of(taken.begin(), taken.end(), [&](const Cluster& other) {
        return cluster.first < other.first + other.length * other.count &&
               other.first < cluster.first + cluster.length * cluster.count;
      });
      if (!overlaps) taken.push_back(std::move(cluster));
    }
    std::sort(taken.begin(), taken.end(), [](const Cluster& a, const Cluster& b) { return a.first < b.first; });
    return taken;
  }

  const Model& model_;
  std::vector<std::size_t> maker_;     // node that makes a value
  std::vector<std::size_t> last_use_;  // last node that reads it; kNoNode: a model output
  std::vector<std::uint32_t> kinds_;   // equal for nodes of one kind
};

}  // namespace

std::vector<Cluster> find_clusters(const Model& model, std::size_t least) { return Finder(model).find(least); }

}  // namespace tessera::nn
