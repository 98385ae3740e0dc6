// The executable as bytes: header (magic, format, platform hash, content hash, section table) and sections. Reading is
// strict: whatever does not fit throws Error (usage) that names the section and the offset; nothing is trusted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/executable/executable.h"

namespace tessera::executable {

inline constexpr std::uint32_t kFormatVersion = 5;

/// Bytes of the container; the same executable gives the same bytes.
[[nodiscard]] std::vector<std::uint8_t> write(const Executable& executable);
/// `origin` is the file's name for messages.
[[nodiscard]] Executable read(const std::vector<std::uint8_t>& bytes, const std::string& origin);

void write_file(const Executable& executable, const std::string& path);
[[nodiscard]] Executable read_file(const std::string& path);

/// Throws Error (usage) that names both platforms unless the executable was compiled for this one.
void check_platform(const Executable& executable, const std::string& platform_name, std::uint64_t platform_hash);

/// Content hash of the container: 64-bit FNV-1a; any change of one byte changes it.
[[nodiscard]] std::uint64_t hash_bytes(const std::uint8_t* bytes, std::size_t count);

}  // namespace tessera::executable
