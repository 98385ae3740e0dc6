// Codelets on a tile: linked by our linker, started by boot and dispatch, bit-equal to their host build; slot counts of
// dispatch.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "host/codelets/user_codelets.h"
#include "host/codelets/vertex_cases.h"
#include "hw/generated/machine.h"
#include "tlm/tile/tlm_tile.h"
#include "verif/codelets/tile_program.h"

namespace tessera::testing {
namespace {

TileConfig small_tile() {
  TileConfig config;
  config.sram_bytes = 262144;
  return config;
}

std::vector<std::uint8_t> memory_of(const TileModel& tile) {
  std::vector<std::uint8_t> bytes(262144);
  tile.read_memory(kSramBase, bytes.data(), bytes.size());
  return bytes;
}

/// Runs one vertex on a tile and on the host; every byte of SRAM but the stacks must be what the host says.
void compare(const CodeletInfo& codelet, const Bindings& before, unsigned skew, bool exact, long& compared) {
  Bindings after = before;
  run_reference(codelet.name, after);
  TileProgram program({codelet.name});
  const auto vertex = program.place(codelet, before, skew);
  if (codelet.amp) program.amp(codelet.name, vertex.state);
  for (unsigned w = 0; !codelet.amp && w < (codelet.multi ? 6u : 1u); ++w) {
    program.record(w, codelet.name, vertex.state);
  }
  TlmTile tile(small_tile());
  tile.force_exact(exact);
  program.run(tile);
  auto want = program.initial();
  for (const auto& field : codelet.fields) {
    if (field.is_value()) continue;
    const auto& bytes = after.at(field.name).bytes;
    std::memcpy(&want.at(vertex.data.at(field.name) - kSramBase), bytes.data(), bytes.size());
    if (field.writes()) compared += static_cast<long>(bytes.size());
  }
  const auto got = memory_of(tile);
  for (std::size_t at = 0; at < want.size(); ++at) {
    const Address address = kSramBase + static_cast<Address>(at);
    if (address >= program.stacks() && address < program.stacks_end()) continue;
    ASSERT_EQ(got[at], want[at]) << codelet.name << ": byte at " << std::hex << address;
  }
}

TEST(CodeletsOnTile, EveryCodeletEqualsItsHostBuild) {
  std::mt19937 random(7);
  long compared = 0;
  unsigned vertices = 0;
  for (const auto& codelet : CodeletLibrary::builtin().codelets()) {
    const unsigned rounds = codelet.field("half_bytes") != nullptr ? 48 : 8;  // more kinds of loops than others have
    for (unsigned round = 0; round < rounds; ++round, ++vertices) {
      const Bindings before = random_vertex(codelet, 1 + (round * 5) % 23, random);
      ASSERT_NO_THROW(compare(codelet, before, round % 4, round == 0, compared)) << codelet.name;
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
  std::printf("%u vertices, %ld result bytes compared\n", vertices, compared);
  EXPECT_GT(compared, 50000);
}

TEST(CodeletsOnTile, MathFunctionsEqualTheirHostBuildOverAllExponents) {
  for (const char* name : {"Exp_f32", "Log_f32", "Sigmoid_f32", "Tanh_f32", "Sqrt_f32", "Reciprocal_f32", "Relu_f32"}) {
    Bindings b;
    constexpr std::uint32_t kCount = 4096;
    b["x"].bytes.resize(4 * kCount), b["y"].bytes.resize(4 * kCount), b["y"].count = kCount;
    for (std::uint32_t i = 0; i < kCount; ++i) {
      const std::uint32_t bits = i * 1048573u;  // every exponent, both signs
      std::memcpy(&b["x"].bytes[4 * i], &bits, 4);
    }
    long compared = 0;
    ASSERT_NO_THROW(compare(CodeletLibrary::builtin().at(name), b, 0, false, compared));
    EXPECT_EQ(compared, 4 * kCount) << name;
  }
}

/// Counts worker instructions inside dispatch.
struct DispatchSlots : RetireObserver {
  Address from = 0, to = 0;
  std::array<unsigned, 7> count{};
  void retired(const RetireRecord& r) override {
    if (r.pc >= from && r.pc < to) ++count.at(r.context);
  }
  void exchanged(const ExchangeWord&) override {}
};

class Dispatch : public ::testing::Test {
 protected:
  std::array<unsigned, 7> run(unsigned offset = 0) {
    DispatchSlots slots;
    slots.from = program.image().address_of(kFirmwareDispatch);
    for (const auto& s : program.image().symbols)
      if (s.name == kFirmwareDispatch) slots.to = slots.from + s.size;
    tile.observe(&slots);
    program.run(tile, offset);
    return slots.count;
  }
  std::uint32_t word(Address at) {
    std::uint32_t value = 0;
    tile.read_memory(at, reinterpret_cast<std::uint8_t*>(&value), 4);
    return value;
  }
  TileProgram program{{"Fill_u32"}};
  Address area = program.allocate(4096, 8);
  TlmTile tile{small_tile()};
};

TEST_F(Dispatch, ArrayRecordsTakeSevenAndSixSlots) {
  const Address first = program.allocate(5 * 12, 8);
  for (std::uint32_t k = 0; k < 5; ++k) {
    program.write_word(first + 12 * k, area + 4 * k);
    program.write_word(first + 12 * k + 4, 1), program.write_word(first + 12 * k + 8, 100 + k);
  }
  program.record(2, "Fill_u32", first, 5, 12);
  program.record(2, "Fill_u32", first, 1, 12);
  const auto slots = run();
  for (std::uint32_t k = 0; k < 5; ++k) EXPECT_EQ(word(area + 4 * k), 100 + k);
  EXPECT_EQ(slots[3], 7u + 7 + 5 * 6 + 7 + 6 + 1);
  EXPECT_EQ(slots[1], 6u) << "a worker with nothing to do";
}

TEST_F(Dispatch, MovingRecordsMoveAndPutBackTheState) {
  // Worker 1 moves the address only, worker 3 address and value; each has ten words of its own.
  const std::vector<std::uint32_t> increments[2] = {{8}, {8, 0, 0xffffffff}};
  Address states[2];
  for (const unsigned k : {0u, 1u}) {
    states[k] = program.allocate(12, 4);
    program.write_word(states[k], area + 1024 * k);
    program.write_word(states[k] + 4, 1), program.write_word(states[k] + 8, 70);
    program.record(2 * k + 1, "Fill_u32", states[k], 10, 0, increments[k]);
  }
  const auto slots = run();
  EXPECT_EQ(slots[2], 7u + 25 + 10 * 6 + 9 * 4 * 1 + 5 * 1 + 1);
  EXPECT_EQ(slots[4], 7u + 25 + 10 * 6 + 9 * 4 * 3 + 5 * 3 + 1);
  for (const unsigned k : {0u, 1u}) {
    for (std::uint32_t n = 0; n < 10; ++n) EXPECT_EQ(word(area + 1024 * k + 8 * n), 70 - k * n);
    EXPECT_EQ(word(states[k]), area + 1024 * k);
    EXPECT_EQ(word(states[k] + 4), 1u);
    EXPECT_EQ(word(states[k] + 8), 70u);
  }
}

TEST_F(Dispatch, LongMovingRecords) {
  const Address state = program.allocate(4 * 20, 4);
  program.write_word(state, area), program.write_word(state + 4, 1), program.write_word(state + 8, 50);
  std::vector<std::uint32_t> increments(20, 0);
  increments[0] = 4, increments[2] = 1, increments[19] = 3;
  program.record(0, "Fill_u32", state, 6, 0, increments);
  program.record(0, "Fill_u32", state, 1, 12);
  const auto slots = run();
  for (std::uint32_t k = 0; k < 6; ++k) EXPECT_EQ(word(area + 4 * k), 50 + k);
  EXPECT_EQ(word(state), area);
  EXPECT_EQ(word(state + 76), 0u);
  EXPECT_EQ(slots[1], 7u + (12 + 6 * 8 + 5 * 20 * 7 + 20 * 8) + (7 + 6) + 1);
}

/// Lowest stack pointer of each context.
struct StackDepth : RetireObserver {
  std::array<Address, 7> lowest{};
  void retired(const RetireRecord& r) override {
    if (r.xrd == 2 && (lowest.at(r.context) == 0 || r.xval < lowest.at(r.context))) lowest.at(r.context) = r.xval;
  }
  void exchanged(const ExchangeWord&) override {}
};

TEST(CodeletsOnTile, StackUseIsWhatTheLibrarySays) {
  std::mt19937 random(3);
  unsigned with_stack = 0;
  for (const auto& codelet : CodeletLibrary::builtin().codelets()) {
    if (codelet.stack_bytes == 0) continue;
    std::uint32_t deepest = 0;
    for (unsigned round = 0; round < 6; ++round) {
      TileProgram program({codelet.name});
      // The first worker of a multi-vertex has most to do.
      const unsigned worker = codelet.multi ? 0 : 5;
      const std::uint32_t size = codelet.multi ? 90 + round : 7 + round;
      const Address state = program.place(codelet, random_vertex(codelet, size, random)).state;
      if (codelet.amp) {
        program.amp(codelet.name, state);
      } else {
        program.record(worker, codelet.name, state);
      }
      TlmTile tile(small_tile());
      StackDepth depth;
      tile.observe(&depth);
      program.run(tile);
      const Address top = program.stacks() + (worker + 1) * 512, lowest = depth.lowest.at(worker + 1);
      if (lowest != 0) deepest = std::max(deepest, top - lowest);
    }
    // Rare arguments of functions take the deepest path; those of f16 sines never reach it.
    EXPECT_LE(deepest, codelet.stack_bytes) << codelet.name;
    EXPECT_GE(deepest + (codelet.name.rfind("Map", 0) == 0 ? 16 : 0), codelet.stack_bytes) << codelet.name;
    ++with_stack;
  }
  EXPECT_GT(with_stack, 5u);
}

TEST(CodeletsOnTile, UserCodeletsSeeTheOffsetAndUseLibgcc) {
  const auto folder = std::filesystem::temp_directory_path() / ("tessera-codelet-system-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  setenv("TESSERA_CACHE", folder.c_str(), 1);
  const std::string path = (folder / "user.c").string();
  std::ofstream(path) << "#include \"tessera/vertex.h\"\n"
                         "VERTEX(Divide64, IN(u32, x), OUT(u32, y)) {\n"
                         "  state->y[0] = offset;\n"
                         "  state->y[1] = (u32)((((uint64_t)state->x[0] << 32) | state->x[1]) / state->x[2]);\n}\n";
  CodeletLibrary library = CodeletLibrary::builtin();
  library.add(compile_user_codelets(path), path);
  std::filesystem::remove_all(folder);
  Bindings b;
  b["x"].bytes.resize(12), b["y"].bytes.resize(8);
  const std::uint32_t x[3] = {5, 123456789, 77777};
  std::memcpy(b["x"].bytes.data(), x, 12);
  TileProgram program({"Divide64"}, library);
  const auto vertex = program.place(library.at("Divide64"), b);
  program.record(0, "Divide64", vertex.state);
  TlmTile tile(small_tile());
  program.run(tile, 0x1234);
  std::uint32_t y[2];
  tile.read_memory(vertex.data.at("y"), reinterpret_cast<std::uint8_t*>(y), 8);
  EXPECT_EQ(y[0], 0x1234u);
  EXPECT_EQ(y[1], ((std::uint64_t{5} << 32) + 123456789) / 77777);
}

}  // namespace
}  // namespace tessera::testing
