// The stencil on small machines: every point the host's bits, for blocks of unequal sizes, one IPU and several.
#include <gtest/gtest.h>

#include "host/demo/stencil.h"
#include "hw/error.h"
#include "verif/demo/demo_machine.h"

namespace tessera::demo {
namespace {

using testing::DemoMachine;

void expect_right(const Platform& platform, const StencilOptions& options) {
  Stencil stencil(platform, options);
  DemoMachine machine(stencil.build(), platform);
  machine.run();
  const Comparison c = stencil.check(machine.reader());
  EXPECT_EQ(c.compared, stencil.points());
  EXPECT_EQ(c.wrong, 0U) << c.first;
  EXPECT_GT(machine.phases().compared(), 0U);
  EXPECT_TRUE(machine.phases().differences().empty());
}

TEST(Stencil, OneIpu) { expect_right(load_platform("pocket"), {24, 40, 4, 7}); }

TEST(Stencil, OddSizesAndSteps) { expect_right(load_platform("pocket"), {29, 43, 3, 8}); }

TEST(Stencil, OnePoint) { expect_right(load_platform("pocket"), {1, 1, 3, 9}); }

TEST(Stencil, NarrowField) { expect_right(load_platform("pocket"), {50, 3, 2, 10}); }

}  // namespace
}  // namespace tessera::demo
