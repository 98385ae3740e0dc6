// The committed cost table against fresh measurements, with vertices that the fit has not seen.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "verif/codelets/measure.h"

namespace tessera::testing {
namespace {

TEST(Cost, EveryCodeletHasAnEntry) {
  const auto& codelets = CodeletLibrary::builtin().codelets();
  ASSERT_EQ(codelet_costs().size(), codelets.size());
  for (std::size_t i = 0; i < codelets.size(); ++i) EXPECT_EQ(codelet_costs()[i].name, codelets[i].name);
}

TEST(Cost, EstimatesAreNearMeasurements) {
  double sum = 0, worst = 0;
  unsigned vertices = 0;
  for (const auto& codelet : CodeletLibrary::builtin().codelets()) {
    std::mt19937 random(5);  // the same vertices whatever other codelets there are
    double measured = 0, estimated = 0;
    for (std::uint32_t size = 6; size < 100; size += 17, ++vertices) {
      const auto vertex = measure(codelet, size, random);
      measured += static_cast<double>(vertex.slots);
      estimated += static_cast<double>(estimate_slots(codelet, vertex.state.data()));
    }
    const double error = std::fabs(estimated / measured - 1);
    // Elementwise vertices of several operands: alignment, steps and the operands' values decide which loop runs.
    // Windows of pooling that the vertex lays out: their taps, which no field tells.
    const bool varies = (codelet.name.rfind("Map", 0) == 0 && codelet.field("a_step") != nullptr) ||
                        codelet.field("geometry") != nullptr;
    // Functions of rows: few shapes of rows, of which some take a slower loop.
    const bool rows = codelet.name.rfind("Row", 0) == 0;
    EXPECT_LT(error, varies ? 0.8
                     : rows ? 0.45
                            : 0.3)
        << codelet.name << ": run codelet_costs > host/codelets/costs.inc";
    sum += error;
    worst = std::max(worst, error);
  }
  std::printf("%u vertices: mean error %.1f %%, largest %.1f %% a codelet\n", vertices,
              100 * sum / static_cast<double>(codelet_costs().size()), 100 * worst);
}

TEST(Cost, UserCodeletsHaveADefault) {
  CodeletInfo info;
  info.name = "Mine";
  info.state_bytes = 8;
  info.fields.push_back({"y", FieldKind::out_span, FieldType::f32, 0, 4, 1});
  const std::uint32_t state[2] = {0, 10};
  EXPECT_EQ(estimate_slots(info, reinterpret_cast<const std::uint8_t*>(state)), 100u);
}

}  // namespace
}  // namespace tessera::testing
