// Reading a file that a user names: what cannot be read is refused in the same words everywhere.
#pragma once

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

#include "hw/error.h"

namespace tessera {

/// Throws Error(usage) if `path` cannot be the file that a user means: not there, a directory, a device, not readable.
/// `what` is "model", "executable", ...: "cannot read the model: it is a directory". Pipes are files.
inline void require_file(const std::string& path, const std::string& what) {
  std::error_code failed, ignored;
  const auto status = std::filesystem::status(path, failed);
  std::string reason;
  if (std::filesystem::is_directory(status)) {
    reason = "it is a directory";
  } else if (std::filesystem::is_block_file(status) ||
             (std::filesystem::is_character_file(status) && path != "/dev/null")) {
    reason = "it is a device, which has no end";
  } else if (std::filesystem::is_regular_file(status)) {
    errno = 0;
    if (!std::ifstream(path)) reason = errno != 0 ? std::strerror(errno) : "it does not open";
  } else if (!std::filesystem::exists(status)) {
    reason = failed ? failed.message() : std::make_error_code(std::errc::no_such_file_or_directory).message();
  }
  if (!reason.empty()) throw Error(Category::usage, "cannot read the " + what + ": " + reason, path, "check the path");
}

/// All bytes of the file; throws as require_file does.
[[nodiscard]] inline std::string read_whole_file(const std::string& path, const std::string& what) {
  require_file(path, what);
  std::ifstream in(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (in.bad()) throw Error(Category::usage, "cannot read the " + what + " to its end", path, "check its disk");
  return bytes;
}

/// Throws Error(usage) if `path` is no directory: "cannot read the directory of inputs: it is a file".
inline void require_directory(const std::string& path, const std::string& what) {
  std::error_code failed;
  const auto status = std::filesystem::status(path, failed);
  if (std::filesystem::is_directory(status)) return;
  const std::string reason = std::filesystem::exists(status)
                                 ? "it is a file"
                                 : std::make_error_code(std::errc::no_such_file_or_directory).message();
  throw Error(Category::usage, "cannot read the " + what + ": " + reason, path, "check the path");
}

}  // namespace tessera
