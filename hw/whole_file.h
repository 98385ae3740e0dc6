// Writing a result file whole or not at all.
//
// A file is written beside its place, under a name that no other process and no other file of this one has, and moved
// there when it is whole. Runs that write to one name at a time do not mix: the last to end stays.
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "hw/unfinished.h"

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

/// Where a path leads if it is a symbolic link: what is moved there must not take the link's place.
[[nodiscard]] inline std::string through_links(const std::string& path) {
  constexpr int kLinks = 40;  // in a row, as many as Linux follows
  std::error_code error;
  std::filesystem::path place = path;
  for (int k = 0; k < kLinks && std::filesystem::is_symlink(place, error); ++k)
    place = place.parent_path() / std::filesystem::read_symlink(place, error);
  return place.string();
}

/// A file on its way. Until commit() nothing stands at its path but what stood there before.
class WholeFile {
 public:
  /// Begins it; good() says whether that could be done. A symbolic link at `path` stays one.
  explicit WholeFile(const std::string& path) : target_(path) {
    std::error_code error;
    if (path.empty() || std::filesystem::is_directory(path, error)) return;
    if (written_in_place(path)) {
      file_ = std::fopen(path.c_str(), "wb");
      return;
    }
    target_ = through_links(path);
    for (int n = 0; n < 1000 && file_ == nullptr; ++n) {
      const std::string name = target_ + "." + std::to_string(getpid()) + "-" + std::to_string(n) + ".partial";
      const int descriptor = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (descriptor < 0 && errno != EEXIST) return;
      if (descriptor < 0) continue;
      beside_.emplace(name);
      file_ = fdopen(descriptor, "wb");
      if (file_ == nullptr) close(descriptor);
    }
  }
  ~WholeFile() {
    if (file_ != nullptr) std::fclose(file_);
    if (beside_) unlink(beside_->path().c_str());
  }
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  [[nodiscard]] bool good() const { return file_ != nullptr && std::ferror(file_) == 0; }
  /// To write to; null if it could not be begun, and after commit().
  [[nodiscard]] std::FILE* file() { return file_; }

  /// Puts it in its place. False if not all of it could be written or moved: then there is nothing of it. Once.
  [[nodiscard]] bool commit() {
    if (file_ == nullptr) return false;
    const bool wrong = std::ferror(file_) != 0;
    const bool whole = std::fclose(file_) == 0 && !wrong;
    file_ = nullptr;
    if (!beside_) return whole;
    const bool moved = whole && std::rename(beside_->path().c_str(), target_.c_str()) == 0;
    if (!moved) unlink(beside_->path().c_str());
    beside_.reset();
    return moved;
  }

 private:
  std::string target_;
  std::optional<Unfinished> beside_;
  std::FILE* file_ = nullptr;
};

/// Writes `bytes` beside `path` and moves them there, so that a reader never sees a part; a symbolic link stays one.
/// False if that could not be done; what stood at `path` is then untouched.
[[nodiscard]] inline bool write_whole_file(const std::string& path, std::string_view bytes) {
  WholeFile file(path);
  if (!file.good()) return false;
  std::fwrite(bytes.data(), 1, bytes.size(), file.file());
  return file.commit();
}

/// True if write_whole_file could put a file at `path` now, apart from space: tried beside it, nothing stays.
[[nodiscard]] inline bool may_write_file(const std::string& path) {
  return written_in_place(path) ? access(path.c_str(), W_OK) == 0 : WholeFile(path).good();
}

/// True if files could be written into the directory now; if it is not there, if it could be made. Tried, nothing
/// stays.
[[nodiscard]] inline bool may_write_into(const std::string& directory) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path made = fs::absolute(directory, error).lexically_normal();  // the topmost that is not there
  if (error || directory.empty()) return false;
  const bool there = fs::exists(made, error);
  while (!there && made.has_relative_path() && !fs::exists(made.parent_path(), error)) made = made.parent_path();
  const bool good =
      (fs::create_directories(directory, error) || fs::is_directory(directory)) && may_write_file(directory + "/probe");
  if (!there) fs::remove_all(made, error);
  return good;
}

/// While alive, no other process that asks has the directory: for files that belong together. A file system without
/// locks gives none, and nobody waits.
class DirectoryLock {
 public:
  explicit DirectoryLock(const std::string& directory)
      : descriptor_(open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (descriptor_ >= 0) (void)!flock(descriptor_, LOCK_EX);
  }
  ~DirectoryLock() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  int descriptor_;
};

}  // namespace tessera
