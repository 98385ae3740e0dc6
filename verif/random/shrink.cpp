// Delta debugging over the tree of a recipe: halves, quarters, .. of each list are left out while the program still
// fails; then single nodes give way to their children, loops run fewer rounds, words go one by one.
#include "verif/random/shrink.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

namespace tessera::random {
namespace {

class Shrinker {
 public:
  Shrinker(Recipe recipe, const Fails& fails, bool words, std::size_t tries)
      : best_(std::move(recipe)), fails_(fails), words_(words), left_(tries) {}

  ShrinkResult run() {
    std::size_t before = 0;
    do {
      before = size();
      for (unsigned c = 7; c-- > 0;) {
        drop_context(c);
        list([c](Recipe& r) -> std::vector<Node>& { return r.contexts[c].code; });
        lead(c);
      }
      tables();
    } while (size() < before && left_ > 0);
    return {best_, used_};
  }

 private:
  [[nodiscard]] std::size_t size() const {
    std::size_t n = 0;
    for (const ContextRecipe& context : best_.contexts) {
      for (const Node& node : context.code) n += 1 + words_of(node);
      n += context.handler ? 13 : 0;
    }
    for (const TableRecipe& table : best_.tables) n += table.sends.size() + table.receives.size();
    return n;
  }

  /// Takes `candidate` if it fails as well.
  bool accept(Recipe candidate) {
    if (left_ == 0) return false;
    --left_;
    ++used_;
    bool same = false;
    try {
      same = fails_(build(candidate));
    } catch (const std::exception&) {
      return false;  // cannot be laid out
    }
    if (same) best_ = std::move(candidate);
    return same;
  }
  template <typename Change>
  bool attempt(const Change& change) {
    Recipe candidate = best_;
    change(candidate);
    return accept(std::move(candidate));
  }

  void drop_context(unsigned c) {
    if (!best_.contexts[c].code.empty()) attempt([c](Recipe& r) { r.contexts[c].code.clear(); });
    if (best_.contexts[c].handler) attempt([c](Recipe& r) { r.contexts[c].handler = false; });
  }
  void lead(unsigned c) {
    if (best_.contexts[c].lead != 0) attempt([c](Recipe& r) { r.contexts[c].lead = 0; });
  }

  using Place = std::function<std::vector<Node>&(Recipe&)>;

  void list(const Place& place) {
    for (std::size_t chunk = std::max<std::size_t>(place(best_).size() / 2, 1); left_ > 0; chunk /= 2) {
      for (std::size_t at = 0; at < place(best_).size();) {
        const bool gone = attempt([&](Recipe& r) {
          auto& nodes = place(r);
          const auto first = nodes.begin() + static_cast<std::ptrdiff_t>(at);
          nodes.erase(first, first + static_cast<std::ptrdiff_t>(std::min(chunk, nodes.size() - at)));
        });
        if (!gone) at += chunk;
      }
      if (chunk <= 1) break;
    }
    for (std::size_t at = 0; at < place(best_).size() && left_ > 0; ++at) node(place, at);
  }

  void node(const Place& place, std::size_t at) {
    const auto here = [place, at](Recipe& r) -> Node& { return place(r)[at]; };
    if (!here(best_).children.empty()) {
      list([here](Recipe& r) -> std::vector<Node>& { return here(r).children; });
      const Node::Kind kind = here(best_).kind;
      const bool plain = kind == Node::Kind::group && here(best_).words.empty();
      // The children in place of the node: no branch, loop or call around them.
      if ((kind != Node::Kind::group || plain) && !here(best_).children.empty()) {
        attempt([&](Recipe& r) {
          Node node = here(r);
          auto& nodes = place(r);
          nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(at));
          nodes.insert(nodes.begin() + static_cast<std::ptrdiff_t>(at), node.children.begin(), node.children.end());
        });
      }
    }
    if (at >= place(best_).size()) return;
    if (here(best_).kind == Node::Kind::loop) {
      for (std::uint32_t rounds = 1; rounds < here(best_).b; ++rounds) {
        if (attempt([&](Recipe& r) { here(r).b = rounds; })) break;
      }
    }
    if (here(best_).kind == Node::Kind::pair) {
      for (unsigned k = 0; k < 2; ++k) {
        if (attempt([&](Recipe& r) { here(r) = Node(here(r).words[k]); })) break;
      }
    }
    if (!words_ && here(best_).whole) return;
    if (here(best_).kind != Node::Kind::group) return;
    for (std::size_t k = 0; k < here(best_).words.size() && left_ > 0;) {
      if (!attempt([&](Recipe& r) {
            auto& words = here(r).words;
            words.erase(words.begin() + static_cast<std::ptrdiff_t>(k));
          }))
        ++k;
    }
  }

  void tables() {
    for (std::size_t t = 0; t < best_.tables.size(); ++t) {
      for (std::size_t k = 1; k + 1 < best_.tables[t].packets.size() && left_ > 0;) {
        if (!attempt([&](Recipe& r) {
              auto& packets = r.tables[t].packets;
              packets.erase(packets.begin() + static_cast<std::ptrdiff_t>(k),
                            packets.begin() + static_cast<std::ptrdiff_t>(k) + 2);
              --packets[0];
            }))
          k += 2;
      }
      for (const bool receive : {false, true}) {
        const auto of = [ t, receive ](Recipe & r) -> auto& {
          return receive ? r.tables[t].receives : r.tables[t].sends;
        };
        if (!of(best_).empty()) attempt([&](Recipe& r) { of(r).clear(); });
        for (std::size_t k = 0; k < of(best_).size() && left_ > 0;) {
          if (!attempt([&](Recipe& r) { of(r).erase(of(r).begin() + static_cast<std::ptrdiff_t>(k)); })) ++k;
        }
      }
    }
  }

  Recipe best_;
  const Fails& fails_;
  bool words_;
  std::size_t left_, used_ = 0;
};

}  // namespace

ShrinkResult shrink(Recipe recipe, const Fails& fails, bool words, std::size_t tries) {
  return Shrinker(std::move(recipe), fails, words, tries).run();
}

std::string failure_report(const ShrinkResult& small, const std::string& what, const std::string& command) {
  const Program program = build(small.recipe);
  std::string text = fmt::format("{}\nshrunk to {} instructions in {} runs (seed {}):\n{}", what, program.code_words(),
                                 small.tries, small.recipe.options.seed, listing(program));
  for (std::size_t t = 0; t < small.recipe.tables.size(); ++t) {
    const auto& packets = small.recipe.tables[t].packets;
    for (std::size_t k = 1; k + 1 < packets.size(); k += 2)
      text += fmt::format("table {} packets: {:016x} {:016x}\n", t, packets[k], packets[k + 1]);
    for (const bool receive : {false, true}) {
      const auto& list = receive ? small.recipe.tables[t].receives : small.recipe.tables[t].sends;
      for (const auto& d : list) {
        text += fmt::format("table {} {}: {:016x}{}\n", t, receive ? "receives" : "sends", d[0],
                            d.size() > 1 ? fmt::format(" {:016x}", d[1]) : "");
      }
    }
  }
  return text + "again: " + command + "\n";
}

}  // namespace tessera::random
