// Writing a result file whole or not at all.
#pragma once

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace tessera {

/// True if `path` names something that is written in place: a device, a pipe, a descriptor of this process. To rename a
/// file over it would put that file in its stead.
[[nodiscard]] inline bool written_in_place(const std::string& path) {
  for (const char* prefix : {"/dev/fd/", "/dev/stdout", "/dev/stderr", "/proc/"})
    if (path.rfind(prefix, 0) == 0) return true;
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
         !std::filesystem::is_directory(status);
}

/// Writes `bytes` beside `path` and moves them there, so that a reader never sees a part; a symbolic link stays one.
/// False if that could not be done; what stood at `path` is then untouched.
[[nodiscard]] inline bool write_whole_file(const std::string& path, std::string_view bytes) {
  const bool in_place = written_in_place(path);
  std::filesystem::path place = path;
  std::error_code error;
  constexpr int kLinks = 40;  // in a row, as many as Linux follows
  for (int k = 0; !in_place && k < kLinks && std::filesystem::is_symlink(place, error); ++k)
    place = place.parent_path() / std::filesystem::read_symlink(place, error);
  const std::string target = place.string();
  const std::string file = in_place ? target : target + ".partial";
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (in_place) return static_cast<bool>(out);
  if (out && std::rename(file.c_str(), target.c_str()) == 0) return true;
  std::remove(file.c_str());
  return false;
}

/// True if write_whole_file could put a file at `path` now, apart from space: tried beside it, nothing stays.
[[nodiscard]] inline bool may_write_file(const std::string& path) {
  std::error_code error;
  if (written_in_place(path)) return true;
  if (path.empty() || std::filesystem::is_directory(path, error)) return false;
  const std::string file = path + ".partial";
  const bool there = std::filesystem::exists(file, error);
  const bool opened = static_cast<bool>(std::ofstream(file, std::ios::binary | std::ios::app));
  if (opened && !there) std::remove(file.c_str());
  return opened;
}

}  // namespace tessera
