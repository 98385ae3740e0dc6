// Codes of the demonstration `workers`: how many there are, and that every bit of their constants counts.
#include "host/demo/recipe.h"

#include <gtest/gtest.h>

#include <set>

namespace tessera::demo {
namespace {

TEST(Recipe, NinetySixCodesOfDifferentStructure) {
  const std::vector<Recipe> recipes = different_recipes(96);
  std::set<std::vector<unsigned>> structures;
  std::set<Stage::Kind> kinds;
  for (const Recipe& recipe : recipes) {
    structures.insert(operations_of(recipe.code()));
    for (const Stage& stage : recipe.stages()) kinds.insert(stage.kind);
    EXPECT_GE(recipe.stages().size(), 3U);
  }
  EXPECT_EQ(structures.size(), 96U);
  EXPECT_EQ(kinds.size(), std::size_t{Stage::kKinds});
}

TEST(Recipe, EveryBitOfTheConstantsCounts) {
  const std::vector<Recipe> recipes = different_recipes(24);
  unsigned compared = 0;
  for (std::uint32_t n = 0; n < recipes.size(); ++n) {
    const WorkerConstants constants = constants_of(7, n);
    const Pair right = recipes[n].evaluate({1, 2}, constants);
    EXPECT_NE(right, recipes[n].evaluate({1, 3}, constants));
    for (unsigned bit = 0; bit < 32 * WorkerConstants::kFloats; ++bit, ++compared) {  // keys and data hold any bits
      WorkerConstants wrong = constants;
      wrong.words[bit / 32] ^= 1U << (bit % 32);
      EXPECT_NE(recipes[n].evaluate({1, 2}, wrong), right) << recipes[n].text() << ", bit " << bit;
    }
  }
  EXPECT_EQ(compared, 24U * 32 * 20);
}

TEST(Recipe, WorkersHaveConstantsOfTheirOwn) {
  std::set<std::array<std::uint32_t, WorkerConstants::kWords>> known;
  for (std::uint32_t n = 0; n < 2000; ++n) known.insert(constants_of(1, n).words);
  EXPECT_EQ(known.size(), 2000U);
  EXPECT_NE(constants_of(1, 0).words, constants_of(2, 0).words);
}

}  // namespace
}  // namespace tessera::demo
