// Directed programs of the coverage plan in lockstep.
#include <gtest/gtest.h>

#include <cstdio>

#include "tlm/tile/assembler.h"
#include "tlm/tile/tlm_tile.h"
#include "verif/cosim/rtl_tile.h"
#include "verif/coverage/covered_tile.h"
#include "verif/random/directed.h"
#include "verif/random/lockstep_run.h"

namespace tessera::random {
namespace {

TEST(DirectedRtl, ProgramsOfThePlanInLockstep) {
  Sums sums;
  for (const Directed& d : directed_programs(Subset::rtl)) {
    const auto found = compare_lockstep(
        build(d.recipe), 1, [](const TileConfig& c) { return make_rtl_tile(c); }, &sums);
    EXPECT_FALSE(found) << d.name << ": " << *found << "\n" << listing(build(d.recipe));
  }
  std::printf("%s", sums.summary().c_str());
  EXPECT_GT(sums.counts.instructions, 50'000u);
  EXPECT_GT(sums.programs, 40u);
}

/// One worker loops, one is excepted, four are idle, the supervisor waits for ever: the debugger halts and resumes all.
TEST(DirectedRtl, HaltsMeetContextsInEveryState) {
  const auto totals = coverage::Totals::from_environment();
  const TileConfig config = config_of(1);
  auto owned = std::make_unique<LockstepTile>(config, std::make_unique<TlmTile>(config), make_rtl_tile(config));
  const LockstepTile& lockstep = *owned;
  const auto tile = coverage::covered(config, std::move(owned), totals);
  Recipe recipe = directed_programs(Subset::portable).front().recipe;
  for (ContextRecipe& context : recipe.contexts) context = {0, false, {}};
  recipe.contexts[1].code = {Node(Node::Kind::loop, {}, {Node(testing::nop())}, 18, 400),
                             Node(testing::r(isa::Op::x_exit, 0, 0))};
  recipe.contexts[2].code = {Node(testing::r(isa::Op::ebreak, 0))};
  for (unsigned w = 1; w < 3; ++w)
    recipe.contexts[0].code.push_back(Node(Node::Kind::run, {testing::r(isa::Op::x_run, w, 5, 0, 0)}, {}, 0, w));
  recipe.contexts[0].code.push_back(Node(testing::sync(6, 0, 1)));
  const Program program = build(recipe);
  load(*tile, program);
  tile->debug_attach(true);
  tile->start(program.entry, 0);
  using Run = ContextState::Run;
  ASSERT_EQ(tile->run(600, nullptr, nullptr).kind, TileStop::Kind::limit);
  EXPECT_EQ(tile->context(0).run, Run::waiting);
  EXPECT_EQ(tile->context(1).run, Run::running);
  EXPECT_EQ(tile->context(2).run, Run::excepted);
  EXPECT_EQ(tile->context(3).run, Run::idle);
  tile->debug_halt(0x0f, 700);
  ASSERT_EQ(tile->run(5000, nullptr, nullptr).kind, TileStop::Kind::halted);
  EXPECT_EQ(tile->context(1).run, Run::halted);
  tile->debug_halt(0x02, 5100);
  tile->debug_resume(0x0f, 5200);
  EXPECT_EQ(tile->run(100'000, nullptr, nullptr).kind, TileStop::Kind::exception);
  EXPECT_EQ(tile->context(1).run, Run::idle);
  EXPECT_EQ(lockstep.compared().instructions, tile->retired());
  EXPECT_GT(tile->retired(), 800u);
}

}  // namespace
}  // namespace tessera::random
