// The codelets of firmware/demo on tiles, every word the host's bits, with words around that must stay.
#include <gtest/gtest.h>

#include <cstring>

#include "host/demo/builder.h"
#include "host/demo/seeded.h"
#include "verif/demo/demo_machine.h"

namespace tessera::demo {
namespace {

using testing::DemoMachine;

TileRef tile(unsigned t) { return {0, static_cast<std::uint16_t>(t)}; }

std::uint32_t bits(float value) {
  std::uint32_t word = 0;
  std::memcpy(&word, &value, 4);
  return word;
}

std::vector<std::uint32_t> seeded(std::uint32_t seed, std::uint32_t words) {
  std::vector<std::uint32_t> v;
  for (std::uint32_t i = 0; i < words; ++i) v.push_back(bits(seeded_value(seed, i)));
  return v;
}

float value(std::uint32_t word) {
  float f = 0;
  std::memcpy(&f, &word, 4);
  return f;
}

TEST(Kernels, AddIntoAddsWholeVectorsAtAnOffset) {
  const Platform platform = load_platform("pocket");
  constexpr std::uint32_t kWords = 96, kOffset = 16;
  const unsigned vectors[] = {1, 2, 3, 5, 6, 7, 11, 12, 13, 17, 18, 19, 24, 25, 36, 40};
  Builder b("add", platform, 1);
  const Address x = b.allocate(kWords), y = b.allocate(kWords);
  std::vector<Initial> start;
  std::vector<Call> calls;
  const Code code = b.codelet("AddInto_f32");
  for (unsigned t = 0; t < 16; ++t) {
    start.push_back({tile(t), x, seeded(t, kWords)});
    start.push_back({tile(t), y, seeded(t + 100, kWords)});
    calls.push_back({tile(t), kAllWorkers, code, {x, y, vectors[t]}});
  }
  b.initial("start", start);
  b.tensor("y", graph::Type::u32, y, kWords);
  b.set_offset(kOffset);
  b.compute("add", calls);
  DemoMachine machine(b.build(), platform);
  machine.run();
  const auto got = machine.read<std::uint32_t>("y");
  for (unsigned t = 0; t < 16; ++t) {
    std::vector<std::uint32_t> want = seeded(t + 100, kWords);
    const auto add = seeded(t, kWords);
    for (unsigned i = 0; i < 2 * vectors[t]; ++i)
      want[kOffset / 4 + i] = bits(value(add[i]) + value(want[kOffset / 4 + i]));
    for (unsigned i = 0; i < kWords; ++i) ASSERT_EQ(got[kWords * t + i], want[i]) << "tile " << t << ", word " << i;
  }
}

TEST(Kernels, SumSlotsAddsInOrderOfTheSlots) {
  const Platform platform = load_platform("pocket");
  constexpr std::uint32_t kPitch = 10, kWords = 9;
  Builder b("sum", platform, 1);
  const Address slots = b.allocate(16 * kPitch), y = b.allocate(kPitch);
  std::vector<Initial> start;
  std::vector<Call> calls;
  const Code code = b.codelet("SumSlots_f32");
  for (unsigned t = 0; t < 16; ++t) {  // tile t sums t + 1 slots, or 16; its own stands at different places
    start.push_back({tile(t), slots, seeded(t, 16 * kPitch)});
    start.push_back({tile(t), y, seeded(t + 100, kPitch)});
    calls.push_back({tile(t), kAllWorkers, code, {slots, y, t + 1, kPitch, t / 2, kWords - t % 3}});
  }
  b.initial("start", start);
  b.tensor("y", graph::Type::u32, y, kPitch);
  b.compute("sum", calls);
  DemoMachine machine(b.build(), platform);
  machine.run();
  const auto got = machine.read<std::uint32_t>("y");
  for (unsigned t = 0; t < 16; ++t) {
    std::vector<std::uint32_t> want = seeded(t + 100, kPitch);
    const auto slot = seeded(t, 16 * kPitch);
    for (unsigned i = 0; i < kWords - t % 3; ++i) {
      const float mine = value(want[i]);
      float sum = 0;
      for (unsigned k = 0; k <= t; ++k) {
        const float next = k == t / 2 ? mine : value(slot[k * kPitch + i]);
        sum = k == 0 ? next : sum + next;
      }
      want[i] = bits(sum);
    }
    for (unsigned i = 0; i < kPitch; ++i) ASSERT_EQ(got[kPitch * t + i], want[i]) << "tile " << t << ", word " << i;
  }
}

TEST(Kernels, FillSeededEndsWithTheVector) {
  const Platform platform = load_platform("pocket");
  constexpr std::uint32_t kPitch = 20, kRows = 4, kStep = 17, kColumns = 15;
  Builder b("fill", platform, 1);
  const Address y = b.allocate(kPitch * kRows);
  std::vector<Initial> start;
  std::vector<Call> calls;
  const Code code = b.codelet("FillSeeded_f32");
  for (unsigned t = 0; t < 16; ++t) {
    start.push_back({tile(t), y, std::vector<std::uint32_t>(kPitch * kRows, 0xabcd1234)});
    calls.push_back({tile(t), kAllWorkers, code, {y, 77, 1000 * t, 1000 * t + 5 * t, kRows, kColumns, kPitch, kStep}});
  }
  b.initial("start", start);
  b.tensor("y", graph::Type::u32, y, kPitch * kRows);
  b.compute("fill", calls);
  DemoMachine machine(b.build(), platform);
  machine.run();
  const auto got = machine.read<std::uint32_t>("y");
  for (unsigned t = 0; t < 16; ++t)
    for (unsigned r = 0; r < kRows; ++r)
      for (unsigned i = 0; i < kPitch; ++i) {
        const std::uint32_t index = 1000 * t + r * kStep + i;
        const std::uint32_t inside = index < 1000 * t + 5 * t ? bits(seeded_value(77, index)) : 0;
        ASSERT_EQ(got[(kRows * t + r) * kPitch + i], i < kColumns ? inside : 0xabcd1234) << t << ", " << r << ", " << i;
      }
}

}  // namespace
}  // namespace tessera::demo
