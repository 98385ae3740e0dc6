// User sources: compiled, cached, refused with the reason.
#include "host/codelets/user_codelets.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "host/codelets/linker.h"
#include "hw/error.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

class UserCodelets : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("tessera-user-codelets-" + std::to_string(getpid()));
    fs::create_directories(folder_);
    setenv("TESSERA_CACHE", (folder_ / "cache").c_str(), 1);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string& body) {
    const fs::path path = folder_ / "user.c";
    std::ofstream(path) << "#include \"tessera/vertex.h\"\n" << body;
    return path.string();
  }
  /// The message of the error that adding this source gives.
  std::string refused(const std::string& body) {
    try {
      CodeletLibrary library = CodeletLibrary::builtin();
      library.add(compile_user_codelets(write(body)), "user.c");
    } catch (const Error& e) {
      EXPECT_EQ(e.category(), Category::usage);
      return e.message();
    }
    return "(accepted)";
  }
  fs::path folder_;
};

TEST_F(UserCodelets, AreAddedLinkedAndCached) {
  const std::string path = write(
      "VERTEX(Halve, IN(f32, x, 8, 2), OUT_SPAN(f32, y), VALUE(u8, flag), VALUE(i32, k)) {\n"
      "  for (uint32_t i = 0; i < state->y.count; ++i) state->y.data[i] = state->x[i] * 0.5f;\n}\n"
      "VERTEX(Divide64, IN(u32, x), OUT(u32, y)) {\n"
      "  state->y[0] = (u32)((((uint64_t)state->x[0] << 32) | state->x[1]) / state->x[2]);\n}\n");
  const auto object = compile_user_codelets(path);
  CodeletLibrary library = CodeletLibrary::builtin();
  const std::size_t before = library.codelets().size();
  library.add(object, path);
  EXPECT_EQ(library.codelets().size(), before + 2);
  EXPECT_EQ(CodeletLibrary::builtin().codelets().size(), before) << "the built-in library must not change";
  const auto& halve = library.at("Halve");
  ASSERT_EQ(halve.fields.size(), 4u);
  EXPECT_EQ(halve.fields[0].align, 8u);
  EXPECT_EQ(halve.fields[0].minimum, 2u);
  EXPECT_EQ(halve.fields[3].offset, 16u);
  EXPECT_EQ(halve.state_bytes, 20u);
  const auto image = link(library, {"Halve", "Divide64"}, 0x50000);
  EXPECT_GT(image.needs.at("Divide64").size(), 1u) << "the 64-bit division of libgcc is part of it";
  ASSERT_EQ(std::distance(fs::directory_iterator(folder_ / "cache"), fs::directory_iterator()), 1);
  EXPECT_EQ(compile_user_codelets(path), object);
  ASSERT_EQ(std::distance(fs::directory_iterator(folder_ / "cache"), fs::directory_iterator()), 1);
}

TEST_F(UserCodelets, ADamagedObjectInTheCacheIsMadeAnew) {
  const std::string path = write("VERTEX(Copy1, IN(u32, x), OUT(u32, y)) { *state->y = *state->x; }\n");
  const auto object = compile_user_codelets(path);
  const fs::path cached = fs::directory_iterator(folder_ / "cache")->path();
  const auto whole = fs::file_size(cached);
  const auto contents = [&] {
    std::ifstream in(cached, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const std::string good = contents();
  std::string changed = good;
  changed[changed.size() / 2] = static_cast<char>(changed[changed.size() / 2] ^ 1);
  for (const std::string& damaged :
       {good.substr(0, whole / 2), good.substr(0, whole - 1), std::string(), std::string(whole, 'x'), changed}) {
    std::ofstream(cached, std::ios::binary) << damaged;
    EXPECT_EQ(compile_user_codelets(path), object) << damaged.size();
    EXPECT_EQ(contents(), good) << "and kept whole again";
  }
  ASSERT_EQ(std::distance(fs::directory_iterator(folder_ / "cache"), fs::directory_iterator()), 1);
}

/// A process that a signal ends while the compiler runs: it ends by that signal, with nothing left behind.
TEST_F(UserCodelets, ASignalLeavesNoTemporaryFiles) {
  // Preprocessing alone takes seconds: each line holds twice as many words as the one before.
  std::string body = "#define A0 x x\n";
  for (int k = 1; k <= 22; ++k)
    body += "#define A" + std::to_string(k) + " A" + std::to_string(k - 1) + " A" + std::to_string(k - 1) + "\n";
  const std::string path = write(body + "int a[] = { A22 };\n");
  const fs::path temporary = folder_ / "temporary";
  for (const int signal : {SIGINT, SIGTERM}) {
    fs::create_directories(temporary);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      setenv("TMPDIR", temporary.c_str(), 1);
      try {
        (void)compile_user_codelets(path);
      } catch (const std::exception&) {
      }
      _exit(0);
    }
    const auto begun = [&] { return fs::exists(temporary) && !fs::is_empty(temporary); };
    for (int k = 0; k < 5000 && !begun(); ++k) usleep(1000);
    ASSERT_TRUE(begun());
    ASSERT_EQ(kill(child, signal), 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), signal);
    EXPECT_TRUE(fs::is_empty(temporary));
  }
}

TEST_F(UserCodelets, MayUseXtile) {
  const std::string path = write(
      "#include \"tessera/xtile.h\"\n"
      "VERTEX(Sum3, IN(f16, x, 8), OUT(f32, y)) {\n"
      "  const f16x4* p = (const f16x4*)state->x;\n"
      "  const f16x4 a = x_ld64(p, 8), ones = {x_from_bits(0x3c003c00), x_from_bits(0x3c003c00)};\n"
      "  f32 sum = x_dot_f16v4(a, ones, 0.0f);\n"
      "  x_rpti(2, (X_IOX(io0, p), X_IOF(io1, sum)), X_NONE, X_USES(p4, p6), X_PAIR(X_LD64(p4, 8, io0), X_FNOP),\n"
      "         X_PAIR(X_NOP, X_DOT_F16V4(io1, p4, p4, io1)));\n"
      "  *state->y = sum;\n}\n");
  CodeletLibrary library = CodeletLibrary::builtin();
  library.add(compile_user_codelets(path), path);
  EXPECT_GT(link(library, {"Sum3"}, 0x50000).needs.at("Sum3").size(), 0u);
  // The loops of the source tree: every vertex is accepted, with hardware loops and streams.
  const std::string firmware = TESSERA_SOURCE "/firmware/codelets/";
  for (const auto& [file, codelet] :
       {std::pair{"vector_loops.c", "ExpVectors_f16"}, {"matrix_loops.c", "MatMulAmp_f32"}}) {
    CodeletLibrary all = CodeletLibrary::builtin();
    const std::size_t before = all.codelets().size();
    all.add(compile_user_codelets(firmware + file), file);
    EXPECT_GE(all.codelets().size(), before + 2);
    EXPECT_EQ(all.at(codelet).fields[0].align, 8u);
  }
  EXPECT_NE(
      refused("#include \"tessera/xtile.h\"\nVERTEX(Bad, OUT(f32, y)) { x_block(X_NONE, X_NONE, X_USES(p4), X_MV64(p4, "
              "p5)); }")
          .find("X_P_p5"),
      std::string::npos);
}

TEST_F(UserCodelets, CompilerMessagesReachTheUser) {
  EXPECT_NE(refused("VERTEX(Bad, OUT(f32, y)) { state->z[0] = 1; }").find("no member named 'z'"), std::string::npos);
}

TEST_F(UserCodelets, RulesAreKept) {
  EXPECT_NE(refused("static __attribute__((noinline)) u32 f(u32 n) { return n < 2 ? n : f(n - 1) + f(n - 2) * n; }\n"
                    "VERTEX(Bad, OUT(u32, y)) { state->y[0] = f(state->y[1]); }")
                .find("recursive"),
            std::string::npos);
  EXPECT_NE(refused("void g(u32*);\n__attribute__((noinline)) void g(u32* p) { __asm__ volatile(\"\" : : \"r\"(p)); }\n"
                    "VERTEX(Bad, OUT(u32, y)) { u32 a[state->y[0]]; g(a); }")
                .find("stack pointer"),
            std::string::npos);
  EXPECT_NE(
      refused("VERTEX(Bad, IN(u32, x), OUT(u32, y)) { state->y[0] = ((u32 (*)(u32))(uintptr_t)state->x[0])(1) + 1; }")
          .find("through a pointer"),
      std::string::npos);
  EXPECT_NE(refused("static u32 kept; VERTEX(Bad, OUT(u32, y)) { state->y[0] = kept++; }").find("writable"),
            std::string::npos);
  EXPECT_NE(refused("VERTEX(Add_f32, OUT(u32, y)) { state->y[0] = 1; }").find("two codelets"), std::string::npos);
}

TEST_F(UserCodelets, UndefinedFunctionsAreNamed) {
  CodeletLibrary library = CodeletLibrary::builtin();
  library.add(compile_user_codelets(
                  write("float sinf(float);\nVERTEX(Sine, OUT(f32, y)) { state->y[0] = sinf(state->y[1]); }")),
              "user.c");
  try {
    (void)link(library, {"Sine"}, 0x50000);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(e.message().find("sinf"), std::string::npos);
  }
}

TEST_F(UserCodelets, AnObjectOfAnotherMachineIsRefused) {
  CodeletLibrary library;
  EXPECT_THROW(library.add({1, 2, 3}, "junk"), Error);
}

}  // namespace
}  // namespace tessera
