#include "host/onnx/tensor_io.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "hw/error.h"

namespace tessera::model {
namespace {

namespace fs = std::filesystem;

class TensorFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "tessera_tensor_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  static Category category_of(const std::string& file) {
    try {
      (void)read_tensor(file);
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(file), std::string::npos) << error.what();
      return error.category();
    }
    return Category::internal;
  }
  fs::path folder_;
};

std::vector<Tensor> samples() {
  Tensor scalar(Type::f32, {}, std::vector<float>{-2.5F});
  scalar.name = "s";
  return {Tensor(Type::f32, {2, 3}, std::vector<float>{1, -2, 3.5F, 0, 1e-40F, 6}),
          Tensor(Type::i64, {2}, std::vector<std::int64_t>{-1, std::int64_t{1} << 60}),
          Tensor(Type::i32, {1, 1, 2}, std::vector<std::int32_t>{-7, 7}),
          Tensor(Type::boolean, {3}, std::vector<std::uint8_t>{1, 0, 1}),
          Tensor(Type::f64, {1}, std::vector<double>{1e300}),
          Tensor(Type::f16, {2}, std::vector<std::uint16_t>{0x3C00, 0x8001}),
          Tensor(Type::f32, {3, 0, 2}),
          scalar};
}

TEST_F(TensorFiles, PbAndNpyRoundTrip) {
  std::size_t compared = 0;
  for (const Tensor& tensor : samples())
    for (const char* suffix : {".pb", ".npy"}) {
      write_tensor(path("t") + suffix, tensor);
      const Tensor back = read_tensor(path("t") + suffix);
      EXPECT_TRUE(back == tensor) << name_of(tensor.type) << to_string(tensor.shape) << suffix;
      ++compared;
    }
  EXPECT_EQ(compared, 16U);
}

TEST_F(TensorFiles, RawRoundTrip) {
  const Tensor tensor = samples()[0];
  write_tensor(path("t.raw"), tensor);
  EXPECT_EQ(fs::file_size(path("t.raw")), 24U);
  EXPECT_TRUE(read_raw(path("t.raw"), Type::f32, {2, 3}) == tensor);
  EXPECT_THROW((void)read_raw(path("t.raw"), Type::f32, {2, 2}), Error);
}

TEST_F(TensorFiles, EveryCutFileIsRefusedWithItsName) {
  for (const char* suffix : {".pb", ".npy"}) {
    const std::string whole = path("whole") + suffix, cut = path("cut") + suffix;
    write_tensor(whole, samples()[0]);
    const std::string bytes = read_file(whole);
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      write_file(cut, bytes.substr(0, length));
      EXPECT_EQ(category_of(cut), Category::usage) << suffix << " cut to " << length;
    }
  }
}

TEST_F(TensorFiles, WrongFilesAreRefused) {
  write_file(path("text.npy"), "hello");
  write_file(path("t.txt"), "hello");
  EXPECT_EQ(category_of(path("text.npy")), Category::usage);
  EXPECT_EQ(category_of(path("t.txt")), Category::usage);
  EXPECT_EQ(category_of(path("absent.pb")), Category::usage);
  fs::create_directory(path("folder.pb"));
  EXPECT_EQ(category_of(path("folder.pb")), Category::usage);
  EXPECT_THROW(write_tensor(path("no/such/folder.pb"), samples()[0]), Error);
}

TEST_F(TensorFiles, NpyHeaderIsWhatNumpyWrites) {
  write_tensor(path("t.npy"), samples()[0]);
  const std::string bytes = read_file(path("t.npy"));
  EXPECT_EQ((bytes.size() - 24) % 64, 0U);
  EXPECT_EQ(bytes.substr(10, 59), "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }");
}

TEST(Tensors, HalfValues) {
  EXPECT_EQ(from_half(0x3C00), 1.0F);
  EXPECT_EQ(from_half(0xC000), -2.0F);
  EXPECT_EQ(from_half(0x0001), 5.9604644775390625e-8F);
  EXPECT_EQ(from_half(0x7BFF), 65504.0F);
}

TEST(Tensors, Broadcasting) {
  EXPECT_EQ(broadcast({3, 1}, {4}), (Shape{3, 4}));
  EXPECT_EQ(broadcast({}, {2, 0}), (Shape{2, 0}));
  EXPECT_EQ(broadcast({1}, {0}), (Shape{0}));
  EXPECT_THROW((void)broadcast({3}, {4}), Error);
}

}  // namespace
}  // namespace tessera::model
