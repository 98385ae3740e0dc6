// Bytes of the executable. The fields of each structure are in container_fields.h. Integers are little endian, lists
// and strings carry a 32-bit count.
//
// Layout: magic 8, format 4, sections 4, platform hash 8, content hash 8 (of all bytes behind it), then for each
// section {id 4, check 4 (of its bytes), offset 8, size 8}, then the sections in order without gaps.
#include "host/executable/container.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "host/executable/container_check.h"
#include "host/executable/container_fields.h"
#include "hw/error.h"
#include "hw/read_file.h"
#include "hw/whole_file.h"

namespace tessera::executable {

namespace {

using detail::kSectionNames;
using detail::Reader;
using detail::section;
using detail::Writer;

constexpr std::array<std::uint8_t, 8> kMagic = {'T', 'E', 'S', 'S', 'E', 'R', 'A', 0x1A};
constexpr std::size_t kHeaderBytes = 32;
constexpr std::size_t kSectionEntryBytes = 24;
constexpr std::size_t kHashedFrom = 32;

template <typename T>
T load(const std::vector<std::uint8_t>& bytes, std::size_t at) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) bits |= static_cast<std::uint64_t>(bytes[at + i]) << (8 * i);
  return static_cast<T>(bits);
}

template <typename T>
void store(std::vector<std::uint8_t>& bytes, std::size_t at, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    bytes[at + i] = static_cast<std::uint8_t>(static_cast<std::uint64_t>(value) >> (8 * i));
  }
}

}  // namespace

std::uint64_t hash_bytes(const std::uint8_t* bytes, std::size_t count) {
  std::uint64_t h = 0xCBF29CE484222325;
  for (std::size_t i = 0; i < count; ++i) h = (h ^ bytes[i]) * 0x100000001B3;
  return h;
}

namespace {

/// Tells which section was damaged; the content hash tells that one was.
std::uint32_t section_check(const std::uint8_t* bytes, std::size_t count) {
  const std::uint64_t h = hash_bytes(bytes, count);
  return static_cast<std::uint32_t>(h ^ h >> 32);
}

}  // namespace

std::vector<std::uint8_t> write(const Executable& executable) {
  Executable copy = executable;  // the field lists serve reading too, so they take what they go through as mutable
  std::vector<std::vector<std::uint8_t>> sections;
  for (std::size_t id = 0; id < kSectionNames.size(); ++id) {
    Writer writer;
    section(writer, copy, id);
    sections.push_back(std::move(writer.bytes()));
  }
  std::vector<std::uint8_t> bytes(kHeaderBytes + kSectionEntryBytes * sections.size());
  std::memcpy(bytes.data(), kMagic.data(), kMagic.size());
  store<std::uint32_t>(bytes, 8, kFormatVersion);
  store<std::uint32_t>(bytes, 12, static_cast<std::uint32_t>(sections.size()));
  store<std::uint64_t>(bytes, 16, executable.platform_hash);
  for (std::size_t id = 0; id < sections.size(); ++id) {
    const std::size_t entry = kHeaderBytes + kSectionEntryBytes * id;
    store<std::uint32_t>(bytes, entry, static_cast<std::uint32_t>(id));
    store<std::uint32_t>(bytes, entry + 4, section_check(sections[id].data(), sections[id].size()));
    store<std::uint64_t>(bytes, entry + 8, bytes.size());
    store<std::uint64_t>(bytes, entry + 16, sections[id].size());
    bytes.insert(bytes.end(), sections[id].begin(), sections[id].end());
  }
  store<std::uint64_t>(
      bytes, 24, hash_bytes(bytes.data() + kHashedFrom, bytes.size() - kHashedFrom) ^ hash_bytes(bytes.data(), 24));
  return bytes;
}

Executable read(const std::vector<std::uint8_t>& bytes, const std::string& origin) {
  if (bytes.size() < kHeaderBytes) {
    bad_file(origin, fmt::format("{} bytes, a header has {}", bytes.size(), kHeaderBytes), "header");
  }
  if (std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) bad_file(origin, "wrong magic number", "header");
  const auto format = load<std::uint32_t>(bytes, 8);
  if (format != kFormatVersion) {
    bad_file(origin, fmt::format("format {}, this build reads format {}", format, kFormatVersion), "header");
  }
  const auto count = load<std::uint32_t>(bytes, 12);
  if (count != kSectionNames.size()) bad_file(origin, fmt::format("{} sections", count), "header");
  if (bytes.size() < kHeaderBytes + kSectionEntryBytes * count) bad_file(origin, "cut short", "section table");
  Executable e;
  e.platform_hash = load<std::uint64_t>(bytes, 16);
  // Bounds come first, so that a file that was cut is told as that.
  std::uint64_t at = kHeaderBytes + kSectionEntryBytes * count;
  for (std::size_t id = 0; id < count; ++id) {
    const std::size_t entry = kHeaderBytes + kSectionEntryBytes * id;
    const auto offset = load<std::uint64_t>(bytes, entry + 8);
    const auto size = load<std::uint64_t>(bytes, entry + 16);
    const std::string where = std::string("section ") + kSectionNames[id];
    if (load<std::uint32_t>(bytes, entry) != id || offset != at) bad_file(origin, "damaged section table", where);
    if (size > bytes.size() || offset > bytes.size() - size) {
      bad_file(origin,
               fmt::format("cut short: the section ends at byte {}, the file at {}", offset + size, bytes.size()),
               where);
    }
    at = offset + size;
  }
  for (std::size_t id = 0; id < count; ++id) {
    const std::size_t entry = kHeaderBytes + kSectionEntryBytes * id;
    const auto offset = load<std::uint64_t>(bytes, entry + 8);
    if (section_check(bytes.data() + offset, load<std::uint64_t>(bytes, entry + 16)) !=
        load<std::uint32_t>(bytes, entry + 4))
      bad_file(origin, "its bytes were changed", std::string("section ") + kSectionNames[id]);
  }
  if (at != bytes.size()) bad_file(origin, fmt::format("{} bytes behind the end", bytes.size() - at), "end");
  const std::uint64_t hash =
      hash_bytes(bytes.data() + kHashedFrom, bytes.size() - kHashedFrom) ^ hash_bytes(bytes.data(), 24);
  const auto stored = load<std::uint64_t>(bytes, 24);
  if (hash != stored) {
    bad_file(origin, fmt::format("content hash {:016x}, the header says {:016x}", hash, stored), "contents");
  }
  for (std::size_t id = 0; id < count; ++id) {
    const std::size_t entry = kHeaderBytes + kSectionEntryBytes * id;
    const auto offset = load<std::uint64_t>(bytes, entry + 8);
    const auto size = load<std::uint64_t>(bytes, entry + 16);
    const auto fail = [&](std::size_t where, const std::string& what) {
      bad_file(origin, what, fmt::format("section {}, byte {}", kSectionNames[id], where));
    };
    Reader reader(bytes.data() + offset, size, fail);
    section(reader, e, id);
    if (reader.left() != 0) fail(reader.at(), fmt::format("{} bytes too many", reader.left()));
  }
  check_contents(e, origin);
  return e;
}

void write_file(const Executable& executable, const std::string& path) {
  const std::vector<std::uint8_t> bytes = write(executable);
  if (write_whole_file(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()})) return;
  throw Error(Category::usage, "the executable cannot be written", path, "check the folder and free space");
}

Executable read_file(const std::string& path) {
  require_file(path, "executable");
  std::ifstream in(path, std::ios::binary);
  const std::vector<std::uint8_t> bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  return read(bytes, path);
}

void check_platform(const Executable& executable, const std::string& platform_name, std::uint64_t platform_hash) {
  if (executable.platform_hash == platform_hash) return;
  throw Error(Category::usage,
              fmt::format("compiled for platform {} ({:016x}), the machine is {} ({:016x})", executable.platform_name,
                          executable.platform_hash, platform_name, platform_hash),
              "executable " + executable.name, "compile for this platform, or run on the other one");
}

}  // namespace tessera::executable
