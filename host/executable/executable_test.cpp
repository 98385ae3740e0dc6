// The container: what is written is read back, the same bytes each time; whatever is cut, flipped or does not fit is an
// error of the usage category, never a crash and never an executable.
#include "host/executable/executable.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdio>

#include "host/executable/container.h"
#include "hw/error.h"

namespace tessera::executable {
namespace {

Executable example() {
  Executable e;
  e.name = "digits";
  e.platform_name = "pocket";
  e.platform_hash = 0x1234;
  e.platform_json = "{}";
  e.sram_bytes = 262144;
  Program p;
  p.tiles = 4;
  p.tile_class = {0, 0, 1, 1};
  p.regions = {{"start", 0x40000, 0x40040}, {"data", 0x42000, 0x80000}};
  p.contents = {{1, 2, 3}, {4}};
  p.shared = {{"control", 0x40040, 0, 3, {{0, 3}}}};
  p.blobs = {{2, 0x41000, 1}, {3, 0x41000, 1}};
  p.constants = {{"weights", {9, 8, 7, 6}, {{1, 0x42000, 0, 2}, {2, 0x42000, 2, 2}}}};
  p.entries = {{"main", 0x40040}};
  p.tensors = {{"y", "Gemm_1", Type::f16, {2, 3}, {{1, 0x43000, 2, 0, 3}, {2, 0x43004, -2, 3, 3}}}};
  p.steps = {{0x40040, 0x40058, Step::Kind::exchange, "main/copy", "copy", 77, 0},
             {0x40058, 0x40070, Step::Kind::compute, "main/add", "add", 0, 0xFFFFFFFF}};
  p.phases = {{"a to b", 77, 70, 4, 8}};
  p.tables = {{0, 0x41800, 0x41820, 0}, {1, 0x41800, 0x41840, 0}};
  p.vertex_names = {{"adder", "Add", "add"}};
  p.vertices = {{1, 0x3F, 0x41900, 0x41A00, 16, 5, 0, 10}};
  p.symbols = {{"Add", 0x40800, 64}};
  p.files = {"add.c"};
  p.lines = {{0x40800, 0, 12}, {0x40810, 0, 13}, {0x40840, 0, 0}};
  e.programs.push_back(p);
  e.instances = {{0, 0, 0}};
  e.streams = {{"in", true, Type::u8, 5, 0, 8, {{0, 1, 0, 5}}, {{1, 0x44000, 0, 2}}}};
  e.host_steps = {{1, "main/in", {0}, {}}};
  e.interface_json = "{}";
  e.report_json = "{}";
  return e;
}

std::string message_of(const std::vector<std::uint8_t>& bytes) {
  try {
    (void)read(bytes, "model.tsx");
  } catch (const Error& e) {
    EXPECT_EQ(e.category(), Category::usage);
    EXPECT_NE(std::string(e.what()).find("model.tsx"), std::string::npos);
    return e.what();
  }
  return "no error";
}

TEST(Executable, WhatIsWrittenIsReadBack) {
  const Executable e = example();
  const std::vector<std::uint8_t> bytes = write(e);
  EXPECT_EQ(bytes, write(e));
  const Executable back = read(bytes, "f");
  EXPECT_EQ(write(back), bytes);
  EXPECT_EQ(back.programs[0].tensors[0].runs[1].step, -2);
  EXPECT_EQ(back.programs[0].steps[0].predicted_cycles, 77U);
  EXPECT_EQ(back.platform_hash, 0x1234U);
  EXPECT_EQ(back.streams[0].type, Type::u8);
  EXPECT_EQ(back.programs[0].vertices[0].first, 10U);
}

TEST(Executable, FilesAreWrittenAndMissingOnesNamed) {
  const std::string path = testing::TempDir() + "/tessera_executable_test.tsx";
  write_file(example(), path);
  EXPECT_EQ(write(read_file(path)), write(example()));
  std::remove(path.c_str());
  try {
    (void)read_file(path);
    FAIL() << "a missing file was read";
  } catch (const Error& e) {
    EXPECT_EQ(e.category(), Category::usage);
    EXPECT_EQ(e.where(), path);
  }
}

TEST(Executable, EveryCutIsFound) {
  const std::vector<std::uint8_t> bytes = write(example());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::vector<std::uint8_t> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    ASSERT_NE(message_of(cut), "no error") << size;
  }
  std::vector<std::uint8_t> longer = bytes;
  longer.push_back(0);
  EXPECT_NE(message_of(longer).find("behind the end"), std::string::npos);
}

TEST(Executable, EveryFlippedByteIsFound) {
  const std::vector<std::uint8_t> bytes = write(example());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const int flip : {1, 0x80, 0xFF}) {
      std::vector<std::uint8_t> wrong = bytes;
      wrong[i] = static_cast<std::uint8_t>(wrong[i] ^ flip);
      ASSERT_NE(message_of(wrong), "no error") << i;
    }
  }
}

/// Puts the right hash on damaged contents, so that the reader itself is what is tried.
void rehash(std::vector<std::uint8_t>& bytes) {
  const std::uint64_t h = hash_bytes(bytes.data() + 32, bytes.size() - 32) ^ hash_bytes(bytes.data(), 24);
  for (std::size_t i = 0; i < 8; ++i) bytes[24 + i] = static_cast<std::uint8_t>(h >> (8 * i));
}

TEST(Executable, DamageWithARightHashIsAnErrorOrHarmless) {
  const std::vector<std::uint8_t> good = write(example());
  unsigned refused = 0;
  ASSERT_TRUE(rc::check("damage", [&] {
    std::vector<std::uint8_t> bytes = good;
    const unsigned n = *rc::gen::inRange(1U, 6U);
    for (unsigned k = 0; k < n; ++k) {
      bytes[*rc::gen::resize(1000, rc::gen::inRange<std::size_t>(32, bytes.size()))] =
          *rc::gen::arbitrary<std::uint8_t>();
    }
    if (*rc::gen::inRange(0, 3) == 0) bytes.resize(*rc::gen::inRange<std::size_t>(32, bytes.size()));
    rehash(bytes);
    try {
      // What is accepted must be an executable that can be written again.
      RC_ASSERT(write(read(bytes, "f")).size() == bytes.size());
    } catch (const Error& e) {
      RC_ASSERT(e.category() == Category::usage);
      ++refused;
    }
  }));
  EXPECT_GT(refused, 10U);
}

TEST(Executable, NonsenseIsNamed) {
  const auto with = [](auto&& change) {
    Executable e = example();
    change(e);
    return message_of(write(e));
  };
  EXPECT_NE(with([](Executable& e) { e.programs[0].blobs[0].content = 2; }).find("content index 0x2"),
            std::string::npos);
  EXPECT_NE(with([](Executable& e) { e.programs[0].blobs[0].tile = 4; }).find("tile 0x4"), std::string::npos);
  EXPECT_NE(with([](Executable& e) { e.programs[0].blobs[0].address = 0x80000; }).find("0x80000"), std::string::npos);
  EXPECT_NE(with([](Executable& e) { e.programs[0].constants[0].pieces[1].words = 3; }).find("weights"),
            std::string::npos);
  EXPECT_NE(with([](Executable& e) { e.host_steps[0].reads = {1}; }).find("stream index"), std::string::npos);
  EXPECT_NE(with([](Executable& e) { e.streams[0].layout[0].offset = 4; }).find("buffer of in"), std::string::npos);
}

TEST(Executable, AnotherPlatformIsNamedBeside) {
  const Executable e = example();
  EXPECT_NO_THROW(check_platform(e, "pocket", 0x1234));
  try {
    check_platform(e, "c2", 0x99);
    FAIL() << "another platform was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), Category::usage);
    const std::string text = error.what();
    for (const char* part : {"pocket", "c2", "1234", "99"}) EXPECT_NE(text.find(part), std::string::npos) << part;
  }
}

TEST(Executable, LookUps) {
  const Executable e = example();
  const Program& p = e.programs[0];
  EXPECT_EQ(find_step(p, 0x4005C)->name, "add");
  EXPECT_EQ(find_step(p, 0x40070), nullptr);
  EXPECT_EQ(find_step(p, 0x40000), nullptr);
  EXPECT_EQ(find_symbol(p, 0x4083C)->name, "Add");
  EXPECT_EQ(find_symbol(p, 0x40840), nullptr);
  EXPECT_EQ(find_source(p, 0x40814), "add.c:13");
  EXPECT_EQ(find_source(p, 0x40840), "");
  EXPECT_EQ(find_source(p, 0x407FC), "");
  EXPECT_EQ(find_vertex(p, 1, 3, 0x41A40), &p.vertices[0]);
  EXPECT_EQ(find_vertex(p, 1, 3, 0x41A50), nullptr);
  EXPECT_EQ(find_vertex(p, 2, 3, 0x41A40), nullptr);
  EXPECT_EQ(find_table(p, 1, 0x41838)->tile, 1U);
  EXPECT_EQ(find_table(p, 0, 0x41838), nullptr);
  EXPECT_EQ(find_tensor(p, "y")->node, "Gemm_1");
  EXPECT_EQ(e.find_stream("out"), nullptr);
}

}  // namespace
}  // namespace tessera::executable
