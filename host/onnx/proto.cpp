#include "host/onnx/proto.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "hw/error.h"

namespace tessera::model {

namespace {

using Proto = ::onnx::TensorProto;

struct TypePair {
  Type type;
  int proto;
};
constexpr TypePair kTypes[] = {{Type::boolean, Proto::BOOL}, {Type::i8, Proto::INT8},    {Type::u8, Proto::UINT8},
                               {Type::i16, Proto::INT16},    {Type::u16, Proto::UINT16}, {Type::i32, Proto::INT32},
                               {Type::u32, Proto::UINT32},   {Type::i64, Proto::INT64},  {Type::u64, Proto::UINT64},
                               {Type::f16, Proto::FLOAT16},  {Type::f32, Proto::FLOAT},  {Type::f64, Proto::DOUBLE}};

/// Elements from a repeated field; T: as stored in the tensor.
template <typename T, typename Field>
void fill(Tensor& tensor, const Field& field, const std::string& where) {
  if (field.size() != tensor.elements())
    throw Error(Category::usage,
                fmt::format("a tensor of shape {} comes with {} elements", to_string(tensor.shape), field.size()),
                where, "the file is damaged: get it again");
  for (int i = 0; i < field.size(); ++i) tensor.set(i, static_cast<T>(field.Get(i)));
}

void fill_from_fields(Tensor& tensor, const Proto& proto, const std::string& where) {
  switch (tensor.type) {
    case Type::f32:
      return fill<float>(tensor, proto.float_data(), where);
    case Type::f64:
      return fill<double>(tensor, proto.double_data(), where);
    case Type::i64:
      return fill<std::int64_t>(tensor, proto.int64_data(), where);
    case Type::u64:
      return fill<std::uint64_t>(tensor, proto.uint64_data(), where);
    case Type::u32:
      return fill<std::uint32_t>(tensor, proto.uint64_data(), where);
    case Type::i32:
      return fill<std::int32_t>(tensor, proto.int32_data(), where);
    case Type::i16:
    case Type::u16:
    case Type::f16:
      return fill<std::uint16_t>(tensor, proto.int32_data(), where);
    default:
      return fill<std::uint8_t>(tensor, proto.int32_data(), where);
  }
}

/// Where the bytes of a tensor stand in a file beside the model.
struct Place {
  std::string location;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
};

Place external_place(const Proto& proto, const std::string& where) {
  Place place;
  try {
    for (const auto& entry : proto.external_data()) {
      if (entry.key() == "location") place.location = entry.value();
      if (entry.key() == "offset") place.offset = std::stoull(entry.value());
      if (entry.key() == "length") place.length = std::stoull(entry.value());
    }
  } catch (const std::logic_error&) {
    throw Error(Category::usage, "the place of external data is not a number", where,
                "the file is damaged: get it again");
  }
  const std::filesystem::path path(place.location);
  bool leaves = place.location.empty() || path.is_absolute();
  for (const auto& part : path) leaves = leaves || part == "..";
  if (leaves)
    throw Error(Category::usage, "external data must lie beside the model, not at '" + place.location + "'", where,
                "store the weights inside the model file");
  return place;
}

/// Reads the tensor's bytes from that file, and no others: one file may hold all the weights of a model.
void fill_from_file(Tensor& tensor, std::uint64_t bytes, const Proto& proto, const std::string& where,
                    const std::string& folder) {
  const Place place = external_place(proto, where);
  const std::string file = (std::filesystem::path(folder) / place.location).string();
  std::error_code failed;
  const bool regular = std::filesystem::is_regular_file(file, failed);
  const std::uint64_t size = regular ? std::filesystem::file_size(file, failed) : 0;
  std::ifstream in(file, std::ios::binary);
  if (failed || !regular || !in)
    throw Error(Category::usage, "cannot read the external data " + file, where, "put that file beside the model");
  if (place.offset > size || bytes > size - place.offset || place.length.value_or(size - place.offset) < bytes)
    throw Error(Category::usage,
                fmt::format("external data are cut short: {} bytes from {} of {}", bytes, place.offset, place.location),
                where, "get the file again");
  if (place.length.value_or(bytes) != bytes)
    throw Error(Category::usage, fmt::format("external data have {} bytes instead of {}", *place.length, bytes), where,
                "the file is damaged: get it again");
  tensor.data.resize(bytes);
  in.seekg(static_cast<std::streamoff>(place.offset));
  if (!in.read(reinterpret_cast<char*>(tensor.data.data()), static_cast<std::streamsize>(bytes)))
    throw Error(Category::usage, "cannot read the external data " + file, where, "get the file again");
}

}  // namespace

std::optional<Type> from_proto_type(int data_type) {
  for (const TypePair& pair : kTypes)
    if (pair.proto == data_type) return pair.type;
  return std::nullopt;
}

int to_proto_type(Type type) {
  for (const TypePair& pair : kTypes)
    if (pair.type == type) return pair.proto;
  throw std::logic_error("type without an ONNX counterpart");
}

std::string proto_type_name(int data_type) {
  if (const auto type = from_proto_type(data_type)) return std::string(name_of(*type));
  switch (data_type) {
    case Proto::STRING:
      return "string";
    case Proto::BFLOAT16:
      return "bf16";
    case Proto::COMPLEX64:
      return "complex64";
    case Proto::COMPLEX128:
      return "complex128";
    default:
      return fmt::format("type {}", data_type);
  }
}

Tensor from_proto(const Proto& proto, const std::string& where, const std::string& folder) {
  const auto type = from_proto_type(proto.data_type());
  if (!type)
    throw Error(proto.data_type() == Proto::UNDEFINED ? Category::usage : Category::unsupported,
                "a tensor has element type " + proto_type_name(proto.data_type()), where,
                "use f32, int32, int64 or bool");
  Shape shape;
  std::int64_t count = 1;
  for (const std::int64_t extent : proto.dims()) {
    if (extent < 0 || (extent != 0 && count > (std::int64_t{1} << 40) / extent))
      throw Error(Category::usage, fmt::format("a tensor has extent {}", extent), where,
                  "the file is damaged: get it again");
    count *= extent;
    shape.push_back(extent);
  }
  const auto expected = static_cast<std::uint64_t>(count) * size_of(*type);
  Tensor tensor;
  tensor.type = *type;
  tensor.shape = shape;
  tensor.name = proto.name();
  if (proto.data_location() == Proto::EXTERNAL) {
    fill_from_file(tensor, expected, proto, where, folder);
  } else if (proto.has_raw_data()) {
    const std::string& raw = proto.raw_data();
    if (raw.size() != expected)
      throw Error(Category::usage,
                  fmt::format("a tensor of shape {} and type {} comes with {} bytes instead of {}", to_string(shape),
                              name_of(*type), raw.size(), expected),
                  where, "the file is damaged or cut short: get it again");
    tensor.data.assign(raw.begin(), raw.end());
  } else {
    // Checked before memory is taken: a few bytes must not claim terabytes.
    if (expected > 16 * static_cast<std::uint64_t>(proto.ByteSizeLong()))
      throw Error(Category::usage, fmt::format("a tensor of shape {} comes without its elements", to_string(shape)),
                  where, "the file is damaged or cut short: get it again");
    tensor.data.resize(expected);
    fill_from_fields(tensor, proto, where);
  }
  if (*type == Type::boolean)
    for (std::uint8_t& value : tensor.data) value = value != 0 ? 1 : 0;
  return tensor;
}

Proto to_proto(const Tensor& tensor) {
  Proto proto;
  for (const std::int64_t extent : tensor.shape) proto.add_dims(extent);
  proto.set_data_type(to_proto_type(tensor.type));
  proto.set_name(tensor.name);
  proto.set_raw_data(std::string(tensor.data.begin(), tensor.data.end()));
  return proto;
}

}  // namespace tessera::model
