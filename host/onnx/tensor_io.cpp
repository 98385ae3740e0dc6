#include "host/onnx/tensor_io.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "host/onnx/proto.h"
#include "hw/error.h"
#include "hw/read_file.h"
#include "hw/whole_file.h"

namespace tessera::model {

namespace {

bool ends_with(const std::string& text, const std::string& suffix) {
  return text.size() >= suffix.size() && text.compare(text.size() - suffix.size(), suffix.size(), suffix) == 0;
}

struct NpyType {
  const char* descr;
  Type type;
};
constexpr NpyType kNpyTypes[] = {{"|b1", Type::boolean}, {"|i1", Type::i8},  {"|u1", Type::u8},  {"<i2", Type::i16},
                                 {"<u2", Type::u16},     {"<i4", Type::i32}, {"<u4", Type::u32}, {"<i8", Type::i64},
                                 {"<u8", Type::u64},     {"<f2", Type::f16}, {"<f4", Type::f32}, {"<f8", Type::f64}};

[[noreturn]] void bad_npy(const std::string& file, const std::string& why) {
  throw Error(Category::usage, "not a readable .npy file: " + why, file, "save it anew with numpy.save");
}

/// Text of the header and where the contents begin.
std::pair<std::string, std::size_t> npy_header(const std::string& bytes, const std::string& file) {
  if (bytes.size() < 12 || bytes.compare(0, 6, "\x93NUMPY") != 0) bad_npy(file, "it does not begin like one");
  const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i])); };
  const std::size_t major = byte(6);
  if (major < 1 || major > 3) bad_npy(file, fmt::format("format version {}", major));
  const std::size_t start = major == 1 ? 10 : 12;
  std::size_t length = byte(8) | byte(9) << 8U;
  if (major > 1) length |= byte(10) << 16U | byte(11) << 24U;
  if (length > bytes.size() - start) bad_npy(file, "it is cut short");
  return {bytes.substr(start, length), start + length};
}

Tensor read_npy(const std::string& file) {
  const std::string bytes = read_file(file);
  const auto [header, begin] = npy_header(bytes, file);
  std::smatch descr, order, dims;
  if (!std::regex_search(header, descr, std::regex("'descr': *'([^']*)'")) ||
      !std::regex_search(header, order, std::regex("'fortran_order': *(True|False)")) ||
      !std::regex_search(header, dims, std::regex("'shape': *\\(([0-9, ]*)\\)")))
    bad_npy(file, "its header has no descr, fortran_order or shape of a plain array");
  if (order[1] == "True") bad_npy(file, "Fortran order; use numpy.ascontiguousarray first");
  const NpyType* found = nullptr;
  for (const NpyType& candidate : kNpyTypes)
    if (descr[1] == candidate.descr) found = &candidate;
  if (found == nullptr) bad_npy(file, "element type " + descr[1].str());
  Shape shape;
  std::istringstream text(dims[1].str());
  std::uint64_t count = 1;
  for (std::string part; std::getline(text, part, ',');) {
    if (part.find_first_of("0123456789") == std::string::npos) continue;
    if (part.size() > 14) bad_npy(file, "extent " + part);
    const std::int64_t extent = std::stoll(part);
    if (extent != 0 && count > (std::uint64_t{1} << 40) / static_cast<std::uint64_t>(extent))
      bad_npy(file, "too large");
    count *= static_cast<std::uint64_t>(extent);
    shape.push_back(extent);
  }
  const std::uint64_t expected = count * size_of(found->type);
  if (bytes.size() - begin != expected)
    bad_npy(file, fmt::format("{} bytes of contents instead of {}", bytes.size() - begin, expected));
  Tensor tensor(found->type, shape);
  std::copy(bytes.begin() + static_cast<std::ptrdiff_t>(begin), bytes.end(), tensor.data.begin());
  return tensor;
}

std::string npy_bytes(const Tensor& tensor) {
  const std::string dims = fmt::format("{}{}", fmt::join(tensor.shape, ", "), tensor.shape.size() == 1 ? "," : "");
  const char* descr = nullptr;
  for (const NpyType& candidate : kNpyTypes)
    if (candidate.type == tensor.type) descr = candidate.descr;
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, dims);
  header.append(63 - (10 + header.size()) % 64, ' ');  // contents begin at a multiple of 64
  header += '\n';
  std::string bytes = "\x93NUMPY";
  bytes += {'\x01', '\x00', static_cast<char>(header.size() & 255U), static_cast<char>(header.size() >> 8U)};
  return bytes + header + std::string(tensor.data.begin(), tensor.data.end());
}

}  // namespace

std::string read_file(const std::string& file) {
  return read_whole_file(file, "file");
}

void write_file(const std::string& file, const std::string& bytes) {
  if (!write_whole_file(file, bytes)) {
    throw Error(Category::usage, "cannot write the file", file, "check that the folder exists and has free space");
  }
}

void make_directory(const std::string& directory) {
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  if (!failed && !std::filesystem::is_directory(directory)) failed = std::make_error_code(std::errc::not_a_directory);
  if (failed)
    throw Error(Category::usage, "cannot make the output directory: " + failed.message(), directory, "check the path");
}

Tensor read_tensor(const std::string& file) {
  if (ends_with(file, ".npy")) return read_npy(file);
  if (!ends_with(file, ".pb"))
    throw Error(Category::usage, "a tensor file ends in .pb or .npy", file, "rename or convert it");
  ::onnx::TensorProto proto;
  const std::string bytes = read_file(file);
  if (bytes.empty() || !proto.ParseFromString(bytes))
    throw Error(Category::usage, "not a TensorProto, or cut short", file, "get or write the file again");
  return from_proto(proto, file);
}

Tensor read_raw(const std::string& file, Type type, const Shape& shape) {
  const std::string bytes = read_file(file);
  Tensor tensor(type, shape);
  if (bytes.size() != tensor.data.size())
    throw Error(Category::usage,
                fmt::format("{} bytes, where {} of {} takes {}", bytes.size(), name_of(type), to_string(shape),
                            tensor.data.size()),
                file, "check type and shape");
  std::copy(bytes.begin(), bytes.end(), tensor.data.begin());
  return tensor;
}

void write_tensor(const std::string& file, const Tensor& tensor) {
  if (ends_with(file, ".npy")) return write_file(file, npy_bytes(tensor));
  if (ends_with(file, ".raw") || ends_with(file, ".bin"))
    return write_file(file, std::string(tensor.data.begin(), tensor.data.end()));
  if (!ends_with(file, ".pb"))
    throw Error(Category::usage, "a tensor file ends in .pb, .npy, .raw or .bin", file, "choose one of these");
  std::string bytes;
  to_proto(tensor).SerializeToString(&bytes);
  write_file(file, bytes);
}

}  // namespace tessera::model
