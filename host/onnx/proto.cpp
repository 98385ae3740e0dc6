#include "host/onnx/proto.h"

#include <fmt/format.h>

#include <filesystem>
#include <limits>

#include "host/onnx/tensor_io.h"
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

/// The bytes of a tensor that stand in a file beside the model.
std::string external_bytes(const Proto& proto, const std::string& where, const std::string& folder) {
  std::string location;
  std::uint64_t offset = 0, length = std::numeric_limits<std::uint64_t>::max();
  try {
    for (const auto& entry : proto.external_data()) {
      if (entry.key() == "location") location = entry.value();
      if (entry.key() == "offset") offset = std::stoull(entry.value());
      if (entry.key() == "length") length = std::stoull(entry.value());
    }
  } catch (const std::logic_error&) {
    throw Error(Category::usage, "the place of external data is not a number", where,
                "the file is damaged: get it again");
  }
  const std::filesystem::path path(location);
  bool leaves = location.empty() || path.is_absolute();
  for (const auto& part : path) leaves = leaves || part == "..";
  if (leaves)
    throw Error(Category::usage, "external data must lie beside the model, not at '" + location + "'", where,
                "store the weights inside the model file");
  const std::string bytes = read_file((std::filesystem::path(folder) / path).string());
  if (offset > bytes.size() || (length != std::numeric_limits<std::uint64_t>::max() && length > bytes.size() - offset))
    throw Error(Category::usage, "external data are cut short: " + location, where, "get the file again");
  return bytes.substr(offset, length);
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
  const bool external = proto.data_location() == Proto::EXTERNAL;
  const std::string far = external ? external_bytes(proto, where, folder) : std::string();
  const std::string& raw = external ? far : proto.raw_data();
  const auto expected = static_cast<std::uint64_t>(count) * size_of(*type);
  const bool has_raw = external || proto.has_raw_data();
  if (has_raw && raw.size() != expected)
    throw Error(Category::usage,
                fmt::format("a tensor of shape {} and type {} comes with {} bytes instead of {}", to_string(shape),
                            name_of(*type), raw.size(), expected),
                where, "the file is damaged or cut short: get it again");
  // Checked before memory is taken: a few bytes must not claim terabytes.
  if (!has_raw && expected > 16 * static_cast<std::uint64_t>(proto.ByteSizeLong()))
    throw Error(Category::usage, fmt::format("a tensor of shape {} comes without its elements", to_string(shape)),
                where, "the file is damaged or cut short: get it again");
  Tensor tensor(*type, shape);
  tensor.name = proto.name();
  if (has_raw)
    std::copy(raw.begin(), raw.end(), tensor.data.begin());
  else
    fill_from_fields(tensor, proto, where);
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
